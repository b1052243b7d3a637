"""Permutation tests: which tags of tasks go with their scores, and whether two paired variants differ."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]
PERMUTATIONS = 10_000
# Sums of the same numbers in another order are equal up to rounding.
ROUNDING = 1e-9
# A test that cannot reach this level has no p-value to show.
LEVEL = 0.05


class TagEffect(NamedTuple):
    """How much higher tasks with a tag score than tasks of the same scene without it.

    `adjusted` holds the other tags constant as well; it is None where they leave nothing of this tag to tell apart.
    """

    difference: float | None
    p: float | None
    adjusted: float | None
    adjusted_p: float | None
    tasks_with: int
    tasks_without: int


def tag_effects(
    scores: npt.ArrayLike,
    tags: Mapping[str, npt.ArrayLike],
    scenes: npt.ArrayLike,
    rng: np.random.Generator,
    permutations: int = PERMUTATIONS,
) -> dict[str, TagEffect]:
    """The effect of each tag on the scores of tasks: two-tailed, scores permuted within scenes.

    Tags are compared within scenes, so that a scene that is hard does not count against the tags that live there.
    A p-value is None where even the most extreme arrangement would not reach 0.05.
    """
    y, labels = np.asarray(scores, dtype=np.float64), np.asarray(scenes)
    has = {name: np.asarray(column, dtype=np.bool_) for name, column in tags.items()}
    for name, column in {"scenes": labels, **has}.items():
        if column.shape != y.shape or y.ndim != 1:
            raise ValueError(f"{len(y)} scores with {name} of shape {column.shape}")
    if not np.isfinite(y).all():
        raise ValueError("a task without a score cannot be permuted: leave it out")
    dummies = (labels[:, None] == np.unique(labels)[None]).astype(np.float64)  # (tasks, scenes)
    orders = _orders_within(labels, rng, permutations)
    effects = {}
    for name, column in has.items():
        others = [other.astype(np.float64)[:, None] for rest, other in has.items() if rest != name]
        difference, p = _freedman_lane(y, column, dummies, orders)
        adjusted, adjusted_p = _freedman_lane(y, column, np.hstack([dummies, *others]), orders)
        if smallest_p(y, column, labels) > LEVEL:
            p = adjusted_p = None
        effects[name] = TagEffect(difference, p, adjusted, adjusted_p, int(column.sum()), int((~column).sum()))
    return effects


def _orders_within(
    labels: npt.NDArray[np.generic], rng: np.random.Generator, permutations: int
) -> npt.NDArray[np.intp]:
    """Orders (permutations, tasks) in which every task stays in its scene."""
    orders = np.tile(np.arange(len(labels)), (permutations, 1))
    for label in np.unique(labels):
        (members,) = np.nonzero(labels == label)
        orders[:, members] = rng.permuted(orders[:, members], axis=1)
    return orders


def _freedman_lane(
    y: Floats, tag: Bools, nuisance: Floats, orders: npt.NDArray[np.intp]
) -> tuple[float | None, float | None]:
    """The coefficient of the tag beside the nuisance columns, and its p by permuting what these leave of the scores.

    With scenes as the only nuisance this is the plain permutation test of a difference of means within scenes.
    """
    basis = _basis(nuisance)
    column = tag.astype(np.float64)
    rest_of_tag = column - basis @ (basis.T @ column)
    weight = float(rest_of_tag @ rest_of_tag)
    freedom = len(y) - basis.shape[1] - 1
    if weight < ROUNDING:
        return None, None
    rest = y - basis @ (basis.T @ y)
    coefficient = float(rest_of_tag @ rest) / weight
    if freedom < 1:
        return coefficient, None

    def explained_share(residuals: Floats) -> Floats:  # (rows, tasks) → (rows,), in the order of the t statistic
        left = residuals - (residuals @ basis) @ basis.T
        total = (left**2).sum(axis=1) * weight
        shares: Floats = np.divide((left @ rest_of_tag) ** 2, total, out=np.zeros(len(left)), where=total > ROUNDING**2)
        return shares

    return coefficient, _p(explained_share(rest[None])[0], explained_share(rest[orders]))


def _basis(columns: Floats) -> Floats:
    """Orthonormal columns of the same span, however dependent the given ones are."""
    left, sizes, _ = np.linalg.svd(columns, full_matrices=False)
    basis: Floats = left[:, sizes > ROUNDING * max(1.0, sizes.max(initial=0.0))]
    return basis


def _p(observed: float, permuted: Floats) -> float:
    """The share of arrangements at least as extreme, the observed one among them."""
    return float(1 + (permuted >= observed * (1 - ROUNDING) - ROUNDING**2).sum()) / (1 + len(permuted))


def smallest_p(scores: npt.ArrayLike, tag: npt.ArrayLike, scenes: npt.ArrayLike) -> float:
    """The p-value of the most extreme arrangement of these scores within scenes, all arrangements counted."""
    y, has, labels = np.asarray(scores, dtype=np.float64), np.asarray(tag, dtype=np.bool_), np.asarray(scenes)
    arrangements, ends, ways = 1, [0.0, 0.0], [1, 1]
    for label in np.unique(labels):
        ordered = np.sort(y[labels == label])
        k = int(has[labels == label].sum())
        arrangements *= math.comb(len(ordered), k)
        if k:
            for end, (chosen, edge) in enumerate(((ordered[:k], ordered[k - 1]), (ordered[-k:], ordered[-k]))):
                ends[end] += abs(float(chosen.sum() - k * ordered.mean()))
                alike = np.isclose(ordered, edge, rtol=0, atol=ROUNDING)
                ways[end] *= math.comb(int(alike.sum()), int(np.isclose(chosen, edge, rtol=0, atol=ROUNDING).sum()))
    if max(ends) < ROUNDING:
        return 1.0
    return sum(count for end, count in zip(ends, ways, strict=True) if end > max(ends) - ROUNDING) / arrangements


def tag_association(tags: Mapping[str, npt.ArrayLike]) -> dict[tuple[str, str], float | None]:
    """The phi coefficient of each two tags; None where all tasks or none have one of them."""
    columns = {name: np.asarray(column, dtype=np.float64) for name, column in tags.items()}
    table: dict[tuple[str, str], float | None] = {}
    for (a, x), (b, y) in itertools.combinations(columns.items(), 2):
        spread = float(x.std() * y.std()) if len(x) else 0.0
        table[a, b] = float(((x - x.mean()) * (y - y.mean())).mean()) / spread if spread > 0 else None
    return table


def swap_test(
    a: npt.ArrayLike, b: npt.ArrayLike, rng: np.random.Generator, permutations: int = PERMUTATIONS
) -> float | None:
    """The two-sided p of two paired variants of numbers, by swapping them within situations; None without a pair.

    For booleans it is what McNemar's exact test gives, up to the draw.
    """
    first, second = np.asarray(a, dtype=np.float64), np.asarray(b, dtype=np.float64)
    if first.shape != second.shape or first.ndim != 1:
        raise ValueError(f"variants of shapes {first.shape} and {second.shape} are not paired")
    if not len(first):
        return None
    differences = (second - first)[second != first]
    signs = rng.choice([-1.0, 1.0], size=(permutations, len(differences)))
    return _p(abs(float(differences.sum())), np.abs(signs @ differences))
