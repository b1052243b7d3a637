"""A kind of finding is one entry: added from one file, it is looked for, named, worded and told with its next test."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from robodx.analysis.findings.base import Diagnosis, Finding
from robodx.analysis.findings.conditions import Condition
from robodx.analysis.findings.diagnose import diagnose
from robodx.analysis.findings.kinds.base import FINDING_KINDS, FindingKind, Own, register
from robodx.errors import UserError
from robodx.faults.base import FAULTS
from robodx.records.schema import SCHEMA
from robodx.registry import discover
from robodx.report.page import report
from tests.commands import call
from tests.reporting import episode, run_folder

EXAMPLE = Path(__file__).parent.parent.parent / "examples" / "my_finding.py"
TASKS = ("hands/pick", "hands/stack", "words/plain", "words/negated", "words/excluded")


@pytest.fixture(autouse=True)
def kinds_of_one_test(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """What a test registers is forgotten after it, and so is the example that it imports."""
    monkeypatch.setattr(FINDING_KINDS, "_entries", {kind.name: kind for kind in FINDING_KINDS.entries()})
    modules = set(sys.modules)
    yield
    for name in set(sys.modules) - modules:
        if name.startswith("robodx_plugin_") or name == "elsewhere_kinds":
            del sys.modules[name]


def rows(**columns: Any) -> list[dict[str, Any]]:
    """Twelve situations of each task; of tasks with words those with a negation fail."""
    requirements = {"words/negated": ["language/negation"], "words/excluded": ["language/negation"]}
    return [
        episode(
            task, seed, success=task not in requirements, requirements=requirements.get(task, []), mistaken=[],
            attributes=place(seed), **columns,
        )
        for task in TASKS
        for seed in range(12)
    ]  # fmt: skip


def place(seed: int) -> dict[str, Any]:
    """Far every other time, and right every third."""
    values = {"target_depth": ("near", "far")[seed % 2], "target_side": ("left", "middle", "right")[seed % 3]}
    return {"texts": [{"name": name, "value": value} for name, value in values.items()], "numbers": []}


def cornered() -> list[dict[str, Any]]:
    """It fails where things lie far and on the right, whatever the task, and a little elsewhere too."""
    return [
        {
            **row,
            "success": row["seed"] != 5 and (row["seed"] != 11 or row["task"] == "hands/pick"),
            "requirements": [],
        }
        for row in rows()
    ]


def diagnosed(episodes: list[dict[str, Any]]) -> Diagnosis:
    (found,) = diagnose(pl.DataFrame(episodes, schema=SCHEMA), {})
    return found


def findings_of(episodes: list[dict[str, Any]]) -> tuple[Finding, ...]:
    return diagnosed(episodes).findings


def test_kinds_from_a_plugin_file_are_looked_for_named_and_worded(tmp_path: Path) -> None:
    run = run_folder(tmp_path / "run", [{**row, "length_ratio": 3.0} for row in cornered()])
    without = call("findings", run, cwd=tmp_path)
    assert "detours" not in without and "corner" not in without
    reported = " ".join(call("findings", run, "--plugin", EXAMPLE, cwd=tmp_path).split())
    assert "detours. Its hand goes more than 1.5 times the expert's way in 60 of 60 episodes." in reported
    assert (
        "blind corner. It may fail more often when the target lies in the far right corner: it fails in 9 of 10 of "
        "such trials, and in 0 of 50 of others. It may as well be that the target lies on the right." in reported
    )
    assert "next: robodx diagnose vision" in reported
    assert "far right corner" in report([run]).markdown()


def test_a_kind_may_be_named_before_one_that_ships() -> None:
    assert "language sub-skill: negation" in [one.name for one in findings_of(rows())]
    register(
        FindingKind(
            name="deaf to no",
            sentence="It does not hear a no, as in {subject}",
            priority=1,
            by_condition=lambda condition, mode: "not" if condition.requirement == "language/negation" else None,
            in_words=lambda subject: f'"{subject}"',
        )
    )
    finding = next(one for one in findings_of(rows()) if one.attribute == "requires language/negation")
    assert finding.name == "deaf to no: not" and "when the instruction has a negation" in finding.statement


def test_a_kind_says_what_to_run_next_where_a_cause_is_shown() -> None:
    register(
        FindingKind(
            name="hasty",
            priority=1,
            by_condition=lambda condition, mode: "" if condition.attribute == "clock" else None,
            next_test=lambda ask: ask.run("--seeds 25 --repeats 4"),
            advice="Make it faster.",
        )
    )
    late = [
        {**row, "trial_id": row["trial_id"] + "late", "trajectory_hash": row["trial_id"] + "late", "success": False,
         "clock": "realtime:0.50"} for row in rows()
    ]  # fmt: skip
    finding = next(one for one in findings_of([*rows(), *late]) if one.name == "hasty")
    assert (finding.certainty, finding.advice) == ("cause", "Make it faster.")
    assert finding.next_test.startswith("robodx run ") and finding.next_test.endswith("--seeds 25 --repeats 4")


def test_a_kind_may_look_for_a_condition_of_its_own() -> None:
    def odd(episodes: pl.DataFrame) -> Iterator[Own]:
        yield Own(Condition("parity", ("odd",)), "the seed is odd", (episodes["seed"] % 2 == 1).to_numpy())

    register(
        FindingKind(
            name="dislikes odd numbers",
            sentence="It dislikes odd numbers",
            conditions=odd,
            by_condition=lambda condition, mode: "" if condition.attribute == "parity" else None,
        )
    )
    failing = [{**row, "success": row["seed"] % 2 == 0, "requirements": [], "attributes": None} for row in rows()]
    (finding,) = findings_of(failing)
    assert (finding.name, finding.condition, finding.when) == ("dislikes odd numbers", "parity=odd", "the seed is odd")
    assert (finding.inside.value, finding.outside.value) == (1.0, 0.0)


def test_a_name_that_is_taken_is_refused(tmp_path: Path) -> None:
    plugin = tmp_path / "again.py"
    plugin.write_text(
        "from robodx.analysis.findings.kinds.base import FindingKind, register\n"
        'register(FindingKind(name="failure cliff", sentence="It breaks"))\n'
    )
    reported = call("findings", run_folder(tmp_path / "run", rows()), "--plugin", plugin, cwd=tmp_path, expect=2)
    assert 'a kind of finding named "failure cliff" is registered already' in " ".join(reported.split())


def test_other_packages_offer_kinds_by_their_entry_points(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "elsewhere_kinds.py").write_text(EXAMPLE.read_text())
    info = tmp_path / "elsewhere-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: elsewhere\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[robodx]\nelsewhere = elsewhere_kinds\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    discover("analysis.findings.kinds")
    assert "detours" in [one.name for one in diagnosed(rows(length_ratio=3.0)).symptoms]


def test_what_a_kind_gets_wrong_is_told() -> None:
    with pytest.raises(ValueError, match=r"may hold {subject} and no other braces"):
        FindingKind(name="x", sentence="It is {weak}")
    wrong: Any = lambda condition, mode: True  # noqa: E731
    register(FindingKind(name="x", sentence="It is weak", by_condition=wrong, priority=1))
    with pytest.raises(UserError, match=r'a rule of the kind of finding "x" gave True'):
        findings_of(rows())


def test_one_kind_alone_names_whatever_no_other_does() -> None:
    priorities = {kind.name: kind.priority for kind in FINDING_KINDS.entries()}
    assert [name for name in priorities if priorities[name] == min(priorities.values())] == ["weak capability"]
    assert not any(priority > 0 for priority in priorities.values())


def test_every_fault_expects_a_kind_that_there_is() -> None:
    kinds = {fault.expected[0] for fault in FAULTS.entries() if fault.expected is not None}
    assert kinds <= set(FINDING_KINDS)
