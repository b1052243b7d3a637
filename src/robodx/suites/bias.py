"""Whether looks matter that should not: one visual factor at a time over many values, in several contexts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import polars as pl

from robodx.analysis.statistics.sequential import difference_sequence
from robodx.errors import UserError
from robodx.interventions.factors import FACTORS, Factor, Setting, each, product, union
from robodx.records.design import Planned
from robodx.records.instance import Instance
from robodx.records.trial import Trial
from robodx.records.values import Applied
from robodx.registry import UnknownName, require, unknown
from robodx.sim.css_colours import hex_of
from robodx.suites.base import QUICK, SuiteRequest, suite
from robodx.tasks.base import TASKS
from robodx.tasks.bias import PLACES, SHAPES, WORDINGS

NAME = "bias"
TASK = "bias/put_solid_in_box"
LAYOUT = "bias context"
# What tasks differ in besides, varied one dimension at a time; the first of each is the usual one.
CONTEXTS = (
    Factor("place", LAYOUT, tuple(str(number + 1) for number in range(len(PLACES))), "1"),
    Factor("shape", LAYOUT, SHAPES, SHAPES[0]),
    Factor("wording", LAYOUT, tuple(str(number + 1) for number in range(WORDINGS)), "1"),
)
COLOUR, POSE = "colour", "camera_pose"
BY = " × "
INTERACTION = f"{COLOUR}{BY}{POSE}"
# Of the colours, those that are crossed with poses of the camera.
CROSSED = ("red", "orange", "yellow", "green", "blue", "white", "grey")
# What is asked for beside factors.
ADAPTIVE, ALL, CROSS = "adaptive", "all", "interaction"
# Of a quick run: one of so many.
FRACTION = 10
# Of an adaptive run: so many repeats of each instance at first; who is this sure of a difference needs no more.
FIRST_REPEATS = 2
DIFFERENCE = 0.05


@dataclass(frozen=True)
class Cell:
    """An instance of one of the grids: what the visual factors and the context are set to."""

    grid: str
    setting: Setting
    # The dimension of the context that is varied.
    context: str

    @property
    def interventions(self) -> tuple[Applied, ...]:
        said = self.setting
        layout = f"place {said['place']}, {said['shape']}, wording {said['wording']}"
        looks = (FACTORS[name].applied(said[name]) for name in self.factors)
        return ((LAYOUT, layout), *(one for applied in looks for one in applied))

    @property
    def factors(self) -> tuple[str, ...]:
        """The visual ones."""
        return tuple(name for name in self.setting if name in FACTORS)

    @property
    def place(self) -> str:
        """The context, by which cells are paired."""
        return ", ".join((self.context, *(self.setting[one.name] for one in CONTEXTS)))

    @property
    def name(self) -> str:
        return ", ".join(f"{name} {value}" for name, value in self.setting.items())


def contexts() -> Iterator[Setting]:
    """One dimension at a time, the others as usual; what is usual in all comes once in each: 4 + 4 + 3."""
    return union(*map(_varied, CONTEXTS))


def _varied(dimension: Factor) -> Iterator[Setting]:
    usual = {one.name: one.baseline for one in CONTEXTS}
    return ({**usual, **one, "context": dimension.name} for one in each(dimension))


def cells_of(grid: str, only: Sequence[str] = ()) -> list[Cell]:
    """All cells of a factor, or of colours crossed with poses of the camera in the usual context.

    With `only`, those of these values of the factor and of its baseline.
    """
    if grid == INTERACTION:
        (usual, *_) = contexts()
        cells = product(each(FACTORS[COLOUR], CROSSED), each(FACTORS[POSE]), iter([usual]))
    else:
        one = FACTORS[grid]
        cells = product(each(one, [*dict.fromkeys((one.baseline, *only))] if only else None), contexts())
    return [
        Cell(grid, {name: value for name, value in cell.items() if name != "context"}, cell["context"])
        for cell in cells
    ]


def instances() -> Iterator[Instance]:
    """All of all grids, to be looked at before they are used."""
    for grid in (*FACTORS, INTERACTION):
        for one in cells_of(grid):
            yield Instance(f"{grid}: {one.name}; {one.context} varied", grid, TASK, 0, one.interventions)


@suite(NAME, grows=True, seeds=5, can_be_quick=True)
def bias(done: pl.DataFrame, request: SuiteRequest) -> Iterable[Planned]:
    """One visual factor at a time at many values, in eleven contexts: `bias/colour`, `bias/colour/quick`.

    `bias/colour/moccasin/tan` has these and the baseline alone: on fresh seeds, what confirms or refutes a finding.
    """
    grids, ways, only = _asked(request.within)
    if request.repeats > 1:
        raise UserError("the suite bias repeats an instance by --seeds, each with another start of the robot")
    for grid in grids:
        # The baseline of some is none of their values, and is tried by another factor, if there is one.
        needs_baseline = grid != INTERACTION and (len(grids) == 1 or ADAPTIVE in ways)
        every = cells_of(grid, only or (FACTORS[grid].values if needs_baseline else ()))
        repeats = request.seeds * (2 if grid == INTERACTION else 1)
        cells = [(one, repeat) for one in every for repeat in range(repeats)]
        if QUICK in ways:
            cells = _fraction(every, repeats)
        elif ADAPTIVE in ways and grid != INTERACTION:
            cells = _adaptive(done, request, every, repeats)
        yield from (_planned(one, repeat, repeats, request) for one, repeat in cells)


class _Asked(NamedTuple):
    grids: list[str]
    # How to go about them.
    ways: set[str]
    # Of a single factor some values; none: all of them.
    only: list[str]


def _asked(within: Sequence[str]) -> _Asked:
    """The paper's four factors and the interaction, if none is named."""
    ways = {word for word in within if word in (QUICK, ADAPTIVE)}
    if ways == {QUICK, ADAPTIVE}:
        raise UserError("a run of the suite bias is quick or adaptive, not both")
    named = [INTERACTION if word == CROSS else word for word in within if word not in ways]
    if len(named) > 1 and named[0] in FACTORS and named[1] not in (*FACTORS, INTERACTION, ALL):
        factor, only = FACTORS[named[0]], named[1:]
        for value in only:
            require(f"value of the factor {factor.name}", value, factor.values)
        return _Asked([factor.name], ways, only)
    if wrong := [word for word in named if word not in (*FACTORS, INTERACTION, ALL)]:
        raise UnknownName(unknown("factor of visual bias", wrong[0], [*FACTORS, CROSS, QUICK, ADAPTIVE, ALL]))
    paper = [one.name for one in FACTORS.entries() if one.is_in_paper]
    others = [name for name in FACTORS if name not in paper]
    every = [*paper, INTERACTION]
    return _Asked(([*every, *others] if ALL in named else named) or every, ways, [])


