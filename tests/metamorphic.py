"""Small runs of the suite `metamorphic` with paths made by hand: nothing is simulated."""

from __future__ import annotations

import itertools
import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from robodx.records.design import Planned, design_table, with_design, write_design
from robodx.records.episode import Episode
from robodx.records.pairs import SCHEMA
from robodx.records.table import to_table
from robodx.records.trajectory import Hand, Index, Trajectory
from robodx.records.trajectory_files import trajectory_file
from robodx.records.trial import Trial
from tests.reporting import ABOUT

Floats = NDArray[np.float64]
TASK = "carrier/pick_up"
PATTERNS = {"MR4": "variation", "MR5": "relocation"}
FRAMES = {"MR6": "mirrored", "MR10": "moved", "MR11": "at rest"}


def line(*ends: tuple[float, float, float], points: int = 20) -> Floats:
    """A path (points, 3) from each of these to the next."""
    legs = [np.linspace(a, b, points) for a, b in itertools.pairwise(ends)]
    return np.concatenate(legs)


def trajectory(path: Floats, *, closes: int | None = None) -> Trajectory:
    """Of hands along a path (n + 1, 3) or (n + 1, hands, 3), told to close from one step on."""
    hands = path[:, None] if path.ndim == 2 else path
    n, count = len(hands) - 1, hands.shape[1]
    opening = np.ones((n, count), dtype=np.float32)
    if closes is not None:
        opening[closes:] = 0.0
    tools = np.concatenate([hands, np.tile([1.0, 0.0, 0.0, 0.0], (n + 1, count, 1))], axis=2)
    named = tuple(Hand(f"hand {place}", place, place, ()) for place in range(count))
    return Trajectory(
        time_s=np.arange(n + 1) / 20.0, qpos=hands.reshape(n + 1, -1), tool_in_world=tools,
        stage=np.zeros(n + 1, dtype=np.int32), actions=opening, commands=opening,
        query_steps=np.zeros(1, dtype=np.int32), inference_s=np.zeros(1), is_query_perturbed=np.zeros(1, np.bool_),
        is_command_perturbed=np.zeros(n, np.bool_), index=Index({}, {}, named),
    )  # fmt: skip


class MadeRun:
    """A run folder that grows: sources, their follow-ups, and then `write`."""

    def __init__(self, folder: Path, policy: str = "somebody") -> None:
        self.folder, self.policy = folder, policy
        self.planned: list[Planned] = []
        self.rows: list[Episode] = []
        (folder / "trajectories").mkdir(parents=True, exist_ok=True)

    def source(self, seed: int, path: Floats, *, task: str = TASK, closes: int | None = None) -> Trial:
        trial = Trial(task, 1, self.policy, seed, suite="metamorphic")
        self._add(Planned(trial, "source"), path, closes=closes, success=True, failure_type=None)
        return trial

    def follow_up(
        self,
        source: Trial,
        relation: str,
        path: Floats | None,
        *,
        success: bool = True,
        failure_type: str | None = None,
        move: tuple[float, float] | None = None,
        closes: int | None = None,
    ) -> Trial:
        """Without a path it ended in an error."""
        is_repeat = relation == "MR0"
        trial = replace(source, repeat=1) if is_repeat else replace(source, interventions=((relation, "made"),))
        said: list[tuple[str, str | float]] = [
            ("relation", relation),
            ("pattern", PATTERNS.get(relation, "consistency")),
            ("frame", FRAMES.get(relation, "same")),
        ]
        if move is not None:
            said += [("moved_x", move[0]), ("moved_y", move[1])]
        planned = Planned(trial, "repeated" if is_repeat else "follow-up", source, tuple(said))
        self._add(planned, path, closes=closes, success=success, failure_type=failure_type)
        return trial

    def _add(
        self, planned: Planned, path: Floats | None, *, closes: int | None, success: bool, failure_type: str | None
    ) -> None:
        trial = planned.trial
        made = None if path is None else trajectory(path, closes=closes)
        if made is not None:
            made.save(trajectory_file(self.folder, trial.id))
        self.planned.append(planned)
        self.rows.append(
            Episode(
                trial.id, trial.pair_id, trial.suite, trial.task, 1, "carrier", "easy", (), trial.robot, trial.policy,
                trial.seed, trial.repeat, trial.perturbations, trial.clock, 0, 0.0, interventions=trial.interventions,
                outcome="error" if made is None else "success" if success else "failure",
                success=success and made is not None, failure_type=failure_type,
                trajectory_hash=None if made is None else made.digest(), steps=0 if made is None else len(made.actions),
                error="RuntimeError: lost" if made is None else None,
            )
        )  # fmt: skip

    @property
    def episodes(self) -> pl.DataFrame:
        return with_design(to_table(self.rows), design_table(self.planned))

    def write(self, about: Mapping[str, Any] = ABOUT) -> Path:
        request = {**about["request"], "selectors": ["metamorphic"], "policy": self.policy}
        (self.folder / "run.json").write_text(json.dumps({**about, "request": request}))
        (self.folder / "episodes").mkdir(exist_ok=True)
        to_table(self.rows).write_parquet(self.folder / "episodes" / "all.parquet")
        write_design(self.folder, design_table(self.planned))
        return self.folder


def pair(relation: str, seed: int, distance_m: float | None, **further: Any) -> dict[str, Any]:
    """A row of the table of pairs, all of whose distances are the same."""
    task, policy = further.get("task", TASK), further.get("policy", "somebody")
    source = f"{policy}-{task}-{seed}"
    is_flagged = further.pop("is_flagged", False)
    made = {
        "policy": policy, "task": task, "seed": seed, "repeat": 0, "relation": relation,
        "pattern": PATTERNS.get(relation, "consistency"), "source_id": source, "trial_id": f"{source}-{relation}",
        "moved_m": 0.1 if relation == "MR5" else None, "frechet_m": distance_m, "dtw_m": distance_m,
        "hausdorff_m": distance_m, "endpoint_m": distance_m,
        "frechet_by_hand": None if distance_m is None else [distance_m], "source_success": True,
        "follow_up_success": not is_flagged, "is_flagged": is_flagged,
        "failure_type": "grasp synthesis" if is_flagged else None, "source_hash": source,
        "follow_up_hash": f"{source}-{relation}",
    }  # fmt: skip
    return made | further


def pairs_table(*rows: Mapping[str, Any]) -> pl.DataFrame:
    return pl.DataFrame(list(rows), schema=SCHEMA)
