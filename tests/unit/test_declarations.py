"""What is declared with a value that means nothing is refused where it is declared, and says what there is."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable
from itertools import repeat
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from robodx import CameraRequest, PolicySpec
from robodx.analysis.findings.failure_modes import FailureMode
from robodx.analysis.metrics.base import episode_metric, metric
from robodx.analysis.verdicts import check_margin
from robodx.errors import UserError
from robodx.perturbations.base import perturbation
from robodx.policy_contract import Observation, policy, replies
from robodx.records.trial import Trial
from robodx.registry import load_plugin
from robodx.report.sections.base import section
from robodx.running.request import Request
from robodx.running.rollout import rollout
from robodx.tasks.base import task
from robodx.users_code import UsersCodeError
from robodx.wires.base import Names
from robodx.wires.preset import BadPreset, native
from robodx.wires.preset_files import find_preset
from robodx.wires.protocols.base import PROTOCOLS, ProtocolEntry, describe, serve
from tests.commands import call

TASK = "primitive/press_switch"
WRONG: Any = "nothing"


@pytest.mark.parametrize(
    ("declare", "told"),
    [
        (lambda: perturbation("odd", kind=WRONG, levels={"v1": 1.0}), 'No kind of perturbation "nothing". There are'),
        (lambda: metric(unit="rate", better=WRONG), 'better "nothing". There are: higher, lower, neither'),
        (lambda: episode_metric(unit=WRONG, better="higher"), 'No unit "nothing"'),
        (lambda: section(order=WRONG, title="Mine")(lambda material: None), "is a number, not 'nothing'"),
        (lambda: task(family="odd", varies=(), chance=1.0, tags=3), "a tuple of texts, not 3"),  # type: ignore[arg-type]
        (lambda: policy(3), "the name of a policy is a text, not 3"),  # type: ignore[arg-type]
        (lambda: FailureMode("flag", "detour", None, "it strays"), "a boolean for each episode, not None"),  # type: ignore[arg-type]
        (lambda: load_plugin("an_empty_folder", is_known=True), "an_empty_folder is a folder without an __init__.py"),
        (lambda: check_margin(1e-320), "not between 0.001 and 1"),
        (lambda: Request((TASK,), "still", 1, until_width=1e-300), "must be at least 0.001 and below 1"),
    ],
)  # fmt: skip
def test_a_value_that_means_nothing_is_refused(declare: Callable[[], Any], told: str) -> None:
    with pytest.raises(UserError) as refused:
        made = declare()
        if callable(made):
            made(Declared)
    assert told in str(refused.value)


class Declared:
    """Declared with something that means nothing."""

    spec = PolicySpec(uses_language=False, state=())

    def reset(self, starts: Any) -> None: ...

    def act(self, observations: Any) -> Any:
        return repeat(np.zeros((1, 7), np.float32))

    def finish(self, ids: Any) -> None: ...


@pytest.fixture(autouse=True)
def an_empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "an_empty_folder").mkdir()
    monkeypatch.syspath_prepend(tmp_path)


def test_a_camera_has_a_name() -> None:
    with pytest.raises(ValueError, match="the name of a camera is a text, not None"):
        CameraRequest(None)  # type: ignore[arg-type]


def test_a_server_of_ours_gives_no_complex_numbers() -> None:
    with pytest.raises(ValueError, match="the policy gave actions of type complex128, not numbers"):
        native(Declared.spec, Names()).reply(np.zeros((1, 7), complex))


def test_replies_without_end_are_counted_no_further_than_needed() -> None:
    with pytest.raises(UserError, match="act returned a repeat: it must return a list with one chunk of actions"):
        replies(Declared(), [Observation("one", 0, 0.0, "", {})])


def test_the_last_line_of_an_error_names_it_whatever_it_is() -> None:
    class Several(Declared):
        def act(self, observations: Any) -> Any:
            raise ExceptionGroup("several", [ValueError("one"), KeyError("two")])

    (finished,) = rollout([Trial(TASK, 2, "several", 0)], Several())
    last = (finished.episode.error or "").splitlines()[-1]
    assert re.fullmatch(r"ExceptionGroup: several \(2 sub-exceptions\) \(.*test_declarations\.py:\d+\)", last)


def test_a_preset_that_is_nested_without_end_is_refused(tmp_path: Path) -> None:
    (tmp_path / "deep.toml").write_text(f"name = {'[' * 5000}{']' * 5000}")
    with pytest.raises(BadPreset, match="is no TOML"):
        find_preset(str(tmp_path / "deep.toml"))


def test_a_protocol_of_a_user_says_whose_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: Any) -> None:
        raise ValueError("the reason")

    nothing: Any = lambda place: None  # noqa: E731
    entry = ProtocolEntry("odd", nothing, "//HOST:PORT", "", fails, 8000, Names())
    monkeypatch.setattr(PROTOCOLS, "_entries", {**{name: PROTOCOLS[name] for name in PROTOCOLS}, "odd": entry})
    with pytest.raises(UserError, match=r"odd gave None for //a:1: it must be a robodx\.wires\.base\.Wire"):
        describe("odd://a:1")
    with pytest.raises(UsersCodeError, match="the server of the protocol odd raised ValueError: the reason"):
        serve(Declared(), "odd", lambda port, preset: None)


@pytest.mark.parametrize("words", [("serve", "still", "--host", ""), ("check", "openpi://127.0.0.1:0")])
def test_no_host_and_no_port_are_not_any_host_and_another_port(words: tuple[str, ...], tmp_path: Path) -> None:
    assert "names no port" in (said := call(*words, cwd=tmp_path, expect=2)) or "is no host name" in said


def test_a_damaged_trajectory_that_is_replayed_is_named(tmp_path: Path) -> None:
    call("run", TASK, "--policy", "still", "--seeds", "1", "--out", "run", cwd=tmp_path)
    (path,) = (tmp_path / "run" / "trajectories").iterdir()
    path.write_bytes(b"no trajectory")
    said = call("run", TASK, "--policy", "replay:run", "--seeds", "1", "--out", "again", cwd=tmp_path, expect=1)
    assert f"run/trajectories/{path.name} cannot be replayed" in said


def test_the_version_is_told(tmp_path: Path) -> None:
    assert call("--version", cwd=tmp_path).strip()[0].isdigit()


def test_ctrl_c_after_all_is_done_changes_nothing() -> None:
    code = """
import os, signal, sys
from robodx.cli import main
class Late:
    def __del__(self, kill=os.kill, pid=os.getpid(), number=signal.SIGINT):
        kill(pid, number)
late = Late()
sys.argv = ["robodx", "--version"]
main()
"""
    assert subprocess.run([sys.executable, "-c", code], stdout=subprocess.DEVNULL).returncode == 0


def test_a_policy_may_go_to_another_folder(tmp_path: Path) -> None:
    (tmp_path / "wanders.py").write_text(WANDERS)
    call("run", TASK, "--policy", "python:wanders:Wandering", "--seeds", "2", "--out", "run", cwd=tmp_path, expect=0)
    assert len(list((tmp_path / "run" / "trajectories").iterdir())) == 2


WANDERS = """
import os
import numpy as np
from robodx import CameraRequest, PolicySpec

class Wandering:
    spec = PolicySpec(uses_language=False, state=())
    def reset(self, starts): os.chdir("/")
    def act(self, observations): return [np.zeros((400, 7), np.float32) for _ in observations]
    def finish(self, ids): pass
"""
