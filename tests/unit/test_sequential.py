"""Always-valid intervals and comparisons: what peeking may and may not do, and the words that come of it."""

from __future__ import annotations

import itertools
import math
from functools import partial

import numpy as np
import pytest
from numpy.typing import NDArray

from robodx.analysis.statistics.estimates import NOTHING, Estimate, wilson
from robodx.analysis.statistics.sequential import (
    DIFFERENCES,
    RATES,
    confidence_sequence,
    difference_sequence,
    log_evidence,
    mean_over_tasks,
    mean_sequence,
    p_from,
    p_of_no_difference,
    stopped_how,
    unpaired_sequence,
)

RUNS = 300
LONGEST = 500
# 5% and a point. The rates themselves are about 3%, so that a sound method stays below by three standard errors.
AT_MOST = 0.06


def paths(rng: np.random.Generator, p_a: float, p_b: float, shared: float, n: int = LONGEST) -> NDArray[np.int64]:
    """Differences b − a of two variants whose chance is the same in a share of the pairs  # (runs, n)"""
    a = rng.random((RUNS, n))
    b = np.where(rng.random((RUNS, n)) < shared, a, rng.random((RUNS, n)))
    return np.asarray((b < p_b).astype(int) - (a < p_a).astype(int))


def evidence(values: list[float], observed: NDArray[np.int64], mean: float) -> NDArray[np.float64]:
    """After each observation  # (runs, n)"""
    within = DIFFERENCES if min(values) < 0 else RATES
    counts = np.stack([(observed == value).cumsum(axis=1) for value in values], axis=-1)
    return np.concatenate([log_evidence(np.array(values), part, mean, within) for part in np.array_split(counts, 12)])


@pytest.mark.parametrize("p", [0.05, 0.3, 0.5, 0.9])
@pytest.mark.parametrize("shared", [0.0, 0.8])
def test_peeking_after_every_pair_finds_no_difference_where_there_is_none(p: float, shared: float) -> None:
    differences = paths(np.random.default_rng(1), p, p, shared)
    found = (evidence([-1.0, 0.0, 1.0], differences, 0.0) >= math.log(20)).any(axis=1)
    assert found.mean() <= AT_MOST


def test_peeking_at_mcnemars_test_would() -> None:
    """So that the test above can fail: the same paths, with a test that is made to be looked at once."""
    differences = paths(np.random.default_rng(1), 0.5, 0.5, 0.0)
    plus, minus = ((differences == sign).cumsum(axis=1) for sign in (1, -1))
    z = (plus - minus) / np.sqrt(np.maximum(plus + minus, 1))
    assert (np.abs(z[:, 20:]) >= 1.96).any(axis=1).mean() > 0.2


@pytest.mark.parametrize("p", [0.02, 0.3, 0.5, 0.9])
def test_a_confidence_sequence_holds_at_every_n_at_once(p: float) -> None:
    seen = (np.random.default_rng(2).random((RUNS, LONGEST)) < p).astype(int)
    missed = (evidence([0.0, 1.0], seen, p) >= math.log(20)).any(axis=1)
    assert missed.mean() <= AT_MOST


def test_peeking_seldom_shows_a_difference_to_be_within_a_margin_that_it_reaches() -> None:
    differences = paths(np.random.default_rng(5), 0.5, 0.6, 0.8)
    excluded = evidence([-1.0, 0.0, 1.0], differences, 0.1) >= math.log(20)
    assert excluded.any(axis=1).mean() <= AT_MOST


