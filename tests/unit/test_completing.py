"""The Tab key: asked as a shell asks, through the environment; quick, because nothing heavy is loaded."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from robodx.cli.completing import NAMES, preset_names, selector_names
from tests.commands import call

Ask = Callable[..., list[str]]
SCRIPT = Path(__file__).parents[2] / "scripts" / "completion_names.py"


@pytest.fixture
def ask(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Ask:
    """What bash is offered for the last of these words."""

    def ask(*words: str) -> list[str]:
        monkeypatch.setenv("_ROBODX_COMPLETE", "complete_bash")
        monkeypatch.setenv("COMP_WORDS", " ".join(("robodx", *words)))
        monkeypatch.setenv("COMP_CWORD", str(len(words)))
        return call(cwd=tmp_path).split()

    return ask


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        (("diag",), ["diagnose"]),
        (("run", "capab"), ["capability"]),
        (("run", "control/st"), ["control/stack_cube", "control/stack_four", "control/stack_three"]),
        (("run", "control", "--policy", "ope"), ["open_loop", "openpi", "openvla+http"]),
        (("diagnose", "vis"), ["vision"]),
        (("check", "ran"), ["random"]),
        (("run", "--preset", "droi"), ["droid"]),
        (("show", "language/neg"), ["language/negation"]),
        (("cliff", "primitive/pick_cube", "--stressor", "packet"), ["packet_loss"]),
        (("list", "inter"), ["interventions"]),
        (("run", "--print-c"), ["--print-config"]),
        (("run", "zzz"), []),
    ],
)
def test_names_are_offered_where_they_are_asked_for(words: tuple[str, ...], offered: list[str], ask: Ask) -> None:
    assert ask(*words) == offered


def test_zsh_is_answered_in_its_own_words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("_ROBODX_COMPLETE", "complete_zsh")
    monkeypatch.setenv("_TYPER_COMPLETE_ARGS", "robodx run control/har")
    assert '"control/hard"' in call(cwd=tmp_path)


def test_the_names_are_those_of_the_registries() -> None:
    # In a process of its own: other tests register names of theirs.
    code = f"import sys; sys.path.insert(0, {str(SCRIPT.parent)!r})\nimport json, completion_names\n"
    code += "print(json.dumps(completion_names.shipped(), indent=1))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == NAMES.read_text(), "run make vocabulary"


def test_tasks_are_offered_once_a_family_is_there() -> None:
    assert not [
        name for name in selector_names("") if name.count("/") and not name.endswith(("easy", "medium", "hard"))
    ]
    assert "control/push_cube" in selector_names("control/")


def test_presets_of_your_own_are_offered_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine").mkdir()
    for name in ("mine/own.toml", "mine/notes.txt", "more.toml", ".hidden.toml"):
        (tmp_path / name).touch()
    assert {"mine/", "more.toml"} <= set(preset_names("m")) and ".hidden.toml" not in preset_names("")
    assert preset_names("mine/") == ["mine/own.toml"] and preset_names("nowhere/") == []


def test_what_the_shell_runs_loads_nothing_heavy() -> None:
    check = """
import sys
sys.argv = ["robodx"]
try:
    from robodx.cli import main
    main()
finally:
    heavy = {"numpy", "polars", "mujoco", "scipy", "gymnasium", "av", "jinja2"} & set(sys.modules)
    print(sorted(heavy), file=sys.stderr)
"""
    asked = {"_ROBODX_COMPLETE": "complete_bash", "COMP_WORDS": "robodx run cap", "COMP_CWORD": "2"}
    done = subprocess.run([sys.executable, "-c", check], env=os.environ | asked, capture_output=True, text=True)
    assert (done.stdout.split(), done.stderr.split()) == (["capability"], ["[]"])


def test_completion_is_installed_when_asked_for_and_works_in_bash(tmp_path: Path) -> None:
    home, bin_ = tmp_path / "home", tmp_path / "bin"
    home.mkdir()
    bin_.mkdir()
    robodx = bin_ / "robodx"
    code = 'import sys; sys.argv[0] = "robodx"; from robodx.cli import main; main()'
    robodx.write_text(f"#!/bin/sh\nexec {sys.executable} -c '{code}' \"$@\"\n")
    robodx.chmod(0o755)
    # The shell is named instead of found out by its process.
    env = os.environ | {
        "HOME": str(home), "PATH": f"{bin_}:{os.environ['PATH']}", "_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION": "1"
    }  # fmt: skip

    def run(*words: str) -> str:
        done = subprocess.run([*words], env=env, capture_output=True, text=True, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        return done.stdout

    shown = run("robodx", "--show-completion", "bash")
    assert "_ROBODX_COMPLETE=complete_bash" in shown and not list(home.iterdir()), "shown, and nothing is installed"
    run("robodx", "--install-completion", "bash")
    assert {path.name for path in home.iterdir()} >= {".bashrc"}
    offered = run(
        "bash", "-c",
        'source "$HOME/.bashrc"; COMP_WORDS=(robodx show control/push); COMP_CWORD=2; _robodx_completion robodx; '
        'echo "${COMPREPLY[@]}"; complete -p robodx',
    )  # fmt: skip
    assert offered.splitlines()[0] == "control/push_cube" and "_robodx_completion robodx" in offered


def test_completion_for_a_shell_that_is_named_is_refused_instead_of_that_of_another(tmp_path: Path) -> None:
    said = call("--show-completion", "fish", cwd=tmp_path, expect=2)
    assert "--show-completion is for the shell that it is typed in" in said and '"fish"' in said
