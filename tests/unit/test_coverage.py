"""Intervals hold the truth as often as they claim, and tests cry wolf no oftener: scripts/*_coverage.py in small."""

from __future__ import annotations

from itertools import groupby

import metamorphic_coverage
import numpy as np
import pytest
from interval_coverage import RATES, Level, coverages, false_positives

NOMINAL, ALPHA = 0.95, 0.05
COVERAGE_SLACK, POSITIVES_SLACK = 0.015, 0.01
# Simulated runs for each design and rate.
COVERAGE_DRAWS, POSITIVES_DRAWS = 20, 40
# Standard errors that a sound method may stray by in a simulation of this size; seeds are fixed.
STRAY = 2.5


def misses(levels: list[Level], target: float, slack: float, sign: int) -> list[str]:
    """Methods that are off by more than the slack, each averaged over its designs and all rates."""
    found = []
    levels = sorted(levels, key=lambda level: level.what)
    for what, group in groupby(levels, key=lambda level: level.what):
        designs = list(group)
        exact = [level for level in designs if level.draws is None]
        # What is summed exactly has no excuse in any design.
        found += [f"{what}, {d.design}: {d.average:.3f}" for d in exact if sign * (d.average - target) > slack]
        drawn = [level for level in designs if level.draws is not None]
        if drawn:
            average = np.mean([level.average for level in drawn])
            error = np.sqrt(target * (1 - target) / (len(RATES) * sum(level.draws or 0 for level in drawn)))
            if sign * (average - target) > max(slack, STRAY * error):
                found.append(f"{what}: {average:.3f} on average")
    return found


def test_every_interval_holds_the_truth_as_often_as_it_claims() -> None:
    levels = list(coverages(COVERAGE_DRAWS, np.random.default_rng(3)))
    assert misses(levels, NOMINAL, COVERAGE_SLACK, sign=-1) == []
    # Near 0 and 1 a bootstrap that knows nothing of unseen values would cover less than half of the time.
    assert min(level.worst for level in levels) > 0.6


def test_no_test_finds_what_is_not_there_oftener_than_it_may() -> None:
    levels = list(false_positives(POSITIVES_DRAWS, np.random.default_rng(4)))
    assert misses(levels, ALPHA, POSITIVES_SLACK, sign=1) == []
    exact = [level for level in levels if level.draws is None]
    assert exact and all(level.worst <= ALPHA for level in exact)


@pytest.mark.thorough
def test_without_an_effect_no_relation_is_claimed_and_by_a_repeats_own_tolerance_some_would(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(metamorphic_coverage, "DESIGNS", ((4, 19),))
    (found,) = metamorphic_coverage.accusations(12, np.random.default_rng(1))
    assert (found.tasks, found.situations, found.found.n) == (4, 19, 12)
    assert found.found.value == 0.0
    assert found.by_own_repeat.value is not None and found.by_own_repeat.value > 0.05
