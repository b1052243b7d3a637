"""Intervals and tests against the libraries that have them, against brute force, and at their edges."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from scipy.optimize import minimize_scalar  # type: ignore[import-untyped]
from scipy.stats import binomtest, multinomial, page_trend_test, permutation_test  # type: ignore[import-untyped]
from statsmodels.stats.contingency_tables import mcnemar as statsmodels_mcnemar  # type: ignore[import-untyped]
from statsmodels.stats.multitest import multipletests  # type: ignore[import-untyped]
from statsmodels.stats.proportion import confint_proportions_2indep, proportion_confint  # type: ignore[import-untyped]

from robodx.analysis.statistics.estimates import NOTHING, Estimate, above_chance, newcombe, wilson
from robodx.analysis.statistics.macro import macro_rate
from robodx.analysis.statistics.multiple import holm
from robodx.analysis.statistics.paired import (
    excess_loss,
    mcnemar,
    mcnemar_p,
    paired_bootstrap,
    paired_difference,
    retained,
    tango,
)
from robodx.analysis.statistics.permutation import smallest_p, swap_test, tag_association, tag_effects
from robodx.analysis.statistics.power import (
    mcnemar_power,
    pairs_needed,
    smallest_visible_difference,
    smallest_visible_drop,
)
from robodx.analysis.statistics.resampling import bootstrap_macro_mean
from robodx.analysis.statistics.trend import Trend, trend
from robodx.errors import UserError

Z = 1.959963984540054


def rng() -> np.random.Generator:
    return np.random.default_rng(7)


def ends(estimate: Estimate) -> tuple[float, float]:
    assert estimate.low is not None and estimate.high is not None
    return estimate.low, estimate.high


def test_wilson_agrees_with_scipy_and_statsmodels() -> None:
    for successes, n in ((0, 5), (3, 7), (24, 25), (50, 50), (120, 300)):
        interval = binomtest(successes, n).proportion_ci(method="wilson")
        assert ends(wilson(successes, n)) == pytest.approx((interval.low, interval.high), abs=1e-9)
        assert ends(wilson(successes, n, 0.9)) == pytest.approx(
            proportion_confint(successes, n, alpha=0.1, method="wilson"), abs=1e-9
        )


def test_newcombe_agrees_with_statsmodels() -> None:
    for a, n_a, b, n_b in ((3, 10, 8, 12), (0, 5, 5, 5), (25, 25, 24, 25), (40, 90, 11, 30)):
        expected = confint_proportions_2indep(b, n_b, a, n_a, method="newcomb", compare="diff")
        estimate = newcombe(a, n_a, b, n_b)
        assert ends(estimate) == pytest.approx(expected, abs=1e-9)
        assert estimate.value == pytest.approx(b / n_b - a / n_a) and estimate.n == n_a + n_b


def test_an_variant_without_trials_has_no_difference() -> None:
    assert newcombe(0, 0, 3, 5) == Estimate(None, None, None, 5)
    assert paired_difference([], []) == NOTHING and mcnemar([], []) is None


def test_a_rate_at_chance_is_worth_nothing() -> None:
    rate = Estimate(0.5, 0.25, 0.75, 20)
    assert above_chance(rate, 0.5) == Estimate(0.0, -0.5, 0.5, 20)
    assert above_chance(rate, 0.0) == rate
    assert above_chance(rate, 1.0) == Estimate(None, None, None, 20)
    assert above_chance(NOTHING, 0.5) == NOTHING
    with pytest.raises(ValueError, match=r"1\.5"):
        above_chance(rate, 1.5)


def test_mcnemar_agrees_with_statsmodels() -> None:
    for only_a, only_b in ((0, 6), (5, 1), (3, 3), (12, 4), (0, 1)):
        expected = statsmodels_mcnemar([[4, only_a], [only_b, 9]], exact=True).pvalue
        assert mcnemar_p(only_a, only_b) == pytest.approx(expected)


def test_variants_that_never_differ_have_a_p_of_one() -> None:
    assert mcnemar([True, False, True], [True, False, True]) == 1.0


def test_variants_must_be_paired_booleans() -> None:
    with pytest.raises(ValueError, match="not paired"):
        mcnemar([True], [True, False])
    with pytest.raises(ValueError, match="not booleans"):
        paired_difference([0.5, 1.0], [1.0, 1.0])


@pytest.mark.parametrize(("only_a", "only_b", "pairs"), [(3, 1, 10), (0, 4, 25), (7, 7, 20), (1, 0, 50), (12, 2, 15)])
def test_the_ends_of_a_paired_difference_lie_z_errors_off_under_the_likeliest_shares(
    only_a: int, only_b: int, pairs: int
) -> None:
    """The definition of the score interval, with the likeliest shares searched for instead of solved for."""
    estimate = tango(only_a, only_b, pairs)
    for end in ends(estimate):
        if abs(end) == 1:
            continue
        least, most = max(0.0, -end), (1 - end) / 2

        def unlikelihood(share_a: float, end: float = end) -> float:
            shares = (share_a, share_a + end, 1 - 2 * share_a - end)
            counts = (only_a, only_b, pairs - only_a - only_b)
            return -sum(k * math.log(max(s, 1e-300)) for k, s in zip(counts, shares, strict=True) if k)

        share_a = minimize_scalar(unlikelihood, bounds=(least, most), method="bounded", options={"xatol": 1e-12}).x
        variance = (2 * share_a + end - end**2) / pairs
        assert estimate.value is not None
        assert abs(estimate.value - end) / math.sqrt(variance) == pytest.approx(Z, abs=1e-3)


def test_pairs_that_never_differ_still_leave_a_width() -> None:
    estimate = paired_difference([True] * 20, [True] * 20)
    assert ends(estimate) == pytest.approx((-(Z**2) / (20 + Z**2), Z**2 / (20 + Z**2)))


def test_a_total_collapse_is_a_difference_of_minus_one() -> None:
    estimate = paired_difference([True] * 10, [False] * 10)
    assert (estimate.value, estimate.low) == (-1.0, -1.0) and -0.5 < ends(estimate)[1] < -0.4


def test_a_macro_rate_of_one_task_is_wilson() -> None:
    for successes, n in ((0, 5), (3, 7), (24, 25), (50, 50)):
        assert ends(macro_rate([successes], [n])) == pytest.approx(ends(wilson(successes, n)), abs=1e-9)


def test_tasks_that_all_went_alike_are_one_large_task() -> None:
    assert ends(macro_rate([5, 5, 5, 5], [5, 5, 5, 5]))[0] == pytest.approx(
        ends(wilson(20, 20))[0], abs=0.04
    )  # a little wider, since the tasks' rates are fitted apart
    assert macro_rate([5, 5], [5, 5]).high == 1.0 and macro_rate([0, 0], [5, 5]).low == 0.0


@pytest.mark.parametrize("n", [1, 5, 6, 25])
def test_tasks_all_won_and_all_lost_are_not_certain(n: int) -> None:
    low, high = ends(macro_rate([0, n, n], [n, n, n]))
    assert low < 0.64 < 0.69 < high


def test_a_macro_rate_counts_tasks_and_not_trials() -> None:
    estimate = macro_rate([0, 100], [10, 100])
    assert (estimate.value, estimate.n) == (0.5, 110)
    low, high = ends(estimate)
    assert 0.4 < low < 0.5 < high < 0.7


def test_tasks_without_trials_have_no_say() -> None:
    assert macro_rate([3, 0], [5, 0]) == macro_rate([3], [5])
    assert macro_rate([0], [0]) == NOTHING
    with pytest.raises(ValueError, match="successes of"):
        macro_rate([6], [5])


def test_the_bootstrap_of_a_mean_agrees_with_student() -> None:
    values = rng().normal(0.5, 0.1, 12)
    estimate = bootstrap_macro_mean(values, ["a"] * 12, rng(), bounds=None, resamples=20_000)
    half = 2.201 * values.std(ddof=1) / math.sqrt(12)  # Student's t with 11 degrees of freedom
    assert ends(estimate) == pytest.approx((values.mean() - half, values.mean() + half), abs=0.15 * half)


def test_successes_get_the_score_interval() -> None:
    values, strata = [1, 1, 1, 0, 1, 1.0], ["a", "a", "a", "b", "b", "b"]
    assert bootstrap_macro_mean(values, strata, rng()) == macro_rate([3, 2], [3, 3])


def test_values_that_are_all_alike_are_not_certain() -> None:
    estimate = bootstrap_macro_mean([0.5] * 10, ["a"] * 10, rng())
    assert ends(estimate) == pytest.approx((0.5 - 0.5 * Z**2 / (10 + Z**2), 0.5 + 0.5 * Z**2 / (10 + Z**2)))
    assert bootstrap_macro_mean([7.0] * 10, ["a"] * 10, rng(), bounds=None) == Estimate(7.0, None, None, 10)
    assert bootstrap_macro_mean([], [], rng()) == NOTHING


def test_tasks_of_one_seed_lend_each_other_their_spread() -> None:
    estimate = bootstrap_macro_mean([0.1, 0.5, 0.6, 0.9], ["a", "b", "c", "d"], rng(), bounds=None)
    low, high = ends(estimate)
    assert low < 0.3 and high > 0.75


def test_values_out_of_bounds_are_refused() -> None:
    for value in (1.5, math.nan):
        with pytest.raises(ValueError, match="not within"):
            bootstrap_macro_mean([0.5, value], ["a", "a"], rng())
    with pytest.raises(ValueError, match="shape"):
        bootstrap_macro_mean([0.5, 0.5], ["a"], rng())


def test_new_tasks_take_twenty() -> None:
    won = rng().random(100) < 0.5
    with pytest.raises(UserError, match="19 tasks are too few"):
        bootstrap_macro_mean(won[:95], np.arange(95) % 19, rng(), new_tasks=True)
    wide = ends(bootstrap_macro_mean(np.repeat([0.0, 1.0], 50), np.arange(100) // 5, rng(), new_tasks=True))
    narrow = ends(bootstrap_macro_mean(np.repeat([0.0, 1.0], 50), np.arange(100) // 5, rng()))
    assert wide[1] - wide[0] > 2 * (narrow[1] - narrow[0])


def test_a_paired_bootstrap_counts_tasks_alike() -> None:
    a, b = np.array([0.2] * 4 + [0.5] * 2), np.array([0.4] * 4 + [0.3, 0.5])
    estimate = paired_bootstrap(a, b, ["x"] * 4 + ["y"] * 2, rng())
    assert estimate.value == pytest.approx((0.2 - 0.1) / 2)
    with pytest.raises(ValueError, match="not paired"):
        paired_bootstrap(a, b[:3], ["x"] * 6, rng())


def test_a_stochastic_policy_loses_clean_successes_without_any_stress() -> None:
    draws, chance = rng(), rng().beta(2, 2, 20_000)
    clean, identity, unharmed, harmed = (draws.random(20_000) < c for c in (chance, chance, chance, chance / 2))
    found = retained(clean, identity, unharmed)
    assert ends(found.stressed)[1] < 0.65  # nearly half "lost", by luck alone
    low, high = ends(found.excess_loss)
    assert low < 0 < high and found.p is not None and found.p > 0.05
    # Half of the retained share, which is E[chance²] / E[chance] = 0.6.
    assert excess_loss(clean, identity, harmed).value == pytest.approx(0.3, abs=0.02)


def test_a_deterministic_policy_loses_what_stress_takes() -> None:
    clean = np.array([True] * 20 + [False] * 5)
    stressed = np.array([False] * 8 + [True] * 12 + [False] * 5)
    found = retained(clean, clean, stressed)
    assert (found.identity.value, found.stressed.value, found.excess_loss.value) == (1.0, 0.6, 0.4)
    assert found.p == pytest.approx(2 * 0.5**8)


def test_without_clean_successes_nothing_is_lost_or_kept() -> None:
    found = retained([False] * 5, [True] * 5, [True] * 5)
    assert found == (NOTHING, NOTHING, NOTHING, None)


def test_swapping_booleans_is_mcnemar() -> None:
    a, b = np.array([True] * 9 + [False] * 11), np.array([False] * 7 + [True] * 4 + [False] * 9)
    expected = mcnemar(a, b)
    assert swap_test(a, b, rng(), 20_000) == pytest.approx(expected, abs=0.01)
    assert swap_test([], [], rng()) is None and swap_test([0.3], [0.3], rng()) == 1.0


def test_a_tag_is_tested_like_scipy_permutes() -> None:
    draws = rng()
    scores, has = draws.random(12), np.arange(12) < 5
    expected = permutation_test(
        (scores[has], scores[~has]), lambda x, y: abs(x.mean() - y.mean()), alternative="greater", n_resamples=np.inf
    ).pvalue
    found = tag_effects(scores, {"tag": has}, ["scene"] * 12, draws, 20_000)["tag"]
    assert found.p == pytest.approx(expected, abs=0.012)
    assert found.difference == pytest.approx(scores[has].mean() - scores[~has].mean())
    assert found.adjusted == pytest.approx(found.difference) and found.adjusted_p == found.p
    assert (found.tasks_with, found.tasks_without) == (5, 7)


def test_a_hard_scene_does_not_count_against_its_tags() -> None:
    draws = rng()
    scenes = np.repeat(["easy", "hard"], 30)
    has = draws.random(60) < np.where(scenes == "hard", 0.8, 0.2)
    scores = np.where(scenes == "hard", 0.2, 0.8) + 0.05 * draws.random(60)
    confounded = tag_effects(scores, {"tag": has}, ["any"] * 60, draws, 999)["tag"]
    within = tag_effects(scores, {"tag": has}, scenes, draws, 999)["tag"]
    assert confounded.p == 0.001 and confounded.difference is not None and confounded.difference < -0.2
    assert within.p is not None and within.p > 0.05 and within.difference == pytest.approx(0, abs=0.02)


def test_the_adjusted_effect_clears_a_tag_that_keeps_bad_company() -> None:
    draws = rng()
    harmful = draws.random(60) < 0.5
    idle = np.where(draws.random(60) < 0.8, harmful, ~harmful)
    scores = 0.8 - 0.4 * harmful + 0.1 * draws.random(60)
    tags = {"harmful": harmful, "idle": idle}
    found = tag_effects(scores, tags, ["scene"] * 60, draws, 999)
    assert found["idle"].p == 0.001 and found["idle"].adjusted_p is not None and found["idle"].adjusted_p > 0.05
    assert found["harmful"].adjusted == pytest.approx(-0.4, abs=0.03) and found["harmful"].adjusted_p == 0.001
    assert tag_association(tags)["harmful", "idle"] == pytest.approx(np.corrcoef(harmful, idle)[0, 1])


def test_a_tag_with_too_few_tasks_has_no_p() -> None:
    scores = [0.1, 0.2, 0.3, 0.4]
    found = tag_effects(scores, {"tag": [True, True, False, False]}, ["scene"] * 4, rng(), 99)["tag"]
    assert found.p is None and found.adjusted_p is None and found.difference == pytest.approx(-0.2)


def test_a_tag_that_every_task_has_says_nothing() -> None:
    found = tag_effects([0.1, 0.2, 0.3], {"all": [True] * 3}, ["scene"] * 3, rng(), 99)["all"]
    assert found[:4] == (None, None, None, None)
    assert tag_association({"all": [True] * 3, "one": [True, False, False]}) == {("all", "one"): None}


def test_tags_that_always_come_together_cannot_be_told_apart() -> None:
    has = np.arange(20) < 10
    found = tag_effects(rng().random(20), {"one": has, "two": has}, ["scene"] * 20, rng(), 99)
    assert found["one"].p is not None and found["one"].adjusted is None and found["one"].adjusted_p is None


def test_a_task_without_a_score_is_refused() -> None:
    with pytest.raises(ValueError, match="leave it out"):
        tag_effects([0.1, math.nan], {"tag": [True, False]}, ["scene"] * 2, rng())
    with pytest.raises(ValueError, match="2 scores with tag"):
        tag_effects([0.1, 0.2], {"tag": [True]}, ["scene"] * 2, rng())


@pytest.mark.parametrize("seed", range(6))
def test_the_smallest_attainable_p_is_that_of_all_arrangements(seed: int) -> None:
    draws = np.random.default_rng(seed)
    scores = np.round(draws.random(8), 1 if seed % 2 else 3)  # with ties, and without
    has, scenes = draws.random(8) < 0.5, np.array([0, 0, 0, 0, 0, 1, 1, 1])
    centred = scores - np.array([scores[scenes == scene].mean() for scene in scenes])
    sums = np.array(
        [
            abs(centred[list(chosen)].sum())
            for chosen in itertools.combinations(range(8), int(has.sum()))
            if (scenes[list(chosen)] == 0).sum() == has[scenes == 0].sum()
        ]
    )
    assert smallest_p(scores, has, scenes) == pytest.approx(np.mean(sums > sums.max() - 1e-9))


def test_holm_agrees_with_statsmodels_and_leaves_out_what_was_not_tested() -> None:
    raw = {"a": 0.01, "b": 0.04, "c": 0.03, "d": 0.005, "e": 0.9}
    expected = multipletests(list(raw.values()), method="holm")[1]
    adjusted = holm({"none": None, **raw})
    assert adjusted.pop("none") is None and list(adjusted.values()) == pytest.approx(expected)
    assert holm({}) == {}
    with pytest.raises(ValueError, match=r"b is 1\.2"):
        holm({"a": 0.1, "b": 1.2})


def test_a_trend_of_ranks_is_pages() -> None:
    draws = rng()
    ranks = draws.permuted(np.tile(np.arange(1.0, 5.0), (8, 1)), axis=1) @ np.eye(4)
    ranks[:3] = np.arange(1, 5)
    exact = page_trend_test(ranks, method="exact").pvalue
    found = trend(ranks, draws, 20_000)
    assert found.slope is not None and found.slope > 0
    assert found.p == pytest.approx(2 * exact, abs=0.01)  # two-sided, of a symmetric statistic


def test_a_trend_matches_all_arrangements() -> None:
    outcomes = np.array([[1, 1, 0, 0], [1, 1, 1, 0], [1, 0, 1, 0], [1, 1, 1, 1]])
    steps = np.array([-1.5, -0.5, 0.5, 1.5])
    rows = [[sum(np.array(order) * steps) for order in itertools.permutations(row)] for row in outcomes]
    sums = np.abs(np.add.outer(np.add.outer(rows[0], rows[1]), rows[2]).ravel())
    found = trend(outcomes, rng(), 20_000)
    assert found.p == pytest.approx(np.mean(sums >= abs((outcomes @ steps).sum()) - 1e-9), abs=0.01)
    assert found.slope == pytest.approx((outcomes @ steps).sum() / (4 * (steps @ steps))) and found.situations == 4


def test_a_missing_level_leaves_the_rest_of_the_situation() -> None:
    full = np.tile([1.0, 1.0, 0.0, 0.0], (10, 1))
    holed = full.copy()
    holed[::2, 1] = math.nan
    holed[0, 1:] = math.nan  # one level alone compares with nothing
    found = trend(holed, rng(), 999)
    assert found.situations == 9 and found.p == 0.001 and found.slope is not None and found.slope < -0.3


def test_nothing_to_compare_has_no_trend() -> None:
    assert trend(np.full((3, 4), math.nan), rng()) == Trend(None, None, 0)
    assert trend(np.ones((3, 4)), rng()) == Trend(0.0, 1.0, 3)
    with pytest.raises(ValueError, match="situations × levels"):
        trend([1.0, 0.0], rng())


def test_the_power_of_mcnemar_is_that_of_all_outcomes() -> None:
    for n, rate_a, rate_b in ((12, 0.5, 0.1), (25, 0.3, 0.05), (7, 0.95, 0.05), (30, 0.2, 0.2)):
        expected = sum(
            multinomial.pmf([a, b, n - a - b], n, [rate_a, rate_b, 1 - rate_a - rate_b])
            for a in range(n + 1)
            for b in range(min(a, n - a + 1))
            if b < a and mcnemar_p(a, b) <= 0.05
        )
        assert mcnemar_power(n, rate_a, rate_b) == pytest.approx(expected, abs=1e-8)


def test_few_pairs_would_not_even_show_a_total_collapse() -> None:
    assert smallest_visible_drop(5, 1.0) is None  # at best 2 × 0.5⁵ > 0.05
    assert smallest_visible_drop(25, 0.0) is None and smallest_visible_drop(0, 1.0) is None
    six = smallest_visible_drop(6, 1.0)
    assert six is not None and six**6 == pytest.approx(0.8, abs=1e-6)  # all six must be lost


def test_a_policy_that_flips_hides_small_drops() -> None:
    steady, flipping = smallest_visible_drop(75, 0.8), smallest_visible_drop(75, 0.8, flip_rate=0.3)
    assert steady is not None and flipping is not None and 1.5 * steady < flipping


def test_an_unpaired_difference_takes_more_trials() -> None:
    known, estimated = smallest_visible_difference(25, 0.9), smallest_visible_difference(25, 0.9, 25)
    assert known is not None and estimated is not None and known < estimated < 0.5
    assert smallest_visible_difference(0, 0.9) is None and smallest_visible_difference(2, 0.3) is None
    with pytest.raises(ValueError, match=r"rate is 1\.2"):
        smallest_visible_difference(5, 1.2)


def test_so_many_pairs_are_needed_and_no_fewer() -> None:
    needed = pairs_needed(-0.1, 0.3)
    assert needed is not None and 200 < needed < 300
    assert mcnemar_power(needed, 0.2, 0.1) >= 0.8 > mcnemar_power(needed - 1, 0.2, 0.1)
    assert pairs_needed(0.0, 0.3) is None and pairs_needed(0.0001, 0.5) is None
    with pytest.raises(ValueError, match="discordant"):
        pairs_needed(0.5, 0.3)
