"""Why it fails: which failed trials are run again, what is recovered, and how that is told."""

from __future__ import annotations

import json
import re
from pathlib import Path

import polars as pl
import pytest

from robodx.analysis.causes import AGAIN, SUBSTITUTES, Cause, causal_shares, kinds_of, leading, read_causes, sample
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
from robodx.terminal.why import conclusion, lines, verdict

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


def by_name(causes: list[Cause]) -> dict[str, Cause]:
    return {cause.substitution: cause for cause in causes}


def shares(failed: list[Episode], substituted: list[Episode]) -> dict[str, Cause]:
    return by_name(causal_shares(to_table(failed), to_table(substituted), KINDS))


PLAIN, LONE, ENDS = ("plain_words", 1.0), ("lone_target", 1.0), ("expert_ends", 1.0)


def test_what_is_recovered_is_counted_where_it_applies_and_no_data_is_not_zero() -> None:
    failed = [episode(seed) for seed in range(10)]
    substituted = [again(seed) for seed in range(10)]
    substituted += [again(seed, PLAIN, success=True) for seed in range(8)]
    found = shares(failed, substituted)
    assert list(found) == [AGAIN, *(one.name for one in SUBSTITUTES)]
    plain = found["plain_words"]
    assert (plain.recovered.value, plain.n) == (1.0, 8) and plain.excess.value == 1.0
    assert (plain.share.value, plain.share.n) == (0.8, 10)
    assert plain.p == pytest.approx(2 / 2**8) and plain.p_holm == plain.p and plain.is_shown
    assert found["lone_target"].recovered.value is None and found["lone_target"].n == 0
    assert found["lone_target"].share.value is None and found["lone_target"].p is None
    assert {each.failed for each in plain.examples} <= {one.trial_id for one in failed}
    assert leading(found.values()) == plain


def test_a_cure_that_less_would_have_brought_too_has_no_share() -> None:
    failed = [episode(seed) for seed in range(10)]
    substituted = [again(seed) for seed in range(10)]
    substituted += [again(seed, PLAIN, success=seed < 7) for seed in range(10)]
    substituted += [again(seed, LONE, success=True) for seed in range(10)]
    found = shares(failed, substituted)
    assert found["lone_target"].recovered.value == 1.0
    assert (found["plain_words"].share.value, found["lone_target"].share.value) == (0.7, 0.3)
    assert leading(found.values()) == found["plain_words"]


def test_luck_is_taken_out() -> None:
    failed = [episode(seed) for seed in range(20)]
    lucky = [again(seed, success=seed % 2 == 0) for seed in range(20)]
    # It does nothing: with the same randomness the same succeed.
    idle = [again(seed, PLAIN, success=seed % 2 == 0) for seed in range(20)]
    found = shares(failed, lucky + idle)
    assert found["plain_words"].recovered.value == 0.5 and found["plain_words"].excess.value == 0.0
    assert found["plain_words"].share.value == 0.0 and found["plain_words"].share.n == 10
    assert found[AGAIN].recovered.value == 0.5 and found[AGAIN].p is None
    assert leading(found.values()) is None
    assert "When simply repeated, 50% of the failed trials succeed." in conclusion(list(found.values()), 20)


def test_two_stressed_trials_may_share_their_clean_one() -> None:
    failed = [episode(0, ("noise", 25.0)), episode(0, ("noise", 75.0)), episode(1, ("packet_loss", 0.3))]
    substituted = [again(0, ("noise", 25.0)), again(0, ("noise", 75.0)), again(1, ("packet_loss", 0.3))]
    substituted += [again(0, success=True), again(1, success=True)]
    found = shares(failed, substituted)
    assert (found["clean_sensors"].n, found["clean_sensors"].recovered.value) == (2, 1.0)
    assert (found["clean_commands"].n, found["clean_commands"].recovered.value) == (1, 1.0)


def test_the_world_that_waits_is_a_substitution() -> None:
    failed = [episode(seed, clock="realtime:0.5") for seed in range(3)]
    substituted = [again(seed, clock="realtime:0.5") for seed in range(3)] + [again(0, success=True)]
    assert shares(failed, substituted)["zero_latency"].n == 1


def test_a_policy_that_was_not_asked_is_not_spoken_of() -> None:
    failed = [episode(seed) for seed in range(4)]
    substituted = [again(seed) for seed in range(4)]
    substituted += [again(seed, ENDS, success=True, queries=0 if seed else 9) for seed in range(4)]
    assert shares(failed, substituted)["expert_ends"].n == 1


def test_groups_have_causes_of_their_own() -> None:
    failed = [episode(seed, kind="reference" if seed < 4 else "motor") for seed in range(8)]
    substituted = [again(seed) for seed in range(8)]
    substituted += [again(seed, PLAIN, success=seed < 4) for seed in range(8)]
    found = causal_shares(to_table(failed), to_table(substituted), KINDS, by="failure_kind")
    plain = {cause.group: cause.recovered.value for cause in found if cause.substitution == "plain_words"}
    assert plain == {"motor": 0.0, "reference": 1.0}


