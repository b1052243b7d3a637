"""The grids of the suite `bias`: the outcome of each value of a factor in each block of context and robot start."""

from __future__ import annotations

import itertools
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from robodx.analysis.variants import of_suite
from robodx.records.design import Planned
from robodx.records.values import factor_record

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
SUITE = "bias"
CROSSED = " × "
# What makes a context; the first says which of the others is varied.
CONTEXT = ("context", "place", "shape", "wording")
# What runs were held against that do not say so, those of before the design had it; of all others "usual".
UNSAID = {
    "colour": "red", "camera_orientation": "yaw 0, pitch 0", "camera_pose": "original", "camera_distance": "0.00 m",
}  # fmt: skip
NEEDED = ("trial_id", "seed", "factors", "outcome", "success", "trajectory_hash")
_NUMBERS = re.compile(r"[−-]?\d+(?:\.\d+)?")


class Block(NamedTuple):
    """A context and a robot start: within one, trials differ in the value of the factor alone."""

    context: tuple[str, ...]
    seed: int


@dataclass(frozen=True, eq=False)
class Grid:
    """The trials of one policy over a factor, or over two that are crossed.

    Blocks are sorted by context. `success` is (blocks, values) or (blocks, values, values of the second factor); nan
    where there is no outcome, and between 0 and 1 where a trial was repeated. `baseline` is (blocks,): the same without
    the change, whether or not it is one of the values.
    """

    policy: str
    name: str
    factors: tuple[str, ...]
    # What values are held against, of each factor.
    baselines: tuple[str, ...]
    values: tuple[tuple[str, ...], ...]
    blocks: tuple[Block, ...]
    success: Floats
    # Of each cell the first trial and its trajectory.
    trials: NDArray[np.object_]
    hashes: NDArray[np.object_]
    baseline: Floats
    baseline_trials: NDArray[np.object_]
    baseline_hashes: NDArray[np.object_]
    hexes: Mapping[str, str]
    episodes: int
    errors: int
    # Whether values had more repeats by their outcomes.
    is_adaptive: bool = False
    # The same with the blocks that are left out here, because some of the values were not tried in them.
    with_partial: Grid | None = None

    @property
    def may_have_stopped(self) -> bool:
        """Whether outcomes may have decided how many there are."""
        return self.is_adaptive or self.with_partial is not None

    @property
    def partial(self) -> int:
        """How many blocks are left out."""
        return 0 if self.with_partial is None else len(self.with_partial.blocks) - len(self.blocks)

    @property
    def contexts(self) -> tuple[tuple[str, ...], ...]:
        return tuple(dict.fromkeys(block.context for block in self.blocks))

    @property
    def context_of(self) -> Ints:
        """Of each block the place of its context."""
        places = {context: place for place, context in enumerate(self.contexts)}
        return np.array([places[block.context] for block in self.blocks], dtype=np.int64)

    @property
    def alike(self) -> Ints:
        """Blocks in which all trajectories are the same, bit for bit, have the same number: they are one observation.

        As those of a policy that reads no instructions, in contexts that differ in the wording.
        """
        seen: dict[tuple[object, ...], int] = {}
        keys = []
        for place, row in enumerate(self.hashes.reshape(len(self.blocks), -1)):
            # What has no hash cannot be told to be like another.
            key = (place,) if any(one is None for one in row) else tuple(row)
            keys.append(seen.setdefault(key, len(seen)))
        return np.array(keys, dtype=np.int64)


def grids(episodes: pl.DataFrame) -> list[Grid]:
    """Of each policy, factors in the order of their names and those that are crossed last; none without such trials."""
    asked = of_suite(episodes, SUITE).filter(pl.col("variant") == "cell")
    found = []
    for (policy,), mine in asked.group_by("policy", maintain_order=True):
        ordered = mine.select(NEEDED).sort("seed", "trial_id")
        found += _grids(str(policy), ordered.iter_rows(named=True))
    return found


def planned_grids(planned: Iterable[Planned]) -> list[Grid]:
    """What will be tried, before it is: a cell that is planned counts as a success, all others are nan."""
    cells = [one for one in planned if (one.suite or one.trial.suite) == SUITE and one.variant == "cell"]
    rows = (
        {
            "trial_id": one.trial.id, "seed": one.trial.seed, "factors": [factor_record(each) for each in one.factors],
            "outcome": "success", "success": True, "trajectory_hash": None,
        }
        for one in cells
    )  # fmt: skip
    return _grids(cells[0].trial.policy, rows) if cells else []


def _grids(policy: str, trials: Iterable[Mapping[str, Any]]) -> list[Grid]:
    rows = [row for one in trials if (row := _row(one)) is not None]
    outcomes: dict[_Setting, list[_Row]] = defaultdict(list)
    for row in rows:
        # Two grids may have asked for one trial.
        if row.trial not in {one.trial for one in outcomes[row.setting]}:
            outcomes[row.setting].append(row)
    names = sorted({row.grid for row in rows}, key=lambda name: (CROSSED in name, name))
    found = [_grid(policy, name, [row for row in rows if row.grid == name], outcomes) for name in names]
    return [grid for grid in found if grid is not None]


class _Setting(NamedTuple):
    """What was tried, by whichever grid: all that differs from the baseline."""

    place: str
    shape: str
    wording: str
    seed: int
    changed: frozenset[tuple[str, str]]


class _Row(NamedTuple):
    grid: str
    values: tuple[str, ...]
    baselines: tuple[str, ...]
    block: Block
    setting: _Setting
    is_adaptive: bool
    hex: str | None
    trial: str
    hash: str | None
    success: bool | None


