"""Visual bias: how far success depends on colour, camera and light, beside chance; and what a change does to it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict

from robodx.analysis.bias.before_after import Change, changes
from robodx.analysis.bias.effects import Effect
from robodx.analysis.bias.interactions import Interaction
from robodx.analysis.bias.tables import BiasTable, FactorBias, ValueRate
from robodx.analysis.bias.words import baseline_label, interaction_says, label, tried_once
from robodx.analysis.statistics.estimates import Estimate
from robodx.analysis.wording import PER_ROW
from robodx.report.blocks import Block, Cell, Column, Figure, Folded, Heading, Table, Text
from robodx.report.forest import Row, forest
from robodx.report.material import Material
from robodx.report.plots.camera_rings import HEIGHTS_M, RADII_M, camera_rings, pose_of
from robodx.report.plots.colour_bars import Bar, colour_bars, swatch
from robodx.report.plots.svg import Scale, around
from robodx.report.plots.whiskers import DIFFERENCES, Drawn, axis, whiskers
from robodx.report.sections.base import Content, section
from robodx.report.words import counted, listed, p_cell, percent, points, rate, signed

FACTORS = (
    "The bias coefficient (CV) is the mean over contexts of std / mean of success over the values of one factor, all "
    "else at its baseline. A policy without any bias has one too, for a few repeats differ by chance: the second mark "
    "and “by chance” are what it is if the values change places within each context and robot start. “Beyond” is CV "
    "less that. The plain standard deviation stands beside it, because CV is large where a context is merely hard."
)
PAIRS_COUNT = "what is said of single values counts them, with intervals that hold whenever one stops"
EFFECTS = (
    "Each value against the baseline of its factor, in pairs of trials with the same context and robot start. p is "
    f"Holm-adjusted over the values of the factor{{how}}. {PER_ROW} What is said is about these contexts and these "
    "robot starts."
)
IEC = (
    "IEC(A; B): how unevenly the bias by A is spread over the values of B, std / mean of its coefficients. Noise and "
    "ceilings spread it too: “without interaction” is what trials of a fitted policy give in which each value has an "
    "effect of its own and pairs of values have none. Only the excess is an interaction."
)
CHANGES = (
    "The same trials with both: same value, same context, same robot start. p: of equal coefficients, by exchanging "
    "the two within context and robot start, Holm-adjusted over the factors."
)
ALPHA = 0.05

Found = list[tuple[int, str, BiasTable]]


@section(order=37, title="Visual bias")
def bias(material: Material) -> Content | None:
    tables = [(place, subject.policy, subject.summary.bias) for place, subject in enumerate(material.subjects)]
    found: Found = [(place, policy, table) for place, policy, table in tables if table is not None]
    if not found:
        return None
    many = material.is_comparison
    rows = [(place, one) for place, policy, table in found for one in table.of(policy)]
    blocks: list[Block] = [*_factors(rows, many=many)] if rows else []
    changed = _changed(material)
    blocks += _before_after(changed)
    for _, policy, table in found:
        of = f" of {policy}" if many else ""
        figures = [block for figure in (_colours, _poses) for one in table.of(policy) for block in figure(one, of)]
        together = [block for each in table.interactions_of(policy) for block in _interaction(each, of)]
        further = [Folded("How two factors act together", together)] if together else []
        each = [*figures, *further, *_effects(table.of(policy), of)]
        blocks += [Folded(f"The figures and effects of {policy}", each)] if many and each else each
    data = {"tables": [asdict(table) for _, _, table in found], "changes": [asdict(one) for one in changed]}
    return Content(blocks, data)


def _changed(material: Material) -> list[Change]:
    """Every other policy against the first."""
    first, *others = material.subjects
    return [one for other in others for one in changes(first.episodes, other.episodes)]


def _factors(rows: Sequence[tuple[int, FactorBias]], *, many: bool) -> Iterator[Block]:
    """A row for each factor, with its coefficient above what chance gives."""
    ordered = sorted(rows, key=lambda pair: (pair[1].factor, pair[0]))
    scale = _scale([each for _, one in rows for each in (one.coefficient, one.floor)])
    columns = [
        Column("factor"), *([Column("policy")] if many else []), Column("", axis=axis(scale)),
        Column("CV", "bias coefficient, with its 95% interval for other robot starts", is_number=True),
        Column("by chance", "the mean and 95% of the coefficients of permuted values", is_number=True),
        Column("beyond", "CV less its mean by chance, in points", is_number=True),
        Column("std", "plain standard deviation over the values, mean over contexts", is_number=True),
        Column("success", "mean over contexts, with its 95% interval", is_number=True),
        Column("p", "that values do not matter, Holm-adjusted over the factors", is_number=True),
        Column("n", "pairs of context and robot start, in each of which all values were tried", is_number=True),
    ]  # fmt: skip
    cells = [_factor(one, place, scale, many=many) for place, one in ordered]
    yield Table("How far success depends on each factor", columns, cells, kind="forest many")
    yield Text(FACTORS, "quiet")
    for policy in dict.fromkeys(one.policy for _, one in ordered):
        if once := tried_once([one for _, one in ordered if one.policy == policy]):
            yield Text(f"{policy}: {once}" if many else once)
    for _, one in ordered:
        who = f"{one.policy}: " if many else ""
        if one.left_out:
            none = f"in {one.left_out} of {counted(one.contexts, 'context')} nothing succeeds"
            yield Text(f"{who}{label(one.factor)}: {none}, and these have no say in its coefficient.")
        if one.partial:
            some = f"in {counted(one.partial, 'pair')} of context and robot start only some values were tried"
            yield Text(f"{who}{label(one.factor)}: {some}. The coefficient leaves these out; {PAIRS_COUNT}.")
        if one.errors and one.success.value is None:
            lost = f"{one.errors:,} of {counted(one.episodes, 'episode')}"
            yield Text(f"{who}{label(one.factor)}: {lost} ended in errors, too many to say anything.")


def _factor(one: FactorBias, place: int, scale: Scale, *, many: bool) -> list[Cell]:
    says = f"{label(one.factor)}: coefficient {rate(one.coefficient)}, by chance {rate(one.floor)}"
    plot = whiskers([Drawn(one.coefficient, 1 + place % 4, place % 4), Drawn(one.floor, 0, 3)], says, scale=scale)
    values = f"{label(one.factor)} ({one.values})"
    return [
        Cell(values, sort=one.factor), *([Cell(one.policy)] if many else []), Cell("", plot=plot),
        Cell(rate(one.coefficient), sort=one.coefficient), Cell(rate(one.floor), sort=one.floor),
        Cell("—" if one.beyond is None else signed(one.beyond), sort=one.beyond),
        Cell(percent(one.spread.value), sort=one.spread, title=rate(one.spread)),
        Cell(rate(one.success), sort=one.success), Cell(p_cell(one.p_holm), sort=one.p_holm),
        Cell(f"{one.blocks:,}", sort=one.blocks),
    ]  # fmt: skip


def _scale(found: Sequence[Estimate]) -> Scale:
    known = [value for one in found for value in (one.value, one.low, one.high) if value is not None]
    return around([*known, 0.1], with_zero=True)


def _before_after(changed: Sequence[Change]) -> Iterator[Block]:
    if not changed:
        return
    scale = DIFFERENCES
    if known := [
        abs(value) for one in changed for value in (one.difference.low, one.difference.high) if value is not None
    ]:
        scale = Scale(-max(*known, 0.1), max(*known, 0.1))
    others = list(dict.fromkeys(one.after for one in changed))
    before = changed[0].before
    many = len(others) > 1
    rows = [
        Row(
            [label(one.factor), *([one.after] if many else [])], one.difference, 1 + others.index(one.after) % 4,
            others.index(one.after) % 4,
            [
                Cell(percent(one.coefficients[0]), sort=one.coefficients[0]),
                Cell(percent(one.coefficients[1]), sort=one.coefficients[1]),
                Cell("—" if one.relative is None else f"{signed(one.relative)}%", sort=one.relative),
                Cell(p_cell(one.p_holm), sort=one.p_holm),
                Cell(f"{percent(one.success[0])} → {percent(one.success[1])}", title=_success_change(one)),
            ],
        )
        for one in changed
    ]  # fmt: skip
    title = f"{before} and {others[0]}" if not many else f"{before} and others"
    yield Heading(f"Before and after: {title}")
    yield forest(
        f"How much larger the bias coefficient is than that of {before}, in points, with 95% intervals",
        ["factor", *(["policy"] if many else [])],
        rows,
        what="difference",
        scale=scale,
        tick=signed,
        wording=points,
        line=0.0,
        kind="many",
        further=[
            Column("CV before", f"of {before}", is_number=True),
            Column("CV after", is_number=True),
            Column("change", "of the coefficient, as a share of it", is_number=True),
            Column("p", "of equal coefficients, Holm-adjusted over the factors", is_number=True),
            Column("success", "before → after", is_number=True),
        ],
    )
    yield Text(CHANGES, "quiet")


def _success_change(one: Change) -> str:
    return f"{points(one.success_difference, unit=True)}, p = {p_cell(one.success_p)}, {one.episodes:,} pairs of trials"


def _colours(one: FactorBias, of: str) -> Iterator[Block]:
    coded = [(each, each.hex, each.group) for each in one.rates if each.hex is not None and each.group is not None]
    if not coded:
        return
    reference = next((each.success.value for each in one.rates if each.value == one.baseline), None)
    drawings = []
    for group in one.groups:
        mine = sorted((each for each in coded if each[2] == group.group), key=lambda each: each[0].saturation or 0.0)
        bars = [Bar(each.value, code, each.success.value) for each, code, _ in mine]
        title = f"{group.group[0].upper()}{group.group[1:]}: {rate(group.success)}"
        drawings.append(colour_bars(title, _least([each for each, _, _ in mine]), bars, reference))
    effects = {each.value: each for each in one.effects}
    order = {group.group: place for place, group in enumerate(one.groups)}
    ranked = sorted(coded, key=lambda each: (order[each[2]], each[0].saturation or 0.0))
    table = Table(
        f"Success{of} with every colour, and against {one.baseline}",
        [
            Column("colour"), Column("group"), Column("saturation", is_number=True), Column("success", is_number=True),
            Column("difference", f"to {one.baseline}, in points", is_number=True),
            Column("p", "exact and paired, Holm-adjusted over the colours", is_number=True),
            Column("n", is_number=True),
        ],
        [_colour(each, code, group, effects.get(each.value)) for each, code, group in ranked],
        is_long=True,
        is_folded=True,
    )  # fmt: skip
    caption = (
        f"Success{of} with each colour of the object, in eleven groups and from left to right by saturation. Dashed: "
        f"{one.baseline}, the baseline. In the title the mean of the group, with its 95% interval."
    )
    yield Heading(f"Success by colour{of}")
    yield Figure(drawings, caption, table)
    yield from _told(one, "colours")


def _least(rates: Sequence[ValueRate]) -> str:
    known = [each for each in rates if each.success.value is not None]
    if len(known) < 2:
        return known[0].value if known else ""
    worst = min(known, key=lambda each: each.success.value or 0.0)
    return f"{counted(len(rates), 'colour')}; least: {worst.value}, {percent(worst.success.value)}"


def _colour(each: ValueRate, code: str, group: str, effect: Effect | None) -> list[Cell]:
    found = None if effect is None else effect.difference
    return [
        Cell(each.value, plot=swatch(code), sort=each.value), Cell(group),
        Cell(percent(each.saturation), sort=each.saturation), Cell(rate(each.success), sort=each.success),
        Cell("—" if found is None else points(found), sort=found),
        Cell(p_cell(None if effect is None else effect.p_holm), sort=None if effect is None else effect.p_holm),
        Cell(f"{each.success.n:,}", sort=each.success.n),
    ]  # fmt: skip


def _poses(one: FactorBias, of: str) -> Iterator[Block]:
    rates = {each.value: each.success.value for each in one.rates}
    if not any(pose_of(value) for value in rates):
        return
    tried = next((each for each in one.effects if each.difference.n), None)
    original = "" if tried is None else f"; original camera {percent(tried.solved_at_baseline / tried.difference.n)}"
    rings = ", ".join(f"ring {ring}: {RADII_M[ring]:g} m away and {HEIGHTS_M[ring]:g} m up" for ring in RADII_M)
    caption = (
        f"Success{of} in % from each camera pose, seen from above ({rings}). The front camera stands there "
        "and faces the workspace; 0° is across the table, looking back at the robot, and angles grow to its left. "
        "Darker: it succeeds more often."
    )
    yield Heading(f"Success by camera pose{of}")
    yield Figure(
        [camera_rings(f"Success{of} by camera pose, in %", f"n = {one.blocks} each{original}", rates)],
        caption,
        _effect_table(one, f"Success{of} from every pose, against the original camera", is_folded=True),
    )
    yield from _told(one, "poses")


def _told(one: FactorBias, what: str) -> Iterator[Block]:
    """How many values differ from the baseline, and which do most."""
    if not one.effects:
        yield Text("The baseline was not run in these contexts, so that no value can be held against it.")
        return
    shown = sorted(_shown(one), key=lambda each: -abs(each.difference.value or 0.0))
    baseline = (
        f"the {baseline_label(one.factor, one.baseline)} camera"
        if what == "poses"
        else baseline_label(one.factor, one.baseline)
    )
    among = f"Of {len(one.effects)} {what}, {len(shown) or 'none'} {'is' if len(shown) < 2 else 'are'}"
    named = listed([f"{each.value} ({points(each.difference)})" for each in shown], most=5)
    most = f" Most: {named}, in points." if shown else ""
    yield Text(f"{among} shown to differ from {baseline}, Holm-adjusted over all of them.{most}")


def _shown(one: FactorBias) -> list[Effect]:
    return [each for each in one.effects if each.p_holm is not None and each.p_holm < ALPHA]


def _interaction(one: Interaction, of: str) -> Iterator[Block]:
    first = list(dict.fromkeys(cell.first for cell in one.cells))
    second = list(dict.fromkeys(cell.second for cell in one.cells))
    cells = {(cell.first, cell.second): cell for cell in one.cells}
    names = [label(each.of) for each in one.directions]
    rows = []
    for down in second:
        row = [Cell(down)]
        for across in first:
            cell = cells[across, down]
            title = f"{across}, {down}: {percent(cell.rate)}, n = {cell.n}"
            row.append(Cell("—" if cell.rate is None else f"{100 * cell.rate:.0f}", title=title, shade=cell.rate))
        rows.append(row)
    yield Heading(f"{names[0][0].upper()}{names[0][1:]} and {names[1]}{of}")
    yield Table(
        "IEC with its 95% interval, beside what it is without interaction",
        [
            Column("coefficient"), Column("value", is_number=True), Column("without interaction", is_number=True),
            Column("excess", "in points", is_number=True), Column("p", "Holm-adjusted over the two", is_number=True),
            Column("CV", "mean bias coefficient of the first over the values of the second", is_number=True),
        ],
        [
            [
                Cell(f"IEC({label(each.of)}; {label(each.given)})"), Cell(rate(each.value), sort=each.value),
                Cell(rate(each.null), sort=each.null), Cell(points(each.excess), sort=each.excess),
                Cell(p_cell(each.p_holm), sort=each.p_holm), Cell(percent(each.coefficient), sort=each.coefficient),
            ]
            for each in one.directions
        ],
    )  # fmt: skip
    yield Text(interaction_says(one))
    yield Text(IEC, "quiet")
    repeats = f"{counted(one.blocks, 'robot start')} in {counted(one.contexts, 'context')}"
    yield Table(
        f"Success{of} in % by {names[1]} (down) and {names[0]} (across), {repeats}",
        [Column(names[1]), *(Column(across) for across in first)],
        rows,
        kind="matrix rates",
    )


def _effects(factors: Sequence[FactorBias], of: str) -> Iterator[Block]:
    """Signed effects of all values of each factor that has no figure; folded where none is shown to differ."""
    others = [one for one in factors if one.effects and not any(each.hex or pose_of(each.value) for each in one.rates)]
    if not others:
        return
    yield Heading(f"Values of other factors against the baseline{of}")
    for one in sorted(others, key=lambda one: not _shown(one)):
        name = label(one.factor)
        caption = f"{name[0].upper()}{name[1:]} against {baseline_label(one.factor, one.baseline)}{of}"
        yield _effect_table(one, caption, is_folded=not _shown(one))
    stopped = any(one.may_have_stopped for one in others)
    yield Text(EFFECTS.format(how="" if stopped else ", and exact"), "quiet")


def _effect_table(one: FactorBias, caption: str, *, is_folded: bool) -> Table:
    rows = [
        Row(
            [each.value], each.difference, 2 if (each.difference.value or 0.0) < 0 else 1, 0,
            [
                Cell(_solved(one, each), title=f"of {each.difference.n} pairs"),
                Cell(p_cell(each.p_holm), sort=each.p_holm),
            ],
        )
        for each in one.effects
    ]  # fmt: skip
    return forest(
        f"{caption}: difference in points, with 95% intervals",
        ["value"],
        rows,
        what="difference",
        scale=DIFFERENCES,
        tick=signed,
        wording=points,
        line=0.0,
        kind="many",
        is_folded=is_folded,
        further=[
            Column("solved", "with the value, and with the baseline", is_number=True),
            Column("p", "exact and paired, Holm-adjusted over the values of the factor", is_number=True),
        ],
    )


def _solved(one: FactorBias, each: Effect) -> str:
    return f"{each.solved:g}; {baseline_label(one.factor, one.baseline)} {each.solved_at_baseline:g}"
