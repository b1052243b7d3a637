"""Why it fails: which failed trials are run again, what is recovered, and how that is told."""

from __future__ import annotations

import itertools
import json
import re
from pathlib import Path

import polars as pl
import pytest

from robodx.analysis.cause_sentences import adds, conclusion, not_told_apart, unrecovered, verdict
from robodx.analysis.causes import AGAIN, SUBSTITUTES, Cause, Causes, causes_of, kinds_of, sample
from robodx.analysis.findings.diagnose import because_of
from robodx.errors import UserError
from robodx.records.about import read_about
from robodx.records.episode import Episode, InstructionUpdate
from robodx.records.table import to_table
from robodx.records.trial import Trial
from robodx.records.values import Applied
from robodx.registry import UnknownName
from robodx.running.description import perturbation_cards
from robodx.running.request import Request
from robodx.running.run import run
from robodx.running.why import _request as asked_for
from robodx.running.why import why
from robodx.terminal.why import lines

KINDS = kinds_of({"perturbations": perturbation_cards()})
DOCS = Path(__file__).parents[2] / "docs"
GOLDEN = Path(__file__).parents[1] / "golden"


def episode(
    seed: int,
    *applied: Applied,
    success: bool = False,
    repeat: int = 0,
    task: str = "control/stack_cube",
    clock: str = "lockstep",
    reached: int = 1,
    kind: str | None = "motor",
    queries: int = 40,
) -> Episode:
    trial = Trial(task, 1, "mine", seed, repeat=repeat, perturbations=applied, clock=clock)
    return Episode(
        trial.id, trial.pair_id, "tasks", task, 1, task.split("/")[0], "easy", (), "panda", "mine", seed, repeat,
        trial.perturbations, clock, 1, 0.1, "success" if success else "timeout", success, stages=2,
        stages_reached=reached, failure_kind=None if success else kind, instructions=(InstructionUpdate(0, "Do it."),),
        trajectory_hash=trial.id, queries=queries,
    )  # fmt: skip


def again(seed: int, *applied: Applied, success: bool = False, clock: str = "lockstep", queries: int = 40) -> Episode:
    return episode(seed, *applied, success=success, repeat=1, clock=clock, queries=queries)


def by_name(found: Causes) -> dict[str, Cause]:
    return {cause.substitution: cause for cause in (found.again, *found.substitutions)}


def causes(failed: list[Episode], substituted: list[Episode]) -> Causes:
    return causes_of(to_table(failed), to_table(substituted), KINDS)


PLAIN, LONE, ENDS = ("plain_words", 1.0), ("lone_target", 1.0), ("expert_ends", 1.0)


def test_what_is_recovered_is_counted_where_it_applies_and_no_data_is_not_zero() -> None:
    failed = [episode(seed) for seed in range(10)]
    substituted = [again(seed) for seed in range(10)]
    substituted += [again(seed, PLAIN, success=True) for seed in range(8)]
    found = causes(failed, substituted)
    each = by_name(found)
    assert list(each) == [AGAIN, *(one.name for one in SUBSTITUTES)]
    plain = each["plain_words"]
    assert (plain.recovered.value, plain.count, plain.n) == (1.0, 8, 8) and plain.excess.value == 1.0
    assert plain.p == pytest.approx(2 / 2**8) and plain.p_holm == plain.p and plain.is_shown
    assert each["lone_target"].recovered.value is None and each["lone_target"].n == 0
    assert each["lone_target"].p is None and verdict(each["lone_target"], found) == "not run"
    assert plain.trials == {one.trial_id for one in failed[:8]}
    assert {one.trial_id for one in found.unrecovered} == {one.trial_id for one in failed[8:]}
    assert found.leading == [plain]


