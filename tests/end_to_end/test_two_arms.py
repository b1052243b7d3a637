"""A robot with two arms on a base that drives, its task and its verbs: all from one file outside of src."""

from __future__ import annotations

import importlib.util
import math
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
from numpy.typing import NDArray

from robodx.analysis.episode_facts import Entry, EpisodeFacts, Hold
from robodx.analysis.findings.gerunds import GERUNDS
from robodx.experts import skills
from robodx.experts.base import PLANS, PlanContext
from robodx.experts.grasps import CannotBeDone
from robodx.experts.plan_executor import PlanExecutor
from robodx.experts.schedule import Schedule
from robodx.experts.skills import Hand, Steps
from robodx.language.meaning import Clause, Meaning, Relation, are_apart, do, pick, push, put, with_hand
from robodx.language.phrasing import phrase, phrasing_count, say
from robodx.language.reading import read
from robodx.language.reference import looks_now, resolve, the
from robodx.language.verbs import PHRASINGS
from robodx.policy_contract import ActionChunk, Observation, PolicySpec, make_policy
from robodx.records.table import load
from robodx.records.trajectory import Trajectory
from robodx.records.trajectory_files import trajectory_file
from robodx.records.trial import Trial
from robodx.registry import UnknownName
from robodx.robots.control import Controller, action_width
from robodx.robots.kinematics import Kinematics
from robodx.running.environment import Environment
from robodx.running.fit import Unfit
from robodx.running.observers import Finished
from robodx.running.rollout import rollout
from robodx.scoring.contact import Grasped
from robodx.scoring.from_meaning import STAGES, stages_for
from robodx.scoring.sides import Behind, Displaced, Flanking, InFrontOf, LeftOf, RightOf
from robodx.sim.geometry import Pose, about, difference
from robodx.sim.robot import ROBOTS, Robot
from robodx.sim.simulation import Command, Simulation
from robodx.sim.world import World
from robodx.tasks.base import TASKS
from robodx.verbs.put import plan_at
from tests.end_to_end.test_command_line import robodx

PLUGIN = Path(__file__).parent.parent / "plugins" / "two_arms.py"
TASK = "two_hands/take_both_and_hand_over"
HELD_STILL_M = 5e-4


@pytest.fixture(scope="module")
def plugin() -> Iterator[ModuleType]:
    """Gone again when these tests have ended: others count what is registered."""
    with ExitStack() as stack:
        for registry in (ROBOTS, TASKS, PHRASINGS, STAGES, PLANS, GERUNDS):
            assert list(registry)
            stack.enter_context(patch.dict(registry._entries))
        spec = importlib.util.spec_from_file_location("two_arms_outside_src", PLUGIN)
        assert spec is not None and spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        yield module


@pytest.fixture(scope="module")
def twin(plugin: ModuleType) -> Robot:
    return ROBOTS["twin"]


@pytest.fixture(scope="module")
def solved(twin: Robot) -> Finished:
    (finished,) = rollout([Trial(TASK, 1, "expert", 0, "twin")], make_policy("expert"))
    return finished


def trajectory(finished: Finished) -> Trajectory:
    assert finished.trajectory is not None
    return finished.trajectory


def at_home(robot: Robot, plugin: ModuleType) -> Simulation:
    return Simulation(plugin.at_both_shelves(Trial(TASK, 1, "still", 0).streams), robot, np.array(robot.home))


def test_it_takes_a_cube_with_each_hand_and_hands_one_over(solved: Finished) -> None:
    episode, moved = solved.episode, trajectory(solved).tool_in_world[:, :, :3]
    assert episode.success and episode.stages_reached == episode.stages == 7
    grasps = [(one.object, one.step) for one in episode.events if one.kind == "grasp"]
    assert [name for name, _ in grasps] == ["blue cube", "red cube", "red cube"]
    (_, blue), (_, red), _ = grasps
    assert abs(red - blue) < 10, "one hand does not wait for the other"
    steps_m = np.linalg.norm(np.diff(moved, axis=0), axis=2)
    assert (steps_m > HELD_STILL_M).all(axis=1).mean() >= 0.5, "both hands move in at least half of the steps"
    heights = [moved[step, tool, 2] for step, tool in ((red, 0), (blue, 1))]
    assert heights[1] - heights[0] > 0.04, "the shelves are at two heights"


def test_the_base_drives_and_its_way_is_recorded(solved: Finished) -> None:
    found = trajectory(solved)
    assert found.index is not None
    x = found.qpos[:, found.index.joints["twin/x"]]
    assert x[-1] - x[0] > 0.05 and np.abs(np.diff(x[-30:])).max() < 1e-4, "it drove, and is locked where it stands"
    assert [hand.name for hand in found.index.hands] == ["left", "right"]


