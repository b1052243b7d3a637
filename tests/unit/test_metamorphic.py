"""Metamorphic relations: how they compose, what each asks for, and what the suite plans."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from robodx.analysis.metamorphic import words
from robodx.errors import UserError
from robodx.interventions.changing import target_of
from robodx.policy_contract import PolicySpec
from robodx.records.design import Planned
from robodx.records.pairs import REPEAT
from robodx.records.schema import SCHEMA
from robodx.records.trial import Trial
from robodx.registry import UnknownName
from robodx.relations.base import RELATIONS, Source, find_relation
from robodx.relations.differences import differences
from robodx.suites.base import SuiteRequest, ask
from robodx.tasks.base import TASKS

SEEDS = 4
# A hand that was never low.
NOWHERE = np.zeros((0, 3))
READS = PolicySpec(action_space="ee_pose", state=())


def source(task: str = "put_in", seed: int = 0) -> Source:
    entry = TASKS[f"carrier/{task}"]
    return Source.of(Trial(entry.id, entry.version, "expert", seed), NOWHERE)


def request(*within: str, spec: PolicySpec | None = None, repeats: int = 1) -> SuiteRequest:
    return SuiteRequest("expert", SEEDS, within=within, spec=spec, repeats=repeats, folder=Path("no run"))


def done(planned: list[Planned], solved: set[str]) -> pl.DataFrame:
    rows = [
        {"trial_id": one.trial.id, "task": one.trial.task, "success": one.trial.id in solved, "outcome": "success"}
        for one in planned
    ]
    return pl.DataFrame(rows, schema={name: SCHEMA[name] for name in ("trial_id", "task", "success", "outcome")})


NOTHING = pl.DataFrame(schema={name: SCHEMA[name] for name in ("trial_id", "task", "success", "outcome")})


def test_only_sources_that_succeeded_have_follow_ups_and_repeats() -> None:
    first = ask("metamorphic", NOTHING, request("MR1"))
    assert {one.variant for one in first} == {"source"} and len(first) == 4 * SEEDS
    solved = {one.trial.id for one in first[:5]}
    second = ask("metamorphic", done(first, solved), request("MR1"))
    after = [one for one in second if one.variant != "source"]
    assert {one.source.id for one in after if one.source} == solved
    assert sorted(one.variant for one in after) == ["follow-up"] * 5 + ["repeated"] * 5
    for one in after:
        assert one.source is not None
        if one.variant == "repeated":
            # The same situation, with other draws of the policy.
            assert one.trial == replace(one.source, repeat=one.source.repeat + 1)
        else:
            assert one.trial.repeat == one.source.repeat and one.trial.interventions
            assert dict(one.factors)["relation"] == "MR1"


def test_repeats_of_sources_are_no_repeats_of_each_other() -> None:
    first = ask("metamorphic", NOTHING, request("MR3", "pick_up", repeats=3))
    assert sorted({one.trial.repeat for one in first}) == [0, 2, 4]
    second = ask("metamorphic", done(first, {one.trial.id for one in first}), request("MR3", "pick_up", repeats=3))
    assert {one.trial.repeat for one in second if one.variant == "repeated"} == {1, 3, 5}


@pytest.mark.parametrize("within", [("MR2", "put_in"), ("put_in", "MR2")])
def test_a_part_is_selected_by_relation_and_task(within: tuple[str, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("robodx.suites.metamorphic._path", lambda file: NOWHERE)
    first = ask("metamorphic", NOTHING, request(*within))
    assert {one.trial.task for one in first} == {"carrier/put_in"}
    second = ask("metamorphic", done(first, {one.trial.id for one in first}), request(*within))
    assert {dict(one.factors).get("relation") for one in second if one.factors} == {"MR0", "MR2"}


def test_an_unknown_part_is_told_with_what_there_is() -> None:
    with pytest.raises(UnknownName, match="MR12"):
        ask("metamorphic", NOTHING, request("MR12"))
    with pytest.raises(UnknownName, match="pick_up"):
        ask("metamorphic", NOTHING, request("pickup"))


def test_relations_that_change_nothing_that_the_policy_is_given_are_left_out() -> None:
    first = ask("metamorphic", NOTHING, request("pick_up", spec=READS))
    second = ask("metamorphic", done(first, {one.trial.id for one in first}), request("pick_up", spec=READS))
    asked = {dict(one.factors)["relation"] for one in second if one.variant == "follow-up"}
    # Nor is there an MR2 where the path of the source is not known.
    assert asked == {"MR1", "MR4", "MR5", "MR6", "MR7", "MR9", "MR10"}
    with pytest.raises(UnknownName, match="given nothing"):
        ask("metamorphic", NOTHING, request("MR8", spec=READS))


def test_two_relations_at_once() -> None:
    both = find_relation("MR1 & MR3")
    assert both.name == "MR1 & MR3" and both.pattern == "consistency"
    assert find_relation("MR1+MR3").name == both.name
    plain = source("pick_up")
    after = Source.of(both.follow_up(plain).trial)
    assert differences(plain.situation, after.situation) == {"words", "light"}
    moved = find_relation("MR3 & MR5")
    assert moved.pattern == "relocation"
    assert math.hypot(*moved.follow_up(plain).moved) == pytest.approx(0.1)
    planned = ask("metamorphic", NOTHING, request("MR1 & MR3", "pick_up"))
    later = ask("metamorphic", done(planned, {planned[0].trial.id}), request("MR1 & MR3", "pick_up"))
    assert dict(later[-1].factors)["relation"] == "MR1 & MR3"


def test_a_relation_is_not_composed_with_itself_and_paths_must_be_stored() -> None:
    with pytest.raises(UserError, match="MR1 is named twice"):
        find_relation("MR1 & MR3 & MR1")
    with pytest.raises(UserError, match="run it into a folder"):
        ask("metamorphic", NOTHING, SuiteRequest("expert", 1))


@pytest.mark.parametrize("text", ["MR4 & MR5", "MR6 & MR10", "MR5 & MR11"])
def test_what_nobody_knows_to_expect_is_refused(text: str) -> None:
    with pytest.raises(UserError, match="what path to expect"):
        find_relation(text)


def test_the_target_moves_by_ten_centimetres_and_the_scene_by_four() -> None:
    for seed in range(SEEDS):
        here = source(seed=seed)
        for name, by_m in (("MR5", 0.1), ("MR10", 0.04)):
            follow_up = RELATIONS[name].follow_up(here)
            assert math.hypot(*follow_up.moved) == pytest.approx(by_m)
            factors = dict(RELATIONS[name].factors(follow_up.moved))
            assert (factors["moved_x"], factors["moved_y"]) == follow_up.moved


def test_what_is_added_lies_off_the_path_and_far_from_the_target() -> None:
    relation = RELATIONS["MR2"]
    for seed in range(SEEDS):
        here = source("pick_up", seed)
        free = Source.of(relation.follow_up(here).trial).situation.scene.things[len(here.situation.scene.things) :]
        target = target_of(here.situation).pose.position[:2]
        assert 1 <= len(free) <= 4
        assert all(math.dist(thing.pose.position[:2], target) >= 0.1 for thing in free)
        # A hand that went just there leaves another draw to take.
        x, y, _ = free[0].pose.position
        swept = replace(here, path=np.array([[x, y, 0.05], [*target, 0.05]]))
        others = Source.of(relation.follow_up(swept).trial).situation.scene.things[len(here.situation.scene.things) :]
        assert all(math.dist(thing.pose.position[:2], (x, y)) >= thing.radius_m + 0.05 for thing in others)


def test_words_of_a_mirrored_source_speak_of_sides() -> None:
    relation = RELATIONS["MR6"]
    trials = [relation.prepared(source("pick_up", seed).trial) for seed in range(6)]
    texts = [Source.of(trial).situation.instruction.text for trial in trials]
    mirrored = [Source.of(relation.follow_up(Source.of(trial)).trial).situation.instruction.text for trial in trials]
    sides = {"left": "right", "right": "left"}
    for before, after in zip(texts, mirrored, strict=True):
        said = [word for word in before.replace(".", "").split() if word in sides]
        assert said, before
        assert [sides[word] for word in said] == [word for word in after.replace(".", "").split() if word in sides]


def test_a_prohibition_is_kept_by_who_does_nothing_and_broken_by_who_does_it() -> None:
    from robodx.policy_contract import make_policy
    from robodx.running.rollout import rollout

    trial = RELATIONS["MR4"].follow_up(source("pick_up")).trial
    assert Source.of(trial).situation.instruction.text.startswith("Do not ")
    outcomes = {
        policy: next(iter(rollout([replace(trial, policy=policy)], make_policy(policy)))).episode.success
        for policy in ("expert", "still", "fault:ignores_negation")
    }
    assert outcomes == {"expert": True, "still": True, "fault:ignores_negation": False}


def test_the_words_of_the_analysis_are_those_of_the_relations() -> None:
    titles = {name: RELATIONS[name].title for name in RELATIONS}
    assert {REPEAT: "repeat", **titles} == words.NAMES
    assert set(words.NAMES) == set(words.CHANGES)
