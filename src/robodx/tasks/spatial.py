"""Spatial: things that look alike, told apart and put in order only by where they are."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import reduce
from itertools import permutations, product
from operator import and_
from typing import TypeVar, get_args

import numpy as np

from robodx.language.meaning import DIRECTIONS, Clause, Relation, move, pick, put
from robodx.language.phrasing import say
from robodx.language.reference import Rank, Reference, Spatial, Where, resolve, the
from robodx.scoring.conditions import Condition
from robodx.scoring.contact import Grasped, Touched, settled
from robodx.scoring.from_meaning import lifted, looks, stages_for
from robodx.scoring.relations import Beside, CentredOn, In, Lifted, On
from robodx.scoring.sides import FLANKS, Displaced, Flank, Flanking
from robodx.sim.objects import bin_, bowl, crate, cube
from robodx.sim.placement import place_clearly
from robodx.sim.scene import STAND, Region, Scene, Thing, tabletop
from robodx.streams import Streams
from robodx.tasks.base import Register, Situation, Tier, task
from robodx.tasks.perception import VIVID, some

CUBE, BOWL, CRATE = the("cube"), the("bowl"), the("crate")
# Every turn of a cube, but for those that look the same.
ANY_TURN = (-0.75, 0.75)
ANYWHERE = Region(x=(-0.22, 0.1), y=(-0.22, 0.22), yaw_rad=ANY_TURN, gap_m=0.06)
ENDS = ("leftmost", "rightmost", "nearest", "farthest")
ROW = ("leftmost", "middle", "rightmost")
SIDES: tuple[Flank, ...] = get_args(Flank)
# So far apart that what is halfway between them is neither.
DISTANCES_M = (0.08, 0.15)
# By how much the one that is meant stands out from the next, and how far apart things are that a hand goes between.
CLEAR_M = 0.04
APART_M = 0.17
RETRIEVED_M = 0.06
# Further than this from the centre of the bowl, a cube is next to none of its sides.
FLANK_M = 0.22

Choice = TypeVar("Choice")


def spatial(tier: Tier, *, chance: float, primitive: str) -> Register:
    return task(
        family="spatial",
        tier=tier,
        varies=("robot", "attributes", "layout", "instruction", "arena"),
        tags=("capability",),
        chance=chance,
        version=2,
        primitive=primitive,
    )


def question(streams: Streams, *choices: Choice) -> Choice:
    """What this seed's instruction asks for: each in turn, so that no constant answer beats chance."""
    return choices[streams.turn("instruction", len(choices))]


# Layouts.


def colours(streams: Streams) -> list[str]:
    """Of this seed's cubes, its bowl and its crate."""
    return some(streams, VIVID, 3)


def alike(streams: Streams, count: int, region: Region = ANYWHERE) -> tuple[Thing, ...]:
    """Cubes that only their places tell apart."""
    block = cube(colours(streams)[0])
    return tuple(block.named(f"cube {number}").within(region) for number in range(1, count + 1))


def basin(streams: Streams) -> Thing:
    return bowl(colours(streams)[1]).named("bowl")


def lay_out(streams: Streams, is_clear: Callable[[Scene], bool], *things: Thing) -> Scene:
    """Drawn again until every question that may be asked has a clear answer."""
    return place_clearly(lambda: tabletop(*things), streams.rng("layout"), is_clear)


def places(scene: Scene, kind: str = "cube") -> list[tuple[float, float]]:
    return [thing.pose.position[:2] for thing in scene if thing.kind == kind]


def ends_stand_out(values: Iterable[float]) -> bool:
    """Both the least and the greatest are clear of the next."""
    ordered = sorted(values)
    return ordered[1] - ordered[0] >= CLEAR_M and ordered[-1] - ordered[-2] >= CLEAR_M


def is_row(scene: Scene) -> bool:
    """The leftmost, the middle and the rightmost are clear, and there is room between any two."""
    cubes = places(scene)
    return ends_stand_out(y for _, y in cubes) and all(
        math.dist(a, b) >= APART_M and math.dist(midpoint(a, b), c) >= APART_M / 2 for a, b, c in permutations(cubes)
    )


def midpoint(a: tuple[float, float], b: tuple[float, float]) -> tuple[float, float]:
    return (a[0] + b[0]) / 2, (a[1] + b[1]) / 2


