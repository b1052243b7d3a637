"""Null inputs: what each takes away, what stays, and what a run of them says that a policy does not use."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
import pytest

from robodx.analysis.null_inputs import WORDS, InputUse, input_uses
from robodx.analysis.variants import with_variants
from robodx.errors import UserError
from robodx.policies.expert import ExpertPolicy, privileged
from robodx.policy_contract import CameraRequest, PolicySpec
from robodx.records.design import Planned, design_table, with_design
from robodx.records.schema import SCHEMA
from robodx.records.trial import Trial
from robodx.records.values import Applied, as_factors
from robodx.running.environment import Environment
from robodx.running.request import Request
from robodx.running.rounds import first_round
from robodx.running.run import check
from robodx.suites.base import SuiteRequest, ask
from robodx.suites.null_inputs import USUAL
from robodx.tasks.base import TASKS
from robodx.terminal.null_inputs import lines
from robodx.wires.preset_files import find_preset, shipped
from tests.reporting import episode

NOTHING_DONE = pl.DataFrame(schema=SCHEMA)
EYES = PolicySpec(
    cameras=tuple(CameraRequest(name, 32, 32, depth=True, segmentation=True) for name in ("front", "wrist"))
)


def trial(*applied: Applied, task: str = "language/direct", seed: int = 3) -> Trial:
    return Trial(task, TASKS[task].version, "somebody", seed, perturbations=applied)


def told(*applied: Applied, task: str = "language/direct", seed: int = 3) -> Environment:
    return Environment(trial(*applied, task=task, seed=seed), PolicySpec())


# What is said, and what is asked for.


def test_blank_words_are_no_words_and_the_goal_stays() -> None:
    plain, blank = told(), told(("blank_words", 1.0))
    assert blank.observe().instruction == blank.start().instruction == ""
    assert blank.meaning == plain.meaning and list(map(str, blank.score.stages)) == list(map(str, plain.score.stages))


@pytest.mark.parametrize("order", [1, -1])
@pytest.mark.parametrize("null", WORDS)
def test_null_words_come_after_what_else_is_done_to_the_words(null: str, order: int) -> None:
    both = told(*((null, 1.0), ("paraphrase", 1.0))[::order])
    assert both.meaning == told().meaning
    if null == "blank_words":
        assert both.observe().instruction == ""


@pytest.mark.parametrize("task", ["language/direct", "primitive/pick_cube", "spatial/pick_leftmost"])
@pytest.mark.parametrize("seed", range(5))
def test_scrambled_words_are_the_same_in_another_order(task: str, seed: int) -> None:
    plain, scrambled = (
        told(*applied, task=task, seed=seed).observe().instruction for applied in ((), (("scrambled_words", 1.0),))
    )
    words = [[word.strip(".,;:?!") for word in text.lower().split()] for text in (plain, scrambled)]
    assert sorted(words[0]) == sorted(words[1]) and words[0] != words[1]


@pytest.mark.parametrize("seed", range(5))
def test_other_words_are_another_tasks_and_ask_for_something_else(seed: int) -> None:
    plain, other = told(seed=seed), told(("other_words", 1.0), seed=seed)
    assert other.observe().instruction not in ("", plain.observe().instruction)
    assert other.meaning == plain.meaning


@pytest.mark.parametrize("name", WORDS)
def test_a_privileged_policy_is_told_what_the_words_say_and_the_record_what_was_asked(name: str) -> None:
    environment = Environment(trial((name, 1.0)), ExpertPolicy.spec)
    asked, told_ = TASKS["language/direct"].situation(3).instruction.meaning, privileged(environment.observe()).meaning
    assert environment.meanings == [asked] and told_ != asked and bool(told_.clauses) == (name == "other_words")


@pytest.mark.parametrize("name", shipped())
def test_every_preset_carries_an_empty_text(name: str) -> None:
    preset = find_preset(name)
    if preset.prompt:
        bare = replace(preset, images={}, state={})
        observation = told(("blank_words", 1.0)).observe()
        sent = bare.request(observation, None)
        assert sent[preset.prompt] == "" and bare.observation(sent, episode_id="", step=0, time_s=0.0).instruction == ""


# What is seen.


def test_a_blank_camera_is_blank_in_all_parts_and_the_others_are_not() -> None:
    shown = Environment(trial(("camera_blank", "wrist")), EYES).observe()
    for part in (shown.images, shown.depth, shown.segmentation):
        assert part["front"].any() and not part["wrist"].any()
    every = Environment(trial(("camera_blank", "all")), EYES).observe()
    assert not any(array.any() for part in (every.images, every.depth, every.segmentation) for array in part.values())


def test_a_camera_that_the_policy_is_not_shown_is_refused_before_the_run() -> None:
    applied = (("camera_blank", "left"),)
    message = "camera_blank=left: the policy is not shown this camera; it is shown: front, wrist"
    with pytest.raises(UserError, match=message):
        Environment(trial(*applied), EYES).observe()
    with pytest.raises(UserError, match=message):
        check(Request(("language/direct",), "somebody", 1, perturbations=applied), EYES, [], workers=1)


def test_the_state_stays_as_it_was_at_first() -> None:
    environment = Environment(trial(("frozen_state", 1.0)), PolicySpec(action_space="joint"))
    first = environment.observe().state
    for _ in range(5):
        environment.accept(np.append(environment.simulation.command.joints + 0.1, 1.0)[None], 0.0)
        environment.step()
    assert all(np.array_equal(environment.observe().state[name], first[name]) for name in first)
    assert np.abs(environment.simulation.joint_positions() - first["joint_positions"]).max() > 0.05


# The suite.


def planned(spec: PolicySpec, *, wins: set[str], within: tuple[str, ...] = (), seeds: int = 2) -> list[Planned]:
    request = SuiteRequest("somebody", seeds, within=within, spec=spec)
    done = [
        episode(one.trial.task, one.trial.seed, success=one.trial.task in wins) | {"trial_id": one.trial.id}
        for one in ask("null_inputs", NOTHING_DONE, request)
    ]
    return ask("null_inputs", pl.DataFrame(done, schema=SCHEMA), request)


def nulls(asked: list[Planned], task: str) -> set[str]:
    return {f"{name}={value}" for one in asked for name, value in one.trial.perturbations if one.trial.task == task}


def test_each_input_of_a_policy_is_taken_away_where_there_is_something_to_lose() -> None:
    asked = planned(EYES, wins={"primitive/pick_cube", "language/direct"})
    seen = {"camera_blank=front", "camera_blank=wrist", "camera_blank=all", "frozen_state=1.0"}
    words = {"blank_words=1.0", "scrambled_words=1.0", "other_words=1.0"}
    assert nulls(asked, "language/direct") == seen | words
    # Where no choice is left to the words, there is nothing to lose by them.
    assert nulls(asked, "primitive/pick_cube") == seen and not nulls(asked, "control/stack_cube")
    assert {one.trial.task for one in asked} == set(USUAL)
    taken = [one for one in asked if one.trial.perturbations]
    clean = {one.trial.id for one in asked if one.variant == "clean"}
    assert all(one.source and one.source.id in clean and one.variant == "stressed" and one.factors for one in taken)


def test_a_policy_is_not_asked_about_what_it_is_not_given() -> None:
    deaf = PolicySpec(cameras=(CameraRequest("front"),), state=(), uses_language=False)
    asked = planned(deaf, wins={"primitive/pick_cube"}, within=("primitive", "pick_cube"))
    assert nulls(asked, "primitive/pick_cube") == {"camera_blank=front"}
    first, left_out = first_round(Request(("null_inputs",), "somebody", 1), deaf)
    assert "language/direct" in left_out and {one.trial.task for one in first} == set(USUAL) - set(left_out)


# What it says.


def uses(
    without: dict[str, float],
    *,
    seeds: int = 40,
    usual: float = 1.0,
    chance: float = 1 / 3,
    about: dict[str, Any] | None = None,
) -> dict[str, InputUse]:
    """Of a policy whose success is `usual`, and so much without an input, in the first seeds of one task."""
    plan: list[Planned] = []
    rows: list[dict[str, Any]] = []
    for seed in range(seeds):
        clean = replace(trial(seed=seed), suite="null_inputs")
        nulled = [replace(clean, repeat=2, perturbations=((name, 1.0),)) for name in without]
        plan += [Planned(clean), Planned(replace(clean, repeat=1), "repeated", clean)]
        plan += [Planned(one, "stressed", clean, as_factors(one.perturbations), "on") for one in nulled]
        for one in plan[-2 - len(nulled) :]:
            rate = without[one.trial.perturbations[0][0]] if one.trial.perturbations else usual
            row = episode(clean.task, seed, success=seed < rate * seeds, policy=clean.policy, chance=chance)
            applied = [{"name": name, "severity": value} for name, value in one.trial.perturbations]
            rows.append(row | {"trial_id": one.trial.id, "trajectory_hash": one.trial.id, "perturbations": applied})
    table = with_design(pl.DataFrame(rows, schema=SCHEMA), design_table(plan))
    return {use.perturbation: use for use in input_uses(with_variants(table, {}), about or {})}


def test_an_input_by_which_nothing_can_be_lost_is_told_as_not_tested() -> None:
    spec = {"uses_language": True, "cameras": [{"name": "front"}], "state": ["joints"]}
    found = uses({"frozen_state": 0.2}, usual=0.4, about={"policy_spec": spec})
    assert {name for name, use in found.items() if use.verdict == "nothing to lose"} == {*WORDS, "camera_blank"}
    assert "not tested" in found["blank_words"].says


def test_only_what_is_shown_to_change_nothing_is_said_not_to_be_used() -> None:
    found = uses({"blank_words": 0.3, "scrambled_words": 1.0, "frozen_state": 0.9})
    assert {name: use.verdict for name, use in found.items()} == {
        "blank_words": "used", "scrambled_words": "not needed", "frozen_state": "not decided"
    }  # fmt: skip
    text = "\n".join(lines(list(found.values())))
    assert "In language/direct:" in text and "order of words: not needed: success 100% with and 100% without" in text
    assert "words: used: success 100% with and 30% without (difference −70 [" in text
    assert "robot state: not decided with 40 situations: success 100% with and 90% without" in text


def test_an_interval_beside_what_is_not_decided_is_said_to_be_uncorrected() -> None:
    found = uses({"blank_words": 0.85, "frozen_state": 0.85})["blank_words"]
    assert found.verdict == "not decided" and found.loss.difference.high is not None and found.loss.difference.high < 0
    assert "p = 0.062 after correction over the inputs, n = 40)" in found.says
    assert "after correction" not in uses({"blank_words": 0.9})["blank_words"].says


def test_few_situations_decide_nothing() -> None:
    assert uses({"blank_words": 1.0}, seeds=10)["blank_words"].verdict == "not decided"


def test_who_is_at_chance_has_nothing_to_lose_by_words() -> None:
    found = uses({"blank_words": 0.5, "frozen_state": 0.5}, usual=0.5, chance=0.5)
    assert [use.verdict for use in found.values()] == ["nothing to lose", "not needed"]
    assert found["blank_words"].loss.tasks == ()
