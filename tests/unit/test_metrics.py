"""Metrics on tables made by hand, whose answers are known."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy.stats import binom  # type: ignore[import-untyped]

from robodx.analysis.metrics import base
from robodx.analysis.metrics.base import METRICS, estimate, metric
from robodx.analysis.metrics.bias import bias_coefficient, bias_spread, interaction_effect, signed_bias
from robodx.analysis.metrics.composition import (
    atomic_score,
    compositional_failure_share,
    macro_compositional_failure_share,
)
from robodx.analysis.metrics.control import control_normalised_by_task, control_normalised_success
from robodx.analysis.metrics.failures import constraint_violation_rate, failure_shares
from robodx.analysis.metrics.partial import process_success_rate
from robodx.analysis.metrics.resampled import bootstrap_seeds
from robodx.analysis.metrics.success import chance_corrected_success, success_rate
from robodx.analysis.metrics.transfer import ratio, retention, transfer_gap
from robodx.analysis.statistics.estimates import NOTHING, Estimate, above_chance, newcombe, wilson
from robodx.records.schema import SCHEMA
from robodx.registry import Registry

STRESSED = [{"name": "noise", "severity": 25.0}]


def rng() -> np.random.Generator:
    return np.random.default_rng(0)


def numbers(found: Estimate) -> list[float]:
    assert found.value is not None and found.low is not None and found.high is not None
    return [found.value, found.low, found.high, found.n]


def table(*rows: dict[str, Any]) -> pl.DataFrame:
    base = {"task_version": 1, "policy": "p", "robot": "panda", "perturbations": [], "repeat": 0, "clock": "lockstep"}
    filled = [{**dict.fromkeys(SCHEMA), **base, "trajectory_hash": f"{i}", **row} for i, row in enumerate(rows)]
    return pl.DataFrame(filled, schema=SCHEMA)


def episode(task: str, seed: int, outcome: str | bool, **more: Any) -> dict[str, Any]:
    if isinstance(outcome, bool):
        outcome = "success" if outcome else "timeout"
    return {"task": task, "seed": seed, "outcome": outcome, "success": outcome == "success", **more}


def tries(task: str, successes: int, n: int, **more: Any) -> list[dict[str, Any]]:
    return [episode(task, seed, seed < successes, **more) for seed in range(n)]


def with_primitives(episodes: pl.DataFrame, primitives: dict[str, str]) -> pl.DataFrame:
    return episodes.with_columns(primitive=pl.col("task").replace_strict(primitives, default=None))


def full() -> pl.DataFrame:
    """Two tasks and a primitive of which everything is recorded."""
    numbers = {name: 1 for name, kind in SCHEMA.items() if kind.is_numeric()}
    rows = [
        {
            **numbers, "stability": 0.9 + seed / 100, "inference_ms_p50": 5.0 + seed, "stages": 4, "chance": 0.25,
            "collisions": seed % 2, "queries": 10, "perturbed_queries": seed, "failure_kind": "motor",
            **episode(task, seed, seed % 3 > 0),
        }
        for task in ("a/one", "a/two", "primitive/pick")
        for seed in range(6)
    ]  # fmt: skip
    return with_primitives(table(*rows), {"a/one": "primitive/pick", "a/two": "primitive/pick"})


@pytest.mark.parametrize("name", METRICS)
def test_every_metric_lies_within_its_interval(name: str) -> None:
    value, found = METRICS[name](full()), estimate(name, full(), rng())
    assert value is not None and value == pytest.approx(found.value)
    assert found.n >= 4
    if found.low is not None:
        assert found.high is not None and found.low - 1e-12 <= value <= found.high + 1e-12


@pytest.mark.parametrize("name", METRICS)
def test_no_data_is_none_for_every_metric(name: str) -> None:
    assert METRICS[name](table()) is None and estimate(name, table(), rng()) == NOTHING
    erred = table(*(episode("a/one", seed, "error") for seed in range(9)))
    assert METRICS[name](erred) is None and estimate(name, erred, rng()) == NOTHING


@pytest.mark.parametrize(
    "name",
    [
        "chance_corrected_success", "constraint_violation_rate", "control_normalised_success", "exposure_share",
        "inference_rate", "latency_p99", "length_ratio", "progress", "smoothness",
    ],
)  # fmt: skip
def test_what_an_old_run_did_not_record_is_none(name: str) -> None:
    old = table(*tries("a/one", 3, 6))
    assert METRICS[name](old) is None and estimate(name, old, rng()).value is None


def test_above_five_percent_of_errors_there_is_no_estimate() -> None:
    good = tries("a/one", 15, 19)
    assert success_rate(table(*good, episode("a/one", 99, "error"))) == pytest.approx(15 / 19)
    two = table(*good, episode("a/one", 98, "error"), episode("a/one", 99, "error"))
    assert success_rate(two) is None and estimate(success_rate, two, rng()) == Estimate(None, None, None, 19)


def test_a_task_lost_to_errors_leaves_no_mean_over_tasks() -> None:
    lost = table(*tries("a/one", 30, 30), episode("a/two", 0, "error"))
    assert success_rate(lost) is None


def test_a_mean_over_tasks_gives_each_the_same_say() -> None:
    uneven = table(*tries("a/one", 30, 30), *tries("a/two", 0, 5))
    assert success_rate(uneven) == 0.5
    assert estimate(success_rate, table(*tries("a/one", 7, 9)), rng()) == wilson(7, 9)


def test_repeats_of_a_situation_are_no_observations_of_their_own() -> None:
    repeated = [episode("a/one", seed, repeat < 3, repeat=repeat) for seed in range(5) for repeat in range(4)]
    found = estimate(success_rate, table(*repeated), rng())
    assert (found.value, found.n) == (0.75, 5)


def test_records_without_a_hash_are_not_taken_for_duplicates() -> None:
    found = estimate(success_rate, table(*tries("a/one", 4, 6, trajectory_hash=None)), rng())
    assert (found.value, found.n) == (4 / 6, 6)


def test_success_above_chance_is_zero_for_a_guess_and_one_for_the_perfect() -> None:
    half = table(*tries("a/one", 15, 20, chance=0.5), *tries("a/free", 3, 20, chance=1.0))
    assert chance_corrected_success(half) == pytest.approx(0.5), "a task without a choice has no say"
    assert numbers(estimate(chance_corrected_success, half, rng())) == pytest.approx(
        numbers(above_chance(wilson(15, 20), 0.5))
    )
    guessing = table(*tries("a/one", 5, 20, chance=0.25), *tries("a/two", 10, 20, chance=0.5))
    assert chance_corrected_success(guessing) == pytest.approx(0.0)
    both = estimate(chance_corrected_success, guessing, rng())
    assert both.low is not None and both.high is not None and both.low < 0 < both.high


def test_process_success_counts_stages() -> None:
    reached = [episode("a/one", seed, False, stages=4, stages_reached=seed) for seed in range(4)]
    assert process_success_rate(table(*reached)) == pytest.approx((0 + 1 + 2 + 3) / 16)


def test_control_normalised_success_divides_by_the_primitive() -> None:
    primitives = {"a/one": "primitive/pick", "a/two": "primitive/pick", "a/three": "primitive/press"}
    rows = [*tries("a/one", 5, 10), *tries("a/two", 10, 10), *tries("a/free", 1, 10), *tries("primitive/pick", 8, 10)]
    episodes = with_primitives(table(*rows), primitives)
    assert control_normalised_success(episodes) == pytest.approx((0.625 + 1.25) / 2), "not capped at one"
    never = with_primitives(table(*rows, *tries("a/three", 2, 10), *tries("primitive/press", 0, 10)), primitives)
    assert control_normalised_success(never) == pytest.approx((0.625 + 1.25) / 2), "no say without a working primitive"
    unknown = control_normalised_by_task(never).filter(pl.col("task") == "a/three")
    assert unknown["ratio"].to_list() == [None]
    assert control_normalised_success(with_primitives(table(*tries("a/one", 5, 10)), primitives)) is None


def test_a_stressed_task_is_normalised_by_the_stressed_primitive() -> None:
    rows = [
        *tries("a/one", 2, 10, perturbations=STRESSED), *tries("primitive/pick", 4, 10, perturbations=STRESSED),
        *tries("primitive/pick", 10, 10),
    ]  # fmt: skip
    episodes = with_primitives(table(*rows), {"a/one": "primitive/pick"})
    assert control_normalised_success(episodes) == pytest.approx(0.5)
    found = estimate(control_normalised_success, episodes, rng())
    assert numbers(found) == pytest.approx(numbers(ratio(wilson(2, 10), wilson(4, 10))))


def test_a_primitive_that_always_succeeded_is_not_taken_for_certain() -> None:
    rows = [*tries("a/one", 10, 10), *tries("a/two", 10, 10), *tries("primitive/pick", 10, 10)]
    shared = with_primitives(table(*rows), {"a/one": "primitive/pick", "a/two": "primitive/pick"})
    found, uncertain = estimate(control_normalised_success, shared, rng()), wilson(10, 10)
    assert found.high is not None and uncertain.low is not None and found.high > 0.99 / uncertain.low


def test_retention_is_the_ratio_of_test_to_train() -> None:
    train = table(*tries("a/one", 16, 20), *tries("a/two", 20, 20), *tries("a/untested", 0, 20))
    test = table(*tries("a/one", 8, 20), *tries("a/two", 10, 20))
    found = retention(test, train, rng())
    assert found.value == pytest.approx(0.45 / 0.9)
    assert found.low is not None and found.high is not None and 0.3 < found.low < 0.5 < found.high < 0.75
    assert retention(test, table(*tries("a/one", 0, 20)), rng()).value is None
    assert retention(table(), train, rng()).value is None


def test_a_ratio_to_what_may_be_zero_has_no_upper_bound() -> None:
    found = ratio(wilson(3, 10), Estimate(0.2, 0.0, 0.5, 10))
    assert found.value == pytest.approx(1.5) and found.low is not None and found.high is None


@pytest.mark.parametrize(("test", "train"), [(0.5, 0.9), (0.85, 0.9), (0.2, 0.4), (0.97, 0.97)])
def test_the_interval_of_a_ratio_covers(test: float, train: float) -> None:
    n = 25
    covered = 0.0
    for a in range(n + 1):
        for b in range(1, n + 1):
            found = ratio(wilson(a, n), wilson(b, n))
            assert found.low is not None
            if found.low <= test / train and (found.high is None or test / train <= found.high):
                covered += binom.pmf(a, n, test) * binom.pmf(b, n, train)
    assert covered > 0.95 - 0.015


def test_the_transfer_gap_of_one_task_is_newcombes_difference() -> None:
    single, joint = table(*tries("a/one", 9, 20)), table(*tries("a/one", 15, 20), *tries("a/two", 0, 20))
    assert numbers(transfer_gap(single, joint, rng())) == pytest.approx(numbers(newcombe(15, 20, 9, 20)))


def test_the_compositional_failure_share_of_three_numbers() -> None:
    assert compositional_failure_share(0.8, 0.5) == pytest.approx(0.6)
    assert compositional_failure_share(0.3, 0.5) == 0.0, "a composition that beats its atoms loses nothing"
    assert compositional_failure_share(1.0, 1.0) is None, "where nothing fails there is nothing to share"


def test_an_atoms_score_is_the_mean_over_its_tasks() -> None:
    tasks_of = {"pick": ["m1", "m2"], "colour": ["i1"]}
    assert atomic_score(["pick", "colour"], tasks_of, {"m1": 0.4, "m2": 0.8, "i1": 1.0}) == pytest.approx(0.8)
    assert atomic_score(["pick", "colour"], tasks_of, {"m1": 0.4, "i1": 1.0}) is None, "m2 was not run"


def test_the_compositional_failure_share_is_averaged_over_tasks() -> None:
    def points(task: str, reached: list[int]) -> list[dict[str, Any]]:
        return [episode(task, seed, n == 4, stages=4, stages_reached=n) for seed, n in enumerate(reached)]

    episodes = table(
        *points("m1", [4, 4, 2, 2]),  # 0.75
        *points("i1", [4, 4, 4, 2]),  # 0.875
        *points("x1", [2, 2, 2, 2]),  # 0.5, atoms 0.8125: share 0.625
        *points("x2", [4, 4, 4, 2]),  # 0.875, atoms 0.75: share 0
        *points("x3", [4, 4, 4, 4]),  # 1: no share
    )
    atoms_of = {"x1": ["pick", "colour"], "x2": ["pick"], "x3": ["colour"], "x4": ["pick"]}
    found = macro_compositional_failure_share(episodes, atoms_of, {"pick": ["m1"], "colour": ["i1"]})
    assert found == pytest.approx((0.625 + 0.0) / 2)
    assert macro_compositional_failure_share(table(), atoms_of, {"pick": ["m1"], "colour": ["i1"]}) is None


def test_shares_of_failures_add_up_and_the_unattributed_are_named() -> None:
    kinds = ["motor", "motor", "reference", None]
    failed = [episode("a/one", seed, False, failure_kind=kind) for seed, kind in enumerate(kinds)]
    found = failure_shares(table(*failed, episode("a/one", 9, True)))
    assert [(one.label, one.count, one.share.value) for one in found] == [
        ("motor", 2, 0.5), ("reference", 1, 0.25), ("unknown", 1, 0.25),
    ]  # fmt: skip
    assert failure_shares(table()) == []


def test_violations_are_a_share_of_all_episodes() -> None:
    broken = [*tries("a/one", 6, 6), episode("a/one", 7, "failure", failure_kind="constraint")]
    broken += [episode("a/one", 8, False, failure_kind="timeout")]
    assert constraint_violation_rate(table(*broken)) == pytest.approx(1 / 8)
    assert constraint_violation_rate(table(*broken, episode("a/one", 9, False))) is None, "it may be one of them"


def biased(rates: dict[str, dict[str, float]]) -> pl.DataFrame:
    return pl.DataFrame(
        [
            {"context": context, "colour": colour, "success": seed < 10 * rate}
            for context, by_colour in rates.items()
            for colour, rate in by_colour.items()
            for seed in range(10)
        ]
    )


def test_the_bias_coefficient_is_the_mean_over_contexts() -> None:
    rates = {"a": {"red": 1.0, "blue": 0.5}, "b": {"red": 0.6, "blue": 0.6}, "hopeless": {"red": 0.0, "blue": 0.0}}
    assert bias_coefficient(biased(rates), "colour") == pytest.approx((0.25 / 0.75 + 0) / 2, abs=1e-5)
    assert bias_spread(biased(rates), "colour") == pytest.approx(0.25 / 3)
    assert bias_coefficient(biased({"hopeless": rates["hopeless"]}), "colour") is None


def test_signed_bias_is_against_the_baseline() -> None:
    found = signed_bias(biased({"a": {"red": 0.8, "blue": 0.5}, "b": {"red": 0.6, "blue": 0.7}}), "colour", "red")
    assert found == {"blue": newcombe(14, 20, 12, 20)}


def test_the_interaction_effect_of_a_bias_that_comes_and_goes() -> None:
    near, far = biased({"a": {"red": 1.0, "blue": 0.5}}), biased({"a": {"red": 0.5, "blue": 0.5}})
    both = pl.concat([near.with_columns(pose=pl.lit("near")), far.with_columns(pose=pl.lit("far"))])
    # The bias coefficients are 1/3 and 0: their std over their mean is one.
    assert interaction_effect(both, "colour", "pose") == pytest.approx(1.0)
    assert interaction_effect(far.with_columns(pose=pl.lit("far")), "colour", "pose") is None


def test_a_bootstrap_of_any_function_agrees_with_that_of_means() -> None:
    values = rng().normal(5.0, 2.0, 40)
    episodes = table(*(episode(f"a/{i % 2}", i // 2, True, stability=value) for i, value in enumerate(values)))
    stability = METRICS["stability"]
    direct, general = (
        estimate(stability, episodes, rng()),
        bootstrap_seeds(stability.function, episodes, rng(), resamples=400),
    )
    assert numbers(general) == pytest.approx(numbers(direct), abs=0.15)
    assert general.value == pytest.approx(direct.value) and general.n == 40


def test_a_seed_that_is_drawn_twice_counts_as_two() -> None:
    episodes = table(*tries("a/one", 5, 10), *tries("a/two", 5, 10))

    def situations(episodes: pl.DataFrame) -> float | None:
        return float(episodes.select("task", "seed").n_unique())

    assert bootstrap_seeds(situations, episodes, rng(), resamples=20) == Estimate(20.0, None, None, 20)


def test_the_variants_of_a_seed_are_drawn_together() -> None:
    values = rng().normal(0.0, 1.0, 30)
    variants = [episode("a/one", seed, True, stability=value) for seed, value in enumerate(values)]
    variants += [{**variant, "perturbations": STRESSED, "stability": variant["stability"] + 1} for variant in variants]

    def cost(episodes: pl.DataFrame) -> float | None:
        is_clean = pl.col("perturbations").list.len() == 0
        clean, stressed = (episodes.filter(of)["stability"].to_numpy() for of in (is_clean, ~is_clean))
        return float(stressed.mean() - clean.mean())

    found = bootstrap_seeds(cost, table(*variants), rng(), resamples=50)
    assert found == Estimate(pytest.approx(1.0), None, None, 30), "no spread, whatever the seeds"  # type: ignore[arg-type]


def test_a_metric_is_one_function(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(base, "METRICS", Registry[base.Metric]("metric"))

    def longest(episodes: pl.DataFrame) -> float | None:
        """The longest episode."""
        return None if episodes.is_empty() else float(episodes["steps"].max())  # type: ignore[arg-type]

    made = metric(unit="count", better="lower")(longest)
    assert (made.name, made.summary, base.METRICS["longest"]) == ("longest", "The longest episode.", made)
    assert made(table(episode("a/one", 0, True, steps=7), episode("a/one", 1, "error", steps=9))) is None
    assert made(table(*(episode("a/one", seed, True, steps=seed) for seed in range(5)))) == 4.0
    with pytest.raises(ValueError, match='"longest" is registered already'):
        metric(unit="count", better="lower")(longest)
    longest.__doc__ = None
    with pytest.raises(ValueError, match="has no docstring"):
        metric(unit="count", better="lower")(longest)


def test_repeats_that_succeed_alike_count_as_often_as_those_that_fail_in_many_ways() -> None:
    """Three of four repeats of each situation succeed in the same way; the fourth fails in its own."""
    rows = [
        {"task": "a/b", "seed": seed, "repeat": repeat, "success": repeat < 3,
         "outcome": "success" if repeat < 3 else "failure",
         "trajectory_hash": f"{seed}" if repeat < 3 else f"{seed} {repeat}"}
        for seed in range(10)
        for repeat in range(4)
    ]  # fmt: skip
    found = estimate("success_rate", table(*rows), np.random.default_rng(0))
    assert found.value == 0.75 and found.n == 10
    once = table(*(row for row in rows if row["repeat"] == 0))
    assert estimate("success_rate", pl.concat([once] * 3), np.random.default_rng(0)).n == 10
