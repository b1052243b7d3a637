"""The examples and the README's commands do what they say."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from robodx.records.pairs import read_pairs
from robodx.records.table import load
from robodx.suites import deciding, diagnosis, pairs
from robodx.video import film, layout
from tests.commands import call

ROOT = Path(__file__).parent.parent.parent
# A protocol's command serves until it is interrupted (tests/wires/test_protocols.py has it), and an export's is about a
# run that is there (tests/unit/test_exports.py).
ELSEWHERE = {ROOT / "examples" / name for name in ("my_protocol.py", "my_export.py")}
EXAMPLES = sorted(set((ROOT / "examples").glob("*.py")) - ELSEWHERE)
SCREENED = ("generated", "primitive")
ROBODX = (sys.executable, "-c", "from robodx.cli import main; main()")


def run(command: str, cwd: Path) -> str:
    words = shlex.split(command)
    assert words.pop(0) == "robodx"
    words = [str(ROOT / word) if word.startswith("examples/") else word for word in words]
    result = subprocess.run([*ROBODX, *words], cwd=cwd, text=True, capture_output=True, timeout=240)
    assert result.returncode == 0, f"{command}\n{result.stdout}{result.stderr}"
    return result.stdout


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_the_command_in_an_examples_first_line_works(example: Path, tmp_path: Path) -> None:
    match = re.search(r'"""[^:]*: ((robodx|python) .*)"""', example.read_text())
    assert match is not None
    if match[2] == "python":
        words = [sys.executable, *shlex.split(match[1])[1:]]
        assert subprocess.run(words, cwd=ROOT, text=True, capture_output=True, check=True, timeout=240).stdout
        return
    if example.stem == "my_intervention":
        assert "room_table_colour: pearl grey → blue" in run(match[1], tmp_path)
        return
    run(f"{match[1]} --seeds 2 --out run", tmp_path)
    table = load(tmp_path / "run")
    assert "error" not in table["outcome"].to_list()
    if example.stem in ("my_task", "my_verb"):
        assert table["success"].all(), "the expert solves a task it has never seen"
    if example.stem == "my_metric":
        run("robodx summary run --metric quick_success --plugin examples/my_metric.py", tmp_path)
    if example.stem == "my_quantity":
        reported = run("robodx summary run --metric hesitation_s --json --plugin examples/my_quantity.py", tmp_path)
        values = [one["values"]["hesitation_s"]["value"] for one in json.loads(reported)["metrics"]]
        assert values and all(0 <= value < 20 for value in values)
    if example.stem == "my_section":
        run("robodx report run --plugin examples/my_section.py", tmp_path)
        assert "expert dropped something 0 times in 6 episodes." in (tmp_path / "run" / "report.html").read_text()
    if example.stem == "my_relation":
        pairs = read_pairs(tmp_path / "run")
        assert pairs is not None and set(pairs["relation"]) == {"MR0", "turned"}
    if example.stem == "my_finding":
        assert "detours. Its hand goes more than 1.5 times the expert's way" in run(
            "robodx findings run --plugin examples/my_finding.py", tmp_path
        )


def test_the_readmes_commands_work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # Small films: to draw them as large as they are would take longer than all the rest.
    monkeypatch.setattr(layout, "OVERVIEW", 96)
    monkeypatch.setattr(film, "QUALITY", "fast")
    # And a diagnosis of fewer situations and tasks: tests/unit/test_diagnosis.py has all of it.
    monkeypatch.setattr(diagnosis, "FACTORIAL", 8)
    monkeypatch.setattr(deciding, "MOST_EPISODES", 12)
    monkeypatch.setattr(pairs, "MOST_GENERATED", 40)
    monkeypatch.setattr(diagnosis, "select", lambda words, tasks: [one for one in tasks if one.family in SCREENED])
    commands = re.findall(r"^robodx [^#\n]+", (ROOT / "README.md").read_text(), flags=re.MULTILINE)
    assert len(commands) >= 8
    # Two workers once are enough: to start them takes longer than most of these commands, and they know nothing of the
    # above.
    *others, last = [place for place, command in enumerate(commands) if " --workers 2" in command]
    for place, command in enumerate(commands):
        # Half as many do all the same.
        words = re.sub(r"--(seeds|episodes) (\d+)", lambda found: f"--{found[1]} {(int(found[2]) + 1) // 2}", command)
        words = words.replace(" --workers 2", "") if place in others else words
        words += " --size 96" if words.startswith("robodx show") else ""
        call(*shlex.split(words)[1:], cwd=tmp_path)
    assert "diagnose" not in commands[last]
