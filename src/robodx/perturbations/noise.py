"""Photon and read-out noise of a camera in low light."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray
from scipy.special import ndtr  # type: ignore[import-untyped]

from robodx.perturbations.base import SensorStress, perturbation

VALUES = 256
# A Poisson variable is further above its mean than this, in standard deviations, less than once in 10^15 draws.
FAR = 12


@perturbation(
    "noise",
    kind="sensor",
    levels={"v1": 10, "v2": 25, "v3": 75},
    unit="of 255",
    most=255,
    anchor="8-bit steps. 10: a small sensor at high gain in a dim room; 25: the strong noise of denoising "
    "tests; 75: a sensor that hardly works.",
)
class Noise(SensorStress):
    """Adds Poisson and Gaussian noise to every pixel and channel: Poisson(Λ·I/255) less its mean, and N(0, Λ²)."""

    def image(self, image: NDArray[np.uint8], camera: str, step: int) -> NDArray[np.uint8]:
        drawn = np.frombuffer(self.draws.rng(camera, step).bytes(4 * image.size), dtype="<u4").reshape(image.shape)
        column = drawn.astype(np.uint8)
        entry = np.take(alias_table(self.severity), image.astype(np.intp) << 8 | column)
        return np.where(drawn >> 8 < entry >> 8, column, entry.astype(np.uint8))


@lru_cache(maxsize=4)
def alias_table(severity: float) -> NDArray[np.uint32]:
    """Walker's alias table (256·256,) of what each value becomes: one draw a channel, four times faster than two.

    Entry 256·I + c holds in its upper 24 bits how likely column c, once drawn, is kept, and in the lower 8 what it is
    otherwise.
    """
    share = VALUES * distribution(severity)
    kept = np.ones_like(share)
    other = np.tile(np.arange(VALUES), (VALUES, 1))
    rows = np.arange(VALUES)
    for _ in range(VALUES):
        # The smallest column is filled up from the largest, and is done with.
        low, high = share.argmin(axis=1), share.argmax(axis=1)
        rest = 1.0 - share[rows, low]
        is_open = rest > 0
        kept[rows[is_open], low[is_open]] -= rest[is_open]
        other[rows[is_open], low[is_open]] = high[is_open]
        share[rows, low] += np.maximum(rest, 0.0)
        share[rows, high] -= np.maximum(rest, 0.0)
    likely = np.minimum(np.rint(kept * 2**24), 2**24 - 1).astype(np.uint32)
    table: NDArray[np.uint32] = (likely << np.uint32(8)) | other.astype(np.uint32)
    return table.ravel()


def distribution(severity: float) -> NDArray[np.float64]:
    """(256, 256): how likely each value becomes each other one, rounded and clamped."""
    # Here, for it takes half a second to import.
    from scipy.stats import poisson  # type: ignore[import-untyped]

    means = severity * np.arange(VALUES) / (VALUES - 1)
    counts = np.arange(int(severity + FAR * np.sqrt(severity)) + FAR)
    photons = poisson.pmf(counts, means[:, None])  # (value, count)
    # Below each bound between two values, for each count: it depends on their difference only.
    differences = np.arange(-counts[-1], VALUES - 1)
    offsets = differences + 0.5 - (np.arange(VALUES) - means)[:, None]
    below = sliding_window_view(ndtr(offsets / severity), len(counts), axis=1)  # (value, bound, reversed count)
    cumulative = np.einsum("vbc,vc->vb", below, photons[:, ::-1])
    edges = np.concatenate([np.zeros((VALUES, 1)), cumulative, np.ones((VALUES, 1))], axis=1)
    likely = np.maximum(np.diff(edges, axis=1), 0.0)
    return np.asarray(likely / likely.sum(axis=1, keepdims=True))
