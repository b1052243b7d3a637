"""Laws of the statistics: intervals hold their estimate, names of variants do not matter, more data tell more."""

from __future__ import annotations

import re

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from robodx.analysis import wording
from robodx.analysis.statistics.estimates import Estimate, above_chance, newcombe, wilson
from robodx.analysis.statistics.macro import macro_rate
from robodx.analysis.statistics.multiple import holm
from robodx.analysis.statistics.paired import mcnemar, paired_bootstrap, paired_difference, paired_test, retained, tango
from robodx.analysis.statistics.permutation import swap_test, tag_effects
from robodx.analysis.statistics.power import pairs_needed, smallest_visible_drop
from robodx.analysis.statistics.resampling import bootstrap_macro_mean
from robodx.analysis.statistics.trend import trend

Bools = npt.NDArray[np.bool_]
Floats = npt.NDArray[np.float64]
counts = st.integers(1, 60).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n)))
pairs = st.integers(1, 40).flatmap(lambda n: arrays(np.bool_, (3, n)))
shares = st.floats(0, 1)
scores = st.integers(1, 25).flatmap(lambda n: arrays(np.float64, n, elements=shares))
outcomes = st.integers(1, 12).flatmap(
    lambda n: arrays(np.float64, (n, 4), elements=st.sampled_from([0.0, 1.0, float("nan")]))
)


def ends(estimate: Estimate) -> tuple[float, float, float]:
    assert estimate.low is not None and estimate.value is not None and estimate.high is not None
    return estimate.low, estimate.value, estimate.high


def assert_holds(estimate: Estimate, least: float, most: float) -> None:
    low, value, high = ends(estimate)
    assert least <= low <= value + 1e-9 and value - 1e-9 <= high <= most
    assert low < high


def assert_mirrored(one: Estimate, other: Estimate, mirror: float) -> None:
    """The other counts from the far end: x ↔ mirror − x."""
    assert ends(one) == pytest.approx([mirror - x for x in reversed(ends(other))], abs=1e-6)


def rng() -> np.random.Generator:
    return np.random.default_rng(11)


@given(counts, counts)
def test_rates_and_differences_hold_their_estimate_within_bounds(a: tuple[int, int], b: tuple[int, int]) -> None:
    assert_holds(wilson(*a), 0, 1)
    assert_holds(macro_rate([a[0], b[0]], [a[1], b[1]]), 0, 1)
    assert_holds(newcombe(*a, *b), -1, 1)


@settings(max_examples=40)
@given(counts, counts)
def test_what_is_called_success_does_not_matter(a: tuple[int, int], b: tuple[int, int]) -> None:
    (won_a, n_a), (won_b, n_b) = a, b
    assert_mirrored(wilson(won_a, n_a), wilson(n_a - won_a, n_a), 1.0)
    assert_mirrored(macro_rate([won_a, won_b], [n_a, n_b]), macro_rate([n_a - won_a, n_b - won_b], [n_a, n_b]), 1.0)
    assert_mirrored(newcombe(*a, *b), newcombe(n_a - won_a, n_a, n_b - won_b, n_b), 0.0)


@given(counts, counts)
def test_swapped_variants_flip_an_unpaired_difference(a: tuple[int, int], b: tuple[int, int]) -> None:
    assert_mirrored(newcombe(*a, *b), newcombe(*b, *a), 0.0)


@settings(max_examples=40)
@given(counts, counts, st.integers(2, 5))
def test_more_of_the_same_narrows(a: tuple[int, int], b: tuple[int, int], times: int) -> None:
    def width(estimate: Estimate) -> float:
        low, _, high = ends(estimate)
        return high - low

    more_a, more_b = (times * a[0], times * a[1]), (times * b[0], times * b[1])
    assert width(wilson(*more_a)) < width(wilson(*a))
    assert width(newcombe(*more_a, *more_b)) < width(newcombe(*a, *b))
    more = macro_rate([more_a[0], more_b[0]], [more_a[1], more_b[1]])
    assert width(more) < width(macro_rate([a[0], b[0]], [a[1], b[1]]))
    only_a, only_b = a[0], b[0]
    n = only_a + only_b + a[1]
    assert width(tango(times * only_a, times * only_b, times * n)) < width(tango(only_a, only_b, n))


@settings(max_examples=40)
@given(counts, st.floats(0, 0.99))
def test_correction_for_chance_keeps_the_order_and_one(a: tuple[int, int], chance: float) -> None:
    low, value, high = ends(above_chance(wilson(*a), chance))
    assert low <= value + 1e-9 and value <= high + 1e-9 and high <= 1 + 1e-9
    assert value <= a[0] / a[1] + 1e-9


@given(counts, st.floats(0, 0.99))
def test_what_is_above_chance_is_a_share_of_what_chance_leaves(a: tuple[int, int], chance: float) -> None:
    says = wording.above_chance(above_chance(wilson(*a), chance))
    is_share = re.fullmatch(r"(\d+)% \[(<0|\d+), (\d+)\]", says)
    assert says in ("below chance", "not above chance") if a[0] / a[1] < chance else is_share
    assert is_share is None or max(int(is_share[1]), int(is_share[3])) <= 100


@given(counts, counts)
def test_the_order_of_tasks_does_not_matter(a: tuple[int, int], b: tuple[int, int]) -> None:
    assert ends(macro_rate([a[0], b[0]], [a[1], b[1]])) == pytest.approx(
        ends(macro_rate([b[0], a[0]], [b[1], a[1]])), abs=1e-9
    )


