"""`make hostile` must be able to fail: its judge counts what it is there to find."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hostile import bad_plugins, bad_policies, kills, processes
from hostile.commands import commands
from hostile.judging import PIPE, Case, Ending, defects_of
from hostile.kills import SCENARIOS, Saved, lost, saved_episodes

from robodx.wires.protocols.base import served_protocols

ROOT = Path(__file__).parent.parent.parent
OURS = f'Traceback (most recent call last):\n  File "{ROOT}/src/robodx/cli/app.py", line 3, in f\n    x\nKeyError: 1\n'
THEIRS = 'Traceback (most recent call last):\n  File "/home/me/my_policy.py", line 3, in act\n    x\nKeyError: 1\n'


def case(**fields: object) -> Case:
    return Case("test", "a case", ("list",), **{"exits": frozenset({2}), **fields})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("ending", "kinds"),
    [
        (Ending(2, "robodx: no such thing"), []),
        (Ending(2, f"the policy failed:\n{THEIRS}"), []),
        (Ending(2, OURS), ["traceback"]),
        (Ending(2, f"{THEIRS}\nDuring that, another:\n\n{OURS}"), ["traceback"]),
        (Ending(2, "Exception ignored in: <function f>"), ["traceback"]),
        (Ending(2, "thread '<unnamed>' (12) panicked at src/lib.rs"), ["traceback"]),
        (Ending(2, 'No task "\x1b[31mred"'), ["escape code"]),
        (Ending(0, "done"), ["exit code"]),
        (Ending(-11, "something"), ["exit code"]),
        (Ending(2, " \n"), ["silent"]),
        (Ending(0, ""), ["exit code", "silent"]),
        (Ending(None, "0/1 episodes"), ["hang"]),
        (Ending(2, "robodx: no", left_behind=2), ["left behind"]),
    ],
)
def test_the_judge_finds_what_is_wrong(ending: Ending, kinds: list[str]) -> None:
    assert [one.kind for one in defects_of(case(), ending)] == kinds


def test_a_message_must_say_what_it_is_about() -> None:
    assert [one.kind for one in defects_of(case(says="weights"), Ending(2, "it failed"))] == ["unclear"]
    assert not defects_of(case(says="weights"), Ending(2, "no Weights"))


@pytest.mark.parametrize(
    ("code", "fields", "kinds"),
    [
        ("import sys; sys.exit('no')", {"exits": frozenset({1})}, []),
        ("import time; print('x', flush=True); time.sleep(60)", {"deadline_s": 0.5}, ["hang"]),
        ("pass", {}, ["exit code", "silent"]),
        ("from robodx.records.values import spelled; spelled()", {}, ["traceback", "exit code"]),
        ("print('x' * 100_000)", {"exits": frozenset({1}), "into": PIPE}, ["traceback"]),
        (
            "import time; print('Serving', flush=True); time.sleep(60)",
            {"serves": "Serving"},
            ["traceback", "exit code"],
        ),
    ],
)
def test_processes_are_judged_by_how_they_end(
    code: str, fields: dict[str, object], kinds: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(processes, "ROBODX", (sys.executable, "-c", code))
    monkeypatch.setattr(processes, "LINGER_S", 0.0)
    assert [one.kind for one in processes.tried(case(**fields)).defects] == kinds


def folder_of(path: Path) -> Path:
    """Two episodes as a run has them."""
    (path / "run/episodes").mkdir(parents=True)
    (path / "run/trajectories").mkdir()
    rows = {"trial_id": ["a", "b"], "trajectory_hash": ["1", "2"], "wall_s": [0.5, 0.25], "outcome": ["timeout"] * 2}
    pl.DataFrame(rows).write_parquet(path / "run/episodes/all.parquet")
    for trial in ("a", "b"):
        np.savez(path / f"run/trajectories/{trial}.npz", qpos=np.zeros(3))
    return path


def rewrite(folder: Path, change: Callable[[pl.DataFrame], pl.DataFrame]) -> None:
    table = folder / "run/episodes/all.parquet"
    change(pl.read_parquet(table)).write_parquet(table)


def test_what_a_kill_may_cost_is_found(tmp_path: Path) -> None:
    base = folder_of(tmp_path / "base")
    harms: dict[str, Callable[[Path], object]] = {
        "nothing": lambda folder: None,
        "1 of 2 episodes are missing": lambda folder: rewrite(folder, lambda table: table.head(1)),
        "1 episodes went otherwise": lambda folder: rewrite(
            folder, lambda table: table.with_columns(trajectory_hash=pl.Series(["1", "9"]))
        ),
        "gone or were run again": lambda folder: rewrite(folder, lambda table: table.with_columns(wall_s=pl.lit(3.0))),
        "b.npz is in only one": lambda folder: (folder / "run/trajectories/b.npz").unlink(),
        "b.npz cannot be read": lambda folder: (folder / "run/trajectories/b.npz").write_bytes(b"PK\x03\x04"),
    }
    for number, (said, harm) in enumerate(harms.items()):
        folder = folder_of(tmp_path / str(number))
        saved = saved_episodes(folder)
        assert saved["run", "b"] == Saved("2", 0.25)
        harm(folder)
        found = " ".join(one.detail for one in lost(base, folder, saved))
        assert said in found if harm is not harms["nothing"] else not found
    assert "page.html was not made" in str(lost(base, base, {}, makes=("page.html",)))


def test_the_attack_is_as_large_as_it_says() -> None:
    late = [one.times for one in SCENARIOS if one.begun_is_output]
    assert sum(one.times for one in SCENARIOS) >= 40 and sum(late) > sum(one.times for one in SCENARIOS) / 2
    assert len({*bad_policies.POLICIES}) >= 70 and len({*bad_plugins.PLUGINS}) >= 40
    assert kills.WORKER.code is None and served_protocols()


def test_every_option_of_every_command_is_attacked() -> None:
    found = {one.name: {each.flag or each.name: each.kind for each in one.parameters} for one in commands()}
    assert {"run", "diagnose", "cliff", "why", "serve", "list", "merge"} <= found.keys()
    assert found["run"]["--seeds"] == "whole number" and found["run"]["--policy-gpus"] == "number"
    assert found["run"]["selectors"] == "text" and found["merge"]["runs"] == "path"
    assert found["list"]["--json"] == "flag" and found["cliff"]["--max"] == "text"
    assert found["data show"]["--episode"] == "whole number" and found["data convert"]["target"] == "path"
