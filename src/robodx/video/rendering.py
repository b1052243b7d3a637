"""Pictures of an episode, rendered afterwards from stored states without simulating again."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from robodx.policy_contract import PolicySpec
from robodx.records.trajectory import Trajectory
from robodx.records.trial import Trial
from robodx.running.environment import Environment
from robodx.sim.build import camera_quaternion
from robodx.sim.render import Renderer
from robodx.sim.scene import Camera
from robodx.sim.simulation import Simulation

SIZE = 384
CAMERAS = ("front", "wrist")
# Hold the last picture, so that a viewer sees how it ended.
LAST_FRAME_S = 0.5
# In metres and radians, far less than a pixel shows: who stands still until time runs out is drawn once.
STILL = 1e-5


class Restored(NamedTuple):
    """A stored state that is back in place, and whether it looks another way than the one before."""

    step: int
    is_new: bool


def frames(
    trial: Trial,
    trajectory: Trajectory,
    events: Iterable[tuple[int, str]],
    *,
    hz: float,
    cameras: tuple[str, ...] = CAMERAS,
    size: int = SIZE,
    quality: str = "standard",
) -> Iterator[NDArray[np.uint8]]:
    """The episode's pictures, the cameras side by side; `events` are the logged ones, by step and effect."""
    environment = Environment(trial, PolicySpec(hz=hz))
    renderer = Renderer(environment.simulation, largest=(size, size), quality=quality)
    try:
        for state in restored(environment, trajectory, events):
            if state.is_new:
                frame = np.concatenate([renderer.rgb(camera, size, size) for camera in cameras], axis=1)
            yield frame
        yield from (frame for _ in range(round(LAST_FRAME_S * hz)))
    finally:
        renderer.close()


def restored(environment: Environment, trajectory: Trajectory, events: Iterable[tuple[int, str]]) -> Iterator[Restored]:
    """Put one stored state after the other into an environment that was never stepped, to look at it and no more."""
    simulation = environment.simulation
    effects = {str(event.effect): event.effect for event in environment.events}
    happened = [(at, effects[name]) for at, name in events]
    seen = np.full_like(trajectory.qpos[0], np.inf)
    for step, qpos in enumerate(trajectory.qpos):
        now = [effect for at, effect in happened if at == step]
        for effect in now:
            # For what it changes in the look; where things are is overwritten by the record.
            effect.apply(simulation, lambda instruction: None)
        simulation.step_count, simulation.time_s = step, float(trajectory.time_s[step])
        simulation.data.qpos[:] = qpos
        simulation.refresh()
        is_new = bool(now) or not np.abs(qpos - seen).max() <= STILL
        seen = qpos if is_new else seen
        yield Restored(step, is_new)


def logged_events(row: Mapping[str, Any]) -> list[tuple[int, str]]:
    """What happened to the world in an episode, by step and effect; of a row of the table of episodes."""
    return [(entry["step"], entry["object"]) for entry in row["events"] or () if entry["kind"] == "event"]


@contextmanager
def standing(simulation: Simulation, camera: Camera) -> Iterator[None]:
    """With a camera where it belongs, whatever moved it in this episode."""
    placed = simulation.model.camera(camera.name)
    was = placed.pos.copy(), placed.quat.copy(), placed.fovy.copy()
    placed.pos[:], placed.quat[:], placed.fovy[:] = camera.position, camera_quaternion(camera), camera.fovy_deg
    try:
        yield
    finally:
        placed.pos[:], placed.quat[:], placed.fovy[:] = was
