"""Exports: tables that read back, episodes that are chosen, and nothing overwritten or half-written."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from robodx.errors import UserError
from robodx.exports.base import EXPORTERS, Exporter, Item, Source, Wishes, export, read
from robodx.records.flat import flat
from robodx.records.table import load
from tests.commands import call
from tests.reporting import ABOUT, episode, run_folder

EXAMPLE = Path(__file__).parents[2] / "examples" / "my_export.py"


@pytest.fixture
def run(tmp_path: Path) -> Path:
    address = "ws://me:secret@host:8000"
    rows = [
        episode(f"control/{task}", seed, success=seed > 2, policy=address)
        | {"trial_id": f"trial {task} {seed}", "trajectory_hash": f"{task} {seed}"}
        for task in "ab"
        for seed in range(5)
    ]
    rows[0]["error"] = f"{address} said no"
    return run_folder(tmp_path / "my run", rows, {**ABOUT, "request": {**ABOUT["request"], "policy": address}})


def test_csv_and_parquet_hold_every_episode_flat(run: Path, tmp_path: Path) -> None:
    for form in ("csv", "parquet"):
        said = call("export", run, "--to", form, cwd=tmp_path)
        assert said.splitlines() == [f"Wrote {run / f'my run.{form}'}", f"10 episodes of {run}."]
        assert "is there already" in call("export", run, "--to", form, cwd=tmp_path, expect=2)
    expected = flat(load(run))
    typed, text = pl.read_parquet(run / "my run.parquet"), pl.read_csv(run / "my run.csv")
    assert typed.schema == expected.schema and text.columns == expected.columns
    assert typed.drop("policy", "error").equals(expected.drop("policy", "error"))
    assert text["success"].to_list() == expected["success"].to_list() and set(text["design.variant"]) == {"clean"}


def test_a_folder_has_the_design_and_the_request_beside_the_episodes(run: Path, tmp_path: Path) -> None:
    call("export", run, "--to", "csv", "-o", "out", cwd=tmp_path)
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["design.csv", "episodes.csv", "run.json"]
    assert pl.read_csv(tmp_path / "out/design.csv")["factors"].to_list() == ["{}"] * 10
    assert json.loads((tmp_path / "out/run.json").read_text())["versions"] == ABOUT["versions"]


def test_logins_are_not_handed_on(run: Path, tmp_path: Path) -> None:
    call("export", run, "--to", "csv", "-o", "out", cwd=tmp_path)
    written = [path.read_text() for path in (tmp_path / "out").iterdir()]
    assert not any("secret" in text for text in written) and any("ws://…@host:8000" in text for text in written)


def test_nothing_is_overwritten_without_force(run: Path, tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out/run.json").write_text("mine")
    said = call("export", run, "--to", "csv", "-o", "out", cwd=tmp_path, expect=2)
    assert "out/run.json is there already" in said and "--force" in said
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["run.json"]
    assert (tmp_path / "out/run.json").read_text() == "mine"
    (tmp_path / "out/notes.txt").write_text("mine too")
    call("export", run, "--to", "csv", "-o", "out", "--force", cwd=tmp_path)
    assert (tmp_path / "out/run.json").read_text() != "mine" and (tmp_path / "out/notes.txt").exists()


def test_a_folder_that_is_not_an_export_is_never_replaced(run: Path, tmp_path: Path) -> None:
    (tmp_path / "out/episodes.csv").mkdir(parents=True)
    said = call("export", run, "--to", "csv", "-o", "out", "--force", cwd=tmp_path, expect=2)
    assert "is not what this export writes" in said and (tmp_path / "out/episodes.csv").is_dir()


@pytest.mark.parametrize("raised", [KeyboardInterrupt, OSError(28, "No space left on device")])
def test_what_is_interrupted_leaves_nothing_behind(run: Path, tmp_path: Path, raised: Any) -> None:
    def second(path: Path) -> None:
        path.write_text("half")
        raise raised

    items = [Item(tmp_path / "out/a", Path.touch), Item(tmp_path / "out/b", second)]
    entry = Exporter("odd", "", lambda source, wishes, out: items, ending="")
    before = sorted(tmp_path.iterdir())
    with pytest.raises((KeyboardInterrupt, UserError)):
        export(read(run, entry, Wishes()), entry, tmp_path / "out", Wishes())
    assert sorted(tmp_path.iterdir()) == before


def test_episodes_are_chosen_by_id_or_as_failures_of_many_tasks(run: Path) -> None:
    csv = EXPORTERS["csv"]
    ids = load(run)["trial_id"].to_list()
    assert read(run, csv, Wishes(trials=(ids[3],))).episodes["trial_id"].to_list() == [ids[3]]
    few = read(run, csv, Wishes(failures=3)).episodes
    assert few["task"].to_list() == ["control/a", "control/b", "control/a"] and not few["success"].any()
    with pytest.raises(UserError, match="is the beginning of 10 ids"):
        read(run, csv, Wishes(trials=(ids[0][:5],)))
    with pytest.raises(UserError, match=r'No trial "nope"\. There are'):
        read(run, csv, Wishes(trials=("nope",)))


def test_a_run_without_failures_asks_for_a_trial(tmp_path: Path) -> None:
    solved = run_folder(tmp_path / "run", [episode("control/a", 0)])
    with pytest.raises(UserError, match="has no failed episode: name episodes with --trial"):
        read(solved, EXPORTERS["rerun"], Wishes())


@pytest.mark.parametrize("form", ["wandb", "rerun"])
def test_without_its_extra_an_export_says_what_to_install(
    run: Path, tmp_path: Path, form: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # As if it were not installed, whether or not it is.
    monkeypatch.setitem(sys.modules, form, None)
    said = call("export", run, "--to", form, cwd=tmp_path, expect=2)
    assert f"pip install 'robodx[{form}]'" in said and len(said.splitlines()) == 1
    assert [path.name for path in tmp_path.iterdir()] == ["my run"]


@pytest.mark.parametrize(
    ("options", "said"),
    [(("--to", "cvs"), 'No export "cvs". Did you mean "csv"?'), (("--to", "csv", "--offline"), "says nothing"),
     (("--to", "csv", "--trial", "x", "--failures", "2"), "exclude each other"),
     (("--to", "csv", "-o", "no/where/x.csv"), "there is no folder")],
)  # fmt: skip
def test_mistakes_are_told_in_a_line(run: Path, tmp_path: Path, options: tuple[str, ...], said: str) -> None:
    assert said in call("export", run, *options, cwd=tmp_path, expect=2)


def test_ids_that_lead_elsewhere_are_not_followed(tmp_path: Path) -> None:
    (tmp_path / "secret.npz").write_text("x")
    row = episode("control/a", 0, success=False) | {"trial_id": "../../secret"}
    hostile = run_folder(tmp_path / "run", [row])
    (hostile / "trajectories").mkdir()
    source = Source(hostile, ABOUT, load(hostile), is_finished=True)
    with pytest.raises(UserError, match="is missing"):
        source.trajectory("../../secret")
    assert source.film(row) is None


def test_the_example_adds_an_export(run: Path, tmp_path: Path) -> None:
    try:
        call("export", run, "--to", "markdown", "--plugin", EXAMPLE, cwd=tmp_path)
        assert (run / "my run.md").read_text().splitlines()[2] == "| control/a | 0 | failure |"
    finally:
        EXPORTERS._entries.pop("markdown", None)


def test_an_unfinished_run_is_told(run: Path, tmp_path: Path) -> None:
    (run / "episodes/all.parquet").rename(run / "episodes/part-00001.parquet")
    assert "is not finished" in call("export", run, "--to", "csv", cwd=tmp_path)


def test_a_part_of_the_run_is_never_replaced(tmp_path: Path) -> None:
    design = shutil.copytree(Path(__file__).parents[1] / "golden" / "run-v4", tmp_path / "design")
    before = (design / "design.parquet").read_bytes()
    call("export", "design", "--to", "parquet", cwd=tmp_path)
    assert (design / "design-export.parquet").exists()
    said = call("export", "design", "--to", "parquet", "-o", "design/design.parquet", "--force", cwd=tmp_path, expect=2)
    assert "is a part of the run" in said and (design / "design.parquet").read_bytes() == before
