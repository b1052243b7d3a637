"""The validation that holds the diagnosis to what was planted: which runs it is made of, and how it judges them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from typer.testing import CliRunner
from validation_table import latest

from robodx.analysis.findings.base import Diagnosis, Symptom
from robodx.analysis.findings.conditions import Condition
from robodx.analysis.findings.decisions import PairSeen, Tally
from robodx.analysis.findings.validation import (
    NOTHING,
    WITHOUT_CAUSE,
    Answer,
    Expected,
    Group,
    Temptation,
    Verdict,
    confusion,
    judge,
    retest,
    scores,
    temptation,
)
from robodx.cli.commands import app
from robodx.errors import UserError
from robodx.faults.base import FAULTS
from robodx.records import versions as records
from robodx.records.design import COLUMN
from robodx.records.schema import SCHEMA
from robodx.running import validation
from robodx.running.validation import SET, Case, design, read_held_out, validate
from robodx.suites.base import SuiteRequest
from robodx.terminal.validation import as_dict, is_reached, lines, matrix_rows
from tests.simulated_policies import Run, fails_when, run

HELD_OUT = Path(__file__).parents[2] / "scripts" / "held_out" / "first.csv"


@pytest.fixture(scope="module")
def deaf() -> Run:
    """A policy that fails at whatever is said with a negation."""
    return run(fails_when("requires language/negation"), SuiteRequest("a", 1, within=("generated",)))


@pytest.fixture(scope="module")
def diagnosis(deaf: Run) -> Diagnosis:
    return deaf.diagnosis


def test_the_design_has_every_fault_on_disjoint_seeds_and_pairs_of_different_findings() -> None:
    cases = design(held_out={"a": ("target_side", "left")}, held_out_sets=2)
    for entry in FAULTS.entries():
        alone = {case.seed_set for case in cases if case.group == "one fault" and case.planted == entry.name}
        assert len(alone) == (5 if entry.expected else 0)
    for group in WITHOUT_CAUSE:
        # The same policy on other seeds, or another policy.
        different = {(case.planted, case.seed_set) for case in cases if case.group == group}
        assert len(different) == len([case for case in cases if case.group == group])
        assert len(different) == (60 if group == "no fault" else 20)
    for case in cases:
        assert len(case.expected) == (0 if case.group in WITHOUT_CAUSE else 2 if case.group == "two faults" else 1)
        assert len(set(case.expected)) == len(case.expected)
    assert [str(case.expected[0]) for case in cases if case.group == "held-out fault"] == ["target_side=left"] * 2
    assert len({case.name for case in cases}) == len(cases)
    few = design(sets=1, healthy=0, nulls=0, only=["slow"])
    assert {case.planted.split("+")[0] for case in few} == {"slow"}


def test_a_longer_task_is_a_true_cause_only_where_every_second_may_fail(diagnosis: Diagnosis) -> None:
    longer = replace(diagnosis.findings[0], attribute="acts", levels=("2",))
    told = replace(diagnosis, findings=(longer,))
    assert judge("stops_per_second", "x", 1, [], told).is_right
    assert not judge("luck_by_task", "x", 1, [], told).is_right
    assert not judge("stops_per_second", "x", 1, [], diagnosis).is_right, "a negation takes no time"


def test_a_validation_of_nothing_is_refused() -> None:
    with pytest.raises(
        UserError, match='the fault "healthy" should cause no finding; faults that should are: colour_blind, '
    ):
        design(only=["slow", "healthy"])
    with pytest.raises(UserError, match="nothing to validate"):
        design(sets=0, weak_sets=0, healthy=0, pairs=0, nulls=0)
    assert not is_reached([])


def test_held_out_faults_come_with_factor_and_level(tmp_path: Path) -> None:
    assert len(read_held_out(HELD_OUT)) >= 20
    (tmp_path / "bad.csv").write_text("name,factor\na,target_side\n")
    with pytest.raises(UserError, match="must have the columns name, factor, level"):
        read_held_out(tmp_path / "bad.csv")
    with pytest.raises(UserError, match="cannot be read"):
        read_held_out(tmp_path / "none.csv")


@pytest.mark.parametrize(
    ("group", "expected", "is_right"),
    [
        ("one fault", [Expected("language sub-skill: negation")], True),
        ("one fault", [Expected("language sub-skill: neg")], True),
        ("one fault", [Expected("language sub-skill: order")], False),
        ("one fault", [Expected("language sub-skill")], False),
        ("held-out fault", [Expected(attribute="requires", level="language/negation")], True),
        ("held-out fault", [Expected(attribute="requires", level="language/order")], False),
        ("held-out fault", [Expected(attribute="target_side", level="left")], False),
        ("two faults", [Expected("language sub-skill: negation"), Expected("language sub-skill: order")], False),
        ("two faults", [Expected("language sub-skill: negation")] * 2, True),
        ("no fault", [], False),
        ("luck_by_task", [], False),
    ],
)
def test_a_verdict_is_of_the_first_cause(
    group: Group, expected: list[Expected], is_right: bool, diagnosis: Diagnosis
) -> None:
    verdict = judge(group, "x", 1, expected, diagnosis)
    assert (verdict.is_right, verdict.episodes) == (is_right, diagnosis.episodes)
    assert verdict.found == ("language sub-skill: negation (requires language/negation=yes)",)


def test_what_no_pair_has_shown_is_no_claim_and_without_a_cause_the_symptoms_count(diagnosis: Diagnosis) -> None:
    guess = replace(diagnosis, findings=(replace(diagnosis.findings[0], certainty="associated"),))
    assert judge("luck_by_task", "x", 1, [], guess).is_right and judge("no fault", "x", 1, [], guess).is_right
    assert not judge("one fault", "x", 1, [Expected("language sub-skill: negation")], guess).is_right
    shaky = replace(guess, symptoms=(Symptom("unstable control", "It shakes.", guess.success, ()),))
    assert judge("one fault", "jerky", 1, [Expected("unstable control")], shaky).is_right
    assert judge("no fault", "x", 1, [], shaky).is_right, "a symptom is no claim of a cause"
    beside = replace(diagnosis, symptoms=(*shaky.symptoms, Symptom("other", "It.", guess.success, ())))
    assert judge("one fault", "jerky", 1, [Expected("unstable control")], beside).is_right, "it is a way of acting"
    assert not judge("one fault", "x", 1, [Expected("other")], beside).is_right


def test_a_null_is_counted_once_and_sums_of_its_kind_only_until_its_runs_are_there() -> None:
    def row(planted: str, false: int) -> dict[str, Any]:
        return {"kind": "luck", "planted": planted, "seed_set": 101, "runs": 1, "false": false, "pairs": 10}

    sums = {"kind": "luck", "runs": 2, "false": 1, "pairs": 20}
    assert latest([sums, row("luck=1", 1)]) == [sums]
    both = [row("luck=1", 0), row("luck=2", 0)]
    assert latest([sums, row("luck=1", 1), *both]) == both


def test_pairs_that_differ_by_chance_are_counted_with_what_a_plain_test_makes_of_them() -> None:
    def pairs(*outcomes: tuple[bool, bool]) -> tuple[PairSeen, ...]:
        return tuple(PairSeen("x", "y", f"t{place}", f"p{place}", *both) for place, both in enumerate(outcomes))

    gained, lost, same = (True, False), (False, True), (True, True)
    condition = Condition.parse("negation=yes")
    assert temptation([]) == Temptation()
    assert temptation([Tally(condition, 30, undo=pairs(same, same))]) == Temptation(2, 0, 0), "luck that a pair shares"
    assert temptation([Tally(condition, 30, undo=pairs(gained, lost, same))]) == Temptation(3, 2, 0)
    assert temptation([Tally(condition, 30, undo=pairs(*[gained] * 6))]) == Temptation(6, 6, 1)
    assert temptation([Tally(condition, 30, put_in=pairs(*[gained] * 6))]) == Temptation(6, 6, 0), "it gains, put in"
    assert temptation([Tally(condition, 30, put_in=pairs(*[lost] * 6))] * 2) == Temptation(12, 12, 2)


def verdict(group: Group, planted: str, *found: str, is_right: bool) -> Verdict:
    return Verdict(group, planted, 1, (), found, is_right, 300)


def test_false_alarms_and_half_right_pairs_are_counted_as_wrong() -> None:
    verdicts = [verdict("no fault", "healthy", is_right=True), verdict("no fault", "healthy", "slow", is_right=False)]
    verdicts += [
        verdict("two faults", "a+b", "a", "b", is_right=True),
        verdict("two faults", "a+b", "a", is_right=False),
    ]
    rows = [list(row.values()) for group in ("no fault", "two faults") for row in matrix_rows(verdicts, group)]
    assert rows == [
        ["healthy", NOTHING, 1, 1, ""], ["healthy", "slow", 1, 0, "wrong"], ["a+b", "a", 2, 1, "wrong"],
    ]  # fmt: skip
    assert {one.group: one.right.value for one in scores(verdicts)} == {"no fault": 0.5, "two faults": 0.5}
    assert confusion(verdicts, "no fault") == {"healthy": {NOTHING: 1, "slow": 1}}
    assert "correct" in "\n".join(lines(verdicts))


def test_two_runs_agree_if_their_top_finding_is_the_same_factor_or_its_parent() -> None:
    def run(planted: str, top: Answer | None, *ruled_out: Answer) -> Verdict:
        return Verdict("one fault", planted, 1, (), (), True, 300, top=top, ruled_out=ruled_out)

    right, words = Answer("a", "target_side", ("right",)), Answer("b", "requires language", ("yes",))
    negation, shaky = Answer("c", "requires language/negation", ("yes",)), Answer("unstable control")
    found = retest([run("x", words), run("x", negation, words), run("x", None), run("y", shaky), run("y", shaky)],
                   "one fault")  # fmt: skip
    assert (found.again.value, found.again.n) == (0.5, 4), "words and their part, and what shakes twice"
    assert (found.others.value, found.others.n) == (0.0, 6)
    # Ways of failing are never ruled out.
    assert (found.contradicted.value, found.contradicted.n) == (0.25, 4)
    assert retest([run("x", right), run("x", right, right)], "one fault").contradicted.value == 0.5


@pytest.mark.parametrize(
    ("cost", "is_claimed", "is_right"), [(0.05, False, True), (0.05, True, False), (0.2, False, False)]
)
def test_a_fault_by_others_that_costs_little_need_not_be_found(
    diagnosis: Diagnosis, cost: float, is_claimed: bool, is_right: bool
) -> None:
    found = diagnosis if is_claimed else replace(diagnosis, findings=())
    expected = [Expected(attribute="target_side", level="left")]
    assert judge("held-out fault", "x", 1, expected, found, cost).is_right == is_right
    assert not judge("one fault", "x", 1, expected, found, cost).is_right


def test_a_validation_keeps_its_episodes_and_judges_them_again(tmp_path: Path, deaf: Run) -> None:
    for name in ("ignores_negation", "healthy"):
        deaf.episodes.select(*SCHEMA, COLUMN).write_parquet(tmp_path / f"{name}.1.parquet")
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


def test_what_another_source_did_is_not_judged_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def judged(cases: list[Case], out: Path, **_: object) -> Iterator[Verdict]:
        asked.append(out)
        yield from (verdict(case.group, case.planted, is_right=True) for case in cases)

    monkeypatch.setattr(validation, "design", lambda **_: [Case("no fault", "healthy", 1)])
    monkeypatch.setattr(validation, "validate", judged)
    for source in ("old", "new"):
        monkeypatch.setattr(records, "versions", lambda gl_renderer, source=source: {"source": source})
        assert CliRunner().invoke(app, ["validate"]).exit_code == 0
    assert CliRunner().invoke(app, ["validate", "--out", str(tmp_path)]).exit_code == 0
    assert asked == [Path("runs/validation/old"), Path("runs/validation/new"), tmp_path]


def test_a_case_is_run_through_the_diagnosis(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(validation, "SUITE", "diagnosis/language/negation")
    case = Case("no fault", "healthy", 3)
    validation._run(case, tmp_path)
    table = pl.read_parquet(tmp_path / "healthy.3.parquet")
    assert table["success"].all() and set(table["seed"]) == {3 * SET}
    assert [verdict.is_right for verdict in validate([case], tmp_path)] == [True]
