"""Checking a whole set: what is written, what a second call adds, and what the command says and returns."""

from __future__ import annotations

import json
import resource
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from robodx.analysis.fairness import by_factor, offenders
from robodx.chat_completions import ChatError, Endpoint
from robodx.errors import UserError
from robodx.fairness import instances as sets
from robodx.fairness import validating
from robodx.fairness.checks import checked_situation
from robodx.fairness.instances import instances_of, selected, situation_of
from robodx.fairness.validating import Look, validate
from robodx.records.annotations import annotation_of, append_annotation
from robodx.records.instance import Instance
from robodx.records.ledger import Ledger
from robodx.records.review import read_review
from robodx.registry import UnknownName
from robodx.tasks.base import Situation
from tests.chatting import Reply, chat_server
from tests.commands import call
from tests.fairness import PLANTED

TASK = "bias/put_solid_in_box"
COLOURS = [Instance(f"colour: {name}", "colour", TASK, 1, (("target colour", name),)) for name in ("green", "red")]
ACCEPT, REJECT = '{"verdict": "accept", "reason": "fine"}', '{"verdict": "reject", "reason": "not there"}'


@pytest.fixture
def planted(monkeypatch: pytest.MonkeyPatch) -> Instance:
    """An instance whose solid is off-screen."""
    bad = Instance("colour: nowhere", "colour", TASK, 0)
    make, _ = PLANTED["off-screen"]

    def made(instance: Instance) -> Situation:
        return make() if instance == bad else situation_of(instance)

    monkeypatch.setattr(validating, "situation_of", made)
    return bad


def test_instances_of_a_task_are_each_value_that_can_be_set_and_the_untouched_one() -> None:
    found = list(instances_of(TASK, ("target colour", "camera"), range(2)))
    assert {one.factor for one in found} == {"target colour", "camera"}
    by_value = [one for one in found if one.factor == "target colour" and one.seed == 0]
    # Its own colour is not set again.
    assert sum(not one.interventions for one in by_value) == 1 and len(by_value) == 8
    assert len({one.name for one in found}) == len(found)
    assert len({one.factor for one in instances_of(TASK)}) > 10


def test_selectors_name_suites_factors_tasks_and_interventions(monkeypatch: pytest.MonkeyPatch) -> None:
    of_suite = [*COLOURS, Instance("camera: 1", "camera_pose", TASK, 0)]
    # A suite may be called as a family of tasks.
    monkeypatch.setitem(sets.SETS, "bias", lambda: of_suite)
    assert selected([]) == selected(["bias"]) == of_suite
    assert selected(["bias/camera_pose", "bias/camera_pose"]) == of_suite[2:]
    assert {one.factor for one in selected([f"{TASK}:target colour"])} == {"target colour"}
    two = selected([f"{TASK}:camera", "carrier/put_in:camera"])
    assert len(two) == len({one.name for one in two}) == 4
    with pytest.raises(UnknownName, match="factor of bias"):
        selected(["bias/camera_poes"])
    with pytest.raises(UnknownName, match="Did you mean"):
        selected(["control/stack_cub"])
    with pytest.raises(UserError, match="after its colon"):
        selected([f"{TASK}:"])


def test_a_set_is_checked_laid_out_for_people_and_told_by_factor(tmp_path: Path, planted: Instance) -> None:
    out = tmp_path / "out"
    never = Instance("never", "other", TASK, 0, (("target colour", "no colour"),))
    table = validate([*COLOURS, planted, never], out, Look(sample=1))
    assert table["passes"].to_list() == [True, True, False, False]
    assert table["reasons"].to_list()[2] == ["the solid is off-screen"]
    assert "it cannot be made: " in table["reasons"].to_list()[3][0]
    # One of those that pass, and what does not; of what cannot be made there is nothing to see.
    assert table["picture"].is_null().sum() == 2 and table["picture"].to_list()[2] is not None
    assert {path.name for path in (out / "pictures").iterdir()} == set(table["picture"].drop_nulls())
    first, second = by_factor(table)
    assert (first.factor, first.instances, first.passed, first.is_fair) == ("colour", 3, 2, False)
    assert (second.passed, second.pass_rate) == (0, 0.0)
    assert [one.instance for one in offenders(table)] == ["colour: nowhere", "never"]
    review = read_review(out, "fairness")
    assert review.is_sheet and sorted(item.automatic or "" for item in review.items) == ["accept", "reject"]
    assert pl.read_parquet(out / "instances.parquet").equals(table)
    # What people said is there when it is next looked at, and nothing is rendered again.
    (bad,) = (item for item in review.items if item.automatic == "reject")
    for name, label in (("ann", "reject"), ("bob", "reject"), ("cat", "accept")):
        append_annotation(out, "fairness", annotation_of(review, {"item": bad.id, "annotator": name, "label": label}))
    with (out / "reviews" / "fairness.jsonl").open("a") as file:
        file.write('{"item": "cut o')
    told: list[str] = []
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(validating, "checked_situation", None)
        again = validate([*COLOURS, planted, never], out, Look(sample=1), tell=told.append)
    assert len(told) == 1 and "line 4 of fairness.jsonl does not count" in told[0]
    assert again.row(2, named=True)["people"] == "reject"
    assert (again["people_accept"][2], again["people_reject"][2]) == (1, 2)
    assert read_review(out, "fairness") == review


