"""Films of recorded demonstrations: the cameras side by side, and the instruction below."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from robodx.datasets.schema import Demonstration
from robodx.errors import UserError
from robodx.video.lettering import wrapped, written
from robodx.video.mp4 import write_mp4

# Pictures for networks are small: they are enlarged by whole numbers until they are as high as this.
LEAST_HEIGHT = 256
# Pixels between two cameras.
LINE = 4
# Pixels of a dot of a letter.
LETTER = 2
# Pictures that are in memory at once, of each camera.
AT_ONCE = 32


def film_demonstration(path: Path, demonstration: Demonstration, hz: float) -> None:
    if path.suffix.lower() != ".mp4":
        raise UserError(f"{path} is no .mp4: a film of an episode is one")
    if not demonstration.images:
        raise UserError("the episode has no cameras, and nothing to film")
    if not len(demonstration):
        raise UserError("the episode has no steps, and nothing to film")
    write_mp4(path, frames(demonstration), hz)


def frames(demonstration: Demonstration) -> Iterator[NDArray[np.uint8]]:
    """Each (height, width, 3), with even sides as videos need them."""
    lines: dict[str, list[str]] = {}
    for start in range(0, len(demonstration), AT_ONCE):
        steps = range(start, min(start + AT_ONCE, len(demonstration)))
        shown = _side_by_side([pictures.read(steps) for pictures in demonstration.images.values()])
        width = shown.shape[2]
        if not lines:
            lines = {text: wrapped(text, width, LETTER) for text in dict.fromkeys(demonstration.instructions)}
            rows = max(len(each) for each in lines.values())
        for image, step in zip(shown, steps, strict=True):
            words = written(lines[demonstration.instructions[step]], width, LETTER, rows)
            yield _even(np.concatenate([image, words])) if rows else _even(image)


def _side_by_side(cameras: Sequence[NDArray[np.uint8]]) -> NDArray[np.uint8]:
    """Pictures (steps, height, width, 3) of each camera, beside each other on black."""
    large = [_enlarged(each) for each in cameras]
    height = max(each.shape[1] for each in large)
    padded = [np.pad(each, ((0, 0), (0, height - each.shape[1]), (0, LINE), (0, 0))) for each in large]
    return np.concatenate(padded, axis=2)[:, :, :-LINE]


def _enlarged(images: NDArray[np.uint8]) -> NDArray[np.uint8]:
    times = -(-LEAST_HEIGHT // images.shape[1])
    return images.repeat(times, axis=1).repeat(times, axis=2)


def _even(image: NDArray[np.uint8]) -> NDArray[np.uint8]:
    height, width, _ = image.shape
    return np.pad(image, ((0, height % 2), (0, width % 2), (0, 0)))
