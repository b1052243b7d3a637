"""The design table: why each trial was asked for, written before it runs, joined when it is read."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

from robodx.analysis.summary import Summary
from robodx.evaluation import evaluate
from robodx.records.about import UnreadableRun, read_about
from robodx.records.derived_design import derived
from robodx.records.design import FILE, Planned, design_table, has_variant, read_design, rows_of, together, with_design
from robodx.records.merge import merge
from robodx.records.table import load
from robodx.records.trial import Trial
from robodx.report.page import write_report
from robodx.running.request import Request
from robodx.running.run import run

ROBODX = (sys.executable, "-c", "from robodx.cli import main; main()")
KEYS = ["trial_id", "suite", "variant", "source_id", "level"]


def request(*selectors: str, **more: object) -> Request:
    return Request(**{"selectors": selectors, "policy": "still", "seeds": 1, **more})  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def stressed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The expert under one stressor at one level, beside what else asked for the same clean trials."""
    out = tmp_path_factory.mktemp("design") / "run"
    run(request("primitive/pick_cube", "stress/packet_loss/v2", policy="expert", repeats=2), out)
    return out


def design(out: Path) -> pl.DataFrame:
    found = read_design(out)
    assert found is not None
    return found


def test_a_trial_that_two_suites_ask_for_is_run_once_and_has_two_rows(stressed: Path) -> None:
    episodes, rows = load(stressed), design(stressed)
    assert episodes["trial_id"].is_unique().all() and set(rows["trial_id"]) == set(episodes["trial_id"])
    clean = rows.filter(pl.col("variant") == "clean")
    asked_by = clean.group_by("trial_id").agg(pl.col("suite").sort())
    assert ["stress", "tasks"] in asked_by["suite"].to_list()


def test_each_variant_of_stress_names_what_it_is_held_against_its_factor_and_its_level(stressed: Path) -> None:
    episodes, rows = load(stressed), design(stressed).filter(pl.col("suite") == "stress")
    trials = {row["trial_id"]: Trial.of_row(row) for row in episodes.iter_rows(named=True)}
    assert set(rows["variant"]) == {"clean", "repeated", "stressed"}
    for row in rows.filter(pl.col("variant") != "clean").iter_rows(named=True):
        trial, source = trials[row["trial_id"]], trials[row["source_id"]]
        assert (trial.task, trial.seed) == (source.task, source.seed) and not source.perturbations
    (factor,) = rows.filter(pl.col("variant") == "stressed")["factors"][0].to_list()
    assert (factor["name"], factor["text"], factor["flag"]) == ("packet_loss", None, None) and factor["number"] > 0
    assert set(rows.filter(pl.col("variant") == "stressed")["level"]) == {"v2"}


def test_repeats_of_stress_are_further_fives_and_count_situations_once(stressed: Path) -> None:
    episodes = load(stressed)
    of_stress = episodes.filter(pl.col("suite") == "stress")
    assert set(of_stress["repeat"]) == {0, 1, 3, 5, 6, 8}
    table = Summary(episodes, read_about(stressed)).stress
    assert table is not None
    (whole,) = (row for row in table.rows if row.task is None)
    assert whole.clean.n == whole.stressed.n == 3 and whole.repeated.n == 3


def test_the_design_is_there_before_its_round_runs(tmp_path: Path) -> None:
    class Halted(Exception):
        pass

    def halt(episode: object, **_: int) -> None:
        if episode is not None:
            raise Halted

    out = tmp_path / "run"
    with pytest.raises(Halted):
        run(request("primitive", seeds=3), out, observers=[halt])
    assert len(design(out)) == 9 > len(load(out))
    # And what goes on adds nothing to it.
    run(request("primitive", seeds=3), out)
    assert len(design(out)) == 9 == len(load(out))


def test_merge_unites_the_designs_of_shards(tmp_path: Path) -> None:
    for part in (1, 2):
        run(request("isolation/touch_sphere_with_novel", shard=f"{part}/2"), tmp_path / str(part))
    merge([tmp_path / "1", tmp_path / "2"], tmp_path / "both")
    rows = design(tmp_path / "both")
    assert sorted(rows["variant"]) == ["follow-up", "source"]
    follow_up, source = (rows.row(by_predicate=pl.col("variant") == one, named=True) for one in ("follow-up", "source"))
    assert follow_up["source_id"] == source["trial_id"]
    assert follow_up["factors"][0]["name"] == "entangled_with" and follow_up["factors"][0]["text"] == "novel"


