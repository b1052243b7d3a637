"""A run's summary: readable arms, subtotals, failures and medians, and text that fits a terminal."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy.stats import binom  # type: ignore[import-untyped]

from robodx.analysis.episodes import SCHEMA, load, read_about
from robodx.analysis.estimates import NOTHING, above_chance, wilson
from robodx.analysis.macro import macro_rate
from robodx.analysis.medians import median
from robodx.analysis.summary import Summary, grouping
from robodx.registry import UnknownName
from robodx.running.run import Request, run
from robodx.terminal.summary import lines

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


def test_arms_are_named_by_their_levels_the_clean_one_first() -> None:
    rows = [*tries("a/one", 1, 2, **noisy(75.0)), *tries("a/one", 2, 2), *tries("a/one", 1, 2, **noisy(12.5))]
    found = Summary(table(*rows), {"perturbations": NOISE}).rows()
    assert [row.perturbations for row in found] == ["", "noise=12.5", "noise=v3"]
    assert [one.group for one in Summary(table(*rows)).subtotals("perturbation")] == [
        "clean", "noise=12.5", "noise=75.0",
    ]  # fmt: skip


def test_episodes_on_another_clock_are_another_arm() -> None:
    rows = [*tries("a/one", 2, 2), *tries("a/one", 0, 2, clock="realtime:0.1")]
    found = Summary(table(*rows)).rows()
    assert [(row.perturbations, row.success.value) for row in found] == [("", 1.0), ("realtime:0.1", 0.0)]


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
    assert "Faults in the 5 successes: detour 100% [57, 100], collision 80% [38, 96]." in shown


def test_the_mean_over_everything_is_told_of_one_arm_only() -> None:
    one, two = tries("a/one", 2, 2), tries("a/one", 0, 2, **noisy(10.0))
    assert any("2 episodes; success over all of them 100%" in line for line in text(Summary(table(*one))))
    shown = text(Summary(table(*one, *two)))
    assert any(line.startswith("4 episodes. By task") for line in shown)
    assert any(line.startswith("perturbation") for line in shown)
    assert not any("do not compare" in line for line in shown)
    unlike = text(Summary(table(*one, *two, *tries("a/two", 1, 2))))
    assert any("their means do not compare" in line for line in unlike)
    assert "No episodes yet." in text(Summary(table()))


def test_too_many_errors_are_told_with_bounds() -> None:
    rows = tries("a/one", 2, 3)
    rows.append({**rows[0], "seed": 9, "outcome": "error", "success": False})
    assert "Too many errors for a rate: between 50% and 75% of 4, had they ended." in text(Summary(table(*rows)))


def test_tasks_in_many_arms_are_shown_when_asked_for() -> None:
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
        "all", "rows", "by_family", "by_tier", "by_perturbation", "stress", "failures", "medians", "metrics",
    }  # fmt: skip
    assert content["rows"][0]["above_chance"]["value"] == pytest.approx(-0.25)
    assert [one["group"] for one in content["by_perturbation"]] == ["clean", "noise=v2"]
    assert content["medians"][0]["values"]["stability"]["value"] == 0.9
    assert content["metrics"][0]["values"]["progress"]["value"] == 0.5


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
