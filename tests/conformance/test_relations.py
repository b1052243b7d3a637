"""Every metamorphic relation: a follow-up differs from its source in what is declared, and that reaches the policy."""

from __future__ import annotations

import numpy as np
import pytest

from robodx.interventions.base import NotApplicable
from robodx.policy_contract import CameraRequest, Observation, PolicySpec, make_policy
from robodx.records.trial import Trial
from robodx.relations.base import RELATIONS, FollowUp, Source
from robodx.relations.differences import differences
from robodx.running.environment import Environment
from robodx.running.observers import EpisodeObserver
from robodx.running.rollout import rollout
from robodx.suites.metamorphic import TASK_NAMES
from robodx.tasks.base import TASKS

SEEDS = range(6)


def asked(name: str, task: str, seed: int) -> tuple[Source, FollowUp] | None:
    """A source and its follow-up, where there is one."""
    entry = TASKS[f"carrier/{task}"]
    # A hand that was never low: then everything is off its path.
    source = Source.of(RELATIONS[name].prepared(Trial(entry.id, entry.version, "expert", seed)), np.zeros((0, 3)))
    try:
        return source, RELATIONS[name].follow_up(source)
    except NotApplicable as no:
        assert str(no)
        return None


def first(name: str, task: str) -> tuple[Source, FollowUp] | None:
    """At the first seed where it has a source of its own, if it makes such: only there the words speak of sides."""
    pairs = (pair for seed in SEEDS if (pair := asked(name, task, seed)) is not None)
    return next((pair for pair in pairs if RELATIONS[name].prepares is None or pair[0].trial.interventions), None)


@pytest.mark.parametrize("name", RELATIONS)
def test_a_follow_up_differs_in_what_the_relation_declares_and_in_nothing_else(name: str) -> None:
    relation = RELATIONS[name]
    found = [pair for task in TASK_NAMES for seed in SEEDS if (pair := asked(name, task, seed)) is not None]
    assert len(found) >= len(SEEDS)
    seen = set()
    for source, follow_up in found:
        trial, made = source.trial, Source.of(follow_up.trial)
        # A change that was drawn for another policy or repeat would not be the same.
        assert (made.trial.seed, made.trial.repeat, made.trial.policy) == (trial.seed, trial.repeat, trial.policy)
        assert made.trial.interventions[: len(trial.interventions)] == trial.interventions
        changed = differences(source.situation, made.situation)
        assert changed and changed <= relation.changes, (trial.task, trial.seed)
        seen |= changed
    # What never changes need not be declared, but for what a single thing on the table would be.
    assert relation.changes - seen <= {"place of the target"}


# What of all that reaches a policy may differ, of the relations that ship; others are asked to declare it.
REACHING = {
    "MR1": {"words"}, "MR2": {"images"}, "MR3": {"images"}, "MR4": {"words"}, "MR5": {"images"},
    "MR6": {"words", "images"}, "MR7": {"images"}, "MR8": {"images"}, "MR9": {"words"}, "MR10": {"images"},
    "MR11": {"images"},
}  # fmt: skip
SHOWN = PolicySpec(
    action_space="ee_pose", cameras=(CameraRequest("front", 96, 96),), state=("ee_pose", "joint_positions")
)


def reaching(trial: Trial) -> dict[str, object]:
    """All that a policy is given at first, and how long it has."""
    environment = Environment(trial, SHOWN)
    start, seen = environment.start(), environment.observe()
    return {
        "words": seen.instruction,
        "images": {name: image.tobytes() for name, image in seen.images.items()},
        "state": {name: np.asarray(value).tobytes() for name, value in seen.state.items()},
        "calibrations": start.cameras,
        "randomness": start.policy_seed,
        "time": environment.max_steps,
    }


@pytest.mark.parametrize("name", REACHING)
def test_what_reaches_the_policy_differs_in_the_intended_input_alone(name: str) -> None:
    count = 0
    for task in TASK_NAMES:
        pair = first(name, task)
        if pair is None:
            assert (name, task) == ("MR11", "pick_up")
            continue
        before, after = (reaching(trial) for trial in (pair[0].trial, pair[1].trial))
        assert {part for part in before if before[part] != after[part]} == REACHING[name], task
        count += 1
    assert count >= 3


class Heard(EpisodeObserver):
    """Notes what the policy is told at every query."""

    def __init__(self) -> None:
        self.texts: list[str] = []

    def before_query(self, environment: Environment, observation: Observation) -> None:
        self.texts.append(observation.instruction)


@pytest.mark.parametrize("name", RELATIONS)
def test_the_policy_is_told_the_follow_ups_words_at_every_step_and_the_expert_solves_it(name: str) -> None:
    is_reworded = "words" in RELATIONS[name].changes
    # What leaves the words as they are is tried once.
    for task in TASK_NAMES if is_reworded else ("put_in",):
        pair = first(name, task)
        assert pair is not None, task
        source, follow_up = pair
        heard = Heard()
        ((episode, _),) = rollout([follow_up.trial], make_policy("expert"), observers=[heard])
        assert episode.success, (task, episode.failure_evidence, episode.error)
        assert len(heard.texts) > 10
        assert set(heard.texts) == {Source.of(follow_up.trial).situation.instruction.text}
        assert (source.situation.instruction.text not in heard.texts) == is_reworded


def test_where_all_is_done_already_who_does_nothing_succeeds() -> None:
    for task in ("move_near", "put_on", "put_in"):
        pairs = [pair for seed in range(100, 103) if (pair := asked("MR11", task, seed)) is not None]
        assert pairs
        for _, follow_up in pairs:
            ((episode, _),) = rollout([follow_up.trial], make_policy("still"))
            assert episode.success, (task, follow_up.trial.seed)


@pytest.mark.parametrize("name", RELATIONS)
def test_the_same_follow_up_is_drawn_again(name: str) -> None:
    for seed in SEEDS:
        first, second = (asked(name, "put_on" if name != "MR1" else "pick_up", seed) for _ in range(2))
        assert (first and first[1]) == (second and second[1])
