"""The diagnosis on tables that nobody simulated: what is planted in them is found, and nothing else."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from robodx.analysis.findings.confirm import rates
from robodx.analysis.findings.search import Candidate, Counts
from robodx.analysis.findings.strata import Stratum

import robodx.analysis.findings
from robodx.analysis.findings import confirm
from robodx.analysis.findings.base import Diagnosis
from robodx.analysis.findings.diagnose import diagnose, screen
from robodx.analysis.findings.failure_modes import FailureMode
from robodx.analysis.findings.kinds.base import FINDING_KINDS
from robodx.analysis.findings.naming import Name, statement
from robodx.analysis.findings.prepare import with_variants
from robodx.analysis.findings.validation import Expected, judge, scores
from robodx.analysis.statistics.estimates import wilson
from robodx.policy_contract import POLICIES
from robodx.records.schema import SCHEMA
from robodx.tasks.base import TASKS
from robodx.terminal.diagnosis import lines

# Family, tier and what each of its tasks requirements.
REQUIREMENTS: dict[str, list[str]] = {
    "words/plain": ["choice", "perception/colour"],
    "words/negated": ["choice", "perception/colour", "language/negation"],
    "words/excluded": ["choice", "perception/colour", "language/negation"],
    "words/ordered": ["language/order", "motor/put on"],
    "words/reversed": ["language/order", "motor/pick"],
    "words/sided": ["choice", "language/left and right"],
    "words/mirrored": ["choice", "language/left and right", "motor/pick"],
    "looks/by_colour": ["choice", "layout", "perception/colour"],
    "looks/by_size": ["choice", "layout", "perception/size"],
    "looks/by_height": ["choice", "layout", "perception/size"],
    "looks/by_shape": ["choice", "layout", "perception/shape"],
    "hands/stack": ["motor/put on"],
    "hands/insert": ["motor/insert into"],
    "hands/plug": ["motor/insert into"],
    "hands/pick": ["motor/pick", "layout"],
    "haste/roll": ["change/moving things", "motor/pick"],
    "haste/slide": ["change/moving things", "motor/pick"],
    "haste/swap": ["change/sudden", "motor/pick"],
    "haste/vanish": ["change/sudden", "motor/pick"],
    "haste/told": ["change/words", "motor/pick"],
    "haste/told_colour": ["change/words", "choice", "perception/colour"],
}
Fails = Callable[[str, int], Mapping[str, Any] | None]


def episode(task: str, seed: int, **columns: Any) -> dict[str, Any]:
    """A success, unless the columns say otherwise; each moves in its own way."""
    clock, variant = columns.get("clock", "lockstep"), columns.get("perturbations", [])
    return {
        "trial_id": f"{task}-{seed}-{clock}-{variant}", "pair_id": f"{task}-{seed}", "suite": "tasks", "task": task,
        "task_version": 1, "family": task.split("/")[0], "tier": "easy", "tags": [], "robot": "panda", "policy": "a",
        "seed": seed, "repeat": 0, "perturbations": [], "clock": "lockstep", "outcome": "success", "success": True,
        "quality_flags": [], "requirements": REQUIREMENTS[task], "mistaken": [], "attempt": 1, "instructions": [],
        "trajectory_hash": f"{task}-{seed}-{clock}-{variant}",
        "target": {"name": "x", "kind": "cube", "colour": ("red", "green", "blue")[seed // 2 % 3], "size_m": 0.04,
                   "x_m": 0.0, "y_m": 0.0},
        **columns,
    }  # fmt: skip


def failure(**columns: Any) -> dict[str, Any]:
    return {
        "outcome": "failure",
        "success": False,
        "failure_kind": "timeout",
        "failure_type": "incomplete execution",
    } | columns


def table(fails: Fails, seeds: int = 12) -> pl.DataFrame:
    rows = [episode(task, seed, **(fails(task, seed) or {})) for task in REQUIREMENTS for seed in range(seeds)]
    return pl.DataFrame([{name: row.get(name) for name in SCHEMA} for row in rows], schema=SCHEMA)


def of(episodes: pl.DataFrame) -> Diagnosis:
    (found,) = diagnose(episodes, {})
    return found


def confirmed(episodes: pl.DataFrame) -> list[str]:
    return [finding.name for finding in of(episodes).findings if finding.certainty == "confirmed"]


def where(*needs: str, **columns: Any) -> Fails:
    return lambda task, seed: failure(**columns) if set(needs) & set(REQUIREMENTS[task]) else None


def test_a_healthy_policy_gets_no_finding_but_the_resolution() -> None:
    found = of(table(lambda task, seed: None))
    assert not found.findings
    assert found.resolution is not None and 0 < found.resolution < 0.5
    assert (
        found.headline.startswith("No weakness was found. ")
        and f"{100 * found.resolution:.0f} points" in found.headline
    )


def test_a_policy_that_fails_everywhere_is_not_told_to_have_no_weakness() -> None:
    found = replace(of(table(lambda task, seed: None)), success=wilson(3, 60))
    assert found.headline.startswith("It fails in most trials")


def test_the_most_specific_requirement_whose_siblings_are_healthy_is_named() -> None:
    found = of(table(where("language/negation")))
    assert confirmed(table(where("language/negation"))) == ["language sub-skill: negation"]
    (finding,) = found.findings
    assert (finding.inside.value, finding.outside.value) == (1.0, 0.0)
    assert finding.p is not None and finding.p < 0.001 and finding.effect.low is not None and finding.effect.low > 0.5


def test_a_person_reads_that_it_held_on_fresh_seeds_and_how_far_to_trust_that() -> None:
    """The word of the record, "confirmed", says more than was tested."""
    found = of(table(where("language/negation")))
    told = " ".join(lines(found))
    assert "Held on fresh seeds of the same tasks: 1. language sub-skill: negation." in told
    assert "nine faults" in told and "five of five runs" in told and "confirm" not in told
    assert (found.findings[0].certainty, found.findings[0].certainty_says) == ("confirmed", "held on fresh seeds")


def test_where_all_parts_of_a_requirement_fail_the_whole_is_named() -> None:
    assert confirmed(table(where("change/moving things", "change/sudden", "change/words"))) == ["change ignored"]
    assert confirmed(table(where("change/moving things"))) == ["change ignored: moving things"]
    assert confirmed(table(where("change/words"))) == ["updates ignored"]


@pytest.mark.parametrize(
    ("columns", "named"),
    [
        ({"failure_kind": "motor", "failure_type": "grasp stability"}, "motor weakness: grasp stability"),
        ({"failure_kind": "safety", "failure_type": "collision"}, "unsafe contact"),
        ({"failure_kind": "timeout", "failure_type": "control instability"}, "unstable control"),
    ],
)
def test_what_happens_everywhere_is_named_by_its_failure_mode(columns: Mapping[str, Any], named: str) -> None:
    assert confirmed(table(lambda task, seed: failure(**columns) if seed % 4 < 2 else None)) == [named]


def test_flags_of_successes_are_findings_too() -> None:
    assert confirmed(table(lambda task, seed: {"quality_flags": ["instability"]})) == ["unstable control"]


def test_a_confused_attribute_is_told_from_the_others() -> None:
    wrong = {"failure_kind": "reference", "failure_type": "wrong object"}
    size = [{"attribute": "size", "asked": "bigger", "chosen": "smaller"}]
    assert confirmed(table(where("perception/size", mistaken=size, **wrong))) == ["reference confusion: size"]


def test_whoever_takes_anything_ignores_the_instruction() -> None:
    wrong = {"failure_kind": "reference", "failure_type": "wrong object"}
    assert confirmed(table(where("choice", **wrong)))[0] == "instruction ignored"


def test_a_bias_against_a_value_is_held_against_other_values_of_the_same_tasks() -> None:
    assert confirmed(table(lambda task, seed: failure() if seed // 2 % 3 == 1 else None)) == [
        "visual bias: colour=green"
    ]


def with_variant(fails: bool, **columns: Any) -> pl.DataFrame:
    variant = [episode("hands/pick", seed, **(failure() if fails else {}), **columns) for seed in range(12)]
    more = pl.DataFrame([{name: row.get(name) for name in SCHEMA} for row in variant], schema=SCHEMA)
    return pl.concat([table(lambda task, seed: None), more])


def test_a_stressed_variant_is_held_against_the_same_situations_without_stress() -> None:
    stressed = {"perturbations": [{"name": "noise", "severity": 75.0}]}
    assert confirmed(with_variant(True, **stressed)) == ["failure cliff: noise"]
    assert not confirmed(with_variant(False, **stressed))


def test_what_fails_only_where_the_world_does_not_wait_is_latency() -> None:
    assert confirmed(with_variant(True, clock="realtime:0.50")) == ["latency-bound"]


def test_a_statement_gives_counts_and_what_they_are_compared_with() -> None:
    def first(episodes: pl.DataFrame) -> str:
        return of(episodes).findings[0].statement

    stops = "it stops before the task is done in 6 of 6 trials"
    stressed = {"perturbations": [{"name": "noise", "severity": 75.0}]}
    assert first(with_variant(True, **stressed)) == (
        f"It breaks under noise: {stops} under noise, and in 0 of 6 of the same trials without it."
    )
    assert first(with_variant(True, clock="realtime:0.50")) == (
        f"It is too slow for real time: {stops} in real time, and in 0 of 6 of the same trials "
        "when the simulation waits."
    )
    others = len(table(where()).filter(pl.col("seed") % 2 == 1)) - 12
    assert first(table(where("change/moving things"))) == (
        "It does not cope with moving objects: it stops before the task is done in 12 of 12 trials with moving "
        f"objects, and in 0 of {others} other trials."
    )


def test_a_statement_gives_only_the_rate_where_strata_are_weighed() -> None:
    candidate = screen(with_variants(table(where("change/moving things")), {}))[0]
    name = Name(FINDING_KINDS["change ignored"], "moving things")
    rates_of = (wilson(9, 12), wilson(3, 60))
    assert "in 9 of 12 trials with moving objects, and in 5% of all other trials." in (
        statement(name, candidate, *rates_of, Counts(9, 12, 4, 60), 0)
    )
    assert "in 3 of 60 other trials (25 trials of other findings are left out)." in (
        statement(name, candidate, *rates_of, Counts(9, 12, 3, 60), 25)
    )


def test_what_the_confirming_seeds_do_not_show_stays_a_suspicion() -> None:
    episodes = table(
        lambda task, seed: failure() if "language/negation" in REQUIREMENTS[task] and seed % 2 == 0 else None
    )
    (finding,) = of(episodes).findings
    assert (finding.kind, finding.certainty) == ("language sub-skill", "suspected")
    assert of(episodes).headline.startswith(
        "No weakness held on fresh seeds of the same tasks. Suspected: It does not understand negation"
    )


def test_two_weaknesses_are_two_findings() -> None:
    slip = failure(failure_kind="motor", failure_type="grasp stability")
    both: Fails = lambda task, seed: (  # noqa: E731
        slip if "motor/put on" in REQUIREMENTS[task] else where("language/negation")(task, seed)
    )
    assert set(confirmed(table(both))) == {"motor weakness: grasp stability", "language sub-skill: negation"}


def test_what_only_one_task_requires_is_not_told_from_the_task() -> None:
    found = of(table(where("perception/shape")))
    assert [one.name for one in found.findings] == ["weak capability: looks/by_shape"]
    assert found.findings[0].where == "trials of the task looks/by_shape"


def test_a_wrong_choice_is_no_motor_weakness_whatever_was_to_be_done() -> None:
    colour = [{"attribute": "colour", "asked": "red", "chosen": "blue"}]
    wrong = {"failure_kind": "reference", "failure_type": "wrong object"}
    assert confirmed(table(where("motor/put on", mistaken=colour, **wrong))) == ["reference confusion: colour"]
    assert confirmed(table(where("motor/put on", **wrong))) == ["reference confusion"]


def test_a_policy_is_asked_for_again_as_it_was_made_or_by_a_name_to_fill_in() -> None:
    def next_of(policy: str, **about: Any) -> str:
        episodes = table(where("language/negation")).with_columns(policy=pl.lit(policy))
        (found,) = diagnose(episodes, {"request": {"policy": policy}, **about})
        return found.findings[0].next_test

    assert " --policy openpi://box:8000 --preset droid --seeds" in next_of("openpi://box:8000#droid")
    assert " --policy YOUR_POLICY --name 'my model' --seeds" in next_of("my model", is_named=True)


def test_the_identity_variant_of_a_stress_run_is_no_further_trial() -> None:
    clean = table(where("language/negation")).with_columns(suite=pl.lit("stress"))
    again = in_variant(table(lambda task, seed: None), "again", suite="stress", repeat=1)
    found = of(joined(clean, again))
    assert (found.judged, of(clean).judged) == (2 * len(clean), len(clean)), "it is counted among the episodes"
    assert replace(found, solved=of(clean).solved, judged=of(clean).judged) == of(clean)


def test_what_two_weaknesses_have_in_common_is_not_found_in_their_place() -> None:
    """The words that are well understood tell that it is not all of language."""
    colour = [{"attribute": "colour", "asked": "red", "chosen": "blue"}]
    wrong = {"failure_kind": "reference", "failure_type": "wrong object", "mistaken": colour}
    found = confirmed(table(where("language/negation", "language/order", **wrong)))
    assert set(found) == {"language sub-skill: negation", "language sub-skill: order"}


def test_two_weaknesses_of_different_kinds_are_told_from_what_both_need() -> None:
    """Whoever chooses wrongly by size and by side does not take anything whatever the words."""
    wrong = {"failure_kind": "reference", "failure_type": "wrong object"}
    size = [{"attribute": "size", "asked": "bigger", "chosen": "smaller"}]
    small, mirrored = where("perception/size", mistaken=size, **wrong), where("language/left and right", **wrong)
    found = confirmed(table(lambda task, seed: small(task, seed) or mirrored(task, seed)))
    assert set(found) == {"reference confusion: size", "language sub-skill: left and right"}


def test_what_one_weakness_spared_does_not_make_another_look_healthy() -> None:
    """Who takes colours at random is right half the time, of new words for a colour too."""
    colour = [{"attribute": "colour", "asked": "red", "chosen": "blue"}]
    wrong = failure(failure_kind="reference", failure_type="wrong object", mistaken=colour)

    def fails(task: str, seed: int) -> Mapping[str, Any] | None:
        if "perception/colour" in REQUIREMENTS[task]:
            return wrong if seed % 4 < 2 else None
        return where("change/words")(task, seed)

    assert set(confirmed(table(fails, seeds=24))) == {"reference confusion: colour", "updates ignored"}


@pytest.mark.parametrize("shared", [0, 1, 2])
def test_what_a_later_candidate_costs_is_not_held_against_this_one(shared: int) -> None:
    """However many of the screened episodes lie in both: the fresh ones were chosen for one of the two."""
    # Screened in colour alone, in both, in pattern alone, in neither; then fresh: in colour, in pattern, in neither.
    sizes = [6, shared, 2, 10, 32, 24, 14]
    groups = np.repeat(np.arange(len(sizes)), sizes)
    fresh, colour, pattern = groups >= 4, np.isin(groups, (0, 1, 4)), np.isin(groups, (1, 2, 5))
    wrong = np.isin(groups, (0, 1, 2))
    wrong[np.flatnonzero(groups == 4)[:18]] = wrong[np.flatnonzero(groups == 5)[:12]] = True
    mode = FailureMode("wrong thing", "wrong thing", wrong, "it acts against the instruction", is_telling=True)
    first, later = (
        Candidate(Stratum("need", name, name, inside, ~inside), mode, Counts(1, 1, 0, 1), score)
        for name, inside, score in (("perception/colour", colour, 2.0), ("perception/pattern", pattern, 1.0))
    )
    of_colour, of_pattern = confirm.tested([first, later], pl.DataFrame({"task": ["a"] * len(groups)}), fresh)
    assert of_colour.counts == (18, 32, 0, 14) and of_colour.is_confirmed
    assert of_pattern.counts == (12, 24, 0, 14) and of_pattern.is_confirmed


def test_what_shows_in_all_that_is_done_hides_nothing_else() -> None:
    deaf = where("language/negation", quality_flags=["instability"])
    found = confirmed(table(lambda task, seed: deaf(task, seed) or {"quality_flags": ["instability"]}))
    assert set(found) == {"unstable control", "language sub-skill: negation"}


def test_a_collision_that_comes_first_does_not_hide_the_wrong_choice() -> None:
    colour = [{"attribute": "colour", "asked": "red", "chosen": "blue"}]
    hit = {"quality_flags": ["collision"]}
    wrong = where("perception/colour", failure_kind="safety", failure_type="collision", mistaken=colour, **hit)
    found = confirmed(table(lambda task, seed: wrong(task, seed) or hit))
    assert set(found) == {"unsafe contact", "reference confusion: colour"}


def test_of_findings_that_say_the_same_the_first_keeps_its_place() -> None:
    slip = {"failure_kind": "motor", "failure_type": "grasp stability"}
    rate = {"motor/put on": 1.0, "motor/insert into": 1.0, "motor/pick": 0.5}

    def fails(task: str, seed: int) -> Mapping[str, Any] | None:
        often = max((share for need, share in rate.items() if need in REQUIREMENTS[task]), default=0.0)
        return failure(**slip) if seed % 4 < 4 * often else where("language/negation")(task, seed)

    found = of(table(fails)).findings
    assert [one.rank for one in found] == sorted((one.rank for one in found), reverse=True)
    assert len({one.name for one in found}) == len(found)


def essence(diagnosis: Diagnosis) -> list[tuple[Any, ...]]:
    """All of a diagnosis that does not quote a name."""
    return [
        (one.kind, one.subject, one.certainty, one.inside, one.outside, one.effect, one.p) for one in diagnosis.findings
    ]


def test_neither_the_policy_s_name_nor_the_order_of_episodes_changes_a_finding() -> None:
    episodes = table(where("language/negation", "motor/insert into"))
    renamed = episodes.with_columns(policy=pl.lit("fault:colour_blind")).sample(fraction=1.0, shuffle=True, seed=3)
    assert essence(of(renamed)) == essence(of(episodes))
    assert of(renamed).findings[0].examples == of(episodes).findings[0].examples


def test_tasks_by_any_other_name_give_the_same_findings() -> None:
    episodes = table(where("language/negation", "motor/insert into"))
    renamed = episodes.with_columns(
        task=pl.col("task").replace_strict({task: f"t/{n}" for n, task in enumerate(REQUIREMENTS)})
    )
    assert essence(of(renamed)) == essence(of(episodes))


def test_no_rule_names_a_task_or_a_policy() -> None:
    sources = Path(robodx.analysis.findings.__file__).parent.rglob("*.py")
    text = "\n".join(path.read_text() for path in sources)
    assert not [task for task in TASKS if task in text]
    assert not [name for name in POLICIES if f'"{name}"' in text]


def test_random_failures_raise_few_alarms() -> None:
    """Holm over the candidates, on seeds that did not choose them: five in a hundred runs at most, give or take."""
    rng = np.random.default_rng(5)
    runs = [of(table(lambda task, seed: failure() if rng.random() < 0.4 else None)) for _ in range(24)]
    alarms = sum(any(one.certainty == "confirmed" for one in run.findings) for run in runs)
    # Were they 5% of all runs, more than 4 of 24 would be seen less than once in a hundred times.
    assert alarms <= 4
    assert any(run.findings for run in runs)


def test_errors_and_stand_ins_are_no_episodes_of_the_policy() -> None:
    substituted = [{"name": "plain_words", "severity": 1.0}]
    more = [episode("words/plain", seed, **failure(), perturbations=substituted) for seed in range(12)]
    frame = pl.DataFrame([{name: row.get(name) for name in SCHEMA} for row in more], schema=SCHEMA)
    episodes = pl.concat(
        [table(lambda task, seed: {"outcome": "error", "success": False} if seed == 3 else None), frame]
    )
    (found,) = diagnose(episodes, {"perturbations": {"plain_words": {"kind": "substitution", "levels": {"on": 1.0}}}})
    assert not found.findings and found.episodes == 11 * len(REQUIREMENTS)


def test_a_verdict_counts_only_what_was_confirmed() -> None:
    diagnosis = of(table(where("language/negation")))
    right, wrong = Expected("language sub-skill", "negation"), Expected("language sub-skill", "order")
    verdicts = [
        judge("one fault", "x", [right], diagnosis), judge("one fault", "x", [wrong], diagnosis),
        judge("no fault", "healthy", [], diagnosis), judge("two faults", "x+y", [right, wrong], diagnosis),
    ]  # fmt: skip
    assert [verdict.is_right for verdict in verdicts] == [True, False, False, False]
    assert {score.group: score.right.value for score in scores(verdicts)} == {
        "one fault": 0.5,
        "no fault": 0.0,
        "two faults": 0.0,
    }


def test_a_handful_of_episodes_confirms_nothing() -> None:
    few = table(lambda task, seed: {"quality_flags": ["instability"]}, seeds=2).head(6)
    assert [finding.certainty for finding in of(few).findings] == ["suspected"]


def joined(*tables: pl.DataFrame) -> pl.DataFrame:
    return pl.concat(tables)


def in_variant(episodes: pl.DataFrame, name: str, **columns: Any) -> pl.DataFrame:
    """The same episodes again, in another variant."""
    return episodes.with_columns(
        trial_id=pl.col("trial_id") + name,
        trajectory_hash=pl.col("trajectory_hash") + name,
        **{column: pl.lit(value, dtype=SCHEMA[column]) for column, value in columns.items()},
    )


NOISE = [{"name": "noise", "severity": 75.0}]


@pytest.mark.parametrize("variant", [{"perturbations": NOISE}, {"clock": "realtime:0.50"}])
def test_what_fails_without_stress_too_does_not_fail_by_it(variant: Mapping[str, Any]) -> None:
    clean = table(where("language/negation"))
    assert confirmed(joined(clean, in_variant(clean, "variant", **variant))) == ["language sub-skill: negation"]


def test_an_variant_that_a_run_of_its_own_has_is_held_against_the_clean_run() -> None:
    clean, noisy = table(lambda task, seed: None), table(lambda task, seed: failure())
    assert confirmed(joined(clean, in_variant(noisy, "noisy", perturbations=NOISE))) == ["failure cliff: noise"]
    assert confirmed(joined(clean, in_variant(noisy, "late", clock="realtime:0.50"))) == ["latency-bound"]


def test_trying_again_in_the_same_situations_is_no_further_evidence() -> None:
    """Forty in a hundred situations are lost, whatever is required, and every time they are tried."""
    alarms = 0
    for number in range(12):
        rng = np.random.default_rng(number)
        lost = {(task, seed) for task in REQUIREMENTS for seed in range(6) if rng.random() < 0.4}
        once = table(lambda task, seed, lost=lost: failure() if (task, seed) in lost else None, seeds=6)  # type: ignore[misc]
        often = joined(*(in_variant(once, str(repeat), repeat=repeat) for repeat in range(8)))
        alarms += bool(confirmed(often))
        assert of(often).episodes == len(once)
    assert alarms <= 2


def test_the_order_of_rows_and_runs_changes_nothing_where_episodes_are_there_twice() -> None:
    whole = table(where("language/negation"))
    screening = whole.filter(pl.col("seed") < 4).with_columns(suite=pl.lit("diagnosis"))
    fresh = whole.filter(pl.col("seed") >= 4).with_columns(suite=pl.lit("confirmation"))
    one, other = joined(whole, screening, fresh), joined(fresh, screening, whole)
    assert of(one) == of(other)
    still = whole.with_columns(trajectory_hash=pl.col("task"))
    assert of(still) == of(still.reverse())


def test_a_stress_run_is_confirmed_by_its_own_seeds_beside_a_diagnosis() -> None:
    clean = table(where("language/negation"))
    screening = clean.with_columns(
        suite=pl.when(pl.col("seed") < 4).then(pl.lit("diagnosis")).otherwise(pl.lit("confirmation"))
    )
    stressed = in_variant(table(lambda task, seed: failure()), "noisy", perturbations=NOISE)
    assert set(confirmed(joined(screening, stressed))) == {"language sub-skill: negation", "failure cliff: noise"}


def test_a_diagnosis_that_asked_for_nothing_more_is_not_split_again() -> None:
    found = of(table(lambda task, seed: None, seeds=3).with_columns(suite=pl.lit("diagnosis")))
    assert (found.screened, found.confirmed_on, found.findings) == (3 * len(REQUIREMENTS), 0, ())
    assert found.resolution is not None


def test_too_many_errors_leave_nothing_to_be_said() -> None:
    erred = {"outcome": "error", "success": False}
    found = of(table(lambda task, seed: erred if seed % 3 else failure()))
    assert found.success.value is None and not found.findings
    assert found.headline == f"No diagnosis is possible: {found.errors} of its episodes ended in an error."
    assert of(table(lambda task, seed: erred)).errors == 12 * len(REQUIREMENTS)


def test_a_run_that_outcomes_ended_or_that_goes_on_confirms_nothing() -> None:
    episodes = table(where("language/negation"))
    (ended,) = diagnose(episodes, {"request": {"until_width": 0.1}})
    (going,) = diagnose(episodes, {}, is_whole=False)
    assert ended.success.low is None or ended.success != of(episodes).success
    assert [one.certainty for one in (*ended.findings, *going.findings)] == ["suspected", "suspected"]


def test_strata_are_weighted_so_that_the_effect_agrees_with_the_test() -> None:
    inside, outside, effect = rates([Counts(10, 10, 60, 100), Counts(12, 100, 0, 10)])
    assert effect.value is not None and effect.value > 0.2
    assert inside.value is not None and outside.value is not None and inside.value > outside.value


def test_a_command_to_be_pasted_does_no_more_than_it_says() -> None:
    episodes = table(where("language/negation")).with_columns(policy=pl.lit("a; rm -rf ~"))
    assert "--policy 'a; rm -rf ~' " in of(episodes).findings[0].next_test
