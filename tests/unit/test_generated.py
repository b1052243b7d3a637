"""Generated situations: drawn independently, told by the cue that was drawn, rejected by reason, and cheap to draw."""

from __future__ import annotations

from collections import Counter
from functools import cache

import pytest

from robodx.language.meaning import If
from robodx.language.phrasing import wordings
from robodx.language.reading import read
from robodx.scoring.from_meaning import looks
from robodx.situations.attributes import attributes
from robodx.streams import FIRST_TRAINING_SEED
from robodx.suites.capability import capability_tasks
from robodx.tasks.base import TASKS
from robodx.tasks.generated import CUES, PLACES, TIME_LIMITS_S, WORDINGS, Generated, generate
from robodx.tasks.generated_acts import ACTS

TASK = TASKS["generated/factorial"]
SITUATIONS = 300


@cache
def situations() -> tuple[Generated, ...]:
    return tuple(generate(TASK.streams(seed)) for seed in range(SITUATIONS))


def test_what_is_recorded_of_a_situation_is_what_was_drawn() -> None:
    for situation, factors, *_ in situations():
        found = attributes(situation.instruction, situation.scene).values
        place = f"{found['target_depth']} {found['target_side']}"
        drawn = (factors.act, factors.kind, factors.colour, factors.cue, place, float(factors.acts))
        names = ("act", "target_kind", "target_colour", "target_cue")
        assert (*map(found.get, names), factors.place, found["acts"]) == drawn
        # A later act may have words of another phrasing of the first.
        assert found["phrasing"] == factors.split or factors.acts > 1
        assert situation.time_limit_s == TIME_LIMITS_S[factors.acts] <= TASK.time_limit_s
        if factors.goal_kind != "none":
            goal = (found["goal_kind"], found["goal_colour"], f"{found['goal_depth']} {found['goal_side']}")
            assert goal == (factors.goal_kind, factors.goal_colour, factors.goal_place)


def test_what_is_said_to_train_with_is_read_as_it_is_meant() -> None:
    for situation, *_ in situations()[:60]:
        for one in wordings(situation.instruction, "train")[:2]:
            assert read(one.text) == situation.instruction.meaning


@pytest.mark.parametrize(
    ("factor", "levels"),
    [("place", PLACES), ("cue", set(CUES)), ("wording", set(WORDINGS)), ("acts", TIME_LIMITS_S), ("company", range(4))],
)
def test_every_level_comes(factor: str, levels: tuple[str, ...]) -> None:
    counts = Counter(getattr(one.factors, factor) for one in situations())
    assert counts.keys() == set(levels) and min(counts.values()) >= 0.02 * SITUATIONS


def test_acts_and_places_are_equally_frequent_despite_what_is_rejected() -> None:
    acts = Counter(one.factors.act.split()[0] for one in situations())
    verbs = Counter(act.action for act in ACTS)
    for verb, share in verbs.items():
        expected = SITUATIONS * share / len(ACTS)
        assert abs(acts[verb] - expected) < 4 * expected**0.5
    places = Counter(one.factors.place for one in situations())
    assert max(places.values()) < 2.5 * min(places.values())


def test_conditions_hold_as_often_as_not() -> None:
    holds = [
        part.fact.holds(looks(situation.scene))
        for situation, *_ in situations()
        for part in situation.instruction.meaning.clauses
        if isinstance(part, If)
    ]
    assert 0.3 < sum(holds) / len(holds) < 0.7


def test_a_draw_that_is_no_good_is_counted_and_the_same_seed_is_the_same_again() -> None:
    rejected = [one for one in situations() if one.rejections]
    assert len(rejected) > SITUATIONS / 2 and any(one.first != one.factors for one in rejected)
    for seed in (0, 7):
        assert generate(TASK.streams(seed)) == situations()[seed]


def test_things_are_named_by_their_looks_and_the_wrong_ones_must_not_be_lifted() -> None:
    for situation, *_ in situations():
        assert all(thing.name.startswith(f"{thing.colour} {thing.kind}") for thing in situation.scene)
        clauses = situation.instruction.meaning.decided(looks(situation.scene))
        loose = [thing.name for thing in situation.scene if not thing.is_fixed]
        forbidden = [name for name in loose if any(str(one).startswith(f"{name} lifted") for one in situation.never)]
        assert len(forbidden) >= len(loose) - len(clauses)


def test_training_seeds_use_training_words_and_no_other_suite_has_the_task() -> None:
    for seed in range(FIRST_TRAINING_SEED, FIRST_TRAINING_SEED + 8):
        said = TASK.situation(seed).instruction
        assert said.text in {one.text for one in wordings(said, "train")}
    assert TASK not in capability_tasks() and TASK.tags == ("generated",)
