"""The suite that screens and then decides by pairs, on policies that are functions of what a situation is like."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from itertools import groupby, islice
from typing import get_args

import numpy as np
import polars as pl
import pytest

from robodx.analysis.findings import proposals
from robodx.analysis.findings.conditions import Condition, Features
from robodx.analysis.findings.decisions import PairSeen, tallies
from robodx.errors import UserError
from robodx.interventions.base import PLACEBO
from robodx.policy_contract import CameraRequest, PolicySpec
from robodx.records.design import Planned, design_table, trials_of, with_design
from robodx.records.trial import Trial
from robodx.running.validation import MOST_EPISODES
from robodx.streams import Streams
from robodx.suites import deciding
from robodx.suites.base import SuiteRequest, ask
from robodx.suites.deciding import FLOOR
from robodx.suites.deciding import MOST_EPISODES as MOST_OF_PAIRS
from robodx.suites.diagnosis import FACTORIAL, NULLED, SURROUNDINGS
from robodx.suites.hypotheses import BATCH, PATIENCE, Hypothesis
from robodx.suites.narrowing import narrow, starts
from robodx.suites.pairs import GENERATED, MOST_GENERATED, Effect, Pair, can_change, fresh_situations, pairs
from robodx.tasks.base import TASKS
from tests.simulated_policies import EMPTY, FAILS, Policy, Run, facts, fails_when, played, run

# Screening the factorial alone is enough for most of what is tested here.
PART = SuiteRequest("a", 1, within=("generated",))
OTHER_SEEDS = SuiteRequest("a", 1, first_seed=7500)
SIDE, COLOUR, NEGATION = "target_side=right", "target_colour=blue", "requires language/negation"


# Of these the factorial alone has too few situations in which they can be changed.
OF_ALL_TASKS = ("act=put in", "word touch")


@pytest.fixture(autouse=True, scope="module")
def quick() -> Iterator[None]:
    """Fewer halves and shuffles of the trials than of a run's."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(proposals, "HALVES", 6)
        patch.setattr(proposals, "SHUFFLES", 150)
        yield


@cache
def ran(condition: str) -> Run:
    """Who fails just when a condition holds, or when several do: "target_side=right and target_depth=far"."""
    each = [Condition.parse(part) for part in condition.split(" and ")]
    return run(
        lambda trial, features: FAILS if all(one.holds(features) for one in each) else None,
        None if condition in OF_ALL_TASKS else PART,
    )


def fails_when_any(*conditions: Condition) -> Policy:
    return lambda trial, features: FAILS if any(one.holds(features) for one in conditions) else None


def chancy(rate: float, number: int = 0) -> Policy:
    return lambda trial, features: FAILS if Streams(number).rng("luck", trial.id).random() < rate else None


def patternless(number: int) -> Policy:
    """Good at some tasks and bad at others."""

    def policy(trial: Trial, features: Features) -> str | None:
        rate = Streams(number).rng("rate", trial.task).beta(0.6, 0.4)
        return None if Streams(number).rng("luck", trial.id).random() < rate else FAILS

    return policy


def factors(one: Planned) -> dict[str, object]:
    return dict(one.factors)


def causes(run: Run) -> list[str]:
    return [one.condition for one in run.diagnosis.decided]


def of_trial(trial: Trial) -> Features:
    return facts(trial.task, trial.seed, trial.interventions).features


def test_whoever_fails_at_nothing_is_screened_and_asked_no_more() -> None:
    healthy = run(lambda trial, features: None, PART)
    screening, nulled = healthy.rounds
    assert len(screening) == FACTORIAL and {one.variant for one in healthy.planned} == {"screening", "stressed"}
    assert not healthy.diagnosis.findings and healthy.diagnosis.paired == 0
    # But for whether it needs its inputs, in some situations that it solves.
    assert len(nulled) == 2 * NULLED and healthy.diagnosis.screened == FACTORIAL


