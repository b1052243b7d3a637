"""W&B's own reader reads the offline runs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from wandb.proto import wandb_internal_pb2
from wandb.sdk.internal.datastore import DataStore

from robodx.records.table import load
from tests.commands import call


def records(file: Path) -> list[Any]:
    store, found = DataStore(), []
    store.open_for_scan(str(file))
    while (data := store.scan_data()) is not None:
        record = wandb_internal_pb2.Record()
        record.ParseFromString(data)
        found.append(record)
    return found


def updates(items: Any) -> dict[str, Any]:
    return {"/".join(one.nested_key) or one.key: json.loads(one.value_json) for one in items}


@pytest.fixture(scope="module")
def exported(run: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("wandb-out")
    call("export", run, "--to", "wandb", "--offline", "--project", "mine", "-o", out, cwd=out)
    return out


def by_policy(out: Path) -> dict[str, Path]:
    runs = list((out / "wandb").glob("offline-run-*/run-*.wandb"))
    return {next(one.run.display_name for one in records(file) if one.HasField("run")): file for file in runs}


def test_each_policy_is_a_run_with_its_config(exported: Path) -> None:
    files = by_policy(exported)
    assert sorted(files) == ["act", "vision"]
    (told,) = (one.run for one in records(files["act"]) if one.HasField("run"))
    config = updates(told.config.update)
    assert told.project == "mine" and told.run_group == "both"
    assert config["request"]["seeds"] == 4 and config["versions"]["mujoco"] == "4.0.0"
    # Nothing of the machine that exports.
    assert not told.host and not (files["act"].parent / "files/wandb-metadata.json").exists()


def test_rates_have_their_intervals(exported: Path) -> None:
    summary: dict[str, Any] = {}
    for record in records(by_policy(exported)["act"]):
        summary |= updates(record.summary.update)
    assert summary["success"] == summary["family/control/clean"] == summary["task/control/lift/clean"] == 0.75
    assert 0 < summary["success_low"] < 0.75 < summary["success_high"] < 1
    assert summary["success_n"] == summary["episodes"] == 4


def test_the_table_has_every_episode_and_the_film_is_there(exported: Path, run: Path) -> None:
    folder = by_policy(exported)["act"].parent
    (file,) = (folder / "files/media/table").glob("episodes_*.table.json")
    table = json.loads(file.read_text())
    ids = [row[table["columns"].index("trial_id")] for row in table["data"]]
    assert sorted(ids) == sorted(load(run).filter(policy="act")["trial_id"])
    (film,) = (folder / "files/media/videos/films").glob("*.mp4")
    (original,) = (run / "videos").glob("*.mp4")
    assert film.read_bytes() == original.read_bytes()


def test_a_second_export_replaces_the_first_only_with_force(exported: Path, run: Path) -> None:
    before = sorted((exported / "wandb").iterdir())
    said = call("export", run, "--to", "wandb", "--offline", "-o", exported, cwd=exported, expect=2)
    assert "is there already" in said
    (before[0] / "old").touch()
    call("export", run, "--to", "wandb", "--offline", "--force", "-o", exported, cwd=exported)
    assert sorted((exported / "wandb").iterdir()) == before and not (before[0] / "old").exists()
    assert [path.name for path in exported.iterdir()] == ["wandb"]


def test_without_a_key_it_says_so_in_a_line(run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.delenv("WANDB_API_KEY", raising=False)
    monkeypatch.delenv("WANDB_MODE", raising=False)
    said = call("export", run, "--to", "wandb", cwd=tmp_path, expect=2)
    assert "W&B says: " in said and "--offline" in said
    assert not list(tmp_path.glob(".part-*"))
