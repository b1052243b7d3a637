"""Frames of the expert at work: what another policy would have seen there, and what the expert did."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from robodx.policies.base import EpisodeStart, Observation, PolicySpec, make_policy
from robodx.robots.kinematics import Kinematics
from robodx.running.environment import Environment
from robodx.running.trial import Trial
from robodx.sim.geometry import Array, Pose
from robodx.tasks.base import TASKS


@dataclass(frozen=True)
class Frame:
    """One step of a demonstration, of a robot with one arm. Poses are the tool's in the base."""

    start: EpisodeStart
    observation: Observation
    period_s: float
    commanded: Pose
    achieved: Pose
    commanded_joints: Array
    # What the expert told the arm to do next.
    target: Pose
    target_joints: Array
    opening: float


def demonstrate(
    spec: PolicySpec, tasks: Sequence[str], *, seed: int = 0, every: int = 1, robot: str = "panda"
) -> Iterator[Frame]:
    """The expert solves each task in the situation of the seed, and every so many steps is a frame."""
    expert = make_policy("expert")
    shown = replace(expert.spec, cameras=spec.cameras, state=spec.state, uses_language=spec.uses_language, replan=None)
    for task in tasks:
        environment = Environment(Trial(task, TASKS[task].version, "expert", seed, robot), shown)
        kinematics = Kinematics(robot, 0)
        start = environment.start()
        expert.reset([start])
        try:
            while not environment.is_done:
                seen = environment.observe()
                (chunk,) = expert.act([seen])
                before, measured = environment.simulation.command.joints, environment.simulation.joint_positions()
                commanded, achieved = kinematics.tool_in_base(before.astype(float)), kinematics.tool_in_base(measured)
                environment.accept(chunk, 0.0)
                environment.step()
                after = environment.simulation.command
                if seen.step % every == 0:
                    yield Frame(
                        replace(start, privileged=None),
                        replace(seen, privileged=None),
                        1.0 / shown.hz,
                        commanded,
                        achieved,
                        before.astype(float),
                        kinematics.tool_in_base(after.joints.astype(float)),
                        after.joints.astype(float),
                        float(np.asarray(chunk)[0, -1]),
                    )
        finally:
            expert.finish([start.episode_id])
            environment.close()
