"""Frames of the expert at work: what another policy would have seen there, and where the expert went next."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from robodx.errors import UserError
from robodx.policy_contract import ActionChunk, EpisodeStart, Observation, PolicySpec, make_policy
from robodx.records.trial import Trial
from robodx.robots.kinematics import Kinematics
from robodx.running.environment import Environment
from robodx.running.observers import EpisodeObserver
from robodx.running.rollout import rollout
from robodx.sim.geometry import Array, Pose
from robodx.streams import FIRST_TRAINING_SEED
from robodx.tasks.base import EVALUATION_ONLY, TASKS


@dataclass(frozen=True)
class Frame:
    """One moment of a demonstration, of a robot with one arm. Poses are the tool's in the base."""

    start: EpisodeStart
    observation: Observation
    is_last: bool
    # Of the policy that is shown the frame: what the expert did next is told for as long.
    period_s: float
    commanded: Pose
    achieved: Pose
    commanded_joints: Array
    # Where the expert had told the arm to be when the period ends.
    target: Pose
    target_joints: Array
    opening: float


def demonstrate(
    spec: PolicySpec, tasks: Sequence[str], *, seed: int = FIRST_TRAINING_SEED, every: int = 1, robot: str = "panda"
) -> Iterator[Frame]:
    """The expert solves each task in the situation of the seed, and every so many of its steps is a frame."""
    refuse_evaluation_only(tasks)
    expert = _SeenBy(spec)
    kinematics = Kinematics(robot, 0)
    for task in tasks:
        seen = _Demonstration()
        trial = Trial(task, TASKS[task].version, "expert", seed, robot)
        (finished,) = rollout([trial], expert, observers=[seen])
        if finished.trajectory is None:
            raise RuntimeError(f"no demonstration of {task}: {finished.episode.error}")
        # What the expert told the hand to do in each step.
        openings = finished.trajectory.actions[:, -1].astype(float)
        # A policy's period in steps of the expert's, who may be faster or slower.
        ahead = expert.spec.hz / spec.hz
        chosen = range(0, len(seen.observations), every)
        for step in chosen:
            target = _between(seen.commands, step + ahead)
            yield Frame(
                start=replace(expert.start, privileged=None),
                observation=replace(seen.observations[step], privileged=None),
                is_last=step == chosen[-1],
                period_s=1.0 / spec.hz,
                commanded=kinematics.tool_in_base(seen.commands[step]),
                achieved=kinematics.tool_in_base(seen.measured[step]),
                commanded_joints=seen.commands[step],
                target=kinematics.tool_in_base(target),
                target_joints=target,
                opening=float(openings[min(step + math.ceil(ahead), len(openings)) - 1]),
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
