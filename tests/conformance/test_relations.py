"""Every metamorphic relation: a follow-up differs from its source in what is declared, and that reaches the policy."""

from __future__ import annotations

import pytest

from robodx.interventions.base import NotApplicable
from robodx.policy_contract import Observation, make_policy
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
    source = Source.of(RELATIONS[name].prepared(Trial(entry.id, entry.version, "expert", seed)))
    try:
        return source, RELATIONS[name].follow_up(source)
    except NotApplicable as no:
        assert str(no)
        return None


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


class Heard(EpisodeObserver):
    """Notes what the policy is told at every query."""

    def __init__(self) -> None:
        self.texts: list[str] = []

    def before_query(self, environment: Environment, observation: Observation) -> None:
        self.texts.append(observation.instruction)


@pytest.mark.parametrize("name", RELATIONS)
def test_the_policy_is_told_the_follow_ups_words_at_every_step_and_the_expert_solves_it(name: str) -> None:
    task = "put_in" if name == "MR11" else "pick_up"
    source, follow_up = next(pair for seed in SEEDS if (pair := asked(name, task, seed)) is not None)
    heard = Heard()
    ((episode, _),) = rollout([follow_up.trial], make_policy("expert"), observers=[heard])
    assert episode.success, (episode.failure_evidence, episode.error)
    assert len(heard.texts) > 10
    assert set(heard.texts) == {Source.of(follow_up.trial).situation.instruction.text}
    is_reworded = "words" in RELATIONS[name].changes
    assert (source.situation.instruction.text not in heard.texts) == is_reworded


@pytest.mark.parametrize("name", RELATIONS)
def test_the_same_follow_up_is_drawn_again(name: str) -> None:
    for seed in SEEDS:
        first, second = (asked(name, "put_on" if name != "MR1" else "pick_up", seed) for _ in range(2))
        assert (first and first[1]) == (second and second[1])
