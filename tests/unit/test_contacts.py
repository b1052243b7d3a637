"""Touches, grasps, drops and collisions of a real hand on a real cube are seen and logged."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from robodx.experts import skills
from robodx.experts.grasps import from_above
from robodx.experts.skills import Hand, Steps
from robodx.sim.contacts import ARENA, ROBOT
from robodx.sim.geometry import Pose
from robodx.sim.log import LogEntry, LogKind
from robodx.sim.objects import cube, cylinder, sphere
from robodx.sim.scene import Thing
from robodx.sim.simulation import Command, Simulation
from robodx.sim.world import World

Wait = Callable[[Simulation, float], None]
Perform = Callable[[Simulation, Callable[[Hand], Steps]], None]
GRAVITY_M_S2 = 9.81


def entries(simulation: Simulation, *kinds: LogKind) -> list[LogEntry]:
    return [entry for entry in simulation.log.entries if entry.kind in kinds]


def logged(simulation: Simulation) -> list[tuple[str, str]]:
    return [(entry.kind, entry.object) for entry in simulation.log.entries]


def open_to(simulation: Simulation, opening: float, *, steps: int = 10, substeps: int = 25) -> None:
    command = Command(simulation.command.joints, np.array([opening], dtype=np.float32))
    for _ in range(steps):
        simulation.step(command, substeps)


@pytest.fixture
def holding(simulate: Callable[..., Simulation], perform: Perform) -> Simulation:
    """The red cube in the hand, 10 cm up; a green one beside its place."""
    simulation = simulate(cube("red").at(-0.1, 0.0), cube("green").at(-0.1, 0.15))
    grasp = from_above(-0.1, 0.0, 0.02, 0.0)
    perform(simulation, lambda hand: skills.pick(hand, lambda: grasp, lift_to_m=0.12))
    return simulation


def test_nothing_is_logged_while_nothing_happens(simulate: Callable[..., Simulation], wait: Wait) -> None:
    simulation = simulate(cube("red").at(-0.1, 0.0), cube("green").at(-0.1, 0.0, z=0.06))
    wait(simulation, 1.0)
    assert logged(simulation) == [] and simulation.log.first_touched is None
    assert World(simulation).touching("red cube", "green cube") and World(simulation).touches_arena("red cube")


@pytest.mark.parametrize("thing", [cube("red"), sphere("yellow"), cylinder("green")], ids=lambda thing: thing.kind)
def test_pick_logs_one_contact_and_one_grasp(
    thing: Thing, simulate: Callable[..., Simulation], perform: Perform, wait: Wait
) -> None:
    simulation = simulate(thing.at(-0.1, 0.0))
    grasp = from_above(-0.1, 0.0, thing.half_extents[2], 0.0)
    perform(simulation, lambda hand: skills.pick(hand, lambda: grasp, lift_to_m=0.12))
    wait(simulation, 1.0)
    world = World(simulation)
    assert logged(simulation) == [("contact", thing.name), ("grasp", thing.name)]
    assert simulation.log.first_touched == thing.name == world.held() and world.is_grasped(thing.name)
    assert world.position(thing.name)[2] > 0.1 and not world.touches_arena(thing.name)


def test_opening_the_hand_is_a_release(holding: Simulation, wait: Wait) -> None:
    open_to(holding, 1.0)
    wait(holding, 0.5)
    assert logged(holding) == [("contact", "red cube"), ("grasp", "red cube"), ("release", "red cube")]
    world = World(holding)
    assert world.held() is None and not world.touches_robot("red cube") and world.touches_arena("red cube")


@pytest.mark.parametrize("substeps", [8, 25])
@pytest.mark.parametrize("opening", [0.505, 0.52, 1.0])
def test_opening_and_waiting_is_a_release_at_any_rate(holding: Simulation, opening: float, substeps: int) -> None:
    open_to(holding, opening, steps=30, substeps=substeps)
    assert World(holding).held() is None
    assert [entry.kind for entry in entries(holding, "release", "drop")] == ["release"]


def test_thing_pulled_out_of_a_closed_hand_is_a_drop(holding: Simulation, wait: Wait) -> None:
    holding.data.body("red cube").xfrc_applied[2] = -150.0
    wait(holding, 0.3)
    assert World(holding).held() is None
    assert [(entry.kind, entry.object) for entry in entries(holding, "release", "drop")] == [("drop", "red cube")]


def test_relaxing_the_grip_a_little_loses_nothing(holding: Simulation) -> None:
    open_to(holding, 0.3)
    assert World(holding).held() == "red cube" and entries(holding, "release", "drop") == []


def test_first_touched_stays_the_first(holding: Simulation, wait: Wait) -> None:
    tool = World(holding).tool().position
    open_to(holding, 1.0)
    holding.set_pose("green cube", Pose((tool[0], tool[1] + 0.0201, tool[2])))
    wait(holding, 0.05)
    assert [entry.object for entry in entries(holding, "contact")] == ["red cube", "green cube"]
    assert holding.log.first_touched == "red cube"


def test_collision_is_logged_once_with_its_peak_force(simulate: Callable[..., Simulation], wait: Wait) -> None:
    # On the rim of the robot's own foot, which is no finger: a collision as heavy as the cube.
    foot_top_m = 0.07
    simulation = simulate(cube("red", mass_kg=0.3).at(-0.73, 0.0, z=foot_top_m + 0.02))
    wait(simulation, 0.5)
    (entry,) = entries(simulation, "collision")
    assert (entry.object, entry.other, entry.step) == ("red cube", ROBOT, 1)
    assert entry.value == pytest.approx(0.3 * GRAVITY_M_S2, rel=0.05)
    simulation.data.body("red cube").xfrc_applied[2] = -10.0
    wait(simulation, 0.5)
    simulation.data.body("red cube").xfrc_applied[2] = 0.0
    wait(simulation, 0.5)
    assert len(entries(simulation, "collision")) == 1
    assert entry.value > 0.3 * GRAVITY_M_S2 + 9.0, "the peak is kept when the force is gone"
    assert logged(simulation)[:2] == [("contact", "red cube"), ("collision", "red cube")]


def test_each_new_touch_is_a_new_contact(simulate: Callable[..., Simulation], perform: Perform, wait: Wait) -> None:
    simulation = simulate(replace(cube("red", half_m=0.05), is_fixed=True).at(-0.1, 0.0))
    for count in (1, 2):
        # Closed fingers come down on it and go up again.
        perform(simulation, lambda hand: skills.press(hand, lambda: from_above(-0.1, 0.0, 0.1, 0.0), depth_m=0.01))
        wait(simulation, 0.2)
        touches = [(entry.object, entry.other) for entry in entries(simulation, "contact")]
        assert touches == [("red cube", ROBOT)] * count
    assert entries(simulation, "grasp", "collision") == [], "what fingers touch is meant to be touched"


def test_fingers_on_the_table_are_a_collision_with_the_arena(
    simulate: Callable[..., Simulation], perform: Perform, wait: Wait
) -> None:
    simulation = simulate()
    perform(simulation, lambda hand: skills.reach(hand, lambda: from_above(-0.1, 0.0, -0.02, 0.0)))
    wait(simulation, 0.2)
    (entry,) = entries(simulation, "collision")
    assert (entry.object, entry.other) == (ARENA, ROBOT) and entry.value > 5.0
    assert entries(simulation, "contact") == [], "the arena is no object"


def test_touch_of_one_substep_is_seen(simulate: Callable[..., Simulation]) -> None:
    simulation = simulate(cube("red").at(-0.1, 0.0))
    world = World(simulation)
    x, y, z = world.tool().position

    def graze() -> None:
        # Against the inner face of the left finger, leaving it at 3 m/s: one substep later it is 6 mm away.
        simulation.set_pose("red cube", Pose((x, y + 0.02 + 1e-5, z)))
        simulation.set_velocity("red cube", (0.0, -3.0, 0.0))

    graze()
    simulation.step(simulation.command, 1)
    assert world.touches_robot("red cube")
    simulation.step(simulation.command, 1)
    assert not world.touches_robot("red cube"), "the touch lasts one substep"
    simulation.log.entries.clear()
    graze()
    simulation.step(simulation.command, 5)
    assert world.touches_robot("red cube") and logged(simulation)[0] == ("contact", "red cube")
    simulation.step(simulation.command, 1)
    assert not world.touches_robot("red cube")
