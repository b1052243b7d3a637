"""The diagnosis on tables that nobody simulated: what goes with failures is named with its rivals, and nothing else."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np
import polars as pl
import pytest

import robodx.analysis.findings
from robodx.analysis.findings import diagnose as diagnosing
from robodx.analysis.findings import proposals
from robodx.analysis.findings.base import Diagnosis, Finding
from robodx.analysis.findings.conditions import Condition
from robodx.analysis.findings.decisions import Tally
from robodx.analysis.findings.diagnose import diagnose
from robodx.analysis.findings.subject import Subject
from robodx.analysis.findings.wording import HAS
from robodx.analysis.statistics.estimates import wilson
from robodx.policy_contract import POLICIES
from robodx.records.schema import SCHEMA
from robodx.tasks.base import TASKS
from robodx.terminal.diagnosis import lines

# Family, tier and what each of its tasks requires.
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
COLOURS = ("red", "green", "blue")
Fails = Callable[[str, int], Mapping[str, Any] | None]


@pytest.fixture(autouse=True, scope="module")
def quick() -> Iterator[None]:
    """Fewer halves and shuffles of the trials than of a run's."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(proposals, "HALVES", 6)
        patch.setattr(proposals, "SHUFFLES", 150)
        yield


def colour_of(task: str, seed: int) -> str:
    """Another in each task and seed."""
    return COLOURS[crc32(f"{task}{seed}".encode()) % 3]


def attributes(**values: str | float) -> dict[str, Any]:
    return {
        "texts": [{"name": name, "value": value} for name, value in values.items() if isinstance(value, str)],
        "numbers": [{"name": name, "value": value} for name, value in values.items() if not isinstance(value, str)],
    }


def episode(task: str, seed: int, **columns: Any) -> dict[str, Any]:
    """A success, unless the columns say otherwise; each moves in its own way."""
    clock, variant = columns.get("clock", "lockstep"), columns.get("perturbations", [])
    return {
        "trial_id": f"{task}-{seed}-{clock}-{variant}", "pair_id": f"{task}-{seed}", "suite": "tasks", "task": task,
        "task_version": 1, "family": task.split("/")[0], "tier": "easy", "tags": [], "robot": "panda", "policy": "a",
        "seed": seed, "repeat": 0, "perturbations": [], "clock": "lockstep", "outcome": "success", "success": True,
        "quality_flags": [], "requirements": REQUIREMENTS[task], "mistaken": [], "attempt": 1, "instructions": [],
        "trajectory_hash": f"{task}-{seed}-{clock}-{variant}",
        "attributes": attributes(target_colour=colour_of(task, seed), things=2.0 + crc32(f"{seed}{task}".encode()) % 4),
        **columns,
    }  # fmt: skip


def failure(**columns: Any) -> dict[str, Any]:
    return {
        "outcome": "failure",
        "success": False,
        "failure_kind": "timeout",
        "failure_type": "incomplete execution",
    } | columns


def framed(rows: list[dict[str, Any]]) -> pl.DataFrame:
    return pl.DataFrame([{name: row.get(name) for name in SCHEMA} for row in rows], schema=SCHEMA)


def table(fails: Fails, seeds: int = 6) -> pl.DataFrame:
    return framed([episode(task, seed, **(fails(task, seed) or {})) for task in REQUIREMENTS for seed in range(seeds)])


def of(episodes: pl.DataFrame) -> Diagnosis:
    (found,) = diagnose(episodes, {})
    return found


def names(episodes: pl.DataFrame) -> list[str]:
    return [finding.name for finding in of(episodes).findings]


def causes(episodes: pl.DataFrame) -> list[str]:
    return [finding.name for finding in of(episodes).decided]


def where(*needs: str, **columns: Any) -> Fails:
    return lambda task, seed: failure(**columns) if set(needs) & set(REQUIREMENTS[task]) else None


DEAF = table(where("language/negation"))
HEALTHY = table(lambda task, seed: None)


def test_a_healthy_policy_gets_no_finding_but_the_resolution() -> None:
    found = of(HEALTHY)
    assert not (found.findings or found.symptoms or found.excluded)
    assert found.resolution is not None and 0 < found.resolution < 0.6
    assert found.headline.startswith("No weakness was found. ")
    assert f"{100 * found.resolution:.0f} points" in found.headline


