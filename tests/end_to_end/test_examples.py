"""The examples and the README's commands do what they say."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from typer.main import get_command

from robodx.cli.commands import app
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
    said = ""
    for place, command in enumerate(commands):
        words = command.replace(" --workers 2", "") if place in others else command
        if "replay:" in words or "packet_loss" in words or " why " in words:
            # Half as many do all the same; the others are as many as their verdict needs.
            words = re.sub(r"--(seeds|episodes) (\d+)", lambda found: f"--{found[1]} {-(-int(found[2]) // 2)}", words)
        words += " --size 96" if words.startswith("robodx show") else ""
        said += call(*shlex.split(words)[1:], cwd=tmp_path)
    assert "diagnose" not in commands[last]
    for verdict in ("expert improved on guess: ", "expert breaks under payload", "Cliff at payload "):
        assert verdict in said, "an example that ends undecided shows nothing"


def test_the_tutorials_policy_fails_and_is_mended_and_its_commands_are_understood(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = (ROOT / "docs" / "tutorial.md").read_text()
    (policy,) = re.findall(r"^```python\n(.*?)^```", page, flags=re.DOTALL | re.MULTILINE)
    ((wrong, right),) = re.findall(r"^sed -i\.bak 's/(.+)/(.+)/' boxed\.py$", page, flags=re.MULTILINE)
    (tmp_path / "boxed.py").write_text(policy)
    # Of a file that is changed within a second, old bytecode would be taken for new.
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    said = []
    for command in re.findall(r"^robodx (.+)", page, flags=re.MULTILINE):
        name, *words = shlex.split(command.replace("--seeds 10 --workers 2", "--seeds 1"))
        if name in ("check", "run"):
            if "--against" in words:
                (tmp_path / "boxed.py").write_text(policy.replace(wrong, right))
            monkeypatch.delitem(sys.modules, "boxed", raising=False)
            said.append(call(name, *words, cwd=tmp_path))
        else:
            # What these do has tests of its own; here a few episodes say less than they cost.
            assert get_command(app).commands[name].make_context(name, words).params  # type: ignore[attr-defined]
    checked, before, after = said
    assert "It can be run." in checked
    assert re.search(r"By episode: [0-3] of 4 solved\.", before) and "By episode: 4 of 4 solved." in after
