"""The suite bias: its grids, contexts and repeats, the quick part, and more repeats where they are needed."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from robodx.analysis.bias.cells import planned_grids
from robodx.analysis.bias.chance import permuted
from robodx.analysis.bias.scope import says, scope_of
from robodx.analysis.statistics.power import ALPHA
from robodx.errors import UserError
from robodx.interventions.base import INTERVENTIONS, intervened
from robodx.interventions.factors import FACTORS, each, product, union
from robodx.records.design import Planned, design_table
from robodx.records.schema import SCHEMA
from robodx.records.values import Applied
from robodx.registry import UnknownName
from robodx.running.loop import Loop
from robodx.running.request import Request
from robodx.running.run import run
from robodx.sim.css_colours import CSS, GROUPS, group_of, hex_of
from robodx.suites.base import SuiteRequest, ask, find_suite, quickened, usual_seeds
from robodx.suites.bias import CROSSED, INTERACTION, TASK, cells_of, contexts, instances
from robodx.tasks.base import TASKS, Situation

PAPER = ("colour", "camera_orientation", "camera_pose", "camera_distance")
COLUMNS = {name: SCHEMA[name] for name in ("trial_id", "success", "outcome")}
NOTHING = pl.DataFrame(schema=COLUMNS)


def asked(*within: str, done: pl.DataFrame = NOTHING, seeds: int = 5) -> list[Planned]:
    return ask("bias", done, SuiteRequest("act", seeds, within=within))


def said(planned: Planned) -> dict[str, str]:
    return {name: str(value) for name, value in planned.factors}


def test_there_are_2127_instances_of_the_stated_composition() -> None:
    counts = {grid: len(cells_of(grid)) for grid in (*PAPER, INTERACTION)}
    assert counts == {
        "colour": 141 * 11, "camera_orientation": 9 * 11, "camera_pose": 21 * 11, "camera_distance": 9 * 11,
        INTERACTION: 7 * 21,
    }  # fmt: skip
    assert sum(counts.values()) == 2127
    assert Counter(one["context"] for one in contexts()) == {"place": 4, "shape": 4, "wording": 3}
    assert {one.setting["colour"] for one in cells_of(INTERACTION)} == set(CROSSED)


def test_all_of_it_is_11370_cells_with_five_repeats_and_ten_of_the_interaction() -> None:
    every = asked()
    assert len(every) == 11_370
    # What is usual in two grids is run once, and has a row in each.
    trials = {one.trial.id for one in every}
    assert len(trials) == 11_050 and len(design_table(every)) == 11_370
    seeds = {
        context: {one.trial.seed for one in every if said(one)["context"] == context and one.level != INTERACTION}
        for context in ("place", "shape", "wording")
    }
    # The usual context comes three times, with other starts of the robot.
    assert [sorted(one) for one in seeds.values()] == [[0, 1, 2, 3, 4], [5, 6, 7, 8, 9], [10, 11, 12, 13, 14]]


def test_a_tenth_of_it_is_balanced() -> None:
    quick = asked("quick")
    assert len(quick) == 1137
    colours = [said(one) for one in quick if one.level == "colour"]
    assert set(Counter(one["colour"] for one in colours).values()) == {5, 6}
    by_context = Counter((one["context"], one["place"], one["shape"], one["wording"]) for one in colours)
    assert len(by_context) == 11 and max(by_context.values()) - min(by_context.values()) <= 1
    crossed = Counter((said(one)["colour"], said(one)["camera_pose"]) for one in quick if one.level == INTERACTION)
    assert len(crossed) == 147 and set(crossed.values()) == {1}
    assert {one.trial.id for one in quick} <= {one.trial.id for one in asked()}


def test_more_repeats_go_to_values_that_are_not_decided() -> None:
    first = asked("camera_orientation", "adaptive")
    assert len(first) == 2 * 99
    hated = "yaw 6, pitch 6"

    def outcomes(planned: list[Planned]) -> pl.DataFrame:
        rows = [
            {"trial_id": one.trial.id, "success": said(one)["camera_orientation"] != hated, "outcome": "success"}
            for one in planned
        ]
        return pl.DataFrame(rows, schema=COLUMNS)

    second = asked("camera_orientation", "adaptive", done=outcomes(first))
    further = Counter(said(one)["camera_orientation"] for one in second[len(first) :])
    # All of one fail and all of the others succeed: that one differs, and the others need to be known better.
    assert hated not in further and set(further.values()) == {11}
    # An error is an answer, too, and costs its pair alone.
    broken = outcomes(first).with_columns(
        outcome=pl.when(pl.int_range(pl.len()) == 5).then(pl.lit("error")).otherwise("outcome")
    )
    assert len(asked("camera_orientation", "adaptive", done=broken)) == len(second)
    assert {said(one).get("repeats") for one in second} == {"adaptive"}
    # Without an answer to all of a round there is no next one.
    assert len(asked("camera_orientation", "adaptive", done=outcomes(first[:-1]))) == len(first)


def test_parts_are_selected_and_mistakes_are_named() -> None:
    assert {one.level for one in asked("light_warmth", "quick")} == {"light_warmth"}
    assert {one.level for one in asked("interaction", seeds=1)} == {INTERACTION}
    assert {one.level for one in asked("all", "quick")} == {*FACTORS, INTERACTION}
    with pytest.raises(UnknownName, match="colour"):
        asked("color")
    some = asked("colour", "moccasin", "tan", seeds=2)
    assert Counter(said(one)["colour"] for one in some) == {"red": 22, "moccasin": 22, "tan": 22}
    # The baseline is run as well where it is none of the factor's values.
    poses = asked("camera_pose", "ring 1, 90°", seeds=1)
    assert Counter(said(one)["camera_pose"] for one in poses) == {"original": 11, "ring 1, 90°": 11}
    with pytest.raises(UserError, match=r"mocasin.*moccasin"):
        asked("colour", "mocasin")
    with pytest.raises(UserError, match="quick or adaptive"):
        asked("quick", "adaptive")
    with pytest.raises(UserError, match="--seeds"):
        ask("bias", NOTHING, SuiteRequest("act", 5, repeats=2))
    assert quickened(["bias", "bias/colour/quick"]) == ["bias/quick", "bias/colour/quick"]
    assert quickened(["bias/quick/colour"]) == ["bias/quick/colour"]
    for twice in ("bias/colour/quick/quick", "bias/colour/colour", "control/easy/easy", "metamorphic/mr01/mr01"):
        with pytest.raises(UserError, match=rf'the selector "{twice}" has the part "{twice.rpartition("/")[2]}" twice'):
            find_suite(twice)
    assert find_suite("isolation/isolation") == ("isolation", ("isolation",)), "a suite and a family of one name"
    with pytest.raises(UserError, match="no quick part: only of bias"):
        quickened(["control/easy"])
    assert (usual_seeds(["bias/colour"]), usual_seeds(["control/easy"])) == (5, 25)


def test_samplers_compose() -> None:
    colour, pose = FACTORS["colour"], FACTORS["camera_pose"]
    both = list(product(each(colour, ("red", "blue")), union(each(pose, ("original",)), each(pose))))
    assert len(both) == 2 * 22 and both[0] == {"colour": "red", "camera_pose": "original"}
    assert colour.applied("red") == () and colour.applied("teal") == (("CSS colour", "teal"),)
    with pytest.raises(UnknownName, match="teal"):
        colour.applied("teel")


@pytest.mark.parametrize("name", FACTORS)
def test_a_factor_has_seven_values_or_more_and_changes_nothing_but_looks(name: str) -> None:
    factor = FACTORS[name]
    assert len(factor.values) >= 7 and set(factor.values) - {factor.baseline} <= set(
        INTERVENTIONS[factor.intervention].values
    )
    grid = cells_of(name)
    by_value = {one.setting[name]: one for one in grid if one.context == "shape" and one.setting["shape"] == "sphere"}
    made = {value: situation(one.interventions) for value, one in list(by_value.items())[:9]}
    first, *others = made.values()
    for other in others:
        # The same is asked of the same thing at the same place.
        assert other.instruction == first.instruction and other.stages == first.stages
        assert other.scene.thing("solid").pose == first.scene.thing("solid").pose
        assert other.scene != first.scene


def situation(interventions: tuple[Applied, ...]) -> Situation:
    return intervened(TASKS[TASK].placed(3), interventions, 3, TASK)


def test_the_seed_moves_the_robot_alone() -> None:
    (one, *_) = cells_of("colour")
    scenes = [intervened(TASKS[TASK].placed(seed), one.interventions, seed, TASK) for seed in (0, 7)]
    assert replace(scenes[0], time_limit_s=None) == replace(scenes[1], time_limit_s=None)


def test_css_colours_are_141_in_eleven_groups() -> None:
    assert len(CSS) == 141 and {group_of(name) for name in CSS} == set(GROUPS)
    assert [group_of(name) for name in ("red", "teal", "pink", "saddlebrown", "ivory", "slategrey", "black")] == [
        "red", "blue", "pink", "brown", "white", "grey", "black",
    ]  # fmt: skip
    assert hex_of("teal") == "#008080" and CSS["teal"] == pytest.approx((0.0, 128 / 255, 128 / 255))


def test_instances_to_be_looked_at_have_names_of_their_own() -> None:
    every = list(instances())
    assert (
        len({one.name for one in every})
        == len(every)
        == 2127 + sum(11 * len(FACTORS[name].values) for name in FACTORS if not FACTORS[name].is_in_paper)
    )


def test_a_quick_run_says_at_the_start_what_it_can_answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Loop, "drive", lambda *_: iter(()))
    told: list[str] = []
    run(Request(("bias/quick",), "still", seeds=5), tmp_path / "run", tell=told.append)
    head, shown, hidden, unnamed, once, crossed = told
    assert head == "This run plans 1,120 trials. What they can and cannot answer:"
    assert "31 points for camera pose (21 values, 126 trials), 14 points for colour (141 values, 782 trials)" in shown
    assert "camera distance (9 values, 54 trials), camera orientation (9 values, 54 trials)" in hidden
    assert unnamed.startswith("It cannot say which single values matter for camera distance (5 of 9), ")
    assert "colour (6 of 13): in brackets" in unnamed
    assert "for camera distance, camera orientation, camera pose, colour: a value is tried once" in once
    assert "most of the 147 pairs of values are tried once" in crossed


def test_what_a_run_cannot_answer_is_said_of_the_factors_of_which_it_is_true() -> None:
    told = list(says([*asked("camera_orientation"), *asked("camera_distance", "quick")]))
    (unnamed,) = (one for one in told if one.startswith("It cannot say which single values"))
    assert unnamed.startswith("It cannot say which single values matter for camera distance (6 of 9): ")
    assert "orientation" not in unnamed
    assert (
        "It gives no bias coefficient beyond chance for camera distance: a value is tried once in a context."
        in says(asked("camera_distance", "quick"))
    )
    assert not [one for one in says(asked("camera_orientation")) if "cannot say" in one or "gives no" in one]


def test_what_a_quick_run_says_it_can_show_it_shows() -> None:
    """A spread of the stated size with four times in five, and none of what it says that it cannot, by its own test."""
    rng = np.random.default_rng(0)
    shown = {}
    for grid in planned_grids(asked("camera_pose", "camera_distance", "quick")):
        spread, known = scope_of(grid, 1).spread, ~np.isnan(grid.success)
        halves = np.where(np.arange(known.shape[1]) % 2, 1, -1) * (0.5 if spread is None else spread)
        values = [0.5 + rng.permutation(halves) for _ in range(25)]
        drawn = [np.where(known, rng.random(known.shape) < one, np.nan) for one in values]
        found = [permuted(one, grid.context_of, np.arange(len(one)), rng, 100).p for one in drawn]
        shown[grid.name] = np.mean([p is not None and p < ALPHA for p in found])
        assert (spread is None) == (grid.name == "camera_distance")
    assert shown["camera_pose"] >= 0.7 and shown["camera_distance"] < 0.8


def test_a_whole_run_can_name_values() -> None:
    (whole,) = (scope_of(grid, 1) for grid in planned_grids(asked("camera_orientation")))
    assert whole.repeats == 5 and whole.spread is not None and whole.spread < 0.2
    assert whole.pairs == 55 >= whole.pairs_needed == 9
