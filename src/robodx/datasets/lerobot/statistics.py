"""Statistics of a data set by which LeRobot normalises: of numbers, and of pictures by a histogram of their pixels."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from robodx.datasets.schema import Pictures

QUANTILES = {"q01": 0.01, "q10": 0.10, "q50": 0.50, "q90": 0.90, "q99": 0.99}
# Of each episode and camera: to decode them is most of the time of copying a video.
MOST_PICTURES = 32
LONGEST_SIDE = 300
AT_ONCE = 16

Statistics = dict[str, list[Any]]


class Pixels(NamedTuple):
    """How often each value of each channel occurs in some pictures; those of several episodes add up."""

    counts: NDArray[np.int64]  # (3, 256)
    pictures: int

    def plus(self, other: Pixels) -> Pixels:
        return Pixels(self.counts + other.counts, self.pictures + other.pictures)


def of_numbers(values: NDArray[Any]) -> Statistics:
    """Values (steps, width), each column by itself."""
    numbers = values.astype(np.float64)
    found = {
        "min": values.min(axis=0),
        "max": values.max(axis=0),
        "mean": numbers.mean(axis=0),
        "std": numbers.std(axis=0),
        "count": np.array([len(values)]),
    }
    found |= {name: np.quantile(numbers, quantile, axis=0) for name, quantile in QUANTILES.items()}
    return {name: value.tolist() for name, value in found.items()}


def pixels(pictures: Pictures) -> Pixels:
    """Of pictures spread over the whole episode."""
    steps = np.unique(np.linspace(0, len(pictures) - 1, min(len(pictures), MOST_PICTURES)).round().astype(int))
    counts = np.zeros((3, 256), np.int64)
    for first in range(0, len(steps), AT_ONCE):
        images = pictures.read(steps[first : first + AT_ONCE].tolist())
        stride = -(-max(images.shape[1:3]) // LONGEST_SIDE)
        for channel in range(3):
            counts[channel] += np.bincount(images[:, ::stride, ::stride, channel].ravel(), minlength=256)
    return Pixels(counts, len(steps))


def of_pixels(pixels: Pixels) -> Statistics:
    """Of each channel, from 0 to 1, in the shape (3, 1, 1)."""
    values = np.arange(256) / 255
    total = pixels.counts.sum(axis=1)
    mean = pixels.counts @ values / total
    reached = pixels.counts.cumsum(axis=1)
    found = {
        "min": values[(pixels.counts > 0).argmax(axis=1)],
        "max": values[255 - (pixels.counts[:, ::-1] > 0).argmax(axis=1)],
        "mean": mean,
        "std": np.sqrt(np.maximum(pixels.counts @ values**2 / total - mean**2, 0)),
    }
    for name, quantile in QUANTILES.items():
        found[name] = values[(reached >= quantile * total[:, None]).argmax(axis=1)]
    shaped: Statistics = {name: value[:, None, None].tolist() for name, value in found.items()}
    return {**shaped, "count": [pixels.pictures]}
