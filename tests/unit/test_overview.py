"""The viewer's overview by task, family and tier: the report's numbers, filters, orders, size, and damage."""

from __future__ import annotations

import random
import shutil
import time
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from robodx.analysis.metrics.base import estimate
from robodx.analysis.metrics.grouped import success_by
from robodx.analysis.summary import Summary
from robodx.records.about import read_about
from robodx.records.schema import SCHEMA
from robodx.records.table import load
from robodx.report.viewer import library
from robodx.report.viewer.overview import MOST_MARKS, MOST_ROWS
from tests.viewing import LATENCY, Viewer, episode, write_run

GOLDEN = Path(__file__).parent.parent / "golden"


@pytest.fixture(autouse=True)
def always_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(library, "FRESH_S", 0.0)


def overview(ask: Viewer, **words: Any) -> Any:
    return ask.json("/api/overview", **words)


def names(answer: Any) -> list[str]:
    return [row["name"] for row in answer["rows"]]


@pytest.mark.parametrize("version", ["run-v2", "run-v4"])
def test_its_numbers_are_those_of_the_report(tmp_path: Path, version: str) -> None:
    run = shutil.copytree(GOLDEN / version, tmp_path / "run")
    summary, ask = Summary(load(run), read_about(run)), Viewer(tmp_path)
    told = {(row["policy"], row["name"], row["variant"]): row for row in overview(ask)["rows"]}
    assert len(told) == len(summary.rows()) > 0
    for row in summary.rows():
        found = told[row.policy, row.task, row.perturbations or "clean"]
        success = row.success
        assert [found[name] for name in ("success", "low", "high", "n")] == pytest.approx(
            [success.value, success.low, success.high, success.n]
        )
        assert (found["median_steps"], found["errors"]) == (row.median_steps, row.errors)
        assert (found["failures"], found["of_family"]) == (row.failures + row.timeouts, row.family)
    for by in ("family", "tier"):
        groups = {(row["policy"], row["name"], row["variant"]): row for row in overview(ask, by=by)["rows"]}
        for one in summary.subtotals(by):
            found = groups[one.policy, one.group, one.perturbations or "clean"]
            assert (found["success"], found["n"], found["tasks"]) == (
                pytest.approx(one.success.value), one.success.n, one.tasks,
            )  # fmt: skip


@pytest.mark.parametrize("stopped", ["planned", pytest.param("together", marks=pytest.mark.thorough)])
def test_success_of_many_groups_is_that_of_each(stopped: Any) -> None:
    """With repeats, errors, motions that are alike, and groups that cut through a situation."""
    draw = random.Random(4)
    rows = []
    for number in range(300):
        is_error = draw.random() < 0.04
        rows.append(
            episode(
                number, task=f"a/{draw.randrange(5)}", seed=draw.randrange(6), repeat=draw.randrange(3),
                success=draw.random() < 0.5 and not is_error, trajectory_hash=draw.choice([None, "x", "y", "z"]),
                family=draw.choice(["a", "b", None]), **({"outcome": "error"} if is_error else {}),
            )
        )  # fmt: skip
    table = pl.DataFrame(rows, schema=SCHEMA)
    for keys in (["task"], ["family"], ["task", "family"], ["policy"]):
        found = success_by(table, keys, stopped)
        parts = table.partition_by(keys, as_dict=True)
        assert found == {
            key: estimate("success_rate", part, np.random.default_rng(0), stopped=stopped)
            for key, part in parts.items()
        }
    assert any(one.value is None for one in success_by(table, ["task", "family"]).values()), "some erred too often"


def test_filters_choose_rows_and_marks_but_change_no_rate(tmp_path: Path) -> None:
    rows = [episode(n, task=f"a/{n % 2}", seed=n, success=n % 4 < 2) for n in range(20)]
    write_run(tmp_path / "a", [*rows, episode(30, task="a/0", seed=0, perturbations=[LATENCY])])
    ask = Viewer(tmp_path)
    everything = overview(ask)
    assert [(row["name"], row["variant"]) for row in everything["rows"]] == [
        ("a/0", "clean"), ("a/0", "actuator_latency=v2"), ("a/1", "clean"),
    ]  # fmt: skip
    assert everything["several"] == ["variant"] and everything["outside"] == 0
    (failed, *_) = overview(ask, outcome="failure", variant="clean", task="a/0")["rows"]
    assert (failed["success"], failed["n"], failed["episodes"], failed["found"]) == (0.5, 10, 10, 5)
    assert [(mark["seed"], mark["outcome"]) for mark in failed["marks"]] == [(n, "failure") for n in (2, 6, 10, 14, 18)]
    assert failed["kinds"] == [{"kind": "motor", "count": 5}]
    # As the list calls the variant, so that a click can filter it.
    assert failed["listed"] == "clean"
    assert names(overview(ask, text="seed0 v2")) == ["a/0"]
    nothing = {"rows": [], "total": 0, "outside": 0, "without": 0, "problems": [], "several": []}
    assert overview(ask, task="gone") == nothing