def test_what_is_solved_without_an_input_is_told_and_is_no_success_of_the_policy() -> None:
    spec = PolicySpec(cameras=(CameraRequest("front"), CameraRequest("wrist")), state=("joint_positions",))
    deaf = run(lambda trial, features: FAILS if dict(trial.perturbations).get("camera_blank") else None,
               replace(PART, spec=spec))  # fmt: skip
    assert {trial.perturbations for trial in trials_of(deaf.planned)} == {
        (), (("other_words", 1.0),), (("camera_blank", "all"),), (("frozen_state", 1.0),),
    }  # fmt: skip
    found = deaf.diagnosis
    assert {one.input: (one.solved, one.tried) for one in found.inputs} == {
        "all cameras": (0, NULLED), "robot state": (NULLED, NULLED), "which words": (NULLED, NULLED),
    }  # fmt: skip
    assert "without pictures 0 of 6; with a robot state that never changes 6 of 6" in found.inputs_say
    assert found.success.value == 1.0 and (found.solved, found.judged) == (FACTORIAL, FACTORIAL)


SEEING = replace(PART, spec=PolicySpec(cameras=(CameraRequest("front"),)))


@pytest.mark.parametrize(
    ("condition", "policy"),
    [
        ("room_familiar=no", fails_when("room_familiar=no")),
        (
            "camera_offset_m=0.02 or more",
            lambda trial, features: FAILS if ("camera", "moved") in trial.interventions else None,
        ),
    ],
)
def test_surroundings_that_no_screened_situation_has_are_tried_on_a_policy_that_sees(
    condition: str, policy: Policy
) -> None:
    found = run(policy, SEEING)
    tried = [one for one in found.planned if one.variant == "follow-up"]
    assert [factors(one)["intervention"] for one in tried] == list(SURROUNDINGS)
    assert causes(found) == [condition] and found.diagnosis.decided[0].certainty == "sufficient"
    assert found.diagnosis.success.value == 1.0 and len(found.episodes) <= MOST_EPISODES
    # Not of one without cameras, and nothing more of one that loses nothing by it.
    assert not run(policy, PART).diagnosis.findings
    steady = run(lambda trial, features: None, SEEING)
    assert {one.variant for one in steady.planned} == {"screening", "stressed", "follow-up"}


def test_the_screening_is_of_every_task_and_of_the_factorial_and_of_each_stressor() -> None:
    planned = ask("diagnosis", EMPTY, SuiteRequest("a", 1, first_seed=40))
    trials = trials_of(planned)
    assert {trial.task for trial in trials} == set(TASKS) and {one.variant for one in planned} == {"screening"}
    generated = {trial.seed for trial in trials if trial.task == GENERATED}
    assert generated == set(range(40, 40 + FACTORIAL))
    stressed = [trial for trial in trials if trial.perturbations]
    without = {trial.id for trial in trials if not trial.perturbations}
    assert stressed and all(len(trial.perturbations) == 1 for trial in stressed)
    assert all(Trial(trial.task, trial.task_version, "a", trial.seed).id in without for trial in stressed)
    # In real time too where real time matters, which is known when it has waited once.
    pursuits = sum(task.family == "pursuit" for task in TASKS.entries())
    # And without words, pictures and state.
    assert len(trials) + pursuits + 3 * NULLED + len(SURROUNDINGS) + MOST_OF_PAIRS <= MOST_EPISODES


