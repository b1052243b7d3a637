"""What scripts write into the docs is up to date."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest

import robodx.environments  # registers them
from robodx import CameraRequest, Environment, PolicySpec, Trial
from robodx.language.lexicon import KINDS
from robodx.language.reading import read
from robodx.perturbations.base import PERTURBATIONS
from robodx.sim.colours import PALETTE
from robodx.sim.geometry import Pose, rotate
from robodx.tasks.base import TASKS

DOCS = Path(__file__).parents[2] / "docs"
SCRIPTS = DOCS.parent / "scripts"


def test_the_contact_sheet_shows_every_capability_task_with_its_instruction() -> None:
    page = (DOCS / "suites" / "capability.md").read_text()
    shown = dict(re.findall(r"!\[([\w/]+)\]\(\.\./images/capability/[\w.]+\.jpg\)<br>`\w+`<br>([^|]+?) \|", page))
    tasks = [task for task in TASKS.entries() if "capability" in task.tags and task.tier]
    assert len(tasks) == 54
    assert shown == {task.id: task.situation(0).instruction.text for task in tasks}, "run make pictures"
    for task in tasks:
        assert (DOCS / "images" / "capability" / f"{task.id.replace('/', '.')}.jpg").is_file()


def test_the_table_of_vision_has_every_capability_task() -> None:
    page = (DOCS / "suites" / "capability.md").read_text()
    table = page.partition("<!-- table of vision -->")[2].partition("<!-- end of table of vision -->")[0]
    missing = [task.id for task in TASKS.entries() if "capability" in task.tags and f"`{task.id}`" not in table]
    assert not missing, "run make vision-table"


def test_every_stressor_is_documented_with_its_levels_and_what_it_costs() -> None:
    declared = (DOCS / "perturbations.md").read_text()
    measured = (DOCS / "suites" / "stress.md").read_text().partition("<!-- tables of stress -->")[2]
    for entry in PERTURBATIONS.entries():
        if not entry.is_stressor:
            continue
        row = next((line for line in declared.splitlines() if line.startswith(f"| `{entry.name}` |")), "")
        levels = [float(cell) for cell in re.findall(r"\| ([\d.]+) (?=\|)", row)]
        assert levels == list(entry.levels.values()), f"{entry.name}: {row}"
        for policy in ("expert", "vision"):
            table = measured.partition(f"**{policy}**")[2].partition("**")[0]
            # One that is told apart for static and moving carriers has a row for each.
            has_row = re.search(rf"^\| `{entry.name}( \(\w+\))?` \|", table, re.MULTILINE)
            (beside,) = re.findall(r"^expert reads no pictures, so (.*) do not apply to it\.$", measured, re.MULTILINE)
            is_beside = policy == "expert" and entry.name in re.split(", | and ", beside)
            assert bool(has_row) != is_beside, "run make stress-table"


def test_the_vocabulary_is_that_of_the_code_and_its_sentences_are_understood() -> None:
    # In a process of its own: other tests register verbs of theirs.
    code = f"""
import sys, json
sys.path.insert(0, {str(SCRIPTS)!r})
import vocabulary
said = [vocabulary.kinds_said(), vocabulary.verbs_said(), *vocabulary.descriptions_said().values()]
print(json.dumps([vocabulary.text(), [*said, vocabulary.sentences_said()]]))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    text, said = json.loads(done.stdout)
    page = (DOCS / "vocabulary.md").read_text()
    written = page.partition("<!-- vocabulary -->")[2].partition("<!-- end of vocabulary -->")[0]
    assert written.strip() == text.strip(), "run make vocabulary"
    assert set(said[0]) == set(KINDS) and all(f"\n| {colour} | `#" in text for colour in PALETTE)
    for sentence in (sentence for words in said for sentence in words.values()):
        assert read(sentence).clauses, sentence
    for name in ("README.md", "docs/tasks.md"):
        assert "vocabulary.md" in (DOCS.parent / name).read_text()


def test_the_readmes_python_runs_and_every_environment_that_is_named_exists(capsys: pytest.CaptureFixture[str]) -> None:
    root = DOCS.parent
    own, snippet = re.findall(r"```python\n(.*?)```", (root / "README.md").read_text(), re.DOTALL)
    made: dict[str, Any] = {}
    exec(own, made)
    assert robodx.evaluate(made["Down"](), "control/push_cube", seeds=1).episodes["outcome"].to_list() != ["error"]
    exec(snippet, {})
    assert re.fullmatch(r"success 1\.0 \(\d+, 1, 7\)\n", capsys.readouterr().out)
    named = {
        name
        for page in (root / "README.md", *DOCS.rglob("*.md"), *(root / "src").rglob("*.py"))
        for name in re.findall(r"robodx/\w+\.\w+-v\d+", page.read_text())
    }
    assert named
    for name in named:
        gymnasium.make(name).close()


@pytest.mark.parametrize("camera", ["front", "wrist"])
def test_a_cameras_pose_means_what_the_conventions_say(camera: str) -> None:
    """The page's own function finds the cubes where the simulator has them."""
    (snippet,) = re.findall(r"```python\n(.*?)```", (DOCS / "conventions.md").read_text(), re.DOTALL)
    made: dict[str, Any] = {}
    exec(snippet, made)
    spec = PolicySpec(cameras=(CameraRequest(camera, depth=True, segmentation=True),), state=("ee_pose", "base_pose"))
    environment = Environment(Trial("control/stack_cube", TASKS["control/stack_cube"].version, "x", 0), spec)
    calibration, seen = environment.start().cameras[camera], environment.observe()
    poses = [seen.state[name].tolist() for name in ("base_pose", "ee_pose")]
    base, tool = (Pose.of(pose[:3], pose[3:]) for pose in poses)
    assert calibration.frame == {"front": "base", "wrist": "tool"}[camera]
    np.testing.assert_allclose(rotate(calibration.pose.quaternion, (0, 0, 1)), calibration.pose.matrix[:, 2])
    found = 0
    for index, name in enumerate(seen.segmentation_names):
        rows, columns = np.nonzero(seen.segmentation[camera] == index)
        if name.endswith("cube") and len(rows) > 8:
            points = [made["point_of"](calibration, seen.depth[camera], *at) for at in zip(rows, columns, strict=True)]
            frame = base if camera == "front" else base @ tool
            off = np.mean([frame.apply(point) for point in points], axis=0) - environment.world.position(name)
            assert np.linalg.norm(off) < 0.025, "of its surface the camera sees one side of a 40 mm cube"
            found += 1
    environment.close()
    assert found
