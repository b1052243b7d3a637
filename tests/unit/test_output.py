"""Nothing that came from outside steers the terminal: control characters are spelled out wherever text is printed."""

from __future__ import annotations

import io
import json
from contextlib import redirect_stderr
from dataclasses import replace
from pathlib import Path

import pytest

from robodx.output import print_text, shortened, visible
from robodx.records.trial import Trial
from robodx.running.rollout import lost
from robodx.terminal.console import progress_bar, table_lines
from tests.commands import call
from tests.viewing import episode, write_run

HOSTILE = "\x1b]0;owned\x07\x1b[2J\u009b31m\u202e"


def is_harmless(text: str) -> bool:
    return not any(letter in text for letter in HOSTILE if not letter.isprintable())


def test_control_characters_are_spelled_out_and_lines_stay_lines(capsys: pytest.CaptureFixture[str]) -> None:
    print_text("a\tb\nc", f"\x1b[31mred\r\udcff{chr(0xE0001)}", sep="-")
    assert capsys.readouterr().out == "a\tb\nc-\\u001b[31mred\\u000d\\udcff\\U000e0001\n"
    assert visible("a\nb") == "a\\u000ab" and visible("Grün — 1 × ✓") == "Grün — 1 × ✓"
    (_, row) = table_lines([{"task": f"a{HOSTILE}\nb", "n": 1}])
    assert is_harmless(row) and "\n" not in row


@pytest.mark.parametrize("length", [0, 9, 10, 11, 10**6])
def test_a_text_is_cut_at_its_end_to_at_most_so_many_letters(length: int) -> None:
    found = shortened("x" * length, 10)
    assert found == ("x" * length if length <= 10 else "x" * 9 + "…")


@pytest.mark.parametrize(
    "words",
    [
        ("summary", HOSTILE),
        ("list", HOSTILE),
        ("run", HOSTILE, "--policy", "still"),
        ("run", "primitive/press_switch", "--policy", HOSTILE),
        ("run", "primitive/press_switch", "--policy", "still", "--seeds", HOSTILE),
        ("diff", f"a{HOSTILE}", "b"),
        ("show", HOSTILE),
        ("data", "show", HOSTILE),
        ("data", "convert", HOSTILE, HOSTILE, "--format", HOSTILE),
        ("check", f"openpi://{HOSTILE}:1"),
    ],
)
def test_errors_do_not_steer_the_terminal(words: tuple[str, ...], tmp_path: Path) -> None:
    said = call(*words, cwd=tmp_path, expect=2)
    assert is_harmless(said) and "Traceback" not in said


def test_names_and_errors_in_a_foreign_run_do_not_steer_the_terminal(tmp_path: Path) -> None:
    rows = [
        episode(1, task=f"x/{HOSTILE}", policy=HOSTILE, family=HOSTILE, success=True),
        episode(2, task=f"x/{HOSTILE}", policy=HOSTILE, family=HOSTILE, outcome="error", error=HOSTILE),
        episode(3, task=f"x/{HOSTILE}", policy=HOSTILE, family=HOSTILE),
    ]
    run = write_run(tmp_path / f"run{HOSTILE}", rows, about={"not_applicable": [HOSTILE], "versions": {"x": HOSTILE}})
    for words in (
        ("summary", run, "--failures"),
        ("findings", run),
        ("report", run, "--markdown"),
        ("diff", run, run),
    ):
        said = call(*words, cwd=tmp_path, expect=1 if words[0] == "diff" else 0)
        assert is_harmless(said), words


def test_json_on_the_terminal_can_be_read_again(tmp_path: Path) -> None:
    # The last is no character of sixteen bits, which JSON escapes in two.
    run = write_run(tmp_path / "run", [episode(1, policy=f"{HOSTILE}{chr(0xE0001)}")])
    said = call("report", run, "--json", cwd=tmp_path)
    assert is_harmless(said) and json.loads(said)["policies"] == [f"{HOSTILE}{chr(0xE0001)}"]


def test_each_round_is_counted_by_itself_because_nobody_knows_how_many_follow() -> None:
    said = io.StringIO()
    trial = Trial("primitive/press_switch", 2, "still", 0)
    with redirect_stderr(said), progress_bar() as progress:
        progress(None, done=0, total=2, solved=0)
        progress(replace(lost(trial, "", 1, 0.0), outcome="success"), done=2, total=2, solved=1)
        # Of a resumed run: this round is there already.
        progress(None, done=2, total=2, solved=1)
        progress(None, done=2, total=5, solved=1)
        progress(replace(lost(trial, "", 1, 0.0), outcome="success"), done=5, total=5, solved=3)
    assert said.getvalue().splitlines() == [
        "0/2 episodes, 0 solved",
        "2/2 episodes, 1 solved",
        "round 3: 0/3 episodes, 1 solved of 2",
        "round 3: 3/3 episodes, 3 solved of 5",
    ]


def test_a_log_goes_on_by_the_clock_too() -> None:
    said, trial = io.StringIO(), Trial("primitive/press_switch", 2, "still", 0)
    ended, now_s = replace(lost(trial, "", 1, 0.0), outcome="timeout"), 0.0
    with redirect_stderr(said), progress_bar(first="Into runs/x.", clock=lambda: now_s) as progress:
        assert not said.getvalue()
        progress(None, done=0, total=40, solved=0)
        for done in range(1, 9):
            now_s += 10
            progress(ended, done=done, total=40, solved=0)
    assert said.getvalue().splitlines() == [
        "Into runs/x.",
        *(f"{done}/40 episodes, 0 solved" for done in (0, 3, 6)),
    ]


def test_the_errors_of_a_run_are_counted_by_trial_and_attempts_apart() -> None:
    said = io.StringIO()
    trials = [Trial("primitive/press_switch", 2, "still", seed) for seed in range(2)]
    with redirect_stderr(said), progress_bar() as progress:
        for attempt in range(3):
            for trial in trials:
                progress(lost(trial, f"boom {HOSTILE}", attempt, 0.0), done=2, total=2, solved=0)
        mended = replace(lost(trials[1], "", 4, 0.0), outcome="success")
        progress(mended, done=2, total=2, solved=1)
    lines = said.getvalue().splitlines()
    assert lines[-2:] == [
        "2/2 episodes, 0 solved, 2 errors, 6 attempts failed",
        "2/2 episodes, 1 solved, 1 error, 6 attempts failed",
    ]
    assert [line.split(":")[0] for line in lines if "boom" in line] == [
        f"error in {trials[0].task} seed 0",
        f"error in {trials[0].task} seed 1",
    ]
    assert is_harmless(said.getvalue())
