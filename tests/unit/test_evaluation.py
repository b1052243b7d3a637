"""Evaluation from Python: the same episodes as a run, from an object or a name."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import robodx
from robodx.analysis.statistics.estimates import NOTHING, Estimate, wilson
from robodx.errors import UserError
from robodx.evaluation import Results
from robodx.policies.still import StillPolicy
from robodx.policy_contract import POLICIES, ActionChunk, EpisodeStart, Observation, PolicySpec, make_policy, opened
from robodx.records.trial import Trial
from robodx.registry import UnknownName
from robodx.running.request import Request
from robodx.running.run import run

TASK = "primitive/press_switch"


def test_an_evaluation_is_the_run_without_the_folder(tmp_path: Path) -> None:
    results = robodx.evaluate("expert", "primitive", seeds=3, batch=2)
    recorded = run(Request(("primitive",), "expert", 3), tmp_path / "run")
    assert results.episodes["trajectory_hash"].to_list() == recorded["trajectory_hash"].to_list()
    assert (results.success.value, results.success.n) == (1.0, 9)
    assert [row.task for row in results.tasks] == ["primitive/pick_cube", TASK, "primitive/stand_peg"]
    assert "100%" in str(results)


def test_a_policy_object_is_evaluated_as_it_is() -> None:
    results = robodx.evaluate(StillPolicy(), TASK, seeds=2)
    assert results.success.value == 0.0 and results.episodes["policy"].to_list() == ["StillPolicy"] * 2


def test_what_cannot_be_run_is_refused_before_the_first_step() -> None:
    with pytest.raises(UnknownName, match="primitive"):
        robodx.evaluate("still", "primtive")
    with pytest.raises(UserError, match="No clock"):
        robodx.evaluate("still", TASK, clock="never")


@pytest.mark.parametrize("place", ["robodx.policies.still:StillPolicy", "robodx.policy_contract:make_still"])
def test_a_policy_is_found_where_it_is_in_python(place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("robodx.policy_contract.make_still", StillPolicy(), raising=False)
    assert make_policy(f"python:{place}").spec is StillPolicy.spec


class Acting:
    """All that a policy has to have."""

    spec = PolicySpec(state=())

    def act(self, observations: Sequence[Observation]) -> list[ActionChunk]:
        return [np.tile(np.array([0, 0, 0, 0, 0, 0, 1], np.float32), (400, 1)) for _ in observations]


class Starting(Acting):
    """With one of the two that it may have."""

    def __init__(self) -> None:
        self.started: list[str] = []
        self.is_closed = False

    def reset(self, starts: Sequence[EpisodeStart]) -> None:
        self.started += [start.episode_id for start in starts]

    def close(self) -> None:
        self.is_closed = True


def test_a_policy_needs_neither_reset_nor_finish() -> None:
    results = robodx.evaluate(Acting(), TASK, seeds=2, batch=2)
    assert results.episodes["outcome"].to_list() == ["timeout"] * 2 and results.episodes["policy"][0] == "Acting"
    trial = Trial(TASK, 2, "mine", 0)
    ((episode, _),) = robodx.rollout([trial], Acting())
    assert episode.outcome == "timeout"


def test_what_a_policy_does_have_is_called(monkeypatch: pytest.MonkeyPatch) -> None:
    starting = Starting()
    robodx.evaluate(starting, TASK, seeds=1)
    assert len(starting.started) == 1
    monkeypatch.setattr("robodx.policy_contract.make_starting", starting, raising=False)
    with opened("python:robodx.policy_contract:make_starting") as made:
        made.finish(["nobody"])
        copied: Any = copy.deepcopy(made)
        assert copied.started == starting.started, "all else is its own"
    assert starting.is_closed


def test_what_does_not_act_is_no_policy() -> None:
    class Idle:
        spec = PolicySpec()

        def reset(self, starts: object) -> None: ...

    with pytest.raises(UserError, match=r"the policy is a Idle, which is not a policy: it has no act$"):
        robodx.evaluate(Idle(), TASK)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("place", "message"),
    [
        ("no_such_module:thing", "No module named"),
        ("robodx.policies.still:Stil", "no attribute 'Stil'"),
        ("robodx.policies.still", "does not name an object"),
        ("robodx.policies.random:LOWER", "neither a policy nor something that makes one"),
        ("builtins:dict", "gives a dict, which is not a policy: it has no spec, act"),
    ],
)
def test_what_is_no_policy_is_told(place: str, message: str) -> None:
    with pytest.raises(UserError, match=message):
        make_policy(f"python:{place}")


def test_a_policy_that_takes_an_argument_says_which() -> None:
    assert POLICIES["python"].takes == "PACKAGE.MODULE:NAME"
    with pytest.raises(UserError, match=r"PACKAGE\.MODULE:NAME is missing"):
        make_policy("python")


class Tags(HTMLParser):
    """What a browser would make of it: the tags, and the text between them."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.text = ""
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.tags.append(tag)

    def handle_data(self, data: str) -> None:
        self.text += data


def test_an_estimate_is_shown_with_its_interval_in_a_notebook() -> None:
    shown = Tags(wilson(8, 10)._repr_html_())
    assert "80% [49, 94]" in shown.text and "n = 10" in shown.text and shown.tags.count("i") == 1
    assert "left:49.0%;width:45.3%" in wilson(8, 10)._repr_html_() and "left:80.0%" in wilson(8, 10)._repr_html_()
    # A difference is no share of anything, and no data has no bar.
    for estimate, told in ((Estimate(-0.2, -0.4, 0.1, 30), "-20% [-40, 10]"), (NOTHING, "— (n = 0)")):
        shown = Tags(estimate._repr_html_())
        assert told in shown.text and "i" not in shown.tags


def test_results_are_shown_in_a_notebook_and_names_in_them_are_data() -> None:
    results = robodx.evaluate("expert", "primitive", seeds=2)
    page = results._repr_html_()
    shown = Tags(page)
    assert (
        "Success 100% [" in shown.text
        and "mean over 3 tasks" in shown.text
        and "By episode: 6 of 6 solved." in shown.text
    )
    assert all(f"primitive/{name}" in shown.text for name in ("pick_cube", "press_switch", "stand_peg"))
    assert shown.tags.count("tr") == 4 and len(page) < 4000 and "#" not in page, "no colours of its own"
    hostile = "<script>alert(1)</script>"
    named = Results(results.episodes.with_columns(task=pl.lit(f"primitive/{hostile}")), (hostile,))
    shown = Tags(named._repr_html_())
    assert "script" not in shown.tags and shown.text.count(hostile) == 2
    assert "No episodes" in Results(results.episodes.clear())._repr_html_()
    is_one = pl.col("task") == "primitive/pick_cube"
    erred = results.episodes.filter(is_one).with_columns(outcome=pl.lit("error"), success=pl.lit(None, pl.Boolean))
    told = " ".join(Tags(Results(erred)._repr_html_()).text.split())
    assert "Success — (n = 0) one task. 2 ended in an error." in told and "0 of 0" not in told
    partly = " ".join(Tags(Results(pl.concat([erred, results.episodes.filter(~is_one)]))._repr_html_()).text.split())
    assert "By episode: 4 of 4 solved. 2 ended in an error." in partly
