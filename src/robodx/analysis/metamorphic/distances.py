"""How far two paths are from each other, in metres: positions (n, 3) and (m, 3), however fast travelled."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.lib.stride_tricks import as_strided
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]


class Distances(NamedTuple):
    """Between two paths, in metres."""

    # The longest leash that two walkers need who never turn back, each point of both being visited.
    frechet: float
    # The mean distance along the alignment of least total distance; of several such the one of the fewest steps.
    dtw: float
    # The farthest that a point of either lies from all of the other.
    hausdorff: float
    # Between the two ends.
    endpoint: float


def distances(a: ArrayLike, b: ArrayLike) -> Distances:
    """All of them, from one table of the distances between points."""
    table = _between(a, b)
    return Distances(_frechet(table), _dtw(table), _hausdorff(table), float(table[-1, -1]))


def frechet(a: ArrayLike, b: ArrayLike) -> float:
    """The discrete Fréchet distance (Eiter and Mannila's coupling distance)."""
    return _frechet(_between(a, b))


def dtw(a: ArrayLike, b: ArrayLike) -> float:
    """Dynamic time warping, its total divided by the steps of the alignment, so that it is in metres."""
    return _dtw(_between(a, b))


def hausdorff(a: ArrayLike, b: ArrayLike) -> float:
    """The symmetric Hausdorff distance, which asks for no order of the points."""
    return _hausdorff(_between(a, b))


def endpoint(a: ArrayLike, b: ArrayLike) -> float:
    """How far from each other the two end."""
    first, second = _path(a), _path(b)
    return float(np.linalg.norm(first[-1] - second[-1]))


def _path(points: ArrayLike) -> Floats:
    path = np.asarray(points, dtype=np.float64)
    if path.ndim != 2 or path.shape[1] != 3 or not len(path):
        raise ValueError(f"a path has the shape (points, 3) with a point at least, not {path.shape}")
    if not np.isfinite(path).all():
        raise ValueError("a path has positions that are not finite")
    return path


def _between(a: ArrayLike, b: ArrayLike) -> Floats:
    """Between each point of the one and each of the other; the shorter path has the columns."""
    first, second = _path(a), _path(b)
    if len(first) < len(second):
        first, second = second, first
    squares = np.zeros((len(first), len(second)))
    # By coordinate: a table of differences (n, m, 3) would take three times as long.
    for axis in range(3):
        difference = np.subtract.outer(first[:, axis], second[:, axis])
        difference *= difference
        squares += difference
    return np.sqrt(squares, out=squares)


def _by_diagonal(table: NDArray[Any]) -> NDArray[Any]:
    """The table (n, m) with the anti-diagonals for rows (n + m − 1, m), by column; infinite beside the table.

    What an entry of a diagonal needs of those before it lies in the same column or in the one before, so that a whole
    diagonal is worked out at once.
    """
    rows, columns = table.shape
    skewed = np.full((rows + columns - 1, columns), np.inf, dtype=table.dtype)
    step = skewed.itemsize
    # Entry (i, j) of the table is entry (i + j, j) of these.
    as_strided(skewed, (rows, columns), (columns * step, (columns + 1) * step))[:] = table
    return skewed


def _frechet(table: Floats) -> float:
    skewed = _by_diagonal(table)
    columns = skewed.shape[1]
    # With an infinite entry before the first column.
    last, before = np.full(columns + 1, np.inf), np.full(columns + 1, np.inf)
    # The first step has none before it.
    before[0] = -np.inf
    for diagonal in skewed:
        # Stepping along both, along the one, along the other; in place, so that the oldest becomes the newest.
        along_both = before[:-1]
        reached = np.minimum(last[:-1], last[1:])
        np.minimum(reached, along_both, out=reached)
        np.maximum(reached, diagonal, out=before[1:])
        before[0] = np.inf
        last, before = before, last
    return float(last[-1])


def _dtw(table: Floats) -> float:
    # Complex numbers are ordered by their real part and then by the other: total distance first, then steps.
    skewed = _by_diagonal(table + 1j)
    columns = skewed.shape[1]
    unreachable = complex(np.inf, 0.0)
    last, before = np.full(columns + 1, unreachable), np.full(columns + 1, unreachable)
    before[0] = 0.0
    for diagonal in skewed:
        reached = np.minimum(last[:-1], last[1:])
        np.minimum(reached, before[:-1], out=reached)
        np.add(reached, diagonal, out=before[1:])
        before[0] = unreachable
        last, before = before, last
    return float(last[-1].real / last[-1].imag)


def _hausdorff(table: Floats) -> float:
    return float(max(table.min(axis=0).max(), table.min(axis=1).max()))
