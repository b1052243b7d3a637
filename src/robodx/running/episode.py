"""The record of one executed trial: a flat row for tables, and arrays for the trajectory."""

from __future__ import annotations

import hashlib
import io
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from robodx.records import files
from robodx.running.trial import Applied
from robodx.sim.geometry import Array

Outcome = Literal["success", "failure", "timeout", "error"]


@dataclass(frozen=True)
class Happening:
    """An entry of the world's log, as stored."""

    step: int
    time_s: float
    kind: str
    object: str
    other: str
    value: float


@dataclass(frozen=True)
class Told:
    """The text that reached the policy from this step on."""

    step: int
    text: str


@dataclass(frozen=True)
class Evidence:
    """By what a failure was told: the step, the thing and the condition it hangs on, in a sentence."""

    step: int
    object: str
    condition: str
    says: str


@dataclass(frozen=True)
class Target:
    """The thing that is to be handled first, as it was at first."""

    name: str
    kind: str
    colour: str
    size_m: float
    x_m: float
    y_m: float


@dataclass(frozen=True)
class Mistake:
    """An attribute in which the chosen thing is not what was asked for."""

    attribute: str
    asked: str
    chosen: str


@dataclass(frozen=True)
class Episode:
    """One row of a run. Numbers that were not measured are None, never zero."""

    trial_id: str
    pair_id: str
    suite: str
    task: str
    task_version: int
    family: str
    tier: str | None
    tags: tuple[str, ...]
    robot: str
    policy: str
    seed: int
    repeat: int
    perturbations: tuple[Applied, ...]
    clock: str
    attempt: int
    wall_s: float
    outcome: Outcome
    success: bool = False
    error: str | None = None
    failure_kind: str | None = None
    failure_type: str | None = None
    failure_evidence: Evidence | None = None
    # Faults of how it was done, whether or not it was done in the end.
    quality_flags: tuple[str, ...] = ()
    # What perfect skill without understanding scores in this task.
    chance: float | None = None
    # The motor act by whose success its own can be normalised.
    primitive: str | None = None
    progress: float | None = None
    stages: int | None = None
    stages_reached: int | None = None
    stage_steps: tuple[int, ...] = ()
    steps: int = 0
    instructions: tuple[Told, ...] = ()
    events: tuple[Happening, ...] = ()
    first_touched: str | None = None
    # What it takes, as paths; see running/demands.py.
    demands: tuple[str, ...] = ()
    target: Target | None = None
    mistaken: tuple[Mistake, ...] = ()
    trajectory_hash: str | None = None
    duration_s: float | None = None
    path_length_m: float | None = None
    # Of the path, to the expert's in the same situation; None where the expert did not succeed.
    length_ratio: float | None = None
    mean_squared_jerk: float | None = None
    sparc: float | None = None
    stability: float | None = None
    slips: int | None = None
    drops: int | None = None
    collisions: int | None = None
    peak_collision_n: float | None = None
    limit_steps: int | None = None
    joint_limit_s: float | None = None
    # How often the policy was asked, and how often what it saw, or when it was heard, was perturbed.
    queries: int | None = None
    perturbed_queries: int | None = None
    # Steps in which something else was executed than the policy asked for.
    perturbed_steps: int | None = None
    actions_per_s: float | None = None
    inference_ms_p50: float | None = None
    inference_ms_p95: float | None = None
    inference_ms_p99: float | None = None


class Query(NamedTuple):
    """One call of the policy."""

    step: int
    inference_s: float
    is_perturbed: bool = False


@dataclass(frozen=True)
class Trajectory:
    """Arrays of one episode: n control steps, n + 1 states."""

    time_s: Array  # (n + 1,)
    qpos: Array  # (n + 1, nq)
    tool_in_world: Array  # (n + 1, arms, 7)
    stage: NDArray[np.int32]  # (n + 1,)
    actions: NDArray[np.float32]  # (n, action_dim): as the policy sent them, NaN while it was thinking
    commands: NDArray[np.float32]  # (n, joint action): what was executed, as `joint` actions
    query_steps: NDArray[np.int32]  # (queries,): when the policy was asked
    inference_s: Array  # (queries,): how long each answer took
    is_query_perturbed: NDArray[np.bool_]  # (queries,): whether what it was shown, or when it was heard, was perturbed
    is_command_perturbed: NDArray[np.bool_]  # (n,): whether something else was executed than what it asked for

    def digest(self) -> str:
        """The same for two episodes only if they moved alike, bit for bit."""
        digest = hashlib.blake2b(digest_size=16)
        for array in (self.qpos, self.commands, self.stage):
            digest.update(np.ascontiguousarray(array).tobytes())
        return digest.hexdigest()

    def save(self, path: Path) -> None:
        buffer = io.BytesIO()
        np.savez_compressed(buffer, **vars(self))
        files.write(path, buffer.getvalue())

    @classmethod
    def load(cls, path: Path) -> Trajectory:
        with np.load(path, allow_pickle=False) as arrays:
            known: dict[str, Any] = {name: arrays[name] for name in cls.__dataclass_fields__ if name in arrays}
            # Older ones do not say what was perturbed.
            known.setdefault("is_query_perturbed", np.zeros(len(known["query_steps"]), dtype=np.bool_))
            known.setdefault("is_command_perturbed", np.zeros(len(known["commands"]), dtype=np.bool_))
            return cls(**known)


@dataclass
class Recorder:
    """Collects a trajectory into arrays allocated once."""

    max_steps: int
    nq: int
    arms: int
    action_width: int
    command_width: int
    n: int = field(default=0, init=False)

    def __post_init__(self) -> None:
        rows = self.max_steps + 1
        self._time = np.zeros(rows)
        self._qpos = np.zeros((rows, self.nq))
        self._tool = np.zeros((rows, self.arms, 7))
        self._stage = np.zeros(rows, dtype=np.int32)
        self._actions = np.zeros((self.max_steps, self.action_width), dtype=np.float32)
        self._commands = np.zeros((self.max_steps, self.command_width), dtype=np.float32)
        self._is_perturbed = np.zeros(self.max_steps, dtype=np.bool_)

    def note_state(self, time_s: float, qpos: Array, stage: int) -> Array:
        """Returns where the tools (arms, 7) of this state are to be written."""
        self._time[self.n] = time_s
        self._qpos[self.n] = qpos
        self._stage[self.n] = stage
        row: Array = self._tool[self.n]
        return row

    def note_step(self, action: NDArray[np.float32], command: NDArray[np.float32], is_perturbed: bool) -> None:
        self._actions[self.n] = action
        self._commands[self.n] = command
        self._is_perturbed[self.n] = is_perturbed
        self.n += 1

    def trajectory(self, queries: Sequence[Query]) -> Trajectory:
        n = self.n
        return Trajectory(
            self._time[: n + 1].copy(),
            self._qpos[: n + 1].copy(),
            self._tool[: n + 1].copy(),
            self._stage[: n + 1].copy(),
            self._actions[:n].copy(),
            self._commands[:n].copy(),
            np.array([query.step for query in queries], dtype=np.int32),
            np.array([query.inference_s for query in queries], dtype=np.float64),
            np.array([query.is_perturbed for query in queries], dtype=np.bool_),
            self._is_perturbed[:n].copy(),
        )
