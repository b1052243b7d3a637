"""Runs that go on until they have seen enough: real tiny ones, and the rules alone on tables made by hand."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from robodx.analysis.compare import compare
from robodx.analysis.statistics.sequential import confidence_sequence
from robodx.errors import UserError
from robodx.records.about import UnreadableRun, read_about
from robodx.records.folder import RunConflict
from robodx.records.schema import SCHEMA
from robodx.records.table import load
from robodx.records.trial import Trial
from robodx.running.request import Request
from robodx.running.run import run
from robodx.running.stopping import FIRST_WAVE, Rule, UntilDecided, UntilNarrow, seeds_of
from robodx.tasks.base import TASKS
from robodx.terminal.summary import print_summary

TASK = "primitive/press_switch"
NOTHING_YET = pl.DataFrame(schema=SCHEMA)


@pytest.fixture(scope="module")
def expert(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A run of the expert on 24 situations of a task that is over in two seconds, which is all it needs."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(TASKS._entries, TASK, replace(TASKS[TASK], time_limit_s=2.0))
        folder = tmp_path_factory.mktemp("runs") / "expert"
        run(Request((TASK,), "expert", 24), folder)
        yield folder


def test_a_run_goes_on_until_its_interval_is_narrow_and_resumes_to_the_same(expert: Path, tmp_path: Path) -> None:
    request = Request((TASK,), "expert", 100, until_width=0.2)
    table = run(request, tmp_path / "run")
    assert FIRST_WAVE < len(table) < 30 and sorted(table["seed"]) == list(range(len(table)))
    found = confidence_sequence(int(table["success"].sum()), len(table))
    assert found.low is not None and found.high is not None and found.high - found.low <= 0.2
    assert read_about(tmp_path / "run")["request"]["until_width"] == 0.2
    # A few of the second wave are there, which do not count before it is whole.
    kept = table.filter(pl.col("seed").is_in([*range(18), *range(FIRST_WAVE, FIRST_WAVE + 3)]))
    kept.write_parquet(tmp_path / "run" / "episodes" / "all.parquet")
    again = run(request, tmp_path / "run")
    assert again["trial_id", "outcome", "trajectory_hash"].equals(table["trial_id", "outcome", "trajectory_hash"])


def test_a_summary_shows_no_interval_of_a_fixed_n(
    expert: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    reference = shutil.copytree(expert, tmp_path / "run")
    assert print_summary(reference, as_json=False) and "100% [86, 100]" in capsys.readouterr().out
    about = read_about(reference)
    about["request"]["until_width"] = 0.15
    (reference / "run.json").write_text(json.dumps(about))
    assert print_summary(reference, as_json=False, motion=True)
    shown = capsys.readouterr().out
    assert "100% [80, 100]" in shown and "[86, 100]" not in shown and "always-valid" in shown
    assert f"More --seeds are needed to reach the interval width 0.15 for: {TASK}." in shown
    print_summary(reference, as_json=True)
    reported = json.loads(capsys.readouterr().out)
    assert reported["stopped"] == "apart" and all(
        one["low"] is None for one in reported["medians"][0]["values"].values()
    )


@pytest.mark.thorough
def test_a_run_against_another_ends_when_it_is_decided(expert: Path, tmp_path: Path) -> None:
    request = Request((TASK,), "still", 30, against=str(expert), until_decided=True)
    table = run(request, tmp_path / "run")
    assert len(table) == FIRST_WAVE and set(table["seed"]) < set(range(24))
    assert sorted(table["seed"]) != list(range(FIRST_WAVE)), "the order is one by chance"
    assert seeds_of(expert) == 24
    found = compare(expert, tmp_path / "run")
    assert found.stopped == "together" and found.is_paired
    assert found.overall.verdict is not None and found.overall.verdict.word == "regressed"
    table.head(17).write_parquet(tmp_path / "run" / "episodes" / "all.parquet")
    again = run(request, tmp_path / "run")
    assert again["trial_id", "trajectory_hash"].equals(table["trial_id", "trajectory_hash"])
    assert len(run(request, tmp_path / "run")) == FIRST_WAVE, "what is decided stays so"
    with pytest.raises(UserError, match="itself stopped early on its outcomes"):
        run(replace(request, against=str(tmp_path / "run")), tmp_path / "next")


def test_a_run_is_not_resumed_against_another_one_than_it_was_begun_with(expert: Path, tmp_path: Path) -> None:
    reference = shutil.copytree(expert, tmp_path / "reference")
    request = Request(
        (TASK,), "expert", 24, name="the same", against=str(reference), until_decided=True, margin=0.3
    )  # fmt: skip
    run(request, tmp_path / "run")
    found = compare(reference, tmp_path / "run", margin=0.3)
    assert found.overall.verdict is not None and found.overall.verdict.word == "held" and found.overall.n == FIRST_WAVE
    load(reference).head(22).write_parquet(reference / "episodes" / "all.parquet")
    with pytest.raises(RunConflict, match="against_episodes"):
        run(request, tmp_path / "run")


def test_what_cannot_be_reached_or_compared_is_refused_before_anything_is_run(expert: Path, tmp_path: Path) -> None:
    out = tmp_path / "run"
    with pytest.raises(UserError, match=r"25 situations per task are too few .* width 0\.1: .*raise --seeds"):
        run(Request((TASK,), "still", 25, until_width=0.1), out)
    with pytest.raises(UserError, match=r"has none of these trials.*seeds 0 … 23 of primitive/press_switch"):
        run(Request(("primitive/pick_cube",), "still", 5, against=str(expert), until_decided=True), out)
    for until_decided in (True, False):
        with pytest.raises(UnreadableRun, match="not a run folder"):
            run(Request((TASK,), "still", 5, against=str(tmp_path), until_decided=until_decided), out)
    assert not out.exists()


@pytest.mark.parametrize(
    "options, message",
    [
        ({"until_width": 0.0}, "--until-width 0 must be at least 0.001 and below 1"),
        ({"until_width": 1.0}, "at least 0.001 and below 1"),
        ({"until_decided": True}, "give --against RUN"),
        ({"until_decided": True, "against": "x", "until_width": 0.1}, "choose one"),
        ({"until_width": 0.1, "shard": "1/2"}, "--shard does not work"),
        ({"until_width": 0.1, "repeats": 2}, "--repeats does not work"),
        ({"margin": 0.0}, "margin of 0"),
    ],
)
def test_what_makes_no_sense_is_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(UserError, match=message):
        Request((TASK,), "still", 50, **options)


def trials(policy: str, seeds: int, tasks: int = 1) -> list[Trial]:
    return [Trial(f"t/{task}", 1, policy, seed) for task in range(tasks) for seed in range(seeds)]


def played(trials: list[Trial], solved: dict[str, float], errors: int = 0) -> pl.DataFrame:
    """Episodes of trials; of a task's seeds, spread evenly, a share is solved."""
    rows: list[dict[str, Any]] = [
        {
            **dict.fromkeys(SCHEMA), "trial_id": trial.id, "task": trial.task, "task_version": 1, "family": "t",
            "robot": "panda", "policy": trial.policy, "seed": trial.seed, "repeat": 0, "perturbations": [],
            "clock": "lockstep", "instructions": [], "attempt": 1, "trajectory_hash": trial.id,
            "success": (trial.seed * 0.618) % 1 < solved[trial.task],
            "outcome": "error" if index < errors else "success",
        }
        for index, trial in enumerate(trials)
    ]  # fmt: skip
    return pl.DataFrame(rows, schema=SCHEMA)


