"""The tables of the study, of runs so small that it is known what they must say."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import polars as pl
import pytest
import study
from pages import DOCS
from study_tables import before_and_after, by_added_factor, by_family, by_finding, by_substitution, control_normalised
from tables import by_stressor, markdown
from training_curve import Trained, training_curve

from robodx.analysis.findings.base import Diagnosis
from robodx.analysis.statistics.estimates import Estimate
from robodx.analysis.stress import stress_table
from robodx.analysis.summary import Summary
from robodx.records.about import read_about
from robodx.records.table import load
from robodx.running.request import Request
from robodx.running.run import run
from robodx.running.why import why
from robodx.suites.capability import capability_tasks
from tests.reporting import ABOUT, diagnosis, finding, run_folder, stressed

PUSHING = ("control/push_cube", "robustness/push_cube_with_distractors")


def cells(text: str, *first: str) -> list[str]:
    """What stands in the only row that begins with these cells, behind them."""
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in text.splitlines() if line.startswith("|")]
    (found,) = [row[len(first) :] for row in rows if row[: len(first)] == list(first)]
    return found


@pytest.fixture(scope="module")
def capability(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Who repeats what the expert would do misses all that changes; it is not asked to perceive."""
    tasks = ("primitive/press_switch", "dynamic/press_switch_in_time", "perception/touch_sphere")
    folders = {name: tmp_path_factory.mktemp(name) / "run" for name in ("expert", "open_loop")}
    for name, folder in folders.items():
        run(Request(tasks[: 3 if name == "expert" else 2], name, 2), folder)
    return folders


def test_families_have_a_cell_for_each_tier_of_each_policy(capability: dict[str, Path]) -> None:
    text = by_family({name: load(folder) for name, folder in capability.items()})
    all_solved, none_solved = "100% [34, 100] (1 of 3 tasks)", "0% [0, 66] (1 of 3 tasks)"
    assert cells(text, "family") == ["`expert` easy", "medium", "hard", "`open_loop` easy", "medium", "hard"]
    assert cells(text, "dynamic") == [all_solved, "", "", none_solved, "", ""]
    assert cells(text, "perception") == [all_solved, "", "", "", "", ""]
    assert cells(text, "`open_loop`") == ["1", "0% [0, 66]", "100% [34, 100]"]


def test_what_is_left_of_a_family_is_divided_by_its_primitive(capability: dict[str, Path]) -> None:
    text = control_normalised({name: Summary(load(folder), read_about(folder)) for name, folder in capability.items()})
    expert, open_loop = cells(text, "dynamic")
    assert expert.startswith("1.00 [") and open_loop.startswith("0.00 [0.00, ")
    assert cells(text, "language") == ["", ""]


def test_an_added_change_costs_who_ignores_it_everything(tmp_path: Path) -> None:
    run(Request(("isolation/touch_sphere/dynamic",), "open_loop", 3), tmp_path / "run")
    text = by_added_factor({"open_loop": Summary(load(tmp_path / "run"), read_about(tmp_path / "run"))})
    plain, added, n, difference, _ = cells(text, "`open_loop`", "dynamic")
    assert (plain, added, n) == ("100% [44, 100]", "0% [0, 56]", "3")
    assert difference.startswith("−100 [−100, ")


def test_a_stressor_has_its_fall_at_each_level(tmp_path: Path) -> None:
    folder = run_folder(tmp_path / "run", stressed())
    text = by_stressor(stress_table(load(folder), ABOUT, np.random.default_rng(0)), "vision")
    kind, clean, n, *levels = cells(text, "`noise`")
    assert (kind, clean, n) == ("sensor", "100% [68, 100]", "8")
    assert [levels[place] for place in (0, 2, 4)] == ["100% [68, 100]", "12% [2, 47]", "12% [2, 47]"]
    assert levels[1].startswith("0 [") and levels[3].startswith("−88 [")


def test_a_diagnosis_is_told_by_its_first_findings() -> None:
    text = by_finding({"act": {0: diagnosis(*[finding()] * 4)}, "flow": {0: diagnosis()}})
    assert text.count("language sub-skill: negation") == 3
    episodes, success, certainty, says, undo, put_in = cells(text, "`act`", "0")
    assert (episodes, success, certainty, put_in) == ("100", "80% [70, 90]", "caused by this", "")
    assert undo == "8 of 8, placebo 1: +88 [+40, +100]"
    assert "Taken away, 8 of 8 such situations succeed." in says
    assert "No weakness was found." in cells(text, "`flow`", "0")[3]
    assert "pairs of runs" not in text