@given(pairs)
def test_a_paired_interval_leaves_out_zero_just_where_its_test_does(arms: Bools) -> None:
    before, after = arms[0].astype(np.float64), arms[1].astype(np.float64)
    lost, won = float((before > after).sum()), float((after > before).sum())
    difference, p = paired_test(before, after, lost, won, np.random.default_rng(0))
    low, _, high = ends(difference)
    assert p == mcnemar(arms[0], arms[1]) and (low <= 0 <= high) == (p is not None and p > 0.05)


@given(pairs)
def test_swapped_variants_flip_a_paired_difference(variants: Bools) -> None:
    a, b, _ = variants
    assert_holds(paired_difference(a, b), -1, 1)
    assert_mirrored(paired_difference(a, b), paired_difference(b, a), 0.0)
    assert_mirrored(paired_difference(a, b), paired_difference(~a, ~b), 0.0)
    assert mcnemar(a, b) == pytest.approx(mcnemar(b, a)) == pytest.approx(mcnemar(~a, ~b))


@given(pairs)
def test_swapping_identity_and_stress_turns_loss_into_gain(variants: Bools) -> None:
    clean, identity, stressed = variants
    one, other = retained(clean, identity, stressed), retained(clean, stressed, identity)
    assert one.p == other.p and one.identity == other.stressed
    if one.excess_loss.n:
        assert_mirrored(one.excess_loss, other.excess_loss, 0.0)
        assert one.identity.value is not None and one.stressed.value is not None
        assert one.excess_loss.value == pytest.approx(one.identity.value - one.stressed.value)


@given(scores, st.integers(1, 4))
def test_bootstrap_intervals_hold_their_estimate_within_bounds(values: Floats, tasks: int) -> None:
    strata = np.arange(len(values)) % tasks
    assert_holds(bootstrap_macro_mean(values, strata, rng(), resamples=200), 0, 1)
    assert_holds(paired_bootstrap(values, values[::-1], strata, rng(), resamples=200), -1, 1)


@settings(max_examples=40)
@given(scores)
def test_the_same_draws_give_the_same_interval(values: Floats) -> None:
    strata = np.arange(len(values)) % 3
    one, other = (bootstrap_macro_mean(values, strata, rng(), resamples=100) for _ in range(2))
    assert one == other


@given(st.dictionaries(st.text(max_size=3), st.none() | shares, max_size=8))
def test_holm_never_lowers_a_p_nor_changes_the_order(raw: dict[str, float | None]) -> None:
    adjusted = holm(raw)
    assert list(adjusted) == list(raw)
    tested = sorted(
        (p, a) for p, a in zip(raw.values(), adjusted.values(), strict=True) if p is not None and a is not None
    )
    assert len(tested) == sum(p is not None for p in raw.values())
    assert all(p <= a <= 1 for p, a in tested)
    assert [a for _, a in tested] == sorted(a for _, a in tested)


@given(scores, st.integers(0, 2**25 - 1), st.integers(1, 3))
def test_a_permuted_p_is_never_zero(values: Floats, pattern: int, scenes: int) -> None:
    has = np.array([bool(pattern >> i & 1) for i in range(len(values))])
    strata = np.arange(len(values)) % scenes
    found = tag_effects(values, {"one": has, "two": np.roll(has, 1)}, strata, rng(), 49)
    for p in (found["one"].p, found["two"].adjusted_p, swap_test(values, values[::-1], rng(), 49)):
        assert p is None or 1 / 50 <= p <= 1


@given(scores, st.integers(0, 2**25 - 1), st.floats(-5, 5), st.floats(0.1, 10))
def test_a_tag_effect_does_not_depend_on_the_scale_of_scores(
    values: Floats, pattern: int, shift: float, scale: float
) -> None:
    values = np.round(values, 2)
    has = np.array([bool(pattern >> i & 1) for i in range(len(values))])
    one = tag_effects(values, {"tag": has}, ["scene"] * len(values), rng(), 49)["tag"]
    other = tag_effects(shift + scale * values, {"tag": has}, ["scene"] * len(values), rng(), 49)["tag"]
    assert one.p == other.p
    if one.difference is not None:
        assert other.difference == pytest.approx(scale * one.difference, abs=1e-9)


@settings(max_examples=40)
@given(outcomes)
def test_a_trend_has_a_sign_and_a_p_and_no_order_of_situations(table: Floats) -> None:
    one, turned = trend(table, rng(), 99), trend(table[:, ::-1], rng(), 99)
    if one.slope is None or turned.slope is None:
        assert one.p is None and one.situations == 0
        return
    assert one.slope == pytest.approx(-turned.slope) and one.p is not None and 1 / 100 <= one.p <= 1
    # A situation more or less luckily drawn moves the p of so few permutations, but never the slope.
    reordered, again = trend(table[::-1], rng(), 999), trend(table, rng(), 999)
    assert reordered.slope == pytest.approx(one.slope) and reordered.situations == one.situations
    assert reordered.p == pytest.approx(again.p, abs=0.12)


@settings(max_examples=15)
@given(st.integers(6, 60), st.floats(0.3, 1))
def test_more_pairs_see_smaller_drops(n: int, clean: float) -> None:
    few, many = smallest_visible_drop(n, clean), smallest_visible_drop(n + 20, clean)
    if few is not None:
        assert many is not None and many < few <= clean


@settings(max_examples=15)
@given(st.floats(0.05, 0.4), st.floats(0.05, 0.4))
def test_larger_differences_need_fewer_pairs(difference: float, more: float) -> None:
    needed, fewer = pairs_needed(difference, 0.8), pairs_needed(difference + more, 0.8)
    assert needed is not None and fewer is not None and fewer < needed
    assert pairs_needed(-difference, 0.8) == needed
