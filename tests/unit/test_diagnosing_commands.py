"""The commands that diagnose, as somebody meets them who types: what is wrong is named, and nothing is said twice."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from robodx.cli import app
from robodx.cli.diagnosing import _once
from robodx.errors import UserError
from robodx.policies.base import make_policy
from robodx.running.run import Request, run
from robodx.terminal.console import progress_bar


@pytest.mark.parametrize(
    "words", [["diagnose", "still", "--seeds", "0"], ["why", "nowhere", "--episodes", "0"], ["validate", "--sets", "0"]]
)
def test_a_number_that_cannot_be_is_named(words: list[str]) -> None:
    result = CliRunner().invoke(app, words, env={"COLUMNS": "200"})
    assert result.exit_code == 2 and f"'{words[-2]}'" in result.output
    assert "0 is not in the range" in result.output or "greater than or equal to 1, not 0" in result.output


@pytest.mark.parametrize("name", ["fault", "fault:"])
def test_a_fault_without_a_name_is_told_where_the_names_are(name: str) -> None:
    with pytest.raises(UserError, match=r"NAME is missing.*colour_blind.*robodx list faults"):
        make_policy(name)


def test_rounds_that_are_there_already_are_told_of_once(capsys: pytest.CaptureFixture[str]) -> None:
    with progress_bar() as progress:
        once = _once(progress)
        for _ in range(4):
            once(None, done=116, total=116, solved=91)
    assert capsys.readouterr().err.count("116/116 episodes") == 1


def test_of_a_run_that_is_not_finished_it_is_said(tmp_path: Path) -> None:
    run(Request(("language/negation",), "fault:ignores_negation", 1), tmp_path)
    words = ["why", str(tmp_path), "--only", "plain_words"]
    whole = CliRunner().invoke(app, words)
    (tmp_path / "episodes" / "all.parquet").rename(tmp_path / "episodes" / "part-00001.parquet")
    cut = CliRunner().invoke(app, words)
    assert (whole.exit_code, cut.exit_code) == (0, 0) and cut.stdout == whole.stdout
    assert "is not finished" in cut.stderr and "is not finished" not in whole.stderr
    assert "plain_words (the instruction in plain words) recovers 1 of 1" in whole.stdout
