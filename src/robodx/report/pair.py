"""A cause to look at: two episodes of one situation, one of which fails, and what differs between them in words."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import Any

from robodx.analysis.findings.base import Finding
from robodx.analysis.findings.conditions import Condition
from robodx.analysis.findings.decisions import differences
from robodx.analysis.findings.wording import attribute_in_words, when
from robodx.analysis.variants import CLEAN
from robodx.records.features import NO, REQUIRES, WORD, features_of_row
from robodx.records.values import read_applied
from robodx.report.material import Material
from robodx.report.shown import Shown, shown
from robodx.report.words import listed


@dataclass(frozen=True)
class SideBySide:
    """The one that fails first."""

    episodes: tuple[Shown, Shown]
    differs: str
    # What was done to both, where situations were changed.
    changed: str


def side_by_side(material: Material, finding: Finding, before: Collection[str] = ()) -> SideBySide | None:
    """Of the finding's pair, if both of its episodes are there; `before` are those that stand on the page already."""
    if finding.pair is None:
        return None
    first, second = (shown(material, trial) for trial in finding.pair)
    rows = [row for trial in finding.pair for one in material.subjects if (row := one.row(trial)) is not None]
    if first is None or second is None:
        return None
    first, second = (replace(one, is_again=one.trial in before) for one in (first, second))
    return SideBySide((first, second), _differs(finding, *rows[:2]), _changed(*rows[:2]))


def _differs(finding: Finding, fails: Mapping[str, Any], succeeds: Mapping[str, Any]) -> str:
    """What the record tells of the one and not of the other: that which is the cause, and then the rest."""
    found = {name: levels for name, *levels in differences(features_of_row(fails), features_of_row(succeeds))}
    if finding.attribute in found:
        first = apart(finding.attribute, *found.pop(finding.attribute))
    else:
        first = f"It fails under {_variant(fails)}, and succeeds under {_variant(succeeds)}."
    # The words stand above.
    others = [attribute_in_words(name) for name in sorted(found) if not name.startswith(WORD)]
    # What is said later may depend on what was done.
    others += ["the instruction"] if _said(fails)[:1] != _said(succeeds)[:1] else []
    return (
        f"{first} Also different: {listed(others, most=6)}."
        if others
        else f"{first} Nothing else that is recorded differs."
    )


def _changed(fails: Mapping[str, Any], succeeds: Mapping[str, Any]) -> str:
    if not any(read_applied(row["interventions"]) for row in (fails, succeeds)):
        return ""
    done = f"Both are one situation, changed by {_variant(fails)} and by {_variant(succeeds)}"
    return f"{done}: a placebo changes as much of the same sort and keeps what is tested."


def _variant(row: Mapping[str, Any]) -> str:
    return row["variant"] or CLEAN


def _said(row: Mapping[str, Any]) -> list[str]:
    return [one["text"] for one in row["instructions"] or ()]


def apart(name: str, fails: str, succeeds: str) -> str:
    """Of an attribute that two trials differ in: "It fails where the target is green, and succeeds where …"."""
    is_there = name.startswith((REQUIRES, WORD))
    each = [None if is_there and level == NO else when(Condition(name, (level,))) for level in (fails, succeeds)]
    there, here = each[0] or f"it is not so that {each[1]}", each[1] or "that is not so"
    return f"It fails where {there}, and succeeds where {here}."
