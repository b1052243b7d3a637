"""Policies side by side on the same situations, with a verdict each."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import asdict

from robodx.analysis.compare import Comparison, Row
from robodx.analysis.summary import TIERS
from robodx.analysis.variants import CLEAN
from robodx.analysis.wording import PER_ROW
from robodx.report import forest
from robodx.report.blocks import Block, Cell, Column, Folded, Heading, Text
from robodx.report.material import Material
from robodx.report.plots.svg import Scale
from robodx.report.sections.base import Content, section
from robodx.report.words import counted, listed, p_cell, percent, points, signed

STYLES = {"all": "strong", "family": "strong", "tier": "part", "task": ""}


@section(order=5, title="Comparison")
def comparison(material: Material) -> Content | None:
    if not material.is_comparison:
        return None
    blocks: list[Block] = []
    for found in material.comparisons:
        tables = _tables(found, material.under_stress.get(found.policy_b))
        # One is looked at; of a dozen, those that are asked for.
        shown = [Folded("By family, tier and task", tables)] if blocks else tables
        blocks += [Heading(f"{found.policy_b} against {found.policy_a}"), Text(sentence(found)), *shown]
    blocks += [Text(wording, "warning") for wording in material.not_compared]
    stressed_too = {policy: asdict(found) for policy, found in material.under_stress.items()}
    return Content(
        blocks,
        [{**asdict(found), "under_stress": stressed_too.get(found.policy_b)} for found in material.comparisons],
    )


def _tables(found: Comparison, stressed: Comparison | None) -> list[Block]:
    broad = _broad(found)
    tiers = " and tier" if any(row.kind == "tier" for row in broad) else ""
    tables = [
        _table(found, broad, f"Over all and by family{tiers}", is_folded=False),
        _table(found, [row for row in found.rows if row.kind == "task"], "By task", is_folded=True),
    ]
    if stressed is not None and stressed is not found:
        tasks = [row for row in stressed.rows if row.kind == "task"]
        tables.append(_table(stressed, tasks, "Under stress, by task and level", is_folded=True))
    return [*tables, Text(_method(found, stressed), "quiet")]


def sentence(found: Comparison) -> str:
    """What it comes to over all that both did."""
    row, a, b = found.overall, found.policy_a, found.policy_b
    if row.verdict is None:
        return f"No verdict on {b} against {a}: {row.errors} of the shared trials ended in errors, too many to judge."
    rates = f"{percent(row.rate_b.value)} against {percent(row.rate_a.value)}"
    n = f"{row.n:,} {'pairs of the same situations' if found.is_paired else 'situations'}"
    n += "" if CLEAN in found.variants else f" under {listed(list(found.variants))}"
    unit = "pairs" if found.is_paired else "situations"
    more = "" if row.verdict.more is None else f" About {row.verdict.more:,} more {unit} would probably decide it."
    wording = {
        "improved": f"{b} is better than {a}",
        "regressed": f"{b} is worse than {a}",
        "held": f"{b} is as good as {a} (within ± {100 * row.verdict.margin:g} points)",
        "undecided": f"Undecided between {b} and {a}",
    }[row.verdict.word]
    return f"{wording}: {rates}, a difference of {points(row.difference, unit=True)} on {n}.{more}"


def _broad(found: Comparison) -> list[Row]:
    """All, then each family with its tiers; an only tier says what the family says."""
    tiers = Counter(row.name.partition("/")[0] for row in found.rows if row.kind == "tier")
    below = [row for row in found.rows if row.kind == "tier" and tiers[row.name.partition("/")[0]] > 1]
    rows = [found.overall, *(row for row in found.rows if row.kind == "family"), *below]
    return sorted(rows, key=lambda row: ("" if row.kind == "all" else row.name.partition("/")[0], _tier(row)))


def _tier(row: Row) -> int:
    tier = row.name.partition("/")[2]
    return -1 if row.kind != "tier" else TIERS.index(tier) if tier in TIERS else len(TIERS)


def _table(found: Comparison, rows: list[Row], name: str, *, is_folded: bool) -> Block:
    drawn = [
        forest.Row([_label(row)], row.difference, _colour(row), further=_further(row), style=STYLES[row.kind])
        for row in rows
    ]
    return forest.forest(
        f"{name}: success of {found.policy_b} minus that of {found.policy_a}, in points, with 95% intervals",
        [""], drawn,
        what="difference", scale=_scale(rows), tick=signed, wording=points, line=0.0,
        further=[
            Column(found.policy_a, is_number=True), Column(found.policy_b, is_number=True),
            Column("p", "Holm-adjusted among rows of the same kind", is_number=True), Column("verdict"),
        ],
        is_folded=is_folded,
    )  # fmt: skip


def _label(row: Row) -> str:
    return row.name.partition("/")[2] if row.kind == "tier" else row.name


def _scale(rows: list[Row]) -> Scale:
    """As far to either side as any interval goes, in quarters."""
    ends = [abs(end) for row in rows for end in (row.difference.low, row.difference.high) if end is not None]
    widest = math.ceil(4 * max(ends, default=1.0)) / 4
    return Scale(-widest, widest)


def _further(row: Row) -> list[Cell]:
    word = "too many errors" if row.verdict is None else row.verdict.word
    title = "" if row.verdict is None else str(row.verdict)
    return [
        Cell(percent(row.rate_a.value), sort=row.rate_a),
        Cell(percent(row.rate_b.value), sort=row.rate_b),
        Cell(p_cell(row.adjusted_p), sort=row.adjusted_p),
        Cell(word, title=title, chip=word.split()[0]),
    ]


def _colour(row: Row) -> int:
    word = None if row.verdict is None else row.verdict.word
    return {"improved": 3, "regressed": 2, "held": 1}.get(word or "", 4)


def _method(found: Comparison, stressed: Comparison | None) -> str:
    pairs = (
        "Trials that both policies have are compared in pairs"
        if found.is_paired
        else "Too few trials are shared for pairs, so rates of different situations are compared"
    )
    left = [
        f"{counted(n, 'episode')} of {name}"
        for n, name in ((found.only_a, found.policy_a), (found.only_b, found.policy_b))
        if n
    ]
    wording = f"{pairs}; p is exact (McNemar) or from permutations, Holm-adjusted among rows of the same kind."
    wording += f" {PER_ROW}"
    wording += f" Held means that the whole interval lies within ± {100 * found.margin:g} points."
    if stressed is not None and stressed is not found:
        wording += " Stressed episodes appear only in the table under stress."
    if left:
        wording += f" Left out, because the other policy has no matching trials: {' and '.join(left)}."
    if found.other_versions:
        wording += f" Not compared, because their scoring changed: {'; '.join(found.other_versions)}."
    if found.stopped != "planned":
        wording += " The results decided when a run stopped, so intervals are always-valid."
    return wording
