"""Robustness: control tasks, word for word, with distractors, looks, shapes and rooms that no other family shows.

For evaluation only: a policy that was shown them could not be tested on what is unseen.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from itertools import combinations

from robodx.language.meaning import insert
from robodx.sim.colours import SHADES
from robodx.sim.geometry import Vector
from robodx.sim.objects import cross, cube, half_moon, hexagonal_block, kit_tray, octagonal_peg, sphere
from robodx.sim.placement import MAX_TRIES, NoRoom
from robodx.sim.rooms import UNSEEN_ROOMS
from robodx.sim.scene import Region, Scene, Thing
from robodx.streams import Streams, Variation
from robodx.tasks import control, primitive
from robodx.tasks.base import EVALUATION_ONLY, Register, Situation, Task, Tier, task
from robodx.tasks.control import (
    ANY_TURN,
    LOOKS,
    in_every_order,
    lay_out,
    place_in_bin,
    plainly,
    push_onto_disc,
    stack,
    to_do,
)
from robodx.tasks.primitive import stand_upright

TAGS = ("capability", EVALUATION_ONLY)

UNSEEN_COLOURS = ("coral", "lavender", "mint", "sky blue")
TRAY_COLOUR = "ivory"
UNSEEN_BLOCKS: dict[str, Callable[[str], Thing]] = {
    "hexagonal block": hexagonal_block,
    "cross": cross,
    "half-moon": half_moon,
}
UNSEEN_KINDS = (*UNSEEN_BLOCKS, "octagonal peg", "kit tray")
# Control's cubes and spheres are 40 mm wide. What is smaller and bigger here still fits the gripper and the bin's cell.
UNSEEN_CUBE_HALVES_M = ((0.016, 0.0185), (0.0215, 0.023))
UNSEEN_RADII_M = ((0.016, 0.0185), (0.021, 0.022))
PEG_LENGTHS_M = (0.11, 0.13)
# Where distractors lie, and how far from everything else: open fingers come down beside them.
DISTRACTORS = Region(x=(-0.22, 0.08), y=(-0.24, 0.24), yaw_rad=ANY_TURN)
ROOM_M = 0.08
# A part is held as it is taken, and the half-moon fits one way round: see control's INSERTED.
TRAY = Region(x=(0.02, 0.06), y=(-0.06, 0.06), yaw_rad=(-0.3, 0.3))
PART = Region(x=(-0.22, -0.08), y=(-0.22, 0.22), yaw_rad=(-1.2, 1.2), gap_m=0.04)


def robustness(tier: Tier, *, of: Task, chance: float, varies: tuple[Variation, ...] = LOOKS) -> Register:
    """A task that shows what the task `of` asks for with other looks."""
    return task(
        family="robustness",
        tier=tier,
        varies=varies,
        tags=TAGS,
        chance=chance,
        version=2,
        primitive=of.id,
        draws_as=of.id,
    )


def colours(streams: Streams, count: int) -> list[str]:
    """So many unseen ones, no two the same."""
    return [str(colour) for colour in streams.rng("attributes", "colours").permutation(UNSEEN_COLOURS)[:count]]


def size(streams: Streams, ranges: tuple[tuple[float, float], ...]) -> float:
    """Smaller than usual, or bigger, in turn; each with every side on which a thing may lie."""
    turn = streams.turn("attributes", 2 * len(ranges)) // 2
    return float(streams.rng("attributes", "size").uniform(*ranges[turn]))


def shaded(streams: Streams, thing: Thing) -> Thing:
    """In an unseen shade of the colour that it is still called by."""
    shade = str(streams.rng("attributes", "shade", thing.colour).choice(list(SHADES[thing.colour])))
    return replace(thing, shapes=tuple(replace(shape, colour=shade) for shape in thing.shapes))


def unseen_cube(streams: Streams, colour: str) -> Thing:
    return shaded(streams, cube(colour, size(streams, UNSEEN_CUBE_HALVES_M)))


def free_places(streams: Streams, scene: Scene, count: int) -> list[tuple[float, float, float]]:
    """So many (x, y, turn) with room around them, and beside the way from any thing to any other."""
    rng, taken = streams.rng("layout", "distractors"), [(thing.pose.position, thing.radius_m) for thing in scene]
    ways = list(combinations([place for place, _ in taken], 2))
    places: list[tuple[float, float, float]] = []
    for _ in range(MAX_TRIES):
        x, y, yaw = (float(rng.uniform(*bounds)) for bounds in (DISTRACTORS.x, DISTRACTORS.y, DISTRACTORS.yaw_rad))
        if all(math.dist((x, y), at[:2]) > radius + ROOM_M for at, radius in taken) and all(
            beside_m((x, y), *way) > ROOM_M for way in ways
        ):
            places.append((x, y, yaw))
            taken.append(((x, y, 0.0), 0.0))
        if len(places) == count:
            return places
    raise NoRoom(f"no room for {count} more things beside {', '.join(thing.name for thing in scene)}")


def beside_m(place: tuple[float, float], start: Vector, end: Vector) -> float:
    """How far a place lies from the straight way between two others."""
    dx, dy = end[0] - start[0], end[1] - start[1]
    along = ((place[0] - start[0]) * dx + (place[1] - start[1]) * dy) / (dx * dx + dy * dy)
    share = min(1.0, max(0.0, along))
    return math.dist(place, (start[0] + share * dx, start[1] + share * dy))


def with_distractors(situation: Situation, streams: Streams, *places: tuple[float, float, float]) -> Situation:
    """Unseen blocks of unseen colours at these places (x, y, turn)."""
    kinds = streams.rng("attributes", "kinds").permutation(list(UNSEEN_BLOCKS))
    blocks = [
        UNSEEN_BLOCKS[kind](colour).at(x, y, yaw_rad=yaw)
        for kind, colour, (x, y, yaw) in zip(kinds, colours(streams, len(places)), places, strict=False)
    ]
    return replace(situation, scene=replace(situation.scene, things=(*situation.scene.things, *blocks)))


def with_some_distractors(situation: Situation, streams: Streams, count: int) -> Situation:
    return with_distractors(situation, streams, *free_places(streams, situation.scene, count))


def in_unseen_room(situation: Situation, streams: Streams) -> Situation:
    room = UNSEEN_ROOMS[streams.turn("arena", len(UNSEEN_ROOMS))]
    return replace(situation, scene=room.around(situation.scene))


@robustness("easy", of=control.place_sphere, chance=1 / 3)
def place_sphere_with_distractors(streams: Streams) -> Situation:
    """Put the sphere into the bin, with two distractors of unseen shapes and colours."""
    return with_some_distractors(control.place_sphere.situate(streams), streams, 2)


@robustness("easy", of=control.push_cube, chance=1 / 3)
def push_cube_with_distractors(streams: Streams) -> Situation:
    """Push the cube onto the disc, with two distractors of unseen shapes and colours."""
    return with_some_distractors(control.push_cube.situate(streams), streams, 2)


@robustness("easy", of=control.stack_cube, chance=1 / 6)
def stack_cube_with_distractors(streams: Streams) -> Situation:
    """Stack the red cube on the green one, with a distractor of unseen shape and colour."""
    return with_some_distractors(control.stack_cube.situate(streams), streams, 1)


@robustness("medium", of=control.place_sphere, chance=1.0)
def place_unseen_sphere(streams: Streams) -> Situation:
    """Put a sphere of unseen colour and size into the bin."""
    (colour,), (_, usual) = colours(streams, 1), control.colours(streams, "sphere", "bin")
    return place_in_bin(streams, sphere(colour, size(streams, UNSEEN_RADII_M)), usual)


@robustness("medium", of=control.push_cube, chance=1.0)
def push_unseen_cube(streams: Streams) -> Situation:
    """Push a cube of unseen colour and size onto the disc."""
    (colour,), (_, usual) = colours(streams, 1), control.colours(streams, "cube", "disc")
    return push_onto_disc(streams, cube(colour, size(streams, UNSEEN_CUBE_HALVES_M)), usual)


@robustness("medium", of=control.stack_cube, chance=1 / 2)
def stack_unseen_cube(streams: Streams) -> Situation:
    """Stack the red cube on the green one; its shade of red and its size are unseen."""
    return stack(streams, unseen_cube(streams, "red"), cube("green"))


@robustness("hard", of=control.insert_peg, chance=1 / 6)
def kit_assembly(streams: Streams) -> Situation:
    """Insert three parts of unseen shapes into their recesses in a tray, in a stated order, in an unseen room.

    It names its parts, which no other task may show: no task says the same in familiar rooms.
    """
    parts = [block(colour) for block, colour in zip(UNSEEN_BLOCKS.values(), colours(streams, 3), strict=True)]
    tray = plainly(kit_tray(TRAY_COLOUR)).within(TRAY)
    scene = lay_out(streams, tray, *(plainly(part).within(PART) for part in parts))
    scene = in_every_order(streams, scene, *(part.kind for part in parts))
    return in_unseen_room(to_do(scene, *(insert(part.kind, tray.kind) for part in parts)), streams)


@robustness("hard", of=control.stack_cube, chance=1 / 12)
def novel_scene_stack(streams: Streams) -> Situation:
    """Stack the red cube on the green one, both of unseen shades and sizes, among unseen shapes in an unseen room."""
    stacked = stack(streams, unseen_cube(streams, "red"), unseen_cube(streams, "green"))
    return in_unseen_room(with_some_distractors(stacked, streams, 2), streams)


@robustness("hard", of=primitive.stand_peg, chance=1.0)
def lift_peg_upright(streams: Streams) -> Situation:
    """Stand a lying peg of unseen shape on its end, within 0.08 rad and 5 mm, in an unseen room."""
    (colour,) = colours(streams, 1)
    length_m = float(streams.rng("attributes", "length").uniform(*PEG_LENGTHS_M))
    # Eight sides or four, anybody calls it a peg.
    unseen = plainly(replace(octagonal_peg(colour, length_m=length_m), kind="peg"))
    return in_unseen_room(stand_upright(unseen), streams)
