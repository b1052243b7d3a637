"""Perturbations that are set to a word or to named numbers, from the command line to the summary."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from robodx.cli.commands import app
from robodx.errors import UserError
from robodx.perturbations.base import PERTURBATIONS, Perturbation, PerturbationEntry
from robodx.records.design import read_design
from robodx.records.table import load
from robodx.records.trial import Trial
from robodx.records.values import parse_numbers, spelled
from robodx.registry import UnknownName

PLUGIN = '''
"""Paint everything, or push it aside."""
from robodx import Perturbation, perturbation

@perturbation("paint", kind="scene", levels={"red": "red", "blue": "blue"})
class Paint(Perturbation):
    """All things have one colour."""
    def begin(self):
        assert self.value in ("red", "blue") and self.severity == 1.0

@perturbation("shift", kind="scene", levels={"near": {"x_m": 0.01, "y_m": 0.0}, "far": {"x_m": 0.0, "y_m": 0.03}})
class Shift(Perturbation):
    """All things lie elsewhere."""
    def begin(self):
        assert dict(self.value) == {"x_m": 0.0, "y_m": 0.03}
'''


def entry(levels: dict[str, object]) -> PerturbationEntry:
    return PerturbationEntry("paint", "scene", levels, Perturbation, "paints")  # type: ignore[arg-type]


def test_a_run_under_a_word_and_named_numbers_is_stored_shown_and_resumed(tmp_path: Path) -> None:
    plugin = tmp_path / "paint.py"
    plugin.write_text(PLUGIN)
    words = ["run", "primitive/press_switch", "--policy", "still", "--seeds", "1", "--plugin", str(plugin)]
    words += ["--perturb", "paint=red", "--perturb", "shift=y_m:0.03,x_m:0", "--out", str(tmp_path / "run"), "--json"]
    first = CliRunner().invoke(app, words)
    assert first.exit_code == 0, first.output
    (row,) = json.loads(first.stdout)["rows"]
    assert row["perturbations"] == "paint=red + shift=far"
    (stored,) = load(tmp_path / "run").iter_rows(named=True)
    assert Trial.of_row(stored).perturbations == (("paint", "red"), ("shift", (("x_m", 0.0), ("y_m", 0.03))))
    again = CliRunner().invoke(app, words)
    assert again.exit_code == 0 and "Resuming: 1 of 1" in again.stderr
    other = CliRunner().invoke(app, [word.replace("paint=red", "paint=blue") for word in words])
    assert other.exit_code != 0 and "holds another run" in str(other.exception)
    assert read_design(tmp_path / "run") is not None


def test_a_level_says_what_it_may_be_set_to() -> None:
    painted = entry({"red": "red", "blue": "blue"})
    assert painted.parse("red") == "red" and not painted.is_ordered and painted.severities == {}
    with pytest.raises(UnknownName, match=r'No level of paint "redd"[.] Did you mean "red"'):
        painted.parse("redd")
    with pytest.raises(UserError, match="has no severity"):
        painted.severity("red")
    shifted = entry({"near": {"x_m": 0.01}})
    assert shifted.parse("x_m:0.5") == (("x_m", 0.5),) and shifted.parse("near") == (("x_m", 0.01),)
    with pytest.raises(UserError, match=r"values such as x_m:0\.01, not y_m:1"):
        shifted.parse("y_m:1")
    with pytest.raises(UnknownName):
        shifted.parse("nearer")
    with pytest.raises(ValueError, match="all numbers, all words"):
        entry({"red": "red", "strong": 2.0})


def test_numbers_read_as_before() -> None:
    noise = PERTURBATIONS["noise"]
    assert noise.parse("v2") == noise.parse("25") == 25.0 and isinstance(noise.parse("25"), float)
    for text in ("-1", "inf", "nan", "v9", "x_m:1"):
        with pytest.raises(UserError):
            noise.parse(text)


def test_named_numbers_are_spelled_as_they_are_read() -> None:
    assert parse_numbers("y_m:0.5,x_m:1") == (("x_m", 1.0), ("y_m", 0.5))
    assert spelled((("x_m", 1.0), ("y_m", 0.5))) == "x_m:1,y_m:0.5"
    fine = (("x_m", 0.1234567), ("y_m", 1e-9))
    assert parse_numbers(spelled(fine)) == fine
    for text in ("", "x", "x:", ":1", "x:1,x:2", "x:nan", "x:1,,y:2"):
        assert parse_numbers(text) is None