CONDITIONS = [
    (SIDE, "place bias: target side=right"),
    (NEGATION, "language sub-skill: negation"),
    pytest.param("acts=2|3 or more", None, marks=pytest.mark.thorough),
    pytest.param(COLOUR, "visual bias: target colour=blue", marks=pytest.mark.thorough),
    pytest.param("target_kind=sphere", "visual bias: target kind=sphere", marks=pytest.mark.thorough),
    pytest.param("target_depth=far", "place bias: target depth=far", marks=pytest.mark.thorough),
    pytest.param("goal_colour=red", "visual bias: goal colour=red", marks=pytest.mark.thorough),
    pytest.param("target_cue=size", "reference confusion: size", marks=pytest.mark.thorough),
    pytest.param("target_cue=colour", "reference confusion: colour", marks=pytest.mark.thorough),
    pytest.param("word touch", None, marks=pytest.mark.thorough),
    pytest.param("act=put in", "motor weakness: put in", marks=pytest.mark.thorough),
    pytest.param("phrasing=test", "wording: phrasing=test", marks=pytest.mark.thorough),
    pytest.param("distractors=1|2|3 or more", "distracted", marks=pytest.mark.thorough),
    pytest.param("target_size_m=below 0.036", "visual bias: target size=below 0.036", marks=pytest.mark.thorough),
]


@pytest.mark.parametrize(("condition", "name"), CONDITIONS)
def test_who_fails_just_when_a_condition_holds_fails_because_of_it(condition: str, name: str | None) -> None:
    found = ran(condition).diagnosis
    top = found.decided[0]
    assert top.certainty == "cause" and name in (None, top.name)
    # Or one that holds in the very same situations.
    wanted, told = Condition.parse(condition), Condition(top.attribute, top.levels)
    assert all(wanted.holds(features) == told.holds(features) for features in map(screened, range(FACTORIAL)))
    assert top.undo is not None and (top.undo.changed, top.undo.placebo) == (top.undo.pairs, 0)
    assert top.put_in is not None and (top.put_in.changed, top.put_in.placebo) == (0, top.put_in.pairs)
    assert top.share == 1.0 and top.inside.value == 1.0 and top.outside.value == 0.0


def screened(seed: int) -> Features:
    return facts(GENERATED, seed).features


def test_a_cause_is_told_with_its_pairs_and_two_episodes_that_differ_in_it() -> None:
    found = ran(SIDE).diagnosis
    (finding,) = found.findings
    assert finding.statement.startswith("It fails because the target lies on the right. Taken away, ")
    assert "such situations succeed (with a placebo 0); brought about where it is not, " in finding.statement
    assert finding.contexts >= 8 and finding.new_contexts <= finding.contexts and "target_side" not in finding.along
    outcome = dict(ran(SIDE).episodes.select("trial_id", "success").iter_rows())
    assert finding.pair is not None and [outcome[one] for one in finding.pair] == [False, True]
    assert found.headline == finding.statement and (found.screened, found.paired) == (
        FACTORIAL, len(ran(SIDE).episodes) - FACTORIAL - 2 * NULLED,
    )  # fmt: skip


@pytest.mark.parametrize("condition", [SIDE, NEGATION])
def test_both_of_a_pair_differ_in_whether_the_condition_holds(condition: str) -> None:
    wanted = Condition.parse(condition)
    for _, both in groupby(ran(condition).pairs, key=lambda one: (factors(one)["condition"], factors(one)["effect"],
                                                                 factors(one)["pair"])):  # fmt: skip
        treated, placebo = both
        own = Condition.parse(str(factors(treated)["condition"]))
        if own != wanted:
            continue
        is_undone = factors(treated)["effect"] == "undo"
        assert own.holds(of_trial(placebo.trial)) == is_undone != own.holds(of_trial(treated.trial))
        assert (factors(treated)["arm"], factors(placebo)["arm"]) == ("treated", "placebo")
        assert treated.trial.interventions[0][0] == placebo.trial.interventions[0][0]
        assert placebo.trial.interventions[0][1] == PLACEBO
        assert treated.source == placebo.source == treated.trial.source


def test_pairs_are_of_fresh_situations_that_are_drawn_by_the_condition_and_never_by_failure() -> None:
    """Of two policies with the same suspect, both are asked in the same situations, whatever comes of it."""
    assert min(one.trial.seed for one in ran(SIDE).pairs) == FACTORIAL
    wanted = Condition.parse(SIDE)
    other = run(lambda trial, features: FAILS if not trial.interventions and wanted.holds(features) else None, PART)
    trials, others = ([one.trial for one in each.pairs][: 2 * BATCH] for each in (ran(SIDE), other))
    assert trials == others