def test_a_policy_that_fails_everywhere_is_not_told_to_have_no_weakness() -> None:
    assert replace(of(HEALTHY), success=wilson(3, 60)).headline.startswith("It fails in most trials")


def test_the_most_specific_requirement_whose_siblings_are_healthy_is_named() -> None:
    (finding,) = of(DEAF).findings
    assert finding.name == "language sub-skill: negation"
    assert (finding.inside.value, finding.outside.value) == (1.0, 0.0)
    assert (finding.attribute, finding.levels) == ("requires language/negation", ("yes",))
    assert finding.effect.low is not None and finding.effect.low > 0.5 and finding.share == 1.0


def test_without_pairs_nothing_is_a_cause_and_the_command_that_would_decide_is_told() -> None:
    """One task fails: whatever it alone has may be a coincidence."""
    found = of(table(where("perception/shape")))
    (finding,) = found.findings
    assert (finding.certainty, finding.undo, finding.put_in, finding.pair) == ("suspected", None, None, None)
    assert finding.p is not None and finding.p > 0.05 and finding.next_test == "robodx diagnose a"
    assert (finding.name, finding.when) == ("reference confusion: shape", "an object is told by its shape")
    assert finding.rivals == ("the task is looks/by_shape",)
    told = " ".join(" ".join(lines(found)).split())
    assert "No cause can be shown: this run has no pairs of trials in which one thing was changed." in told
    assert "Suspected: reference confusion: shape. It may fail more often when an object is told by its shape" in told
    assert "it fails in 6 of 6 of such trials" in told and "and in 0 of 120 of others" in told
    assert "It may as well be that the task is looks/by_shape. next: robodx diagnose a" in told
    assert found.headline.startswith("No cause was shown. It may fail more often when an object is told by its shape")


def test_what_fails_less_often_is_not_suspected_of_failing_more(monkeypatch: pytest.MonkeyPatch) -> None:
    """The search looks at what is left by conditions before it, where the sign may be another."""

    def proposed(colour: str) -> list[proposals.Suspect]:
        return [proposals.Suspect(Condition.parse(f"target_colour={colour}"), 1.0, 0.0, ())]

    episodes = table(lambda task, seed: failure() if colour_of(task, seed) == "green" or seed == 0 else None)
    for colour, is_named in (("red", False), ("green", True)):
        monkeypatch.setattr(diagnosing, "suspects", lambda *_, colour=colour: proposed(colour))
        assert names(episodes) == [f"visual bias: target colour={colour}"] * is_named


def test_what_holds_across_tasks_goes_with_failures() -> None:
    found = of(table(lambda task, seed: failure() if colour_of(task, seed) == "green" else None))
    (finding,) = found.findings
    assert (finding.name, finding.certainty) == ("visual bias: target colour=green", "associated")
    assert finding.p is not None and finding.p < 0.01
    assert finding.advice.startswith("If it is confirmed: add demonstrations with objects of these colours")
    green = finding.inside.n
    assert finding.statement == (
        f"It fails more often when the target is green: it fails in {green} of {green} of such trials (mostly, it "
        f"stops before the task is done), and in 0 of {126 - green} of others. That it is because of this was not "
        "tested."
    )


