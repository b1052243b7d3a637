"""Points to patches: what hangs together in space and wears one colour, and which patches touch each other."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array  # type: ignore[import-untyped]  # has no types
from scipy.sparse.csgraph import connected_components  # type: ignore[import-untyped]  # has no types
from scipy.spatial import cKDTree  # type: ignore[import-untyped]  # has no types

from robodx.sight.cloud import Points
from robodx.sight.ranks import medians
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
# Bits of a 64-bit number for the place of a point among all; the key of its cell takes 38.
PLACE_BITS = 25

NAMES = tuple(PALETTE)
_SHADES = np.array([PALETTE[name] for name in NAMES])
_SHADES_SQUARED = (_SHADES**2).sum(axis=1)


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
    likeness = 2 * np.minimum(colours, 1.0) @ _SHADES.T
    return np.asarray(np.subtract(_SHADES_SQUARED, likeness, out=likeness).argmin(axis=1))


def colour_word(colours: Array) -> str:
    """What one would call the colour of these points; edges, whose shading is guessed badly, are outvoted."""
    return NAMES[int(colour_indices(medians(colours)[None])[0])]


def patches(points: Points) -> list[Patch]:
    """The largest first."""
    if len(points.xyz) < FEWEST_POINTS:
        return []
    colours = colour_indices(points.colours)
    cell_of, cells = _cells(points, colours)
    counts = np.bincount(cell_of)
    centres = np.column_stack([np.bincount(cell_of, along) for along in points.xyz.T]) / counts[:, None]
    shades = np.stack([np.bincount(cell_of, channel) for channel in points.colours.T]) / counts
    pairs = cKDTree(centres).query_pairs(NEAR_M, output_type="ndarray")
    one, other = pairs.T.copy()
    # Paint on the table belongs to nothing that stands on it.
    is_paint, colour = points.is_paint[cells], colours[cells]
    is_joinable = is_paint[one] == is_paint[other]
    one, other = one[is_joinable], other[is_joinable]
    # Between two greys the names change sooner than what one sees.
    is_same = np.abs(shades.take(one, axis=1) - shades.take(other, axis=1)).max(axis=0) < SAME_SHADE
    is_same |= colour[one] == colour[other]
    patch_of = _components(one[is_same], other[is_same], len(cells))
    one, other = patch_of[one], patch_of[other]
    is_border = one != other
    one, other = one[is_border], other[is_border]
    blob_of = _components(one, other, int(patch_of.max()) + 1)[patch_of]
    patch_of = _without_edges(patch_of, one, other, counts, shades)
    owner = patch_of[cell_of]
    order = np.argsort(owner, kind="stable")
    ends = np.flatnonzero(np.diff(owner[order])) + 1
    found = []
    for members in np.split(order, ends):
        if len(members) >= FEWEST_POINTS:
            own = points.of(members)
            found.append(Patch(own, colour_word(own.colours), int(blob_of[cell_of[members[0]]])))
    return sorted(found, key=lambda patch: -len(patch.xyz))


def _components(one: NDArray[np.intp], other: NDArray[np.intp], n: int) -> NDArray[np.intp]:
    """Which of n nodes hang together by these edges; numbered in the order of their first nodes."""
    graph = coo_array((np.ones(len(one)), (one, other)), shape=(n, n))
    # Keeps scipy from sorting the edges and merging repeated ones, which takes longer than the search.
    graph.has_canonical_format = True
    return np.asarray(connected_components(graph.tocsr(), directed=False)[1])


def _without_edges(
    patch_of: NDArray[np.intp],
    one: NDArray[np.intp],
    other: NDArray[np.intp],
    counts: NDArray[np.intp],
    shades: Array,
) -> NDArray[np.intp]:
    """Slivers join what they touch: along edges the shading, and so the colour, is mistaken."""
    sizes = np.bincount(patch_of, counts)
    means = np.stack([np.bincount(patch_of, channel) for channel in counts * shades])
    bright = np.maximum(np.sqrt((means**2).sum(axis=0)), DARKEST)
    hues, bright = means / bright, bright / sizes
    a, b = np.concatenate([one, other]), np.concatenate([other, one])
    is_alike = (hues.take(a, axis=1) * hues.take(b, axis=1)).sum(axis=0) > SAME_HUE
    is_alike &= np.abs(np.log(bright[a] / bright[b])) < SHADED
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
    x, y, z = (np.floor((along - along.min()) / CELL_M).astype(np.int64) for along in points.xyz.T)
    keys = (((x << 10 | y) << 10 | z) << 8) | colours << 1 | points.is_paint
    # Sorting each key together with its place is much faster than np.unique, which sorts places by keys.
    ordered = np.sort(keys << PLACE_BITS | np.arange(len(keys)))
    order, keys = ordered & ((1 << PLACE_BITS) - 1), ordered >> PLACE_BITS
    is_first = np.concatenate([[True], keys[1:] != keys[:-1]])
    cell_of = np.empty_like(order)
    cell_of[order] = np.cumsum(is_first) - 1
    return cell_of, order[is_first]
