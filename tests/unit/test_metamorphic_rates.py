"""Verdicts at four levels, and rates of violations beside mere repeats and beside the success oracle."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import polars as pl
import pytest

from robodx.analysis.metamorphic.levels import LEVELS, calibrated, conformal, with_verdicts
from robodx.analysis.metamorphic.rates import (
    NO_TYPE,
    SWEEP_M,
    MetamorphicTable,
    Overlap,
    Violations,
    metamorphic_table,
    order,
)
from robodx.analysis.statistics.agreement import agreement
from robodx.analysis.statistics.paired import mcnemar_p
from robodx.registry import UnknownName
from tests.metamorphic import TASK, pair, pairs_table

OTHER = "carrier/put_in"


def verdicts(relation: str, distance_m: float | None, level: str, **further: Any) -> bool | None:
    judged = with_verdicts(pairs_table(pair(relation, 0, distance_m, **further)))
    found: bool | None = judged[f"violates_{level}"][0]
    return found


def repeats(distances: Iterable[float], **further: Any) -> list[dict[str, Any]]:
    return [pair("MR0", seed, distance, **further) for seed, distance in enumerate(distances)]


def table_of(*rows: dict[str, Any], distance: str = "frechet") -> MetamorphicTable:
    found = metamorphic_table(pairs_table(*rows), distance)
    assert found is not None
    return found


def violations(table: MetamorphicTable, relation: str, level: str, task: str | None = None) -> Violations:
    (found,) = (one for one in table.violations if (one.relation, one.level, one.task) == (relation, level, task))
    return found


def overlap(table: MetamorphicTable, relation: str, level: str) -> Overlap:
    (found,) = (one for one in table.overlaps if (one.relation, one.level, one.task) == (relation, level, None))
    return found


@pytest.mark.parametrize(
    ("relation", "distance_m", "violated"),
    [
        ("MR2", 0.1, ()),
        ("MR2", 0.15, ("strict",)),
        ("MR2", 0.25, ("strict", "medium")),
        ("MR2", 0.31, ("strict", "medium", "low")),
        ("MR4", 0.3, ()),
        ("MR4", 0.25, ("strict",)),
        ("MR4", 0.15, ("strict", "medium")),
        ("MR4", 0.05, ("strict", "medium", "low")),
        # The target was moved by 0.1 m.
        ("MR5", 0.1, ()),
        ("MR5", 0.04, ("strict",)),
        ("MR5", 0.01, ("strict", "medium")),
        ("MR5", 0.17, ("strict",)),
        ("MR5", 0.25, ("strict", "medium")),
        ("MR5", 0.29, ("strict", "medium", "low")),
    ],
)
def test_levels_flag_what_they_say_and_stricter_ones_more(
    relation: str, distance_m: float, violated: tuple[str, ...]
) -> None:
    found = {level: verdicts(relation, distance_m, level) for level in ("strict", "medium", "low")}
    assert {level for level, is_so in found.items() if is_so} == set(violated)
    assert verdicts(relation, distance_m, "calibrated") is None, "without repeats"


def test_there_is_no_verdict_without_a_distance_or_a_known_pattern() -> None:
    assert all(verdicts("MR2", None, level) is None for level in LEVELS)
    assert all(verdicts("MR2", 0.5, level, pattern="something else") is None for level in LEVELS)
    assert verdicts("MR5", 0.5, "strict", moved_m=None) is None


def test_the_chosen_distance_is_the_one_that_is_judged() -> None:
    table = pairs_table(pair("MR2", 0, 0.5, dtw_m=0.05, endpoint_m=None))
    assert with_verdicts(table)["violates_strict"].to_list() == [True]
    assert with_verdicts(table, "dtw")["violates_strict"].to_list() == [False]
    assert with_verdicts(table, "endpoint")["violates_strict"].to_list() == [None]
    with pytest.raises(UnknownName, match="hausdorf"):
        with_verdicts(table, "hausdorf")


@pytest.mark.parametrize(("n", "place"), [(19, 19), (20, 20), (38, 38), (39, 38), (59, 57), (99, 95)])
def test_the_calibrated_distance_is_the_conformal_order_statistic(n: int, place: int) -> None:
    drawn = np.random.default_rng(0).permutation(np.arange(1, n + 1)) / 100
    assert conformal(pl.Series(drawn)) == place / 100
    assert place == int(np.ceil(np.float64(95 * (n + 1)) / 100))


def test_with_fewer_than_nineteen_repeats_nothing_is_calibrated() -> None:
    assert conformal(pl.Series([0.1] * 18)) is None and conformal(pl.Series([0.1] * 19)) == 0.1
    assert conformal(pl.Series([0.1] * 18 + [None])) is None, "what was not measured is no repeat"


def test_repeats_of_one_situation_count_once_by_their_largest_distance() -> None:
    """MR6 has a source of its own, of the same situation, and --repeats makes more of them."""
    named = [{"source_id": f"{n}", "trial_id": f"{n}-MR0", "repeat": n} for n in range(4)]
    few = [pair("MR0", seed, 0.1 * n, **one) for seed in range(5) for n, one in enumerate(named)]
    (found,) = calibrated(pairs_table(*few)).iter_rows(named=True)
    assert (found["situations"], found["delta_m"]) == (5, None), "twenty repeats, of five situations"
    assert with_verdicts(pairs_table(*few))["violates_others"].null_count() == 20
    more = [
        pair("MR0", seed, 0.03 + 0.01 * seed + 0.001 * n, **one) for seed in range(19) for n, one in enumerate(named)
    ]
    (found,) = calibrated(pairs_table(*more)).iter_rows(named=True)
    assert (found["situations"], found["delta_m"]) == (19, pytest.approx(0.213)), "the largest of the largest"
    others = (
        with_verdicts(pairs_table(*more)).group_by("seed", maintain_order=True).agg(pl.col("delta_others_m").first())
    )
    assert others["delta_others_m"].to_list() == pytest.approx([*[0.213] * 18, 0.203])
    unmeasured = [*more[:-4], *(pair("MR0", 18, None, **one) for one in named)]
    assert calibrated(pairs_table(*unmeasured))["situations"].to_list() == [18]


def test_the_calibrated_level_is_told_only_where_all_tasks_have_it() -> None:
    rows = [*repeats([0.01] * 20), *(pair("MR2", seed, 0.5) for seed in range(20))]
    assert table_of(*rows).level_told("somebody") == "calibrated"
    elsewhere = [pair("MR2", seed, 0.5, task=OTHER) for seed in range(30)]
    found = table_of(*rows, *elsewhere)
    assert found.level_told("somebody") == "strict", "of the other task there is no repeat at all"
    assert [(one.task, one.delta_m, one.situations) for one in found.tolerances_of("somebody")] == [
        (TASK, 0.02, 20), (OTHER, None, 0),
    ]  # fmt: skip
    assert table_of(*rows, *elsewhere, *repeats([0.01] * 18, task=OTHER)).level_told("somebody") == "strict"
    assert table_of(*rows, *elsewhere, *repeats([0.01] * 19, task=OTHER)).level_told("somebody") == "calibrated"
    others = [pair("MR2", seed, 0.5, policy="another") for seed in range(3)]
    both = table_of(*rows, *others)
    assert (both.level_told("somebody"), both.level_told("another")) == ("calibrated", "strict")


def test_the_next_repeat_stays_within_the_calibrated_distance_as_often_as_it_says() -> None:
    rng = np.random.default_rng(0)
    draws = rng.exponential(size=(4000, 31))
    within = [float(row[30]) <= (conformal(pl.Series(row[:30])) or 0.0) for row in draws]
    assert 0.95 <= np.mean(within) <= 0.985, "31 places, of which the 30th: 30 of 31"


def test_each_policy_and_task_is_calibrated_by_its_own_repeats_and_not_below_two_centimetres() -> None:
    rows = [
        *repeats([0.001] * 20), *repeats([0.2] * 20, task=OTHER), *repeats([0.4] * 20, policy="another"),
        *repeats([0.1] * 5, policy="another", task=OTHER),
    ]  # fmt: skip
    found = calibrated(pairs_table(*rows))
    assert found.select("policy", "task", "delta_m", "situations").rows() == [
        ("somebody", TASK, 0.02, 20), ("somebody", OTHER, 0.2, 20), ("another", TASK, 0.4, 20),
        ("another", OTHER, None, 5),
    ]  # fmt: skip
    judged = with_verdicts(pairs_table(*rows, *(pair("MR2", 30, 0.15, task=task) for task in (TASK, OTHER)))).filter(
        pl.col("relation") == "MR2"
    )
    assert judged["violates_calibrated"].to_list() == [True, False]


@pytest.mark.parametrize(
    ("relation", "distance_m", "is_violated"),
    [
        ("MR2", 0.05, False), ("MR2", 0.051, True), ("MR4", 0.05, False), ("MR4", 0.049, True),
        # From 0.65 × 0.1 − 0.05 to 1.60 × 0.1 + 0.05.
        ("MR5", 0.016, False), ("MR5", 0.014, True), ("MR5", 0.209, False), ("MR5", 0.211, True),
    ],
)  # fmt: skip
def test_the_calibrated_level_allows_for_the_policys_own_noise(
    relation: str, distance_m: float, is_violated: bool
) -> None:
    judged = with_verdicts(pairs_table(*repeats([0.05] * 19), pair(relation, 30, distance_m)))
    assert judged["violates_calibrated"].to_list() == [*[False] * 19, is_violated]


def test_a_relation_that_breaks_a_policy_stands_out_from_its_repeats() -> None:
    rows = repeats([0.01] * 20)
    rows += [pair("MR2", seed, 0.5 if seed < 12 else 0.01) for seed in range(20)]
    rows += [pair("MR3", seed, 0.01) for seed in range(20)]
    found = table_of(*rows)
    broken, kept = violations(found, "MR2", "calibrated"), violations(found, "MR3", "calibrated")
    assert (broken.pairs, broken.violating, broken.rate.value, broken.rate.n) == (20, 12, 0.6, 20)
    assert broken.repeated.value == 0.0 and broken.difference.value == pytest.approx(0.6)
    assert broken.difference.low is not None and broken.difference.low > 0.3
    assert broken.p == mcnemar_p(0, 12) and broken.p_holm == pytest.approx(2 * mcnemar_p(0, 12))
    assert (kept.rate.value, kept.difference.value, kept.p, kept.p_holm) == (0.0, 0.0, 1.0, 1.0)
    own = violations(found, "MR0", "calibrated")
    assert own.rate.value == 0.0 and own.p is None and own.repeated.value is None, "repeats are held against nothing"
    of_task = violations(found, "MR2", "calibrated", TASK)
    assert of_task.rate == broken.rate and of_task.p == broken.p and of_task.p_holm is None


def test_a_policy_that_is_noisy_is_not_accused_of_its_noise() -> None:
    noise = np.random.default_rng(1).uniform(0.0, 0.4, (2, 40))
    rows = repeats(noise[0]) + [pair("MR1", seed, distance) for seed, distance in enumerate(noise[1])]
    strict, own = (violations(table_of(*rows), "MR1", level) for level in ("strict", "calibrated"))
    assert strict.rate.value is not None and strict.rate.value > 0.5
    assert own.rate.value is not None and own.rate.value < 0.15
    assert strict.p_holm is not None and strict.p_holm > 0.05 and own.p_holm is not None and own.p_holm > 0.05


def test_what_is_to_vary_is_held_against_five_percent_and_not_against_repeats() -> None:
    rows = repeats([0.01] * 20) + [pair("MR4", seed, 0.0 if seed < 5 else 0.5) for seed in range(20)]
    found = violations(table_of(*rows), "MR4", "calibrated")
    assert found.rate.value == 0.25 and found.difference.value is None and found.repeated.value == 0.0
    exactly = 1 - sum(
        float(np.prod([(20 - j) / (j + 1) for j in range(k)])) * 0.05**k * 0.95 ** (20 - k) for k in range(5)
    )
    assert found.p == pytest.approx(exactly)
    none = violations(table_of(*repeats([0.01] * 20), *(pair("MR4", s, 0.5) for s in range(20))), "MR4", "calibrated")
    assert none.p == 1.0


def test_situations_are_counted_and_not_their_repeats_or_those_that_went_alike() -> None:
    thrice = [
        pair("MR2", seed, 0.5 if repeat else 0.0, repeat=repeat, source_id=f"{seed}-{repeat}",
             source_hash=f"{seed}-{repeat}", follow_up_hash=f"{seed}-{repeat}-f")
        for seed in range(4) for repeat in range(2)
    ]  # fmt: skip
    found = violations(table_of(*thrice), "MR2", "strict")
    assert (found.pairs, found.violating, found.rate.n, found.rate.value) == (8, 4, 4, 0.5)
    alike = [pair("MR2", seed, 0.5, source_hash="same", follow_up_hash="same") for seed in range(6)]
    found = violations(table_of(*alike), "MR2", "strict")
    assert (found.pairs, found.rate.n) == (6, 1)


def test_repeats_of_the_same_situations_are_compared_by_exchanging_them() -> None:
    rows = []
    for seed in range(12):
        for repeat in range(2):
            named = {"repeat": repeat, "source_id": f"{seed}-{repeat}", "source_hash": f"{seed}-{repeat}"}
            rows.append(pair("MR0", seed, 0.0, **named, follow_up_hash=f"{seed}-{repeat}-0"))
            distance = 0.5 if repeat else 0.0
            rows.append(pair("MR2", seed, distance, **named, follow_up_hash=f"{seed}-{repeat}-2"))
    found = violations(table_of(*rows), "MR2", "strict")
    assert found.difference.value == 0.5 and found.difference.n == 12
    assert found.p is not None and 0 < found.p < 0.01


def test_only_sources_with_a_repeat_are_compared_with_it() -> None:
    rows = [*repeats([0.0] * 4), *(pair("MR2", seed, 0.5) for seed in range(10))]
    found = violations(table_of(*rows), "MR2", "strict")
    assert (found.rate.n, found.repeated.n, found.difference.n) == (10, 4, 4)


def test_with_many_errors_there_is_no_rate() -> None:
    rows = [pair("MR2", seed, None if seed < 2 else 0.5) for seed in range(20)]
    found = violations(table_of(*rows), "MR2", "strict")
    assert (found.errors, found.pairs, found.rate.value, found.p) == (2, 18, None, None)
    few = violations(table_of(*rows, *(pair("MR2", seed, 0.5) for seed in range(20, 60))), "MR2", "strict")
    assert few.errors == 2 and few.rate.value == 1.0


def test_tasks_stand_beside_all_of_them_together() -> None:
    rows = [pair("MR2", seed, 0.5) for seed in range(3)] + [pair("MR2", seed, 0.0, task=OTHER) for seed in range(9)]
    table = table_of(*rows)
    assert [violations(table, "MR2", "strict", task).rate.value for task in (None, TASK, OTHER)] == [0.25, 1.0, 0.0]


def test_the_oracle_and_the_relation_overlap_as_counted() -> None:
    said = [(True, 0.5)] * 6 + [(True, 0.0)] * 1 + [(False, 0.5)] * 3 + [(False, 0.0)] * 10
    rows = [pair("MR2", seed, distance, is_flagged=flagged) for seed, (flagged, distance) in enumerate(said)]
    found = overlap(table_of(*rows), "MR2", "low")
    assert (found.both, found.oracle_only, found.relation_only, found.neither) == (6, 1, 3, 10)
    assert found.agreement.value == pytest.approx(16 / 20) and found.agreement.n == 20
    # By chance: 7/20 × 9/20 + 13/20 × 11/20.
    assert found.kappa.value == pytest.approx((0.8 - 0.515) / (1 - 0.515))
    nothing = overlap(table_of(*rows), "MR2", "calibrated")
    assert (nothing.both, nothing.neither, nothing.agreement.value, nothing.kappa.value) == (0, 0, None, None)


def test_kappa_is_the_one_of_annotators_with_its_interval_and_over_situations() -> None:
    said = [(True, 0.5)] * 3 + [(True, 0.0)] * 2 + [(False, 0.5)] * 1 + [(False, 0.0)] * 4
    once = [pair("MR2", seed, distance, is_flagged=flagged) for seed, (flagged, distance) in enumerate(said)]
    known = agreement([str(flagged) for flagged, _ in said], [str(distance > 0.3) for _, distance in said])
    found = overlap(table_of(*once), "MR2", "low")
    assert (found.agreement, found.kappa) == (known.share, known.kappa) and found.kappa.low is not None
    # One situation thrice more, and one that the oracle has no verdict for.
    named = [{"repeat": n, "source_hash": f"again {n}", "follow_up_hash": f"again {n}"} for n in (1, 2, 3)]
    more = [pair("MR2", 0, 0.5, is_flagged=True, **one) for one in named]
    unknown = pair("MR2", 50, 0.5, is_flagged=None, follow_up_success=None)
    again = overlap(table_of(*once, *more, unknown), "MR2", "low")
    assert (again.both, again.agreement, again.kappa) == (6, known.share, known.kappa)


def test_agreement_beyond_chance_is_none_where_both_always_say_the_same() -> None:
    rows = [pair("MR2", seed, 0.0) for seed in range(10)]
    alike = overlap(table_of(*rows), "MR2", "low")
    assert (alike.agreement.value, alike.kappa.value, alike.kappa.n) == (1.0, None, 10)
    opposed = overlap(table_of(*(pair("MR2", seed, 0.5 * seed, is_flagged=not seed) for seed in (0, 1))), "MR2", "low")
    assert (opposed.kappa.value, opposed.kappa.low) == (-1.0, -1.0)


def test_the_sweep_passes_the_levels_and_goes_the_way_of_its_pattern() -> None:
    rng = np.random.default_rng(0)
    rows = [
        pair(relation, seed, float(rng.uniform(0, 0.5))) for relation in ("MR2", "MR4", "MR5") for seed in range(50)
    ]
    table = table_of(*rows)
    swept = {one.relation: one for one in table.sweeps}
    at = {relation: dict(zip(one.tolerances_m, one.shares, strict=True)) for relation, one in swept.items()}
    for relation, tolerances in (("MR2", (0.1, 0.2, 0.3)), ("MR4", (0.3, 0.2, 0.1))):
        for level, tolerance in zip(("strict", "medium", "low"), tolerances, strict=True):
            assert at[relation][tolerance] == violations(table, relation, level).rate.value
    assert at["MR5"][0.0] == violations(table, "MR5", "strict").rate.value
    assert np.all(np.diff(swept["MR2"].shares) <= 0) and np.all(np.diff(swept["MR5"].shares) <= 0)
    assert np.all(np.diff(swept["MR4"].shares) >= 0)
    assert (SWEEP_M[0], SWEEP_M[-1], swept["MR2"].pairs) == (0.0, 0.5, 50)


def test_percentiles_are_of_the_distances() -> None:
    rows = [pair("MR2", seed, seed / 100) for seed in range(101)] + [pair("MR2", 200, None)]
    (found,) = table_of(*rows).spreads
    assert found.percentiles_m == pytest.approx((0.1, 0.25, 0.5, 0.75, 0.9)) and found.pairs == 101


def test_failures_of_follow_ups_are_told_with_how_many_of_them_violate() -> None:
    rows = [pair("MR2", seed, 0.15, is_flagged=True, failure_type="collision") for seed in range(3)]
    rows += [pair("MR2", 5, 0.0, is_flagged=True, failure_type=None), pair("MR2", 6, 0.0)]
    first, second = table_of(*rows).failure_types
    assert (first.failure_type, first.flagged) == ("collision", 3)
    assert first.violating == {"strict": 3, "medium": 0, "low": 0, "calibrated": None}
    assert (second.failure_type, second.flagged) == (NO_TYPE, 1)


def test_relations_come_by_number_and_policies_apart() -> None:
    names = ["MR10", "MR2", "MR0", "MR1 & MR3", "MR1"]
    assert sorted(names, key=order) == ["MR0", "MR1", "MR1 & MR3", "MR2", "MR10"]
    rows = [pair(name, seed, 0.5, policy=policy) for name in names for seed in range(2) for policy in ("a", "b")]
    found = table_of(*rows).violations
    assert {(one.policy, one.pairs) for one in found if one.task is None and one.level == "low"} == {("a", 2), ("b", 2)}


def test_without_pairs_there_is_no_table() -> None:
    assert metamorphic_table(pairs_table()) is None


def test_neither_a_repeat_nor_its_follow_up_has_a_say_in_the_tolerance_that_compares_them() -> None:
    rows = repeats([0.5, *[0.1] * 18]) + [pair("MR2", seed, 0.5 if seed == 3 else 0.1) for seed in range(19)]
    judged = with_verdicts(pairs_table(*rows)).filter(pl.col("relation") == "MR0")
    assert judged["delta_m"].unique().to_list() == [0.5], "the largest of nineteen"
    assert judged["violates_calibrated"].sum() == 0, "which nothing exceeds that had a say in it"
    assert judged["delta_others_m"].to_list() == [0.1, *[0.5] * 18] and judged["violates_others"].sum() == 1
    found = violations(table_of(*rows), "MR2", "calibrated")
    assert found.repeated.value == pytest.approx(1 / 19), "and not 0, by its own"


@pytest.mark.thorough
def test_a_relation_that_does_nothing_is_seldom_claimed_to_do_more_than_a_repeat() -> None:
    rng = np.random.default_rng(0)
    tasks = [f"carrier/{name}" for name in "abcd"]
    differences, claimed = [], 0
    for _ in range(6):
        rows = [
            pair(relation, seed, float(0.05 * rng.lognormal()), task=task)
            for relation in ("MR0", "MR1", "MR2", "MR3", "MR7") for task in tasks for seed in range(19)
        ]  # fmt: skip
        for one in table_of(*rows).violations:
            if one.level == "calibrated" and one.task is None and one.relation != "MR0":
                assert one.difference.value is not None and one.difference.low is not None and one.p_holm is not None
                differences.append(one.difference.value)
                claimed += one.p_holm < 0.05 and one.difference.low > 0.05
    assert claimed == 0 and abs(float(np.mean(differences))) < 0.02
