"""Interventions on where things lie: they move what they say, as straight as there is room, and nothing else."""

from __future__ import annotations

from dataclasses import replace

import pytest
from validate_interventions import Result, Unit, applied, tell, undeclared

from robodx.errors import UserError
from robodx.interventions.base import NotApplicable, intervened, parse, replicate
from robodx.interventions.changing import goal_of, target_of
from robodx.interventions.moving import laid
from robodx.interventions.whole_scene import Motion, is_symmetrical, moved_as_a_whole
from robodx.language.meaning import do, insert, pick, push, put
from robodx.language.phrasing import say, wordings
from robodx.language.reading import NotUnderstood, read
from robodx.scoring.from_meaning import stages_for
from robodx.scoring.parts import walk
from robodx.scoring.relations import Beside
from robodx.scoring.sides import Displaced
from robodx.sim.geometry import Pose, about
from robodx.sim.objects import bin_, cube, goal_disc, hole_block, kit_tray, peg, sphere, t_block
from robodx.sim.scene import Thing, tabletop
from robodx.tasks.base import TASKS, Situation

RED, BLUE = cube("red").at(-0.06, -0.12), cube("blue").at(-0.06, 0.13)


def asked(clause: object, *things: Thing) -> Situation:
    scene, said = tabletop(*things), say(clause)  # type: ignore[arg-type]
    return Situation(scene, said, stages_for(said.meaning, scene))


def moved(before: Situation, after: Situation) -> dict[str, tuple[float, ...]]:
    """By how much each thing that was moved."""
    pairs = ((was, after.scene.thing(was.name)) for was in before.scene)
    return {
        was.name: tuple(b - a for a, b in zip(was.pose.position, now.pose.position, strict=True))
        for was, now in pairs
        if was.pose != now.pose
    }


@pytest.mark.parametrize(("value", "axis"), [("left", 1), ("middle", 1), ("near", 0), ("far", 0)])
def test_a_target_is_moved_straight_and_nothing_else_is(value: str, axis: int) -> None:
    situation = asked(pick("red cube"), RED, BLUE.at(0.08, -0.22))
    ((name, by),) = moved(situation, intervened(situation, (("target position", value),), 1, "")).items()
    assert name == "red cube" and by[1 - axis] == by[2] == 0 and abs(by[axis]) > 0.03


def test_a_target_that_words_tell_by_its_place_stays_the_one_that_is_meant() -> None:
    situation = asked(pick("rightmost cube"), RED, BLUE)
    after = intervened(situation, (("target position", "middle"),), 1, "")
    assert target_of(after).name == "red cube"
    with pytest.raises(NotApplicable, match="no place"):
        intervened(
            replace(situation, scene=tabletop(RED, BLUE.at(-0.06, -0.05))), (("target position", "left"),), 1, ""
        )


def test_how_far_a_thing_has_come_counts_from_where_it_lies_now() -> None:
    task = TASKS["spatial/move_cube_direction"]
    situation = task.placed(3)
    after = intervened(situation, (("target position", "placebo"),), 3, task.id)
    starts = {one.start for one in walk((after.stages, after.never)) if isinstance(one, Displaced)}
    x, y, _ = target_of(after).pose.position
    assert moved(situation, after) and all(start == pytest.approx((x, y)) for start in starts)


def test_a_goal_that_is_fixed_to_the_table_is_moved_too() -> None:
    situation = asked(put("sphere", "in", "bin"), sphere("red").at(-0.18, 0.0), bin_("blue").at(0.0, -0.12))
    after = intervened(situation, (("goal position", "left"),), 1, "")
    assert moved(situation, after).keys() == {"blue bin"} and goal_of(after).pose.position[1] > 0.07


@pytest.mark.parametrize(
    ("situation", "at"),
    [
        # Behind what is pushed the hand comes down; what is inserted lies before its hole.
        (asked(push("cube", "disc"), cube("red").at(0.0, 0.0), goal_disc("blue").at(-0.1, 0.12)), (0.1, -0.24)),
        (
            asked(insert("peg", "block with a hole"), peg("red").at(-0.1, 0.0), hole_block("blue").at(0.06, 0.0)),
            (0.0, 0.2),
        ),
        (asked(do("move", "red cube", "near", "blue cube"), RED, BLUE), (-0.06, 0.02)),
    ],
    ids=["push", "insert", "near"],
)
def test_a_target_is_not_moved_where_what_is_asked_cannot_be_done(
    situation: Situation, at: tuple[float, float]
) -> None:
    thing = target_of(situation)
    with pytest.raises(NotApplicable, match=r"out of reach|no room"):
        laid(situation, {thing.name: Pose((*at, thing.pose.position[2]))}, ("*",))


def test_nothing_that_must_never_be_holds_from_the_start() -> None:
    situation = asked(put("sphere", "in", "bin"), sphere("red").at(-0.18, 0.0), bin_("blue").at(0.0, 0.0))
    poses = {"red sphere": Pose((-0.14, 0.0, 0.02))}
    beside = replace(situation, never=(Beside("red sphere", "blue bin", 0.05, 0.1),))
    assert moved(situation, laid(situation, poses, ("*",)))
    with pytest.raises(NotApplicable, match="no room"):
        laid(beside, poses, ("*",))