def test_how_most_failures_fail_is_said_of_all_that_are_counted_beside_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where another condition holds for most of them, and the rest fails in another way."""
    subjects: list[Subject] = []

    def kept(subject: Subject, *_: object) -> Iterator[Finding]:
        subjects.append(subject)
        return iter(())

    monkeypatch.setattr(diagnosing, "_findings", kept)
    how = {True: "grasp stability", False: "collision"}
    of(
        table(
            lambda task, seed: (
                failure(failure_type=how[task.startswith("haste")]) if colour_of(task, seed) == "green" else None
            )
        )
    )
    (subject,) = subjects
    green, slow = (Tally(Condition.parse(one), 1) for one in ("target_colour=green", "family=words|looks|hands"))
    found = diagnosing._finding(subject, green, "suspected", beside=[green, slow])
    assert found is not None and found.happens == "it loses the object it holds", "where the other does not hold"
    count = found.inside.n
    assert f"it fails in {count} of {count} of such trials (mostly, it collides)" in found.statement


def test_where_all_parts_of_a_requirement_fail_the_whole_is_named() -> None:
    (finding,) = of(table(where("language/negation", "language/order", "language/left and right"))).findings
    assert (finding.name, finding.inside.value) == ("wording: beyond plain names", 1.0)
    assert names(table(where("change/moving things"))) == ["change ignored: moving things"]
    assert names(table(where("change/words"))) == ["updates ignored"]


@pytest.mark.parametrize(
    ("columns", "named", "says"),
    [
        ({"failure_type": "grasp stability"}, "motor weakness: grasp stability", "It loses the object it holds"),
        ({"failure_type": "collision"}, "unsafe contact", "It collides"),
        ({"failure_type": "control instability"}, "unstable control", "It fails with unstable motion"),
    ],
)
def test_what_happens_wherever_is_a_symptom_and_no_cause(columns: Mapping[str, Any], named: str, says: str) -> None:
    found = of(table(lambda task, seed: failure(**columns) if (seed + len(task)) % 4 < 2 else None))
    assert not found.decided and named in [one.name for one in found.symptoms]
    statement = next(one.statement for one in found.symptoms if one.name == named)
    assert statement.startswith(says) and statement.endswith(" failures.")


def test_flags_of_successes_are_symptoms_and_hide_nothing_else() -> None:
    shaky = {"quality_flags": ["instability"]}
    found = of(table(lambda task, seed: where("language/negation", **shaky)(task, seed) or shaky))
    symptom = found.symptoms[0]
    assert (symptom.name, symptom.statement) == ("unstable control", "It shakes in 126 of 126 episodes.")
    assert [one.name for one in found.findings] == ["language sub-skill: negation"]
    assert "Symptoms (what can be seen, and not why):" in list(lines(found))


def test_a_confused_attribute_is_told_from_the_others() -> None:
    wrong = {"failure_kind": "reference", "failure_type": "wrong object"}
    size = [{"attribute": "size", "asked": "bigger", "chosen": "smaller"}]
    (finding,) = of(table(where("perception/size", mistaken=size, **wrong))).findings
    assert finding.name == "reference confusion: size"
    assert finding.happens == "it chooses an object of the wrong size"


def test_whoever_takes_anything_ignores_the_instruction() -> None:
    wrong = {"failure_kind": "reference", "failure_type": "wrong object"}
    assert names(table(where("choice", **wrong)))[0] == "instruction ignored"


def test_a_wrong_choice_is_no_motor_weakness_whatever_was_to_be_done() -> None:
    colour = [{"attribute": "colour", "asked": "red", "chosen": "blue"}]
    wrong = {"failure_kind": "reference", "failure_type": "wrong object", "mistaken": colour}
    assert not [name for name in names(table(where("motor/put on", **wrong))) if name.startswith("motor")]
    assert names(table(where("motor/put on", failure_type="placement and release"))) == ["motor weakness: put on"]


def test_two_weaknesses_that_fail_in_two_ways_are_two_findings() -> None:
    slip = failure(failure_kind="motor", failure_type="grasp stability")
    both: Fails = lambda task, seed: (  # noqa: E731
        slip if "motor/put on" in REQUIREMENTS[task] else where("language/negation")(task, seed)
    )
    assert set(names(table(both))) == {"motor weakness: put on", "language sub-skill: negation"}


def test_of_two_weaknesses_what_they_have_in_common_is_told_with_both_as_rivals() -> None:
    """The words that are well understood tell that it may not be all of language; only pairs would decide."""
    (finding,) = of(table(where("language/negation", "language/order"))).findings
    assert finding.attribute == "requires language"
    assert {"the instruction has a negation", "steps have an order"} <= set(finding.rivals)


def with_variant(fails: bool, **columns: Any) -> pl.DataFrame:
    variant = [episode("hands/pick", seed, **(failure() if fails else {}), **columns) for seed in range(12)]
    return pl.concat([framed([episode("hands/pick", seed) for seed in range(6, 12)]), HEALTHY, framed(variant)])


NOISE = [{"name": "noise", "severity": 75.0}]
REALTIME = "realtime:0.50"


@pytest.mark.parametrize(
    ("variant", "name", "statement"),
    [
        (
            {"perturbations": NOISE},
            "failure cliff: noise/75",
            "It breaks under noise at level 75: 5 of 5 trials fail when there is noise at level 75, and 0 of the same "
            "trials otherwise.",
        ),
        (
            {"clock": REALTIME},
            "latency-bound",
            "It is too slow for real time: 5 of 5 trials fail when the simulation does not wait, and 0 of the same "
            "trials otherwise.",
        ),
    ],
)
def test_a_variant_is_held_against_the_same_situations_without_it(
    variant: Mapping[str, Any], name: str, statement: str
) -> None:
    (finding,) = of(with_variant(True, **variant)).findings
    assert (finding.name, finding.certainty) == (name, "cause") and finding.put_in is not None
    assert finding.statement == statement
    assert finding.pair is not None and finding.examples
    assert not names(with_variant(False, **variant))


@pytest.mark.parametrize("variant", [{"perturbations": NOISE}, {"clock": REALTIME}])
def test_what_fails_without_stress_too_does_not_fail_by_it(variant: Mapping[str, Any]) -> None:
    assert names(pl.concat([DEAF, in_variant(DEAF, "variant", **variant)])) == ["language sub-skill: negation"]


def in_variant(episodes: pl.DataFrame, name: str, **columns: Any) -> pl.DataFrame:
    """The same episodes again, in another variant."""
    return episodes.with_columns(
        trial_id=pl.col("trial_id") + name,
        trajectory_hash=pl.col("trajectory_hash") + name,
        **{column: pl.lit(value, dtype=SCHEMA[column]) for column, value in columns.items()},
    )


def test_a_variant_that_a_run_of_its_own_has_is_held_against_the_clean_run() -> None:
    noisy = table(lambda task, seed: failure())
    assert causes(pl.concat([HEALTHY, in_variant(noisy, "noisy", perturbations=NOISE)])) == ["failure cliff: noise/75"]
    assert causes(pl.concat([HEALTHY, in_variant(noisy, "late", clock=REALTIME)])) == ["latency-bound"]


def test_a_policy_is_asked_for_again_as_it_was_made_or_by_a_name_to_fill_in() -> None:
    def next_of(policy: str, **about: Any) -> str:
        episodes = with_variant(True, clock=REALTIME).with_columns(policy=pl.lit(policy))
        (found,) = diagnose(episodes, {"request": {"policy": policy}, **about})
        return found.findings[0].next_test

    assert " --policy openpi://box:8000 --preset droid --clock" in next_of("openpi://box:8000#droid")
    made = {"policy": "openpi://box:8000", "preset": "droid"}
    named = next_of("my model", is_named=True, given=made)
    assert " --policy openpi://box:8000 --preset droid --name 'my model' --clock" in named
    # Older runs tell of a policy with a name no more than that.
    assert " --policy YOUR_POLICY --name 'my model' --clock" in next_of("my model", is_named=True)
    assert "--policy 'a; rm -rf ~' " in next_of("a; rm -rf ~"), "pasted, it does no more than it says"


def test_the_identity_variant_of_a_stress_run_is_no_further_trial() -> None:
    clean = DEAF.with_columns(suite=pl.lit("stress"))
    again = in_variant(HEALTHY, "again", suite="stress", repeat=1)
    found = of(pl.concat([clean, again]))
    assert (found.judged, of(clean).judged) == (2 * len(clean), len(clean)), "it is counted among the episodes"
    assert found.findings == of(clean).findings


def essence(diagnosis: Diagnosis) -> list[tuple[Any, ...]]:
    """All of a diagnosis that does not quote a name."""
    return [(one.kind, one.subject, one.certainty, one.inside, one.outside, one.effect) for one in diagnosis.findings]


def test_neither_the_policy_s_name_nor_the_order_of_episodes_changes_a_finding() -> None:
    episodes = table(where("language/negation", "motor/insert into"))
    renamed = episodes.with_columns(policy=pl.lit("fault:colour_blind")).sample(fraction=1.0, shuffle=True, seed=3)
    assert essence(of(renamed)) == essence(of(episodes))
    assert of(renamed).findings[0].examples == of(episodes).findings[0].examples
    assert [one.p for one in of(renamed).findings] == [one.p for one in of(episodes).findings]


def test_tasks_by_any_other_name_give_the_same_findings() -> None:
    episodes = table(where("language/negation", "motor/insert into"))
    renamed = episodes.with_columns(
        task=pl.col("task").replace_strict({task: f"t/{n}" for n, task in enumerate(REQUIREMENTS)})
    )
    assert essence(of(renamed)) == essence(of(episodes))


def test_the_order_of_rows_changes_nothing_where_episodes_are_there_twice() -> None:
    twice = pl.concat([DEAF, DEAF.with_columns(suite=pl.lit("diagnosis"))])
    assert of(twice) == of(twice.reverse())
    still = DEAF.with_columns(trajectory_hash=pl.col("task"))
    assert of(still) == of(still.reverse())


def test_no_rule_names_a_task_or_a_policy() -> None:
    sources = Path(robodx.analysis.findings.__file__).parent.rglob("*.py")
    text = "\n".join(path.read_text() for path in sources)
    # Some tasks are called after what they require.
    assert not [task for task in TASKS if task in text and task.split("/")[1] not in HAS]
    # And one policy like what is to be done.
    assert not [name for name in POLICIES if f'"{name}"' in text and name != "act"]


def test_trying_again_in_the_same_situations_is_no_further_evidence() -> None:
    """Forty in a hundred situations are lost, whatever is required, and every time they are tried."""
    rng = np.random.default_rng(0)
    once = table(lambda task, seed: failure() if rng.random() < 0.4 else None)
    often = pl.concat([in_variant(once, str(repeat), repeat=repeat) for repeat in range(8)])
    assert of(often).screened == len(once) and essence(of(often)) == essence(of(once))


def test_random_failures_go_with_nothing() -> None:
    """Each p is of the best of all conditions: five in a hundred runs at most have one below 0.05."""
    rng = np.random.default_rng(5)
    runs = [of(table(lambda task, seed: failure() if rng.random() < 0.4 else None, seeds=3)) for _ in range(8)]
    # Were they 5% of all runs, more than 2 of 8 would be seen less than once in a hundred times.
    assert sum(any(one.certainty == "associated" for one in run.findings) for run in runs) <= 2
    assert any(run.findings for run in runs) and not any(run.decided for run in runs)


def test_errors_and_stand_ins_are_no_episodes_of_the_policy() -> None:
    substituted = [{"name": "plain_words", "severity": 1.0}]
    more = [episode("words/plain", seed, **failure(), perturbations=substituted) for seed in range(6)]
    erred = table(
        lambda task, seed: {"outcome": "error", "success": False} if (task, seed) == ("hands/pick", 3) else None
    )
    cards = {"plain_words": {"kind": "substitution", "levels": {"on": 1.0}}}
    (found,) = diagnose(pl.concat([erred, framed(more)]), {"perturbations": cards})
    assert not found.findings and (found.screened, found.errors) == (len(erred) - 1, 1)


def test_too_many_errors_leave_nothing_to_be_said() -> None:
    erred = {"outcome": "error", "success": False}
    found = of(table(lambda task, seed: erred if seed % 3 else failure()))
    assert found.success.value is None and not found.findings
    assert found.headline == f"No diagnosis is possible: {found.errors} of its episodes ended in an error."
    assert of(table(lambda task, seed: erred)).errors == 6 * len(REQUIREMENTS)


def test_a_handful_of_episodes_shows_nothing() -> None:
    few = table(lambda task, seed: failure() if seed else None, seeds=2).head(6)
    assert not of(few).decided and all(one.certainty == "suspected" for one in of(few).findings)


def test_a_run_that_outcomes_ended_has_no_p_and_one_that_goes_on_says_so() -> None:
    episodes = table(lambda task, seed: failure() if colour_of(task, seed) == "green" else None)
    (ended,) = diagnose(episodes, {"request": {"until_width": 0.1}})
    assert ended.success.low is None or ended.success != of(episodes).success
    assert [(one.certainty, one.p) for one in ended.findings] == [("suspected", None)]
    (going,) = diagnose(episodes, {}, is_whole=False)
    assert "The run is not finished, so more may be decided. The same command continues it." in list(lines(going))
    assert "not finished" not in " ".join(lines(of(episodes)))
