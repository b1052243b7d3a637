"""When it breaks: success over each stressor's levels, beside the clean and the repeated variant."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass

import polars as pl
from markupsafe import Markup

from robodx.analysis.findings.base import StressSeen
from robodx.analysis.statistics.estimates import Estimate
from robodx.analysis.stress import Degradation, StressTable, severity_of
from robodx.analysis.summary import success_rate
from robodx.analysis.variants import REPEATED
from robodx.report.blocks import Block, Cell, Column, Figure, Missing, Table, Text
from robodx.report.cliffs import Search, searches
from robodx.report.forest import Row, forest
from robodx.report.material import Material, Subject
from robodx.report.plots.curves import Curve, Fall, Level, curves
from robodx.report.plots.svg import MARKS
from robodx.report.plots.whiskers import DIFFERENCES
from robodx.report.sections.base import Content, section
from robodx.report.words import p_cell, points, rate, short, signed

COMMAND = "robodx run stress {} --seeds 10"
SCREENED = "This is a screen, and says little of any one stressor. To test each at three levels:"
CAPTION = "Success with 95% intervals over the severity of each stressor."
AGAIN = "A hollow diamond shows repeated trials without stress: how much success varies by chance."
DECIDED_SAYS = {"effect": "breaks it", "none": "loses less than 20 points", "undecided": "undecided, after correction"}
ONE_SIDED = "at most {:.1f} points with 95% confidence, one-sided"
HARMED = "Shaded: from this level on, success is lower at every level."
CLIFF = "The line marked cliff is the severity at which a search found success halved, with its interval."
TREND = "trend over the levels, Holm-adjusted over the stressors"

# A stressor's levels, of each policy that was put under it.
Stressed = list[tuple[Subject, list[Degradation]]]


@dataclass(frozen=True)
class Picture:
    """One stressor's: what is drawn of it decides what the caption explains."""

    title: str
    note: str
    lines: list[Curve]
    is_ordered: bool
    fall: Fall | None
    # Of the severities.
    unit: str

    @property
    def is_alone(self) -> bool:
        return len(self.lines) == 1

    def drawn(self) -> Markup:
        return curves(self.title, self.note, self.lines, is_ordered=self.is_ordered, fall=self.fall, unit=self.unit)


@section(order=30, title="When it breaks")
def stress(material: Material) -> Content | None:
    found = [(subject, table) for subject in material.subjects for table in subject.stress]
    if not found:
        if any(subject.searches for subject in material.subjects):
            return None
        asked_by = material.subjects[0].asked_by
        screens = [(one, one.diagnosis.stress) for one in material.subjects if one.diagnosis and one.diagnosis.stress]
        if not screens:
            return Content([Missing("No stress test was run. To find what breaks it:", COMMAND.format(asked_by))])
        tables = [_screen(one, seen, has_policies=material.is_comparison) for one, seen in screens]
        data = [{"policy": one.policy, "screen": [asdict(each) for each in seen]} for one, seen in screens]
        return Content([*tables, Missing(SCREENED, COMMAND.format(asked_by))], data)
    blocks: list[Block] = []
    if stressors := _stressors(found):
        cliffs = [search for subject in material.subjects for search in searches(subject)]
        pictures = [_picture(material, name, each, cliffs) for name, each in stressors.items()]
        drawings = [one.drawn() for one in pictures]
        blocks.append(Figure(drawings, _caption(pictures), _table(material, stressors, _trends(found))))
    blocks += [
        Text(f"{one.task} is not testable: {one.policy} solves {rate(one.clean)} without stress (n = {one.clean.n}).")
        for _, table in found
        for one in table.not_testable
    ]
    beside = [table.not_applicable_says(subject.policy) for subject, table in found]
    blocks += [Text(sentence) for sentence in dict.fromkeys(beside) if sentence]
    return Content(blocks, [asdict(table) for _, table in found])


def _screen(subject: Subject, seen: Sequence[StressSeen], *, has_policies: bool) -> Table:
    """Of a diagnosis: each stressor in a trial, and in pairs where that was lost."""
    who = f"{subject.policy}: " if has_policies else ""
    lost_first = sorted(seen, key=lambda one: (not one.pairs, not one.lost))
    rows = [
        Row(
            [one.stressor, one.level or "—"],
            one.kept,
            2 if one.lost else 3,
            further=[
                Cell(str(one.pairs or "")),
                Cell("" if one.difference is None else points(one.difference), sort=one.difference),
                Cell(
                    DECIDED_SAYS.get(one.verdict or "", ""),
                    title="" if one.most_lost is None else ONE_SIDED.format(100 * max(0.0, one.most_lost)),
                ),
            ],
        )
        for one in lost_first
    ]
    return forest(
        f"{who}Screened: of trials that are solved without stress, those that are solved under it, with 95% intervals",
        ["stressor", "level"], rows, what="still solved",
        further=[
            Column("pairs", "on further situations, where a success was lost", is_number=True),
            Column("difference", "what it does to success in those pairs, in points", is_number=True),
            Column("", "what the pairs decided"),
        ],
        is_folded=True,
    )  # fmt: skip


