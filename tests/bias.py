"""Runs of the suite `bias` by policies whose biases are known: outcomes are drawn, and nothing is simulated."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

from robodx.analysis.bias.cells import CROSSED, Block, Grid
from robodx.records.design import Planned, design_table, with_design, write_design
from robodx.records.episode import Episode
from robodx.records.table import to_table
from robodx.records.trial import Trial
from tests.reporting import ABOUT

Floats = NDArray[np.float64]
TASK = "bias/put_solid_in_box"
SHAPES = ("cube", "cylinder", "triangular block", "sphere")
USUAL = "usual"
BASELINES = {
    "colour": "red", "camera_orientation": "yaw 0, pitch 0", "camera_pose": "original", "camera_distance": "0.00 m",
}  # fmt: skip
COLOURS = {
    "red": "#ff0000", "crimson": "#dc143c", "orange": "#ffa500", "tan": "#d2b48c", "gold": "#ffd700",
    "green": "#008000", "teal": "#008080", "blue": "#0000ff", "indigo": "#4b0082", "hotpink": "#ff69b4",
    "white": "#ffffff", "silver": "#c0c0c0", "gray": "#808080", "black": "#000000",
}  # fmt: skip
POSES = tuple(f"ring {ring}, {angle}°" for ring in (1, 2, 3) for angle in (-90, -60, -30, 0, 30, 60, 90))
CROSS = ("red", "orange", "gold", "green", "blue", "white", "gray")
# The chance of success with these factors and in this context, by name.
Policy = Callable[[Mapping[str, str]], float]


def contexts(repeats: int) -> Iterator[tuple[dict[str, str], int]]:
    """Each of the 11 contexts with each of its seeds: those of a dimension have robot starts of their own."""
    varied = {"place": ("1", "2", "3", "4"), "shape": SHAPES, "wording": ("1", "2", "3")}
    for dimension, (name, values) in enumerate(varied.items()):
        for value in values:
            for repeat in range(repeats):
                usual = {"place": "1", "shape": "cube", "wording": "1"}
                yield {"context": name, **usual, name: value}, dimension * repeats + repeat


class MadeRun:
    """A run folder that grows by grids, and then `write`."""

    def __init__(
        self,
        chance: Policy,
        *,
        policy: str = "somebody",
        seed: int = 0,
        further: Mapping[str, str | None] | None = None,
    ) -> None:
        # `further`: what the design says of each cell besides, and with None what it does not say.
        self.chance, self.policy, self.further = chance, policy, further or {}
        self.rng = np.random.default_rng(seed)
        self.planned: list[Planned] = []
        self.rows: dict[str, Episode] = {}

    def factor(self, name: str, values: Sequence[str], *, repeats: int = 5) -> MadeRun:
        for context, seed in contexts(repeats):
            for value in values:
                self._add(name, {name: value}, context, seed)
        return self

    def crossed(self, first: Sequence[str] = CROSS, second: Sequence[str] = POSES, *, repeats: int = 10) -> MadeRun:
        usual = {"context": "place", "place": "1", "shape": "cube", "wording": "1"}
        for seed in range(repeats):
            for colour in first:
                for pose in second:
                    self._add(f"colour{CROSSED}camera_pose", {"colour": colour, "camera_pose": pose}, usual, seed)
        return self

    def _add(self, grid: str, factors: Mapping[str, str], context: Mapping[str, str], seed: int) -> None:
        changed = {name: value for name, value in factors.items() if value != BASELINES.get(name, USUAL)}
        layout = f"place {context['place']}, {context['shape']}, wording {context['wording']}"
        set_ = (("bias context", layout), *sorted(changed.items()))
        trial = Trial(TASK, 1, self.policy, seed, suite="bias", interventions=set_)
        hexed = {"hex": COLOURS[factors["colour"]]} if "colour" in factors else {}
        baseline = CROSSED.join(BASELINES.get(name, USUAL) for name in factors)
        said = {"grid": grid, "baseline": baseline, **factors, **context, **hexed}
        written = {name: value for name, value in {**said, **self.further}.items() if value is not None}
        self.planned.append(Planned(trial, "cell", None, tuple(written.items()), grid))
        if trial.id in self.rows:
            return
        success = bool(self.rng.random() < self.chance(said))
        self.rows[trial.id] = Episode(
            trial.id, trial.pair_id, trial.suite, trial.task, 1, "bias", "easy", (), trial.robot, trial.policy,
            trial.seed, trial.repeat, trial.perturbations, trial.clock, 0, 0.0, interventions=trial.interventions,
            outcome="success" if success else "timeout", success=success, trajectory_hash=trial.id, steps=10,
        )  # fmt: skip

    @property
    def episodes(self) -> pl.DataFrame:
        return with_design(to_table(list(self.rows.values())), design_table(self.planned))

    def write(self, folder: Path) -> Path:
        (folder / "episodes").mkdir(parents=True, exist_ok=True)
        request = {**ABOUT["request"], "selectors": ["bias"], "policy": self.policy}
        (folder / "run.json").write_text(json.dumps({**ABOUT, "request": request}))
        to_table(list(self.rows.values())).write_parquet(folder / "episodes" / "all.parquet")
        write_design(folder, design_table(self.planned))
        return folder


def grid_of(success: Floats, blocks_per_context: int, factors: tuple[str, ...] = ("light",)) -> Grid:
    """A grid of these outcomes (blocks, values, …); the first value is the baseline."""
    blocks = tuple(
        Block(("place", str(1 + at // blocks_per_context), "cube", "1"), at % blocks_per_context)
        for at in range(len(success))
    )
    values = tuple((USUAL, *(f"v{at}" for at in range(1, size))) for size in success.shape[1:])
    ids = np.array([f"t{at}" for at in range(success.size)], dtype=object).reshape(success.shape)
    base, base_ids = success.reshape(len(success), -1)[:, 0], ids.reshape(len(success), -1)[:, 0]
    return Grid(
        "somebody", CROSSED.join(factors), factors, (USUAL,) * len(factors), values, blocks, success, ids, ids, base,
        base_ids, base_ids, {}, success.size, int(np.isnan(success).sum()),
    )  # fmt: skip
