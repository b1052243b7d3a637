"""Videos, rendered afterwards from stored states without simulating again."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np
from numpy.typing import NDArray

from robodx.policy_contract import PolicySpec
from robodx.records.trajectory import Trajectory
from robodx.records.trial import Trial
from robodx.running.environment import Environment
from robodx.sim.render import Renderer

SIZE = 384
CAMERAS = ("front", "wrist")
# Hold the last picture, so that a viewer sees how it ended.
LAST_FRAME_S = 0.5
# In metres and radians, far less than a pixel shows: who stands still until time runs out is drawn once.
STILL = 1e-5


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
    simulation = environment.simulation
    renderer = Renderer(simulation, largest=(size, size), quality=quality)
    effects = {str(event.effect): event.effect for event in environment.events}
    happened = [(at, effects[name]) for at, name in events]
    drawn = np.full_like(trajectory.qpos[0], np.inf)
    try:
        for step, qpos in enumerate(trajectory.qpos):
            now = [effect for at, effect in happened if at == step]
            for effect in now:
                # For what it changes in the look; where things are is overwritten by the record.
                effect.apply(simulation, lambda instruction: None)
            if now or not np.abs(qpos - drawn).max() <= STILL:
                simulation.data.qpos[:] = drawn = qpos
                simulation.refresh()
                frame = np.concatenate([renderer.rgb(camera, size, size) for camera in cameras], axis=1)
            yield frame
        yield from (frame for _ in range(round(LAST_FRAME_S * hz)))
    finally:
        renderer.close()
