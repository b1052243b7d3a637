"""The suite stress: which variants it asks for and when, and what its table says of made-up and of real runs."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
import pytest

from robodx.analysis.stress import StressTable, stress_table
from robodx.perturbations.base import PERTURBATIONS
from robodx.records.design import trials_of
from robodx.records.episode import Episode
from robodx.records.schema import SCHEMA
from robodx.records.table import to_table
from robodx.records.trial import Trial
from robodx.records.values import Applied
from robodx.registry import UnknownName
from robodx.suites.base import SUITES, SuiteRequest, ask
from robodx.suites.stress import CARRIERS, STABILITY, carriers
from robodx.tasks.base import TASKS
from robodx.terminal.stress import lines

NOTHING_DONE = pl.DataFrame(schema=SCHEMA)
SEEDS = 20


def request(*within: str, seeds: int = 3, repeats: int = 1) -> SuiteRequest:
    return SuiteRequest("somebody", seeds, within=within, repeats=repeats)


def stress(done: pl.DataFrame, asked: SuiteRequest) -> list[Trial]:
    return trials_of(ask("stress", done, asked))


def episode(trial: Trial, success: bool) -> Episode:
    """What is enough of an episode for these tables; each moved in its own way."""
    return Episode(
        trial.id, trial.pair_id, trial.suite, trial.task, trial.task_version, TASKS[trial.task].family, None, (),
        trial.robot,
        trial.policy, trial.seed, trial.repeat, trial.perturbations, trial.clock, 1, 0.0,
        outcome="success" if success else "timeout", success=success, trajectory_hash=trial.id, queries=10,
        perturbed_queries=5, steps=10, perturbed_steps=0, inference_ms_p95=33.0,
    )  # fmt: skip


def about() -> dict[str, Any]:
    cards = {
        entry.name: {"kind": entry.kind, "levels": dict(entry.levels), "is_ordered": entry.is_ordered}
        for entry in PERTURBATIONS.entries()
    }
    return {"request": {"perturbations": []}, "perturbations": cards}


def test_the_first_round_is_clean_and_once_more_clean() -> None:
    trials = list(stress(NOTHING_DONE, request("noise")))
    assert {(trial.task, trial.repeat, trial.perturbations) for trial in trials} == {
        (task, repeat, ()) for task in CARRIERS for repeat in (0, 1)
    }
    again = stress(NOTHING_DONE, request("noise", repeats=2))
    assert {trial.repeat for trial in again} == {0, 1, 5, 6}, "five for each: the variants of a situation"


def test_the_second_round_stresses_what_was_solved_without() -> None:
    clean = list(stress(NOTHING_DONE, request("noise")))
    done = to_table([episode(trial, trial.task != CARRIERS[0]) for trial in clean])
    further = [trial for trial in stress(done, request("noise")) if trial not in clean]
    assert {trial.task for trial in further} == set(CARRIERS[1:])
    levels = set(PERTURBATIONS["noise"].levels.values())
    assert {trial.perturbations for trial in further} == {(("noise", level),) for level in levels}
    # Each variant with randomness of its own: shared with the clean one, the repeated one alone would vary.
    assert {(trial.repeat, trial.perturbations[0][1]) for trial in further} == {(2, 10.0), (3, 25.0), (4, 75.0)}
    assert {trial.pair_id for trial in further} <= {trial.pair_id for trial in clean}


def test_a_selector_narrows_by_kind_stressor_and_level() -> None:
    def stressed(*within: str) -> set[Applied]:
        done = to_table([episode(trial, True) for trial in stress(NOTHING_DONE, request(*within, seeds=1))])
        return {applied for trial in stress(done, request(*within, seeds=1)) for applied in trial.perturbations}

    assert stressed("noise", "v2") == {("noise", 25.0)}
    entries = [entry for entry in PERTURBATIONS.entries() if entry.is_stressor]
    assert {name for name, _ in stressed("sensor")} == {entry.name for entry in entries if entry.kind == "sensor"}
    assert len(stressed()) == 3 * len(entries)
    for wrong in (("nois",), ("noise", "v4"), ("noise", "v1", "v2")):
        with pytest.raises(UnknownName):
            stress(NOTHING_DONE, request(*wrong))


def test_every_tabled_stressor_is_there_with_its_levels() -> None:
    tabled = {
        "noise": (10, 25, 75), "colour_shift": (30, 60, 120), "resolution": (2, 4, 8), "frame_drop": (0.1, 0.2, 0.3),
        "light_flicker": (20, 50, 80), "rolling_shutter": (0.1, 0.2, 0.5), "actuator_latency": (0.25, 0.75, 1.25),
        "packet_loss": (0.1, 0.2, 0.3),
    }  # fmt: skip
    assert {name: tuple(PERTURBATIONS[name].levels.values()) for name in tabled} == tabled
    assert "dynamic/place_rolling_sphere" in carriers("actuator_latency")


def test_pursuit_runs_first_with_a_world_that_waits_then_with_the_latency_it_showed() -> None:
    waiting = list(stress(NOTHING_DONE, request("inference_frequency")))
    assert {trial.clock for trial in waiting} == {"lockstep"} and len({trial.task for trial in waiting}) == 3
    done = to_table([episode(trial, True) for trial in waiting])
    further = [trial for trial in stress(done, request("inference_frequency")) if trial not in waiting]
    # 33 ms, rounded up.
    assert {trial.clock for trial in further} == {"realtime:0.04"}
    slow = done.with_columns(inference_ms_p95=pl.lit(60_000.0))
    assert "realtime:10.00" in {trial.clock for trial in stress(slow, request("inference_frequency"))}
    given = replace(request("inference_frequency"), clock="realtime:0.2")
    assert {trial.clock for trial in stress(NOTHING_DONE, given)} == {"lockstep", "realtime:0.2"}


def test_stability_and_adaptability_are_asked_for_level_by_level() -> None:
    assert {trial.task for trial in stress(NOTHING_DONE, request("stability"))} == set(STABILITY)
    assert {trial.task for trial in stress(NOTHING_DONE, request("stability", "v3"))} == {STABILITY[2]}
    tiers = [t.task for t in stress(NOTHING_DONE, request("adaptability", seeds=1))]
    assert len(tiers) == 3 and all(task.startswith("adaptability/") for task in tiers)
    assert "stress" in SUITES


def table_of(
    solves: Callable[[Trial], float], *, stressor: str = "noise", seed: int = 0, seeds: int = SEEDS
) -> StressTable:
    """Of a policy that solves each situation with a chance of its own, times what is left of it in a trial.

    Its luck comes from its own seed, as a seeded policy's does: what stress does not touch goes as it did without.
    """
    rng = np.random.default_rng(seed)
    asked = request(stressor, seeds=seeds)
    talent = {(task, s): rng.beta(8, 2) for task in carriers(stressor) for s in range(seeds)}
    done = to_table([episode(trial, True) for trial in stress(NOTHING_DONE, asked)])
    episodes = [
        episode(trial, _luck(trial, seed) < talent[trial.task, trial.seed] * solves(trial))
        for trial in stress(done, asked)
    ]
    return stress_table(to_table(episodes), about(), np.random.default_rng(1))


def _luck(trial: Trial, seed: int) -> float:
    return float(np.random.default_rng([seed, trial.policy_seed]).random())


def severity(trial: Trial) -> float:
    value = trial.perturbations[0][1] if trial.perturbations else 0.0
    assert isinstance(value, float)
    return value


def test_what_breaks_a_policy_is_seen_level_by_level() -> None:
    left = {0.0: 1.0, 10.0: 1.0, 25.0: 0.5, 75.0: 0.0}
    table = table_of(lambda trial: left[severity(trial)])
    rows = [row for row in table.rows if row.task is None]
    assert [row.level for row in rows] == ["v1", "v2", "v3"]
    assert [row.clean.n for row in rows] == [SEEDS * len(CARRIERS)] * 3
    last = rows[-1]
    assert last.stressed.value == 0.0 and last.retained.value == 0.0
    assert last.difference.high is not None and last.difference.high < 0 and last.p is not None and last.p < 1e-6
    # Of what it solved once it does not solve all again: that much is no harm of the stressor.
    assert last.repeated.value is not None and last.repeated.value < 1
    assert last.excess_loss.value == pytest.approx(last.repeated.value)
    # And what a policy varies by itself hides some of what stress does.
    steady = table_of(lambda trial: 9.0 * (severity(trial) < 50)).rows[0]
    assert steady.visible_drop is not None and last.visible_drop is not None
    assert steady.visible_drop < last.visible_drop
    (trend,) = table.trends
    assert trend.slope is not None and trend.slope < 0 and trend.p_holm is not None and trend.p_holm < 0.001
    assert last.exposure == 0.5
    assert {row.task for row in table.rows} == {None, *CARRIERS}


@pytest.mark.thorough
def test_a_stochastic_policy_that_is_not_affected_shows_no_effect() -> None:
    """Of many such runs, about one in twenty claims one at the level of one in twenty."""
    found = [table_of(lambda trial: 1.0, seed=seed, seeds=8) for seed in range(24)]
    of_trend = sum((table.trends[0].p or 1.0) < 0.05 for table in found)
    rows = [row for table in found for row in table.rows if row.task is None and row.level == "v3"]
    of_pairs = sum((row.p or 1.0) < 0.05 for row in rows)
    excesses = [row.excess_loss.value for row in rows]
    # 24 draws at 5%: more than 5 would be a chance of one in a thousand.
    assert of_trend <= 5 and of_pairs <= 5
    assert abs(float(np.mean([value for value in excesses if value is not None]))) < 0.04


def test_trends_are_adjusted_over_the_stressors_and_only_of_ordered_ones() -> None:
    episodes: list[Episode] = []
    for name in ("noise", "light_flicker", "frame_drop"):
        asked = request(name, seeds=10)
        done = to_table([episode(trial, True) for trial in stress(NOTHING_DONE, asked)])
        episodes += [episode(trial, not trial.perturbations) for trial in stress(done, asked)]
    table = stress_table(to_table(episodes).unique("trial_id"), about(), np.random.default_rng(0))
    assert {trend.stressor for trend in table.trends} == {"noise", "frame_drop"}
    assert {row.stressor for row in table.rows} == {"noise", "light_flicker", "frame_drop"}
    for trend in table.trends:
        assert trend.p is not None and trend.p_holm == pytest.approx(2 * trend.p)


def test_a_stressor_of_pictures_does_not_apply_to_a_policy_that_reads_none() -> None:
    asked = (request("resolution"), request("payload"))
    clean = [trial for one in asked for trial in stress(NOTHING_DONE, one)]
    done = to_table([episode(trial, True) for trial in {trial.id: trial for trial in clean}.values()])
    trials = {trial.id: trial for one in asked for trial in stress(done, one)}
    blind = to_table([replace(episode(trial, True), perturbed_queries=0) for trial in trials.values()])

    def table(episodes: pl.DataFrame, cameras: list[dict[str, Any]] | None) -> StressTable:
        spec = {} if cameras is None else {"policy_spec": {"cameras": cameras}}
        return stress_table(episodes, {**about(), **spec}, np.random.default_rng(0))

    found = table(blind, [])
    (trend,) = found.trends
    assert trend.stressor == "payload" and trend.p_holm == trend.p, "it is corrected for those that apply"
    assert set(found.levels("somebody")) == {"payload"} and {row.stressor for row in found.rows} > {"payload"}
    text = "\n".join(lines(found))
    assert "somebody reads no pictures, so resolution does not apply to it." in text
    assert not re.search("^resolution", text, re.MULTILINE) and "judge payload:" in text
    only = table(
        blind.filter(pl.col("perturbations").list.eval(pl.element().struct.field("name")).list.join("") != "payload"),
        [],
    )
    assert list(lines(only)) == ["somebody reads no pictures, so resolution does not apply to it."]
    # One that is shown pictures, one of whom nothing is known, and one for whom something was changed all the same.
    changed = to_table([episode(trial, True) for trial in trials.values()])
    for other in (table(blind, [{"name": "front"}]), table(blind, None), table(changed, [])):
        assert set(other.levels("somebody")) == {"payload", "resolution"} and not other.not_applicable


def test_a_drop_at_one_level_that_the_trend_does_not_confirm_is_not_decided_and_says_why() -> None:
    left = {0.0: 1.0, 10.0: 0.03, 25.0: 1.0, 75.0: 1.0}
    table = table_of(lambda trial: 9.0 * left[severity(trial)])
    (trend,) = table.trends
    rows = table.levels("somebody")["noise"]
    assert rows[0].difference.high is not None and rows[0].difference.high < 0
    assert trend.p_holm is not None and not (trend.p_holm < 0.05 and (trend.slope or 0.0) < 0)
    others = (*table.trends, *(replace(trend, stressor=name, p_holm=0.3) for name in ("blur", "payload")))
    text = " ".join(" ".join(lines(replace(table, trends=others))).split())
    told = f"goes up (p = {trend.p_holm:.2g}, corrected for 3 stressors)."
    assert f"Not decided for noise: the interval at v1 lies below 0, but the trend over its levels {told}" in text
    open_yet = [replace(one, p_holm=0.2) for one in others]
    text = " ".join(" ".join(lines(replace(table, trends=tuple(open_yet)))).split())
    assert "the trend over its levels does not confirm it (p = 0.2, corrected for 3 stressors)." in text
    assert "shows no drop" not in text and "too few episodes" not in text


def test_late_commands_are_told_apart_where_things_wait_and_where_they_move() -> None:
    table = table_of(
        lambda trial: 9.0 * (not trial.perturbations or trial.task in CARRIERS), stressor="actuator_latency", seeds=10
    )
    static, moving = "actuator_latency (static)", "actuator_latency (moving)"
    found = {(row.stressor, row.level): row for row in table.rows if row.task is None}
    assert set(found) == {(name, level) for name in (static, moving) for level in ("v1", "v2", "v3")}
    assert {row.perturbation for row in table.rows} == {"actuator_latency"}
    assert set(found[static, "v3"].tasks) == set(CARRIERS) and found[static, "v3"].difference.value == 0.0
    late = found[moving, "v3"]
    assert (late.tasks, late.difference.value) == (("dynamic/place_rolling_sphere",), -1.0)
    assert (late.clean.n, found[static, "v3"].clean.n) == (10, 30)
    # Two questions, each with its own trend, adjusted for both.
    trends = {trend.stressor: trend for trend in table.trends}
    assert set(trends) == {static, moving} and (trends[moving].p_holm or 1.0) == 2 * (trends[moving].p or 1.0)
    text = list(lines(table))
    assert any(line.startswith(f"somebody breaks under {moving}") for line in text) and max(map(len, text)) <= 120


def test_situations_that_went_alike_in_every_variant_are_one() -> None:
    asked = request("noise", seeds=25)
    done = to_table([episode(trial, True) for trial in stress(NOTHING_DONE, asked)])
    alike = [
        replace(episode(trial, not trial.perturbations), trajectory_hash=f"{trial.task} {trial.perturbations}")
        for trial in stress(done, asked)
    ]
    table = stress_table(to_table(alike), about(), np.random.default_rng(0))
    assert {row.clean.n for row in table.rows if row.task} == {1}
    assert [trend.situations for trend in table.trends] == [len(CARRIERS)]


def test_a_carrier_that_is_not_solved_without_stress_is_not_testable() -> None:
    table = table_of(lambda trial: 9.0 * (trial.task != CARRIERS[0] and not trial.perturbations), seeds=10)
    (weak,) = table.not_testable
    assert (weak.policy, weak.task, weak.clean.value, weak.clean.n) == ("somebody", CARRIERS[0], 0.0, 10)
    assert {row.task for row in table.rows} == {None, *CARRIERS[1:]}
    assert {row.clean.n for row in table.rows if row.task is None} == {20}
    text = "\n".join(lines(table))
    assert f"{CARRIERS[0]} is not testable here" in text and "noise" in text and "−100" in text


def test_what_was_stressed_before_its_carrier_was_known_to_be_weak_does_not_count() -> None:
    """As in a run that was begun with fewer seeds."""
    asked = request("noise", seeds=10)
    done = to_table([episode(trial, True) for trial in stress(NOTHING_DONE, asked)])
    episodes = [episode(trial, trial.task != CARRIERS[0]) for trial in stress(done, asked)]
    table = stress_table(to_table(episodes), about(), np.random.default_rng(0))
    assert CARRIERS[0] not in {row.task for row in table.rows}
    assert [trend.situations for trend in table.trends] == [20]


def test_errors_are_no_outcome_and_many_of_them_leave_no_rate() -> None:
    asked = request("noise", seeds=30)
    done = to_table([episode(trial, True) for trial in stress(NOTHING_DONE, asked)])
    episodes = [episode(trial, True) for trial in stress(done, asked)]

    def with_lost(first: int, *repeats: int) -> StressTable:
        lost = [
            replace(one, outcome="error", success=False, trajectory_hash=None)
            if one.seed < first and one.repeat in repeats
            else one
            for one in episodes
        ]
        return stress_table(to_table(lost), about(), np.random.default_rng(0))

    few = [row for row in with_lost(1, 2, 3, 4).rows if row.task is None]
    assert {(row.clean.n, row.errors, row.difference.value) for row in few} == {(29 * len(CARRIERS), 3, 0.0)}
    many = [row for row in with_lost(10, 2).rows if row.task is None]
    assert [row.stressed.value for row in many] == [None, 1.0, 1.0] and many[0].errors == 30 and many[0].p is None
    # What was lost of the repeated variant says nothing of the pairs of the others.
    again = [row for row in with_lost(10, 1).rows if row.task is None]
    assert {(row.clean.n, row.repeated.n) for row in again} == {(30 * len(CARRIERS), 20 * len(CARRIERS))}