def test_rows_are_sorted_with_what_is_unknown_last(tmp_path: Path) -> None:
    rows = [
        episode(n, task=f"a/{task}", seed=n, success=n % 5 < task, tier=tier, duration_s=float(9 - task))
        for task, tier in enumerate(("hard", "easy", None, "medium"))
        for n in range(100 * task, 100 * task + 5)
    ]
    rows += [episode(900 + n, task="a/4", seed=n, outcome="error", duration_s=None, tier="easy") for n in range(3)]
    write_run(tmp_path / "a", rows)
    ask = Viewer(tmp_path)
    assert names(overview(ask)) == [f"a/{n}" for n in range(5)]
    assert names(overview(ask, falls=1)) == [f"a/{n}" for n in (4, 3, 2, 1, 0)]
    assert names(overview(ask, order="success")) == [f"a/{n}" for n in (0, 1, 2, 3, 4)]
    assert names(overview(ask, order="success", falls=1)) == [f"a/{n}" for n in (3, 2, 1, 0, 4)]
    assert names(overview(ask, order="time")) == [f"a/{n}" for n in (3, 2, 1, 0, 4)]
    assert names(overview(ask, order="tier")) == [f"a/{n}" for n in (1, 4, 3, 0, 2)]
    by_tier = overview(ask, by="tier")
    assert names(by_tier) == ["easy", "medium", "hard"] and by_tier["without"] == 5, "those of the task without a tier"
    assert overview(ask, by="tier", task="a/2", outcome="success")["without"] == 2
    assert overview(ask)["without"] == 0
    last = overview(ask)["rows"][4]
    assert (last["success"], last["n"], last["errors"], last["median_s"]) == (None, 0, 3, None)


@pytest.mark.parametrize("words", [{"by": "seed"}, {"order": "__class__"}, {"offset": "-1"}])
def test_what_cannot_be_summed_up_is_told(tmp_path: Path, words: dict[str, str]) -> None:
    write_run(tmp_path / "a", [episode(1)])
    with pytest.raises(AssertionError, match="400"):
        overview(Viewer(tmp_path), **words)


def test_runs_stay_apart_and_those_that_cannot_be_read_are_told(tmp_path: Path) -> None:
    write_run(tmp_path / "a", [episode(1)])
    write_run(tmp_path / "b", [episode(1, success=True, policy="rival")])
    damaged = write_run(tmp_path / "c", [episode(2)])
    (damaged / "design.parquet").write_bytes(b"PAR1 damaged")
    write_run(tmp_path / "d", [episode(3)], about={"request": 3, "tasks": 4, "perturbations": 5})
    linked = write_run(tmp_path / "e", [episode(4)])
    (linked / "design.parquet").symlink_to(tmp_path.parent)
    answer = overview(Viewer(tmp_path))
    assert [(row["run_name"], row["policy"], row["success"]) for row in answer["rows"]] == [
        ("a", "guess", 0.0), ("d", "guess", 0.0), ("b", "rival", 1.0)
    ]  # fmt: skip
    assert answer["several"] == ["run", "policy"]
    assert [line[:2] for line in answer["problems"]] == ["c:", "e:"]
    assert str(tmp_path) not in str(answer["problems"])


def test_situations_that_were_changed_are_counted_as_in_no_row(tmp_path: Path) -> None:
    changed = [
        episode(n, seed=7, interventions=[{"name": "target colour", "word": word}])
        for n, word in ((1, "red"), (2, "blue"))
    ]
    write_run(tmp_path / "a", [*changed, episode(3, seed=8)])
    answer = overview(Viewer(tmp_path))
    assert answer["outside"] == 2 and [row["episodes"] for row in answer["rows"]] == [1]


def test_a_run_that_goes_on_is_summed_up_again(tmp_path: Path) -> None:
    run = write_run(tmp_path / "a", [episode(1)], part="part-00001")
    ask = Viewer(tmp_path)
    assert overview(ask)["rows"][0]["n"] == 1
    write_run(run, [episode(2, success=True)], part="part-00002")
    assert (overview(ask)["rows"][0]["n"], overview(ask)["rows"][0]["success"]) == (2, 0.5)


@pytest.mark.thorough
def test_ten_thousand_episodes_in_a_thousand_rows_come_at_once(tmp_path: Path) -> None:
    few = pl.DataFrame([episode(0), episode(1, success=True)], schema=SCHEMA)
    number = pl.int_range(pl.len())
    many = pl.concat([few] * 5000).with_columns(
        trial_id=pl.format("{}-trial", number.cast(pl.String).str.zfill(10)), seed=number.cast(pl.Int64),
        # One task of 5,000 episodes, and 1,000 of five.
        task=pl.when(number < 5000).then(pl.lit("a/many")).otherwise(pl.format("a/{}", number % 1000)),
    )  # fmt: skip
    run = write_run(tmp_path / "many", [])
    many.write_parquet(run / "episodes" / "all.parquet")
    ask = Viewer(tmp_path)
    ask.runs()
    began_s = time.monotonic()
    first = overview(ask)
    second = overview(ask, offset=MOST_ROWS, order="success")
    assert time.monotonic() - began_s < 5.0, "as one estimate after the other it took 15 s"
    assert first["total"] == 1001 and len(first["rows"]) == len(second["rows"]) == MOST_ROWS
    row = next(row for row in overview(ask, task="a/many")["rows"] if row["name"] == "a/many")
    assert (row["found"], len(row["marks"])) == (5000, MOST_MARKS)
    assert len(ask("/api/overview").body) < 400_000