def waves(rule: Rule, plan: list[Trial], solved: dict[str, float]) -> list[list[Trial]]:
    """The trials after each wave, until no more come."""
    found: list[list[Trial]] = []
    allowed = rule(plan, NOTHING_YET)
    while not found or len(allowed) > len(found[-1]):
        found.append(allowed)
        allowed = rule(plan, played(allowed, solved))
    return found


def test_each_task_gets_as_many_seeds_as_its_own_interval_needs() -> None:
    solved = {"t/0": 1.0, "t/1": 0.5, "t/2": 0.0}
    ends = waves(UntilNarrow(0.2), trials("p", 2000, tasks=3), solved)
    numbers = {task: [sum(trial.task == task for trial in wave) for wave in ends] for task in solved}
    assert numbers["t/0"][-1] == numbers["t/2"][-1] < 30 < 200 < numbers["t/1"][-1] < 400
    assert all(2 * before >= after for counts in numbers.values() for before, after in pairwise(counts))
    assert len(ends) < 12
    assert len(waves(UntilNarrow(0.2), trials("p", 50), {"t/0": 0.5})[-1]) == 50, "seeds are the most"


def test_a_task_that_has_shown_all_its_situations_is_left() -> None:
    plan = trials("p", 1000)
    # Every third situation comes again and again.
    done = played(plan[: 2 * FIRST_WAVE], {"t/0": 0.5}).with_columns(
        trajectory_hash=(pl.col("seed") % 3).cast(pl.String), success=pl.col("seed") % 3 == 0
    )
    assert len(UntilNarrow(0.2)(plan, done)) == 2 * FIRST_WAVE


def test_episodes_that_erred_say_nothing_of_the_rate() -> None:
    plan = trials("p", 100)
    first = plan[:FIRST_WAVE]
    assert len(UntilNarrow(0.2)(plan, played(first, {"t/0": 1.0}, errors=FIRST_WAVE))) == 2 * FIRST_WAVE


def test_waves_are_nested_and_give_each_task_its_share() -> None:
    solved = {"t/0": 0.6, "t/1": 0.6, "t/2": 0.6}
    plan = trials("new", 60, tasks=2) + [Trial("t/2", 1, "new", seed) for seed in range(30)]
    reference = played([replace(trial, policy="old") for trial in plan], solved)
    ends = waves(UntilDecided(Path("old"), reference, 0.02), plan, solved)
    assert len(ends[-1]) == len(plan), "it cannot be decided with so small a margin"
    for before, after in pairwise(ends):
        assert after[: len(before)] == before
    for wave in ends:
        numbers = [sum(trial.task == task for trial in wave) for task in solved]
        assert abs(numbers[0] - numbers[1]) <= 1 and abs(numbers[0] - 2 * numbers[2]) <= 2


def test_only_what_the_other_run_finished_is_run() -> None:
    plan = trials("new", 40)
    reference = played([replace(trial, policy="old") for trial in plan[:30]], {"t/0": 0.5}, errors=5)
    last = waves(UntilDecided(Path("old"), reference, 0.1), plan, {"t/0": 0.5})[-1]
    assert sorted(trial.seed for trial in last) == list(range(5, 30))


@pytest.mark.parametrize("selector", ["stress/noise", "cliff/noise/primitive/pick_cube"])
def test_suites_that_decide_themselves_do_not_stop_early(selector: str) -> None:
    with pytest.raises(UserError, match="it chooses its own trials by outcome"):
        Request((selector,), "expert", 2000, until_width=0.1)
