"""Pairs against placebo: what stopping early may and may not do, and claims about skills by flipped signs."""

from __future__ import annotations

import math

import numpy as np
import pytest
from numpy.typing import NDArray

from robodx.analysis.statistics.sequential_pairs import (
    MISSED,
    SMALL,
    decide,
    evidence_of_effect,
    evidence_of_none,
    gain,
)
from robodx.analysis.statistics.sign_flips import EXACT, FLIPS, SkillTest, sign_flip_p, skill_test

LEVEL = 0.05 / 12


def paths(gains: float, losses: float, runs: int, n: int, seed: int = 1) -> NDArray[np.float64]:
    u = np.random.default_rng(seed).random((runs, n))
    return np.asarray((u < gains).astype(np.float64) - (u > 1 - losses))


def crossed(log_capitals: NDArray[np.float64], level: float) -> NDArray[np.bool_]:
    return np.asarray(log_capitals >= -math.log(level) - 1e-9)


@pytest.mark.parametrize("discordant", [0.1, 0.4, 1.0])
def test_looking_after_every_pair_shows_no_effect_where_there_is_none(discordant: float) -> None:
    ever = crossed(evidence_of_effect(paths(discordant / 2, discordant / 2, 600, 120)), 0.05).any(axis=1)
    # The level, and three standard errors of it.
    assert ever.mean() <= 0.05 + 3 * math.sqrt(0.05 * 0.95 / 600)
    assert ever.any() or discordant < 0.2, "else nothing was looked at"


@pytest.mark.parametrize("losses", [0.0, 0.2])
def test_looking_after_every_pair_seldom_excludes_a_gain_of_just_twenty_points(losses: float) -> None:
    ever = crossed(evidence_of_none(paths(SMALL + losses, losses, 600, 120)), MISSED).any(axis=1)
    assert 0.01 < ever.mean() <= 0.05 + 3 * math.sqrt(0.05 * 0.95 / 600)


@pytest.mark.parametrize(
    "gains, losses, found, mean_pairs",
    [(1.0, 0.0, 1.0, 9.0), (0.6, 0.0, 0.99, 16), (0.7, 0.1, 0.97, 27), (0.3, 0.0, 0.95, 32)],
)
def test_an_effect_is_found_with_few_pairs(gains: float, losses: float, found: float, mean_pairs: float) -> None:
    is_shown = crossed(evidence_of_effect(paths(gains, losses, 300, 80)), LEVEL)
    assert is_shown.any(axis=1).mean() >= found
    assert np.where(is_shown.any(axis=1), is_shown.argmax(axis=1) + 1, 80).mean() <= mean_pairs


def test_fourteen_pairs_without_a_flip_exclude_a_gain_of_twenty_points_and_thirteen_do_not() -> None:
    thirteen, fourteen = decide([0] * 13, LEVEL), decide([0] * 14, LEVEL)
    assert (thirteen.verdict, thirteen.pairs_more) == ("undecided", 1) and thirteen.upper > SMALL
    assert (fourteen.verdict, fourteen.pairs, fourteen.pairs_more) == ("none", 14, 0) and fourteen.upper < SMALL
    # One that is worse than its placebo says so all the sooner; one gain among them makes it long.
    assert decide([0, -1] * 7, LEVEL).pairs < 14
    assert decide([0] * 5 + [1] + [0] * 30, LEVEL)[:2] == ("none", 36)


def test_a_change_that_always_helps_is_found_in_nine_pairs_at_a_twelfth_of_five_percent() -> None:
    assert decide([], LEVEL).pairs_more == 9 and decide([], LEVEL).upper == 1.0
    assert decide([1] * 8, LEVEL).verdict == "undecided"
    found = decide([1] * 9, LEVEL)
    assert (found.verdict, found.pairs) == ("effect", 9) and found.e_value >= 1 / LEVEL
    assert (decide([1] * 4, 0.05).verdict, decide([1] * 5, 0.05).verdict) == ("undecided", "effect")


def test_a_verdict_once_reached_stays_and_says_the_same_of_itself() -> None:
    rng = np.random.default_rng(3)
    verdicts = set()
    for seen in (rng.choice([-1, 0, 1], p=[0.05, 0.95 - gains, gains], size=60) for gains in (0, 0.05, 0.2, 0.6)):
        found = decide(seen, LEVEL)
        verdicts.add(found.verdict)
        assert decide(np.append(seen[: found.pairs], [1] * 5), LEVEL) == found or found.verdict == "undecided"
        value, low, high = found.estimate.value, found.estimate.low, found.estimate.high
        assert value is not None and low is not None and high is not None
        assert low <= value <= high and value <= found.upper <= high and found.estimate == gain(seen[: found.pairs])
        assert (found.verdict == "effect") == (found.e_value >= 1 / LEVEL - 1e-6)
        assert found.verdict != "effect" or low > 0
        assert (found.verdict == "none") == (found.upper < SMALL)
        # As much is known of these pairs in whatever order they came.
        again = gain(rng.permutation(seen[: found.pairs]))
        assert [again.low, again.high] == pytest.approx([low, high])
    assert verdicts == {"effect", "none", "undecided"}


