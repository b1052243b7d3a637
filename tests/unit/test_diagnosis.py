"""The suite that finds candidates and then confirms them, and the validation that holds it to what was planted."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import polars as pl
import pytest
from typer.testing import CliRunner

from robodx.analysis.findings.diagnose import diagnose
from robodx.analysis.findings.validation import NOTHING, Group, Verdict
from robodx.cli.commands import app
from robodx.errors import UserError
from robodx.faults.base import FAULTS
from robodx.records import versions as records
from robodx.records.design import trials_of
from robodx.records.schema import SCHEMA
from robodx.records.trial import Trial
from robodx.running import validation
from robodx.running.request import Request
from robodx.running.rounds import plan_round
from robodx.running.validation import MOST_EPISODES, Case, design, validate
from robodx.situations import requirements
from robodx.suites.base import SuiteRequest, ask
from robodx.suites.diagnosis import CONFIRMATION, MOST_FRESH, PER_CANDIDATE
from robodx.tasks.base import TASKS
from robodx.terminal.validation import as_dict, is_reached, lines, matrix_rows

EMPTY = pl.DataFrame(schema=SCHEMA)
Fails = Callable[[tuple[str, ...]], bool]


@cache
def needs(task: str, seed: int) -> tuple[str, ...]:
    situation = TASKS[task].situation(seed)
    return requirements.requirements(
        [situation.instruction.meaning], situation.scene, situation.events, TASKS[task].varies
    )


def played(trials: list[Trial], fails: Fails) -> pl.DataFrame:
    """The episodes of these trials, as if a policy had failed there."""
    rows = []
    for trial in trials:
        paths = needs(trial.task, trial.seed)
        lost = fails(paths)
        row = {
            "trial_id": trial.id, "pair_id": trial.pair_id, "suite": trial.suite, "task": trial.task,
            "task_version": 1, "family": TASKS[trial.task].family, "tier": TASKS[trial.task].tier, "robot": "panda",
            "policy": trial.policy, "seed": trial.seed, "repeat": trial.repeat, "perturbations": [],
            "clock": trial.clock, "outcome": "failure" if lost else "success", "success": not lost,
            "failure_kind": "constraint" if lost else None,
            "failure_type": "incorrect action sequence" if lost else None,
            "quality_flags": [], "requirements": list(paths), "mistaken": [], "instructions": [], "attempt": 1,
            "tags": [], "stage_steps": [], "steps": 1, "events": [],
            "trajectory_hash": trial.id, "inference_ms_p95": 1.0,
        }  # fmt: skip
        rows.append({name: row.get(name) for name in SCHEMA})
    return pl.DataFrame(rows, schema=SCHEMA)


def diagnosis(done: pl.DataFrame, request: SuiteRequest) -> list[Trial]:
    return trials_of(ask("diagnosis", done, request))


def in_rounds(request: SuiteRequest, fails: Fails) -> list[pl.DataFrame]:
    """The episodes of each round, until the suite asks for nothing more."""
    rounds: list[pl.DataFrame] = []
    while True:
        done = pl.concat([EMPTY, *rounds])
        known = set(done["trial_id"])
        missing = [trial for trial in diagnosis(done, request) if trial.id not in known]
        if not missing:
            return rounds
        rounds.append(played(missing, fails))


def deaf(paths: tuple[str, ...]) -> bool:
    return "language/negation" in paths


def test_whoever_fails_at_nothing_is_not_asked_again() -> None:
    (screening,) = in_rounds(SuiteRequest("a", 2, within=("language",)), lambda paths: False)
    assert set(screening["suite"]) == {"diagnosis"}


def test_what_looked_weak_is_confirmed_on_seeds_that_were_not_screened() -> None:
    request = SuiteRequest("a", 3, within=("language",), first_seed=40)
    screening, confirming = in_rounds(request, deaf)
    assert set(screening["seed"]) == {40, 41, 42}
    assert set(confirming["suite"]) == {CONFIRMATION} and confirming["seed"].min() == 43
    inside = confirming.filter(pl.col("requirements").list.contains("language/negation"))
    assert len(inside) >= PER_CANDIDATE and len(inside) < len(confirming)
    (found,) = diagnose(pl.concat([screening, confirming]), {})
    assert [(one.name, one.certainty) for one in found.findings] == [("language sub-skill: negation", "confirmed")]


def test_a_round_that_was_cut_off_goes_on_as_it_would_have() -> None:
    request = SuiteRequest("a", 3, within=("language",))
    screening, confirming = in_rounds(request, deaf)
    halfway = pl.concat([screening, confirming.head(7)])
    asked = {trial.id for trial in diagnosis(halfway, request)}
    assert asked == set(screening["trial_id"]) | set(confirming["trial_id"])


def test_in_real_time_it_is_tried_once_it_is_known_how_long_the_policy_thinks() -> None:
    waiting, realtime = in_rounds(SuiteRequest("a", 1, within=("pursuit",)), lambda paths: False)
    assert set(waiting["clock"]) == {"lockstep"} and set(realtime["clock"]) == {"realtime:0.01"}
    assert set(realtime["pair_id"]) == set(waiting["pair_id"])


def test_tasks_that_say_nothing_of_a_policy_do_not_keep_it_from_being_confirmed() -> None:
    request = SuiteRequest("a", 2, within=())
    is_mute = {task.id for task in TASKS.entries() if "instruction" in task.varies}

    def applicable(done: pl.DataFrame) -> list[Trial]:
        return [trial for trial in diagnosis(done, request) if trial.task not in is_mute]

    done = EMPTY
    while missing := [trial for trial in applicable(done) if trial.id not in set(done["trial_id"])]:
        done = pl.concat([done, played(missing, lambda paths: "motor/insert into" in paths)])
    assert CONFIRMATION in set(done["suite"])


def test_a_diagnosis_has_no_repeats() -> None:
    with pytest.raises(UserError, match=r"a diagnosis has no --repeats, .* give more --seeds"):
        diagnosis(EMPTY, SuiteRequest("a", 1, repeats=2))


def test_no_diagnosis_can_take_more_episodes_than_a_validation_allows() -> None:
    first = plan_round(Request(("diagnosis",), "a", validation.SCREENING_SEEDS), EMPTY)
    # In real time too where real time matters, which of the fresh ones is so in at most a candidate's.
    assert len(first) + 9 + MOST_FRESH + 2 * PER_CANDIDATE <= MOST_EPISODES


def test_the_design_has_every_fault_on_disjoint_seeds_and_pairs_of_different_findings() -> None:
    cases = design()
    for entry in FAULTS.entries():
        alone = {case.seed_set for case in cases if case.group == "one fault" and case.planted == entry.name}
        assert len(alone) == (5 if entry.expected else 0)
    assert len([case for case in cases if case.group == "no fault"]) == 60
    assert len({case.seed_set for case in cases if case.group == "no fault"}) == 60
    for case in cases:
        assert len(case.expected) == {"no fault": 0, "two faults": 2}.get(case.group, 1)
        assert len(set(case.expected)) == len(case.expected)
    assert {case.planted.split("+")[0] for case in design(sets=1, healthy=0, only=["slow"])} == {"slow"}


def test_a_validation_of_nothing_is_refused() -> None:
    with pytest.raises(
        UserError, match='the fault "healthy" should cause no finding; faults that should are: colour_blind, '
    ):
        design(only=["slow", "healthy"])
    with pytest.raises(UserError, match="nothing to validate"):
        design(sets=0, weak_sets=0, healthy=0, pairs=0)
    assert not is_reached([])


def test_a_validation_keeps_its_episodes_and_judges_them_again(tmp_path: Path) -> None:
    request = SuiteRequest("fault:ignores_negation", 3, within=("language",))
    pl.concat(in_rounds(request, deaf)).write_parquet(tmp_path / "ignores_negation.1.parquet")
    pl.concat(in_rounds(request, deaf)).write_parquet(tmp_path / "healthy.1.parquet")
    cases = [Case("one fault", "ignores_negation", 1), Case("no fault", "healthy", 1)]
    verdicts = list(validate(cases, tmp_path))
    assert [verdict.is_right for verdict in verdicts] == [True, False]
    assert not is_reached(verdicts) and is_reached(verdicts[:1])
    text = "\n".join(lines(verdicts))
    assert "language sub-skill: negation" in text and "wrong" in text and "NO" in text
    assert as_dict(verdicts)["scores"]["no fault"]["value"] == 0.0
    (tmp_path / "healthy.1.parquet").write_bytes(b"")
    with pytest.raises(UserError, match=r"healthy\.1\.parquet is damaged.*The same command then runs it again"):
        list(validate(cases, tmp_path))


def test_false_alarms_and_half_right_pairs_are_counted_as_wrong() -> None:
    def verdict(group: Group, planted: str, *found: str, is_right: bool) -> Verdict:
        return Verdict(group, planted, (), found, is_right, 300)

    verdicts = [verdict("no fault", "healthy", is_right=True), verdict("no fault", "healthy", "slow", is_right=False)]
    verdicts += [
        verdict("two faults", "a+b", "a", "b", is_right=True),
        verdict("two faults", "a+b", "a", is_right=False),
    ]
    rows = [list(row.values()) for group in ("no fault", "two faults") for row in matrix_rows(verdicts, group)]
    assert rows == [
        ["healthy", NOTHING, 1, 1, ""], ["healthy", "slow", 1, 0, "wrong"], ["a+b", "a", 2, 1, "wrong"],
    ]  # fmt: skip
    assert "correct" in "\n".join(lines(verdicts))


def test_what_another_source_did_is_not_judged_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def judged(cases: list[Case], out: Path, **_: object) -> Iterator[Verdict]:
        asked.append(out)
        yield from (Verdict(case.group, case.planted, (), (), True, 300) for case in cases)

    monkeypatch.setattr(validation, "design", lambda **_: [Case("no fault", "healthy", 1)])
    monkeypatch.setattr(validation, "validate", judged)
    for source in ("old", "new"):
        monkeypatch.setattr(records, "versions", lambda gl_renderer, source=source: {"source": source})
        assert CliRunner().invoke(app, ["validate"]).exit_code == 0
    assert CliRunner().invoke(app, ["validate", "--out", str(tmp_path)]).exit_code == 0
    assert asked == [Path("runs/validation/old"), Path("runs/validation/new"), tmp_path]


def test_a_case_is_run_through_the_diagnosis(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(validation, "SUITE", "diagnosis/primitive")
    monkeypatch.setattr(validation, "SCREENING_SEEDS", 1)
    case = Case("no fault", "healthy", 3)
    validation._run(case, tmp_path)
    table = pl.read_parquet(tmp_path / "healthy.3.parquet")
    assert table["success"].all() and set(table["seed"]) == {3000}
    assert [verdict.is_right for verdict in validate([case], tmp_path)] == [True]
