"""Comparisons of two runs on tables made by hand, the verdicts they end in, and how often those are wrong."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

from robodx.analysis.compare import Comparison, Unlike, compare, compare_tables
from robodx.analysis.statistics.estimates import NOTHING, Estimate, newcombe
from robodx.analysis.statistics.paired import mcnemar_p, tango
from robodx.analysis.statistics.sequential import (
    confidence_sequence,
    difference_sequence,
    p_of_no_difference,
    unpaired_sequence,
)
from robodx.analysis.verdicts import Verdict, verdict
from robodx.cli.commands import app
from robodx.errors import UserError
from robodx.records.about import SCHEMA_VERSION, UnreadableRun
from robodx.records.schema import SCHEMA
from robodx.records.table import is_finished
from robodx.terminal.comparison import as_dict, lines, print_comparison, sentence


def episodes(policy: str, task: str, outcomes: str, *, first_seed: int = 0, **columns: Any) -> pl.DataFrame:
    """A letter an episode: s(uccess), f(ailure), e(rror)."""
    words = {"s": "success", "f": "failure", "e": "error"}
    family, _, _ = task.partition("/")
    base = {
        "suite": "tasks", "task": task, "task_version": 1, "family": family, "tier": "easy", "robot": "panda",
        "policy": policy, "repeat": 0, "perturbations": [], "clock": "lockstep", "attempt": 1, "instructions": [],
        "tags": [], "stage_steps": [], "events": [], "steps": 10,
    }  # fmt: skip
    rows = [
        {
            **dict.fromkeys(SCHEMA), **base, "seed": seed, "outcome": words[letter], "success": letter == "s",
            "trial_id": f"{policy} {task} {seed} {columns}", "pair_id": f"{task} {seed}",
            "trajectory_hash": None if letter == "e" else f"{policy} {task} {seed}", **columns,
        }
        for seed, letter in enumerate(outcomes, start=first_seed)
    ]  # fmt: skip
    return pl.DataFrame(rows, schema=SCHEMA)


def words(comparison: Comparison, kind: str) -> dict[str, str | None]:
    return {row.name: None if row.verdict is None else row.verdict.word for row in comparison.rows if row.kind == kind}


def test_shared_trials_are_compared_in_pairs() -> None:
    a = episodes("old", "t/one", "s" * 20 + "f" * 20)
    b = episodes("new", "t/one", "s" * 36 + "f" * 4 + "s" * 3)
    found = compare_tables(a, b)
    row = found.overall
    assert found.is_paired and (found.only_a, found.only_b) == (0, 3)
    assert row.difference == tango(0, 16, 40) and row.p == mcnemar_p(0, 16) and row.n == 40
    assert (row.rate_a.value, row.rate_b.value) == (0.5, 0.9)
    assert row.verdict == Verdict("improved", 0.1)
    assert compare_tables(b, a).overall.verdict == Verdict("regressed", 0.1)


def test_other_situations_of_the_same_task_are_compared_unpaired() -> None:
    a = episodes("old", "t/one", "s" * 20 + "f" * 20)
    b = episodes("new", "t/one", "s" * 36 + "f" * 4, first_seed=100)
    found = compare_tables(a, b)
    assert not found.is_paired
    expected = newcombe(20, 40, 36, 40)
    difference = found.overall.difference
    assert (difference.value, difference.n) == (expected.value, 80)
    assert [difference.low, difference.high] == pytest.approx([expected.low, expected.high])
    assert found.overall.p is not None and found.overall.p < 0.001
    assert words(found, "all") == {"all": "improved"}


def test_runs_that_share_few_trials_are_not_cut_down_to_these() -> None:
    a = episodes("old", "t/one", "s" * 20 + "f" * 20)
    few = compare_tables(a, episodes("new", "t/one", "s" * 40, first_seed=30))
    assert not few.is_paired and (few.shared, few.overall.n, few.only_a, few.only_b) == (10, 80, 0, 0)
    assert "80 situations, 10 trials of them shared" in sentence(few)
    half = compare_tables(a, episodes("new", "t/one", "s" * 40, first_seed=20))
    assert half.is_paired and (half.shared, half.overall.n, half.only_a, half.only_b) == (20, 20, 20, 20)
    # Tasks that only one of them has do not count.
    others = pl.concat([episodes("new", "t/one", "s" * 40), episodes("new", "u/two", "s" * 200)])
    assert compare_tables(pl.concat([a, episodes("old", "v/three", "s" * 90)]), others).is_paired


def test_pairs_with_an_error_on_either_side_are_dropped_and_counted() -> None:
    a = episodes("old", "t/one", "s" * 60 + "e" + "s")
    b = episodes("new", "t/one", "s" * 60 + "s" + "e")
    row = compare_tables(a, b).overall
    assert (row.n, row.errors) == (60, 2) and row.verdict is not None


def test_with_too_many_errors_there_is_no_verdict() -> None:
    a = episodes("old", "t/one", "s" * 20)
    row = compare_tables(a, episodes("new", "t/one", "f" * 18 + "ee")).overall
    assert row.verdict is None and row.difference.value is None and (row.n, row.errors) == (18, 2)
    apart = compare_tables(a, episodes("new", "t/one", "e" * 20, first_seed=50)).overall
    assert apart.verdict is None and apart.difference.value is None


def test_pairs_alike_bit_for_bit_are_one() -> None:
    a = episodes("old", "t/one", "s" * 50, trajectory_hash="the same")
    b = episodes("new", "t/one", "f" * 50, trajectory_hash="another")
    found = compare_tables(a, b)
    assert (found.overall.n, found.alike) == (1, 49) and words(found, "all") == {"all": "undecided"}
    reported = episodes(
        "new", "t/one", "f" * 25, trajectory_hash="another", instructions=[{"step": 0, "text": "Pick!"}]
    )
    assert compare_tables(a, pl.concat([b.tail(25), reported])).overall.n == 2


def test_repeats_of_a_situation_are_one_observation() -> None:
    a = pl.concat([episodes("old", "t/one", "f" * 30, repeat=repeat) for repeat in range(2)])
    b = pl.concat([episodes("new", "t/one", "s" * 30), episodes("new", "t/one", "sf" * 15, repeat=1)])
    again = pl.col("repeat").cast(pl.String)
    found = [
        compare_tables(*(table.with_columns(pl.col("trajectory_hash") + again) for table in (a, b)), stopped=stopped)
        for stopped in ("planned", "together")
    ]
    assert [one.overall.n for one in found] == [30, 30]
    assert [one.overall.difference.value for one in found] == [0.75, 0.75]
    assert [words(one, "all")["all"] for one in found] == ["improved", "improved"]


def test_tasks_whose_scoring_was_changed_are_not_compared() -> None:
    a = pl.concat([episodes("old", "t/one", "s" * 10), episodes("old", "t/two", "s" * 10)])
    b = pl.concat([episodes("new", "t/one", "s" * 10), episodes("new", "t/two", "s" * 10, task_version=2)])
    found = compare_tables(a, b)
    assert list(words(found, "task")) == ["t/one"] and found.other_versions == ("t/two: version 1 / 2",)
    with pytest.raises(Unlike, match="t/two: version 1 / 2"):
        compare_tables(episodes("old", "t/two", "s"), episodes("new", "t/two", "s", task_version=2))


def test_every_task_counts_the_same_in_the_mean() -> None:
    a = pl.concat([episodes("old", "t/one", "f" * 100), episodes("old", "u/two", "s" * 20)])
    b = pl.concat([episodes("new", "t/one", "s" * 100), episodes("new", "u/two", "s" * 20)])
    found = compare_tables(a, b)
    assert found.overall.difference.value == pytest.approx(0.5)
    assert words(found, "family") == {"t": "improved", "u": "undecided"}
    assert words(found, "tier") == {"t/easy": "improved", "u/easy": "undecided"}
    assert found.overall.p is not None and found.overall.p < 0.001


def test_many_pairs_of_one_task_do_not_outvote_another_task() -> None:
    a = pl.concat([episodes("old", "t/one", "f" * 100), episodes("old", "t/two", "s" * 10)])
    b = pl.concat([episodes("new", "t/one", "s" * 12 + "f" * 88), episodes("new", "t/two", "s" * 9 + "f")])
    overall = compare_tables(a, b).overall
    assert overall.difference.value == pytest.approx(0.01)
    assert overall.p is not None and overall.p > 0.5 and mcnemar_p(1, 12) < 0.01


def test_stressors_and_clocks_are_compared_with_their_like() -> None:
    noise = [{"name": "noise", "severity": 3.0}]
    variants = [
        pl.concat(
            [
                episodes(policy, "t/one", "s" * 12),
                episodes(policy, "t/one", outcomes, perturbations=noise),
                episodes(policy, "t/one", "s" * 12, clock="realtime:0.1"),
            ]
        )
        for policy, outcomes in (("old", "s" * 12), ("new", "f" * 12))
    ]
    found = compare_tables(*variants)
    assert words(found, "task") == {
        "t/one": "undecided", "t/one noise=3.0": "regressed", "t/one realtime:0.1": "undecided"
    }  # fmt: skip
    assert found.overall.difference.value == pytest.approx(-1 / 3)
    named = compare_tables(*variants, cards={"noise": {"levels": {"v1": 3.0}}})
    assert [row.variant for row in named.rows if row.kind == "task"] == ["clean", "noise=v1", "realtime:0.1"]
    shown = lines(named)
    assert shown.index("clean:") < shown.index("noise=v1:") < shown.index("realtime:0.1:")
    assert any("mix 3 variants (clean and stressed)" in line for line in shown)
    (one,) = (lines(compare_tables(*(variant.filter(pl.col("perturbations").list.len() > 0) for variant in variants))),)
    assert one[0] == "A: old, B: new, both under noise=3.0" and not any("mix" in line for line in one)


def test_p_values_are_adjusted_among_rows_of_a_kind() -> None:
    tasks = [f"t/{number}" for number in range(8)]
    a = pl.concat([episodes("old", task, "s" * 7 + "f" * 13) for task in tasks])
    b = pl.concat([episodes("new", task, ("s" * 14 if task == "t/0" else "s" * 7).ljust(20, "f")) for task in tasks])
    found = compare_tables(a, b)
    first = found.rows[0]
    assert first.p == mcnemar_p(0, 7) == pytest.approx(0.0156, abs=1e-4)
    assert first.adjusted_p == pytest.approx(8 * mcnemar_p(0, 7)) and words(found, "task")["t/0"] == "undecided"
    assert found.overall.adjusted_p == found.overall.p


def test_a_run_that_its_outcomes_ended_gets_always_valid_intervals() -> None:
    a = episodes("old", "t/one", "s" * 20 + "f" * 20)
    b = episodes("new", "t/one", "s" * 36 + "f" * 4)
    signs = [0] * 24 + [1] * 16
    for stopped in ("together", "apart"):
        row = compare_tables(a, b, stopped=stopped).overall
        assert row.difference == difference_sequence(signs) and row.p == pytest.approx(p_of_no_difference(signs), 0.01)
    apart = compare_tables(a, b.with_columns(seed=pl.col("seed") + 500), stopped="apart").overall
    rate_a, rate_b = (partial(confidence_sequence, successes, 40) for successes in (20, 36))
    assert apart.difference.value == pytest.approx(0.4)
    assert apart.difference.low == pytest.approx(unpaired_sequence(rate_a, rate_b).low)
    several = compare_tables(
        pl.concat([a, episodes("old", "t/two", "s" * 10)]),
        pl.concat([b, episodes("new", "t/two", "f" * 10)]),
        stopped="apart",
    )
    assert several.overall.difference.value == pytest.approx((0.4 - 1) / 2)


def write(folder: Path, table: pl.DataFrame, **request: Any) -> Path:
    (folder / "episodes").mkdir(parents=True)
    table.write_parquet(folder / "episodes" / "all.parquet")
    (folder / "run.json").write_text(json.dumps({"schema_version": SCHEMA_VERSION, "request": request}))
    return folder


def test_run_folders_say_how_they_were_stopped(tmp_path: Path) -> None:
    a = write(tmp_path / "a", episodes("old", "t/one", "s" * 20))
    for request, stopped in (({}, "planned"), ({"until_width": 0.1}, "apart"), ({"until_decided": True}, "together")):
        b = write(tmp_path / stopped, episodes("new", "t/one", "f" * 20), **request)
        assert compare(a, b).stopped == compare(b, a).stopped == stopped


def test_what_cannot_be_compared_is_refused(tmp_path: Path) -> None:
    a = write(tmp_path / "a", episodes("old", "t/one", "s"))
    with pytest.raises(UnreadableRun, match=r"no run\.json"):
        compare(a, tmp_path / "nothing")
    with pytest.raises(Unlike, match="has no episodes yet"):
        compare(a, write(tmp_path / "empty", pl.DataFrame(schema=SCHEMA)))
    noise = [{"name": "noise", "severity": 3.0}]
    with pytest.raises(Unlike, match=r"A is of clean, B of noise=3\.0"):
        compare(a, write(tmp_path / "noisy", episodes("new", "t/one", "s", perturbations=noise)))
    with pytest.raises(Unlike, match="A is of panda, B of another"):
        compare(a, write(tmp_path / "robot", episodes("new", "t/one", "s", robot="another")))
    with pytest.raises(Unlike, match="nothing in common"):
        compare(a, write(tmp_path / "other", episodes("new", "t/two", "s")))
    with pytest.raises(Unlike, match="one policy"):
        compare(a, write(tmp_path / "two", pl.concat([episodes(name, "t/one", "s") for name in ("p", "q")])))
    with pytest.raises(UserError, match=r"margin of 1\.5"):
        compare(a, a, margin=1.5)


def test_held_is_claimed_only_of_what_is_shown_to_be_within_the_margin() -> None:
    assert verdict(Estimate(0.01, -0.05, 0.07, 200), 0.7).word == "held"
    assert verdict(Estimate(0.01, -0.05, 0.07, 200), 0.7, margin=0.06).word == "undecided"
    assert verdict(Estimate(0.05, 0.02, 0.08, 900), 0.001).word == "improved", "small and real"
    assert verdict(Estimate(0.05, 0.02, 0.08, 900)).word == "improved"
    assert verdict(Estimate(-0.05, -0.08, -0.02, 900), 0.2).word == "held", "by the adjusted test it is not real"
    assert verdict(NOTHING) == Verdict("undecided", 0.1, None)
    with pytest.raises(ValueError, match="margin"):
        verdict(NOTHING, margin=0)


@pytest.mark.parametrize(
    "only_a, only_b, pairs", [(2, 8, 40), (8, 2, 40), (5, 5, 60), (0, 0, 20), (3, 9, 100), (4, 0, 30)]
)
def test_undecided_says_how_many_more_would_decide(only_a: int, only_b: int, pairs: int) -> None:
    given = verdict(tango(only_a, only_b, pairs), mcnemar_p(only_a, only_b))
    assert given.word == "undecided" and given.more is not None
    # Had the data gone on as they did.
    times = (pairs + given.more) / pairs
    counts = [round(times * count) for count in (only_a, only_b, pairs)]
    assert verdict(tango(*counts), mcnemar_p(*counts[:2])).word != "undecided"
    counts = [round(0.3 * times * count) for count in (only_a, only_b, pairs)]
    assert verdict(tango(*counts), mcnemar_p(*counts[:2])).word == "undecided"


def wrong_words(kind: str, truth: float, n: int, rng: np.random.Generator) -> dict[str, float]:
    """The shares of verdicts, where B is better by `truth`; one policy fails where the other does in most pairs."""
    only_b, only_a = truth + 0.06, 0.06
    # Always-valid intervals take their time, and are wrong so seldom that fewer will do.
    runs = 1500 if kind == "planned" else 200
    counts: dict[str, int] = {}
    cache: dict[tuple[int, ...], str] = {}
    for b, a in rng.multinomial(n, [only_b, only_a, 1 - only_a - only_b], size=runs)[:, :2].tolist():
        if (b, a) not in cache:
            signs = [1] * b + [-1] * a + [0] * (n - a - b)
            cache[b, a] = (
                verdict(tango(a, b, n), mcnemar_p(a, b)).word
                if kind == "planned"
                else verdict(difference_sequence(signs), p_of_no_difference(signs)).word
            )
        counts[cache[b, a]] = counts.get(cache[b, a], 0) + 1
    return {word: count / runs for word, count in counts.items()}


@pytest.mark.parametrize("kind", ["planned", "together"])
@pytest.mark.parametrize("n", [30, 120])
def test_verdicts_are_seldom_wrong(kind: str, n: int) -> None:
    rng = np.random.default_rng(n)
    equal = wrong_words(kind, 0.0, n, rng)
    # 5% and a point; the simulation's own error is half a point, and one where there are fewer.
    assert equal.get("improved", 0) + equal.get("regressed", 0) <= 0.06
    beyond = wrong_words(kind, 0.1, n, rng)
    assert beyond.get("held", 0) <= 0.06 and beyond.get("regressed", 0) <= 0.06


def test_verdicts_come_with_enough_pairs() -> None:
    rng = np.random.default_rng(0)
    assert wrong_words("planned", 0.0, 300, rng)["held"] > 0.8
    assert wrong_words("planned", 0.2, 100, rng)["improved"] > 0.8


def test_a_person_reads_a_table_and_a_sentence(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    a = write(tmp_path / "a", pl.concat([episodes("old", "t/one", "s" * 40), episodes("old", "u/two", "s" * 40)]))
    b = write(tmp_path / "b", pl.concat([episodes("new", "t/one", "f" * 40), episodes("new", "u/two", "s" * 42)]))
    assert not print_comparison(a, b, margin=0.1, as_json=False), "it regressed"
    shown = capsys.readouterr().out
    assert "new regressed from old: −50 [" in shown.splitlines()[-1] and "80 pairs" in shown.splitlines()[-1]
    assert "2 episodes of B" in shown and "exact McNemar" in shown and "lies within ± 10 points" in shown
    assert print_comparison(a, a, margin=0.2, as_json=True)
    reported = json.loads(capsys.readouterr().out)
    assert reported["rows"][-1]["verdict"] == {"word": "held", "margin": 0.2, "more": None}
    assert reported["says"].startswith("old held against old: the difference, 0 [")


def test_no_line_of_a_comparison_is_wider_than_a_terminal() -> None:
    task, stress = "robustness/place_sphere_with_distractors", [{"name": "calibration_offset", "severity": 0.25}]
    a, b = (
        pl.concat([episodes(who, task, outcomes), episodes(who, task, outcomes, perturbations=stress)])
        for who, outcomes in (("a policy of some name", "s" * 90 + "f" * 10), ("another policy", "s" * 84 + "f" * 16))
    )
    shown = lines(replace(compare_tables(a, b), run_a="x" * 90, run_b="y" * 90, other_versions=(task,) * 5))
    assert max(map(len, shown)) <= 120


def test_runs_of_the_same_policy_are_told_apart_by_their_folders(tmp_path: Path) -> None:
    a, b = (write(tmp_path / name, episodes("mine", "t/one", "s" * 20)) for name in ("before", "after"))
    assert f"mine ({b}) differs from mine ({a})" in sentence(compare(a, b))
    assert "mine differs from mine:" in sentence(compare(a, a))


def test_a_run_that_is_not_finished_is_told(tmp_path: Path) -> None:
    a, b = (write(tmp_path / name, episodes(name, "t/one", "s" * 20)) for name in ("old", "new"))
    assert as_dict(compare(a, b))["is_finished"] and is_finished(b)
    (b / "episodes" / "all.parquet").rename(b / "episodes" / "part-00000.parquet")
    found = compare(a, b)
    assert not is_finished(b) and found.unfinished == (str(b),) and not as_dict(found)["is_finished"]
    assert any(" not finished: only the episodes so far" in line for line in lines(found))


def test_the_sentence_says_what_is_missing() -> None:
    a = episodes("old", "t/one", "s" * 20)
    few = sentence(compare_tables(a, a))
    assert (
        few.startswith("It is undecided whether old differs from old: 0 [−16, +16] points from 20 pairs")
        and "more" in few
    )
    apart = sentence(compare_tables(a, episodes("new", "t/one", "f" * 20, first_seed=50)))
    assert "40 situations, none of them shared" in apart
    assert sentence(compare_tables(a, episodes("new", "t/one", "e" * 20))).startswith("No verdict on new: 20 trials")


def test_the_command_line_fails_on_a_regression_if_told_to(tmp_path: Path) -> None:
    a = write(tmp_path / "a", episodes("old", "t/one", "s" * 20))
    b = write(tmp_path / "b", episodes("new", "t/one", "f" * 20))
    call = CliRunner().invoke
    assert call(app, ["compare", str(a), str(b)]).exit_code == 0
    assert call(app, ["compare", str(a), str(b), "--fail-on-regression"]).exit_code == 1
    assert call(app, ["compare", str(b), str(a), "--fail-on-regression"]).exit_code == 0
    assert isinstance(call(app, ["compare", str(a), str(tmp_path)]).exception, UnreadableRun)