def test_enough_is_95_of_100() -> None:
    rows = [{"factor": "a", "passes": n >= 5, "people": None, "judge": None} for n in range(100)]
    rows += [{"factor": "b", "passes": n >= 1, "people": "accept", "judge": "cannot tell"} for n in range(19)]
    schema = {"factor": pl.String, "passes": pl.Boolean, "people": pl.String, "judge": pl.String}
    first, second = by_factor(pl.DataFrame(rows, schema=schema))
    assert first.is_fair and not second.is_fair
    assert (second.people_accepted, second.people_judged, second.judge_judged) == (19, 19, 0)


def test_what_looks_and_sounds_the_same_is_judged_once(tmp_path: Path) -> None:
    twice = [Instance("a", "colour", TASK, 1), Instance("b", "shape", TASK, 1)]
    told: list[str] = []
    with chat_server(ACCEPT) as chat:
        table = validate(twice, tmp_path / "out", judge_at=Endpoint(chat.url, "eye"), tell=told.append)
    assert len(chat.asked) == 1 and table["judge"].to_list() == ["accept", "accept"]
    assert table["item"].n_unique() == 1 and len(read_review(tmp_path / "out", "fairness").items) == 1
    assert table["judge_model"].to_list() == ["eye", "eye"] and told == []


def test_a_judge_that_fails_midway_has_lost_nothing(tmp_path: Path) -> None:
    out, told = tmp_path / "out", list[str]()
    with chat_server(REJECT, Reply(b"", 401)) as chat, pytest.raises(ChatError, match=r"401.*goes on later"):
        validate(COLOURS, out, judge_at=Endpoint(chat.url, "eye"), tell=told.append)
    assert sorted(pl.read_parquet(out / "instances.parquet")["judge"].to_list(), key=str) == [None, "reject"]
    with chat_server("what?", "what?", "what?", ACCEPT) as chat:
        eye = Endpoint(chat.url, "eye")
        table = validate(COLOURS, out, judge_at=eye, tell=told.append)
        # Of one there was no proper reply: it is asked for again.
        assert sorted(table["judge"].to_list(), key=str) == [None, "reject"] and len(chat.asked) == 3
        assert len(told) == 1 and "No verdict on colour: " in told[0]
        table = validate(COLOURS, out, judge_at=eye, tell=told.append)
        assert sorted(table["judge"].to_list()) == ["accept", "reject"] and len(chat.asked) == 4
    # Without a judge its verdicts stay; another model begins anew.
    assert validate(COLOURS, out)["judge"].equals(table["judge"])
    with chat_server(REJECT) as chat:
        table = validate(COLOURS, out, judge_at=Endpoint(chat.url, "other"), tell=told.append)
    assert table["judge_model"].to_list() == ["other", "other"] and len(chat.asked) == 2


def test_a_line_that_was_cut_off_harms_no_other(tmp_path: Path) -> None:
    path = tmp_path / "checks.jsonl"
    first = Ledger(path)
    first.add("a", {"n": 1})
    with path.open("ab") as file:
        file.write(b'{"key": "b", "n"')
    again = Ledger(path)
    assert again.get("a") == {"n": 1} and again.get("b") is None
    again.add("c", {"n": 3})
    assert [entry["n"] for entry in Ledger(path).entries()] == [1, 3]
    path.write_bytes(b'[]\n{"n": 2}\nnull\n{"key": "d", "n": 4}\n')
    assert [entry["n"] for entry in Ledger(path).entries()] == [4]