def harmed_from(rows: list[Degradation]) -> str | None:
    """The first level that by itself is seen to harm, as all after it are."""
    level = None
    for row in reversed(rows):
        if row.difference.high is None or row.difference.high >= 0:
            break
        level = row.level
    return level


def _stressors(found: list[tuple[Subject, StressTable]]) -> dict[str, Stressed]:
    stressors: dict[str, Stressed] = {}
    for subject, table in found:
        for name, rows in table.levels(subject.policy).items():
            stressors.setdefault(name, []).append((subject, rows))
    return dict(sorted(stressors.items(), key=lambda pair: (pair[1][0][1][0].kind, pair[0])))


def _trends(found: list[tuple[Subject, StressTable]]) -> dict[tuple[str, str], float | None]:
    return {(trend.policy, trend.stressor): trend.p_holm for _, table in found for trend in table.trends}


def _caption(pictures: list[Picture]) -> str:
    alone = [one for one in pictures if one.is_alone]
    parts = [CAPTION]
    if alone:
        where = "" if len(alone) == len(pictures) else ", where only one policy is drawn"
        parts.append(f"The dotted line is success without stress{where}.")
    if any(line.again is not None for one in pictures for line in one.lines):
        parts.append(AGAIN)
    if any(line.harmed_from is not None for one in alone for line in one.lines):
        parts.append(HARMED)
    if any(one.fall is not None and one.is_ordered for one in pictures):
        parts.append(CLIFF)
    return " ".join(parts)


def _picture(material: Material, name: str, each: Stressed, cliffs: list[Search]) -> Picture:
    is_ordered = all(_card(subject, rows[0].perturbation).get("is_ordered", True) for subject, rows in each)
    lines = [
        Curve(
            subject.policy,
            [Level("clean", 0.0, rows[0].clean), *(_level(subject, row) for row in rows)],
            material.subjects.index(subject) % len(MARKS),
            _again(subject, rows[0].tasks),
            harmed_from(rows) if is_ordered else None,
        )
        for subject, rows in each
    ]
    subject, (first, *_) = each[0]
    who = f"{short(subject.policy, 22)}; " if material.is_comparison else ""
    mine = [one for one in cliffs if one.stressor == first.perturbation and one.task in first.tasks]
    falls = [fall for one in mine if (fall := _fall(one)) is not None]
    note = f"{who}success; {first.kind or 'stressor'}, n = {first.clean.n}"
    unit = str(_card(subject, first.perturbation).get("unit", ""))
    return Picture(name, note, lines, is_ordered, falls[0] if len(falls) == len(each) == 1 else None, unit)


def _level(subject: Subject, row: Degradation) -> Level:
    """A level without a name is called by its severity."""
    severity = severity_of(subject.about.get("perturbations", {}), row.perturbation, row.level)
    return Level(row.level, severity, row.stressed)


def _card(subject: Subject, stressor: str) -> dict[str, dict[str, float]]:
    card: dict[str, dict[str, float]] = subject.about.get("perturbations", {}).get(stressor, {})
    return card


def _again(subject: Subject, carriers: tuple[str, ...]) -> Estimate | None:
    """The success of the repeated variant on the stressor's carriers."""
    again = subject.summary.episodes.filter(pl.col("variant").str.ends_with(REPEATED) & pl.col("task").is_in(carriers))
    return success_rate(again) if len(again) and subject.summary.stopped == "planned" else None


def _fall(search: Search) -> Fall | None:
    found = search.found
    if not found.is_found or found.severity is None or found.low is None or found.high is None:
        return None
    return Fall(found.severity, found.low, found.high)


def _table(material: Material, stressors: dict[str, Stressed], trends: dict[tuple[str, str], float | None]) -> Table:
    has_policies = material.is_comparison
    rows = [
        Row(
            [name, row.level, *([subject.policy] if has_policies else [])],
            row.difference,
            1 + material.subjects.index(subject) % 4,
            further=[
                Cell(rate(row.clean), sort=row.clean),
                Cell(rate(row.stressed), sort=row.stressed),
                Cell(p_cell(trend := trends.get((row.policy, name))), sort=trend),
            ],
        )
        for name, each in stressors.items()
        for subject, levels in each
        for row in levels
    ]
    return forest(
        "Change in success at each level on the same situations, in points, with 95% intervals",
        ["stressor", "level", *(["policy"] if has_policies else [])],
        rows,
        what="difference",
        scale=DIFFERENCES,
        tick=signed,
        wording=points,
        line=0.0,
        further=[
            Column("clean", "success without stress", is_number=True),
            Column("stressed", is_number=True),
            Column("p of trend", TREND, is_number=True),
        ],
        is_folded=True,
    )
