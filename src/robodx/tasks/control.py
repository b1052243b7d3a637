"""Control: one instruction a task, and things that are easy to see; where they lie and how they are turned varies."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import reduce
from itertools import permutations
from operator import and_

from robodx.language.meaning import Clause, insert, push, put
from robodx.language.phrasing import say
from robodx.scoring.conditions import Condition
from robodx.scoring.contact import Grasped, settled
from robodx.scoring.from_meaning import stages_for
from robodx.scoring.relations import CentredOn, In, On
from robodx.sim.geometry import Pose
from robodx.sim.objects import bin_, charger, cube, goal_disc, hole_block, peg, receptacle, sphere
from robodx.sim.placement import place_clearly
from robodx.sim.scene import Region, Scene, Thing, tabletop
from robodx.streams import Streams, Variation
from robodx.tasks.base import Register, Situation, Tier, task
from robodx.tasks.perception import VIVID

TAGS = ("capability",)
POSES: tuple[Variation, ...] = ("robot", "layout", "arena")
LOOKS: tuple[Variation, ...] = (*POSES, "attributes")

# Where the hand reaches and the cameras see. What is taken or put beside another leaves room for open fingers.
ANY_TURN = (-math.pi, math.pi)
LOOSE = Region(x=(-0.22, 0.08), y=(-0.22, 0.22), yaw_rad=ANY_TURN, gap_m=0.05)
PUSHED = Region(x=(-0.22, 0.07), y=(-0.25, 0.25), yaw_rad=ANY_TURN, gap_m=0.03)
BIN = Region(x=(-0.17, 0.06), y=(-0.20, 0.20), yaw_rad=ANY_TURN, gap_m=0.01)
DISC = Region(x=(-0.15, 0.04), y=(-0.17, 0.17))
# A third and a fourth cube are put beside the second: there is room on its sides.
BUILDING = Region(x=(-0.20, 0.06), y=(-0.21, 0.21), yaw_rad=ANY_TURN, gap_m=0.08)
# The hand holds what it inserts as it took it, and turns no further than its wrist: the tip points away from the robot.
INSERTED = Region(x=(-0.20, -0.08), y=(-0.20, 0.20), yaw_rad=(-1.3, 1.3), gap_m=0.03)
HOLE = Region(x=(0.02, 0.10), y=(-0.14, 0.14), yaw_rad=(-0.5, 0.5))


def control(tier: Tier, *, chance: float, varies: tuple[Variation, ...] = POSES) -> Register:
    return task(family="control", tier=tier, varies=varies, tags=TAGS, chance=chance, version=2)


def colours(streams: Streams, *things: str, but: Sequence[str] = ()) -> list[str]:
    """A familiar one for each of these, no two the same."""
    choice = [colour for colour in VIVID if colour not in but]
    return [str(colour) for colour in streams.rng("attributes", *things).permutation(choice)[: len(things)]]


def plainly(thing: Thing) -> Thing:
    """Named by its kind alone: the only one, whatever its colour."""
    return thing.named(thing.kind)


def lay_out(streams: Streams, *things: Thing) -> Scene:
    """Each within its region, drawn again until there is room for all."""
    return place_clearly(lambda: tabletop(*things), streams.rng("layout", *(thing.name for thing in things)))


def in_every_order(streams: Streams, scene: Scene, *names: str) -> Scene:
    """The scene with these things' places exchanged: over seeds each order from left to right comes in turn."""
    orders = list(permutations(names))
    order = orders[streams.turn("layout", len(orders))]
    left_first = sorted((scene.thing(name).pose for name in names), key=lambda pose: -pose.position[1])
    poses = dict(zip(order, left_first, strict=True))

    def moved(thing: Thing) -> Thing:
        if thing.name not in poses:
            return thing
        (x, y, _), turn = poses[thing.name].position, poses[thing.name].quaternion
        # Theirs may be another size: each rests on the table.
        return thing.posed(Pose((x, y, thing.half_extents[2]), turn))

    return replace(scene, things=tuple(moved(thing) for thing in scene))


def to_do(scene: Scene, *clauses: Clause, finally_: tuple[Condition, ...] = ()) -> Situation:
    """What counts follows from what is said; at the end these hold besides."""
    instruction = say(*clauses)
    *before, last = stages_for(instruction.meaning, scene)
    return Situation(scene, instruction, (*before, reduce(and_, finally_, last)))


def in_cell(thing: str, container: str) -> Condition:
    return settled(thing) & In(thing, container) & CentredOn(thing, container, 0.005, frame="cell")


def visit_bins(scene: Scene, ball: str, *bins: str) -> Situation:
    """Into the cell of each, which is more exact than to be in the bin."""
    stages: list[Condition] = []
    for name in bins:
        stages += [Grasped(ball), in_cell(ball, name)]
    return Situation(scene, say(*(put(ball, "in", name) for name in bins)), tuple(stages))