def test_undoing_comes_before_putting_in_and_what_does_not_help_is_put_in_at_the_end() -> None:
    effects = [str(factors(one)["effect"]) for one in ran(SIDE).pairs if factors(one)["condition"] == SIDE]
    assert effects == sorted(effects, key=["undo", "put in"].index) and set(effects) == {"undo", "put in"}
    # Whatever is done to it, it fails there: the condition goes with failures and does not cause them.
    right = {seed for seed in range(3 * FACTORIAL) if Condition.parse(SIDE).holds(screened(seed))}
    stubborn = run(lambda trial, features: FAILS if trial.task == GENERATED and trial.seed in right else None, PART)
    assert not stubborn.diagnosis.decided
    (excluded,) = [one for one in stubborn.diagnosis.excluded if one.attribute == "target_side"]
    assert (excluded.levels, excluded.when) == (("right",), "the target lies on the right")
    assert excluded.undo == excluded.put_in == 14, "fourteen pairs without a flip exclude it, each way"
    effects = [str(factors(one)["effect"]) for one in stubborn.pairs]
    assert effects[effects.index("put in") :] == ["put in"] * effects.count("put in")


def test_among_how_many_it_is_tested_is_fixed_before_the_first_pair_and_recorded() -> None:
    (tests,) = {factors(one)["tests"] for one in ran(SIDE).pairs}
    assert isinstance(tests, float) and tests >= 2


@pytest.mark.parametrize("condition", [SIDE, pytest.param(f"{SIDE} and target_depth=far", marks=pytest.mark.thorough)])
def test_the_same_episodes_lead_to_the_same_plan_and_a_run_that_was_cut_off_goes_on(condition: str) -> None:
    whole = ran(condition)
    assert len(whole.rounds) > 3
    planned = [one.trial.id for one in whole.planned]
    for cut in (1, 2, len(whole.rounds) - 1):
        # A round that was cut off is run to its end.
        halfway = pl.concat([*whole.rounds[:cut], whole.rounds[cut].head(3)])
        asked = [one.trial.id for one in ask("diagnosis", halfway, PART)]
        assert asked == planned[: len(asked)] and set(halfway["trial_id"]) <= set(asked)
        assert asked == [one.trial.id for one in ask("diagnosis", halfway.reverse(), PART)]
    done = pl.concat(whole.rounds)
    assert [one.trial.id for one in ask("diagnosis", done, PART)] == planned


def test_an_episode_that_erred_is_no_pair_and_keeps_nothing_waiting() -> None:
    def erring(trials: list[Trial]) -> pl.DataFrame:
        frame = played(trials, fails_when(SIDE))
        lost = pl.Series([bool(trial.interventions) and trial.seed % 3 == 0 for trial in trials])
        return frame.with_columns(
            outcome=pl.when(lost).then(pl.lit("error")).otherwise("outcome"), success=pl.col("success") & ~lost
        )

    done = erring(trials_of(ask("diagnosis", EMPTY, PART)))
    for _ in range(20):
        known = set(done["trial_id"])
        missing = [one for one in trials_of(ask("diagnosis", done, PART)) if one.id not in known]
        if not missing:
            break
        done = pl.concat([done, erring(missing)])
    assert not missing and len(done) > len(ran(SIDE).episodes)


def test_failures_that_the_first_cause_leaves_unexplained_are_screened_again() -> None:
    both = run(
        lambda trial, features: (
            fails_when(SIDE, "grasp synthesis")(trial, features)
            or fails_when(NEGATION, "incorrect action sequence")(trial, features)
        ),
        PART,
    )
    assert set(causes(both)) == {"target_side=right", "requires language/negation=yes"}
    first, second = both.diagnosis.decided
    assert first.share > second.share > 0 and len(both.episodes) <= FACTORIAL + MOST_OF_PAIRS


