"""Perception: to touch the right thing first is enough; what the things look like and where they lie varies."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from robodx.language.meaning import Words, touch
from robodx.language.phrasing import say
from robodx.language.reference import Rank, Reference, the
from robodx.scoring.contact import TouchedFirst, TouchedOtherFirst
from robodx.sim.objects import banded_peg, cube, cylinder, peg, slot_board, sphere, t_block, triangular_block
from robodx.sim.placement import place
from robodx.sim.scene import Region, Thing, tabletop
from robodx.streams import Streams
from robodx.tasks.base import Register, Situation, Tier, task

TAGS = ("capability",)
# Around these things may lie, on two rows: so far off that a place is not met blindly, and yet so far apart that a
# finger reaches one alone.
SLOTS = tuple((x, y) for x in (-0.20, -0.04) for y in (0.16, 0.0, -0.16))
JITTER_M = 0.035
APART_M = 0.12
# What is wide is met blindly more often: it lies anywhere.
ANYWHERE = Region(x=(-0.24, 0.06), y=(-0.25, 0.25), yaw_rad=(-math.pi, math.pi), gap_m=0.03)
# Behind the rows, for what stands there.
BACK = (0.125, 0.0)

VIVID = ("red", "green", "blue", "yellow", "orange", "purple")
LIKE_RED = ("orange", "pink", "magenta", "maroon", "brown", "purple")
# The lightest that no camera's picture shows as white.
GREYS = ("silver", "pearl grey", "ash grey")
NOT_T_BLOCKS: tuple[Callable[[str], Thing], ...] = (cube, cylinder, triangular_block)
BANDS = ("red", "yellow", "blue")
BIG_M, SMALL_M = 0.020, 0.012
# How much bigger or smaller the odd cube's side is.
ODD_SHARE = 0.18
# Each cube is this much wider than the next; the slot has this much room around the one that fits.
STEP_SHARE = 1.2
CLEARANCE_M = 0.001


def perception(tier: Tier, *, chance: float) -> Register:
    return task(
        family="perception",
        tier=tier,
        varies=("robot", "attributes", "layout", "arena"),
        tags=TAGS,
        chance=chance,
        version=2,
    )


def some(streams: Streams, words: tuple[str, ...], count: int) -> list[str]:
    """So many different ones of these, in any order."""
    return [str(word) for word in streams.rng("attributes", *words).permutation(words)[:count]]


def turn_in_every_slot(streams: Streams, count: int) -> int:
    """One of so many, each in turn over seeds, and each with every slot of the first thing."""
    turn = streams.turn("attributes", count * len(SLOTS))
    return (turn + turn // len(SLOTS)) % count


def scattered(streams: Streams, things: tuple[Thing, ...]) -> tuple[Thing, ...]:
    """Each around a slot of its own, and turned. Over seeds the first takes every slot in turn."""
    rng = streams.rng("layout")
    first = streams.turn("layout", len(SLOTS))
    others = rng.permutation([slot for slot in range(len(SLOTS)) if slot != first])
    placed: dict[int, Thing] = {}
    for thing, slot in zip(things, (first, *others.tolist()), strict=False):
        x, y = around(rng, SLOTS[slot], [other.pose.position[:2] for other in placed.values()])
        placed[slot] = thing.at(x, y, yaw_rad=rng.uniform(-math.pi, math.pi))
    # In the order of their places: which comes first among the things says nothing.
    return tuple(placed[slot] for slot in sorted(placed))


def around(
    rng: np.random.Generator, slot: tuple[float, float], taken: list[tuple[float, float]]
) -> tuple[float, float]:
    """Near a slot, and clear of the places that are taken."""
    while True:
        x, y = (middle + rng.uniform(-JITTER_M, JITTER_M) for middle in slot)
        if all(math.dist((x, y), other) > APART_M for other in taken):
            return x, y


def strewn(streams: Streams, things: tuple[Thing, ...]) -> tuple[Thing, ...]:
    """Each anywhere, in any order."""
    rng = streams.rng("layout")
    return place(tabletop(*(things[index].within(ANYWHERE) for index in rng.permutation(len(things)))), rng).things


def touch_first(
    streams: Streams,
    words: Words,
    things: tuple[Thing, ...],
    *fixed: Thing,
    laid: Callable[[Streams, tuple[Thing, ...]], tuple[Thing, ...]] = scattered,
) -> Situation:
    """Touch the first of these, wherever it lies, and none of the others before."""
    target = things[0].name
    return Situation(
        scene=tabletop(*laid(streams, things), *fixed),
        instruction=say(touch(words)),
        stages=(TouchedFirst(target),),
        never=(TouchedOtherFirst(target),),
    )


# What is to be told apart, the right one first.


def spheres_of_two_sizes(streams: Streams) -> tuple[Thing, ...]:
    (colour,) = some(streams, VIVID, 1)
    return (sphere(colour, BIG_M).named("bigger sphere"), sphere(colour, SMALL_M).named("smaller sphere"))


def red_sphere_among_others(streams: Streams) -> tuple[Thing, ...]:
    return (sphere("red"), *(sphere(colour) for colour in some(streams, ("green", "blue", "yellow", "purple"), 2)))


def sphere_among_cubes(streams: Streams) -> tuple[Thing, ...]:
    first, *others = some(streams, VIVID, 3)
    return (sphere(first), *(cube(colour) for colour in others))


@perception("easy", chance=1 / 2)
def touch_bigger_sphere(streams: Streams) -> Situation:
    """Touch the bigger of two spheres of the same colour."""
    return touch_first(streams, "bigger sphere", spheres_of_two_sizes(streams))


@perception("easy", chance=1 / 3)
def touch_red_sphere(streams: Streams) -> Situation:
    """Touch the red one of three spheres."""
    return touch_first(streams, "red sphere", red_sphere_among_others(streams))


@perception("easy", chance=1 / 3)
def touch_sphere(streams: Streams) -> Situation:
    """Touch the only sphere among cubes, whatever its colour."""
    return touch_first(streams, "sphere", sphere_among_cubes(streams))


@perception("medium", chance=1 / 4)
def touch_odd_cube(streams: Streams) -> Situation:
    """Touch the cube that is slightly bigger or smaller than all other cubes of its colour."""
    (colour,) = some(streams, VIVID, 1)
    half = streams.rng("attributes").uniform(0.018, 0.022)
    odd = half * (1 + (-1, 1)[turn_in_every_slot(streams, 2)] * ODD_SHARE)
    alike = (cube(colour, half).named(f"{number} cube") for number in ("first", "second", "third"))
    return touch_first(streams, "odd cube", (cube(colour, odd).named("odd cube"), *alike))


@perception("medium", chance=1 / 3)
def touch_red_t(streams: Streams) -> Situation:
    """Touch the red T-block, beside a T-block of another colour and a red object of another shape."""
    (colour,) = some(streams, ("green", "blue", "yellow", "purple"), 1)
    return touch_first(streams, "red T-block", (t_block("red"), t_block(colour), not_t_blocks(streams, "red")[0]))


def not_t_blocks(streams: Streams, *colours: str) -> list[Thing]:
    """Of these colours, each of another kind."""
    order = streams.rng("attributes", "kinds").permutation(len(NOT_T_BLOCKS))
    return [NOT_T_BLOCKS[index](colour) for index, colour in zip(order, colours, strict=False)]


@perception("medium", chance=1 / 3)
def touch_white_peg(streams: Streams) -> Situation:
    """Touch the white peg among light grey ones."""
    pegs = tuple(peg(colour, length_m=0.1) for colour in ("white", *some(streams, GREYS, 2)))
    return touch_first(streams, "white peg", pegs)


@perception("hard", chance=1 / 6)
def touch_red_t_in_clutter(streams: Streams) -> Situation:
    """Touch the red T-block among T-blocks and other objects of similar colours."""
    one, two, three, four = some(streams, LIKE_RED, 4)
    things = (t_block("red"), t_block(one), t_block(two), *not_t_blocks(streams, "red", three, four))
    return touch_first(streams, "red T-block", things, laid=strewn)


@perception("hard", chance=1 / 3)
def touch_cube_that_fits(streams: Streams) -> Situation:
    """Touch the cube that fits the slot; it may be the smallest, the biggest or the middle one."""
    smallest, fitting = streams.rng("attributes").uniform(0.0165, 0.0185), turn_in_every_slot(streams, 3)
    halves = [smallest * STEP_SHARE ** ((fitting + index) % 3) for index in range(3)]
    cubes = tuple(cube(colour, half) for colour, half in zip(some(streams, VIVID, 3), halves, strict=True))
    board = slot_board("light grey", halves[0] + CLEARANCE_M).at(
        BACK[0], streams.rng("layout", "board").uniform(-0.15, 0.15)
    )
    return touch_first(streams, Reference("cube", rank=Rank("that fits", of=the("slot"))), cubes, board)


@perception("hard", chance=1 / 3)
def touch_banded_peg(streams: Streams) -> Situation:
    """Touch the peg whose bands have the named order, read from either end."""
    rng = streams.rng("attributes")
    # Read backwards an order is the same order, so that three colours have three: each has another in the middle.
    first, second, third = BANDS
    orders = (BANDS, (second, third, first), (third, first, second))
    # Which of its own colours a peg has, and which end comes first, says nothing.
    colours = rng.choice(("white", "grey", "dark grey", "black"), len(orders)).tolist()
    pegs = (
        banded_peg(*order[:: rng.choice((-1, 1))], colour=colour, length_m=0.1)
        for order, colour in zip(orders, colours, strict=True)
    )
    return touch_first(streams, replace(the("peg"), bands=BANDS), tuple(pegs))