def recovering(n: int, *, lucky: int = 0, **trials: range) -> Causes:
    """So many failed trials, of which the last few succeed again, and these with plain words, a lone target, grasps."""
    substituted = [again(seed, success=seed >= n - lucky) for seed in range(n)]
    for name, seeds in trials.items():
        substituted += [again(seed, (NAMES[name], 1.0), success=seed in seeds) for seed in range(n)]
    return causes([episode(seed) for seed in range(n)], substituted)


NAMES = {"plain": "plain_words", "lone": "lone_target", "grasp": "expert_grasps"}


@pytest.mark.parametrize(
    ("plain", "lone", "grasp", "adding", "leading"),
    [
        # One recovers what the other does, and no more: nothing tells them apart.
        (range(12), range(12), range(0), ["0 to 12", "0 to 12", "0"], ["plain_words", "lone_target"]),
        # In any order the one adds ten, and the other next to nothing.
        (range(12), range(2), range(0), ["10 to 12", "0 to 2", "0"], ["plain_words"]),
        (range(2), range(12), range(0), ["0 to 2", "10 to 12", "0"], ["lone_target"]),
        # Ahead by three, which may be an accident.
        (range(9), range(12), range(0), ["0 to 9", "3 to 12", "0"], ["plain_words", "lone_target"]),
        # Two causes of their own, and one more that recovers them all: it is not ahead, for the two leave it nothing.
        (range(10), range(20), range(10, 20), ["0 to 10", "0 to 20", "0 to 10"], list(NAMES.values())),
        # Two that cannot be told apart, and one that recovers a part of what they do.
        (range(24), range(24), range(8), ["0 to 24", "0 to 24", "0 to 8"], ["plain_words", "lone_target"]),
        # Of two that overlap each has little of its own; a third with more is not ahead of what recovers far more.
        (range(19), range(1, 20), range(20, 30), ["1 to 19", "1 to 19", "10"], list(NAMES.values())),
    ],
)
def test_who_leads_does_not_depend_on_an_order(
    plain: range, lone: range, grasp: range, adding: list[str], leading: list[str]
) -> None:
    n = max(plain.stop, lone.stop, grasp.stop)
    found = recovering(n, plain=plain, lone=lone, grasp=grasp)
    assert [adds(by_name(found)[name]) for name in NAMES.values()] == adding
    assert [one.substitution for one in found.leading] == leading and found.is_shown


def test_what_each_adds_at_least_and_at_most_is_so_over_all_orders() -> None:
    trials = {"plain": range(0, 14), "lone": range(6, 18), "grasp": range(12, 20)}
    found = recovering(22, lucky=2, **trials)
    added: dict[str, list[int]] = {name: [] for name in trials}
    for order in itertools.permutations(trials):
        before: set[int] = set()
        for name in order:
            added[name].append(len(set(trials[name]) - before))
            before |= set(trials[name])
    for name, counts in added.items():
        cause = by_name(found)[NAMES[name]]
        assert (cause.least, cause.most) == (min(counts), max(counts))


def test_luck_is_taken_out() -> None:
    # It does nothing: with the same randomness the same succeed.
    found = recovering(20, lucky=10, plain=range(10, 20))
    plain = by_name(found)["plain_words"]
    assert plain.recovered.value == 0.5 and plain.excess.value == 0.0
    assert (plain.least, plain.most, found.lasting) == (0, 0, 10)
    assert found.again.recovered.value == 0.5 and found.again.p is None
    assert found.leading == [] and len(found.unrecovered) == 10
    assert "When simply repeated, 10 of 20 failed trials succeed." in conclusion(found)


@pytest.mark.parametrize(
    ("lone", "says"),
    [
        (range(10), ["plain_words and lone_target recover the same 10 trials: language and perception cannot be told"]),
        (range(9), ["plain_words and lone_target recover nearly the same trials (9 of 10 in common): language and"]),
        (range(8), []),
    ],
)
def test_what_recovers_the_same_trials_is_said_not_to_be_told_apart(lone: range, says: list[str]) -> None:
    said = not_told_apart(recovering(12, plain=range(10), lone=lone))
    assert len(said) == len(says) and all(one.startswith(begin) for one, begin in zip(said, says, strict=True))