def place_in_bin(streams: Streams, ball: Thing, bin_colour: str) -> Situation:
    scene = lay_out(streams, plainly(bin_(bin_colour)).within(BIN), plainly(ball).within(LOOSE))
    return visit_bins(scene, "sphere", "bin")


def push_onto_disc(streams: Streams, pushed: Thing, disc_colour: str) -> Situation:
    scene = lay_out(streams, plainly(goal_disc(disc_colour)).within(DISC), plainly(pushed).within(PUSHED))
    return to_do(scene, push("cube", "disc"))


def stack(streams: Streams, red: Thing, green: Thing) -> Situation:
    scene = lay_out(streams, red.within(LOOSE), green.within(LOOSE))
    return to_do(in_every_order(streams, scene, red.name, green.name), put("red cube", "on", "green cube"))


def bins_in_every_order(streams: Streams, *order: str) -> Situation:
    """A sphere of a colour that no bin has, and from left to right the bins in any order."""
    (ball,) = colours(streams, "sphere", but=order)
    names = [f"{colour} bin" for colour in order]
    scene = lay_out(streams, *(bin_(colour).within(BIN) for colour in order), plainly(sphere(ball)).within(LOOSE))
    return visit_bins(in_every_order(streams, scene, *names), "sphere", *names)


def build(
    streams: Streams, cubes: tuple[str, ...], *clauses: Clause, finally_: tuple[Condition, ...] = ()
) -> Situation:
    scene = lay_out(streams, *(cube(colour).within(BUILDING) for colour in cubes))
    scene = in_every_order(streams, scene, *(thing.name for thing in scene))
    return to_do(scene, *clauses, finally_=finally_)


@control("easy", chance=1.0, varies=LOOKS)
def place_sphere(streams: Streams) -> Situation:
    """Put the sphere into the middle cell of a bin."""
    ball, goal = colours(streams, "sphere", "bin")
    return place_in_bin(streams, sphere(ball), goal)


@control("easy", chance=1.0, varies=LOOKS)
def push_cube(streams: Streams) -> Situation:
    """Push the cube onto a disc, without needing to lift it."""
    pushed, goal = colours(streams, "cube", "disc")
    return push_onto_disc(streams, cube(pushed), goal)


@control("easy", chance=1 / 2)
def stack_cube(streams: Streams) -> Situation:
    """Stack the red cube on the green one."""
    return stack(streams, cube("red"), cube("green"))


@control("medium", chance=1.0, varies=LOOKS)
def insert_peg(streams: Streams) -> Situation:
    """Insert the peg sideways into a hole with 3 mm clearance."""
    inserted, goal = colours(streams, "peg", "hole")
    block, loose = plainly(hole_block(goal)), plainly(peg(inserted))
    return to_do(lay_out(streams, block.within(HOLE), loose.within(INSERTED)), insert("peg", block.kind))


@control("medium", chance=1 / 2, varies=LOOKS)
def place_sphere_two_bins(streams: Streams) -> Situation:
    """Put the sphere into the purple bin, then move it into the blue one."""
    return bins_in_every_order(streams, "purple", "blue")


BASE_OF_TWO = (put("red cube", "beside", "green cube"), put("blue cube", "on", "red cube", "green cube"))


@control("medium", chance=1 / 6)
def stack_three(streams: Streams) -> Situation:
    """Put the red cube beside the green one, then the blue one on top of both."""
    return build(streams, ("red", "green", "blue"), *BASE_OF_TWO)


@control("hard", chance=1 / 6, varies=LOOKS)
def place_sphere_three_bins(streams: Streams) -> Situation:
    """Put the sphere into three bins, one after the other, in a stated order."""
    return bins_in_every_order(streams, "purple", "green", "blue")


@control("hard", chance=1.0, varies=LOOKS)
def plug_charger(streams: Streams) -> Situation:
    """Plug the charger's two prongs into the receptacle, within 5 mm and 0.2 rad."""
    plug, socket = colours(streams, "charger", "receptacle")
    scene = lay_out(streams, receptacle(socket).within(HOLE), charger(plug).within(INSERTED))
    return to_do(scene, insert("charger", "receptacle"))


@control("hard", chance=1 / 24)
def stack_four(streams: Streams) -> Situation:
    """Build stack_three, then put the purple cube beside its base, within a centimetre."""
    return build(
        streams,
        ("red", "green", "blue", "purple"),
        *BASE_OF_TWO,
        put("purple cube", "beside", "green cube"),
        finally_=(On("blue cube", "red cube"), On("blue cube", "green cube")),
    )