def test_an_entry_that_does_not_fit_on_the_disk_is_refused_and_harms_no_other(tmp_path: Path) -> None:
    path = tmp_path / "checks.jsonl"
    ledger = Ledger(path)
    ledger.add("a", {"n": 1})
    before, limits = path.read_bytes(), resource.getrlimit(resource.RLIMIT_FSIZE)
    # So that a part of the line is written, as on a disk that is nearly full.
    resource.setrlimit(resource.RLIMIT_FSIZE, (len(before) + 9, limits[1]))
    try:
        with pytest.raises(UserError, match=r"checks\.jsonl cannot be written: "):
            ledger.add("b", {"n": 2})
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert path.read_bytes() == before and ledger.get("b") is None
    ledger.add("c", {"n": 3})
    assert [entry["n"] for entry in Ledger(path).entries()] == [1, 3]


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setitem(sets.SETS, "small", lambda: COLOURS)
    yield


def test_the_command_tells_and_returns_what_it_found(tmp_path: Path, small: None, planted: Instance) -> None:
    words = ("fairness", "small", "--out", "out")
    good = call(*words, cwd=tmp_path)
    assert "colour  2          2     100.0%" in good and "All factors pass: 2 instances" in good
    sets.SETS["small"] = lambda: [*COLOURS, planted]
    bad = call(*words, cwd=tmp_path, expect=1)
    assert "66.7%  below 95%" in bad and "colour: nowhere: the solid is off-screen" in bad
    said: dict[str, Any] = json.loads(call(*words, "--json", cwd=tmp_path, expect=1))
    assert said["is_fair"] is False and said["factors"][0]["passed"] == 2
    assert said["offenders"][0]["reasons"] == ["the solid is off-screen"]
    # The review is one like any other.
    assert "Nobody has labelled anything yet" in call("review", "out", "--name", "fairness", cwd=tmp_path)


def test_the_key_of_the_judge_is_read_from_the_environment(
    tmp_path: Path, small: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ROBODX_JUDGE_KEY", "k3y")
    with chat_server(ACCEPT) as chat:
        told = call("fairness", "small", "--out", "out", "--judge", chat.url, "--model", "eye", cwd=tmp_path)
    assert "2 of 2" in told and chat.keys == ["Bearer k3y"] * 2
    monkeypatch.delenv("ROBODX_JUDGE_KEY")
    with chat_server(Reply(b"", 401)) as chat:
        words = ("fairness", "small", "--out", "out", "--judge", chat.url, "--model", "other")
        assert "none is in ROBODX_JUDGE_KEY" in " ".join(call(*words, cwd=tmp_path, expect=2).split())


@pytest.mark.parametrize(
    ("options", "why"),
    [
        (("--judge", "http://localhost/v1"), "Name one with --model"),
        (("--model", "m"), "--judge URL"),
        (("--judge", "localhost", "--model", "m"), "no address of an API"),
        (("--sample", "few"), 'a number or "all"'),
        (("--camera", ","), "names no camera"),
        (("--camera", "frnt"), 'camera "frnt"'),
    ],
)
def test_mistakes_are_told(tmp_path: Path, small: None, options: tuple[str, ...], why: str) -> None:
    assert why in call("fairness", "small", "--out", "out", *options, cwd=tmp_path, expect=2)


def test_ctrl_c_keeps_what_is_done(tmp_path: Path, small: None, monkeypatch: pytest.MonkeyPatch) -> None:
    begun = list[object]()

    def stopped(*args: Any, **options: Any) -> Any:
        begun.append(args)
        if len(begun) == 2:
            raise KeyboardInterrupt
        return checked_situation(*args, **options)

    monkeypatch.setattr(validating, "checked_situation", stopped)
    told = call("fairness", "small", "--out", "out", cwd=tmp_path, expect=130)
    assert "Finished checks and judgements are in out; the same command resumes there." in told
    call("fairness", "small", "--out", "out", cwd=tmp_path)
    assert len(begun) == 3
