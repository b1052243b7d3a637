"""Run folders: what they hold, what they refuse, and that nothing half-written is ever read."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from robodx.analysis.failure_summary import shown_outcome
from robodx.policy_contract import make_policy
from robodx.records import files
from robodx.records.about import SCHEMA_VERSION, UnreadableRun, read_about
from robodx.records.episode import WRONG_OBJECT, Episode
from robodx.records.folder import RunConflict, RunFolder
from robodx.records.schema import SCHEMA
from robodx.records.table import KeptParts, _read_part, load, to_table
from robodx.records.trajectory import Trajectory
from robodx.records.trial import Trial
from robodx.running.rollout import lost, rollout

FACTS = {"versions": {"robodx": "0"}}


@pytest.fixture(scope="module")
def episodes() -> list[Episode]:
    trials = [Trial("primitive/press_switch", 2, "expert", seed) for seed in range(3)]
    return [finished.episode for finished in rollout(trials, make_policy("expert"))]


def test_an_episode_survives_the_table(episodes: list[Episode], tmp_path: Path) -> None:
    with RunFolder.open(tmp_path / "run", {"policy": "expert"}, FACTS) as folder:
        for episode in episodes:
            folder.append(episode)
        folder.compact()
    table = load(tmp_path / "run")
    assert dict(table.drop("design").schema) == SCHEMA
    row = table.filter(pl.col("trial_id") == episodes[1].trial_id).row(0, named=True)
    assert row["trajectory_hash"] == episodes[1].trajectory_hash
    assert row["instructions"] == [{"step": 0, "text": "Press the switch."}]
    assert [event["kind"] for event in row["events"]] == [event.kind for event in episodes[1].events]
    assert row["tags"] == ["capability"] and row["perturbations"] == []


def test_every_field_of_an_episode_has_a_column() -> None:
    assert set(SCHEMA) == set(Episode.__dataclass_fields__)


def test_parts_are_read_as_one_table_and_compacted_into_one_file(episodes: list[Episode], tmp_path: Path) -> None:
    with RunFolder.open(tmp_path / "run", {}, FACTS) as folder:
        for episode in reversed(episodes):
            folder.append(episode)
            folder.flush()
        assert len(list((tmp_path / "run/episodes").iterdir())) == 3
        before = load(tmp_path / "run")
        folder.compact()
    assert [path.name for path in (tmp_path / "run/episodes").iterdir()] == ["all.parquet"]
    assert load(tmp_path / "run").equals(before)
    assert before["seed"].to_list() == [0, 1, 2]


def test_a_run_reads_each_part_once_unless_it_has_changed(
    episodes: list[Episode], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[str] = []

    def noted(path: Path) -> pl.DataFrame:
        read.append(path.name)
        return _read_part(path)

    monkeypatch.setattr("robodx.records.table._read_part", noted)
    with RunFolder.open(tmp_path / "run", {}, FACTS) as folder:
        for number, episode in enumerate(episodes, 1):
            folder.append(episode)
            folder.flush()
            assert len(folder.episodes()) == number
        assert read == ["part-00001.parquet", "part-00002.parquet", "part-00003.parquet"]
        part = tmp_path / "run/episodes/part-00002.parquet"
        part.write_bytes(part.read_bytes()[:-5])
        with pytest.raises(UnreadableRun, match=r"part-00002\.parquet is damaged"):
            folder.episodes()


def test_parts_that_are_gone_are_not_kept_in_memory(episodes: list[Episode], tmp_path: Path) -> None:
    kept: KeptParts = {}
    with RunFolder.open(tmp_path / "run", {}, FACTS) as folder:
        for episode in episodes:
            folder.append(episode)
            folder.flush()
        load(tmp_path / "run", kept)
        folder.compact()
    assert len(kept) == 3 and load(tmp_path / "run", kept).height == 3
    assert [path.name for path in kept] == ["all.parquet"]


def test_a_later_attempt_replaces_an_error(episodes: list[Episode], tmp_path: Path) -> None:
    trial = Trial("primitive/press_switch", 2, "expert", 0)
    with RunFolder.open(tmp_path / "run", {}, FACTS) as folder:
        folder.append(lost(trial, "boom", 1, 0.0))
        folder.flush()
        folder.append(replace(episodes[0], attempt=2))
    assert load(tmp_path / "run")["outcome"].to_list() == ["success"]


def test_a_part_of_errors_alone_has_the_same_schema() -> None:
    assert dict(to_table([lost(Trial("primitive/press_switch", 2, "x", 0), "boom", 1, 0.0)]).schema) == SCHEMA


def test_another_request_in_the_same_folder_is_refused(tmp_path: Path) -> None:
    with RunFolder.open(tmp_path / "run", {"policy": "expert", "seeds": 2}, FACTS):
        pass
    with (
        pytest.raises(RunConflict, match="policy: expert there, still asked"),
        RunFolder.open(tmp_path / "run", {"policy": "still", "seeds": 2}, FACTS),
    ):
        pass


def test_a_conflict_names_the_parts_that_differ_and_not_all_that_there_is(tmp_path: Path) -> None:
    tasks = {f"control/task_{number}": 1 for number in range(40)}
    with RunFolder.open(tmp_path / "run", {"tasks": tasks, "words": "short"}, FACTS):
        pass
    asked = {"tasks": {**tasks, "control/task_7": 2}, "words": "long " * 100}
    with pytest.raises(RunConflict) as refused, RunFolder.open(tmp_path / "run", asked, FACTS):
        pass
    text = str(refused.value)
    assert "tasks, control/task_7: 1 there, 2 asked" in text and "task_8" not in text and len(text) < 400
    with pytest.raises(RunConflict, match="and 35 more"), RunFolder.open(tmp_path / "run", {"tasks": {}}, FACTS):
        pass


def test_a_run_whose_trials_are_brought_along_grows_unless_a_task_changed(tmp_path: Path) -> None:
    def asked(trials: str, **tasks: int) -> dict[str, Any]:
        return {"selectors": (), "tasks": tasks, "trials": trials}

    def facts(*tasks: str) -> dict[str, Any]:
        return {**FACTS, "tasks": {task: {"summary": task} for task in tasks}}

    for trials, tasks in (("1", {"push": 1}), ("2", {"pull": 1, "push": 1}), ("3", {"pull": 1})):
        with RunFolder.open(tmp_path / "run", asked(trials, **tasks), facts(*tasks)):
            pass
    about = read_about(tmp_path / "run")
    assert about["request"]["tasks"] == {"push": 1, "pull": 1} and set(about["tasks"]) == {"push", "pull"}
    with (
        pytest.raises(RunConflict, match="tasks, push: 1 there, 2 asked"),
        RunFolder.open(tmp_path / "run", asked("4", push=2), facts("push")),
    ):
        pass


def test_other_versions_are_not_mixed(tmp_path: Path) -> None:
    with RunFolder.open(tmp_path / "run", {}, FACTS):
        pass
    with (
        pytest.raises(RunConflict, match="robodx: 0 there, 1 here"),
        RunFolder.open(tmp_path / "run", {}, {"versions": {"robodx": "1"}}),
    ):
        pass


def test_two_runs_never_write_one_folder(tmp_path: Path) -> None:
    with (
        RunFolder.open(tmp_path / "run", {}, FACTS),
        pytest.raises(RunConflict, match=r"being written by another run \(process \d+"),
        RunFolder.open(tmp_path / "run", {}, FACTS),
    ):
        pass


def test_a_folder_of_something_else_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("mine")
    with pytest.raises(RunConflict, match="not empty and not a run"), RunFolder.open(tmp_path, {}, FACTS):
        pass
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.tex"]


def test_a_damaged_part_is_named(episodes: list[Episode], tmp_path: Path) -> None:
    with RunFolder.open(tmp_path / "run", {}, FACTS) as folder:
        folder.append(episodes[0])
    (tmp_path / "run/episodes/part-00009.parquet").write_bytes(b"PAR1 half of a fi")
    with pytest.raises(UnreadableRun, match=r"part-00009\.parquet is damaged"):
        load(tmp_path / "run")


def test_what_is_not_a_run_says_so(tmp_path: Path) -> None:
    with pytest.raises(UnreadableRun, match=r"has no run\.json"):
        load(tmp_path)
    (tmp_path / "run.json").write_text("{")
    with pytest.raises(UnreadableRun, match="damaged"):
        load(tmp_path)
    (tmp_path / "run.json").write_text('{"schema_version": 99}')
    with pytest.raises(UnreadableRun, match="schema version 99"):
        load(tmp_path)


def test_a_trajectory_survives_its_file(tmp_path: Path) -> None:
    ((_, trajectory),) = rollout([Trial("primitive/press_switch", 2, "expert", 0)], make_policy("expert"))
    assert trajectory is not None
    trajectory.save(tmp_path / "x.npz")
    again = Trajectory.load(tmp_path / "x.npz")
    assert again.digest() == trajectory.digest()
    assert np.array_equal(again.tool_in_world, trajectory.tool_in_world)
    assert [path.name for path in tmp_path.iterdir()] == ["x.npz"]


def test_version_one_is_still_read() -> None:
    golden = Path(__file__).parent.parent / "golden" / "run-v1"
    table = load(golden)
    assert table.select("task", "seed", "outcome").rows() == [
        ("primitive/press_switch", 0, "success"),
        ("primitive/press_switch", 1, "success"),
    ]
    assert table["events"][0].to_list()[0]["kind"] == "contact"
    assert json.loads((golden / "run.json").read_text())["schema_version"] == 1
    # What it did not record is not known.
    assert table["failure_evidence"].to_list() == [None, None] and table["perturbed_steps"].to_list() == [None, None]


def test_version_two_is_still_read() -> None:
    golden = Path(__file__).parent.parent / "golden" / "run-v2"
    table = load(golden)
    assert json.loads((golden / "run.json").read_text())["schema_version"] == 2
    assert table["failure_kind"].null_count() == 0 and table["primitive"].to_list() == [None, None]
    evidence = table["failure_evidence"][0]
    assert set(evidence) == {"step", "object", "condition", "says"} and evidence["says"]
    assert all(0 < perturbed < steps for perturbed, steps in table.select("perturbed_steps", "steps").iter_rows())
    assert table["chance"].to_list() == [1.0, 1.0] and table["perturbed_queries"].to_list() == [0, 0]


def test_version_three_is_read() -> None:
    golden = Path(__file__).parent.parent / "golden" / "run-v3"
    table = load(golden)
    assert json.loads((golden / "run.json").read_text())["schema_version"] == 3
    assert all("perception/colour" in requirements for requirements in table["requirements"].to_list())
    assert [target["kind"] for target in table["target"].to_list()] == ["cube"] * len(table)
    # A wrong object is called one, though these versions recorded it as a wrong order, and how it ended stays recorded.
    assert set(table.filter(pl.col("failure_kind") == "reference")["failure_type"]) == {WRONG_OBJECT}
    shown = table.filter(~pl.col("success")).select("outcome", shown=shown_outcome())
    assert set(shown["shown"]) == {WRONG_OBJECT} and set(shown["outcome"]) <= {"failure", "timeout"}
    wrong = table.filter(~pl.col("success"))["mistaken"].to_list()
    assert wrong and all(each["attribute"] == "colour" and each["asked"] != each["chosen"] for (each,) in wrong)


def test_version_four_is_read_with_its_design_and_the_names_of_its_trajectories() -> None:
    golden = Path(__file__).parent.parent / "golden" / "run-v4"
    table = load(golden)
    assert json.loads((golden / "run.json").read_text())["schema_version"] == 4 == SCHEMA_VERSION
    # Columns that came later are not known of it.
    assert table["attributes"].null_count() == len(table)
    of_suites = {(one["suite"], one["variant"]) for rows in table["design"].to_list() for one in rows}
    assert of_suites == {
        ("tasks", "clean"), ("isolation", "source"), ("isolation", "follow-up"), ("stress", "clean"),
        ("stress", "repeated"), ("stress", "stressed"),
    }  # fmt: skip
    (path,) = (golden / "trajectories").glob("*.npz")
    trajectory = Trajectory.load(path)
    assert trajectory.index is not None
    for name in trajectory.index.things:
        assert np.allclose(np.linalg.norm(trajectory.thing(name)[:, 3:], axis=1), 1.0)
    (hand,) = trajectory.index.hands
    assert len(trajectory.index.joints) == 7 and len(hand.fingers) == 2
    assert set(np.unique(trajectory.commands[:, hand.opening])) <= {0.0, 1.0}


def test_a_file_is_replaced_whole_or_not_at_all_also_by_two_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "run.json"
    files.write(path, b"before")
    with pytest.raises(OSError, match="disk"), files.beside(path) as part:
        part.write_bytes(b"half")
        raise OSError("the disk is full")
    assert path.read_bytes() == b"before"
    with files.beside(path) as part:
        part.write_bytes(b"half of")
        monkeypatch.setattr(os, "getpid", lambda: -1)
        files.write(path, b"another process")
        assert path.read_bytes() == b"another process"
        part.write_bytes(b"whole")
    assert path.read_bytes() == b"whole" and list(tmp_path.iterdir()) == [path]