def test_what_nothing_recovers_is_listed_by_task() -> None:
    assert unrecovered(recovering(6, plain=range(6))) == []
    (said,) = unrecovered(recovering(6, plain=range(4)))
    assert said == "No substitution recovers 2 of 6 failed trials: control/stack_cube (seeds 4, 5)."


def test_two_stressed_trials_may_share_their_clean_one() -> None:
    failed = [episode(0, ("noise", 25.0)), episode(0, ("noise", 75.0)), episode(1, ("packet_loss", 0.3))]
    substituted = [again(0, ("noise", 25.0)), again(0, ("noise", 75.0)), again(1, ("packet_loss", 0.3))]
    substituted += [again(0, success=True), again(1, success=True)]
    found = by_name(causes(failed, substituted))
    assert (found["clean_sensors"].n, found["clean_sensors"].recovered.value) == (2, 1.0)
    assert (found["clean_commands"].n, found["clean_commands"].recovered.value) == (1, 1.0)


def test_the_world_that_waits_is_a_substitution() -> None:
    failed = [episode(seed, clock="realtime:0.5") for seed in range(3)]
    substituted = [again(seed, clock="realtime:0.5") for seed in range(3)] + [again(0, success=True)]
    assert by_name(causes(failed, substituted))["zero_latency"].n == 1


def test_a_policy_that_was_not_asked_is_not_spoken_of() -> None:
    failed = [episode(seed) for seed in range(4)]
    substituted = [again(seed) for seed in range(4)]
    substituted += [again(seed, ENDS, success=True, queries=0 if seed else 9) for seed in range(4)]
    assert by_name(causes(failed, substituted))["expert_ends"].n == 1


def test_a_sample_is_spread_over_families_tasks_and_seeds_and_is_the_same_again() -> None:
    tasks = ["a/one", "a/three", "a/two", "b/four", "c/five"]
    rows = [episode(seed, *stress, task=task) for task in tasks for seed in range(6) for stress in STRESSED]
    rows += [episode(40, success=True), episode(0, repeat=1, task="a/one"), episode(41, PLAIN)]
    table = to_table(rows)
    whole = sample(table, 1000, KINDS)
    assert len(whole) == 5 * 6 * 2 and not whole["success"].any() and whole["pair_id"].n_unique() == 30
    assert sorted(whole["family"][:3]) == ["a", "b", "c"], "few are not all of one family"
    turns = [whole[start : start + 5] for start in range(0, 60, 5)]
    assert all(sorted(turn["task"]) == tasks for turn in turns), "tasks by turns"
    seeds = [turn.filter(pl.col("task") == "a/two")["seed"][0] for turn in turns]
    assert seeds == [*range(6), *range(6)], "and of each task its seeds by turns"
    shuffled = table.sample(fraction=1.0, shuffle=True, seed=1)
    assert all(sample(shuffled, most, KINDS).equals(whole.head(most)) for most in (1, 6, 31, 60))


STRESSED: list[tuple[Applied, ...]] = [(), (("noise", 25.0),)]


def test_records_without_a_hash_are_not_taken_for_alike() -> None:
    table = to_table([episode(seed) for seed in range(5)])
    alike = table.with_columns(trajectory_hash=pl.lit("same"))
    unknown = table.with_columns(trajectory_hash=pl.lit(None, pl.String))
    assert (len(sample(alike, 9, KINDS)), len(sample(unknown, 9, KINDS))) == (1, 5)


@pytest.mark.parametrize("version", [1, 2, 3])
def test_what_an_old_run_does_not_say_it_was_asked_for_is_as_usual(version: int) -> None:
    asked = read_about(GOLDEN / f"run-v{version}")["request"]
    request = asked_for(GOLDEN, asked, None, None, ())
    assert request.label == asked["policy"] and (request.clock, request.quality) == ("lockstep", "fast")
    with pytest.raises(UserError, match=r"give --plugin mine\.py"):
        asked_for(GOLDEN, {**asked, "plugins": {"mine.py": "0123"}}, None, None, ())


