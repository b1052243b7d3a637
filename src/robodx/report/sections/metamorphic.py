"""Metamorphic tests: how often a path breaks its relation to the source's, beside repeats and the success oracle."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict

from robodx.analysis.metamorphic.levels import FEWEST_REPEATS, FIXED, LEVELS, Level
from robodx.analysis.metamorphic.rates import PERCENTILES, SWEEP_M, MetamorphicTable, Overlap, Sweep, Violations, order
from robodx.analysis.metamorphic.words import label
from robodx.analysis.statistics.agreement import kappa_text
from robodx.analysis.wording import PER_ROW
from robodx.records.pairs import REPEAT
from robodx.report.blocks import Block, Cell, Column, Figure, Table, Text
from robodx.report.forest import Row, forest
from robodx.report.material import Material
from robodx.report.plots.sweeps import Line, sweep
from robodx.report.plots.venn import Pair, scale_of, venns
from robodx.report.sections.base import Content, section
from robodx.report.words import listed, p_cell, percent, points, rate

LEGEND = (
    "A relation makes of a solved source trial a follow-up in which the path of the hand should stay the same, change, "
    "or change in a known way; the distance is the discrete Fréchet distance. No success oracle has a say in the "
    "verdict. Calibrated: the tolerance is what 95% of the policy's own repeats (MR0) stay within. Strict, medium and "
    "low: 0.1, 0.2 and 0.3 m; the other way round where the path should change, and in proportion to how far the "
    "target was moved where it should change as much."
)
VERSUS = (
    "Difference: how much more often than MR0 on the same sources, in points; at the calibrated level each is judged "
    "by the repeats of other situations. p: exact, Holm-adjusted over the relations, of no difference to MR0; for "
    f"relations that ask the path to vary, of no more than 5%. {PER_ROW}"
)
VENN = (
    "Follow-ups that the success oracle flags (left, orange) and that violate the relation (right, blue), at each "
    "level; areas are to scale in all of them. Below: oracle only · both · relation only, of all pairs."
)
SWEEP = (
    "Share of pairs that violate the relation, over the tolerance δ. Dotted vertical lines: strict, medium and low. "
    "Where the path should change as far as the target was moved, the strict bounds are widened by δ."
)
NAMES = ("the oracle", "the relation")
# How the lines of policies are drawn, by their places.
LINES = ("solid", "dashed", "long dashes", "dashes and dots")
# Of the tolerances of a sweep, every tenth is in the table.
EVERY = 10
# More would be a page of its own: the rest is in the JSON.
MOST_TYPES = 40

Found = list[tuple[int, str, MetamorphicTable]]


@section(order=36, title="Metamorphic tests")
def metamorphic(material: Material) -> Content | None:
    tables = [(place, subject.policy, subject.summary.metamorphic) for place, subject in enumerate(material.subjects)]
    found: Found = [(place, policy, table) for place, policy, table in tables if table is not None]
    if not found:
        return None
    has_policies = material.is_comparison
    blocks: list[Block] = [
        _rates(found, has_policies=has_policies),
        *(Text(text) for text in _tolerances(found, has_policies=has_policies)),
        Text(LEGEND, "quiet"),
        Text(VERSUS, "quiet"),
        _by_task(found, has_policies=has_policies),
        _venns(found, has_policies=has_policies),
        _sweeps(found, has_policies=has_policies),
    ]
    types = _failure_types(found, has_policies=has_policies)
    blocks += [types] if types.rows else []
    return Content(blocks, [asdict(table) for _, _, table in found])


def _of(one: str, policy: str, has_policies: bool) -> list[str]:
    return [one, *([policy] if has_policies else [])]


def _told(found: Found) -> str:
    """The level that is told first: one that all of them have, so that they can be compared."""
    levels = {table.level_told(policy) for _, policy, table in found}
    return levels.pop() if len(levels) == 1 else LEVELS[0]


def _rates(found: Found, *, has_policies: bool) -> Table:
    """A row for each relation over all tasks, at the level that is told first; the policies beside each other."""
    told = _told(found)
    rows = []
    for place, policy, table in found:
        fixed = {level: {one.relation: one for one in table.of(policy, level)} for level in FIXED}
        for one in table.of(policy, told):
            others = [fixed[level][one.relation].rate for level in FIXED]
            further = [
                Cell(points(one.difference), sort=one.difference, title=_beside(one)),
                Cell(p_cell(one.p_holm), sort=one.p_holm),
                *(Cell(percent(each.value), sort=each, title=rate(each)) for each in others),
            ]
            of = _of(label(one.relation), policy, has_policies)
            rows.append((order(one.relation), Row(of, one.rate, 1 + place % 4, place % 4, further)))
    return forest(
        f"Share of situations in which the relation is violated, at the {told} level, with 95% intervals",
        _of("relation", "policy", has_policies),
        [row for _, row in sorted(rows, key=lambda each: each[0])],
        what="violated",
        kind="many",
        further=[
            Column("difference", "to MR0 on the same sources, in points, with its 95% interval", is_number=True),
            Column("p", "exact, Holm-adjusted over the relations", is_number=True),
            *(Column(level, f"violated at the {level} level", is_number=True) for level in FIXED),
        ],
    )


def _beside(one: Violations) -> str:
    return "" if one.repeated.value is None else f"MR0 on the same sources: {rate(one.repeated)}, n = {one.repeated.n}"


def _tolerances(found: Found, *, has_policies: bool) -> Iterator[str]:
    told = _told(found)
    for _, policy, table in found:
        mine = table.tolerances_of(policy)
        who = f"{policy}: " if has_policies else ""
        known = [f"{100 * one.delta_m:.1f} cm on {one.task}" for one in mine if one.delta_m is not None]
        few = [f"{one.task} ({one.situations})" for one in mine if one.delta_m is None]
        if known:
            yield f"{who}Calibrated tolerance: {listed(known, most=12)}."
        if few:
            yield (
                f"{who}Too few situations were repeated to calibrate on {listed(few, most=12)}: {FEWEST_REPEATS} a "
                f"task are needed. So the {told} level is told first."
            )


def _by_task(found: Found, *, has_policies: bool) -> Table:
    told = _told(found)
    rows = []
    for place, policy, table in found:
        for one in table.violations:
            if (one.policy, one.level) == (policy, told) and one.task is not None:
                of = [label(one.relation), one.task, *([policy] if has_policies else [])]
                further = [
                    Cell(points(one.difference), sort=one.difference, title=_beside(one)), Cell(p_cell(one.p)),
                ]  # fmt: skip
                row = Row(of, one.rate, 1 + place % 4, place % 4, further)
                rows.append((order(one.relation), one.task, row))
    return forest(
        "The same by task; p is not adjusted",
        ["relation", "task", *(["policy"] if has_policies else [])],
        [row for *_, row in sorted(rows, key=lambda each: each[:2])],
        what="violated",
        kind="many",
        is_folded=True,
        further=[Column("difference", "to MR0, in points", is_number=True), Column("p", is_number=True)],
    )


def _venns(found: Found, *, has_policies: bool) -> Figure:
    drawn: list[tuple[str, list[Pair]]] = []
    cells = []
    told = _told(found)
    for _, policy, table in found:
        by_level = {level: {one.relation: one for one in table.overlaps_of(policy, level)} for level in LEVELS}
        for relation in by_level[LEVELS[0]]:
            title = f"{label(relation)}{f', {policy}' if has_policies else ''}"
            if relation != REPEAT:
                drawn.append((title, [_pair(level, by_level[level][relation]) for level in LEVELS]))
            cells.append(_overlap(by_level, told, relation, table, policy, has_policies))
    scale = scale_of([pair for _, pairs in drawn for pair in pairs], len(LEVELS))
    table_ = Table(
        "What the oracle and the relation say of the same follow-ups, at the level told above, and how far apart paths "
        f"are: percentiles {', '.join(map(str, PERCENTILES))} of the distance",
        [
            *(Column(name) for name in _of("relation", "policy", has_policies)),
            *(Column(name, is_number=True) for name in ("oracle only", "both", "relation only", "neither")),
            Column("agreement", "of situations: how often both say the same, with its 95% interval", is_number=True),
            Column("kappa", "Cohen's, of situations: agreement beyond chance, with its 95% interval", is_number=True),
            Column("distance, cm", f"percentiles {', '.join(map(str, PERCENTILES))}", is_number=True),
        ],
        cells,
        is_folded=True,
    )
    return Figure([venns(title, NAMES, pairs, scale) for title, pairs in drawn], VENN, table_)


def _pair(level: str, one: Overlap) -> Pair:
    return Pair(level, one.oracle_only, one.both, one.relation_only, one.neither)


def _overlap(
    by_level: Mapping[Level, Mapping[str, Overlap]],
    told: str,
    relation: str,
    table: MetamorphicTable,
    policy: str,
    has_policies: bool,
) -> list[Cell]:
    one = next(by_level[level][relation] for level in LEVELS if level == told)
    spread = next((each for each in table.spreads if (each.policy, each.relation) == (policy, relation)), None)
    return [
        *(Cell(text) for text in _of(label(relation), policy, has_policies)),
        *(Cell(f"{n:,}", sort=n) for n in (one.oracle_only, one.both, one.relation_only, one.neither)),
        Cell(rate(one.agreement), sort=one.agreement),
        Cell(kappa_text(one.kappa), sort=one.kappa),
        Cell("—" if spread is None else ", ".join(f"{100 * each:.1f}" for each in spread.percentiles_m)),
    ]


def _sweeps(found: Found, *, has_policies: bool) -> Figure:
    swept: dict[str, list[tuple[int, str, Sweep]]] = {}
    for place, policy, table in found:
        for one in table.sweeps:
            swept.setdefault(one.relation, []).append((place, policy, one))
    # Dotted lines of several policies could not be told apart.
    beside = [] if has_policies else [_line(*each, is_reference=True) for each in swept.get(REPEAT, [])]
    drawings = [
        sweep(
            label(relation),
            f"violated; n = {listed([str(one.pairs) for _, _, one in each])}",
            # A repeat is to stay near: it says nothing of a path that is to vary.
            [*(beside if each[0][2].pattern == "consistency" else []), *(_line(*one) for one in each)],
            _marked(each[0][2].pattern),
            "tolerance δ, m",
        )
        for relation, each in sorted(swept.items(), key=lambda pair: order(pair[0]))
        if relation != REPEAT
    ]
    caption = f"{SWEEP} Dotted curve: MR0." if beside else SWEEP
    if has_policies:
        drawn = "; ".join(f"{LINES[place % len(LINES)]}: {policy}" for place, policy, _ in found)
        caption += f" Lines: {drawn}."
    numbers = Table(
        "Shares of pairs that violate the relation at some tolerances",
        [
            *(Column(name) for name in _of("relation", "policy", has_policies)),
            *(Column(f"{SWEEP_M[at]:g} m", is_number=True) for at in range(0, len(SWEEP_M), EVERY)),
        ],
        [
            [
                *(Cell(text) for text in _of(label(one.relation), policy, has_policies)),
                *(Cell(percent(share), sort=share) for share in one.shares[::EVERY]),
            ]
            for _, policy, each in found
            for one in each.sweeps
        ],
        is_folded=True,
    )
    return Figure(drawings, caption, numbers)


def _marked(pattern: str) -> dict[str, float]:
    """The tolerances of the fixed levels; those of a relocation go by how far the target was moved."""
    if pattern == "relocation":
        return {}
    is_varied = pattern == "variation"
    return {level: one.varied_m if is_varied else one.consistent_m for level, one in FIXED.items()}


def _line(place: int, policy: str, one: Sweep, *, is_reference: bool = False) -> Line:
    name = f"{one.relation} of {policy}"
    return Line(name, one.tolerances_m, one.shares, place, is_reference=is_reference)


def _failure_types(found: Found, *, has_policies: bool) -> Table:
    """How follow-ups fail by the oracle, and how many of these violate the relation too."""
    rows = [
        [
            *(Cell(text) for text in _of(label(one.relation), policy, has_policies)),
            Cell(one.failure_type),
            Cell(f"{one.flagged:,}", sort=one.flagged),
            *(Cell("—" if (n := one.violating[level]) is None else f"{n:,}", sort=n) for level in LEVELS),
        ]
        for _, policy, table in found
        for one in table.failure_types
        if one.policy == policy
    ]
    return Table(
        "How follow-ups fail, by the success oracle, and how many of these violate the relation at each level",
        [
            *(Column(name) for name in _of("relation", "policy", has_policies)),
            Column("failure type"),
            Column("failed", "flagged by the success oracle", is_number=True),
            *(Column(level, f"of these, violating at the {level} level", is_number=True) for level in LEVELS),
        ],
        rows[:MOST_TYPES],
        is_folded=True,
    )
