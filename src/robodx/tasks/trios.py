"""Three cubes in six arrangements: each colour lies once at each of six places, and no place is used twice.

From left to right the colours are in all orders. No cube has the same rank from left to right as from near to far.
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass

from robodx.language.reference import Seen
from robodx.scoring.from_meaning import looks
from robodx.sim.objects import cube
from robodx.sim.scene import Scene, Thing, tabletop
from robodx.streams import Streams

COLOURS = ("red", "green", "blue")
ARRANGEMENTS = 6
LEFT_TO_RIGHT_M = (0.17, 0.0, -0.17)
NEAR_M, HALFWAY_M, FAR_M = -0.18, -0.07, 0.04
# How far away the left, the middle and the right cube are, in every other arrangement.
ROWS_M = ((FAR_M, NEAR_M, HALFWAY_M), (HALFWAY_M, FAR_M, NEAR_M))
# Where in its part of the table a cube lies: who grasps where another arrangement has a cube grasps air.
SHIFTS_M = ((0.025, -0.03), (-0.025, 0.0), (0.025, 0.03))
# Each of the eighteen is turned otherwise, by less than looks the same again.
TURNS_RAD = tuple(math.radians(5 * (7 * step % 18) - 42.5) for step in range(18))


def placed(thing: Thing, arrangement: int, which: int) -> Thing:
    """The first, second or third cube where it lies."""
    turn, is_mirrored = divmod(arrangement, 2)
    column = (turn + 2 - which if is_mirrored else which - turn) % 3
    dx, dy = SHIFTS_M[(turn + (1 if is_mirrored else 2) * column) % 3]
    x, y = ROWS_M[is_mirrored][column], LEFT_TO_RIGHT_M[column]
    return thing.at(x + dx, y + dy, yaw_rad=TURNS_RAD[3 * arrangement + column])


@dataclass(frozen=True)
class Shared:
    """What two of three cubes have in common, and the third has not."""

    colour: str
    other_colour: str
    is_striped: bool
    is_big: bool


@dataclass(frozen=True, eq=False)
class Trio:
    """Three cubes as they lie, and how that looks. Each is made once."""

    scene: Scene
    shared: Shared | None = None

    @functools.cached_property
    def seen(self) -> Seen:
        return looks(self.scene)

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(thing.name for thing in self.scene)


@functools.cache
def coloured(arrangement: int) -> Trio:
    """A red, a green and a blue one, in this order."""
    return Trio(tabletop(*(placed(cube(colour), arrangement, which) for which, colour in enumerate(COLOURS))))


@functools.cache
def paired(arrangement: int, shared: Shared) -> Trio:
    """One that differs in its pattern only, one in its size only, one in its colour only: two attributes tell each."""
    things = []
    for which, differs_in in enumerate(("pattern", "size", "colour")):
        colour = shared.other_colour if differs_in == "colour" else shared.colour
        is_striped = shared.is_striped != (differs_in == "pattern")
        is_big = shared.is_big != (differs_in == "size")
        name = f"{'big' if is_big else 'small'} {'striped' if is_striped else 'plain'} {colour} cube"
        thing = cube(colour, 0.03 if is_big else 0.02, is_striped=is_striped)
        things.append(placed(thing.named(name), arrangement, which))
    return Trio(tabletop(*things), shared)


def arranged(streams: Streams) -> int:
    """Each arrangement in turn, when all three cubes have been meant in the one before."""
    return streams.turn("layout", len(COLOURS) * ARRANGEMENTS) // len(COLOURS)
