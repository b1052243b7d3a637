"""What is made out in pictures is what the simulator drew: kinds, colours, places and sizes."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import pytest
from numpy.typing import NDArray

from robodx.experts.grasps import yaw_of
from robodx.experts.skills import Hand
from robodx.policies.vision import CAMERAS, PIXELS
from robodx.policy_contract import Calibration
from robodx.sight.cloud import Eye, Points, look
from robodx.sight.hand import without_hand
from robodx.sight.lamp import towards_lamp
from robodx.sight.segment import patches
from robodx.sight.sighting import Sighting
from robodx.sight.single_colour import single_colour
from robodx.sight.things import sightings
from robodx.sight.tracking import GONE_LOOKS, LIT_LOOKS, NEW_LOOKS, OTHER_LOOKS, Sight
from robodx.sim.build import camera_quaternion
from robodx.sim.colours import PALETTE
from robodx.sim.geometry import Pose, Vector, about, multiply
from robodx.sim.objects import (
    banded_peg,
    bin_,
    bowl,
    charger,
    crate,
    cube,
    cylinder,
    goal_disc,
    hole_block,
    lamp,
    peg,
    receptacle,
    slot_board,
    sphere,
    switch,
    t_block,
    triangular_block,
)
from robodx.sim.render import Renderer
from robodx.sim.robot import ROBOTS
from robodx.sim.rooms import FAMILIAR_ROOMS, Room
from robodx.sim.scene import Thing, tabletop
from robodx.sim.simulation import Simulation

PLACES = [(x, y) for x in (-0.22, -0.10, 0.02) for y in (0.22, 0.11, 0.0, -0.11, -0.22)]


class Shown(NamedTuple):
    """One look, the arm at home."""

    eyes: dict[str, Eye]
    images: dict[str, NDArray[np.uint8]]
    depth: dict[str, NDArray[np.float32]]
    tool: Pose

    def sightings(self) -> list[Sighting]:
        shown = (self.eyes, self.images, self.depth)
        lamp = towards_lamp(*shown, ROBOTS["panda"].base_in_world)
        assert lamp is not None
        return sightings(patches(without_hand(look(*shown, lamp), self.tool, 1.0)))

    def is_empty(self, place: Vector) -> bool:
        return any(eye.sees_past(place, self.depth[name]) for name, eye in self.eyes.items())


def seen(things: Sequence[Thing], *, lit: str | None = None) -> list[Sighting]:
    return show(things, lit=lit).sightings()


def show(things: Sequence[Thing], *, lit: str | None = None, room: Room | None = None) -> Shown:
    robot = ROBOTS["panda"]
    home = np.concatenate([np.array(arm.home) for arm in robot.arms])
    scene = room.around(tabletop(*things)) if room else tabletop(*things)
    simulation = Simulation(scene, robot, home, substeps=25)
    if lit is not None:
        simulation.set_lamp(lit, True)
    renderer = Renderer(simulation, largest=(PIXELS, PIXELS))
    try:
        images = {name: renderer.rgb(name, PIXELS, PIXELS) for name in CAMERAS}
        depth = {name: renderer.depth(name, PIXELS, PIXELS) for name in CAMERAS}
    finally:
        renderer.close()
    base = robot.base_in_world
    eyes = {
        camera.name: Eye.of(
            Calibration(camera.fovy_deg, base.inverse() @ Pose(camera.position, camera_quaternion(camera))),
            base,
            PIXELS,
            PIXELS,
        )
        for camera in scene.cameras
        if camera.name in CAMERAS
    }
    return Shown(eyes, images, depth, simulation.tool_in_world())


def nearest(found: Sequence[Sighting], thing: Thing) -> Sighting:
    return min(found, key=lambda one: math.dist(one.pose.position, thing.pose.position))


@pytest.mark.parametrize("seed", range(4))
def test_loose_things_are_found_within_a_millimetre(seed: int) -> None:
    rng = np.random.default_rng(seed)
    places = rng.permutation(PLACES)[:6] + rng.uniform(-0.02, 0.02, (6, 2))
    builders: list[Callable[[str, float], Thing]] = [cube, sphere, cylinder] * 2
    colours = rng.permutation(["red", "green", "blue", "yellow", "purple", "white"])
    things = [
        build(str(colour), rng.uniform(0.012, 0.025)).at(float(x), float(y), yaw_rad=rng.uniform(-0.7, 0.7))
        for build, colour, (x, y) in zip(builders, colours, places, strict=True)
    ]
    found = seen(things)
    assert len(found) == len(things)
    for thing in things:
        one = nearest(found, thing)
        assert (one.thing.kind, one.thing.colour) == (thing.kind, thing.colour)
        assert math.dist(one.pose.position, thing.pose.position) < 0.001
        assert np.abs(np.subtract(one.thing.half_extents, thing.half_extents)).max() < 0.001
        if thing.kind == "cube":
            off = yaw_of(one.pose) - yaw_of(thing.pose)
            assert abs((off + math.pi / 4) % (math.pi / 2) - math.pi / 4) < 0.02


@pytest.mark.parametrize("build", [cube, sphere, peg])
def test_every_colour_is_called_by_its_name(build: Callable[[str], Thing]) -> None:
    names = list(PALETTE)
    for start in range(0, len(names), 6):
        places = [(x, y) for x in (-0.2, -0.02) for y in (0.2, 0.0, -0.2)]
        things = [
            build(colour).at(x, y, yaw_rad=0.3)
            for colour, (x, y) in zip(names[start : start + 6], places, strict=False)
        ]
        found = seen(things)
        assert [nearest(found, thing).thing.colour for thing in things] == names[start : start + 6]


LOOSE = [
    triangular_block("yellow").at(-0.2, 0.2, yaw_rad=0.4),
    t_block("red").at(-0.2, 0.0, yaw_rad=2.0),
    peg("orange").at(-0.2, -0.2, yaw_rad=2.5),
    banded_peg("red", "yellow", "blue", length_m=0.1).at(0.0, 0.2, yaw_rad=1.0),
    cube("green", is_striped=True).at(0.0, 0.0, yaw_rad=0.5),
    charger().at(0.0, -0.2, yaw_rad=-0.4),
]
FIXTURES = [
    bin_("blue").at(0.05, 0.2),
    bowl("green").at(-0.12, 0.2),
    crate("purple").at(0.05, -0.2),
    slot_board("brown", 0.019).at(-0.12, -0.2),
    switch().at(-0.2, 0.0),
    goal_disc("red").at(0.05, 0.0),
]
SOCKETS = [hole_block("blue").at(0.06, -0.06), receptacle().at(0.06, 0.15), lamp().at(-0.1, 0.0)]


@pytest.mark.parametrize("things", [LOOSE, FIXTURES, SOCKETS])
def test_every_known_kind_is_recognised(things: Sequence[Thing]) -> None:
    found = seen(things)
    assert sorted(one.thing.kind for one in found) == sorted(thing.kind for thing in things)
    for thing in things:
        one = nearest(found, thing)
        assert (one.thing.kind, one.thing.colour) == (thing.kind, thing.colour)
        assert one.thing.bands in (thing.bands, thing.bands[::-1])
        assert one.thing.is_striped == thing.is_striped
        assert math.dist(one.pose.position, thing.pose.position) < 0.002
        for name, _ in thing.frames:
            there, here = thing.pose @ thing.frame(name), one.pose @ one.thing.frame(name)
            assert math.dist(there.position, here.position) < 0.004, name


def test_things_on_and_in_others_are_told_apart() -> None:
    things = [
        bin_("blue").at(0.05, 0.1),
        sphere("yellow").at(0.05, 0.1, z=0.024),
        cube("green").at(-0.1, 0.1),
        cube("red").at(-0.1, 0.1, z=0.06),
        cube("purple").at(-0.1, -0.1).named("lower"),
        cube("purple").at(-0.1, -0.1, z=0.06).named("upper"),
    ]
    found = seen(things)
    assert len(found) == len(things)
    for thing in things:
        one = nearest(found, thing)
        assert (one.thing.kind, one.thing.colour) == (thing.kind, thing.colour)
        assert math.dist(one.pose.position, thing.pose.position) < 0.002


@pytest.mark.parametrize("thing", [switch(), lamp()])
def test_a_lamp_is_seen_to_be_lit(thing: Thing) -> None:
    placed = thing.at(-0.1, 0.0)
    assert [one.lamp for one in seen([placed])] == ["dark grey"]
    assert [one.lamp for one in seen([placed], lit=f"{thing.name}/lamp")] == ["green"]


def test_an_empty_table_shows_nothing() -> None:
    assert seen([]) == []


def test_points_that_nothing_can_be_fitted_to_are_no_thing(monkeypatch: pytest.MonkeyPatch) -> None:
    """One blob that is noise does not hide the others."""

    def fit(points: Points, colour: str) -> Iterator[Sighting]:
        if colour == "blue":
            raise np.linalg.LinAlgError("the fit does not converge")
        return single_colour(points, colour)

    monkeypatch.setattr("robodx.sight.things.single_colour", fit)
    found = seen([cube("red").at(-0.1, 0.1), cube("blue").at(-0.1, -0.1)])
    assert [one.thing.colour for one in found] == ["red"]


def test_what_could_not_be_measured_is_not_seen_through() -> None:
    shown = show([])
    place = (-0.1, 0.0, 0.02)
    eye, depth = shown.eyes["front"], shown.depth["front"]
    assert eye.sees_past(place, depth)
    for unmeasured in (0.0, math.nan, math.inf):
        assert not eye.sees_past(place, np.full_like(depth, unmeasured))


def test_a_place_just_outside_the_picture_is_not_seen() -> None:
    eye = Eye.of(Calibration(90.0, Pose()), Pose(), 4, 4)
    far = np.full((4, 4), 9.0, dtype=np.float32)
    # Half a pixel within the left edge and below the upper one, and as far outside.
    assert eye.sees_past((-0.75, 0.75, -1.0), far)
    assert not eye.sees_past((-1.25, 0.0, -1.0), far)
    assert not eye.sees_past((0.0, 1.25, -1.0), far)


def test_depth_of_another_size_than_the_picture_is_refused() -> None:
    shown = show([])
    with pytest.raises(ValueError, match=f"not {PIXELS}x{PIXELS}"):
        shown.eyes["front"].look(shown.images["front"], shown.depth["front"][::2])


# From look to look.

FAR = Pose((-0.3, 0.0, 0.5))


def hand_at(tool: Pose, *, opening: float = 1.0, grip: float = 1.0) -> Hand:
    return Hand(tool, opening, 0.05, tool, grip)


def sighting(thing: Thing, points: int = 300) -> Sighting:
    return Sighting(thing, thing.pose, points)


def nothing_is_empty(place: object) -> bool:
    return False


def test_a_thing_keeps_its_name_when_it_moves_and_when_it_is_painted() -> None:
    sight = Sight(hand_at(FAR))
    sight.look([sighting(cube("red").at(0.0, 0.1)), sighting(cube("blue").at(0.0, -0.1))], 0.0, nothing_is_empty)
    sight.look([sighting(cube("blue").at(0.0, -0.1)), sighting(cube("red").at(0.02, 0.1))], 0.2, nothing_is_empty)
    assert sight.colour("object 1") == "red"
    assert sight.velocity("object 1")[0] == pytest.approx(0.1)
    for look_number in range(OTHER_LOOKS):
        swapped = [sighting(cube("blue").at(0.02, 0.1)), sighting(cube("red").at(0.0, -0.1))]
        sight.look(swapped, 0.4 + 0.2 * look_number, nothing_is_empty)
    assert [sight.colour(name) for name in sight.things] == ["blue", "red"]


def test_a_half_hidden_thing_stays_where_it_was_seen_better() -> None:
    sight = Sight(hand_at(FAR))
    sight.look([sighting(cube("red").at(0.0, 0.1))], 0.0, nothing_is_empty)
    sight.look([sighting(cube("red").at(0.008, 0.1), points=90)], 0.2, nothing_is_empty)
    sight.look([], 0.4, nothing_is_empty)
    assert sight.position("object 1") == (0.0, 0.1, 0.02)
    assert sight.is_present("object 1")


def test_what_is_seen_to_be_gone_is_gone() -> None:
    sight = Sight(hand_at(FAR))
    sight.look([sighting(cube("red").at(0.0, 0.1))], 0.0, nothing_is_empty)
    for look_number in range(GONE_LOOKS):
        sight.look([], 0.2 * (look_number + 1), lambda place: True)
    assert not sight.is_present("object 1")


def test_what_vanishes_is_seen_to_be_gone_and_what_stays_is_not() -> None:
    stays, goes = cube("red").at(-0.1, 0.1), sphere("blue").at(-0.1, -0.1)
    before, after = show([stays, goes]), show([stays])
    sight = Sight(hand_at(FAR))
    for number, shown in enumerate([before, *[after] * GONE_LOOKS]):
        sight.look(shown.sightings(), 0.2 * number, shown.is_empty)
    assert {sight.thing(name).kind: sight.is_present(name) for name in sight.things} == {"cube": True, "sphere": False}


def test_a_lamp_is_lit_when_it_was_seen_to_be_for_some_looks_on_end() -> None:
    sight = Sight(hand_at(FAR))
    bulb = sighting(lamp().at(0.0, 0.1))
    colours = ["dark grey", "green", "black", "green", "green"]
    lit = []
    for number, colour in enumerate(colours):
        sight.look([replace(bulb, lamp=colour)], 0.2 * number, nothing_is_empty)
        lit.append(sight.is_lit("object 1/lamp"))
    assert LIT_LOOKS == 2
    assert lit == [False, False, False, False, True]
    sight.look([bulb], 1.0, nothing_is_empty)
    assert sight.is_lit("object 1/lamp"), "a bulb that is hidden stays as it was"


def test_a_cylinder_that_lies_reaches_as_far_as_it_is_long() -> None:
    sight = Sight(hand_at(FAR))
    rolled = multiply(about("y", math.pi / 2), about("z", math.pi / 4))
    lying = cylinder("red", 0.02, 0.1).posed(Pose((0.0, 0.1, 0.02), rolled))
    sight.look([sighting(lying)], 0.0, nothing_is_empty)
    assert sight.reach("object 1") == pytest.approx((0.05, 0.02, 0.02))


def test_what_appears_is_believed_when_it_is_seen_again() -> None:
    sight = Sight(hand_at(FAR))
    sight.look([sighting(cube("red").at(0.0, 0.1))], 0.0, nothing_is_empty)
    both = [sighting(cube("red").at(0.0, 0.1)), sighting(sphere("blue").at(0.0, -0.1))]
    for look_number in range(NEW_LOOKS):
        assert len(sight.things) == 1
        sight.look(both, 0.2 * (look_number + 1), nothing_is_empty)
    assert sight.thing("object 2").kind == "sphere"


def test_a_thing_that_becomes_another_is_that_after_some_looks() -> None:
    sight = Sight(hand_at(FAR))
    sight.look([sighting(cube("red").at(0.0, 0.1))], 0.0, nothing_is_empty)
    for look_number in range(OTHER_LOOKS):
        assert sight.thing("object 1").kind == "cube"
        sight.look([sighting(sphere("red").at(0.0, 0.1))], 0.2 * (look_number + 1), nothing_is_empty)
    assert sight.thing("object 1").kind == "sphere"


def test_what_the_fingers_hold_moves_with_the_tool_until_they_open() -> None:
    hand = hand_at(FAR)
    sight = Sight(hand)
    sight.look([sighting(cube("red").at(0.0, 0.1))], 0.0, nothing_is_empty)
    hand.tool, hand.opening, hand.grip = Pose((0.003, 0.101, 0.02), (0.0, 1.0, 0.0, 0.0)), 0.5, 0.0
    sight.feel(is_settled=True)
    assert sight.is_grasped("object 1")
    hand.tool = hand.tool.shifted(dz=0.1)
    # Along the fingers it sits where it was; between them it is centred.
    assert sight.position("object 1") == pytest.approx((0.0, 0.101, 0.12))
    hand.grip = 1.0
    sight.feel(is_settled=False)
    hand.tool = hand.tool.shifted(dz=0.1)
    assert not sight.is_grasped("object 1")
    assert sight.position("object 1")[2] == pytest.approx(0.12)


def test_fingers_that_close_on_nothing_hold_nothing() -> None:
    hand = hand_at(FAR)
    sight = Sight(hand)
    sight.look([sighting(cube("red").at(0.0, 0.1))], 0.0, nothing_is_empty)
    hand.tool, hand.opening, hand.grip = Pose((0.0, 0.1, 0.02)), 0.0, 0.0
    sight.feel(is_settled=True)
    assert not sight.is_grasped("object 1")


@pytest.mark.parametrize("room", FAMILIAR_ROOMS)
def test_in_every_familiar_room_colours_are_told_by_where_the_light_comes_from(room: Room) -> None:
    """With the usual lamp a cube's sides in another light would be things of their own."""
    colours = ("red", "green", "blue", "yellow", "orange", "purple", "white")
    shown = show([cube(colour).at(*PLACES[2 * index]) for index, colour in enumerate(colours)], room=room)
    assert sorted(one.thing.name for one in shown.sightings()) == sorted(f"{colour} cube" for colour in colours)


def test_a_base_that_is_not_seen_tells_no_lamp() -> None:
    shown = show([cube("red").at(-0.1, 0.0)])
    dark = {name: np.zeros_like(depth) for name, depth in shown.depth.items()}
    assert towards_lamp(shown.eyes, shown.images, dark, ROBOTS["panda"].base_in_world) is None
