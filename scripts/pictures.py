"""Draws the pictures of the README and the docs: the expert at work, and contact sheets; `make pictures` runs it."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import get_args

import av
import numpy as np
from numpy.typing import NDArray
from pages import DOCS, rewrite

from robodx.policy_contract import PolicySpec, make_policy
from robodx.records.trial import Trial
from robodx.running.environment import Environment
from robodx.running.rollout import rollout
from robodx.sim.render import Renderer
from robodx.suites.capability import capability_tasks
from robodx.tasks.base import TASKS, Task, Tier
from robodx.video.rendering import frames
from robodx.video.show import tile, write_png

IMAGES = DOCS / "images"


def at_work(task: str, count: int = 5, size: int = 256) -> None:
    """The whole robot over what its hand sees, at evenly spaced moments."""
    trial = Trial(task, TASKS[task].version, "expert", 0)
    policy = make_policy("expert")
    ((_, trajectory),) = rollout([trial], policy)
    assert trajectory is not None
    moments = np.linspace(0, len(trajectory.qpos) - 1, count).astype(int)
    cameras = ("overview", "wrist")
    pictures = list(frames(trial, trajectory, [], hz=policy.spec.hz, cameras=cameras, size=size, quality="high"))
    columns = [np.concatenate(np.split(pictures[moment], 2, axis=1), axis=0) for moment in moments]
    write_png(IMAGES / f"{task.replace('/', '.')}.png", np.concatenate(columns, axis=1))


def picture(task: str, size: int, seed: int = 0) -> NDArray[np.uint8]:
    environment = Environment(Trial(task, TASKS[task].version, "still", seed), PolicySpec())
    renderer = Renderer(environment.simulation, largest=(size, size), quality="high")
    image = renderer.rgb("front", size, size)
    renderer.close()
    return image


def capability_sheet(page: Path) -> None:
    """The middle of the table in each task: one picture of all of them, and a table of them in the suite's page."""
    folder = IMAGES / "capability"
    folder.mkdir(exist_ok=True)
    small = []
    for task in tiered():
        # Drawn larger and averaged: smooth edges.
        table = picture(task.id, 720)[180:]
        write_jpeg(folder / f"{picture_name(task)}.jpg", shrunk(table, 2))
        small.append(shrunk(table, 3))
    write_png(IMAGES / "capability.png", tile(small, columns=9))
    rewrite(page, "contact sheet", sheet())


def generated_sheet(page: Path, seeds: Sequence[int] = range(12), columns: int = 4) -> None:
    """The first generated situations in one picture, and what is asked for in each in the suite's page."""
    task = TASKS["generated/factorial"]
    small = [shrunk(picture(task.id, 720, seed)[180:], 3) for seed in seeds]
    write_jpeg(IMAGES / "generated.jpg", tile(small, columns=columns))
    said = [f"{seed}. {task.situation(seed).instruction.text}" for seed in seeds]
    rewrite(page, "contact sheet", "\n".join(["![The first situations](../images/generated.jpg)", "", *said]))


def tiered() -> list[Task]:
    """The suite's tasks without the primitives."""
    return [task for task in capability_tasks() if task.tier]


def shrunk(image: NDArray[np.uint8], times: int) -> NDArray[np.uint8]:
    height, width, _ = image.shape
    blocks = image.reshape(height // times, times, width // times, times, 3)
    return np.asarray(blocks.mean(axis=(1, 3)).astype(np.uint8))


def picture_name(task: Task) -> str:
    return task.id.replace("/", ".")


def sheet() -> str:
    """Of each family a table: a row a tier, a picture a task with its instruction under it."""
    lines = []
    tasks = tiered()
    for family in dict.fromkeys(task.family for task in tasks):
        lines += ["", f"### {family.capitalize()}", "", "| | | | |", "|---|---|---|---|"]
        for tier in get_args(Tier):
            cells = [
                f"![{task.id}](../images/capability/{picture_name(task)}.jpg)<br>`{task.id.split('/')[1]}`<br>"
                f"{task.situation(0).instruction.text}"
                for task in tasks
                if (task.family, task.tier) == (family, tier)
            ]
            lines.append(f"| {tier} | {' | '.join(cells)} |")
    return "\n".join([*lines, ""])


def write_jpeg(path: Path, image: NDArray[np.uint8]) -> None:
    codec = av.CodecContext.create("mjpeg", "w")
    codec.height, codec.width, _ = image.shape
    codec.pix_fmt = "yuvj444p"
    codec.time_base = Fraction(1)
    codec.options = {"qmin": "3", "qmax": "3"}
    frame = av.VideoFrame.from_ndarray(image, format="rgb24").reformat(format="yuvj444p")
    path.write_bytes(b"".join(bytes(packet) for packet in [*codec.encode(frame), *codec.encode(None)]))


if __name__ == "__main__":
    IMAGES.mkdir(parents=True, exist_ok=True)
    at_work("control/stack_four")
    capability_sheet(DOCS / "suites" / "capability.md")
    generated_sheet(DOCS / "suites" / "generated.md")
