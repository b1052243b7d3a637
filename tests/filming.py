"""Short episodes of a policy that looks through two cameras, in memory and as run folders."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from robodx.policy_contract import ActionChunk, CameraRequest, EpisodeStart, Observation, PolicySpec
from robodx.records.table import to_table
from robodx.records.trajectory import Trajectory
from robodx.records.trial import Trial
from robodx.records.values import Applied
from robodx.running.rollout import rollout
from robodx.sim import gl
from robodx.sim.render import RENDERING_VERSION
from robodx.tasks.base import TASKS
from tests.viewing import write_run

# Of different sizes, and of two kinds: one stands, one is carried.
CAMERAS = (CameraRequest("front", 24, 32), CameraRequest("wrist", 20, 20))


class Waver:
    """Moves a little, in chunks of three steps, keeps all that it was shown, and ends with what is no action."""

    def __init__(self, steps: int) -> None:
        self.steps = steps
        self.spec = PolicySpec(action_space="ee_delta", cameras=CAMERAS, hz=10.0)
        self.seen: list[Observation] = []

    def reset(self, starts: Sequence[EpisodeStart]) -> None: ...

    def act(self, observations: Sequence[Observation]) -> Sequence[ActionChunk]:
        self.seen += observations
        action = np.zeros((3, 7), dtype=np.float32)
        action[:, 1], action[:, 2], action[:, 6] = 0.02, -0.02, 1.0
        return [action if one.step < self.steps else np.full_like(action, np.nan) for one in observations]

    def finish(self, ids: Sequence[str]) -> None: ...


def played(
    task: str = "primitive/pick_cube",
    *,
    perturbations: tuple[Applied, ...] = (),
    interventions: tuple[Applied, ...] = (),
    quality: str = "fast",
    steps: int = 15,
) -> tuple[dict[str, Any], Trajectory, Waver]:
    """The row and the trajectory of an episode of so many steps, a multiple of three, and who played it."""
    policy = Waver(steps)
    trial = Trial(task, TASKS[task].version, "waver", 3, perturbations=perturbations, interventions=interventions)
    ((episode, trajectory),) = rollout([trial], policy, quality=quality)
    assert trajectory is not None and episode.steps == steps, episode.error
    return to_table([episode]).row(0, named=True), trajectory, policy


def about(spec: PolicySpec, quality: str = "fast") -> dict[str, Any]:
    """As run.json has it."""
    rendered = {"gl_renderer": gl.renderer_name(), "mujoco": version("mujoco"), "rendering": RENDERING_VERSION}
    said = {**asdict(spec), "cameras": [asdict(camera) for camera in spec.cameras], "state": list(spec.state)}
    return {"policy_spec": said, "request": {"quality": quality}, "versions": rendered}


def stored(folder: Path, *, part: str = "all", **said: Any) -> dict[str, Any]:
    """A run folder of one such episode, whose row is returned."""
    row, trajectory, policy = played(**said)
    described = about(policy.spec)
    write_run(folder, [row], part=part, about={**described, "request": {"policy": "waver", "plugins": []}})
    trajectory.save(folder / "trajectories" / f"{row['trial_id']}.npz")
    return row