class _Replay:
    """Sends recorded commands, a `joint` action each."""

    spec = PolicySpec(action_space="joint", state=(), is_privileged=True)

    def __init__(self, commands: NDArray[np.float32]) -> None:
        self._commands = commands

    def act(self, observations: list[Observation]) -> list[ActionChunk]:
        return [self._commands[observation.step][None] for observation in observations]


def test_recorded_commands_replayed_as_joint_actions_move_it_alike_to_the_last_bit(solved: Finished) -> None:
    before = trajectory(solved)
    replay = _Replay(before.commands)
    (again,) = rollout([Trial(TASK, 1, "replay", 0, "twin")], replay)  # type: ignore[arg-type]
    assert again.episode.success and np.array_equal(trajectory(again).qpos, before.qpos)


def test_it_runs_from_the_command_line_with_a_page(tmp_path: Path) -> None:
    asked = ("run", "two_hands", "--policy", "expert", "--robot", "twin", "--plugin", str(PLUGIN), "--seeds", "2")
    assert "100%" in robodx(*asked, "--out", "run", cwd=tmp_path)
    assert robodx("report", "run", "--films", "0", cwd=tmp_path) and (tmp_path / "run" / "report.html").exists()
    run = tmp_path / "run"
    assert load(run)["success"].all() and trajectory_file(run, load(run)["trial_id"][0]).exists()


def test_an_arm_asks_no_hand_that_the_robot_has_not(plugin: ModuleType) -> None:
    with pytest.raises(Unfit, match="the hands left and right, but panda has: gripper"):
        Environment(Trial(TASK, 1, "expert", 0, "panda"), make_policy("expert").spec)


# Actions.


def test_an_action_has_a_part_for_each_group(twin: Robot) -> None:
    parts = [(part.group.name, part.kind, part.stop - part.start) for part in twin.layout("ee_delta")]
    hands = [(hand, *part) for hand in ("left", "right") for part in (("step", 6), ("opening", 1))]
    assert parts == [*hands, ("base", "drive", 3)]
    assert [action_width(space, twin) for space in ("ee_delta", "ee_pose", "joint", "joint_velocity")] == [
        17,
        19,
        17,
        17,
    ]


def test_each_hand_goes_where_it_is_sent_and_the_base_no_faster_than_it_can(twin: Robot) -> None:
    last = Command(np.array(twin.home, np.float32), np.ones(2, np.float32), np.zeros(3, np.float32))
    arms = {hand: Kinematics("twin", hand) for hand in twin.hands}
    goals = [
        arms[hand].tool_in_base(np.array(twin.home[:6])).shifted(dx=0.01 * (1 + at)) for at, hand in enumerate(arms)
    ]
    action = [number for goal in goals for number in (*goal.position, *goal.quaternion, 0.5)]
    command, limits = Controller(twin, "ee_pose").resolve(np.array([*action, 9.0, 0.0, 0.0], np.float32), last, 0.05)
    assert limits == ("base speed",) and command.drive.tolist() == pytest.approx([0.8, 0, 0])
    for at, hand in enumerate(twin.hands):
        there = arms[hand].tool_in_base(command.joints[6 * at : 6 * at + 6].astype(float))
        assert max(difference(there, goals[at])) < 1e-3


def test_a_base_drives_along_its_own_axes_and_turns(twin: Robot, plugin: ModuleType) -> None:
    simulation = at_home(twin, plugin)
    start = simulation.base_in_world()
    drives = ([0.0, 0.0, math.pi / 4], [0.2, 0.0, 0.0])
    for drive in drives:
        command = replace(simulation.command, drive=np.array(drive, np.float32))
        for _ in range(20):
            simulation.step(command, 25)
    for _ in range(20):
        simulation.step(replace(command, drive=np.zeros(3, np.float32)), 25)
    world = World(simulation)
    assert world.heading_rad == pytest.approx(math.pi / 4, abs=0.01)
    dx, dy, _ = np.subtract(world.base.position, start.position)
    assert (dx, dy) == pytest.approx((0.1414, 0.1414), abs=0.01), "forwards is where it looks"


def test_what_the_hands_hold_out_rides_along_when_the_base_drives(twin: Robot, plugin: ModuleType) -> None:
    simulation = at_home(twin, plugin)
    world = World(simulation)
    executor = PlanExecutor.of(world, 0.05)
    before = {hand: world.base.inverse() @ world.tool(hand) for hand in world.hands}
    assert executor.wheels is not None
    goal = Pose((-0.3, 0.1, 0.5), about("z", 0.6))  # how high the base's own frame is does not matter
    steps = skills.drive(executor.hands["left"], executor.wheels, lambda: goal)
    controller, count = Controller(twin, "ee_pose"), 0
    while next(steps, None) is not None:
        count += 1
        tools = [world.base.inverse() @ hand.commanded for hand in executor.hands.values()]
        hands = [number for tool in tools for number in (*tool.position, *tool.quaternion, 1.0)]
        action = np.array([*hands, *executor.wheels.velocity], np.float32)
        simulation.step(controller.resolve(action, simulation.command, 0.05).command, 25)
        executor.measure(world)
        assert count < 200
    assert math.dist(world.base.position[:2], goal.position[:2]) < 0.01 and abs(world.heading_rad - 0.6) < 0.03
    for hand, there in before.items():
        assert max(difference(world.base.inverse() @ world.tool(hand), there)) < 0.02, "its place on the robot"