def test_the_conclusion_is_a_sentence() -> None:
    cured = recovering(10, plain=range(10))
    recovers = "plain_words (the instruction in plain words) recovers 10 of 10 failed trials it applies to"
    assert conclusion(cured) == f"{recovers} and adds 10 of 10: the component that fails there is language."
    assert verdict(by_name(cured)["plain_words"], cured) == "ahead of all others"
    text = "\n".join(lines(cured, 10))
    assert "10 of 10 (100% [72, 100])  10    +100" in text and "the rows do not add up" in text.replace("\n", " ")
    assert text.startswith("10 failed trials, ") and "or not asked for: clean_sensors" in text
    tied = conclusion(recovering(10, plain=range(10), lone=range(10)))
    assert tied.endswith("; none is ahead of the others: it may be language or perception, or both.")
    beside = conclusion(recovering(24, plain=range(18), lone=range(19, 24)))
    assert beside.endswith("is language. lone_target recovers 5 more that no other does.")
    assert conclusion(recovering(10, plain=range(0))).startswith("No single substitution")
    assert "the failures are due to chance" in conclusion(recovering(10, lucky=10))
    assert conclusion(recovering(0)) == "No failed trial could be run again."


def test_much_of_a_few_is_told_as_such_with_how_many_would_do() -> None:
    found = recovering(5, plain=range(5), lone=range(5), grasp=range(0))
    recovers = "plain_words (the instruction in plain words) recovers 5 of 5 failed trials"
    assert conclusion(found).startswith(recovers) and "; lone_target (" in conclusion(found)
    assert conclusion(found).endswith(", but 5 trials are too few to be sure.")
    assert "Use --episodes 20." in lines(found, 40) and "Use --episodes 12." in lines(found, 12)
    assert "The run has only 5 failed trials: run more seeds." in lines(found, 5)
    words = {cause.substitution: verdict(cause, found) for cause in found.substitutions}
    assert words["plain_words"] == words["lone_target"] == "too few trials to be sure"
    assert words["expert_grasps"] == "recovers nothing" and by_name(found)["expert_grasps"].enough is None
    assert "1 trial is too few" in conclusion(recovering(1, plain=range(1)))


def test_what_only_the_correction_leaves_open_is_said_to_be_so() -> None:
    found = recovering(6, plain=range(6), lone=range(0), grasp=range(0))
    plain = by_name(found)["plain_words"]
    assert plain.excess.low is not None and plain.excess.low > 0 and plain.p_holm is not None and plain.p_holm > 0.05
    assert verdict(plain, found) == "not conclusive after correction"
    assert ", but that is not conclusive after correction over the substitutions" in conclusion(found)


