"""`robodx show`: a task's instruction, its stages, a picture of its start or a video of the expert."""

from __future__ import annotations

import math
from fractions import Fraction
from pathlib import Path
from typing import Any

import av
import numpy as np
from numpy.typing import NDArray

from robodx.errors import UserError
from robodx.policy_contract import PolicySpec, make_policy
from robodx.records import files
from robodx.records.trial import Trial
from robodx.running.environment import Environment
from robodx.running.rollout import rollout
from robodx.sim.render import Renderer
from robodx.tasks.base import TASKS
from robodx.video.rendering import frames, write_mp4

# Pixels between two pictures.
LINE = 4


class UnknownSuffix(UserError):
    """A file name that says neither picture nor video."""


def describe(task_id: str, seed: int) -> dict[str, Any]:
    task = TASKS[task_id]
    environment = Environment(Trial(task_id, task.version, "still", seed), PolicySpec())
    return {
        "task": task.id,
        "seed": seed,
        "summary": task.summary,
        "instruction": environment.instruction_updates[-1].text,
        "stages": [str(stage) for stage in environment.score.stages],
        "varies": list(task.varies),
        "things": {name: environment.world.position(name) for name in environment.world.things},
    }


def draw(task_id: str, seed: int, camera: str, out: Path, *, size: int, quality: str) -> None:
    """Write `out`: a .png of the start, or an .mp4 of the expert at work; several cameras stand side by side."""
    if out.suffix.lower() not in (".png", ".mp4"):
        raise UnknownSuffix(f"{out} is neither a .png (the start) nor an .mp4 (the expert solving it)")
    task = TASKS[task_id]
    if out.suffix.lower() == ".png":
        environment = Environment(Trial(task_id, task.version, "still", seed), PolicySpec())
        renderer = Renderer(environment.simulation, largest=(size, size), quality=quality)
        names = _cameras(camera, environment)
        write_png(out, tile([renderer.rgb(name, size, size) for name in names]))
        renderer.close()
        return
    policy = make_policy("expert")
    trial = Trial(task_id, task.version, "expert", seed)
    ((episode, trajectory),) = rollout([trial], policy)
    if trajectory is None:
        raise RuntimeError(f"the expert could not run: {episode.error}")
    environment = Environment(trial, policy.spec)
    names = _cameras(camera, environment)
    events = [(entry.step, entry.object) for entry in episode.events if entry.kind == "event"]
    hz = policy.spec.hz
    write_mp4(out, frames(trial, trajectory, events, hz=hz, cameras=names, size=size - size % 2, quality=quality), hz)


def _cameras(words: str, environment: Environment) -> tuple[str, ...]:
    if words != "all":
        return tuple(words.split(","))
    return (*(camera.name for camera in environment.simulation.scene.cameras), *environment.robot.cameras)


def tile(images: list[NDArray[np.uint8]], columns: int = 3) -> NDArray[np.uint8]:
    """Side by side in rows, with a white line between."""
    columns = min(columns, len(images))
    rows = math.ceil(len(images) / columns)
    height, width, _ = images[0].shape
    sheet = np.full((rows * (height + LINE) - LINE, columns * (width + LINE) - LINE, 3), 255, dtype=np.uint8)
    for index, image in enumerate(images):
        top, left = (index // columns) * (height + LINE), (index % columns) * (width + LINE)
        sheet[top : top + height, left : left + width] = image
    return sheet


def write_png(path: Path, image: NDArray[np.uint8]) -> None:
    codec = av.CodecContext.create("png", "w")
    codec.height, codec.width, _ = image.shape
    codec.pix_fmt = "rgb24"
    codec.time_base = Fraction(1)
    packets = codec.encode(av.VideoFrame.from_ndarray(image, format="rgb24"))
    files.write(path, b"".join(bytes(packet) for packet in [*packets, *codec.encode(None)]))
