"""Estimates, summaries and the comparison of runs, on tables made by hand."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from robodx.analysis.diff import Incomparable, diff
from robodx.analysis.failure_summary import error_bounds
from robodx.analysis.statistics.estimates import NOTHING, wilson
from robodx.analysis.summary import success_rate, summarise
from robodx.records.about import SCHEMA_VERSION
from robodx.records.schema import SCHEMA


def table(*rows: dict[str, Any]) -> pl.DataFrame:
    base = {
        "task": "t/one", "task_version": 1, "family": "t", "policy": "p", "robot": "panda", "attempt": 1,
        **{name: [] for name in ("perturbations", "tags", "stage_steps", "instructions", "events")},
    }  # fmt: skip
    filled = [{**dict.fromkeys(SCHEMA), **base, "repeat": 0, "clock": "lockstep", **row} for row in rows]
    return pl.DataFrame(filled, schema=SCHEMA)


def row(seed: int, outcome: str, trajectory: str | None = None) -> dict[str, Any]:
    return {
        "seed": seed, "outcome": outcome, "success": outcome == "success", "trial_id": f"{seed}", "suite": "s",
        "pair_id": f"pair {seed}",
        "trajectory_hash": None if outcome == "error" else trajectory or f"hash {seed}", "steps": 10, "progress": 0.5,
    }  # fmt: skip


def test_wilson_matches_published_values() -> None:
    # Newcombe (1998), table I: 81 of 263 gives 0.2553 … 0.3662; 0 of 20 gives 0 … 0.1611.
    estimate = wilson(81, 263)
    assert [estimate.low, estimate.high] == pytest.approx([0.2553, 0.3662], abs=5e-5)
    assert [wilson(0, 20).low, wilson(0, 20).high] == pytest.approx([0.0, 0.1611], abs=5e-5)


def test_no_data_is_none_and_not_zero() -> None:
    assert wilson(0, 0) == NOTHING
    assert NOTHING.value is None and str(NOTHING) == "— (n = 0)"
    assert success_rate(table()).value is None and error_bounds(table()) is None


def test_more_successes_than_trials_are_refused() -> None:
    with pytest.raises(ValueError, match="3 successes of 2 trials"):
        wilson(3, 2)


def test_errors_stay_out_of_the_rate() -> None:
    rows = [row(seed, "success") for seed in range(30)] + [row(99, "error")]
    estimate = success_rate(table(*rows))
    assert (estimate.value, estimate.n) == (1.0, 30)


def test_too_many_errors_leave_no_rate_but_bounds() -> None:
    episodes = table(row(0, "success"), row(1, "timeout"), row(2, "error"), row(3, "success"))
    assert success_rate(episodes).value is None
    assert error_bounds(episodes) == (0.5, 0.75)


def test_trials_that_moved_alike_are_one_observation() -> None:
    episodes = table(*(row(seed, "success", "same") for seed in range(9)), row(9, "timeout"))
    assert (success_rate(episodes).value, success_rate(episodes).n) == (0.5, 2)


def test_trials_that_were_told_otherwise_are_observations_of_their_own() -> None:
    reported = [{"instructions": [{"step": 0, "text": f"Pick up cube {seed}."}]} for seed in range(12)]
    episodes = table(
        *({**row(seed, "success" if seed < 5 else "timeout", "same"), **reported[seed]} for seed in range(12))
    )
    assert (success_rate(episodes).value, success_rate(episodes).n) == (5 / 12, 12)


def test_a_summary_has_a_row_for_each_variant() -> None:
    stressed = {**row(0, "timeout"), "perturbations": [{"name": "noise", "severity": 10.0}]}
    rows = summarise(table(row(0, "success"), row(1, "failure"), stressed))
    assert [(r.perturbations, r.success.n, r.failures, r.timeouts) for r in rows] == [
        ("", 2, 1, 0),
        ("noise=10.0", 1, 0, 1),
    ]


def write(folder: Path, episodes: pl.DataFrame, **versions: str | None) -> Path:
    (folder / "episodes").mkdir(parents=True)
    episodes.write_parquet(folder / "episodes" / "all.parquet")
    (folder / "run.json").write_text(json.dumps({"schema_version": SCHEMA_VERSION, "versions": versions}))
    return folder


def test_a_run_equals_itself_and_not_one_that_moved_otherwise(tmp_path: Path) -> None:
    one = write(tmp_path / "a", table(row(0, "success"), row(1, "timeout")))
    other = write(tmp_path / "b", table(row(0, "success"), row(1, "timeout", "elsewhere"), row(2, "success")))
    assert diff(one, one, by_tables=True).is_same and diff(one, one, by_tables=True).same == 2
    found = diff(one, other, by_tables=True)
    assert (found.same, [d.seed for d in found.different], found.only_first, found.only_second) == (1, [1], 0, 1)


def test_two_errors_are_not_the_same(tmp_path: Path) -> None:
    one, other = (write(tmp_path / name, table(row(0, "error"))) for name in "ab")
    assert not diff(one, other).is_same


def test_runs_of_different_renderers_are_not_compared(tmp_path: Path) -> None:
    one = write(tmp_path / "a", table(row(0, "success")), gl_renderer="llvmpipe")
    other = write(tmp_path / "b", table(row(0, "success")), gl_renderer="RTX")
    with pytest.raises(Incomparable, match="llvmpipe and by RTX"):
        diff(one, other)


def test_other_versions_are_told(tmp_path: Path) -> None:
    one = write(tmp_path / "a", table(row(0, "success")), mujoco="4.0.0")
    other = write(tmp_path / "b", table(row(0, "success")), mujoco="4.1.0")
    assert diff(one, other).versions == ("mujoco: 4.0.0 / 4.1.0",)
