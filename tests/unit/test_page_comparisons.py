"""What the page says of comparisons within a run: factors added, levels that are tasks, inputs taken away."""

from __future__ import annotations

from pathlib import Path

import polars as pl

from robodx.policy_contract import CameraRequest, PolicySpec
from robodx.records.design import Planned, design_table, write_design
from robodx.records.schema import SCHEMA
from robodx.records.trial import Trial
from robodx.report.page import report
from robodx.suites.base import SuiteRequest, ask
from robodx.tasks.base import TASKS
from tests.reporting import ABOUT, episode, run_folder

EYES = PolicySpec(cameras=(CameraRequest("front"),))


def test_what_the_suites_compare_has_sections_of_its_own(tmp_path: Path) -> None:
    """Factors added, levels that are tasks, and inputs taken away; the policy fails with an added factor, and blind."""
    done = pl.DataFrame(schema=SCHEMA)
    asked = {"isolation": ("control",), "stress": ("adaptability",), "null_inputs": ("language", "direct")}
    planned: list[Planned] = []
    for _ in range(2):
        planned = [
            one for suite, within in asked.items()
            for one in ask(suite, done, SuiteRequest("vision", 8, within=within, spec=EYES))
        ]  # fmt: skip
        rows = [
            episode(one.trial.task, one.trial.seed, success=solves(one.trial), chance=TASKS[one.trial.task].chance)
            | {"trial_id": one.trial.id, "trajectory_hash": one.trial.id, "tier": TASKS[one.trial.task].tier}
            | {"perturbations": [applied(*pair) for pair in one.trial.perturbations]}
            for one in {one.trial.id: one for one in planned}.values()
        ]
        done = pl.DataFrame(rows, schema=SCHEMA)
    run = run_folder(tmp_path / "compared", rows)
    write_design(run, design_table(planned))
    found = {section.name: section.content for section in report([run]).sections}
    assert {"isolation", "graded", "null_inputs"} <= set(found)
    texts = {name: "\n".join(block.markdown() for block in content.blocks) for name, content in found.items()}
    assert "+ control: touch\\_sphere | −100 [−100, " in texts["isolation"]
    assert "v1 pick\\_moved\\_cube | 100% [68, 100]" in texts["graded"]
    assert "camera front | −100 [−100, " in texts["null_inputs"] and "in language/direct." in texts["null_inputs"]
    assert "camera" not in texts["findings"], "to be blind without a camera is no weakness"
    assert {use["input"]: use["verdict"] for use in found["null_inputs"].data}["camera front"] == "used"


def solves(trial: Trial) -> bool:
    return "_with_" not in trial.task and not trial.perturbations


def applied(name: str, value: object) -> dict[str, object]:
    return {"name": name, "word" if isinstance(value, str) else "severity": value}


def test_control_normalised_success_has_its_radar_and_stress_families_are_no_axes(tmp_path: Path) -> None:
    families = ("dynamic", "language", "spatial", "adaptability")
    rows = [episode(f"{family}/a", seed, success=seed < 2) for family in families for seed in range(4)]
    rows += [episode("primitive/pick_cube", seed, tier=None) for seed in range(4)]
    cards = {f"{family}/a": {"primitive": "primitive/pick_cube"} for family in families}
    found = report([run_folder(tmp_path / "normalised", rows, {**ABOUT, "tasks": cards})])
    (section,) = [one for one in found.sections if one.name == "control_normalised"]
    assert [one["group"] for one in section.content.data] == ["dynamic", "language", "spatial"]
    page = "".join(block.html() for block in section.content.blocks)
    assert "success / primitive" in page and "guess" not in page and "dynamic 50%" in page


def test_a_film_says_whose_left_is_where(tmp_path: Path) -> None:
    run = run_folder(tmp_path / "filmed", [episode("control/easy", 0, success=False)])
    (run / "videos").mkdir()
    trial = "vision-control/easy-0-0-"[:6]
    (run / "videos" / f"control.easy-seed0-failure-{trial}.mp4").write_bytes(b"film")
    assert "Seen from the front: the robot&#39;s left is on the right." in report([run]).html()
