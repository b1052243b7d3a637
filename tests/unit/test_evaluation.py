"""Evaluation from Python: the same episodes as a run, from an object or a name."""

from __future__ import annotations

from pathlib import Path

import pytest

import robodx
from robodx.errors import UserError
from robodx.policies.still import StillPolicy
from robodx.policy_contract import POLICIES, make_policy
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
    assert isinstance(make_policy(f"python:{place}"), StillPolicy)


@pytest.mark.parametrize(
    ("place", "message"),
    [
        ("no_such_module:thing", "No module named"),
        ("robodx.policies.still:Stil", "no attribute 'Stil'"),
        ("robodx.policies.still", "does not name an object"),
        ("robodx.policies.random:LOWER", "neither a policy nor something that makes one"),
        ("builtins:dict", "gives a dict, which is not a policy: it has no spec, reset, act, finish"),
    ],
)
def test_what_is_no_policy_is_told(place: str, message: str) -> None:
    with pytest.raises(UserError, match=message):
        make_policy(f"python:{place}")


def test_a_policy_that_takes_an_argument_says_which() -> None:
    assert POLICIES["python"].takes == "PACKAGE.MODULE:NAME"
    with pytest.raises(UserError, match=r"PACKAGE\.MODULE:NAME is missing"):
        make_policy("python")