# What counts.


def lifted_but(scene: Scene, *names: str) -> tuple[Condition, ...]:
    """Picking up another than these is a wrong answer, and ends the episode."""
    return tuple(lifted(scene, thing.name) for thing in scene if not thing.is_fixed and thing.name not in names)


def pick_only(scene: Scene, target: Reference) -> Situation:
    instruction, meant = say(pick(target)), resolve(target, looks(scene))
    return Situation(scene, instruction, stages_for(instruction.meaning, scene), lifted_but(scene, meant))


def do_all(
    scene: Scene, *clauses: Clause, never: tuple[Condition, ...] = (), finally_: tuple[Condition, ...] = ()
) -> Situation:
    """One thing after the other; at the end everything asked for holds at once.

    Each begins with a grasp: to take hold of what is not to be moved, or not yet, is a wrong answer.
    """
    instruction, seen = say(*clauses), looks(scene)
    stages = stages_for(instruction.meaning, scene)
    goals, targets = stages[1::2], [resolve(clause.target, seen) for clause in clauses]
    others = (Grasped(thing.name) for thing in scene if not thing.is_fixed and thing.name not in targets)
    too_early = (Grasped(later) & ~goal.latched() for later, goal in zip(targets[1:], goals, strict=False))
    last = reduce(and_, (*goals, *finally_))
    return Situation(scene, instruction, (*stages[:-1], last), (*others, *too_early, *never))


# Easy: along the table.


@spatial("easy", chance=1 / 4, primitive="primitive/pick_cube")
def move_cube_direction(streams: Streams) -> Situation:
    """Move the cube a stated distance to the left, to the right, forward or back."""
    (block,) = alike(streams, 1, Region(x=(-0.1, -0.02), y=(-0.1, 0.1), yaw_rad=ANY_TURN))
    scene = lay_out(streams, lambda scene: True, block)
    (start,) = places(scene)
    ways = list(product(DISTANCES_M, DIRECTIONS))
    asked = question(streams, *ways)
    moved = {way: settled(block.name) & Displaced(block.name, start, way[1], way[0]) for way in ways}
    return Situation(
        scene,
        say(move(CUBE, asked[1], asked[0])),
        (Touched(block.name), moved.pop(asked)),
        never=tuple(moved.values()),
    )


@spatial("easy", chance=1 / 4, primitive="primitive/pick_cube")
def pick_leftmost(streams: Streams) -> Situation:
    """Pick up the leftmost, rightmost, nearest or farthest of four cubes."""

    def is_clear(scene: Scene) -> bool:
        cubes = places(scene)
        measures = ([y for _, y in cubes], [x for x, _ in cubes], [math.dist(at, STAND) for at in cubes])
        ends = [{values.index(end(values)) for end in (min, max)} for values in measures]
        # Each end is another cube: who always takes the leftmost takes no other end.
        return all(map(ends_stand_out, measures)) and ends[1] == ends[2] and not ends[0] & ends[1]

    scene = lay_out(streams, is_clear, *alike(streams, 4))
    return pick_only(scene, the(f"{question(streams, *ENDS)} cube"))


@spatial("easy", chance=1 / 3, primitive="control/place_sphere")
def place_between(streams: Streams) -> Situation:
    """Put one of three cubes between the two others."""
    scene = lay_out(streams, is_row, *alike(streams, 3))
    target = question(streams, *ROW)
    return do_all(scene, put(f"{target} cube", "between", *(f"{other} cube" for other in ROW if other != target)))


# Medium: by way of another thing.


@spatial("medium", chance=1 / 3, primitive="primitive/pick_cube")
def pick_closest(streams: Streams) -> Situation:
    """Pick up the cube closest to, second closest to, or farthest from a bowl."""

    def is_clear(scene: Scene) -> bool:
        (landmark,) = places(scene, "bowl")
        return ends_stand_out(math.dist(at, landmark) for at in places(scene))

    landmark = basin(streams).within(Region(x=(-0.12, 0.02), y=(-0.15, 0.15)))
    scene = lay_out(streams, is_clear, landmark, *alike(streams, 3))
    ranks = (Rank("closest to", of=BOWL), Rank("farthest from", of=BOWL), Rank("closest to", 2, BOWL))
    return pick_only(scene, Reference("cube", rank=question(streams, *ranks)))