def test_a_weakness_that_most_failures_hide_is_tested_where_these_do_not_happen() -> None:
    """Who loses whatever it grasps fails at what it is told with a negation too, with the negation and without."""
    hidden, hiding = Condition.parse(NEGATION), Condition.parse("grasps=1|2|3 or more")
    both = run(
        lambda trial, features: (
            fails_when(hiding.name, "grasp stability")(trial, features)
            or fails_when(NEGATION, "incorrect action sequence")(trial, features)
        )
    )
    assert causes(both)[:2] == [hiding.name, "requires language/negation=yes"]
    first, second = both.diagnosis.decided[:2]
    shown = [second.undo, second.put_in]
    # Of failures that have both, taking the negation away recovers none.
    assert second.without and "Tested where it is not so that" in second.statement and not first.without
    assert first.share + second.share <= 1.0
    of_hidden = [one.trial for one in both.pairs if factors(one)["condition"] == hidden.name]
    known = [hiding.holds(of_trial(trial)) for trial in of_hidden]
    # Until the one is known, some are of both.
    assert not all(known) and not any(known[known.index(False) :][-2 * BATCH :]) and all(shown)


@pytest.mark.thorough
def test_what_was_tested_before_another_cause_was_known_is_asked_again_without_that() -> None:
    hiding = Condition.parse("places=yes")
    both = fails_when_any(hiding, Condition.parse("target_side=left"))
    luck = chancy(0.03)
    found = run(lambda trial, features: both(trial, features) or luck(trial, features), OTHER_SEEDS)
    assert "places=yes" in causes(found)
    turns: dict[str, set[object]] = {}
    for one in found.pairs:
        turns.setdefault(str(factors(one)["condition"]), set()).add(factors(one)["turn"])
    again = {name for name, asked in turns.items() if len(asked) > 1}
    told = {one.condition.name: one for one in tallies(found.episodes) if one.given is None}
    assert again and again <= set(told)
    for name in again:
        last = [one.trial for one in found.pairs if (factors(one)["condition"], factors(one)["turn"]) == (name, 1.0)]
        # By the pairs of the last turn alone, and in none of them does what was found meanwhile hold.
        assert {one.id for one in last} == {each for one in told[name].pairs for each in (one.treated, one.placebo)}
        assert not any(hiding.holds(of_trial(one)) for one in last)


def undone(diagnosis: int, turn: int, pairs: int) -> list[Planned]:
    """Pairs in which a condition was undone, as a diagnosis plans them."""
    planned: list[Planned] = []
    for number in range(pairs):
        source = Trial("carrier/pick_up", 1, "a", diagnosis + 100 * turn + number, suite="diagnosis")
        treated, placebo = (replace(source, interventions=(("room", each),)) for each in ("unseen", PLACEBO))
        pair = Pair(Condition.parse(SIDE), "undo", number, source, treated, placebo, "room", "unseen")
        planned += pair.planned(24.0, turn, diagnosis)
    return planned


def test_a_later_turn_replaces_only_whole_pairs_and_only_those_of_its_own_diagnosis() -> None:
    shown, first, later = undone(1000, 0, 14), undone(9000, 0, 5), undone(9000, 1, 4)
    helped = {one.trial.id for one in shown if factors(one)["arm"] == "treated"}
    planned = [*shown, *first, *later]
    table = played([one.trial for one in planned], lambda trial, features: None if trial.id in helped else FAILS)
    episodes = with_design(table, design_table(planned))
    (told,) = tallies(episodes)
    assert len(told.undo) == 14 + 4 and sum(one.treated_success for one in told.undo) == 14
    cut = {one.trial.id for one in later if factors(one)["arm"] == "placebo"}
    (told,) = tallies(episodes.filter(~pl.col("trial_id").is_in(cut)))
    assert len(told.undo) == 14 + 5