def test_diagnoses_of_a_policy_agree_in_the_top_cause_alone() -> None:
    def agreement(*runs: Diagnosis) -> str:
        return by_finding({"act": dict(enumerate(runs))}).splitlines()[-1]

    negation, colour = diagnosis(finding()), diagnosis(finding(attribute="target_colour", levels=("red",)))
    undecided = diagnosis(finding(certainty="undecided"))
    assert "in 1 of 3 pairs of runs" in agreement(negation, negation, colour)
    assert "in 0 of 1 pairs of runs" in agreement(undecided, undecided)


def test_why_tells_what_each_substitution_recovers(tmp_path: Path) -> None:
    run(Request(("language/negation",), "fault:ignores_negation", 2), tmp_path / "run")
    text = by_substitution({"deaf": why(tmp_path / "run")})
    assert cells(text, "`deaf`", "chance", "`again`") == ["0 of 2 (0% [0, 66])", "", "", "", ""]
    alone, adds, beyond, *_ = cells(text, "`deaf`", "language", "`plain_words`")
    assert (alone, adds) == ("2 of 2 (100% [34, 100])", "2")
    assert beyond.startswith("+100 [")
    assert "- `deaf`: plain_words" in text


def test_before_and_after_are_compared_on_the_same_situations(tmp_path: Path) -> None:
    tables = [_pairs("still", tmp_path), _pairs("expert", tmp_path)]
    text = before_and_after("still", "expert", tables)
    for room in ("as it is", "in another familiar room", "in an unseen room"):
        before, after, n, difference, _ = cells(text, f"easy tasks, {room}")
        assert (before.split()[0], after.split()[0]) == ("0%", "100%")
        assert int(n) == 1
        assert difference.startswith("+100 [")
    assert cells(text, "robustness, easy")[:2] == cells(text, "robustness, all")[:2]
    assert cells(text, "`expert`")[3].startswith("0 [")


def _pairs(policy: str, out: Path) -> pl.DataFrame:
    planned = [one for one in study.rooms(policy, 1) if one.trial.task in PUSHING]
    assert {one.trial.seed for one in planned} == {200}
    return run(Request((), policy, 1), out / policy, planned=planned)


def test_the_rooms_of_all_easy_tasks_of_the_training_families_are_changed() -> None:
    trials = [one.trial for one in study.rooms("act", 25)]
    easy = {task.id for task in capability_tasks() if task.tier == "easy" and task.family != "robustness"}
    assert len(easy) == 15
    assert {trial.task for trial in trials if trial.interventions} == easy
    assert len({trial.id for trial in trials}) == len(trials) == 25 * (3 * 15 + 9)


def test_a_row_of_another_length_than_its_table_is_refused() -> None:
    with pytest.raises(ValueError, match="1 cells under 2 headings"):
        markdown(["a", "b"], [["1"]])


def test_the_page_has_a_place_for_each_part() -> None:
    page = (DOCS / "study.md").read_text()
    for part in study.PARTS:
        assert f"<!-- study: {part} -->\n" in page and f"<!-- end of study: {part} -->\n" in page


def test_a_training_curve_rises_from_left_to_right_with_its_intervals() -> None:
    low, high = Estimate(0.1, 0.0, 0.2, 20), Estimate(0.9, 0.8, 1.0, 20)
    drawn = training_curve([Trained(900.0, high, high), Trained(100.0, None, low)], "steps")
    (line,) = re.findall('<polyline points="([^"]*)" fill="none" stroke="#cc5522"', drawn)
    (x0, y0), (x1, y1) = (map(float, place.split(",")) for place in line.split())
    # Downwards is more in a picture.
    assert x0 < x1 and y0 > y1 and drawn.count("<rect") == 1
    # Of two tests and one fit each has its interval, and the curve of the fit is a single point.
    assert len(re.findall('<line [^>]*stroke="#(?:cc5522|2266aa)"', drawn)) == 3 and ">steps<" in drawn
