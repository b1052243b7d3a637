"""Frames of the expert at work: what another policy would have seen there, and where the expert went next."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from robodx.errors import UserError
from robodx.policy_contract import EpisodeStart, Observation, PolicySpec, make_policy
from robodx.records.trial import Trial
from robodx.robots.kinematics import Kinematics
from robodx.running.environment import Environment
from robodx.sim.geometry import Array, Pose
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
    spec: PolicySpec, tasks: Sequence[str], *, seed: int = 0, every: int = 1, robot: str = "panda"
) -> Iterator[Frame]:
    """The expert solves each task in the situation of the seed, and every so many of its steps is a frame."""
    refuse_evaluation_only(tasks)
    expert = make_policy("expert")
    shown = replace(expert.spec, cameras=spec.cameras, state=spec.state, uses_language=spec.uses_language)
    kinematics = Kinematics(robot, 0)
    for task in tasks:
        environment = Environment(Trial(task, TASKS[task].version, "expert", seed, robot), shown)
        start = environment.start()
        expert.reset([start])
        seen: list[Observation] = []
        measured: list[Array] = []
        openings: list[float] = []
        commands = [environment.simulation.command.joints.astype(float)]
        try:
            while not environment.is_done:
                seen.append(environment.observe())
                measured.append(environment.simulation.joint_positions().copy())
                (chunk,) = expert.act(seen[-1:])
                environment.accept(chunk, 0.0)
                environment.step()
                commands.append(environment.simulation.command.joints.astype(float))
                openings.append(float(np.asarray(chunk)[0, -1]))
        finally:
            expert.finish([start.episode_id])
            environment.close()
        # A policy's period in steps of the expert's, who may be faster or slower.
        ahead = shown.hz / spec.hz
        chosen = range(0, len(seen), every)
        for step in chosen:
            target = _between(commands, step + ahead)
            yield Frame(
                start=replace(start, privileged=None),
                observation=replace(seen[step], privileged=None),
                is_last=step == chosen[-1],
                period_s=1.0 / spec.hz,
                commanded=kinematics.tool_in_base(commands[step]),
                achieved=kinematics.tool_in_base(measured[step]),
                commanded_joints=commands[step],
                target=kinematics.tool_in_base(target),
                target_joints=target,
                opening=openings[min(step + math.ceil(ahead), len(openings)) - 1],
            )


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
