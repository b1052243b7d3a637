"""Frames of the expert at work: what another policy would have seen there, and where the expert went next."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from robodx.errors import UserError
from robodx.perturbations.resolution import pooled
from robodx.policy_contract import ActionChunk, EpisodeStart, Observation, PolicySpec, make_policy
from robodx.records.trial import DEFAULT_ROBOT, Trial
from robodx.robots.kinematics import Kinematics
from robodx.running.environment import Environment
from robodx.running.observers import EpisodeObserver
from robodx.running.rollout import rollout
from robodx.sim.geometry import Array, Pose
from robodx.streams import FIRST_TRAINING_SEED
from robodx.tasks.base import EVALUATION_ONLY, TASKS


@dataclass(frozen=True)
class Frame:
    """A moment of a demonstration and where the expert went from there. Poses are the tool's in the base."""

    observation: Observation
    commanded: Pose
    achieved: Pose
    commanded_joints: Array
    # How long the expert is followed, and what it had commanded by then.
    horizon_s: float
    target: Pose
    target_joints: Array
    opening: float


@dataclass(frozen=True)
class Demonstration:
    """One task solved by the expert, with a robot of one arm, as another policy would have seen it."""

    start: EpisodeStart
    hz: float
    observations: Sequence[Observation]
    measured: Sequence[Array]
    # The joints' targets at first and after each step, and the opening that each step commanded.
    commands: Sequence[Array]
    openings: Array
    kinematics: Kinematics

    def frame(self, step: int, horizon_s: float) -> Frame:
        # Another policy may be faster or slower than the expert.
        ahead = horizon_s * self.hz
        target = _between(self.commands, step + ahead)
        return Frame(
            observation=self.observations[step],
            commanded=self.kinematics.tool_in_base(self.commands[step]),
            achieved=self.kinematics.tool_in_base(self.measured[step]),
            commanded_joints=self.commands[step],
            horizon_s=horizon_s,
            target=self.kinematics.tool_in_base(target),
            target_joints=target,
            opening=float(self.openings[min(step + math.ceil(ahead - 1e-9), len(self.openings)) - 1]),
        )

    def with_cameras_of(self, other: Demonstration) -> Demonstration:
        """The same demonstration, seen with further cameras."""
        both = zip(self.observations, other.observations, strict=True)
        return replace(
            self,
            start=replace(self.start, cameras={**self.start.cameras, **other.start.cameras}),
            observations=[
                replace(one, images={**one.images, **more.images}, depth={**one.depth, **more.depth})
                for one, more in both
            ],
        )

    def with_pictures_of_size(self, height: int, width: int) -> Demonstration:
        """The same demonstration, with smaller pictures."""
        return replace(
            self,
            observations=[
                replace(
                    one,
                    images={name: pooled(image, height, width) for name, image in one.images.items()},
                    depth={name: _nearest(image, height, width) for name, image in one.depth.items()},
                )
                for one in self.observations
            ],
        )

    @property
    def size(self) -> int:
        """Bytes of its pictures."""
        return sum(
            sum(picture.nbytes for picture in one.images.values()) + sum(depth.nbytes for depth in one.depth.values())
            for one in self.observations
        )


def demonstrate(
    spec: PolicySpec, task: str, *, seed: int = FIRST_TRAINING_SEED, robot: str = DEFAULT_ROBOT
) -> Demonstration:
    """The expert solves a task in the situation of the seed."""
    refuse_evaluation_only([task])
    expert, seen = _SeenBy(spec), _Demonstration()
    (finished,) = rollout([Trial(task, TASKS[task].version, "expert", seed, robot)], expert, observers=[seen])
    if finished.trajectory is None:
        raise RuntimeError(f"no demonstration of {task}: {finished.episode.error}")
    return Demonstration(
        start=replace(expert.start, privileged=None),
        hz=expert.spec.hz,
        observations=[replace(one, privileged=None) for one in seen.observations],
        measured=seen.measured,
        commands=seen.commands,
        openings=finished.trajectory.actions[:, -1].astype(float),
        kinematics=Kinematics(robot),
    )


class _SeenBy:
    """The expert, who is shown all that another policy would be shown too."""

    def __init__(self, other: PolicySpec) -> None:
        self._expert = make_policy("expert")
        self.spec = replace(
            self._expert.spec, cameras=other.cameras, state=other.state, uses_language=other.uses_language
        )

    def reset(self, starts: Sequence[EpisodeStart]) -> None:
        (self.start,) = starts
        self._expert.reset(starts)

    def act(self, observations: Sequence[Observation]) -> Sequence[ActionChunk | Exception]:
        return self._expert.act(observations)

    def finish(self, episode_ids: Sequence[str]) -> None:
        self._expert.finish(episode_ids)


@dataclass
class _Demonstration(EpisodeObserver):
    """What was seen and measured before each step, and the joints' targets at first and after each."""

    observations: list[Observation] = field(default_factory=list)
    measured: list[Array] = field(default_factory=list)
    commands: list[Array] = field(default_factory=list)

    def before_query(self, environment: Environment, observation: Observation) -> None:
        self.observations.append(observation)
        self.measured.append(environment.simulation.joint_positions().copy())
        if not self.commands:
            self.after_step(environment)

    def after_step(self, environment: Environment) -> None:
        self.commands.append(environment.simulation.command.joints.astype(float))


def refuse_evaluation_only(tasks: Sequence[str]) -> None:
    """What a policy was shown can no longer tell how it does on what it has not seen."""
    kept = [task for task in tasks if EVALUATION_ONLY in TASKS[task].tags]
    if kept:
        raise UserError(f"No demonstrations of {', '.join(kept)}: the family is for evaluation only.")


def _between(commands: Sequence[Array], at: float) -> Array:
    """Commands move linearly from step to step, and the last one holds."""
    before = min(int(at), len(commands) - 1)
    after = min(before + 1, len(commands) - 1)
    return commands[before] + (at - before) * (commands[after] - commands[before]) if after > before else commands[-1]


def _nearest(image: NDArray[np.float32], height: int, width: int) -> NDArray[np.float32]:
    """Distances are not blended: between two things there is nothing."""
    rows, columns = (
        ((np.arange(wanted) + 0.5) * there / wanted).astype(int)
        for wanted, there in zip((height, width), image.shape, strict=True)
    )
    return np.ascontiguousarray(image[rows][:, columns])