def test_runs_without_a_table_get_the_rows_that_their_version_meant(stressed: Path) -> None:
    """But for who else asked: an older record names one suite for each trial."""
    episodes = load(stressed).filter((pl.col("suite") == "stress") & (pl.col("repeat") < 5))
    written = design(stressed).filter(
        (pl.col("suite") == "stress") & pl.col("trial_id").is_in(episodes["trial_id"].implode())
    )
    reported = derived(episodes.drop("design"), read_about(stressed))
    assert reported.sort(KEYS).select(*KEYS, "factors").equals(written.sort(KEYS).select(*KEYS, "factors"))


def test_without_its_table_a_run_with_repeats_reads_the_same(stressed: Path, tmp_path: Path) -> None:
    shutil.copytree(stressed, tmp_path / "run")
    (tmp_path / "run" / FILE).unlink()
    tables = [Summary(load(run), read_about(run)).stress for run in (stressed, tmp_path / "run")]
    assert tables[0] is not None and tables[0] == tables[1]


def test_a_table_that_is_not_of_these_episodes_is_refused(stressed: Path, tmp_path: Path) -> None:
    shutil.copytree(stressed, tmp_path / "run")
    design(stressed).head(3).write_parquet(tmp_path / "run" / FILE)
    with pytest.raises(UnreadableRun, match=r"says nothing of \d+ of 18 episodes. Move it away"):
        load(tmp_path / "run")
    design(stressed).with_columns(trial_id=pl.lit(None, pl.String)).write_parquet(tmp_path / "run" / FILE)
    with pytest.raises(UnreadableRun, match="the column trial_id has empty values"):
        load(tmp_path / "run")
    # What is there twice is read once.
    pl.concat([design(stressed)] * 2).write_parquet(tmp_path / "run" / FILE)
    assert load(tmp_path / "run").equals(load(stressed))


WORDS = """
from robodx import Perturbation, perturbation

@perturbation("paint", kind="sensor", levels={"v1": "red", "v2": "blue", "v3": "amber"})
class Paint(Perturbation):
    pass

@perturbation("shift", kind="sensor", levels={
    "v1": {"x_m": 0.02, "y_m": 0.0}, "v2": {"x_m": 0.02, "y_m": 0.1}, "v3": {"x_m": 0.03, "y_m": 0.1}})
class Shift(Perturbation):
    pass
"""


def test_stressors_of_words_and_of_named_numbers_have_their_levels_in_order_and_no_trend(tmp_path: Path) -> None:
    (tmp_path / "words.py").write_text(WORDS)
    words = [*ROBODX, "run", "stress/paint", "stress/shift", "--policy", "expert", "--seeds", "1", "--json"]
    words += ["--plugin", str(tmp_path / "words.py"), "--out", str(tmp_path / "run")]
    done = subprocess.run(words, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    stress = json.loads(done.stdout)["stress"]
    whole = [(row["stressor"], row["level"]) for row in stress["rows"] if row["task"] is None]
    assert whole == [(name, level) for name in ("paint", "shift") for level in ("v1", "v2", "v3")]
    assert stress["trends"] == []
    assert "shift" in write_report([tmp_path / "run"], tmp_path / "page.html").read_text()


def test_a_damaged_design_is_named(stressed: Path, tmp_path: Path) -> None:
    (tmp_path / FILE).write_bytes(b"PAR1 nothing")
    with pytest.raises(UnreadableRun, match=FILE):
        read_design(tmp_path)
    design(stressed).with_columns(variant=pl.lit("odd")).write_parquet(tmp_path / FILE)
    with pytest.raises(UnreadableRun, match="odd"):
        read_design(tmp_path)


def test_of_episodes_of_several_runs_what_each_was_for_is_united() -> None:
    trial = Trial("a/b", 1, "x", 0)
    episodes = pl.DataFrame({"trial_id": [trial.id]})
    tables = [with_design(episodes, design_table([Planned(trial, variant)])) for variant in ("source", "clean")]
    (row,) = together(tables)["design"].to_list()
    assert {one["variant"] for one in row} == {"source", "clean"}
    assert len(rows_of(together(tables))) == 2 and together(tables).select(has_variant("source")).item()


def test_an_unknown_variant_is_refused() -> None:
    with pytest.raises(ValueError, match='No variant "variant"'):
        Planned(Trial("a/b", 1, "x", 0), "variant")  # type: ignore[arg-type]


def test_what_is_evaluated_in_memory_has_its_design_too() -> None:
    found = evaluate("still", "isolation/touch_sphere_with_novel", seeds=1)
    assert found.episodes.filter(has_variant("follow-up"))["task"].to_list() == ["isolation/touch_sphere_with_novel"]
