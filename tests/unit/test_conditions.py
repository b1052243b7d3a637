"""Conditions on touch, motion, joints and time, and how conditions compose and remember, on a real scene."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pytest

from robodx.experts import skills
from robodx.experts.grasps import from_above
from robodx.experts.skills import Hand, Steps
from robodx.registry import UnknownName
from robodx.scoring.conditions import After, Condition, Count, HeldFor, InOrder, Latched, While
from robodx.scoring.contact import (
    Grasped,
    JointBeyond,
    Lit,
    Released,
    Static,
    Touched,
    TouchedFirst,
    TouchedOtherFirst,
    Touching,
)
from robodx.scoring.parts import grasped_in, leaves, walk
from robodx.scoring.relations import On
from robodx.scoring.sides import LeftOf
from robodx.scoring.stages import Stage
from robodx.sim.geometry import Pose
from robodx.sim.objects import SWITCH_TRAVEL_M, cube, switch
from robodx.sim.simulation import Simulation
from robodx.sim.world import World

Wait = Callable[[Simulation, float], None]
Perform = Callable[[Simulation, Callable[[Hand], Steps]], None]


@dataclass(frozen=True)
class Left(Condition):
    """True while the red cube lies left of the table's middle: easy to switch by moving the cube."""

    def holds(self, world: World) -> bool:
        return world.position("red cube")[1] > 0.0


class Scene:
    """A red and a green cube and a switch; `move` puts the red cube left or right of the middle for one step."""

    def __init__(self, simulate: Callable[..., Simulation], wait: Wait) -> None:
        self.simulation = simulate(cube("red").at(0.0, -0.1), cube("green").at(0.0, -0.2), switch().at(0.2, 0.0))
        self.world, self._wait = World(self.simulation), wait

    def put(self, name: str, x: float, y: float, z: float = 0.02) -> None:
        self.simulation.set_pose(name, Pose((x, y, z)))

    def step(self, *, red_is_left: bool | None = None, green_is_left: bool | None = None) -> World:
        for name, x, is_left in (("red cube", 0.0, red_is_left), ("green cube", 0.1, green_is_left)):
            if is_left is not None:
                self.put(name, x, 0.1 if is_left else -0.1)
        self._wait(self.simulation, 0.05)
        return self.world


@pytest.fixture
def scene(simulate: Callable[..., Simulation], wait: Wait) -> Scene:
    return Scene(simulate, wait)


RED_LEFT, GREEN_LEFT = LeftOf("red cube", "switch"), LeftOf("green cube", "switch")


def test_grasped_touched_and_released_follow_a_real_grasp(scene: Scene, wait: Wait, perform: Perform) -> None:
    world = scene.world
    grasped, released, touched = Grasped("red cube"), Released("red cube"), Touched("red cube")
    first, other_first = TouchedFirst("red cube"), TouchedOtherFirst("green cube")
    conditions = (grasped, released, touched, first, other_first)
    assert [c.holds(world) for c in conditions] == [False, True, False, False, False]
    far = grasped.progress(world)
    perform(scene.simulation, lambda hand: skills.reach(hand, lambda: from_above(0.0, -0.1, 0.025, 0.0)))
    wait(scene.simulation, 0.2)
    assert [c.holds(world) for c in conditions] == [False, True, False, False, False], "around it is not touching it"
    assert far < grasped.progress(world) < 1.0 and far < touched.progress(world) < 1.0
    perform(scene.simulation, skills.grip)
    assert [c.holds(world) for c in conditions] == [True, False, True, True, True]
    assert grasped.progress(world) == touched.progress(world) == first.progress(world) == 1.0
    assert not TouchedFirst("green cube").holds(world) and not TouchedOtherFirst("red cube").holds(world)
    assert not Grasped("green cube").holds(world)
    perform(scene.simulation, skills.release)
    assert [c.holds(world) for c in conditions] == [False, True, False, True, True]