def _planned(instance: Cell, repeat: int, repeats: int, request: SuiteRequest) -> Planned:
    """With a start of the robot that all values share in a context, and contexts that come twice do not."""
    dimension = [one.name for one in CONTEXTS].index(instance.context)
    seed = request.first_seed + dimension * repeats + repeat
    trial = Trial(
        TASK, TASKS[TASK].version, request.policy, seed, request.robot, 0, request.perturbations, NAME, request.clock,
        instance.interventions,
    )  # fmt: skip
    beside = [("hex", hex_of(instance.setting[COLOUR]))] if COLOUR in instance.setting else []
    baseline = BY.join(_baseline(instance))
    said = (("grid", instance.grid), ("baseline", baseline), *instance.setting.items(), ("context", instance.context))
    # What is said of a run that its outcomes ended is told otherwise.
    beside += [("repeats", ADAPTIVE)] if ADAPTIVE in request.within else []
    # A trial that several grids share has a row for each.
    return Planned(trial, "cell", None, (*said, *beside), instance.grid)


def _fraction(every: Sequence[Cell], repeats: int) -> list[tuple[Cell, int]]:
    """One of ten, so that each value comes about as often, and so does each context and start of the robot."""
    kept = []
    seen: dict[tuple[str, ...], int] = {}
    values: dict[tuple[str, ...], int] = {}
    for one in every:
        value = _value(one)
        row = values.setdefault(value, len(values))
        column = seen.get(value, 0)
        seen[value] = column + 1
        kept += [(one, repeat) for repeat in range(repeats) if (row + column * repeats + repeat) % FRACTION == 0]
    return kept


def _adaptive(done: pl.DataFrame, request: SuiteRequest, every: Sequence[Cell], repeats: int) -> list[tuple[Cell, int]]:
    """First a few repeats of all; then further ones of values that may or may not differ from the baseline."""
    first = min(FIRST_REPEATS, repeats)
    ended = {trial: (won, outcome) for trial, won, outcome in done.select("trial_id", "success", "outcome").iter_rows()}
    cells = [(one, repeat) for one in every for repeat in range(first)]
    for more in range(first, repeats):
        outcomes: dict[tuple[str, ...], dict[str, bool]] = {}
        for one, repeat in cells:
            known = ended.get(_planned(one, repeat, repeats, request).trial.id)
            if known is None:
                # A round is seen as a whole, so that a killed run goes on as it would have.
                return cells
            mine = outcomes.setdefault(_value(one), {})
            if known[1] != "error":
                mine[f"{one.place} {repeat}"] = bool(known[0])
        usual = outcomes.pop(_baseline(every[0]))
        open_ = {value for value, wins in outcomes.items() if _is_open(wins, usual)}
        if open_:
            open_.add(_baseline(every[0]))
        cells += [(one, more) for one in every if _value(one) in open_]
    return cells


def _value(instance: Cell) -> tuple[str, ...]:
    return tuple(instance.setting[name] for name in instance.factors)


def _baseline(instance: Cell) -> tuple[str, ...]:
    return tuple(FACTORS[name].baseline for name in instance.factors)


def _is_open(wins: Mapping[str, bool], usual: Mapping[str, bool]) -> bool:
    """Whether it is not yet known to differ from the baseline by five points, nor to be within five points of it.

    By an interval that holds whenever one stops. Pairs of which one ended in an error do not count.
    """
    found = difference_sequence([float(won) - usual[place] for place, won in wins.items() if place in usual])
    if found.low is None or found.high is None:
        return True
    differs = found.high < -DIFFERENCE or found.low > DIFFERENCE
    is_same = found.low >= -DIFFERENCE and found.high <= DIFFERENCE
    return not differs and not is_same
