"""A run's own decisions: what is tried again, when it gives up, what it stores of strange errors, rounds in shards."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from robodx.errors import Stop, UserError
from robodx.evaluation import evaluate
from robodx.policy_contract import POLICIES, ActionChunk, EpisodeStart, Observation, PolicySpec, policy
from robodx.records.about import read_about
from robodx.records.merge import merge
from robodx.records.table import load
from robodx.records.trial import Trial
from robodx.running.loop import LONGEST_STREAK
from robodx.running.request import Request
from robodx.running.run import Execution, run
from robodx.streams import FIRST_TRAINING_SEED
from robodx.suites.base import SUITES, SuiteRequest
from robodx.terminal.summary import print_summary

TASK = "primitive/press_switch"
# Ends an episode after a step.
STAY = np.zeros((400, 7), dtype=np.float32)


class Failing:
    """Fails where it is told to: `fails(seed, how often that seed was begun)` gives the error, or None."""

    spec = PolicySpec(state=(), uses_language=False)
    fails: Callable[[int, int], Exception | None] = staticmethod(lambda seed, begun: None)
    begun: dict[int, int]

    def __init__(self) -> None:
        self._seeds: dict[str, int] = {}

    def reset(self, starts: Sequence[EpisodeStart]) -> None:
        for start in starts:
            self._seeds[start.episode_id] = start.situation_seed
            self.begun[start.situation_seed] = self.begun.get(start.situation_seed, 0) + 1

    def act(self, observations: Sequence[Observation]) -> Sequence[ActionChunk | Exception]:
        return [self._act(self._seeds[one.episode_id]) for one in observations]

    def _act(self, seed: int) -> ActionChunk | Exception:
        return type(self).fails(seed, self.begun[seed]) or STAY

    def finish(self, ids: Sequence[str]) -> None: ...


@pytest.fixture
def failing() -> Iterator[type[Failing]]:
    """A registered policy, to be told where it fails."""

    class Scripted(Failing):
        """Fails where it is told to."""

        begun: dict[int, int] = {}  # noqa: RUF012

    policy("failing")(Scripted)
    yield Scripted
    del POLICIES._entries["failing"]


def test_an_error_that_does_not_come_twice_leaves_no_trace_but_the_attempt(
    failing: type[Failing], tmp_path: Path
) -> None:
    failing.fails = staticmethod(lambda seed, begun: ConnectionError("gone") if seed == 1 and begun < 3 else None)
    table = run(Request((TASK,), "failing", 3), tmp_path / "run")
    assert table["outcome"].to_list() == ["timeout"] * 3
    assert table.sort("seed")["attempt"].to_list() == [1, 3, 1]
    failing.begun.clear()
    once = run(Request((TASK,), "failing", 3), tmp_path / "once", Execution(retries=0))
    assert once.sort("seed")["outcome"].to_list() == ["timeout", "error", "timeout"]


def test_who_runs_on_seeds_for_training_is_told(failing: type[Failing], tmp_path: Path) -> None:
    told: list[str] = []
    for number, first in enumerate((FIRST_TRAINING_SEED - 2, FIRST_TRAINING_SEED - 1)):
        run(Request((TASK,), "failing", 2, first_seed=first), tmp_path / str(number), tell=told.append)
    assert told == ["Seeds from 1,000,000 on are for training; scores on them are no test."]


def test_errors_in_a_row_that_read_alike_stop_the_run(failing: type[Failing], tmp_path: Path) -> None:
    failing.fails = staticmethod(lambda seed, begun: RuntimeError("the model is not loaded") if seed >= 3 else None)
    seeds = 3 + LONGEST_STREAK + 4
    request = Request((TASK,), "failing", seeds)
    with pytest.raises(Stop, match=f"{LONGEST_STREAK + 1} episodes in a row .*the model is not loaded"):
        run(request, tmp_path / "run")
    assert len(failing.begun) == 3 + LONGEST_STREAK + 1
    failing.fails = staticmethod(lambda seed, begun: None)
    table = run(request, tmp_path / "run")
    assert table["outcome"].to_list() == ["timeout"] * seeds, "it goes on when that is mended"


def test_all_that_was_under_way_may_be_lost_at_once(failing: type[Failing], tmp_path: Path) -> None:
    failing.fails = staticmethod(lambda seed, begun: ConnectionError("gone") if begun == 1 else None)
    table = run(Request((TASK,), "failing", 16, batch=16), tmp_path / "run")
    assert table["outcome"].to_list() == ["timeout"] * 16


def test_different_errors_do_not_stop_the_run(failing: type[Failing], tmp_path: Path) -> None:
    failing.fails = staticmethod(lambda seed, begun: RuntimeError(f"number {seed}"))
    assert len(run(Request((TASK,), "failing", 15), tmp_path / "run", Execution(retries=0))) == 15


def test_an_error_that_is_no_text_is_stored_all_the_same(failing: type[Failing], tmp_path: Path) -> None:
    failing.fails = staticmethod(lambda seed, begun: RuntimeError("the server said \udcff") if seed == 1 else None)
    run(Request((TASK,), "failing", 3), tmp_path / "run", Execution(retries=0))
    errors = load(tmp_path / "run").filter(pl.col("outcome") == "error")["error"].to_list()
    assert len(errors) == 1 and r"the server said \udcff" in errors[0]


def test_a_suite_in_rounds_is_not_finished_by_a_shard_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def rounds(done: pl.DataFrame, suite_request: SuiteRequest) -> list[Trial]:
        seeds = range(2) if done.is_empty() else range(4)
        return [Trial(TASK, 2, suite_request.policy, seed, suite="rounds") for seed in seeds]

    monkeypatch.setitem(SUITES._entries, "rounds", rounds)
    for part in (1, 2):
        with pytest.raises(UserError, match="the next round of the suite needs the episodes of all shards"):
            run(Request(("rounds",), "expert", 1, shard=f"{part}/2"), tmp_path / str(part))
    merge([tmp_path / "1", tmp_path / "2"], tmp_path / "whole")
    whole = run(Request(("rounds",), "expert", 1), tmp_path / "whole")
    alone = run(Request(("rounds",), "expert", 1), tmp_path / "alone")
    assert len(whole) == 4
    assert whole.select("seed", "trajectory_hash").equals(alone.select("seed", "trajectory_hash"))


def test_a_preset_is_not_for_an_object(failing: type[Failing]) -> None:
    with pytest.raises(UserError, match='a preset \\("droid"\\) is for a policy that is named'):
        evaluate(failing(), TASK, seeds=1, preset="droid")


@pytest.mark.parametrize("shard", ["²/3", "1/", "0/2", "3/2", "a/b"])
def test_a_shard_that_is_none_is_refused(shard: str) -> None:
    with pytest.raises(UserError, match="write K/N"):
        Request((TASK,), "expert", 1, shard=shard)


def test_what_needs_language_is_not_applicable_to_a_policy_without(
    failing: type[Failing], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    table = run(Request((TASK, "language/direct"), "failing", 2), tmp_path / "run")
    assert set(table["task"]) == {TASK}
    assert read_about(tmp_path / "run")["not_applicable"] == ["language/direct"]
    print_summary(tmp_path / "run", as_json=False)
    assert "Not applicable, because the policy reads no instructions: language/direct." in capsys.readouterr().out
    with pytest.raises(UserError, match="reads no instructions"):
        evaluate(failing(), "language/direct", seeds=1)
    with pytest.raises(
        UserError, match=r"failing reads no instructions, but all of these tasks need them: language/direct"
    ):
        run(Request(("language/direct",), "failing", 1), tmp_path / "other")
