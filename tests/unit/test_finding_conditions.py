"""Conditions, what pairs say of them, their words, and which of them are the same factor."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pytest

from robodx.analysis.findings.base import PairEvidence
from robodx.analysis.findings.conditions import Condition, Features, conditions
from robodx.analysis.findings.decisions import PairSeen, Tally, differences, needing_both, told_apart
from robodx.analysis.findings.evidence import of_pairs
from robodx.analysis.findings.factors import is_same_factor, says_the_same
from robodx.analysis.findings.kinds.base import FINDING_KINDS
from robodx.analysis.findings.naming import Name, statement
from robodx.analysis.findings.proposals import Screened, chance_of, suspects
from robodx.analysis.findings.wording import attribute_in_words, when
from robodx.analysis.statistics.estimates import Estimate
from robodx.records.features import features, level, order
from robodx.report.sections.findings import Card
from robodx.terminal.diagnosis import lines
from tests.reporting import diagnosis, finding


def drawn(seed: int = 0, further: Mapping[str, list[str]] | None = None) -> list[Features]:
    """Trials whose colour, side and number of acts are drawn independently."""
    rng = np.random.default_rng(seed)
    values = {"target_colour": ["red", "green", "blue"], "target_side": ["left", "middle", "right"],
              "acts": ["1", "2", "3 or more"], **(further or {})}  # fmt: skip
    return [{name: str(rng.choice(levels)) for name, levels in values.items()} for _ in range(120)]


TRIALS = drawn()


def failing(name: str, trials: list[Features] = TRIALS) -> np.ndarray:
    return Condition.parse(name).among(trials)


def best(failed: np.ndarray, trials: list[Features] = TRIALS, modes: tuple[np.ndarray, ...] = ()) -> list[str]:
    return [one.condition.name for one in suspects(Screened.of(trials, failed), modes)]


def test_numbers_are_told_in_levels_in_their_order() -> None:
    assert [level("acts", number) for number in (1.0, 2.0, 3.0, 7.0)] == ["1", "2", "3 or more", "3 or more"]
    assert level("target_size_m", 0.036) == "0.036 to 0.046" and level("target_size_m", 0.01) == "below 0.036"
    assert order("target_turn_deg") == ("below 15", "15 to 30", "30 or more") and order("target_colour") == ()


def test_a_trial_is_told_by_its_attributes_what_it_requires_with_its_parents_and_its_words() -> None:
    found = features(
        {"act": "pick", "acts": 2.0, "target_x_m": 0.1}, ["language/condition/otherwise"], "Don't pick it."
    )
    assert found == {
        "act": "pick", "acts": "2", "requires language": "yes", "requires language/condition": "yes",
        "requires language/condition/otherwise": "yes", "word don't": "yes", "word pick": "yes", "word it": "yes",
    }  # fmt: skip


def test_conditions_are_levels_and_of_numbers_also_at_least_and_at_most() -> None:
    trials = [{**trial, **({"word no": "yes"} if place % 3 == 0 else {})} for place, trial in enumerate(TRIALS)]
    found = {one.name for one in conditions(trials)}
    assert {"target_colour=red", "acts=1", "acts=2|3 or more", "acts=1|2", "word no"} <= found
    assert not [name for name in found if name.startswith("target_colour") and "|" in name]
    assert {Condition.parse(name) for name in found} == set(conditions(trials))


def test_what_all_trials_hold_or_hardly_any_or_failing_itself_changes_is_no_condition() -> None:
    trials: list[Features] = [{**trial, "act": "pick", "expert_path_m": trial["target_colour"]} for trial in TRIALS]
    trials[0] = {**trials[0], "target_side": "nowhere"}
    names = {one.name for one in conditions(trials)}
    assert not names & {"act=pick", "target_side=nowhere"} and not [one for one in names if "path" in one]


@pytest.mark.parametrize("name", ["target_side=right", "target_colour=blue", "acts=2|3 or more", "acts=3 or more"])
def test_the_condition_that_explains_the_failures_is_the_first_suspect(name: str) -> None:
    noisy = failing(name) & (np.random.default_rng(1).random(len(TRIALS)) < 0.9)
    assert best(noisy)[0] == name


def test_what_goes_along_with_the_suspect_is_its_rival() -> None:
    trials: list[Features] = [
        {**one, "act": "roll" if one["target_colour"] == "blue" and place % 8 else "pick"}
        for place, one in enumerate(TRIALS)
    ]
    suspect = suspects(Screened.of(trials, failing("target_colour=blue", trials)))[0]
    assert (suspect.condition.name, [one.name for one in suspect.rivals]) == ("target_colour=blue", ["act=roll"])


def test_of_those_that_hold_in_the_very_same_trials_an_attribute_stands_before_a_requirement_and_a_word() -> None:
    trials: list[Features] = [
        {**one, **({"requires x": "yes", "word blue": "yes"} if one["target_colour"] == "blue" else {})}
        for one in TRIALS
    ]
    suspect = suspects(Screened.of(trials, failing("target_colour=blue", trials)))[0]
    assert suspect.condition.name == "target_colour=blue"
    assert {one.name for one in suspect.rivals} == {"requires x", "word blue"}
    for trial in trials:
        del trial["target_colour"]  # type: ignore[attr-defined]
        if "requires x" in trial:
            trial["requires x/y"] = "yes"  # type: ignore[index]
    assert best(failing("requires x", trials), trials)[0] == "requires x/y", "and of requirements the narrowest"


def test_who_fails_in_two_ways_has_two_suspects() -> None:
    right, blue = failing("target_side=right"), failing("target_colour=blue")
    assert set(best(right | blue, modes=(right & ~blue, blue))[:2]) == {"target_side=right", "target_colour=blue"}


def test_the_chance_of_a_suspect_is_that_of_the_best_of_all_conditions() -> None:
    """Random failures suggest something in most runs, and surely in few of them."""
    tasks, surely, suggested = ["generated"] * len(TRIALS), 0, 0
    further = {f"factor {number}": ["x", "y", "z"] for number in range(30)}
    for seed in range(8):
        screened = Screened.of(drawn(seed, further), np.random.default_rng(seed).random(len(TRIALS)) < 0.4)
        found = suspects(screened)
        suggested += bool(found)
        surely += bool(found) and chance_of(screened, tasks)(found[0].score) <= 0.05
    assert surely <= 2 < suggested
    blue = Screened.of(TRIALS, failing("target_colour=blue"))
    assert chance_of(blue, tasks)(suspects(blue)[0].score) < 0.01


def test_nothing_is_suspected_of_who_fails_at_nothing_or_at_everything() -> None:
    assert best(np.zeros(len(TRIALS), dtype=np.bool_)) == best(np.ones(len(TRIALS), dtype=np.bool_)) == []


def pairs(*outcomes: tuple[bool, bool], changed: tuple[tuple[str, str, str], ...] = ()) -> tuple[PairSeen, ...]:
    """By whether the treated and the placebo succeeded."""
    return tuple(
        PairSeen("x", "y", f"t{changed}{place}", f"p{changed}{place}", *both, frozenset(changed), f"context {place}")
        for place, both in enumerate(outcomes)
    )


RECOVERED, LOST, SAME = (True, False), (False, True), (True, True)
BLUE = Condition("target_colour", ("blue",))


@pytest.mark.parametrize(
    ("undo", "put_in", "certainty"),
    [
        (RECOVERED, LOST, "cause"), (RECOVERED, SAME, "needed"), (SAME, LOST, "sufficient"),
        (SAME, SAME, "excluded"), (SAME, None, "no gain"), (RECOVERED, None, "needed"), (None, LOST, "sufficient"),
    ],
)  # fmt: skip
def test_both_effects_together_are_a_cause(
    undo: tuple[bool, bool] | None, put_in: tuple[bool, bool] | None, certainty: str
) -> None:
    tally = Tally(BLUE, 12, pairs(*[undo] * 14) if undo else (), pairs(*[put_in] * 14) if put_in else ())
    assert tally.certainty == certainty


@pytest.mark.parametrize("count", [0, 3, 13])
def test_too_few_pairs_leave_it_undecided(count: int) -> None:
    assert Tally(BLUE, 12, pairs(*[SAME] * count)).certainty == "undecided"
    assert Tally(BLUE, 12, pairs(*[RECOVERED] * min(count, 3))).certainty == "undecided"


def test_the_more_is_tested_the_more_pairs_it_takes() -> None:
    few = pairs(*[RECOVERED] * 7)
    assert [Tally(BLUE, tests, few).certainty for tests in (1, 1000)] == ["needed", "undecided"]


def test_a_claim_about_a_skill_needs_eight_contexts_and_half_of_them_new() -> None:
    eight, seven = (Tally(BLUE, 1, pairs(*[RECOVERED] * count)) for count in (8, 7))
    assert eight.is_general(()) and not seven.is_general(()) and not Tally(BLUE, 1).is_general(())
    met = [f"context {place}" for place in range(5)]
    assert eight.is_general(met[:4]) and not eight.is_general(met), "half of them must be new"


def test_what_changes_along_in_nearly_all_pairs_is_told() -> None:
    place, colour = ("target_side", "left", "right"), ("target_colour", "red", "blue")
    both = (*pairs(*[RECOVERED] * 9, changed=(colour, place)), *pairs(RECOVERED, changed=(colour,)))
    assert Tally(BLUE, 1, both).along == ["target_colour", "target_side"]
    assert Tally(BLUE, 1, (*both, *pairs(*[RECOVERED] * 3, changed=(colour,)))).along == ["target_colour"]
    told = differences({"a": "1", "expert_grasps": "1"}, {"a": "2", "expert_grasps": "2", "requires x": "yes"})
    assert told == {("a", "1", "2"), ("requires x", "no", "yes")}


def test_what_needs_another_is_shown_by_pairs_with_that_and_by_pairs_without_it() -> None:
    left, other, both = (Condition("target_side", levels) for levels in (("left",), ("right",), ("left", "right")))
    cause = Tally(BLUE, 1, pairs(*[RECOVERED] * 14), pairs(*[LOST] * 14), left)
    for without, is_shown in ((other, True), (both, False)):
        assert needing_both([cause, Tally(BLUE, 1, pairs(*[SAME] * 14), given=without)]) == [cause] * is_shown
    assert needing_both([cause, Tally(BLUE, 1, pairs(*[RECOVERED] * 14), given=other)]) == []


def test_attributes_are_told_in_words_without_their_units() -> None:
    names = [attribute_in_words(name) for name in ("goal_size_m", "target_turn_deg", "word then", "things")]
    assert names == ["goal size", "target turn", "the word “then”", "number of things"]


def test_what_says_the_same_is_not_told_as_going_along() -> None:
    assert says_the_same("requires perception/colour", "target_cue")
    apart = [("word not", "word that"), ("verb", "word lift"), ("target_cue", "goal_cue"), ("acts", "verb")]
    assert not [pair for pair in apart if says_the_same(*pair)]
    # Taking the order of steps away takes steps away: what is longer fails more often whatever it is told.
    assert not says_the_same("acts", "requires language/order")
    assert not says_the_same("requires language/order", "clauses") and says_the_same("acts", "clauses")


def test_of_two_that_changed_together_the_one_that_matters_alone_is_kept() -> None:
    place, colour = ("target_side", "left", "right"), ("target_colour", "red", "blue")
    right = Condition("target_side", ("right",))
    of_place = Tally(right, 1, pairs(*[RECOVERED] * 8, changed=(colour, place)))
    of_colour = Tally(BLUE, 1, pairs(*[RECOVERED] * 8, changed=(colour,)))
    assert told_apart([of_place, of_colour]) == told_apart([of_colour, of_place]) == [of_colour]
    alone = Tally(right, 1, pairs(*[RECOVERED] * 8, changed=(place,)))
    assert told_apart([alone, of_colour]) == [alone, of_colour], "two that matter alone are two"
    twin = Tally(BLUE, 1, of_place.undo)
    assert told_apart([of_place, twin]) == [of_place], "of two that never changed alone the first"
    stress = Tally(Condition("stress", ("noise/v2",)), 1, put_in=pairs(*[RECOVERED] * 8))
    assert told_apart([of_colour, stress]) == [of_colour, stress], "what is done to a policy is no feature"


def test_of_several_ways_to_fail_by_chance_one_does_not_go_with_something_more_often_than_it_may() -> None:
    claimed = 0
    for seed in range(15):
        rng = np.random.default_rng(seed)
        failed, kind = rng.random(len(TRIALS)) < 0.3, rng.integers(4, size=len(TRIALS))
        modes = [failed & (kind == each) for each in range(4)]
        screened = Screened.of(TRIALS, failed)
        chance = chance_of(screened, [str(place) for place in range(len(TRIALS))], modes)
        claimed += any(chance(one.alone) <= 0.05 for one in suspects(screened, modes))
    assert claimed <= 3


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("target_side=right", "the target lies on the right"),
        ("goal_side=middle", "the goal lies in the middle between left and right"),
        ("target_edge=no", "the target does not lie near the edge of the table"),
        ("target_size_m=below 0.036", "the target has a size below 0.036 m"),
        ("target_size_m=0.046 to 0.065|0.065 or more", "the target has a size of 0.046 m or more"),
        ("target_turn_deg=below 15|15 to 30", "the target is turned by an angle below 30 degrees"),
        ("acts=1", "there is 1 act"),
        ("acts=2|3 or more", "there are 2 or more acts"),
        ("distractors=0", "there are no distractors"),
        ("distractors=0|1", "there is at most 1 distractor"),
        ("words=below 6", "the instruction has a length below 6 words"),
        ("requires language/negation", "the instruction has a negation"),
        ("requires language/negation=no", "it is not so that the instruction has a negation"),
        ("requires motor/put in", "one of the acts is “put in”"),
        ("word sphere", "the instruction says “sphere”"),
        ("room_familiar=no", "the room is not a familiar one"),
        ("expert_duration_s=8 or more", "the trial takes the expert a time of 8 s or more"),
        ("stress=noise/v2", "there is noise at level v2"),
        ("own_thing=3", "the own thing is 3"),
    ],
)
def test_conditions_are_told_in_good_english(name: str, words: str) -> None:
    assert when(Condition.parse(name)) == words


@pytest.mark.parametrize(
    ("planted", "found", "is_same"),
    [
        ("target_side=right", "target_side=right", True), ("target_side=right", "target_side=left", False),
        ("target_side=right", "goal_side=right", False), ("target_cue=size", "requires perception/size=yes", True),
        ("requires=perception/size", "target_cue=size", True), ("target_cue=size", "requires perception=yes", False),
        ("act=put in", "requires motor/put in=yes", True), ("verb=pick up", "word pick=yes", True),
        ("requires=language/condition/otherwise", "requires language/condition=yes", True),
        ("requires=language/condition", "requires language/condition/otherwise=yes", False),
        ("acts=2|3 or more", "requires language/order=yes", True), ("acts=1", "requires language/order=yes", False),
        ("distractors=>=1", "requires distractors=yes", True), ("distractors=0", "requires distractors=yes", False),
        ("expert_duration_s=>6", "waits=asked", True),
        ("expert_duration_s=>6", "expert_duration_s=below 3", False),
        ("target_size_m=<0.03", "target_size_m=below 0.036", True),
        ("target_size_m=>0.07", "target_size_m=below 0.036", False), ("target_y_m=>0.1", "target_side=left", True),
        ("target_y_m=>0.1", "target_side=right", False), ("grasps=2", "expert_grasps=2", True),
    ],
)  # fmt: skip
def test_an_attribute_and_a_level_are_known_in_other_words(planted: str, found: str, is_same: bool) -> None:
    attribute, _, levels = found.partition("=")
    name, _, wanted = planted.partition("=")
    assert is_same_factor(name, wanted, attribute, tuple(levels.split("|"))) is is_same


def test_what_changed_along_is_told_by_whose_it_is() -> None:
    name = Name(FINDING_KINDS["visual bias"], "room")
    put_in = PairEvidence(10, 0, 10, Estimate(-1.0, -1.0, -0.3, 10), "effect", 99.0, ("room",))
    undo = PairEvidence(18, 8, 0, Estimate(0.44, 0.08, 0.82, 18), "undecided", 9.0, ("room",))
    rates = (Estimate(1.0, 0.5, 1.0, 6), Estimate(0.5, 0.4, 0.6, 99))
    told = statement(
        name, "the room is not a familiar one", "it fails", "sufficient", undo, put_in, *rates,
        along=("room table colour", "room wall colour"),
    )  # fmt: skip
    assert "(room: table colour, wall colour): brought about where it is not, 10 of 10 fail (with a placebo 0)" in told
    assert told.endswith("8 of 18 such situations succeed (with a placebo 0), which is not conclusive (p = 0.11).")
    assert attribute_in_words("words") == "number of words" and attribute_in_words("goal_colour") == "goal colour"


def test_pairs_that_do_not_decide_say_why_where_their_interval_excludes_no_gain() -> None:
    seen = [
        PairSeen("room", "seen", f"t{n}", f"p{n}", treated_success=n % 9 < 5, placebo_success=False) for n in range(12)
    ]
    (first, *_), tests = seen, 60.0
    tally = Tally(Condition.parse("room=strange"), tests, tuple(seen))
    undo = of_pairs(tally.undo, tally.undone, 1, tally.tests)
    assert first.treated_success and undo is not None and undo.verdict == "undecided"
    assert undo.gain.low is not None and undo.gain.low > 0 and undo.corrected_p > 0.05
    why = f"p = {undo.corrected_p:.2g} after correction for 60 tests"
    name = Name(FINDING_KINDS["visual bias"], "room")
    inside, outside = Estimate(1.0, 0.5, 1.0, 6), Estimate(0.5, 0.4, 0.6, 99)
    put_in = PairEvidence(10, 0, 10, Estimate(-1.0, -1.0, -0.3, 10), "effect", 99.0, ("room",))
    sufficient = statement(name, "the room is strange", "it fails", "sufficient", undo, put_in, inside, outside)
    assert sufficient.endswith(f"8 of 12 such situations succeed (with a placebo 0), which is not conclusive ({why}).")
    for rates in ((inside, outside), (outside, inside)):
        undecided = statement(name, "the room is strange", "it fails", "undecided", undo, None, *rates)
        assert undecided.endswith(f"({why}).")
    both = finding(certainty="sufficient", undo=undo, put_in=put_in)
    assert f"(not conclusive: {why})" in " ".join(" ".join(lines(diagnosis(both))).split())
    assert (
        f"[{100 * undo.gain.low:+.0f}, " in Card(both).markdown()
        and f"(not conclusive: {why})." in Card(both).markdown()
    )
    assert "are not corrected for the number of tests" in Card(both).html()
    # An interval that includes 0 needs no reason, nor do pairs that decide.
    assert not PairEvidence(6, 2, 1, Estimate(0.2, -0.4, 0.6, 6), "undecided", 1.2, (), tests=60.0).why_open
    assert not put_in.why_open