@pytest.mark.thorough
def test_what_gains_a_little_is_asked_for_longer_while_nothing_else_is_open() -> None:
    wanted = Condition.parse(SIDE)
    found = run(lambda trial, features: chancy(0.35)(trial, features) if wanted.holds(features) else None, PART)
    assert SIDE in causes(found)
    pairs_of_it = [one for one in found.pairs if factors(one)["condition"] == SIDE and factors(one)["effect"] == "undo"]
    assert len(pairs_of_it) > 2 * (PATIENCE + BATCH)


def test_random_failures_have_no_cause_and_no_more_episodes_than_allowed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(deciding, "MOST_EPISODES", 60)
    found = run(chancy(0.4), PART)
    assert not found.diagnosis.decided and FACTORIAL + 40 < len(found.episodes) <= FACTORIAL + 2 * NULLED + 60


@pytest.mark.thorough
def test_situations_are_those_of_the_turn_in_which_a_test_was_planned_whenever_they_are_drawn() -> None:
    found = run(chancy(0.25, 1), PART)
    alone = [one for one in found.pairs if "given" not in factors(one)]
    turns = [(factors(one)["turn"], (one.trial.seed - FACTORIAL) // MOST_GENERATED) for one in alone]
    # Some of what gained nothing in the first turn is brought about after the second was planned.
    last = max(place for place, (turn, _) in enumerate(turns) if turn == 1.0)
    assert any(turn == 0.0 for turn, _ in turns[last:]) and all(turn == of_seed for turn, of_seed in turns)


def test_with_more_seeds_there_are_more_pairs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(deciding, "MOST_EPISODES", 12)
    paired = [len(run(chancy(0.4), replace(PART, seeds=seeds)).pairs) for seeds in (1, 2)]
    assert paired == [12, 24]


@pytest.mark.thorough
def test_what_does_not_suffice_is_crossed_with_what_is_needed_beside_it() -> None:
    (finding,) = ran(f"{SIDE} and target_depth=far").diagnosis.decided
    assert {finding.condition} <= {f"{SIDE} and target_depth=far", f"target_depth=far and {SIDE}"}
    assert finding.certainty == "cause" and finding.crossed is not None
    solved = [won == tried for won, tried in (
        finding.crossed.only_this, finding.crossed.only_other, finding.crossed.neither,
    )]  # fmt: skip
    assert finding.crossed.both[0] == 0 < finding.crossed.both[1] and all(solved)
    assert "Where both hold, 0 of" in finding.statement


def test_what_fails_by_chance_where_a_condition_holds_needs_nothing_beside_it() -> None:
    wanted = Condition.parse(SIDE)
    found = run(lambda trial, features: chancy(0.6)(trial, features) if wanted.holds(features) else None, PART)
    assert [(one.condition, one.given) for one in found.diagnosis.decided] == [(SIDE, None)]


def test_what_is_only_to_be_undone_is_never_put_in() -> None:
    recovered = [PairSeen("x", "y", f"t{place}", f"p{place}", True, False) for place in range(12)]
    asked = Hypothesis(Condition.parse(SIDE), np.ones(3, dtype=np.bool_), 10, {"undo": iter(())}, undo=recovered)
    assert (asked.tally.certainty, asked.wants) == ("needed", None)
    assert replace(asked, stream={"undo": iter(()), "put in": iter(())}).wants == "put in"


def test_whatever_can_be_changed_has_pairs() -> None:
    """The first of very many ways apply nowhere."""
    situations = list(
        fresh_situations(
            [GENERATED],
            0,
        )
    )[:60]
    for effect in get_args(Effect):
        many = pairs(Condition("clauses", ("2", "3 or more")), effect, iter(situations),
                     lambda task, seed: Trial(task, 1, "a", seed), lambda fresh: {})  # fmt: skip
        assert len(list(islice(many, 3))) == 3, effect


@pytest.mark.thorough
@pytest.mark.parametrize("number", range(6))
def test_a_policy_without_a_pattern_gets_no_cause(number: int) -> None:
    found = run(patternless(number))
    assert not found.diagnosis.decided and len(found.episodes) <= MOST_EPISODES


@pytest.mark.thorough
def test_a_cause_is_found_among_all_tasks() -> None:
    assert causes(run(fails_when(COLOUR))) == [COLOUR]


def test_from_a_failure_to_the_nearest_success_what_matters_is_found() -> None:
    """Only what is red succeeds; that it is not red is one of many things in which a failure differs."""
    wanted = Condition("target_colour", ("red",))
    trials = [
        (trial, of_trial(trial), wanted.holds(of_trial(trial)))
        for trial in (Trial(GENERATED, TASKS[GENERATED].version, "a", seed) for seed in range(40))
    ]
    found = starts(trials)
    assert found and all(len(start.changes) > 1 for start in found)
    start = next(one for one in found if any(name == "target_colour" for name in
                                            (each.attribute for each in one.conditions.values())))  # fmt: skip
    outcomes: dict[str, bool] = {}
    while True:
        planned, least = narrow(start, outcomes)
        last = planned[-1].trial
        if least is not None or last.id in outcomes:
            break
        outcomes[last.id] = wanted.holds(of_trial(last))
    assert least is not None and [start.conditions[one].attribute for one in least] == ["target_colour"]
    assert len(planned) <= 2 * len(start.changes) and planned[0].trial.interventions == start.changes


@pytest.mark.thorough
def test_where_nearly_all_fails_the_cause_is_narrowed_down() -> None:
    found = ran("requires choice")
    screening = found.rounds[0]
    assert screening["success"].mean() < FLOOR  # type: ignore[operator]
    assert [one for one in found.planned if (one.level or "").startswith("narrowing")]
    assert found.diagnosis.decided[0].name == "instruction ignored"


def test_what_nobody_can_change_is_not_tested() -> None:
    assert can_change(Condition.parse(SIDE)) and can_change(Condition.parse("requires language"))
    assert not can_change(Condition("task", ("language/negation",))) and not can_change(Condition("nothing", ("x",)))


def test_a_stressor_that_costs_a_success_is_decided_beside_the_same_situations_without_it() -> None:
    request = SuiteRequest("a", 1, within=("primitive",))
    stressed = next(one for one in trials_of(ask("diagnosis", EMPTY, request)) if one.perturbations)
    found = run(lambda trial, features: FAILS if trial.perturbations == stressed.perturbations else None, request)
    (finding,) = found.diagnosis.findings
    assert (finding.name, finding.certainty) == (f"failure cliff: {stressed.perturbations[0][0]}/v2", "cause")
    assert finding.put_in is not None and finding.put_in.placebo == finding.put_in.pairs and finding.undo is None


def test_in_real_time_it_is_tried_once_it_is_known_how_long_the_policy_thinks() -> None:
    waiting, realtime = run(lambda trial, features: None, SuiteRequest("a", 1, within=("pursuit",))).rounds
    assert set(waiting["clock"]) == {"lockstep"} and set(realtime["clock"]) == {"realtime:0.01"}
    assert set(realtime["pair_id"]) == set(waiting["pair_id"])


def test_tasks_that_say_nothing_of_a_policy_do_not_keep_it_from_being_decided() -> None:
    request = SuiteRequest("a", 1)
    is_mute = {task.id for task in TASKS.entries() if "instruction" in task.varies}

    def applicable(done: pl.DataFrame) -> list[Trial]:
        return [trial for trial in trials_of(ask("diagnosis", done, request)) if trial.task not in is_mute]

    done = EMPTY
    for _ in range(3):
        known = set(done["trial_id"])
        done = pl.concat([done, played([one for one in applicable(done) if one.id not in known], fails_when(SIDE))])
    assert done["interventions"].list.len().max() == 1


def test_a_diagnosis_has_no_repeats() -> None:
    with pytest.raises(UserError, match=r"a diagnosis has no --repeats, .* give more --seeds"):
        ask("diagnosis", EMPTY, SuiteRequest("a", 1, repeats=2))
