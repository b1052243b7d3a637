"""What each effect does to the world, and when events happen."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from robodx.language.meaning import Instruction, pick
from robodx.language.phrasing import say
from robodx.language.reference import looks_now
from robodx.registry import UnknownName
from robodx.scoring.conditions import After
from robodx.scoring.contact import Static
from robodx.scoring.events import (
    Appear,
    Dim,
    Effect,
    Event,
    Move,
    NewInstruction,
    Push,
    Recolour,
    Script,
    SwapColours,
    SwapPlaces,
    SwitchLamp,
    Vanish,
    at,
)
from robodx.scoring.sides import LeftOf
from robodx.sim.geometry import Pose, difference
from robodx.sim.objects import bin_, cube, peg, sphere, switch, t_block, triangular_block
from robodx.sim.render import Renderer
from robodx.sim.scene import Thing
from robodx.sim.simulation import Simulation
from robodx.sim.world import World

Wait = Callable[[Simulation, float], None]


class Play:
    """A scene in which events happen: red and green cubes, a ball and a switch."""

    def __init__(self, simulate: Callable[..., Simulation], wait: Wait) -> None:
        self.simulation = simulate(
            cube("red").at(0.0, 0.1),
            cube("green").at(0.0, -0.1, yaw_rad=0.5),
            sphere("yellow").at(-0.1, 0.0),
            switch().at(0.1, 0.0),
        )
        self.world, self._wait = World(self.simulation), wait
        self.instructions: list[Instruction] = []

    def run(self, *events: Event, seconds: float) -> World:
        script = Script(events)
        for _ in range(round(seconds / 0.05)):
            self._wait(self.simulation, 0.05)
            script.update(self.world, self.simulation, self.instructions.append)
        return self.world

    def now(self, effect: Effect) -> World:
        effect.apply(self.simulation, self.instructions.append)
        return self.world


@pytest.fixture
def play(simulate: Callable[..., Simulation], wait: Wait) -> Play:
    return Play(simulate, wait)


def test_event_happens_once_at_its_time_and_is_logged(play: Play) -> None:
    before = play.world.position("red cube")
    world = play.run(at(0.2, Move("red cube", (0.05, 0.0, 0.0))), seconds=0.6)
    assert world.position("red cube") == pytest.approx((before[0] + 0.05, *before[1:]), abs=1e-4)
    (entry,) = [entry for entry in world.log.entries if entry.kind == "event"]
    assert entry.step == 4 and entry.time_s == pytest.approx(0.2) and "red cube" in entry.object


def test_event_waits_for_its_condition(play: Play) -> None:
    event = Event(LeftOf("yellow sphere", "switch", margin_m=0.05), Recolour("red cube", "pink"))
    script = Script((event,))
    script.update(play.world, play.simulation, play.instructions.append)
    assert play.world.colour("red cube") == "red"
    play.simulation.set_pose("yellow sphere", Pose((-0.1, 0.06, 0.02)))
    script.update(play.world, play.simulation, play.instructions.append)
    assert play.world.colour("red cube") == "pink"


def test_unless_keeps_an_event_back_for_good(play: Play) -> None:
    is_lit = LeftOf("yellow sphere", "switch", margin_m=0.05)
    script = Script((Event(After(0.0), Recolour("red cube", "pink"), unless=is_lit),))
    play.simulation.set_pose("yellow sphere", Pose((-0.1, 0.06, 0.02)))
    script.update(play.world, play.simulation, play.instructions.append)
    play.simulation.set_pose("yellow sphere", Pose((-0.1, 0.0, 0.02)))
    script.update(play.world, play.simulation, play.instructions.append)
    assert play.world.colour("red cube") == "red" and play.world.log.count("event") == 0
    play.run(Event(After(0.0), Recolour("red cube", "pink"), unless=is_lit), seconds=0.05)
    assert play.world.colour("red cube") == "pink"


def test_unless_may_remember_what_was_before_the_event_was_due(play: Play) -> None:
    was_moved = LeftOf("yellow sphere", "switch", margin_m=0.05).latched()
    script = Script((Event(After(0.15), Recolour("red cube", "pink"), unless=was_moved),))
    for y in (0.0, 0.06, 0.0, 0.0):
        play.simulation.set_pose("yellow sphere", Pose((-0.1, y, 0.02)))
        play.simulation.step(play.simulation.command, 25)
        script.update(play.world, play.simulation, play.instructions.append)
    assert play.world.colour("red cube") == "red"


def test_push_sets_a_ball_rolling(play: Play) -> None:
    world = play.now(Push("yellow sphere", (0.0, 0.2, 0.0)))
    assert world.velocity("yellow sphere") == (0.0, 0.2, 0.0) and not Static("yellow sphere").holds(world)
    play.run(seconds=0.5)
    x, y, z = world.position("yellow sphere")
    assert y > 0.05 and (x, z) == pytest.approx((-0.1, 0.02), abs=1e-3)


def test_recolour_changes_the_attribute_and_the_pixels(play: Play, renderer_of: Callable[..., Renderer]) -> None:
    renderer = renderer_of(play.simulation)
    where = renderer.segmentation("front", 128, 128) == renderer.names.index("red cube")
    before = renderer.rgb("front", 128, 128)
    world = play.now(Recolour("red cube", "blue"))
    after = renderer.rgb("front", 128, 128)
    assert looks_now(world)["red cube"].colour == "blue" and world.colour("green cube") == "green"
    assert before[where].mean(axis=0).argmax() == 0 and after[where].mean(axis=0).argmax() == 2
    assert not np.any((before != after).any(axis=2) & ~where), "nothing else changes its colour"
    with pytest.raises(UnknownName, match=r'No colour "bleu". Did you mean .*"blue"'):
        play.now(Recolour("red cube", "bleu"))


def test_swap_colours_exchanges_what_they_wear_now(play: Play) -> None:
    play.now(Recolour("red cube", "pink"))
    world = play.now(SwapColours("red cube", "green cube"))
    assert (world.colour("red cube"), world.colour("green cube")) == ("green", "pink")


def test_swap_places_exchanges_poses(play: Play) -> None:
    red, green = play.world.pose("red cube"), play.world.pose("green cube")
    world = play.now(SwapPlaces("red cube", "green cube"))
    assert max(difference(world.pose("red cube"), green)) < 1e-9 > max(difference(world.pose("green cube"), red))


@pytest.mark.parametrize("build", [cube, sphere, triangular_block, t_block, peg])
def test_parked_thing_neither_falls_nor_touches_until_it_appears(
    build: Callable[[str], Thing], simulate: Callable[..., Simulation], wait: Wait
) -> None:
    thing = build("blue")
    # Two in the same parking place, and one thing lying where the parked one was declared.
    simulation = simulate(thing.at(0.0, 0.0).parked(), cube("pink").at(0.0, 0.0).parked(), cube("red").at(0.0, 0.0))
    world, name = World(simulation), thing.name
    parked = world.pose(name)
    wait(simulation, 1.0)
    assert not world.is_present(name) and world.pose(name) == parked and parked.position[2] < -1.0
    assert list(looks_now(world)) == ["red cube"]
    assert not simulation.contacts.touches(name, "pink cube") and not world.touches_arena(name)
    goal = Pose((-0.1, 0.2, thing.half_extents[2] + 0.01))
    Script((at(0.0, Appear(name, goal)),)).update(world, simulation, lambda instruction: None)
    assert world.is_present(name) and world.pose(name) == goal
    assert (looks_now(world)[name].kind, looks_now(world)[name].colour) == (thing.kind, "blue")
    wait(simulation, 1.0)
    assert world.touches_arena(name)
    assert world.position(name) == pytest.approx((-0.1, 0.2, thing.half_extents[2]), abs=2e-3)


def test_vanished_thing_is_parked_even_if_it_was_falling(play: Play) -> None:
    play.simulation.set_pose("red cube", Pose((0.0, 0.1, 0.3)))
    play.run(at(0.1, Vanish("red cube")), seconds=0.1)
    parked = play.world.pose("red cube")
    play.run(seconds=0.5)
    assert not play.world.is_present("red cube") and play.world.pose("red cube") == parked
    assert not play.world.touches_arena("red cube")


def test_fixed_thing_cannot_be_moved(play: Play, simulate: Callable[..., Simulation]) -> None:
    with pytest.raises(ValueError, match=r'"blue bin" is fixed'):
        Move("blue bin", (0.1, 0.0, 0.0)).apply(simulate(bin_("blue").at(0.0, 0.0)), play.instructions.append)


def test_lamp_and_light_change_what_is_seen(play: Play, renderer_of: Callable[..., Renderer]) -> None:
    renderer = renderer_of(play.simulation)
    dark = renderer.rgb("front", 128, 128)
    assert play.now(SwitchLamp("switch/lamp", colour="yellow")).is_lit("switch/lamp")
    lit = renderer.rgb("front", 128, 128)
    seen = renderer.segmentation("front", 128, 128)
    changed = (dark != lit).any(axis=2)
    assert changed.any() and set(seen[changed].tolist()) == {renderer.names.index("switch")}
    assert not play.now(SwitchLamp("switch/lamp", is_on=False)).is_lit("switch/lamp")
    play.now(Dim("key", 0.0))
    assert renderer.rgb("front", 128, 128).mean() < 0.9 * dark.mean()
    with pytest.raises(UnknownName, match=r'No light "kye". Did you mean "key"'):
        play.now(Dim("kye", 0.0))


def test_new_instruction_is_told(play: Play) -> None:
    instruction = say(pick("green cube"))
    play.run(at(0.1, NewInstruction(instruction)), seconds=0.05)
    assert play.instructions == []
    play.run(at(0.1, NewInstruction(instruction)), seconds=0.3)
    assert play.instructions == [instruction]
