"""Which abilities a policy has, by family and tier: a radar for the profile, and every rate with its interval."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace

import polars as pl
from markupsafe import Markup

from robodx.analysis.statistics.estimates import Estimate
from robodx.analysis.summary import TIERS, success_rate
from robodx.report.blocks import Block, Cell, Column, Figure, Folded, Missing, Table, Text
from robodx.report.forest import Compared, Row, compared, forest
from robodx.report.material import Material, Subject
from robodx.report.plots.radar import Series, radar
from robodx.report.plots.svg import MARKS
from robodx.report.sections.base import Content, section

CAPTION = "Success by family, with 95% intervals (every task counts equally)"
BY_TIER = "Success by family and tier, with 95% intervals (every task counts equally)"
COMMAND = "robodx run capability {} --seeds 25"
# What these test is no ability of the profile: they stress, isolate or carry other tests.
NO_AXES = ("adaptability", "pursuit", "isolation", "primitive", "carrier", "bias")
RIM = "The rim is 100%. A line is left out where nothing was measured. The table gives the intervals."
# Fewer axes make no shape.
FEWEST_AXES = 3


# By policy, family and tier.
Rates = dict[tuple[str, str, str | None], float | None]


@dataclass(frozen=True)
class Ability:
    policy: str
    family: str
    # None: all of the family's tasks.
    tier: str | None
    tasks: int
    success: Estimate


@section(order=20, title="What it can do")
def capability(material: Material) -> Content | None:
    found = [ability for subject in material.subjects for ability in abilities(subject)]
    families = [one for one in found if one.tier is None]
    table = _compared(material, families, CAPTION) if material.is_comparison else _table(families, CAPTION)
    by_tier = _radars(material, found)
    drawings = [_compared_radar(material, found)] if by_tier and material.is_comparison else by_tier
    blocks: list[Block] = (
        [Figure(drawings, _caption(material), table, is_beside=not material.is_comparison)] if drawings else [table]
    )
    if len(_ordered(found)) > len(families):
        tiers = _compared(material, found, BY_TIER) if material.is_comparison else _table(found, BY_TIER)
        # Of several policies there is room for one plot: those of each are shown with the rates by tier.
        blocks.append(
            Folded(BY_TIER, [Figure(by_tier, RIM, tiers)])
            if by_tier and material.is_comparison
            else replace(tiers, is_folded=True)
        )
    if not any(one.tier for one in found):
        blocks.append(
            Missing(
                "No task of these runs has a difficulty tier. For a profile by tier:",
                COMMAND.format(material.subjects[0].asked_by),
            )
        )
    beside = [(one.policy, task) for one in material.subjects for task in one.about.get("not_applicable", [])]
    for policy in dict.fromkeys(policy for policy, _ in beside):
        tasks = ", ".join(task for who, task in beside if who == policy)
        blocks.append(Text(f"Not applicable to {policy}, which reads no instructions: {tasks}.", "quiet"))
    return Content(blocks, [asdict(one) for one in found])


def _table(found: list[Ability], caption: str) -> Table:
    rows = [
        Row(
            [one.tier or one.family],
            one.success,
            _tier(one.tier),
            _mark(one.tier),
            [_tasks(one)],
            style="part" if one.tier else "strong",
        )
        for one in _ordered(found)
    ]
    return forest(caption, [""], rows, further=[Column("tasks", is_number=True)])


def _compared(material: Material, found: list[Ability], caption: str) -> Table:
    policies = [one.policy for one in material.subjects]
    by_place: dict[tuple[str, str | None], list[Ability]] = {}
    for one in _ordered(found):
        by_place.setdefault((one.family, one.tier), []).append(one)
    rows = [
        Compared(
            tier or family,
            {one.policy: one.success for one in each},
            [_tasks(each[0])],
            style="part" if tier else "strong",
        )
        for (family, tier), each in by_place.items()
    ]
    return compared(caption, "", policies, rows, [Column("tasks", is_number=True)])


def _ordered(found: list[Ability]) -> list[Ability]:
    """Family by family, each with its tiers; an only tier says what the family says and is left out."""
    families = list(dict.fromkeys(one.family for one in found))
    tiers = {family: {one.tier for one in found if one.family == family} for family in families}
    shown = [one for one in found if one.tier is None or len(tiers[one.family]) > 2]
    return sorted(shown, key=lambda one: (families.index(one.family), _tier(one.tier)))


def _tasks(one: Ability) -> Cell:
    return Cell(str(one.tasks), sort=one.tasks)


def abilities(subject: Subject) -> list[Ability]:
    """Of families and of their tiers, without a suite's stressors."""
    found = []
    base = subject.base.with_columns(pl.col("family").fill_null("no family"))
    for (family,), group in base.group_by("family", maintain_order=True):
        tiers = [tier for tier in TIERS if (group["tier"] == tier).any()]
        for tier in [None, *tiers]:
            part = group if tier is None else group.filter(pl.col("tier") == tier)
            rate = success_rate(part, subject.summary.stopped)
            found.append(Ability(subject.policy, str(family), tier, part["task"].n_unique(), rate))
    return found


def _radars(material: Material, found: list[Ability]) -> list[Markup]:
    """Each policy by tier."""
    tiered, axes = _tiered(found)
    if len(axes) < FEWEST_AXES:
        return []
    rates = _rates(found)
    drawings = []
    for subject in material.subjects[: len(MARKS)]:
        tiers = [tier for tier in TIERS if any(one.tier == tier and one.policy == subject.policy for one in tiered)]
        series = [Series(tier, [rates.get((subject.policy, family, tier)) for family in axes]) for tier in tiers]
        drawings.append(radar(f"{subject.policy} by tier", axes, series))
    return drawings


def _compared_radar(material: Material, found: list[Ability]) -> Markup:
    tiered, axes = _tiered(found)
    rates = _rates(found)
    shared = [tier for tier in TIERS if all(_has(tiered, subject.policy, tier) for subject in material.subjects)]
    series = [
        Series(one.policy, [_mean(rates, one.policy, family, shared) for family in axes]) for one in material.subjects
    ]
    return radar("policies", axes, series[: len(MARKS)])


def _tiered(found: list[Ability]) -> tuple[list[Ability], list[str]]:
    """Those of the profile, and its axes."""
    tiered = [one for one in found if one.tier is not None and one.family not in NO_AXES]
    return tiered, list(dict.fromkeys(one.family for one in tiered))


def _rates(found: list[Ability]) -> Rates:
    return {(one.policy, one.family, one.tier): one.success.value for one in found}


def _mean(rates: Rates, policy: str, family: str, tiers: list[str]) -> float | None:
    """Over the tiers that all policies have, so that nobody looks better for having fewer."""
    known = [value for tier in tiers if (value := rates.get((policy, family, tier))) is not None]
    return sum(known) / len(known) if known else None


def _has(tiered: list[Ability], policy: str, tier: str) -> bool:
    return any(one.policy == policy and one.tier == tier for one in tiered)


def _tier(tier: str | None) -> int:
    """Its place among the tiers from 1 on, and its colour; all of them together come first."""
    return 0 if tier is None else TIERS.index(tier) + 1 if tier in TIERS else len(TIERS) + 1


def _mark(tier: str | None) -> int:
    return len(MARKS) - 1 if tier is None else (_tier(tier) - 1) % len(MARKS)


def _caption(material: Material) -> str:
    return f"{RIM} Means over the tiers that all of the policies have." if material.is_comparison else RIM
