"""A run's summary: readable variants, subtotals, failures and medians, and text that fits a terminal."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy.stats import binom  # type: ignore[import-untyped]
from typer.testing import CliRunner

from robodx.analysis.compare import compare
from robodx.analysis.statistics.estimates import NOTHING, above_chance, wilson
from robodx.analysis.statistics.macro import macro_rate
from robodx.analysis.statistics.medians import median
from robodx.analysis.summary import Summary, grouping
from robodx.cli.commands import app
from robodx.errors import UserError
from robodx.records.about import read_about
from robodx.records.schema import SCHEMA
from robodx.records.table import load
from robodx.registry import UnknownName
from robodx.running.request import Request
from robodx.running.run import run
from robodx.terminal.summary import lines, print_summary
from tests.commands import call

NOISE = {"noise": {"kind": "sensor", "levels": {"v1": 10, "v2": 25, "v3": 75}, "is_ordered": True}}
LONGEST = "robustness/place_sphere_with_distractors"


def table(*rows: dict[str, Any]) -> pl.DataFrame:
    base = {"task_version": 1, "policy": "p", "robot": "panda", "perturbations": [], "repeat": 0, "clock": "lockstep"}
    filled = [{**dict.fromkeys(SCHEMA), **base, "trajectory_hash": f"{i}", **row} for i, row in enumerate(rows)]
    return pl.DataFrame(filled, schema=SCHEMA)


def tries(task: str, successes: int, n: int, **more: Any) -> list[dict[str, Any]]:
    return [
        {
            "task": task, "family": task.split("/")[0], "seed": seed, "success": seed < successes,
            "outcome": "success" if seed < successes else "timeout", "progress": 0.5, "steps": 100, **more,
        }
        for seed in range(n)
    ]  # fmt: skip


def noisy(severity: float) -> dict[str, Any]:
    return {"perturbations": [{"name": "noise", "severity": severity}]}


def text(summary: Summary, **options: Any) -> list[str]:
    return list(lines(summary, **{"by": None, "motion": False, "metrics": (), **options}))


def test_variants_are_named_by_their_levels_the_clean_one_first() -> None:
    rows = [*tries("a/one", 1, 2, **noisy(75.0)), *tries("a/one", 2, 2), *tries("a/one", 1, 2, **noisy(12.5))]
    found = Summary(table(*rows), {"perturbations": NOISE}).rows()
    assert [row.perturbations for row in found] == ["", "noise=12.5", "noise=v3"]
    assert [one.group for one in Summary(table(*rows)).subtotals("perturbation")] == [
        "clean", "noise=12.5", "noise=75.0",
    ]  # fmt: skip


def test_episodes_on_another_clock_are_another_variant() -> None:
    rows = [*tries("a/one", 2, 2), *tries("a/one", 0, 2, clock="realtime:0.1")]
    found = Summary(table(*rows)).rows()
    assert [(row.perturbations, row.success.value) for row in found] == [("", 1.0), ("realtime:0.1", 0.0)]


def test_another_clock_is_base_only_where_no_world_waits() -> None:
    waiting, realtime = tries("a/one", 2, 2), tries("a/one", 0, 2, clock="realtime:0.1")
    other = tries("a/one", 0, 2, clock="realtime:0.1", policy="q")
    assert Summary(table(*waiting, *realtime)).base_variants == [""]
    assert Summary(table(*realtime)).episodes["is_base"].all()
    found = Summary(table(*waiting, *realtime, *other)).episodes.filter("is_base")
    assert sorted(found.select("policy", "clock").unique().rows()) == [("p", "lockstep"), ("q", "realtime:0.1")]


def test_a_run_names_the_levels_that_it_applied(tmp_path: Path) -> None:
    run(Request(("primitive/press_switch",), "still", 1, perturbations=(("packet_loss", 0.3),)), tmp_path / "run")
    (row,) = Summary(load(tmp_path / "run"), read_about(tmp_path / "run")).rows()
    assert row.perturbations == "packet_loss=v3"


def test_a_family_is_the_mean_over_its_tasks() -> None:
    rows = [*tries("a/one", 10, 10), *tries("a/two", 0, 5), *tries("b/one", 3, 5)]
    first, second = Summary(table(*rows)).subtotals("family")
    assert (first.group, first.tasks, first.success) == ("a", 2, macro_rate([10, 0], [10, 5]))
    assert (second.group, second.tasks, second.success) == ("b", 1, wilson(3, 5))


def test_tiers_come_from_easy_to_hard_and_tasks_without_one_stay_out() -> None:
    rows = [*tries("a/one", 1, 2, tier="hard"), *tries("a/two", 1, 2, tier="easy"), *tries("b/one", 2, 2)]
    assert [one.group for one in Summary(table(*rows)).subtotals("tier")] == ["easy", "hard"]


def test_chance_comes_from_the_record_or_from_the_cards_of_an_old_run() -> None:
    new = Summary(table(*tries("a/one", 6, 8, chance=0.5))).rows()
    old = Summary(table(*tries("a/one", 6, 8)), {"tasks": {"a/one": {"chance": 0.5}}}).rows()
    assert new[0].above_chance == old[0].above_chance == above_chance(wilson(6, 8), 0.5)
    assert Summary(table(*tries("a/one", 6, 8, chance=1.0))).rows()[0].above_chance is None
    assert Summary(table(*tries("a/one", 6, 8))).rows()[0].above_chance is None, "an old run without a card"


def test_failures_are_counted_by_kind_and_type_and_faults_of_successes_beside() -> None:
    rows = tries("a/one", 0, 3, failure_kind="motor", failure_type="grasp synthesis")
    rows[0]["failure_type"] = "placement and release"
    rows += tries("a/two", 4, 4, quality_flags=["detour", "collision"])
    rows += tries("a/three", 1, 1, quality_flags=["detour"])
    (found,) = Summary(table(*rows)).failures()
    assert [(one.label, one.count) for one in found.kinds] == [("motor", 3)]
    assert [(one.label, one.count) for one in found.types_of["motor"]] == [
        ("grasp synthesis", 2), ("placement and release", 1),
    ]  # fmt: skip
    assert found.flags_on_successes == {"detour": wilson(5, 5), "collision": wilson(4, 5)}
    shown = "\n".join(text(Summary(table(*rows))))
    assert "grasp synthesis 2, placement and release 1" in shown
    assert "Quality flags in 5 distinct successful episodes: detour 100% [57, 100], collision 80% [38, 96]." in shown


def test_the_mean_over_everything_is_told_of_one_variant_only() -> None:
    one, two = tries("a/one", 2, 2), tries("a/one", 0, 2, **noisy(10.0))
    assert any("2 episodes; overall success 100%" in line for line in text(Summary(table(*one)), by="task"))
    shown = text(Summary(table(*one, *two)))
    assert "4 episodes." in shown
    assert not any("--by task" in line for line in shown), "that table is there"
    assert "By task: robodx summary RUN --by task" in text(Summary(table(*one, *two)), by="perturbation")
    assert any(line == "1 episode." for line in text(Summary(table(*one[:1]))))
    assert any(line.startswith("perturbation") for line in shown)
    assert not any("different tasks" in line for line in shown)
    unlike = text(Summary(table(*one, *two, *tries("a/two", 1, 2))))
    assert any("compare them within a task, not by their means" in line for line in unlike)
    assert "No episodes yet." in text(Summary(table()))


def test_too_many_errors_are_told_with_bounds() -> None:
    rows = tries("a/one", 2, 3)
    rows.append({**rows[0], "seed": 9, "outcome": "error", "success": False})
    assert "Too many errors for a success rate: it is between 50% and 75% of 4 episodes." in text(Summary(table(*rows)))


def test_tasks_in_many_variants_are_shown_when_asked_for() -> None:
    rows = [one for k in range(70) for one in tries("a/one", 1, 2, **noisy(float(k)))]
    assert not any("a/one" in line for line in text(Summary(table(*rows))))
    assert len([line for line in text(Summary(table(*rows)), by="task") if "a/one" in line]) == 70


@pytest.mark.parametrize("options", [{}, {"motion": True}, {"by": "family"}, {"metrics": ("latency_p95", "stability")}])
def test_no_line_is_wider_than_a_terminal(options: dict[str, Any]) -> None:
    more = {
        "tier": "medium", "chance": 0.125, "length_ratio": 1.123456, "sparc": -12.3456, "stability": 0.912345,
        "actions_per_s": 1234.567, "inference_ms_p50": 123.456, "inference_ms_p95": 123.456,
    }  # fmt: skip
    failed = {"failure_kind": "invalid_action", "failure_type": "trajectory sub-optimality"}
    rows = [*tries(LONGEST, 99, 100, **more), *tries("primitive/pick_cube", 0, 9, **more, **failed)]
    assert max(map(len, text(Summary(table(*rows)), **options))) <= 120
    stressed = {**more, "perturbations": [{"name": "calibration_offset", "severity": 0.25}]}
    rows = [row for row in rows if row["task"] != LONGEST] + tries("dynamic/place_rolling_sphere", 99, 100, **stressed)
    cards = {"calibration_offset": {"levels": {"v3": 0.25}}}
    assert max(map(len, text(Summary(table(*rows), {"perturbations": cards}), **options))) <= 120


def test_everything_goes_into_the_json() -> None:
    rows = [*tries("a/one", 3, 8, chance=0.5, stability=0.9), *tries("a/one", 1, 8, **noisy(25.0))]
    content = json.loads(json.dumps(Summary(table(*rows), {"perturbations": NOISE}).everything(None, ["progress"])))
    assert set(content) == {
        "all", "headlines", "rows", "by_family", "by_tier", "by_perturbation", "stress", "isolation", "levels",
        "null_inputs", "metamorphic", "bias", "failures", "failures_by_variant", "errors", "medians", "metrics",
    }  # fmt: skip
    assert content["rows"][0]["above_chance"]["value"] == pytest.approx(-0.25)
    assert [one["group"] for one in content["by_perturbation"]] == ["clean", "noise=v2"]
    assert content["medians"][0]["values"]["stability"]["value"] == 0.9
    assert content["metrics"][0]["values"]["progress"]["value"] == 0.5


def stressed_run(*, solves_clean: bool = True, base: tuple[tuple[str, float], ...] = ()) -> Summary:
    """A policy that breaks at the second of two levels, on one carrier."""
    shared = [{"name": name, "severity": severity} for name, severity in base]
    variants: list[tuple[int, list[dict[str, Any]], bool]] = [(0, [], solves_clean), (1, [], solves_clean)]
    if solves_clean:
        variants += [(3, noisy(25.0)["perturbations"], False), (2, noisy(10.0)["perturbations"], True)]
    evidence = {"step": 7, "object": "cube", "condition": "held", "says": "the hand closed on nothing"}
    rows = [
        {
            **one, "suite": "stress", "repeat": repeat, "perturbations": [*shared, *applied],
            "pair_id": str(one["seed"]), "trial_id": f"{repeat} {one['seed']}",
            "failure_kind": None if won else "motor", "failure_type": None if won else "grasp synthesis",
            "failure_evidence": None if won else evidence,
        }
        for repeat, applied, won in variants
        for one in tries("a/one", 20 if won else 0, 20)
    ]  # fmt: skip
    return Summary(table(*rows), {"perturbations": NOISE, "request": {"perturbations": [list(one) for one in base]}})


def test_the_mean_over_tasks_comes_first_and_the_count_of_episodes_beside_it() -> None:
    """Tasks that were run more often weigh no more in the mean, but in the count."""
    summary = Summary(table(*tries("a/one", 8, 8), *tries("a/two", 0, 2)))
    shown = text(summary)
    assert shown[0].startswith("Success 50% [")
    assert " ".join(shown[:2]).endswith(
        ", the mean over 2 tasks (n = 10). By episode: 8 of 10 solved (80%): each task counts once in the mean, and 8 "
        "of these episodes are of a/one."
    )
    assert "10 episodes." in shown, "no second average"
    stressed = Summary(table(*tries("a/one", 4, 8), *tries("a/one", 0, 8, **noisy(25.0))), {"perturbations": NOISE})
    assert text(stressed)[0].startswith("Success 50% [")
    assert " ".join(text(stressed)[:2]).endswith(
        ", of one task, without stress or real time (n = 8). By episode: 4 of 8 solved. With all other variants: "
        "4 of 16."
    )


def test_a_stress_run_goes_on_with_what_stress_costs_and_ends_in_a_conclusion() -> None:
    # After what it comes to without stress.
    shown = text(stressed_run())[1:]
    assert shown[2] == "Change in success of p under stress, in points on the same situations:"
    assert shown[3].split()[:5] == ["stressor", "clean", "n", "v1", "v2"], "in the order of levels"
    assert "p breaks under noise (from v2 on)." in shown
    clean = shown[shown.index("Without stress:") + 2]
    assert clean.split() == ["a/one", "100%", "[84,", "100]", "20", "50%", "100"], "the clean variant alone"
    assert max(map(len, shown)) <= 120


def test_where_nothing_is_testable_a_stress_run_says_so() -> None:
    summary = stressed_run(solves_clean=False)
    assert "a/one is not testable here: p solved 0 of 20 without stress." in text(summary)
    content = json.loads(json.dumps(summary.everything(None)))
    assert content["stress"]["not_testable"][0]["clean"]["n"] == 20


def test_of_a_run_that_is_perturbed_throughout_that_is_no_stress() -> None:
    summary = stressed_run(base=(("packet_loss", 0.3),))
    shown = text(summary)
    assert "Without stress beyond packet_loss=0.3, which applies to all trials:" in shown
    assert summary.base_variants == ["packet_loss=0.3"]
    assert [row.perturbations for row in summary.rows()][1] == "packet_loss=0.3 + repeated"


def test_by_perturbation_a_stress_run_shows_every_level() -> None:
    shown = text(stressed_run(), by="perturbation")
    assert shown[1].split() == [
        "level", "clean", "stressed", "difference", "retained", "repeated", "lost", "p", "n",
    ]  # fmt: skip
    assert [line.split()[:3] for line in shown[2:5]] == [["noise:"], ["v1", "100%", "100%"], ["v2", "100%", "0%"]]
    assert max(map(len, shown)) <= 120


def test_few_episodes_leave_a_stressor_untold_and_an_unordered_one_has_no_trend() -> None:
    def conclusion(n: int, lost: int, *, is_ordered: bool = True) -> str:
        rows = [
            {**one, "suite": "stress", "repeat": repeat, "perturbations": applied, "pair_id": str(one["seed"]),
             "trial_id": f"{repeat} {one['seed']}"}
            for repeat, applied, won in ((0, [], n), (1, [], n), (2, noisy(10.0)["perturbations"], n - lost))
            for one in tries("a/one", won, n)
        ]  # fmt: skip
        cards = {"noise": {**NOISE["noise"], "is_ordered": is_ordered}}
        return "\n".join(text(Summary(table(*rows), {"perturbations": cards, "request": {"perturbations": []}})))

    assert "There are too few episodes to judge noise: even a total loss would not have been detected." in conclusion(
        3, 1
    )
    assert "There are too few episodes to judge noise: a drop of less than " in conclusion(12, 0)
    assert "p shows no drop under noise (a drop of " in conclusion(80, 0)
    unordered = conclusion(80, 40, is_ordered=False)
    assert "No p for noise: its levels have no order" in unordered and "p: trend" not in unordered


def test_failed_episodes_are_shown_with_what_they_show() -> None:
    summary = stressed_run()
    usual = text(summary)
    example = "  a/one, noise=v2, seed 0, step 7: motor, grasp synthesis: the hand closed on nothing"
    assert usual.count(example) == 1 and "Examples (--failures lists all):" in usual
    full = text(summary, failures=True)
    assert sum("the hand closed on nothing" in line for line in full) == 20
    assert any(line.split() == ["noise=v2", "20", "of", "20", "motor", "20"] for line in full), "by variant"
    by_variant = summary.everything(None)["failures_by_variant"]
    assert [(one["variant"], one["n"] - one["successes"]) for one in by_variant] == [
        ("clean", 0), ("repeated", 0), ("noise=v1", 0), ("noise=v2", 20),
    ]  # fmt: skip
    many = Summary(table(*tries("a/one", 0, 50, failure_kind="motor")))
    assert "… and 10 more" in text(many, failures=True)


def test_failures_under_stress_are_apart_and_those_without_an_input_are_none_of_its_own() -> None:
    blind = {"perturbations": [{"name": "camera_blank", "word": "all"}], "suite": "null_inputs"}
    summary = Summary(
        table(
            *tries("a/one", 3, 5, failure_kind="motor", suite="capability"),
            *tries("a/one", 0, 4, failure_kind="timeout", **{**noisy(25.0), "suite": "stress"}),
            *tries("a/one", 0, 3, failure_kind="timeout", suite="stress", clock="realtime:0.1"),
            *tries("a/one", 0, 6, failure_kind="reference", **blind),
        )
    )
    found = [(one.variant, {kind.label: kind.count for kind in one.kinds}) for one in summary.failures()]
    assert found == [(None, {"motor": 2}), ("under stress or in real time", {"timeout": 7})]
    assert "failures under stress or in real time" in "\n".join(text(summary))
    # What merely tries again failed there once, under no stress.
    again = Path(__file__).parents[1] / "golden" / "run-v4"
    assert [one.variant for one in Summary(load(again), read_about(again)).failures()] == [None]


def test_errors_are_counted_by_their_last_line() -> None:
    rows = tries("a/one", 3, 4, outcome="error", success=False)
    texts = ["Traceback\nTypeError: no", "TypeError: no\n", "Traceback\nKeyError: 3", None]
    rows = [{**row, "error": error} for row, error in zip(rows, texts, strict=True)]
    shown = text(Summary(table(*rows)))
    assert "  2 × TypeError: no" in shown and "  1 × KeyError: 3" in shown and "  1 × unknown" in shown
    assert Summary(table(*rows)).everything(None)["errors"][0] == {"says": "TypeError: no", "count": 2}


def test_a_metric_without_a_value_has_its_column() -> None:
    shown = text(Summary(table(*tries("a/one", 0, 3))), metrics=("length_ratio",))
    assert shown[0].split()[:2] == ["task", "length_ratio"] and shown[1].split() == ["a/one", "—", "0"]


def test_above_chance_is_explained_where_it_is_shown_and_is_no_share_below_nothing() -> None:
    shown = text(Summary(table(*tries("a/one", 0, 8, chance=0.5), *tries("a/two", 0, 2, chance=0.5))))
    assert any(line.startswith("above chance: ") for line in shown)
    assert ("  below chance  " in shown[3], "  not above chance  " in shown[4]) == (True, True)
    assert " 50% [<0, 86] " in text(Summary(table(*tries("a/one", 6, 8, chance=0.5))))[3]
    assert not any(line.startswith("above chance: ") for line in text(Summary(table(*tries("a/one", 0, 8)))))


def test_a_family_says_of_how_many_of_its_tasks_it_is_above_chance() -> None:
    tasks = [*tries("a/one", 8, 8), *tries("a/two", 0, 8, chance=0.5), *tries("b/one", 0, 8, chance=0.5)]
    rows = [line for line in text(Summary(table(*tasks)), by="family") if line.startswith(("a ", "b "))]
    assert " (1 of 2 tasks)  16 " in rows[0] and "of 1 tasks" not in rows[1]


@pytest.mark.parametrize(("lowest", "shown"), [(1.0, " 100%"), (0.99, " >99%"), (0.9, " 99%")])
def test_progress_is_rounded_to_all_only_where_it_is_all(lowest: float, shown: str) -> None:
    rows = [*tries("a/one", 8, 8, progress=1.0), *tries("a/one", 0, 1, progress=lowest)]
    said = text(Summary(table(*rows)))
    (row,) = (line for line in said if line.startswith("a/one"))
    assert shown in row
    assert {"progress", "steps"} <= {line.partition(":")[0] for line in said}


def test_a_run_that_is_not_finished_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run(Request(("primitive/press_switch",), "still", 1), tmp_path / "run")
    print_summary(tmp_path / "run", as_json=False)
    assert "is not finished" not in capsys.readouterr().out
    parts = tmp_path / "run" / "episodes"
    (parts / "all.parquet").rename(parts / "part-00000.parquet")
    print_summary(tmp_path / "run", as_json=False)
    assert capsys.readouterr().out.startswith(f"{tmp_path / 'run'} is not finished: ")
    print_summary(tmp_path / "run", as_json=True)
    assert json.loads(capsys.readouterr().out)["is_finished"] is False


def test_a_comparison_that_ran_out_of_trials_says_what_to_do(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    run(Request(("primitive/press_switch",), "expert", 2), first)
    run(Request(("primitive/press_switch",), "expert", 2, name="other", against=str(first), until_decided=True), second)
    print_summary(second, as_json=False, comparison=compare(first, second))
    shown = " ".join(capsys.readouterr().out.split())
    assert f"All trials of {first} have been used. For a verdict, make that run larger in a new folder," in shown


def test_options_that_need_another_are_refused() -> None:
    reported = CliRunner().invoke(app, ["run", "primitive", "--policy", "still", "--margin", "0.2"])
    assert isinstance(reported.exception, UserError) and "give --against RUN too" in str(reported.exception)


def test_a_grouping_that_is_none_is_told() -> None:
    assert grouping("family") == "family" and grouping(None) is None
    with pytest.raises(UnknownName, match='Did you mean "family"'):
        grouping("famly")


def test_a_median_has_an_interval_between_its_values() -> None:
    found = median(pl.Series(range(1, 26), dtype=pl.Float64))
    # Of 25 the 8th and the 18th, as in tables of the sign test.
    assert (found.value, found.low, found.high, found.n) == (13.0, 8.0, 18.0, 25)
    assert median(pl.Series([1.0, None, 3.0])).low is None
    assert median(pl.Series([None, None], dtype=pl.Float64)) == NOTHING


@pytest.mark.parametrize("n", [6, 7, 9, 10, 24, 50])
def test_a_medians_interval_covers(n: int) -> None:
    found = median(pl.Series(np.arange(n, dtype=np.float64)))
    assert found.low is not None and found.high is not None
    below = int(found.low)
    assert found.high == n - 1 - below
    # It misses where at most `below` values, or all but so many, lie on one side of the true median.
    assert 2 * binom.cdf(below, n, 0.5) <= 0.05 < 2 * binom.cdf(below + 1, n, 0.5)


def test_several_runs_are_told_at_a_glance_and_then_each_by_itself(tmp_path: Path) -> None:
    for name in ("expert", "still"):
        run(Request(("primitive/press_switch",), name, 1), tmp_path / name)
    said = call("summary", "expert", "still", cwd=tmp_path)
    glance, _, rest = said.partition("── expert ──")
    assert "expert  expert  100% [" in glance and "still   still   0% [" in glance and "1 of 1" in glance
    first, _, second = rest.partition("── still ──")
    for name, part in (("expert", first), ("still", second)):
        assert part.strip() == call("summary", name, cwd=tmp_path).strip(), "as it is told alone"
    listed = json.loads(call("summary", "expert", "still", "--json", cwd=tmp_path))
    assert listed == [json.loads(call("summary", name, "--json", cwd=tmp_path)) for name in ("expert", "still")]
    tables = call("summary", "expert", "still", "--by", "task", cwd=tmp_path)
    assert tables.count("\nprimitive/press_switch ") == 2 and "robodx compare" not in tables
    (tmp_path / "still" / "run.json").write_text("{")
    assert "damaged" in call("summary", "expert", "still", cwd=tmp_path, expect=2)
