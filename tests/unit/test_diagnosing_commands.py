"""The commands that diagnose, as somebody meets them who types: what is wrong is named, and nothing is said twice."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Collection, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import polars as pl
import pytest
from typer.testing import CliRunner

from robodx.analysis.findings import diagnose as of_findings
from robodx.analysis.findings.base import Diagnosis
from robodx.analysis.findings.kinds.base import FINDING_KINDS
from robodx.cli.commands import app
from robodx.errors import UserError
from robodx.policy_contract import make_policy
from robodx.report.page import report, write_report
from robodx.running import run as of_run
from robodx.running.request import Request
from robodx.running.run import run
from robodx.sim import gl
from robodx.suites.deciding import MOST_EPISODES, SHARES
from robodx.suites.diagnosis import FACTORIAL
from robodx.suites.pairs import MOST_GENERATED
from robodx.terminal.console import progress_bar
from robodx.video import filming
from tests.commands import call
from tests.reporting import episode, run_folder

NOT_ASKED = "The failures have not been run again"


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


def test_a_policy_that_does_not_exist_is_refused_before_anything_is_said_to_begin(tmp_path: Path) -> None:
    refused = call("diagnose", "fault:ignores_negations", "--out", "run", cwd=tmp_path, expect=2)
    assert refused.startswith('robodx: No fault "ignores_negations". Did you mean "ignores_negation"')
    assert not (tmp_path / "run").exists()


def test_rounds_that_are_there_already_are_told_of_once(capsys: pytest.CaptureFixture[str]) -> None:
    with progress_bar() as progress:
        for _ in range(4):
            progress(None, done=116, total=116, solved=91)
    assert capsys.readouterr().err.count("116/116 episodes") == 1


def test_of_a_run_that_is_not_finished_it_is_said(tmp_path: Path) -> None:
    run(Request(("language/negation",), "fault:ignores_negation", 1), tmp_path)
    words = ["why", str(tmp_path), "--only", "plain_words"]
    page = write_report([tmp_path], tmp_path / "report.html", title="Mine")
    assert NOT_ASKED in page.read_text()
    elsewhere = CliRunner().invoke(app, [*words, "--out", str(tmp_path / "apart")])
    assert elsewhere.exit_code == 0 and NOT_ASKED in page.read_text() and "report.html" not in elsewhere.stderr
    whole = CliRunner().invoke(app, words)
    assert f"{page} tells of it now." in whole.stderr
    assert NOT_ASKED not in page.read_text() and "plain_words" in page.read_text() and "<title>Mine" in page.read_text()
    (tmp_path / "episodes" / "all.parquet").rename(tmp_path / "episodes" / "part-00001.parquet")
    cut = CliRunner().invoke(app, words)
    assert (whole.exit_code, cut.exit_code) == (0, 0) and cut.stdout == whole.stdout
    assert "is not finished" in cut.stderr and "is not finished" not in whole.stderr
    assert "plain_words (the instruction in plain words) recovers 1 of 1" in whole.stdout


def failing(path: Path) -> Path:
    """A policy that fails wherever the words say what not to take."""
    rows = [
        episode(f"{family}/easy", seed, success=family != "language", requirements=[f"{family}/{part}"], tags=[])
        for family, part in (("control", "lift"), ("language", "negation"))
        for seed in range(24)
    ]
    return run_folder(path, rows)


@pytest.mark.parametrize(
    "words",
    [
        ["diagnose", "vision", "--films", "0", "--out"],
        ["diagnose", "vision", "--films", "1", "--out"],
        ["report", "--films", "0"],
        ["report", "--films", "1"],
        ["findings"],
    ],
)
def test_a_diagnosis_is_worked_out_once_whoever_tells_of_it(
    words: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Films are of what findings show, the terminal prints them and the page tells of them."""
    folder = failing(tmp_path / "run")
    worked_out = []
    work_out = of_findings._of_policy

    def counted(*args: Any) -> Diagnosis:
        worked_out.append(args)
        return work_out(*args)

    def film(path: Path, trials: Collection[str], tell: object, *, is_plain: bool) -> Iterator[Path]:
        (path / "videos").mkdir()
        for seed in {trial.split("-")[2] for trial in trials}:
            film = path / "videos" / f"language.easy-seed{seed}-failure-vision.mp4"
            film.write_bytes(b"film")
            yield film

    monkeypatch.setattr(of_findings, "_of_policy", counted)
    monkeypatch.setattr(of_run, "run", lambda *_, **__: None)
    monkeypatch.setattr(filming, "film_trials", film)
    monkeypatch.setattr(gl, "status", lambda: SimpleNamespace(is_available=True))
    result = CliRunner().invoke(app, [*words, str(folder)], catch_exceptions=False)
    assert result.exit_code == 0 and len(worked_out) == 1
    if words[0] != "report":
        assert "in 24 of 24 of such trials" in " ".join(result.stdout.split())
    if words[0] != "findings":
        page = (folder / "report.html").read_text()
        assert "24 of 24" in page and ("<video" in page) == ("1" in words)


def test_the_terminal_and_the_page_tell_of_the_same_diagnosis(tmp_path: Path) -> None:
    folder = failing(tmp_path)
    printed = json.loads(CliRunner().invoke(app, ["findings", str(folder), "--json"]).stdout)
    assert printed[0]["findings"] and printed == report([folder]).as_dict()["sections"]["findings"]


def test_a_larger_diagnosis_has_a_folder_of_its_own(tmp_path: Path) -> None:
    def folder(*words: str) -> str:
        return Path(tomllib.loads(call("diagnose", "still", *words, "--print-config", cwd=tmp_path))["out"]).name

    assert folder() == "diagnosis+still" and folder("--seeds", "5") == "diagnosis-5-seeds+still"


def test_what_would_decide_asks_for_more_than_was_run_and_a_cause_for_fresh_pairs() -> None:
    asked: Any = SimpleNamespace(
        who="--policy act", seeds=10, fresh_seed=15000, decided=[object()], table=pl.DataFrame({"task": ["a/b"]})
    )
    kind = FINDING_KINDS["visual bias"]
    assert of_findings._next_test(asked, kind, "", [], "undecided") == "robodx diagnose act --seeds 50"
    # The tasks that an unfamiliar room shows in change places and company too: only pairs change the room alone.
    assert of_findings._next_test(asked, kind, "", [], "sufficient") == "robodx diagnose act --first-seed 15000"


def test_a_diagnosis_on_fresh_seeds_shares_no_situation_with_the_first() -> None:
    drawn = FACTORIAL + 1 + len(SHARES) * MOST_GENERATED
    assert max(drawn, MOST_EPISODES) <= of_findings.SEEDS_APART
