"""Draws the pictures of the README: the expert at work, and a contact sheet of all tasks; `make pictures` runs it."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from robodx.policies.base import PolicySpec, make_policy
from robodx.running.environment import Environment
from robodx.running.rollout import rollout
from robodx.running.show import tile, write_png
from robodx.running.trial import Trial
from robodx.running.video import frames
from robodx.sim.render import Renderer
from robodx.tasks.base import TASKS

IMAGES = Path(__file__).parent.parent / "docs" / "images"


def at_work(task: str, count: int = 5, size: int = 256) -> None:
    """The front camera over the hand's own, at evenly spaced moments."""
    trial = Trial(task, TASKS[task].version, "expert", 0)
    policy = make_policy("expert")
    ((_, trajectory),) = rollout([trial], policy)
    assert trajectory is not None
    moments = np.linspace(0, len(trajectory.qpos) - 1, count).astype(int)
    pictures = list(frames(trial, trajectory, [], hz=policy.spec.hz, size=size, quality="high"))
    columns = [np.concatenate(np.split(pictures[moment], 2, axis=1), axis=0) for moment in moments]
    write_png(IMAGES / f"{task.replace('/', '.')}.png", np.concatenate(columns, axis=1))


def contact_sheet(size: int = 256) -> None:
    pictures = []
    for task in TASKS:
        environment = Environment(Trial(task, TASKS[task].version, "still", 0), PolicySpec())
        renderer = Renderer(environment.simulation, largest=(size, size), quality="high")
        pictures.append(renderer.rgb("front", size, size))
        renderer.close()
    write_png(IMAGES / "tasks.png", tile(pictures, columns=4))


if __name__ == "__main__":
    IMAGES.mkdir(parents=True, exist_ok=True)
    at_work("control/stack_four")
    contact_sheet()