INSIDE, ON = (Reference("cube", where=(where,)) for where in (Where("inside", BOWL), Where("on", CRATE)))
BY_BOWL, BY_CRATE = (Reference("cube", where=(Where("beside", each),)) for each in (BOWL, CRATE))
LEFT, RIGHT = (Reference("cube", where=(Where("outside", BOWL),), rank=Rank(end)) for end in ("leftmost", "rightmost"))
# Leftmost and rightmost are those beside the containers: so each of the four cubes is meant equally often.
AROUND_CONTAINERS = (INSIDE, BY_BOWL, ON, BY_CRATE, INSIDE, LEFT, ON, RIGHT)


def containers(streams: Streams) -> Scene:
    """A bowl and a crate side by side; a cube inside the bowl, one on the crate, one next to each."""
    rng = streams.rng("layout")
    # The bowl changes sides whenever all has been asked once: none of it goes with a side.
    left = (1, -1)[streams.turn("layout", 2 * len(AROUND_CONTAINERS)) // len(AROUND_CONTAINERS)]
    front_of_bowl, front_of_crate = rng.choice((-1, 1), 2).tolist()
    (bx, by), (cx, cy) = ((rng.uniform(-0.1, -0.02), side * left * rng.uniform(0.12, 0.15)) for side in (1, -1))
    holder, lid = basin(streams).at(bx, by), crate(colours(streams)[2]).named("crate").at(cx, cy)
    inside, on, by_bowl, by_crate = alike(streams, 4)
    return tabletop(
        holder,
        lid,
        inside.at(bx, by, z=(holder.pose @ holder.frame("cell")).position[2] + inside.half_extents[2]),
        on.at(cx, cy, z=2 * lid.half_extents[2] + on.half_extents[2]),
        by_bowl.at(bx + front_of_bowl * next_to(holder, rng.uniform(0.02, 0.035)), by + rng.uniform(-0.03, 0.03)),
        # Outward from the one on the crate, so that one of them is further left or right.
        by_crate.at(cx + front_of_crate * next_to(lid, rng.uniform(0.02, 0.035)), cy - left * rng.uniform(0.04, 0.05)),
    )


def next_to(thing: Thing, gap_m: float) -> float:
    """Between centres, of a thing and a cube with a gap between them."""
    return thing.half_extents[0] + gap_m + cube("blue").half_extents[0]


@spatial("medium", chance=1 / 4, primitive="primitive/pick_cube")
def pick_inside_or_beside(streams: Streams) -> Situation:
    """Pick up the cube inside, outside, on or beside a container."""
    return pick_only(containers(streams), question(streams, *AROUND_CONTAINERS))


@spatial("medium", chance=1 / 2, primitive="control/place_sphere")
def place_in_or_beside_bowl(streams: Streams) -> Situation:
    """Put the cube into a bowl or a bin, or beside it."""
    # In turn, and each with each question: cubes go into bins as well as spheres do.
    landmark = (basin(streams), bin_(colours(streams)[1]).named("bin"))[streams.turn("attributes", 4) // 2]
    landmark = landmark.within(Region(x=(-0.1, -0.02), y=(-0.15, 0.15), yaw_rad=(-0.7, 0.7)))
    (block,) = alike(streams, 1)
    scene = lay_out(streams, lambda scene: True, landmark, block)
    goals: dict[Relation, Condition] = {
        "in": settled(block.name) & In(block.name, landmark.name),
        "beside": settled(block.name) & Beside(block.name, landmark.name, 0.05, 0.1),
    }
    relation: Relation = question(streams, "in", "beside")
    instruction = say(put(CUBE, relation, the(landmark.kind), among=tuple(goals)))
    return Situation(scene, instruction, (Grasped(block.name), goals.pop(relation)), never=tuple(goals.values()))


# Hard: in three dimensions.


@spatial("hard", chance=1 / 6, primitive="control/place_sphere")
def build_tower(streams: Streams) -> Situation:
    """Stack three cubes in the order asked for."""
    # Not turned: in a crooked tower cubes that look alike run into each other for the eye.
    scene = lay_out(streams, is_row, *alike(streams, 3, replace(ANYWHERE, yaw_rad=(0.0, 0.0))))
    base, middle, top = (the(f"{word} cube") for word in question(streams, *permutations(ROW)))
    low, mid, high = (resolve(level, looks(scene)) for level in (base, middle, top))
    return do_all(
        scene,
        put(middle, "on", base),
        put(top, "on", middle),
        never=(settled(mid) & On(mid, high),),
        finally_=(CentredOn(mid, low, 0.05), CentredOn(high, low, 0.05)),
    )


@spatial("hard", chance=1 / 24, primitive="control/place_sphere")
def assemble_set(streams: Streams) -> Situation:
    """Put one cube into a bowl, one next to it, and one on top of that."""

    words, side = question(streams, *product(permutations(ROW), SIDES))
    inner, outer, upper = (the(f"{word} cube") for word in words)

    def is_clear(scene: Scene) -> bool:
        ((x, y),) = places(scene, "bowl")
        sides = [(x + dx, y + dy) for dx, dy in ((0.16, 0), (-0.16, 0), (0, 0.16), (0, -0.16))]
        is_free = all(math.dist(at, spot) > 0.1 for at in places(scene) for spot in sides)
        return is_row(scene) and is_free and not is_flanking(scene, resolve(outer, looks(scene)), (x, y), side)

    landmark = basin(streams).within(Region(x=(-0.085, -0.04), y=(-0.03, 0.03)))
    cubes = alike(streams, 3, Region(x=(-0.25, 0.12), y=(-0.27, 0.27), yaw_rad=ANY_TURN, gap_m=0.01))
    scene = lay_out(streams, is_clear, landmark, *cubes)
    placed = resolve(outer, looks(scene))
    taken_aside = lifted(scene, placed).latched() & settled(placed)
    return do_all(
        scene,
        put(inner, "in", BOWL),
        put(outer, side, BOWL, among=SIDES),
        put(upper, "on", outer),
        never=tuple(taken_aside & Flanking(placed, landmark.name, other) for other in SIDES if other != side),
    )


def is_flanking(scene: Scene, name: str, centre: tuple[float, float], side: Flank) -> bool:
    """Whether a cube is next to this side of a bowl, or nearly."""
    axis, way = FLANKS[side]
    off = [here - there for here, there in zip(scene.thing(name).pose.position, centre, strict=False)]
    return abs(off[1 - axis]) <= way * off[axis] <= FLANK_M


@spatial("hard", chance=1 / 6, primitive="primitive/pick_cube")
def retrieve_stacked(streams: Streams) -> Situation:
    """Lift a cube under or beside another; a cube that lies on it must be removed first."""
    rng = streams.rng("layout")
    x, y = rng.uniform(-0.11, -0.04), rng.uniform(-0.1, 0.1)
    low, high, *around = alike(streams, 6)
    scene = tabletop(
        low.at(x, y),
        high.at(x, y, z=3 * low.half_extents[2]),
        *(thing.at(*beside(rng, (x, y), side)) for thing, side in zip(around, SIDES, strict=True)),
    )
    relations: tuple[Spatial, ...] = ("under", *SIDES)
    target = Reference("cube", where=(Where(question(streams, *relations), the("highest cube")),))
    meant = resolve(target, looks(scene))
    retrieved = Grasped(meant) & Lifted(meant, RETRIEVED_M)
    if meant != low.name:
        return Situation(scene, say(pick(target)), (Grasped(meant), retrieved), lifted_but(scene, meant))
    uncovered = ~On(high.name, low.name)
    stages = (uncovered, Grasped(meant), retrieved & uncovered)
    return Situation(scene, say(pick(target)), stages, lifted_but(scene, low.name, high.name))


def beside(rng: np.random.Generator, centre: tuple[float, float], side: Flank) -> tuple[float, float]:
    """On one side of a stack and level with it: on no other side. A hand is wide: sideways it needs more room."""
    axis, way = FLANKS[side]
    off = [0.0, 0.0]
    off[axis] = way * rng.uniform(*((0.1, 0.13), (0.15, 0.17))[axis])
    off[1 - axis] = rng.uniform(-0.004, 0.004)
    return centre[0] + off[0], centre[1] + off[1]
