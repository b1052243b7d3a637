"""Numbers beyond all bounds are refused in one line, before anything is written: no run spins, no folder is dead."""

from __future__ import annotations

import inspect
import math
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, get_args, get_type_hints

import pytest
from typer.models import ParameterInfo

from robodx.analysis import motion
from robodx.cli.commands import app
from robodx.errors import UserError
from robodx.perturbations.base import PERTURBATIONS, Perturbation, perturbation
from robodx.policy_contract import make_policy
from robodx.records.episode import Episode
from robodx.records.folder import RunFolder, Unrecordable
from robodx.records.trial import Trial
from robodx.running import reference
from robodx.running.loop import Loop
from robodx.running.observers import Finished
from robodx.running.request import Request
from robodx.running.rollout import lost, rollout
from robodx.running.run import Execution
from robodx.streams import Streams
from robodx.tasks.base import LONGEST_S, TASKS, Situation, task
from tests.commands import call

TASK = "primitive/press_switch"
HUGE = 99999999999999999999


def options() -> Iterator[tuple[str, str, type, ParameterInfo]]:
    """Every option and argument of every command that is a number, with its declaration."""
    groups = {"": app, **{f"{one.name} ": one.typer_instance for one in app.registered_groups if one.typer_instance}}
    for group, command in ((name, one) for name, each in groups.items() for one in each.registered_commands):
        assert command.callback is not None
        hints = get_type_hints(command.callback, include_extras=True)
        for name in inspect.signature(command.callback).parameters:
            kind, *said = get_args(hints[name]) or (hints[name],)
            kinds = {kind, *get_args(kind)} & {int, float}
            for info in (one for one in said if isinstance(one, ParameterInfo) and kinds):
                yield group + (command.name or command.callback.__name__), name, kinds.pop(), info


def test_every_whole_number_of_the_command_line_has_bounds() -> None:
    unbounded = [
        (command, name) for command, name, kind, info in options() if kind is int and None in (info.min, info.max)
    ]
    assert unbounded == [] and len(list(options())) > 20


FLOATS = {
    "report": ("RUN",), "compare": ("A", "B"), "run": (TASK, "--policy", "still", "--against", "A"),
    "generate": (TASK, "--episodes", "1"), "review": ("RUN",), "teleop": (TASK, "--no-browser"),
    "fairness": ("bias/put_solid_in_box",),
}  # fmt: skip


@pytest.mark.parametrize("number", ["nan", "inf"])
def test_every_number_of_the_command_line_must_be_finite(tmp_path: Path, number: str) -> None:
    floats = [(command, name) for command, name, kind, _ in options() if kind is float]
    assert len(floats) >= 5
    for command, name in floats:
        option = "--" + name.replace("_", "-")
        said = call(command, *FLOATS[command], option, number, cwd=tmp_path, expect=2)
        assert "Traceback" not in said and option in said and number in said, (option, said)
    assert not list(tmp_path.iterdir()), "nothing is left behind"


@pytest.mark.parametrize(
    "words",
    [("--batch", HUGE), ("--workers", HUGE), ("--retries", HUGE), ("--video", HUGE), ("--shuffle", HUGE),
     ("--seeds", 100_000, "--repeats", 1000), ("--shard", f"1/{'9' * 5000}"), ("--perturb", "actuator_latency=1e301")],
)  # fmt: skip
def test_what_is_beyond_all_bounds_is_refused_before_anything_is_written(
    tmp_path: Path, words: tuple[object, ...]
) -> None:
    said = call("run", TASK, "--policy", "still", *map(str, words), cwd=tmp_path, expect=2)
    assert "Traceback" not in said and len(said) < 7000
    assert not list(tmp_path.iterdir()), "nothing is left behind"


@pytest.mark.parametrize("given", [{"batch": 0}, {"batch": HUGE}, {"seeds": 100_000, "repeats": 1000}])
def test_a_request_from_python_has_the_same_bounds(given: dict[str, Any]) -> None:
    with pytest.raises(UserError, match="it must be"):
        Request((TASK,), "still", **{"seeds": 1, **given})


@pytest.mark.parametrize("given", [{"workers": 0}, {"workers": HUGE}, {"retries": -1}, {"retries": HUGE}])
def test_an_execution_from_python_has_the_same_bounds(given: dict[str, Any]) -> None:
    with pytest.raises(UserError, match=r"is -?\d+: it must be"):
        Execution(**given)


def situate(streams: Streams) -> Situation:
    raise NotImplementedError


@pytest.mark.parametrize("seconds", [math.nan, math.inf, -1.0, 0.0, 1e-9, 1e12, LONGEST_S + 1])
def test_a_task_without_a_sensible_time_limit_is_refused(seconds: float) -> None:
    with pytest.raises(UserError, match=r"the time limit of the task limits/\w+ must be 0.2 to 3600 seconds, not"):
        task(family="limits", varies=(), chance=1.0, time_limit_s=seconds)(situate)
    assert not any(name.startswith("limits/") for name in TASKS)


@pytest.mark.parametrize("version", [0, -1, 2**31, HUGE])
def test_a_task_whose_version_cannot_be_recorded_is_refused(version: int) -> None:
    with pytest.raises(UserError, match=rf"the version of the task limits/\w+ must be 1 to \d+, not {version}"):
        task(family="limits", varies=(), chance=1.0, version=version)(situate)


@pytest.mark.parametrize("level", [math.nan, math.inf, -1.0, 1e301, (("x_m", math.nan),)])
def test_a_perturbation_whose_levels_are_no_numbers_is_refused(level: Any) -> None:
    with pytest.raises(UserError, match="limits_level"):
        perturbation("limits_level", kind="scene", levels={"v1": level})(Perturbation)
    assert "limits_level" not in PERTURBATIONS


def test_nothing_is_written_that_could_not_be_read_again(tmp_path: Path) -> None:
    facts = {"versions": {}, "tasks": {"a/b": {"time_limit_s": math.nan}}}
    with (
        pytest.raises(Unrecordable, match=r"cannot be recorded.*tasks\.a/b\.time_limit_s is nan, not a number"),
        RunFolder.open(tmp_path / "run", {}, facts),
    ):
        pass
    assert not list(tmp_path.iterdir())


def test_nothing_is_executed_when_all_is_solved() -> None:
    asked: list[int] = []

    def execute(trials: list[Trial]) -> Iterator[Episode]:
        asked.append(len(trials))
        return (replace(lost(trial, "", 1, 0.0), outcome="success") for trial in trials)

    assert len(list(Loop(execute, retries=10_000)._persist([Trial(TASK, 2, "still", 0)]))) == 1
    assert asked == [1]


def test_an_episode_that_could_not_be_read_again_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(motion, "path_length_m", lambda tools: math.inf)
    ((episode, _),) = rollout([Trial(TASK, 2, "expert", 0)], make_policy("expert"))
    assert episode.outcome == "error" and "path_length_m of this episode is inf" in (episode.error or "")


def test_a_task_that_is_solved_from_the_start_has_no_ratio_of_paths(monkeypatch: pytest.MonkeyPatch) -> None:
    trial = Trial(TASK, 2, "still", 0)
    needs = reference.Needs(path_m=0.0, duration_s=0.0, grasps=0)
    monkeypatch.setitem(reference._NEEDS, reference.reference_trial(trial).id, needs)
    finished = Finished(replace(lost(trial, "", 1, 0.0), outcome="success", path_length_m=0.5), None)
    assert reference.ExpertReference().after_episode(trial, finished).episode.length_ratio is None