@pytest.mark.parametrize(("n", "plain", "lucky"), [(6, 6, 0), (7, 5, 1), (12, 7, 1)])
def test_so_many_as_are_called_enough_are_enough(n: int, plain: int, lucky: int) -> None:
    found = by_name(recovering(n, plain=range(plain), lone=range(0), lucky=lucky))["plain_words"]
    assert found.is_unsure and found.enough is not None and n < found.enough <= 40
    more = -(-found.enough // n)
    assert by_name(recovering(more * n, plain=range(more * plain), lucky=more * lucky))["plain_words"].is_shown


def test_little_of_many_is_not_called_much() -> None:
    found = recovering(30, plain=range(4))
    assert by_name(found)["plain_words"].enough is None
    assert conclusion(found).startswith("No single substitution")
    # Of one trial among many that it applies to, all; of what fails, next to nothing.
    rare = causes([episode(s) for s in range(30)], [again(s) for s in range(30)] + [again(0, PLAIN, success=True)])
    assert conclusion(rare).startswith("No single substitution")


def test_a_run_is_asked_why_and_asked_again_without_running(tmp_path: Path) -> None:
    run(Request(("language/negation",), "fault:ignores_negation", 6), tmp_path)
    calls = []

    def progress(episode: Episode | None, **_: int) -> None:
        calls.append(episode)

    first = why(tmp_path, only=["plain_words"], observers=[progress])
    found = by_name(first)
    assert found["plain_words"].recovered.value == 1.0 and found["plain_words"].n == 6
    assert found["lone_target"].n == 0
    assert sum(each is not None for each in calls) == 12
    calls.clear()
    assert why(tmp_path, only=["plain_words"], observers=[progress]) == first
    trials = sorted(by_name(first)["plain_words"].trials)
    because = because_of([tmp_path])
    assert because(trials[:2]) is None, "two are too few"
    assert (because(trials) or "").endswith("adds 6 of 6: the component that fails there is language")
    assert calls == [None]
    with pytest.raises(UnknownName, match='No substitution "plain_wods"'):
        why(tmp_path, only=["plain_wods"])
    fewer = by_name(why(tmp_path, episodes=2, only=["plain_words"], observers=[progress]))
    assert fewer["plain_words"].n == 2 and calls == [None, None], "answered from what is there"
    calls.clear()
    wider = by_name(why(tmp_path, episodes=2, only=["lone_target"], observers=[progress]))
    assert wider["lone_target"].n == wider["plain_words"].n == 2
    assert [each.perturbations for each in calls if each] == [(LONE,)] * 2, "what is there is not run again"
    about = json.loads((tmp_path / "run.json").read_text())
    about["request"]["policy"] = "my best one"
    (tmp_path / "run.json").write_text(json.dumps(about))
    with pytest.raises(UserError, match="give --policy"):
        why(tmp_path)


def test_more_trials_are_added_to_those_that_are_there(tmp_path: Path) -> None:
    run(Request(("language/negation", "language/exclusion"), "fault:ignores_negation", 1), tmp_path)
    calls: list[Episode | None] = []

    def progress(episode: Episode | None, **_: int) -> None:
        calls.append(episode)

    first = why(tmp_path, episodes=1, only=["plain_words"])
    assert by_name(first)[AGAIN].n == 1 and len(read_about(tmp_path / "why")["tasks"]) == 1
    both = why(tmp_path, episodes=2, only=["plain_words"], observers=[progress])
    assert by_name(both)[AGAIN].n == 2 and sum(each is not None for each in calls) == 2
    about = read_about(tmp_path / "why")
    assert set(about["tasks"]) == set(about["request"]["tasks"]) == {"language/negation", "language/exclusion"}
    whole = why(tmp_path, out=tmp_path / "at once", episodes=2, only=["plain_words"])
    assert whole == both, "in two goes or in one"
    with pytest.raises(UserError, match=r"selectors: .* there"):
        why(tmp_path, out=tmp_path)


def test_a_run_without_failures_is_not_asked(tmp_path: Path) -> None:
    run(Request(("primitive/pick_cube",), "expert", 1), tmp_path)
    with pytest.raises(UserError, match="no failed episode"):
        why(tmp_path)


def test_the_docs_name_every_substitution_and_show_that_the_expected_one_cures() -> None:
    page = (DOCS / "why.md").read_text()
    for one in SUBSTITUTES:
        assert f"| `{one.name}` | {one.component} |" in page
    table = page.partition("<!-- table of causes -->")[2].partition("<!-- end of table of causes -->")[0]
    rows = [line for line in table.splitlines() if line.startswith("| `")]
    assert len(rows) >= 10, "run scripts/why_table.py"
    for row in rows:
        (recovered,) = re.findall(r"\*\*(\d+)% \([^)]*\)\*\*", row)
        assert int(recovered) >= 80, row