def test_one_finger_against_a_cube_touches_but_does_not_grasp(scene: Scene, perform: Perform) -> None:
    perform(scene.simulation, lambda hand: skills.reach(hand, lambda: from_above(0.0, -0.1, 0.025, 0.0)))
    # The inner face of a finger lies 40 mm beside the tool.
    scene.put("red cube", 0.0, -0.1 + 0.0201)
    world = scene.step()
    assert Touched("red cube").holds(world) and not Grasped("red cube").holds(world)


def test_touching_is_between_two_things_and_symmetric(scene: Scene) -> None:
    scene.put("red cube", 0.0, -0.2, 0.0599)
    world = scene.step()
    assert Touching("red cube", "green cube").holds(world) and Touching("green cube", "red cube").holds(world)
    scene.put("red cube", 0.0, -0.1595)
    world = scene.step()
    assert not Touching("red cube", "green cube").holds(world)
    assert Released("red cube").holds(world) and not Touched("red cube").holds(world)


def test_static_needs_slow_motion_and_slow_turning(scene: Scene) -> None:
    assert Static("red cube").holds(scene.world)
    for linear, angular, is_static in (
        ((0.009, 0.0, 0.0), (0.0, 0.0, 0.0), True),
        ((0.008, 0.008, 0.0), (0.0, 0.0, 0.0), False),
        ((0.0, 0.0, 0.0), (0.0, 0.0, 0.49), True),
        ((0.0, 0.0, 0.0), (0.4, 0.0, 0.4), False),
    ):
        scene.simulation.set_velocity("red cube", linear, angular)
        assert Static("red cube").holds(scene.world) is is_static
    assert Static("switch").holds(scene.world)


def test_joint_beyond_a_position(scene: Scene) -> None:
    pressed, joint = JointBeyond("switch/button", 0.7 * SWITCH_TRAVEL_M), scene.simulation.data.joint("switch/button")
    for share, holds in ((0.0, False), (0.69, False), (0.71, True), (1.0, True)):
        joint.qpos[:] = share * SWITCH_TRAVEL_M
        assert pressed.holds(scene.world) is holds
        assert pressed.progress(scene.world) == pytest.approx(min(1.0, share / 0.7))
    with pytest.raises(UnknownName, match=r'No moving part "switch/buton". Did you mean "switch/button"'):
        JointBeyond("switch/buton", 0.1).holds(scene.world)


def test_lamp_is_lit_while_switched_on(scene: Scene) -> None:
    lit = Lit("switch/lamp")
    assert not lit.holds(scene.world) and lit.progress(scene.world) == 0.0
    scene.simulation.set_lamp("switch/lamp", True)
    assert lit.holds(scene.world) and lit.progress(scene.world) == 1.0
    scene.simulation.set_lamp("switch/lamp", False)
    assert not lit.holds(scene.world)
    with pytest.raises(UnknownName, match=r'"switch/lmap"'):
        Lit("switch/lmap").holds(scene.world)


def test_count_is_within_its_bounds(scene: Scene) -> None:
    parts = (RED_LEFT, GREEN_LEFT, LeftOf("red cube", "green cube"))
    counts = {}
    for red, green in ((False, False), (True, False), (True, True)):
        world = scene.step(red_is_left=red, green_is_left=green)
        counts[sum(part.holds(world) for part in parts)] = [
            Count(parts, at_least=2).holds(world),
            Count(parts, at_least=1, at_most=2).holds(world),
            Count(parts, at_least=0, at_most=0).holds(world),
        ]
        for bounds in ((2, None), (1, 1), (0, 0)):
            count = Count(parts, *bounds)
            assert 0.0 <= count.progress(world) <= 1.0 and (count.progress(world) == 1.0) == count.holds(world)
    assert counts == {0: [False, False, True], 2: [True, True, False]}


def test_held_for_counts_from_the_last_time_it_began(scene: Scene) -> None:
    held = HeldFor(Left(), 0.2)
    seen = [held.holds(scene.step(red_is_left=is_left)) for is_left in [True] * 4 + [False] + [True] * 6]
    assert seen == [False] * 4 + [False] + [False] * 4 + [True] * 2
    assert Left().held_for(0.2) == held and held.progress(scene.world) == 1.0