def test_shares_of_success_are_differences_too_and_more_of_them_is_more() -> None:
    low, high = (evidence_of_effect([size] * 10)[-1] for size in (0.2, 0.5))
    assert 0 < low < high < evidence_of_effect([1.0] * 10)[-1]
    assert evidence_of_none([0.1] * 10)[-1] > evidence_of_none([0.19] * 10)[-1] > 0 > evidence_of_none([0.5] * 10)[-1]
    assert decide([0.2, -0.2, 1, -0.5], LEVEL).verdict == "undecided"


@pytest.mark.parametrize("seen, more", [([0] * 5, 9), ([1] * 3, 6), ([0, 1] * 4, 10), ([1, -1] * 3 + [1], None)])
def test_how_many_pairs_more_is_said_for_rates_that_stay(seen: list[int], more: int | None) -> None:
    assert decide(seen, LEVEL).pairs_more == more
    if more is not None:
        assert decide(seen * 9, LEVEL).pairs - len(seen) == pytest.approx(more, abs=1)


def test_the_interval_holds_at_every_number_of_pairs_at_once() -> None:
    missed = 0
    for seen in paths(0.4, 0.1, 150, 60):
        for n in (10, 20, 40, 60):
            found = gain(seen[:n])
            assert found.low is not None and found.high is not None
            if not found.low <= 0.3 <= found.high:
                missed += 1
                break
    assert missed / 150 <= 0.06


def test_nonsense_is_refused() -> None:
    with pytest.raises(ValueError, match=r"2\.0 is not from -1 to 1"):
        decide([1, 2], LEVEL)
    with pytest.raises(ValueError, match="level of 5"):
        decide([1], 5)
    with pytest.raises(ValueError, match="shape"):
        decide([[1, 0]], LEVEL)
    with pytest.raises(ValueError, match="finite"):
        sign_flip_p([float("nan")], np.random.default_rng(0))


def test_flipped_signs_are_counted_exactly_and_drawn_where_they_are_many() -> None:
    rng = np.random.default_rng(4)
    assert sign_flip_p([0.5] * 8, rng) == 1 / 256
    # 3, 2 and 1: only all as they are, or the last one flipped, give 4 or more.
    assert sign_flip_p([3, 2, -1], rng) == 2 / 8
    assert sign_flip_p([0.0] * 5, rng) == 1.0 and sign_flip_p([-0.5] * 8, rng) == 1.0
    assert sign_flip_p([], rng) is None
    means = np.random.default_rng(5).normal(0.4, 1.0, size=EXACT)
    exact, drawn = sign_flip_p(means, rng), sign_flip_p([*means, 0.0], rng)
    assert exact is not None and drawn is not None and drawn == pytest.approx(exact, abs=0.02)
    assert sign_flip_p([1.0] * 40, rng) == 1 / (1 + FLIPS)


@pytest.mark.parametrize(
    "means, holds",
    [
        ([0.5] * 8, True),
        ([0.5] * 7, False),  # too few contexts
        ([0.9] * 8 + [-0.1, 0.0, 0.0, 0.0], False),  # two thirds of them, though p is 0.8%
        ([0.9] * 9 + [-0.1, -0.1, 0.0], True),
    ],
)
def test_a_claim_about_a_skill_needs_contexts_direction_and_p(means: list[float], holds: bool) -> None:
    found = skill_test(means, 0.05, np.random.default_rng(6))
    assert (found.holds, found.contexts) == (holds, len(means))
    assert found.p is not None and found.p <= 0.05
    assert not skill_test(means, found.p / 2, np.random.default_rng(6)).holds
    assert skill_test([], 0.05, np.random.default_rng(6)) == SkillTest(False, None, 0, None)


def test_flipping_signs_seldom_finds_a_skill_at_fault_where_none_is() -> None:
    rng = np.random.default_rng(7)
    means = rng.choice([-0.5, -0.25, 0.0, 0.25, 0.5], size=(400, 10))
    assert np.mean([(sign_flip_p(row, rng) or 0.0) <= 0.05 for row in means]) <= 0.08
