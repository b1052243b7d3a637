"""Points to patches: what hangs together in space and wears one colour, and which patches touch each other."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array  # type: ignore[import-untyped]  # has no types
from scipy.sparse.csgraph import connected_components  # type: ignore[import-untyped]  # has no types
from scipy.spatial import cKDTree  # type: ignore[import-untyped]  # has no types

from robodx.sight.cloud import Points
from robodx.sim.colours import PALETTE
from robodx.sim.geometry import Array

# Points are gathered in cells of this size first: there are fewer of those, and more evenly spread.
CELL_M = 0.006
# Cells nearer than this hang together: as far apart as pixels lie on a surface seen at a slant.
NEAR_M = 0.014
# Of patches with fewer points nothing can be told.
FEWEST_POINTS = 25
# How little of what it touches a patch may be before it is taken for an edge of it: of the same hue, and of another.
EDGE_SHARE = 0.25
STAIN_SHARE = 0.04
SAME_HUE = 0.985
# How much darker or brighter an edge may seem, as a logarithm.
SHADED = 0.8
SAME_SHADE = 0.05
# Nothing is without any colour.
DARKEST = 1e-3

NAMES = tuple(PALETTE)
_SHADES = np.array([PALETTE[name] for name in NAMES])


@dataclass(frozen=True)
class Patch:
    """Neighbouring points of one colour."""

    points: Points
    colour: str
    # Patches of one blob touch each other.
    blob: int

    @property
    def xyz(self) -> Array:
        return self.points.xyz


def colour_indices(colours: Array) -> NDArray[np.intp]:
    """The nearest of the named colours for each row."""
    # Bright colours end at 1 in a picture: beyond is only an error of the assumed lighting.
    return np.asarray(((_SHADES**2).sum(axis=1) - 2 * np.minimum(colours, 1.0) @ _SHADES.T).argmin(axis=1))


def colour_word(colours: Array) -> str:
    """What one would call the colour of these points; edges, whose shading is guessed badly, are outvoted."""
    return NAMES[int(colour_indices(np.median(colours, axis=0)[None])[0])]


def patches(points: Points) -> list[Patch]:
    """The largest first."""
    if len(points.xyz) < FEWEST_POINTS:
        return []
    colours = colour_indices(points.colours)
    cell_of, cells = _cells(points, colours)
    counts = np.bincount(cell_of)
    centres = np.column_stack([np.bincount(cell_of, points.xyz[:, axis]) for axis in range(3)]) / counts[:, None]
    shades = np.column_stack([np.bincount(cell_of, points.colours[:, axis]) for axis in range(3)]) / counts[:, None]
    pairs = cKDTree(centres).query_pairs(NEAR_M, output_type="ndarray")
    # Paint on the table belongs to nothing that stands on it.
    pairs = pairs[points.is_paint[cells[pairs[:, 0]]] == points.is_paint[cells[pairs[:, 1]]]]
    blob_of = _components(pairs, len(cells))
    is_same = colours[cells[pairs[:, 0]]] == colours[cells[pairs[:, 1]]]
    # Between two greys the names change sooner than what one sees.
    is_same |= np.abs(shades[pairs[:, 0]] - shades[pairs[:, 1]]).max(axis=1) < SAME_SHADE
    patch_of = _components(pairs[is_same], len(cells))
    patch_of = _without_edges(patch_of, pairs, counts, shades)
    owner = patch_of[cell_of]
    order = np.argsort(owner, kind="stable")
    ends = np.flatnonzero(np.diff(owner[order])) + 1
    found = []
    for members in np.split(order, ends):
        if len(members) >= FEWEST_POINTS:
            own = points.of(members)
            found.append(Patch(own, colour_word(own.colours), int(blob_of[cell_of[members[0]]])))
    return sorted(found, key=lambda patch: -len(patch.xyz))


def _components(pairs: NDArray[np.intp], n: int) -> NDArray[np.intp]:
    graph = coo_array((np.ones(len(pairs), dtype=bool), (pairs[:, 0], pairs[:, 1])), shape=(n, n))
    return np.asarray(connected_components(graph, directed=False)[1])


def _without_edges(
    patch_of: NDArray[np.intp], pairs: NDArray[np.intp], counts: NDArray[np.intp], shades: Array
) -> NDArray[np.intp]:
    """Slivers join what they touch: along edges the shading, and so the colour, is mistaken."""
    sizes = np.bincount(patch_of, counts)
    means = np.column_stack([np.bincount(patch_of, counts * shades[:, axis]) for axis in range(3)])
    bright = np.maximum(np.linalg.norm(means, axis=1), DARKEST)
    hues, bright = means / bright[:, None], bright / sizes
    touching = patch_of[pairs]
    touching = touching[touching[:, 0] != touching[:, 1]]
    a, b = np.concatenate([touching, touching[:, ::-1]]).T
    is_alike = ((hues[a] * hues[b]).sum(axis=1) > SAME_HUE) & (np.abs(np.log(bright[a] / bright[b])) < SHADED)
    is_sliver = sizes[a] < np.where(is_alike, EDGE_SHARE, STAIN_SHARE) * sizes[b]
    is_sliver |= (sizes[a] < FEWEST_POINTS) & (sizes[a] < sizes[b])
    joins = np.arange(len(sizes))
    # The last one counts: of its own hue if there is one, and the largest.
    order = np.lexsort((sizes[b[is_sliver]], is_alike[is_sliver]))
    joins[a[is_sliver][order]] = b[is_sliver][order]
    # A sliver of a sliver ends where that one ends; each is smaller than what it joins, so that there is an end.
    while (joins[joins] != joins).any():
        joins = joins[joins]
    return joins[patch_of]


def _cells(points: Points, colours: NDArray[np.intp]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """For each point its cell, and for each cell one of its points: cells are of one place, colour and flatness."""
    x, y, z = (np.floor((points.xyz - points.xyz.min(axis=0)) / CELL_M).astype(np.int64)).T
    keys = (((x << 10 | y) << 10 | z) << 8) | colours << 1 | points.is_paint
    _, first, cell_of = np.unique(keys, return_index=True, return_inverse=True)
    return cell_of, first