def test_latched_stays_once_it_held(scene: Scene) -> None:
    latched = Left().latched()
    assert [latched.holds(scene.step(red_is_left=is_left)) for is_left in (False, True, False)] == [False, True, True]
    assert latched == Latched(Left()) and latched.progress(scene.world) == 1.0
    assert not Latched(~Left() & GREEN_LEFT).holds(scene.world)


@pytest.mark.parametrize(
    ("steps", "expected", "progress"),
    [
        ([(False, False), (True, False), (False, False), (False, True)], [False, False, False, True], 1.0),
        ([(False, False), (False, True), (True, False), (True, True)], [False] * 4, 0.0),
        ([(True, False), (False, False)], [False, False], 0.5),
    ],
)
def test_in_order_wants_each_part_in_its_turn(
    scene: Scene, steps: list[tuple[bool, bool]], expected: list[bool], progress: float
) -> None:
    order = InOrder((RED_LEFT, GREEN_LEFT))
    assert [order.holds(scene.step(red_is_left=red, green_is_left=green)) for red, green in steps] == expected
    assert order.progress(scene.world) == progress


@pytest.mark.parametrize("seconds", [0.1, 2.05, 2.15, 3.0])
def test_after_holds_from_its_very_step_on(scene: Scene, seconds: float) -> None:
    after, steps = After(seconds), round(seconds / 0.05)
    held = [after.holds(scene.step()) for _ in range(steps + 1)]
    assert held == [False] * (steps - 1) + [True] * 2


def test_operators_flatten_and_a_remembering_part_sees_every_step(scene: Scene) -> None:
    assert len((Left() & RED_LEFT & GREEN_LEFT).parts) == len((Left() | RED_LEFT | GREEN_LEFT).parts) == 3
    both, either = GREEN_LEFT & Left().latched(), Left() | RED_LEFT.latched()
    scene.step(red_is_left=True, green_is_left=False)
    assert not both.holds(scene.world) and either.holds(scene.world)
    scene.step(red_is_left=False, green_is_left=True)
    assert both.holds(scene.world) and either.holds(scene.world)


def test_progress_of_both_is_the_mean_and_of_either_the_best(scene: Scene) -> None:
    world = scene.step(red_is_left=True, green_is_left=False)
    low = GREEN_LEFT.progress(world)
    assert 0.0 < low < 1.0
    assert (RED_LEFT & GREEN_LEFT).progress(world) == pytest.approx((1.0 + low) / 2)
    assert (RED_LEFT | GREEN_LEFT).progress(world) == 1.0
    assert (~GREEN_LEFT).progress(world) == 1.0 and (~RED_LEFT).progress(world) == 0.0


def test_held_for_does_not_count_time_in_which_nobody_asked(scene: Scene) -> None:
    held = HeldFor(Left(), 0.2)
    assert not held.holds(scene.step(red_is_left=True))
    for _ in range(10):
        scene.step()
    assert not held.holds(scene.world), "as in a stage that was not the current one"


def test_the_leaves_of_a_stage_are_its_conditions_without_parts() -> None:
    held, pressed = Grasped("mug"), JointBeyond("switch/button", 0.1)
    stage = Stage((held.held_for(1.0) & ~Touched("bowl"), While(pressed, Lit("switch/lamp"))))
    assert leaves(stage) == [held, Touched("bowl"), pressed, Lit("switch/lamp")]
    assert leaves(held) == [held]
    assert {"mug", "bowl", "switch/button", "switch/lamp"} == {one for one in walk(stage) if isinstance(one, str)}


def test_what_is_to_be_let_go_of_is_not_to_be_grasped() -> None:
    assert grasped_in(Stage((Grasped("mug") & Touched("bowl"),))) == ["mug"]
    assert grasped_in(Grasped("mug") & Released("mug")) == []


def test_a_thing_of_which_several_parts_speak_is_named_once() -> None:
    placed = On("red cube", "tray") & Released("red cube") & Static("red cube")
    assert str(placed) == "red cube on tray, released and at rest"
    assert str(placed & Released("peg")) == "red cube on tray, released and at rest, and peg released"
    assert str(Touched("sphere") & ~Lit("lamp")) == "sphere touched and not lamp lit"
