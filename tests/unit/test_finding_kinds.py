"""A kind of finding is one entry: added from one file, it is looked for, named, worded and told with its next test."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from robodx.analysis.findings.strata import Stratum

from robodx.analysis.findings.base import Finding
from robodx.analysis.findings.diagnose import diagnose
from robodx.analysis.findings.kinds.base import FINDING_KINDS, FindingKind, register
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
    target = {"name": "x", "kind": "cube", "colour": "red", "size_m": 0.04, "y_m": 0.0}
    return [
        episode(
            task, seed, success=task not in requirements, requirements=requirements.get(task, []), mistaken=[],
            target={**target, "x_m": 0.1 * (seed // 2 % 2)}, **columns,
        )
        for task in TASKS
        for seed in range(12)
    ]  # fmt: skip


def findings_of(episodes: list[dict[str, Any]]) -> tuple[Finding, ...]:
    (found,) = diagnose(pl.DataFrame(episodes, schema=SCHEMA), {})
    return found.findings


def test_a_kind_from_a_plugin_file_is_named_worded_and_told_with_its_next_command(tmp_path: Path) -> None:
    run = run_folder(tmp_path / "run", rows(length_ratio=3.0))
    assert "detours" not in call("findings", run, cwd=tmp_path)
    reported = call("findings", run, "--plugin", EXAMPLE, cwd=tmp_path)
    sentence = (
        "detours. It does not go straight to things: its hand goes more than 1.5 times the expert's way in 30 of 30"
    )
    command = "robodx run hands/pick hands/stack words/excluded --policy vision --seeds 25 --repeats 4"
    assert f"1. {sentence}" in " ".join(reported.split())
    assert f"   next: {command}" in reported.splitlines()
    assert "language sub-skill: negation" in reported
    page = report([run]).markdown()
    assert "It does not go straight to things" in page and command in page


def test_a_kind_may_be_named_before_one_that_ships() -> None:
    assert [one.name for one in findings_of(rows())] == ["language sub-skill: negation"]
    register(
        FindingKind(
            name="deaf to no",
            sentence="It does not hear a no, as in {subject}",
            priority=1,
            by_stratum=lambda candidate: "not" if candidate.stratum.requirement[-1:] == ("negation",) else None,
            in_words=lambda subject: f'"{subject}"',
        )
    )
    (finding,) = findings_of(rows())
    assert (finding.name, finding.certainty) == ("deaf to no: not", "confirmed")
    assert finding.statement.startswith(
        'It does not hear a no, as in "not": it fails to carry out the motion in 12 of 12 trials'
    )
    assert finding.next_test.endswith("--policy vision --seeds 50")


def test_a_kind_may_look_for_a_condition_of_its_own() -> None:
    def far(episodes: pl.DataFrame) -> Iterator[Stratum]:
        is_far = (episodes["target"].struct.field("x_m") > 0.05).to_numpy()
        yield Stratum("reach", "far", "trials with a far target", is_far, ~is_far, paired_by="task")

    register(
        FindingKind(
            name="short arm",
            sentence="It does not reach what lies far away",
            strata=far,
            by_stratum=lambda candidate: "" if candidate.stratum.sort == "reach" else None,
        )
    )
    failing = [
        {
            **row,
            "success": row["seed"] // 2 % 2 == 0,
            "failure_kind": "timeout",
            "outcome": "failure",
            "requirements": [],
        }
        for row in rows()
    ]
    (finding,) = findings_of(failing)
    assert (finding.name, finding.stratum, finding.certainty) == ("short arm", "reach: far", "confirmed")
    assert "in 15 of 15 trials with a far target, and in 0 of 15 other trials" in finding.statement


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
    assert "detours" in [one.name for one in findings_of(rows(length_ratio=3.0))]


def test_what_a_kind_gets_wrong_is_told() -> None:
    with pytest.raises(ValueError, match=r"may hold {subject} and no other braces"):
        FindingKind(name="x", sentence="It is {weak}")
    wrong: Any = lambda candidate: True  # noqa: E731
    register(FindingKind(name="x", sentence="It is weak", by_stratum=wrong, priority=1))
    with pytest.raises(UserError, match=r'a rule of the kind of finding "x" gave True'):
        findings_of(rows())


def test_one_kind_alone_names_whatever_no_other_does() -> None:
    assert [kind.name for kind in FINDING_KINDS.entries() if kind.priority < 0] == ["weak capability"]
    assert not any(kind.priority > 0 for kind in FINDING_KINDS.entries())


def test_every_fault_expects_a_kind_that_there_is() -> None:
    kinds = {fault.expected[0] for fault in FAULTS.entries() if fault.expected is not None}
    assert kinds <= set(FINDING_KINDS)
