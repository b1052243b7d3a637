"""Searches for failure cliffs, read from records alone: counts at each severity are all that they need."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from typing import Any

import polars as pl

from robodx.analysis.statistics.psychometric import Cliff, Psychometric, count, severities
from robodx.records.values import read_applied
from robodx.report.material import Subject
from robodx.report.plots.cliffs import Asked


@dataclass(frozen=True)
class Search:
    policy: str
    task: str
    stressor: str
    found: Cliff
    asked: tuple[Asked, ...]
    errors: int
    # Of the severities.
    unit: str

    def wording(self) -> str:
        """The cliff with its interval, or why there is none."""
        if self.found.is_found and self.found.low is not None and self.found.high is not None:
            return f"{self.found.severity:.3g} [{self.found.low:.3g}, {self.found.high:.3g}] {self.unit}".rstrip()
        return f"none up to {self.maximum}" if self.found.is_absent else "—"

    @property
    def maximum(self) -> str:
        return f"{self.found.maximum:g} {self.unit}".rstrip()

    def as_dict(self) -> dict[str, Any]:
        return {**asdict(self), "asked": [one._asdict() for one in self.asked], "verdict": self.found.verdict}


def searches(subject: Subject) -> Iterator[Search]:
    """Those of all its runs whose severities are known here."""
    for run in subject.searches:
        for selector in run.about.get("request", {}).get("selectors", ()):
            suite, _, rest = selector.partition("/")
            stressed, _, task = rest.partition("/")
            stressor, _, level = stressed.partition("=")
            card = run.about.get("perturbations", {}).get(stressor, {})
            maximum = _maximum(card, level)
            if suite == "cliff" and task and maximum is not None:
                episodes = run.episodes.filter(pl.col("task") == task)
                if found := _search(subject.policy, task, stressor, maximum, episodes, card.get("unit", "")):
                    yield found


def _search(policy: str, task: str, stressor: str, maximum: float, episodes: pl.DataFrame, unit: str) -> Search | None:
    procedure = Psychometric(severities(maximum))
    valid = episodes.filter(pl.col("outcome") != "error")
    applied = [
        (next((value for name, value in read_applied(records) if name == stressor), 0.0), bool(won))
        for records, won in valid.select("perturbations", "success").iter_rows()
    ]
    # Severities of another search would say something else.
    outcomes = [(value, won) for value, won in applied if isinstance(value, float) and value in procedure.severities]
    if not outcomes:
        return None
    won, lost = count(procedure.severities, outcomes)
    foreseen = procedure.curve(won, lost)
    asked = tuple(
        Asked(severity, int(yes), int(yes + no), float(rate))
        for severity, yes, no, rate in zip(procedure.severities, won, lost, foreseen, strict=True)
        if yes + no
    )
    return Search(policy, task, stressor, procedure.read(won, lost), asked, len(episodes) - len(valid), unit)


def _maximum(card: Mapping[str, Any], level: str) -> float | None:
    levels = card.get("levels", {})
    if not level:
        return max(levels.values(), default=None)
    with suppress(ValueError):
        return float(levels.get(level, level))
    return None
