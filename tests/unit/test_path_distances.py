"""Distances between paths: as plain loops have them, and as distances must be."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator

import numpy as np
import pytest
from numpy.typing import NDArray

from robodx.analysis.metamorphic.distances import distances, dtw, endpoint, frechet, hausdorff

Path = NDArray[np.float64]
Distance = Callable[[Path, Path], float]
EVERY: tuple[Distance, ...] = (frechet, dtw, hausdorff, endpoint)
LENGTHS = ((1, 1), (1, 7), (7, 1), (2, 2), (5, 9), (12, 4), (30, 30), (41, 23))


def drawn(*lengths: int, rng: np.random.Generator) -> list[Path]:
    return [np.cumsum(rng.normal(0.0, 0.05, (length, 3)), axis=0) for length in lengths]


def some_pairs() -> Iterator[tuple[Path, Path]]:
    rng = np.random.default_rng(0)
    for n, m in LENGTHS:
        for _ in range(5):
            a, b = drawn(n, m, rng=rng)
            yield a, b
    # On a coarse grid many distances are equal, so that there are many alignments of the least total.
    for n, m in LENGTHS:
        yield rng.integers(0, 3, (n, 3)).astype(np.float64), rng.integers(0, 3, (m, 3)).astype(np.float64)


def plain_frechet(a: Path, b: Path) -> float:
    @functools.cache
    def reached(i: int, j: int) -> float:
        here = float(np.linalg.norm(a[i] - b[j]))
        before = [reached(*step) for step in ((i - 1, j), (i, j - 1), (i - 1, j - 1)) if min(step) >= 0]
        return max(here, min(before)) if before else here

    return reached(len(a) - 1, len(b) - 1)


def plain_dtw(a: Path, b: Path) -> float:
    @functools.cache
    def reached(i: int, j: int) -> tuple[float, int]:
        here = float(np.linalg.norm(a[i] - b[j]))
        before = [reached(*step) for step in ((i - 1, j), (i, j - 1), (i - 1, j - 1)) if min(step) >= 0]
        total, steps = min(before) if before else (0.0, 0)
        return total + here, steps + 1

    total, steps = reached(len(a) - 1, len(b) - 1)
    return total / steps


def plain_hausdorff(a: Path, b: Path) -> float:
    def one_way(first: Path, second: Path) -> float:
        return max(min(float(np.linalg.norm(point - other)) for other in second) for point in first)

    return max(one_way(a, b), one_way(b, a))


@pytest.mark.parametrize(("fast", "plain"), [(frechet, plain_frechet), (hausdorff, plain_hausdorff), (dtw, plain_dtw)])
def test_they_are_those_of_plain_loops(fast: Distance, plain: Distance) -> None:
    # Of many alignments with the same total the loop's own rounding picks one: those are for the other tests.
    pairs = [pair for pair in some_pairs() if plain is not plain_dtw or not (pair[0] == pair[0].round()).all()]
    assert len(pairs) >= 5 * len(LENGTHS)
    for a, b in pairs:
        assert fast(a, b) == pytest.approx(plain(a, b), rel=1e-12)


def test_of_alignments_of_the_same_total_the_one_of_the_fewest_steps_counts() -> None:
    # Whole distances, so that no rounding tells the totals apart.
    line = np.array([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [1.0, 0.0, 0.0], [3.0, 0.0, 0.0]])
    other = np.array([[0.0, 0.0, 0.0], [2.0, 0.0, 0.0], [2.0, 0.0, 0.0], [3.0, 0.0, 0.0]])
    assert dtw(line, other) == pytest.approx(2.0 / 4), "in step: 0, 1, 1, 0"
    assert dtw(line, other) == pytest.approx(plain_dtw(line, other))


@pytest.mark.parametrize("distance", EVERY)
def test_they_are_symmetric_and_nothing_between_a_path_and_itself(distance: Distance) -> None:
    for a, b in some_pairs():
        assert distance(a, b) == distance(b, a)
        assert distance(a, a) == 0.0 == distance(b, b)


@pytest.mark.parametrize("distance", EVERY)
def test_a_shift_of_the_whole_path_is_never_more_than_its_length_and_both_may_move_together(distance: Distance) -> None:
    shift = np.array([0.03, -0.04, 0.12])
    for a, b in some_pairs():
        assert distance(a, a + shift) <= 0.13 + 1e-12
        assert distance(a + shift, b + shift) == pytest.approx(distance(a, b), abs=1e-12)
    (a,) = drawn(1, rng=np.random.default_rng(1))
    assert distance(a, a + shift) == pytest.approx(0.13)


def test_a_leash_is_no_shorter_than_any_gap_it_must_bridge() -> None:
    for a, b in some_pairs():
        found = distances(a, b)
        assert found.frechet >= found.hausdorff
        assert found.frechet >= max(found.endpoint, float(np.linalg.norm(a[0] - b[0])))
        assert found[:3] == (frechet(a, b), dtw(a, b), hausdorff(a, b))
        assert found.endpoint == pytest.approx(endpoint(a, b), rel=1e-12)


def test_waiting_on_the_way_changes_neither_leash_nor_gap() -> None:
    for a, b in some_pairs():
        waited = np.repeat(a, np.arange(len(a)) % 3 + 1, axis=0)
        assert frechet(waited, b) == frechet(a, b)
        assert hausdorff(waited, b) == hausdorff(a, b)
        assert dtw(waited, a) == 0.0


def test_order_counts_for_the_leash_alone() -> None:
    there = np.linspace([0.0, 0.0, 0.0], [1.0, 0.0, 0.0], 11)
    assert hausdorff(there, there[::-1]) == 0.0
    assert frechet(there, there[::-1]) == pytest.approx(1.0) and endpoint(there, there[::-1]) == pytest.approx(1.0)


def test_from_a_single_point_it_is_the_farthest_and_the_mean() -> None:
    (path,) = drawn(20, rng=np.random.default_rng(2))
    away = np.linalg.norm(path - path[0], axis=1)
    assert frechet(path[:1], path) == pytest.approx(away.max())
    assert dtw(path[:1], path) == pytest.approx(away.mean())


@pytest.mark.parametrize("wrong", [np.zeros((0, 3)), np.zeros((4, 2)), np.zeros(3), np.full((4, 3), np.nan)])
@pytest.mark.parametrize("distance", EVERY)
def test_what_is_no_path_is_refused(distance: Distance, wrong: Path) -> None:
    with pytest.raises(ValueError, match="path has"):
        distance(np.zeros((2, 3)), wrong)
