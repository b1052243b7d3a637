"""examples/training/reproduce.py, stage by stage: what each is called with, and that it finds what the one before left.

Demonstrations are made for real; a training and an export read their options and leave empty files. With PyTorch,
tests/peers/torch walks all of it.
"""

from __future__ import annotations

import io
import subprocess
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import typer.main

from robodx.cli.commands import app
from robodx.running.generating import Generation

TRAINING = Path(__file__).parents[2] / "examples" / "training"
sys.path.insert(0, str(TRAINING))
import arguments  # noqa: E402
import reproduce  # noqa: E402


class Processes:
    """In place of `subprocess` in reproduce.py."""

    PIPE, STDOUT = subprocess.PIPE, subprocess.STDOUT

    def __init__(self) -> None:
        self.trained: list[str] = []

    def run(self, command: Sequence[str], **options: Any) -> None:
        if command[1] != str(TRAINING / "export.py"):
            subprocess.run(command, **options)
            return
        asked = arguments.exporting(words=command[2:])
        assert asked.checkpoint.is_file()
        assert asked.out.name != "flow.onnx" or asked.out.with_name(asked.encoder).is_file()
        asked.out.touch()

    def Popen(self, command: Sequence[str], **_: object) -> SimpleNamespace:
        assert command[1] == str(TRAINING / "train.py")
        asked = arguments.training(words=command[2:])
        assert asked.data and all((Path(one) / "about.json").is_file() for one in asked.data)
        assert asked.act is None or asked.act.is_file()
        asked.out.mkdir(parents=True, exist_ok=True)
        for name in ("average", "step_000001"):
            (asked.out / f"{name}.pt").touch()
        self.trained.append(asked.network)
        return SimpleNamespace(stdout=io.StringIO("step 1\n"), wait=lambda: None, returncode=0)


def test_every_task_that_may_be_shown_is_in_one_group() -> None:
    generate = typer.main.get_group(app).commands["generate"]
    found: Counter[str] = Counter()
    for group in reproduce.GROUPS:
        words = reproduce.generate_words(group, 3, 1.0, Path("out"))
        asked = generate.make_context("generate", words).params
        found.update(Generation(tuple(asked["selectors"]), asked["episodes"], asked["first_seed"]).tasks)
    assert found == Counter(Generation(("alpha",)).tasks)


def test_each_stage_finds_what_the_one_before_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    processes, work = Processes(), tmp_path / "work"
    monkeypatch.setattr(reproduce, "subprocess", processes)
    monkeypatch.setattr(reproduce, "GROUPS", (reproduce.Group("short", ("primitive/press_switch",), 1),))
    monkeypatch.setattr(reproduce, "CAMERAS", "front@32,wrist@32")

    def walk(stage: str, *more: str) -> str:
        reproduce.main([stage, "--work", str(work), "--scale", "0.01", *more])
        return capsys.readouterr().out

    with pytest.raises(SystemExit, match="generate them first"):
        walk("act")
    assert "generated 1 of 1 parts" in walk("generate")
    with pytest.raises(SystemExit, match="made with other rooms"):
        walk("generate", "--random-rooms")
    assert walk("act") == "act: step 1\n"
    walk("no_language")
    walk("flow", "--compile")
    walk("rest")
    walk("scaling", "--shares", "0.5", "1")
    assert Counter(processes.trained) == {"act": 3, "act_no_language": 2, "flow": 2}

    monkeypatch.setattr(reproduce, "find_spec", lambda name: None)
    assert "there is no onnx and no onnxscript here" in walk("all") and not (work / "weights").exists()
    monkeypatch.setattr(reproduce, "find_spec", lambda name: name)
    walk("export")
    assert {str(path.relative_to(work / "weights")) for path in work.rglob("*.onnx")} == {
        "act.onnx", "act_no_language.onnx", "flow.onnx", "act/step_000001.onnx",
        "shares/act_share_0.5.onnx", "shares/act_share_1.onnx",
    }  # fmt: skip
