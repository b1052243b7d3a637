"""`robodx show`: a task's instruction, its stages, a picture of its start or a video of the expert."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import av
import numpy as np
from numpy.typing import NDArray

from robodx.errors import UserError
from robodx.interventions.base import intervened
from robodx.policy_contract import PolicySpec, make_policy
from robodx.records import files
from robodx.records.trial import Trial
from robodx.records.values import Applied, as_option
from robodx.running.environment import Environment
from robodx.running.rollout import rollout
from robodx.sim.render import Renderer
from robodx.situations.features import features_of
from robodx.tasks.base import TASKS
from robodx.video.lettering import BLACK, WHITE, wrapped, written
from robodx.video.mp4 import write_mp4
from robodx.video.rendering import frames

# Pixels between two pictures, and of a picture's width to each pixel of a dot of a letter.
LINE, A_DOT = 4, 240
MOST_LINES = 3


class UnknownSuffix(UserError):
    """A file name that says neither picture nor video."""


def describe(task_id: str, seed: int, interventions: tuple[Applied, ...] = ()) -> dict[str, Any]:
    task = TASKS[task_id]
    environment = Environment(_trial(task_id, seed, interventions), PolicySpec())
    return {
        "task": task.id,
        "seed": seed,
        "summary": task.summary,
        "instruction": environment.instruction_updates[-1].text,
        "stages": [str(stage) for stage in environment.score.stages],
        "varies": list(task.varies),
        "things": {name: environment.world.position(name) for name in environment.world.things},
    }


def differences(task_id: str, seed: int, interventions: tuple[Applied, ...]) -> dict[str, tuple[str, str]]:
    """What recorded attributes were, and what they become."""
    task = TASKS[task_id]
    before = task.placed(seed)
    after = intervened(before, interventions, seed, task_id)
    was, now = (features_of(each, task.varies) for each in (before, after))
    names = [name for name in {**was, **now} if was.get(name) != now.get(name)]
    return {name: (was.get(name, "–"), now.get(name, "–")) for name in names}


def draw(
    task_id: str,
    seed: int,
    camera: str,
    out: Path,
    *,
    size: int,
    quality: str,
    interventions: tuple[Applied, ...] = (),
) -> None:
    """Write `out`: a .png of the start, or an .mp4 of the expert at work; several cameras stand side by side.

    With interventions a .png shows the situation as it was above the changed one, and an .mp4 the changed one.
    Above each of several pictures in a .png stands what it is.
    """
    if out.suffix.lower() not in (".png", ".mp4"):
        raise UnknownSuffix(f"{out} is neither a .png (the start) nor an .mp4 (the expert solving it)")
    if out.suffix.lower() == ".png":
        shown = dict.fromkeys([(), interventions])
        rows = {each: _pictures(_trial(task_id, seed, each), camera, size, quality) for each in shown}
        pictures = [
            (picture, label(name if len(row) > 1 else "", each if len(rows) > 1 else None))
            for each, row in rows.items()
            for name, picture in row
        ]
        across = len(rows[()])
        # A pair of one camera stands side by side, of several one above the other.
        write_png(out, tile(_labelled(pictures), 3 if len(rows) == 1 or across == 1 else across))
        return
    policy = make_policy("expert")
    trial = replace(_trial(task_id, seed, interventions), policy="expert")
    ((episode, trajectory),) = rollout([trial], policy)
    if trajectory is None:
        raise RuntimeError(f"the expert could not run: {episode.error}")
    environment = Environment(trial, policy.spec)
    names = _cameras(camera, environment)
    events = [(entry.step, entry.object) for entry in episode.events if entry.kind == "event"]
    hz = policy.spec.hz
    write_mp4(out, frames(trial, trajectory, events, hz=hz, cameras=names, size=size - size % 2, quality=quality), hz)


def _trial(task_id: str, seed: int, interventions: tuple[Applied, ...]) -> Trial:
    return Trial(task_id, TASKS[task_id].version, "still", seed, interventions=interventions)


def label(camera: str, interventions: tuple[Applied, ...] | None) -> str:
    """Of which camera a picture is, and of a pair which of the two it is."""
    after = f"after: {', '.join(as_option(*one) for one in interventions)}" if interventions else "before"
    return ", ".join(filter(None, [camera, "" if interventions is None else after]))


def _labelled(pictures: list[tuple[NDArray[np.uint8], str]]) -> list[NDArray[np.uint8]]:
    """Each with its words above it, all in the same room."""
    width = pictures[0][0].shape[1]
    scale = max(1, width // A_DOT)
    lines = [wrapped(says, width, scale, MOST_LINES) for _, says in pictures]
    rows = max(map(len, lines))
    if not rows:
        return [picture for picture, _ in pictures]
    return [
        np.concatenate([written(said, width, scale, rows, ink=BLACK, paper=WHITE), picture])
        for said, (picture, _) in zip(lines, pictures, strict=True)
    ]


def _pictures(trial: Trial, camera: str, size: int, quality: str) -> list[tuple[str, NDArray[np.uint8]]]:
    environment = Environment(trial, PolicySpec())
    renderer = Renderer(environment.simulation, largest=(size, size), quality=quality)
    pictures = [(name, renderer.rgb(name, size, size)) for name in _cameras(camera, environment)]
    renderer.close()
    return pictures


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
