"""Visual bias as it is told: in the summary, in the report with its figures, and as findings that name a value."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

from robodx.analysis.bias.effects import Effect
from robodx.analysis.bias.words import baseline_label, label, with_baseline, with_value
from robodx.analysis.findings.diagnose import diagnose_runs
from robodx.analysis.findings.visual_biases import is_shown, visual_biases
from robodx.analysis.statistics.estimates import Estimate
from robodx.cli.commands import app
from robodx.report.page import report
from robodx.report.plots.camera_rings import camera_rings, pose_of
from robodx.report.plots.colour_bars import Bar, colour_bars
from robodx.terminal.diagnosis import lines as diagnosis_lines
from tests.bias import COLOURS, POSES, MadeRun
from tests.reporting import capability, run_folder

WARMTHS = ["usual", "2000 K", "10000 K"]


def chance(said: object) -> float:
    """It hardly finds what is grey, and nothing else matters."""
    return 0.1 if isinstance(said, dict) and said.get("colour") == "gray" else 0.92


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = MadeRun(chance, policy="vision").factor("colour", tuple(COLOURS), repeats=3)
    made.factor("camera_pose", POSES, repeats=2).factor("light_warmth", WARMTHS, repeats=3).crossed(repeats=3)
    return made.write(tmp_path_factory.mktemp("bias") / "run")


@pytest.fixture(scope="module")
def mended(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = MadeRun(lambda said: 0.92, policy="sgl:vision", seed=1).factor("colour", tuple(COLOURS), repeats=3)
    return made.write(tmp_path_factory.mktemp("bias") / "mended")


@pytest.fixture(scope="module")
def page(run: Path, mended: Path) -> str:
    return report([run, mended], videos="none").html()


def summary_of(run: Path, *options: str) -> str:
    called = CliRunner().invoke(app, ["summary", str(run), *options], catch_exceptions=False)
    assert called.exit_code == 0, called.output
    return called.stdout


def test_the_summary_tells_each_factor_beside_chance(run: Path) -> None:
    told = summary_of(run)
    (colour,) = (text for text in told.splitlines() if re.match(r"colour\s+14\s", text))
    (warmth,) = (text for text in told.splitlines() if re.match(r"light warmth\s+3\s", text))
    assert re.search(r"\+\d+\s+\d+% \[\d+, \d+\]\s+0.003\s+33$", colour.rstrip()), "beyond, std, p after Holm, blocks"
    p = float(warmth.split()[-2])
    assert p > 0.05
    assert re.search(r"colour\s+gray\s+\d\s+red: \d+\s+−\d\d \[−\d\d, −\d\d\]\s+< 0.001\s+33", told)
    assert len(re.findall(r"red: \d+", told)) == 1, "no other colour is accused"
    words = " ".join(told.split())
    assert "IEC(colour; camera pose)" in words and "no direction is claimed" in words
    assert max(map(len, told.splitlines())) <= 120


def test_the_summary_as_json_has_every_value(run: Path) -> None:
    found = json.loads(summary_of(run, "--json"))["bias"]
    (colour,) = (one for one in found["factors"] if one["factor"] == "colour")
    assert {one["value"] for one in colour["rates"]} == set(COLOURS) and len(colour["effects"]) == 13
    assert {one["group"] for one in colour["groups"]} >= {"grey", "black", "brown"}
    assert len(found["interactions"][0]["cells"]) == 7 * 21


def test_a_run_of_another_suite_says_nothing_of_bias(tmp_path: Path) -> None:
    folder = run_folder(tmp_path / "run", capability())
    assert "bias coefficient" not in summary_of(folder)
    assert json.loads(summary_of(folder, "--json"))["bias"] is None
    assert "Visual bias" not in report([folder], videos="none").html()


def test_a_run_is_not_told_cell_by_cell(run: Path) -> None:
    told = summary_of(run)
    assert "cells of a grid" in told and "colour=teal" not in told and len(told.splitlines()) < 50


def test_with_one_trial_of_each_value_in_a_context_it_says_what_that_cannot_tell(tmp_path: Path) -> None:
    folder = MadeRun(chance).factor("colour", tuple(COLOURS), repeats=1).write(tmp_path / "run")
    said = "each value was tried once in a context at most"
    assert said in " ".join(summary_of(folder).split())
    assert said in report([folder], videos="none").markdown()


def test_the_page_draws_colours_cameras_and_the_heat_map(page: str) -> None:
    assert '<section id="bias"' in page
    assert "It was run with one visual factor set at a time. Success over the values: camera pose " in page
    assert page.count('fill="#808080"') >= 2, "the bar and the swatch of grey are grey"
    assert 'aria-label="Grey: ' in page and "from left to right by saturation" in page
    assert re.search(r"Of 13 colours, 1 is shown to differ from red.* Most: gray \(−\d\d", page)
    assert page.count('class="camera"') == 21 and ">robot<" in page and ">table<" in page
    assert "Success of vision in % by camera pose (down) and colour (across), 3 robot starts in 1 context" in page
    assert page.count(" shaded") == 7 * 21
    assert '<p class="advice">Advice, untested: If it is confirmed: add demonstrations with objects of these' in page


def test_the_page_compares_before_and_after_on_the_same_trials(page: str) -> None:
    assert "Before and after: vision and sgl:vision" in page
    row = re.search(r"<tr>\s*<th scope=row[^>]*>(?:(?!</tr>).)*?→(?:(?!</tr>).)*?</tr>", page, re.DOTALL)
    assert row is not None and "colour" in row[0] and "−" in row[0]


def test_two_runs_are_compared_as_a_whole_and_not_cell_by_cell(run: Path, mended: Path) -> None:
    called = CliRunner().invoke(app, ["compare", str(run), str(mended)], catch_exceptions=False)
    assert "cells of a grid" in called.stdout and len(called.stdout.splitlines()) < 30
    assert re.search(r"bias/put_solid_in_box\s+9\s", called.stdout), "nine robot starts"


def test_a_finding_names_the_factor_and_the_value(run: Path, mended: Path) -> None:
    (diagnosis,) = diagnose_runs([run])
    (found,) = (one for one in diagnosis.symptoms if one.name.startswith("visual bias"))
    assert found.name == "visual bias: colour gray"
    assert found.statement.startswith("It succeeds less often with a gray object than with a red one: in ")
    assert "same context and robot start, and differ in colour alone" in found.statement
    assert len(found.examples) == 2 and found.rate.n == 33
    told = list(diagnosis_lines(diagnosis))
    assert "in all of its episodes something of the situation was set" in " ".join(told)
    assert any("visual bias: colour gray" in text for text in told)
    advised = "dvice, untested: If it is confirmed: add demonstrations with objects of these colours"
    assert advised in " ".join(" ".join(told).split())
    (unbiased,) = diagnose_runs([mended])
    assert not [one for one in unbiased.symptoms if one.name.startswith("visual bias")]


def test_a_bad_baseline_is_told_once_and_not_by_every_other_value() -> None:
    made = MadeRun(lambda said: 0.95 if said.get("colour", "red") != "red" else 0.1)
    (found,) = visual_biases(made.factor("colour", tuple(COLOURS)).episodes)
    assert found.name == "visual bias: colour red" and "It succeeds more often with" in found.statement
    assert "and" not in found.statement.partition("So it does with")[2] and "7 more" in found.statement


@pytest.mark.parametrize(
    ("low", "high", "p", "is_told"),
    [
        (-0.30, -0.10, 0.001, True), (0.10, 0.30, 0.001, True), (-0.12, -0.04, 0.001, False),
        (-0.30, -0.10, 0.2, False), (-0.30, -0.10, None, False),
    ],
)  # fmt: skip
def test_a_finding_takes_a_sure_effect_of_more_than_five_points(
    low: float, high: float, p: float | None, is_told: bool
) -> None:
    one = Effect("gray", Estimate((low + high) / 2, low, high, 55), 10.0, 20.0, p, p, ())
    assert is_shown(one) is is_told


def test_words_for_factors_and_values() -> None:
    assert with_value("colour", "orange") == "an orange object" and with_value("colour", "teal") == "a teal object"
    assert with_value("camera_distance", "0.40 m") == "the camera 0.40 m further back"
    assert with_value("light_direction", "left") == "light direction left"
    assert with_baseline("camera_pose", "original") == "the original camera"
    assert with_baseline("clutter", "usual") == "the usual clutter"
    assert with_baseline("haze", "none") == "haze none"
    assert (baseline_label("colour", "red"), baseline_label("camera_pose", "original")) == ("red", "original")
    assert label("colour × camera_pose") == "colour × camera pose"


def test_drawings_stand_what_is_missing() -> None:
    assert pose_of("ring 2, −30°") == pose_of("ring 2, -30°") == (2, -30)
    assert pose_of("original") is None and pose_of("ring 9, 0°") is None
    rings = camera_rings("Success", "n = 5", {"ring 1, 0°": None, "ring 3, 90°": 1.0, "elsewhere": 0.5})
    assert rings.count('class="camera"') == 2 and "—" in rings and ">100<" in rings
    bars = colour_bars("Grey", "two", [Bar("gray", "#808080", 0.0), Bar("silver", "#c0c0c0", None)], None)
    assert bars.count("<rect") == 1 and "silver —" in bars
