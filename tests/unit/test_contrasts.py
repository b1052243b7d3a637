"""Isolation contrasts and graded tests: what each added factor costs, and what a policy does level by level."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import polars as pl

from robodx.analysis.findings.diagnose import diagnose
from robodx.analysis.graded import levels
from robodx.analysis.isolation import Contrast, contrasts
from robodx.records.design import Planned, design_table, with_design
from robodx.records.episode import Episode
from robodx.records.schema import SCHEMA
from robodx.records.table import to_table
from robodx.records.trial import Trial
from robodx.suites.base import SuiteRequest, ask
from robodx.tasks.base import TASKS
from robodx.terminal.diagnosis import lines as diagnosis_lines
from robodx.terminal.isolation import lines
from robodx.terminal.stress import graded_lines

NOTHING_DONE = pl.DataFrame(schema=SCHEMA)
SEEDS = 8


def episode(trial: Trial, success: bool) -> Episode:
    task = TASKS[trial.task]
    return Episode(
        trial.id, trial.pair_id, trial.suite, trial.task, trial.task_version, task.family, task.tier, task.tags,
        trial.robot, trial.policy, trial.seed, trial.repeat, trial.perturbations, trial.clock, 1, 0.0,
        outcome="success" if success else "failure", success=success, trajectory_hash=trial.id, stability=0.9,
        calls_per_s=10.0, actions_per_s=80.0, inference_ms_p95=33.0,
    )  # fmt: skip


def played(planned: list[Planned], solves: Callable[[Trial], bool]) -> pl.DataFrame:
    trials = {one.trial.id: one.trial for one in planned}.values()
    return with_design(to_table([episode(trial, solves(trial)) for trial in trials]), design_table(planned))


def isolated(solves: Callable[[Trial], bool], *within: str) -> dict[tuple[str, str | None], Contrast]:
    planned = ask("isolation", NOTHING_DONE, SuiteRequest("somebody", SEEDS, within=within))
    return {(one.factor, one.task): one for one in contrasts(played(list(planned), solves), {})}


def test_a_factor_that_breaks_a_policy_is_told_from_those_that_do_not() -> None:
    found = isolated(lambda trial: not trial.task.endswith("with_language"))
    assert {factor for factor, _ in found} == {"control", "language", "spatial", "dynamic", "novel"}
    broken, kept = found["language", None], found["control", None]
    assert (broken.plain.value, broken.entangled.value, broken.difference.value) == (1.0, 0.0, -1.0)
    assert broken.plain.n == 3 * SEEDS and broken.is_testable
    assert broken.p is not None and broken.p_holm is not None and 5 * broken.p >= broken.p_holm > broken.p
    assert kept.difference.value == 0.0 and kept.p_holm == 1.0
    assert kept.difference.low is not None and kept.difference.low < 0
    shown = list(lines(list(found.values())))
    (row,) = (line for line in shown if line.startswith("language"))
    assert "100% [86, 100]  0% [0, 14]" in row and "−100 [" in row and "< 0.001" in row
    of_task = found["language", "perception/touch_sphere"]
    assert (of_task.plain.n, of_task.difference.value, of_task.p_holm) == (SEEDS, -1.0, None)


def test_the_findings_of_a_run_do_not_deny_the_pairs_that_its_summary_tells_of() -> None:
    planned = list(ask("isolation", NOTHING_DONE, SuiteRequest("somebody", SEEDS, within=("language",))))
    episodes = played(planned, lambda trial: not trial.task.endswith("with_language"))
    (told,) = diagnose(episodes, {})
    assert told.findings and not told.decided and contrasts(episodes, {})[0].difference.value == -1.0
    assert told.no_cause_says == (
        "No cause can be shown: this run has pairs of the suite isolation, but none in which one factor was changed "
        "beside a placebo. robodx diagnose runs such pairs."
    )
    assert told.no_cause_says in " ".join(" ".join(diagnosis_lines(told)).split())


def test_pairs_are_of_the_same_seed_and_a_plain_task_that_fails_has_nothing_to_lose() -> None:
    # Each variant fails in other situations: three of eight are lost and three are won.
    found = isolated(lambda trial: (trial.seed < 4) == ("_with_" not in trial.task), "control", "touch_sphere")
    both = found["control", None]
    assert (both.plain.value, both.entangled.value, both.difference.value) == (0.5, 0.5, 0.0)
    assert both.difference.low is not None and both.difference.low < -0.4
    failed = isolated(lambda trial: "_with_" in trial.task, "control")
    assert not failed["control", None].is_testable and failed["control", None].difference.value == 1.0


def test_errors_are_no_outcome_of_a_contrast() -> None:
    planned = list(ask("isolation", NOTHING_DONE, SuiteRequest("somebody", SEEDS, within=("control",))))
    table = played(planned, lambda trial: True)
    is_lost = pl.col("task").str.ends_with("_with_control") & (pl.col("seed") < 4)
    lost = table.with_columns(outcome=pl.when(is_lost).then(pl.lit("error")).otherwise("outcome"))
    found = contrasts(lost, {})[0]
    assert found.errors == 12 and found.difference.value is None and found.p is None


def test_graded_tests_are_told_level_by_level_and_by_clock() -> None:
    asked = SuiteRequest("somebody", 3)
    selectors = ("stability", "adaptability", "inference_frequency")
    first = [one for name in selectors for one in ask("stress", NOTHING_DONE, replace(asked, within=(name,)))]
    done = played(first, lambda trial: True)
    planned = [one for name in selectors for one in ask("stress", done, replace(asked, within=(name,)))]
    found = levels(played(planned, lambda trial: trial.clock == "lockstep"), {})
    assert [(one.test, one.level) for one in found if one.test != "inference_frequency"] == [
        (test, level) for test in ("adaptability", "stability") for level in ("v1", "v2", "v3")
    ]
    hurried = [(one.level, one.clock, one.success.value) for one in found if one.test == "inference_frequency"]
    assert hurried == [
        (level, *of) for level in ("v1", "v2", "v3") for of in (("lockstep", 1.0), ("realtime:0.04", 0.0))
    ]
    shown = list(graded_lines(found))
    assert max(map(len, shown)) <= 120 and len(shown) == 2 + len(found) + 4
    first_level = found[0]
    assert (first_level.stability.value, first_level.calls_per_s.value, first_level.actions_per_s.value) == (
        0.9,
        10,
        80,
    )