# Words.


def test_a_hand_that_is_named_is_said_and_read() -> None:
    for clause in (pick("red cube"), put("red cube", "in", "green bowl")):
        meaning = Meaning((with_hand("left", clause), with_hand("right", pick("blue cube"))))
        for index in range(phrasing_count(meaning, "train")):
            text = phrase(meaning, "train", index).text
            assert "with your left hand, and " in text and text.endswith("with your right hand.")
            assert read(text) == meaning
    one_after_another = say(with_hand("left", pick("red cube")), with_hand("left", put("red cube", "in", "green bowl")))
    assert "left hand, then " in one_after_another.text


@pytest.mark.parametrize(
    ("a", "b", "at_once"),
    [
        (with_hand("left", pick("red cube")), with_hand("right", pick("blue cube")), True),
        (with_hand("left", pick("red cube")), with_hand("left", pick("blue cube")), False),
        (with_hand("left", pick("red cube")), pick("blue cube"), False),
        (with_hand("left", pick("red cube")), with_hand("right", put("blue cube", "on", "red cube")), False),
    ],
)
def test_what_two_hands_may_do_at_once(a: Clause, b: Clause, at_once: bool) -> None:
    assert are_apart(a, b) == are_apart(b, a) == at_once


def test_clauses_begin_when_neither_their_hand_nor_their_things_are_needed_before(
    twin: Robot, plugin: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = World(at_home(twin, plugin))
    begun: list[str] = []

    def plan(context: PlanContext, clause: Clause) -> Steps:
        begun.append(f"{context.hand.name} {clause.target.words}")
        for _ in range(3):
            yield context.hand.stay()

    monkeypatch.setattr("robodx.experts.schedule.PLANS", {"pick": plan})
    hands = {name: Hand(world.tool(name), 1.0, 0.05, world.tool(name), name=name) for name in world.hands}
    clauses = (
        with_hand("left", pick("red cube")),
        with_hand("left", pick("green cube")),
        with_hand("right", pick("blue cube")),
        pick("red cube"),
        with_hand("right", pick("green cube")),
    )
    names = {clause.target: resolve(clause.target, looks_now(world)) for clause in clauses}
    schedule = Schedule(clauses, PlanContext(world, hands["left"], names, hands=hands))
    steps = 0
    while schedule.step() is not None:
        steps += 1
    assert begun[:2] == ["left red cube", "right blue cube"] and begun[2] == "left green cube"
    assert begun[3:] == ["left red cube", "right green cube"], "the nearest hand, alone, and then the rest"
    assert steps == 3 + 3 + 3 + 3


def test_what_one_hand_cannot_do_keeps_the_other_from_nothing(
    twin: Robot, plugin: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = World(at_home(twin, plugin))

    def plan(context: PlanContext, clause: Clause) -> Steps:
        if clause.target.colour == "red":
            raise CannotBeDone("red")
        for _ in range(4):
            yield context.hand.stay()

    monkeypatch.setattr("robodx.experts.schedule.PLANS", {"pick": plan})
    hands = {name: Hand(world.tool(name), 1.0, 0.05, world.tool(name), name=name) for name in world.hands}
    clauses = (with_hand("left", pick("red cube")), with_hand("right", pick("blue cube")))
    names = {clause.target: resolve(clause.target, looks_now(world)) for clause in clauses}
    schedule = Schedule(clauses, PlanContext(world, hands["left"], names, hands=hands))
    for _ in range(4):
        assert set(schedule.step() or ()) == {"left", "right"}
    assert schedule.step(), "the right one is done"
    with pytest.raises(CannotBeDone):
        schedule.step()


def test_who_has_one_hand_uses_it_whatever_it_is_called_and_of_several_only_those_there_are(
    twin: Robot, plugin: ModuleType
) -> None:
    world = World(at_home(twin, plugin))
    clause = with_hand("third", pick("red cube"))
    names = {clause.target: resolve(clause.target, looks_now(world))}
    only = Hand(world.tool("left"), 1.0, 0.05, world.tool("left"))
    assert set(Schedule((clause,), PlanContext(world, only, names)).step() or ()) == {""}
    hands = {name: Hand(world.tool(name), 1.0, 0.05, world.tool(name), name=name) for name in world.hands}
    with pytest.raises(CannotBeDone, match="there is no third hand"):
        Schedule((clause,), PlanContext(world, hands["left"], names, hands=hands)).step()
    with pytest.raises(UnknownName, match="third"):
        world.held("third")


def test_a_prohibition_holds_for_every_hand_or_for_the_one_that_it_names(twin: Robot, plugin: ModuleType) -> None:
    seen = looks_now(World(at_home(twin, plugin)))
    asked, red = with_hand("left", pick("cube")), replace(pick("red cube"), is_negated=True)
    for forbidden, is_meant in ((red, True), (with_hand("left", red), True), (with_hand("right", red), False)):
        (clause,) = Meaning((asked, forbidden)).decided(seen)
        assert (clause.target.but == (the("red cube"),)) == is_meant


def test_the_stages_of_a_clause_are_of_its_hand_unless_they_say_which(twin: Robot, plugin: ModuleType) -> None:
    scene = plugin.at_both_shelves(Trial(TASK, 1, "still", 0).streams)
    grasped, _ = stages_for(Meaning((with_hand("left", pick("red cube")),)), scene)
    assert grasped == Grasped("red cube", "left") and str(grasped) == "red cube grasped with the left hand"
    (given,) = stages_for(Meaning((with_hand("left", do("give", "red cube")),)), scene)
    assert given == Grasped("red cube", "right") & ~Grasped("red cube", "left")
    with pytest.raises(ValueError, match="no stage of push onto tells with which hand"):
        stages_for(Meaning((with_hand("left", push("red cube", "green cube")),)), scene)


def test_holds_are_told_by_hand(solved: Finished) -> None:
    entries = [
        Entry(10, "grasp", "red cube", hand=0), Entry(50, "grasp", "red cube", hand=1),
        Entry(60, "release", "red cube", hand=0),
    ]  # fmt: skip
    nothing: dict[str, Any] = {name: None for name in EpisodeFacts.__dataclass_fields__}
    facts = EpisodeFacts(**{**nothing, "entries": entries})
    assert facts.holds == (
        Hold("red cube", 10, 60, is_dropped=False, hand=0), Hold("red cube", 50, None, is_dropped=False, hand=1),
    )  # fmt: skip
    assert solved.episode.slips == 0, "what is in the right hand does not slip when the left one moves"


@pytest.fixture
def turned_left(twin: Robot, plugin: ModuleType) -> World:
    """The base looks along the world's y axis: what was left of it is ahead."""
    facing = replace(twin, base_in_world=Pose((-0.1, -0.7, 0.004), about("z", math.pi / 2)))
    return World(at_home(facing, plugin))


def test_left_and_right_are_the_robots_as_it_stands(turned_left: World) -> None:
    red, blue = "red cube", "blue cube"  # further along y, and nearer
    assert Behind(red, blue).holds(turned_left) and InFrontOf(blue, red).holds(turned_left)
    assert not LeftOf(red, blue, 0.1).holds(turned_left) and not RightOf(red, blue, 0.1).holds(turned_left)
    seen = looks_now(turned_left)
    assert resolve(the("nearest cube"), seen) == blue and resolve(the("farthest cube"), seen) == red
    x, y, _ = turned_left.position(red)
    assert Displaced(red, (x, y - 0.1), "forward", 0.1, 0.01).holds(turned_left)


@pytest.mark.parametrize(
    ("side", "dx", "dy"), [("left of", -1, 0), ("right of", 1, 0), ("behind", 0, 1), ("in front of", 0, -1)]
)
def test_a_side_of_a_thing_is_that_on_which_it_is_put(turned_left: World, side: Relation, dx: int, dy: int) -> None:
    """The goal of the plan, and what counts, are one."""
    moved: list[Pose] = []

    def put_there(context: PlanContext, name: str, goal: object) -> Steps:
        moved.append(goal())  # type: ignore[operator]
        yield from ()

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("robodx.verbs.put.put", put_there)
        clause = put("red cube", side, "green cube")
        names = {reference: resolve(reference, looks_now(turned_left)) for reference in clause.references}
        hand = Hand(turned_left.tool("left"), 1.0, 0.05, turned_left.tool("left"), name="left")
        assert not list(plan_at(side)(PlanContext(turned_left, hand, names), clause))  # type: ignore[arg-type]
    (goal,) = moved
    x, y, _ = turned_left.position("green cube")
    assert np.sign(np.round([goal.position[0] - x, goal.position[1] - y], 3)).tolist() == [dx, dy]
    turned_left._simulation.set_pose("red cube", goal)
    assert Flanking("red cube", "green cube", side).holds(turned_left)  # type: ignore[arg-type]
