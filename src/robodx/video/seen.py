"""What a policy saw: its own pictures, made again from stored states in the way in which they were made."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from importlib.metadata import version
from typing import Any

import numpy as np
from numpy.typing import NDArray

from robodx.errors import UserError
from robodx.policy_contract import CameraRequest, PolicySpec
from robodx.records.about import UnreadableRun
from robodx.records.trajectory import Trajectory
from robodx.running.environment import Environment
from robodx.sim import gl
from robodx.sim.render import RENDERING_VERSION

# What decides the bits of a picture, with the words for it.
RENDERED_BY = {"gl_renderer": "OpenGL", "mujoco": "MuJoCo", "rendering": "rendering version"}


@dataclass(frozen=True)
class Look:
    """The pictures of the cameras that a policy asked for, as it was given them at a step."""

    step: int
    images: Mapping[str, NDArray[np.uint8]]  # (height, width, 3), of any size


@dataclass
class Eyes:
    """A policy's eyes in an environment whose states are restored one after the other.

    A policy is shown something only when it is asked. What was done to its pictures may hang on what it was shown
    before, as a picture that froze, so that it is shown the same again, at the same steps and in their order.
    """

    environment: Environment
    query_steps: frozenset[int]
    last: Look | None = field(default=None, init=False)

    @classmethod
    def of(cls, environment: Environment, trajectory: Trajectory) -> Eyes:
        return cls(environment, frozenset(map(int, trajectory.query_steps)))

    def look(self, step: int) -> Look | None:
        """What it saw last, now that the state of this step is in place; None before its first look."""
        if step in self.query_steps and self.environment.spec.cameras:
            self.last = Look(step, dict(self.environment.observe().images))
        return self.last


def recorded_spec(about: Mapping[str, Any]) -> PolicySpec:
    """What the policy of a run declared, of the run's own description."""
    said = dict(about["policy_spec"])
    known = {one.name for one in fields(PolicySpec)}
    try:
        cameras = tuple(CameraRequest(**camera) for camera in said.pop("cameras", ()))
        state = tuple(said.pop("state", ()))
        # The world may be shown to no one here: nobody acts in it.
        said.pop("is_privileged", None)
        return PolicySpec(**{name: said[name] for name in said if name in known}, cameras=cameras, state=state)
    except (UserError, TypeError, ValueError, AttributeError) as error:
        raise UnreadableRun(f"its run.json says of the policy what cannot be: {error}") from error


def deviations(about: Mapping[str, Any]) -> str:
    """Why pictures that are made here may differ from those of the run; nothing if they are the same, bit for bit."""
    then = about.get("versions") or {}
    now = {"gl_renderer": gl.renderer_name(), "mujoco": version("mujoco"), "rendering": RENDERING_VERSION}
    others = [words for name, words in RENDERED_BY.items() if then.get(name) != now[name]]
    return f"The policy's pictures may differ in detail: drawn with another {' and '.join(others)}." if others else ""