def _row(row: Mapping[str, Any]) -> _Row | None:
    """None of one that lacks what makes a cell, as of a suite of the same name by somebody else."""
    said = {one["name"]: one["text"] for one in row["factors"] if one["text"] is not None}
    factors = said.get("grid", "").split(CROSSED)
    if len(factors) > 2 or not said.keys() >= {"grid", *factors, *CONTEXT}:
        return None
    values = tuple(said[factor] for factor in factors)
    baseline = said.get("baseline") or CROSSED.join(UNSAID.get(factor, "usual") for factor in factors)
    baselines = tuple(baseline.split(CROSSED)) if len(factors) > 1 else (baseline,)
    if len(baselines) != len(factors):
        return None
    context = tuple(said[name] for name in CONTEXT)
    setting = _setting(context, row["seed"], _changed(factors, values, baselines))
    return _Row(
        said["grid"], values, baselines, Block(context, row["seed"]), setting, said.get("repeats") == "adaptive",
        said.get("hex"), row["trial_id"], row["trajectory_hash"], None if row["outcome"] == "error" else row["success"],
    )  # fmt: skip


def _changed(factors: Sequence[str], values: Sequence[str], baselines: Sequence[str]) -> list[tuple[str, str]]:
    every = zip(factors, values, baselines, strict=True)
    return [(factor, value) for factor, value, baseline in every if value != baseline]


def _setting(context: Sequence[str], seed: int, changed: Iterable[tuple[str, str]]) -> _Setting:
    _, place, shape, wording = context
    return _Setting(place, shape, wording, seed, frozenset(changed))


def _grid(policy: str, name: str, rows: Sequence[_Row], outcomes: Mapping[_Setting, Sequence[_Row]]) -> Grid | None:
    """With the blocks in which all values were tried, and beside it with all blocks."""
    factors, baselines = tuple(name.split(CROSSED)), rows[0].baselines
    values = tuple(
        _values(factor, {row.values[place] for row in rows}, baselines[place]) for place, factor in enumerate(factors)
    )
    every = sorted({row.block for row in rows}, key=lambda block: (_natural(block.context), block.seed))
    blocks = _whole(every, rows, [*itertools.product(*values)])
    if not blocks or not all(values):
        return None
    colour = factors.index("colour") if "colour" in factors else 0
    hexes = {row.values[colour]: row.hex for row in rows if row.hex is not None}

    def filled(blocks: Sequence[Block]) -> Grid:
        """Cells are looked up by what was tried: the baseline of one factor may have been tried for another."""
        shape = (len(blocks), *map(len, values))
        success = np.full(shape, np.nan)
        trials, hashes = np.full(shape, None, dtype=object), np.full(shape, None, dtype=object)
        seen = errors = 0
        for at in np.ndindex(shape):
            block = blocks[at[0]]
            chosen = [each[place] for each, place in zip(values, at[1:], strict=True)]
            there = outcomes.get(_setting(block.context, block.seed, _changed(factors, chosen, baselines)), ())
            seen, errors = seen + len(there), errors + sum(one.success is None for one in there)
            success[at], trials[at], hashes[at] = _outcome(there)
        base = [_outcome(outcomes.get(_setting(one.context, one.seed, ()), ())) for one in blocks]
        return Grid(
            policy, name, factors, baselines, values, tuple(blocks), success, trials, hashes,
            np.array([one[0] for one in base]), _objects([one[1] for one in base]), _objects([one[2] for one in base]),
            hexes, seen, errors, any(row.is_adaptive for row in rows),
        )  # fmt: skip

    whole = filled(blocks)
    return whole if len(blocks) == len(every) else replace(whole, with_partial=filled(every))


def _outcome(there: Sequence[_Row]) -> tuple[float, str | None, str | None]:
    known = [one for one in there if one.success is not None]
    if not known:
        return np.nan, None, None
    # Of trials that were repeated there is no one trajectory to tell alike by.
    trajectory = known[0].hash if len(known) == 1 else None
    return float(np.mean([one.success for one in known])), known[0].trial, trajectory


def _whole(every: Sequence[Block], rows: Sequence[_Row], cells: Sequence[tuple[str, ...]]) -> tuple[Block, ...]:
    """Where each context has blocks in which all values were tried, those alone.

    The others are of a run that is not finished, or that went on with some values by their outcomes: with these, the
    values of a block are no longer exchangeable. A run that tried a part of all has no whole ones, and keeps all.
    """
    tried: dict[Block, set[tuple[str, ...]]] = defaultdict(set)
    for row in rows:
        tried[row.block].add(row.values)
    whole = tuple(block for block in every if tried[block].issuperset(cells))
    return whole if {one.context for one in whole} == {one.context for one in every} else tuple(every)


def _values(factor: str, seen: Set[str], baseline: str) -> tuple[str, ...]:
    """The baseline first, if it is one of them: of camera poses it is another camera, which is none of the rings."""
    known = seen - {baseline} if factor == "camera_pose" else seen
    return tuple(sorted(known, key=lambda value: (value != baseline, _natural([value]))))


def _natural(texts: Sequence[str]) -> list[tuple[str, list[float]]]:
    """Numbers in texts by their size."""
    return [
        (_NUMBERS.sub("", text), [float(one.replace("−", "-")) for one in _NUMBERS.findall(text)]) for text in texts
    ]


def _objects(values: Sequence[object]) -> NDArray[np.object_]:
    made = np.full(len(values), None, dtype=object)
    made[:] = values
    return made
