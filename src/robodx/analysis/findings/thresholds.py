"""The numbers the search for findings was tuned by; what is told of its quality chose them on other faults."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Thresholds:
    # Weaker than this a candidate is not worth a test: one failure where nothing else fails is already more.
    least_score: float = 3.0
    # Scores within this share of the best are as good; then the more telling name is taken.
    nearly: float = 0.97
    # What is a weakness by itself is one of a stratum only if it happens elsewhere in fewer episodes than this.
    healthy: float = 0.05
    # Of the episodes in which it shows, so many happen in one failure mode for that to name it.
    mostly: float = 0.6


THRESHOLDS = Thresholds()