def test_a_sample_is_spread_over_tasks_and_kinds_and_is_the_same_again() -> None:
    rows = [episode(seed) for seed in range(30)]
    rows += [episode(seed, kind="reference") for seed in range(30, 33)]
    rows += [episode(seed, task="primitive/pick_cube") for seed in range(4)]
    rows += [episode(40, success=True), episode(0, repeat=1), episode(41, PLAIN)]
    table = to_table(rows)
    chosen = sample(table, 12, KINDS)
    assert sorted(chosen.group_by("task", "failure_kind").len()["len"]) == [3, 4, 5]
    assert not chosen["success"].any() and chosen["pair_id"].is_unique().all()
    assert sample(table.sample(fraction=1.0, shuffle=True, seed=1), 12, KINDS).equals(chosen)
    assert len(sample(table, 1000, KINDS)) == 37


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
    failed = [episode(seed) for seed in range(10)]
    control = [again(seed) for seed in range(10)]
    cured = list(shares(failed, control + [again(s, PLAIN, success=True) for s in range(10)]).values())
    assert conclusion(cured, 10).startswith(
        "plain_words (the instruction in plain words) is the smallest change that recovers 10 of 10 trials"
    )
    assert conclusion(cured, 10).endswith("it is mostly a language problem.")
    assert [verdict(cause) for cause in cured if cause.substitution == "plain_words"] == ["main cause"]
    text = "\n".join(lines(cured, 10))
    assert "Shares depend on this order" in text
    assert text.startswith("10 failed trials, ") and "Not applicable to any of these trials: clean_sensors" in text
    nothing = list(shares(failed, control + [again(s, PLAIN) for s in range(10)]).values())
    assert conclusion(nothing, 10).startswith("No single substitution")
    luck = list(shares(failed, [again(seed, success=True) for seed in range(10)]).values())
    assert "the failures are due to chance" in conclusion(luck, 10)


def recovering(n: int, plain: int, *, lone: int = 0, lucky: int = 0) -> list[Cause]:
    """So many failed trials, of which so many succeed with plain words, a lone target, or again."""
    substituted = [again(seed, success=seed >= n - lucky) for seed in range(n)]
    substituted += [again(seed, PLAIN, success=seed < plain) for seed in range(n)]
    substituted += [again(seed, LONE, success=seed < lone) for seed in range(n)]
    return list(shares([episode(seed) for seed in range(n)], substituted).values())


def test_much_of_a_few_is_told_as_such_with_how_many_would_do() -> None:
    found = recovering(5, 5, lone=5)
    recovers = "plain_words (the instruction in plain words) recovers 5 of 5 failed trials"
    reported = f"{recovers}, but 5 trials are too few to be sure"
    assert conclusion(found, 40) == f"{reported}: use --episodes 20."
    assert conclusion(found, 12) == f"{reported}: use --episodes 12."
    assert conclusion(found, 5) == f"{reported}, and the run has only 5 failed trials: run more seeds."
    words = {cause.substitution: verdict(cause) for cause in found}
    assert words["plain_words"] == "much, but too few trials to be sure"
    assert words["lone_target"] == "perhaps, but so does a smaller change"
    assert words["expert_grasps"] == "recovers nothing" and by_name(found)["expert_grasps"].enough is None
    assert "1 trial is too few" in conclusion(recovering(1, 1), 40)


@pytest.mark.parametrize(("n", "plain", "lucky"), [(6, 6, 0), (7, 5, 1), (12, 7, 1)])
def test_so_many_as_are_called_enough_are_enough(n: int, plain: int, lucky: int) -> None:
    found = by_name(recovering(n, plain, lucky=lucky))["plain_words"]
    assert found.is_unsure and found.enough is not None and n < found.enough <= 40
    more = -(-found.enough // n)
    assert by_name(recovering(more * n, more * plain, lucky=more * lucky))["plain_words"].is_shown


def test_little_of_many_is_not_called_much() -> None:
    found = recovering(30, 4)
    assert by_name(found)["plain_words"].enough is None
    assert conclusion(found, 100).startswith("No single substitution")
    # Of one trial among many that it applies to, all; of what fails, next to nothing.
    rare = shares([episode(s) for s in range(30)], [again(s) for s in range(30)] + [again(0, PLAIN, success=True)])
    assert conclusion(list(rare.values()), 100).startswith("No single substitution")


def test_a_smaller_sample_is_the_beginning_of_a_larger_one() -> None:
    rows = [episode(seed, kind="motor" if seed % 3 else "reference") for seed in range(30)]
    whole = sample(to_table(rows), 30, KINDS)
    assert all(sample(to_table(rows), most, KINDS).equals(whole.head(most)) for most in range(1, 30))


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
    assert why(tmp_path, only=["plain_words"], observers=[progress]) == first == read_causes(tmp_path)
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
    assert read_causes(tmp_path) is None
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
        ((share, recovered),) = re.findall(r"\*\*(\d+)% \((\d+)%\)\*\*", row)
        others = [int(other) for other in re.findall(r"\| (\d+)% \(", row)]
        assert int(recovered) >= 80 and int(share) >= 80 and all(other <= 20 for other in others), row
