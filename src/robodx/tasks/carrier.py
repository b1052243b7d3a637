"""Carriers: one simple act each in random scenes, in which all that may matter is drawn independently.

Kinds, colours, sizes, places and turns, the number of things, which of them is meant and how it is said: none goes with
another, except where else it could not be done. Other suites vary one factor of these scenes at a time.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import product

import numpy as np

from robodx.language.meaning import Clause, Meaning, do, pick, put
from robodx.language.phrasing import phrase, phrasing_count
from robodx.scoring.conditions import Condition
from robodx.scoring.contact import Grasped
from robodx.scoring.from_meaning import LIFT_M, stages_for
from robodx.scoring.relations import Lifted
from robodx.sim.objects import bin_, bowl, cube, cylinder, open_box, peg, sphere, t_block, triangular_block
from robodx.sim.placement import place_clearly
from robodx.sim.scene import Region, Scene, Thing, tabletop
from robodx.streams import Streams
from robodx.tasks.base import Register, Situation, task

COLOURS = ("red", "green", "blue", "yellow", "orange", "purple", "pink", "cyan")
# Loose things by kind, from a colour and a scale; all fit between the fingers.
LOOSE: dict[str, Callable[[str, float], Thing]] = {
    "cube": lambda colour, scale: cube(colour, 0.02 * scale),
    "sphere": lambda colour, scale: sphere(colour, 0.02 * scale),
    "cylinder": lambda colour, scale: cylinder(colour, 0.02 * scale, 0.05 * scale),
    "triangular block": lambda colour, scale: triangular_block(colour, 0.05 * scale, 0.04 * scale),
    "T-block": lambda colour, scale: t_block(colour, 0.06 * scale, 0.024 * scale),
    "peg": lambda colour, scale: peg(colour, 0.015 * scale, 0.12 * scale),
}
ANY = tuple(LOOSE)
SCALES = (0.85, 1.15)
CONTAINERS: dict[str, Callable[[str], Thing]] = {"bin": bin_, "bowl": bowl, "box": open_box}
# What others can be put on, what stays where it is put (a sphere rolls away), and what goes into any container.
FLAT_ON_TOP = ("cube", "cylinder", "T-block", "peg")
FLAT_BELOW = ("cube", "cylinder", "triangular block", "T-block", "peg")
SHORT = ("cube", "sphere", "cylinder", "triangular block", "T-block")

TABLE = Region(x=(-0.2, 0.08), y=(-0.23, 0.23), yaw_rad=(-math.pi, math.pi), gap_m=0.05)
# A thing that is to go near another, and the hand around it, need room there.
SPACIOUS = replace(TABLE, gap_m=0.09)
LIFTED_M = 0.02
# Five control steps at 20 Hz: it is counted from the first of them.
LIFTED_S = 0.2
STABLE_S = 0.5


def carrier(*, chance: float, primitive: str) -> Register:
    return task(
        family="carrier",
        varies=("robot", "layout", "attributes", "instruction", "arena"),
        tags=("carrier",),
        chance=chance,
        primitive=primitive,
    )


# Scenes.


def drawn(rng: np.random.Generator, *roles: Sequence[str]) -> list[Thing]:
    """A loose thing for each role, of any of its kinds; no two share both kind and colour."""
    looks: list[tuple[str, str]] = []
    for kinds in roles:
        free = [look for look in product(kinds, COLOURS) if look not in looks]
        looks.append(free[rng.integers(len(free))])
    return [LOOSE[kind](colour, rng.uniform(*SCALES)) for kind, colour in looks]


def containers(rng: np.random.Generator, number: int) -> list[Thing]:
    """Of any kinds, no two of one colour."""
    kinds, colours = rng.choice(list(CONTAINERS), number), rng.permutation(COLOURS)
    return [CONTAINERS[kind](str(colour)) for kind, colour in zip(kinds, colours, strict=False)]


def lay_out(rng: np.random.Generator, things: Sequence[Thing], region: Region = TABLE) -> Scene:
    """Anywhere; placed and listed in any order, so that neither goes with what is meant."""

    def drawn() -> Scene:
        order = rng.permutation(len(things))
        # What is fixed goes first, for it is big: if there is room for it only last, there is none.
        ordered = sorted((things[index] for index in order), key=lambda thing: not thing.is_fixed)
        return tabletop(*(thing.within(region) for thing in ordered))

    return place_clearly(drawn, rng)


# What counts.


def asked(streams: Streams, scene: Scene, clause: Clause, *stages: Condition) -> Situation:
    """In one of the training phrasings; lifting another thing than the one that is meant is a wrong answer."""
    meaning = Meaning((clause,))
    said = streams.rng("instruction", clause.act).integers(phrasing_count(meaning, "train"))
    others = (thing.name for thing in scene if not thing.is_fixed and thing.name != clause.target.words)
    never = tuple(Lifted(name, LIFT_M) for name in others)
    return Situation(scene, phrase(meaning, "train", int(said)), stages, never)


def lasting(scene: Scene, clause: Clause) -> tuple[Condition, ...]:
    """What is asked for, and that it stays so for a while."""
    *before, last = stages_for(Meaning((clause,)), scene)
    return (*before, last.held_for(STABLE_S))


@carrier(chance=(1 / 2 + 1 / 3 + 1 / 4 + 1 / 5) / 4, primitive="primitive/pick_cube")
def pick_up(streams: Streams) -> Situation:
    """Pick up one of two to five things, and hold it 2 cm above the table."""
    rng = streams.rng("attributes", "pick_up")
    target, *_ = things = drawn(rng, *[ANY] * rng.integers(2, 6))
    scene = lay_out(streams.rng("layout", "pick_up"), things)
    lifted = Grasped(target.name) & Lifted(target.name, LIFTED_M)
    return asked(streams, scene, pick(target.name), Grasped(target.name), lifted.held_for(LIFTED_S))


@carrier(chance=(1 / 2 + 1 / 6 + 1 / 12) / 3, primitive="primitive/pick_cube")
def move_near(streams: Streams) -> Situation:
    """Move one of two to four things to within 5 cm of another."""
    rng = streams.rng("attributes", "move_near")
    target, other, *_ = things = drawn(rng, FLAT_BELOW, *[ANY] * rng.integers(1, 4))
    scene = lay_out(streams.rng("layout", "move_near"), things, SPACIOUS)
    clause = do("move", target.name, "near", other.name)
    return asked(streams, scene, clause, *lasting(scene, clause))


@carrier(chance=(1 / 2 + 1 / 6 + 1 / 12) / 3, primitive="control/stack_cube")
def put_on(streams: Streams) -> Situation:
    """Put one of two to four things on top of another, where it stays."""
    rng = streams.rng("attributes", "put_on")
    target, support, *_ = things = drawn(rng, FLAT_BELOW, FLAT_ON_TOP, *[ANY] * rng.integers(0, 3))
    scene = lay_out(streams.rng("layout", "put_on"), things)
    clause = put(target.name, "on", support.name)
    return asked(streams, scene, clause, *lasting(scene, clause))


# With two of three kinds drawn for two containers, they are of one kind in a third of scenes, and then it is guessed.
@carrier(chance=(1 / 2 + 1 / 3) / 2 * (1 + 5 / 6) / 2, primitive="control/place_sphere")
def put_in(streams: Streams) -> Situation:
    """Put one of two or three things into a bin, a bowl or a box, of which there may be two."""
    rng = streams.rng("attributes", "put_in")
    target, *others = drawn(rng, SHORT, *[ANY] * rng.integers(1, 3))
    goal, *more = containers(rng, int(rng.integers(1, 3)))
    scene = lay_out(streams.rng("layout", "put_in"), (target, *others, goal, *more))
    clause = put(target.name, "in", goal.name)
    return asked(streams, scene, clause, *lasting(scene, clause))