def test_tasks_that_differ_do_not_spoil_the_comparison_of_their_mean() -> None:
    rng = np.random.default_rng(3)
    means = np.array([0.4, -0.4, 0.2, -0.2])
    blocks = np.where(rng.random((RUNS, LONGEST // 4, 4)) < np.abs(means), np.sign(means), 0).astype(int)
    after_blocks = evidence([-1.0, 0.0, 1.0], blocks.reshape(RUNS, -1), 0.0)[:, 3::4]
    assert (after_blocks >= math.log(20)).any(axis=1).mean() <= AT_MOST


def test_a_real_difference_is_found_with_fewer_pairs_than_a_fixed_test_needs() -> None:
    # Exact McNemar needs 110 pairs to find this with a chance of 95%.
    found = evidence([-1.0, 0.0, 1.0], paths(np.random.default_rng(4), 0.5, 0.7, 0.5), 0.0) >= math.log(20)
    pairs = np.where(found.any(axis=1), found.argmax(axis=1) + 1, LONGEST)
    assert found.any(axis=1).mean() > 0.99
    assert pairs.mean() < 85


@pytest.mark.parametrize("successes, n", [(0, 10), (5, 10), (10, 10), (45, 50), (250, 500)])
def test_the_interval_is_all_rates_against_which_too_little_was_won(successes: int, n: int) -> None:
    estimate = confidence_sequence(successes, n)
    assert estimate.low is not None and estimate.high is not None
    grid = np.linspace(0.001, 0.999, 999)
    counts = [n - successes, successes]
    kept = [m for m in grid if log_evidence(np.array([0.0, 1.0]), counts, m, RATES) < math.log(20)]
    assert [estimate.low, estimate.high] == pytest.approx([kept[0], kept[-1]], abs=0.002)


def test_looking_whenever_one_likes_costs_width() -> None:
    for successes, n in itertools.product((0, 3, 10), (10, 40)):
        always, once = confidence_sequence(successes, n), wilson(successes, n)
        assert always.low is not None and always.high is not None and once.low is not None and once.high is not None
        assert always.low <= once.low and once.high <= always.high and always.value == once.value


def test_what_is_known_of_rates_is_known_of_means() -> None:
    assert mean_sequence([1, 1, 0, 1]) == confidence_sequence(3, 4)
    half = mean_sequence([0.5] * 200)
    assert half.low is not None and half.high is not None and half.high - half.low < 0.07
    mirrored = [difference_sequence([sign, sign, 0, sign, -sign]) for sign in (1, -1)]
    assert mirrored[0].low == pytest.approx(-(mirrored[1].high or 0)) and mirrored[0].n == 5


def test_the_p_value_and_the_interval_say_the_same() -> None:
    for wins, losses, ties in itertools.product((0, 7, 20), (2, 9), (0, 30)):
        differences = [1] * wins + [-1] * losses + [0] * ties
        estimate, p = difference_sequence(differences), p_of_no_difference(differences)
        assert estimate.low is not None and estimate.high is not None
        assert (p <= 0.05) == (not estimate.low <= 0 <= estimate.high)
        assert p_from(partial(difference_sequence, differences)) == pytest.approx(p, rel=0.01)


def test_of_other_situations_both_rates_are_uncertain() -> None:
    few, many = partial(confidence_sequence, 10, 50), partial(confidence_sequence, 40, 50)
    estimate = unpaired_sequence(few, many)
    assert estimate.value == pytest.approx(0.6) and estimate.n == 100
    assert estimate.low == (many(0.975).low or 0) - (few(0.975).high or 0)
    nothing = partial(confidence_sequence, 0, 0)
    assert unpaired_sequence(nothing, many).value is unpaired_sequence(many, nothing).value is None
    assert p_from(partial(unpaired_sequence, nothing, many)) is None


def test_tasks_that_had_their_shares_together_are_taken_together() -> None:
    tasks = [[1.0, 0.0, 1.0], [0.5, 1.0, 1.0]]
    assert mean_over_tasks(tasks, "together") == mean_sequence([1, 0, 1, 0.5, 1, 1])
    assert mean_over_tasks([], "together") == mean_over_tasks([], "apart") == NOTHING
    assert mean_over_tasks([[1.0], []], "apart") == Estimate(None, None, None, 1)
    asked: tuple[dict[str, object], ...] = ({}, {"until_width": 0.1, "until_decided": False}, {"until_decided": True})
    assert [stopped_how(request) for request in asked] == ["planned", "apart", "together"]


def test_tasks_that_stopped_when_they_liked_count_with_what_all_of_them_have() -> None:
    tasks = [[1.0, 0.0, 1.0, 1.0, 1.0, 1.0], [0.0, 0.0, 1.0]]
    found, first = mean_over_tasks(tasks, "apart"), mean_sequence([1, 0, 1, 0, 0, 1])
    assert (found.low, found.high, found.n) == (first.low, first.high, 9)
    assert found.value == pytest.approx((5 / 6 + 1 / 3) / 2)
    stretched = mean_over_tasks([[1.0] * 100 + [0.0] * 900, [1.0] * 100], "apart")
    assert stretched.value == stretched.low == pytest.approx(0.55)


def test_a_mean_over_tasks_of_which_each_stopped_on_its_successes_is_seldom_missed() -> None:
    """Each task goes on until it has succeeded thrice in a row: as bad a reason as there is."""
    rng = np.random.default_rng(6)
    rates = np.array([0.3, 0.6, 0.9])
    missed = 0
    for _ in range(RUNS):
        seen = rng.random((3, 200)) < rates[:, None]
        streaks = seen[:, 2:] & seen[:, 1:-1] & seen[:, :-2]
        ends = np.where(streaks.any(axis=1), streaks.argmax(axis=1) + 3, 200)
        found = mean_over_tasks([task[:end] for task, end in zip(seen, ends, strict=True)], "apart")
        assert found.low is not None and found.high is not None
        missed += not found.low <= rates.mean() <= found.high
    assert missed / RUNS <= AT_MOST


def test_no_data_is_none_and_nonsense_is_refused() -> None:
    assert mean_sequence([]) == NOTHING and confidence_sequence(0, 0) == NOTHING
    with pytest.raises(ValueError, match="3 successes of 2 trials"):
        confidence_sequence(3, 2)
    with pytest.raises(ValueError, match=r"1\.5 is not from 0 to 1"):
        mean_sequence([0.5, 1.5])
    with pytest.raises(ValueError, match="-2"):
        difference_sequence([-2])
    with pytest.raises(ValueError, match="nan"):
        p_of_no_difference([math.nan])