def test_what_stands_in_another_is_not_moved() -> None:
    holder = bin_("blue").at(0.0, 0.0)
    situation = asked(pick("sphere"), sphere("red").at(0.0, 0.0, z=0.03), holder)
    with pytest.raises(NotApplicable, match="does not stand on the table"):
        intervened(situation, (("target position", "left"),), 1, "")


def test_swapping_exchanges_two_places_and_its_placebo_those_of_others() -> None:
    situation = asked(pick("red cube"), RED, BLUE, sphere("red").at(0.06, 0.02))
    after = intervened(situation, (("swap places", "left"),), 1, "")
    assert target_of(after).pose.position == BLUE.pose.position
    assert after.scene.thing("blue cube").pose.position == RED.pose.position
    placebo = intervened(situation, (("swap places", "placebo"),), 1, "")
    assert moved(situation, placebo).keys() == {"blue cube", "red sphere"}


@pytest.mark.parametrize("degrees", [0.0, 20.0, 43.0])
def test_turning_sets_the_band_and_leaves_it_where_it_lies(degrees: float) -> None:
    turned = t_block("red").at(0.0, 0.0, yaw_rad=degrees / 57.3)
    situation = asked(pick("red T-block"), turned)
    for value in ("below 15", "15 to 30", "30 or more"):
        try:
            after = target_of(intervened(situation, (("turn", value),), 1, ""))
        except NotApplicable as no:
            assert "already" in str(no)
            continue
        assert after.pose.position == turned.pose.position and after.pose.quaternion != turned.pose.quaternion


@pytest.mark.parametrize("task", ["spatial/assemble_set", "language/ordinal", "dynamic/pick_cube_bumped", "bias/*"])
def test_a_scene_mirrored_twice_is_the_scene(task: str) -> None:
    for entry in (one for one in TASKS.entries() if one.id == task or one.family == task.removesuffix("/*")):
        situation = entry.placed(2)
        once = moved_as_a_whole(situation, Motion(is_mirrored=True), ("*",))
        assert moved_as_a_whole(once, Motion(is_mirrored=True), ("*",)) == situation


def test_what_is_said_of_a_mirrored_scene_means_its_other_side() -> None:
    for task in (one for one in TASKS.entries() if one.family in ("spatial", "language")):
        for seed in range(4):
            situation = task.placed(seed)
            after = moved_as_a_whole(situation, Motion(is_mirrored=True), ("*",)).instruction
            try:
                meant = read(situation.instruction.text)
            except NotUnderstood:
                continue
            assert read(after.text) == after.meaning or meant != situation.instruction.meaning, after.text


def test_right_beside_is_no_side() -> None:
    clauses = put("red cube", "beside", "blue cube")
    for said in wordings(say(clauses), "test"):
        situation = replace(asked(clauses, RED.at(0.05, 0.0), BLUE), instruction=said)
        assert moved_as_a_whole(situation, Motion(is_mirrored=True), ("*",)).instruction.text == said.text


def test_a_thing_that_a_mirror_shows_otherwise_is_not_mirrored() -> None:
    assert all(map(is_symmetrical, (cube("red", is_striped=True), t_block("red"), peg("red"), bin_("red"))))
    assert not is_symmetrical(kit_tray("red"))
    assert Motion(is_mirrored=True).pose(Pose((0.1, 0.2, 0.3), about("z", 0.4))) == Pose(
        (0.1, -0.2, 0.3), about("z", -0.4)
    )


def test_the_sweep_finds_what_is_not_declared_and_what_the_expert_fails_at(capsys: pytest.CaptureFixture[str]) -> None:
    from robodx.interventions.base import INTERVENTIONS

    entry = INTERVENTIONS["target position"]
    before = {"target_side": "left", "target_colour": "red"}
    assert not list(undeclared(entry, "right", before, {**before, "target_side": "right"}))
    assert len(list(undeclared(entry, "right", before, {**before, "target_colour": "blue"}))) == 2
    assert list(undeclared(entry, "placebo", before, {**before, "target_side": "right"}))
    found = applied(Unit("primitive/pick_cube", 0, "turn"))
    assert len(found) == 4 and not any(one.complaints for one in found) and any(one.reason for one in found)
    good = Result("a/b", 0, None, None, True)
    assert tell([good, Result("a/b", 0, "turn", "below 15", True)]) == 0
    assert tell([replace(good, is_solved=False), Result("a/b", 0, "turn", "below 15", False)]) == 0
    assert tell([good, Result("a/b", 0, "turn", "below 15", False)]) == 1
    assert "turn=below 15 in a/b at seed 0: the expert fails" in capsys.readouterr().out


def test_a_change_and_its_placebo_can_be_drawn_anew() -> None:
    task = "carrier/pick_up"
    placed = TASKS[task].placed(3)
    for value in ("left", "placebo"):
        numbered = [
            intervened(placed, (("target position", replicate(value, number)),), 3, task) for number in range(3)
        ]
        assert numbered[0] == intervened(placed, (("target position", value),), 3, task), "number 0 is as it always was"
        assert numbered[0] != numbered[1] != numbered[2] != numbered[0]
    assert parse("target position=left#2") == ("target position", "left#2")
    for wrong in ("left#0", "left#x", "left#", "left#1234567"):
        with pytest.raises(UserError, match="after # stands the number of its realisation"):
            parse(f"target position={wrong}")
