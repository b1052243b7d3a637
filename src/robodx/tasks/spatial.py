"""Spatial: things that look alike, told apart and put in order only by where they are."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from itertools import permutations
from typing import TypeVar, get_args

from robodx.language.meaning import DIRECTIONS, Clause, Relation, move, pick, put
from robodx.language.phrasing import say
from robodx.language.reference import Measure, Rank, Reference, Spatial, Where, resolve, the
from robodx.scoring.conditions import Condition
from robodx.scoring.contact import Grasped, Released, Static, Touched
from robodx.scoring.from_meaning import LIFT_M, looks, stages_for
from robodx.scoring.relations import Beside, CentredOn, Displaced, Flank, In, Lifted, On
from robodx.sim.objects import bowl, crate, cube
from robodx.sim.placement import MAX_TRIES, NoRoom, place
from robodx.sim.scene import Region, Scene, Thing, tabletop
from robodx.streams import Streams
from robodx.tasks.base import Register, Situation, Tier, task

CUBE, BOWL, CRATE = the("cube"), the("bowl"), the("crate")
ENDS = ("leftmost", "rightmost", "nearest", "farthest")
ROW = ("leftmost", "middle", "rightmost")
SIDES: tuple[Flank, ...] = get_args(Flank)
# By how much the one that is meant stands out from the next, and how far apart things are that a hand goes between.
CLEAR_M = 0.04
APART_M = 0.17
# Where the robot stands: what is nearest along the table is nearest as the crow flies too.
ROBOT_AT = (-0.615, 0.0)
RETRIEVED_M = 0.06

Choice = TypeVar("Choice")


def spatial(tier: Tier, *, chance: float, primitive: str) -> Register:
    return task(
        family="spatial",
        tier=tier,
        varies=("robot", "layout", "instruction"),
        tags=("capability",),
        chance=chance,
        primitive=primitive,
    )


def asked(streams: Streams, *choices: Choice) -> Choice:
    """What this seed's instruction asks for: each in turn."""
    return choices[streams.turn("instruction", len(choices))]


# Layouts.


def alike(count: int, region: Region | None = None) -> tuple[Thing, ...]:
    """Cubes that only their places tell apart."""
    region = region or Region(x=(-0.22, 0.1), y=(-0.22, 0.22), gap_m=0.06)
    return tuple(cube("blue").named(f"cube {number}").within(region) for number in range(1, count + 1))


def lay_out(streams: Streams, is_clear: Callable[[Scene], bool], *things: Thing) -> Scene:
    """Drawn again until every question that may be asked has a clear answer."""
    rng = streams.rng("layout")
    for _ in range(MAX_TRIES):
        try:
            scene = place(tabletop(*things), rng)
        except NoRoom:
            # The first things drawn left none for the last.
            continue
        if is_clear(scene):
            return scene
    raise NoRoom(f"no clear layout of {', '.join(thing.name for thing in things)}")


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


def settled(thing: str) -> Condition:
    return Released(thing) & Static(thing)


def pick_only(scene: Scene, target: Reference) -> Situation:
    """Picking up another cube than the one described is a wrong answer, and ends the episode."""
    instruction = say(pick(target))
    meant = resolve(target, looks(scene))
    others = (thing.name for thing in scene if not thing.is_fixed and thing.name != meant)
    never = tuple(Lifted(name, start_height(scene, name) + LIFT_M) for name in others)
    lifted = Lifted(meant, start_height(scene, meant) + LIFT_M)
    return Situation(scene, instruction, (Grasped(meant), Grasped(meant) & lifted), never)


def start_height(scene: Scene, name: str) -> float:
    thing = scene.thing(name)
    return thing.pose.position[2] - thing.half_extents[2]


def do_all(scene: Scene, *clauses: Clause, finally_: Condition | None = None) -> Situation:
    """One thing after the other; at the end everything asked for holds at once."""
    instruction = say(*clauses)
    stages = stages_for(instruction.meaning, scene)
    last = stages[-1] if finally_ is None else stages[-1] & finally_
    return Situation(scene, instruction, (*stages[:-1], last))


# Easy: along the table.


@spatial("easy", chance=1 / 4, primitive="primitive/pick_cube")
def move_cube_direction(streams: Streams) -> Situation:
    """Move the cube a stated distance to the left, to the right, forward or back."""
    (block,) = alike(1, Region(x=(-0.1, -0.02), y=(-0.1, 0.1)))
    scene = lay_out(streams, lambda scene: True, block)
    direction = asked(streams, *DIRECTIONS)
    distance_m = float(streams.rng("instruction").choice((0.10, 0.15)))
    (start,) = places(scene)
    return Situation(
        scene,
        say(move(CUBE, direction, distance_m)),
        (Touched(block.name), settled(block.name) & Displaced(block.name, start, direction, distance_m)),
    )


@spatial("easy", chance=1 / 4, primitive="primitive/pick_cube")
def pick_leftmost(streams: Streams) -> Situation:
    """Pick up the leftmost, rightmost, nearest or farthest of four cubes."""

    def is_clear(scene: Scene) -> bool:
        cubes = places(scene)
        measures = ([y for _, y in cubes], [x for x, _ in cubes], [math.dist(at, ROBOT_AT) for at in cubes])
        near, far = ([measures[i].index(end(measures[i])) for i in (1, 2)] for end in (min, max))
        return all(map(ends_stand_out, measures)) and near[0] == near[1] and far[0] == far[1]

    scene = lay_out(streams, is_clear, *alike(4))
    return pick_only(scene, the(f"{asked(streams, *ENDS)} cube"))


@spatial("easy", chance=1 / 3, primitive="control/place_sphere")
def place_between(streams: Streams) -> Situation:
    """Put one of three cubes between the two others."""
    scene = lay_out(streams, is_row, *alike(3))
    target = asked(streams, *ROW)
    return do_all(scene, put(f"{target} cube", "between", *(f"{other} cube" for other in ROW if other != target)))


# Medium: by way of another thing.


@spatial("medium", chance=1 / 3, primitive="primitive/pick_cube")
def pick_closest(streams: Streams) -> Situation:
    """Pick up the cube closest to, or farthest from, a bowl."""

    def is_clear(scene: Scene) -> bool:
        (landmark,) = places(scene, "bowl")
        return ends_stand_out(math.dist(at, landmark) for at in places(scene))

    landmark = bowl("white").within(Region(x=(-0.12, 0.02), y=(-0.15, 0.15)))
    scene = lay_out(streams, is_clear, landmark, *alike(3))
    by: Measure = asked(streams, "closest to", "farthest from")
    return pick_only(scene, Reference("cube", rank=Rank(by, of=BOWL)))


def containers(streams: Streams) -> Scene:
    """A bowl and a crate side by side; a cube inside the bowl, one on the crate, one next to each."""
    rng = streams.rng("layout")
    left, front_of_bowl, front_of_crate = (rng.choice((-1, 1), 3)).tolist()
    (bx, by), (cx, cy) = ((rng.uniform(-0.1, -0.02), side * left * rng.uniform(0.12, 0.15)) for side in (1, -1))
    basin, lid = bowl("white").at(bx, by), crate("grey").at(cx, cy)
    inside, on, by_bowl, by_crate = alike(4)
    return tabletop(
        basin,
        lid,
        inside.at(bx, by, z=basin.frame("cell").position[2] + basin.pose.position[2] + inside.half_extents[2]),
        on.at(cx, cy, z=2 * lid.half_extents[2] + on.half_extents[2]),
        by_bowl.at(bx + front_of_bowl * next_to(basin, rng.uniform(0.02, 0.035)), by + rng.uniform(-0.03, 0.03)),
        # Outward from the one on the crate, so that one of them is further left or right.
        by_crate.at(cx + front_of_crate * next_to(lid, rng.uniform(0.02, 0.035)), cy - left * rng.uniform(0.04, 0.05)),
    )


def next_to(thing: Thing, gap_m: float) -> float:
    """Between centres, of a thing and a cube with a gap between them."""
    return thing.half_extents[0] + gap_m + cube("blue").half_extents[0]


@spatial("medium", chance=1 / 4, primitive="primitive/pick_cube")
def pick_inside_or_beside(streams: Streams) -> Situation:
    """Pick up the cube inside, outside, on or beside a container."""
    outside = (Where("outside", BOWL),)
    target = asked(
        streams,
        Reference("cube", where=(Where("inside", BOWL),)),
        Reference("cube", where=(Where("beside", BOWL),)),
        Reference("cube", where=outside, rank=Rank("leftmost")),
        Reference("cube", where=(Where("on", CRATE),)),
        Reference("cube", where=(Where("beside", CRATE),)),
        Reference("cube", where=outside, rank=Rank("rightmost")),
    )
    return pick_only(containers(streams), target)


@spatial("medium", chance=1 / 2, primitive="control/place_sphere")
def place_in_or_beside_bowl(streams: Streams) -> Situation:
    """Put the cube into a bowl, or beside it."""
    landmark = bowl("white").within(Region(x=(-0.1, -0.02), y=(-0.15, 0.15)))
    (block,) = alike(1)
    scene = lay_out(streams, lambda scene: True, landmark, block)
    relation: Relation = asked(streams, "in", "beside")
    goal = In(block.name, landmark.name) if relation == "in" else Beside(block.name, landmark.name, 0.05, 0.1)
    instruction = say(put(CUBE, relation, BOWL, among=("in", "beside")))
    return Situation(scene, instruction, (Grasped(block.name), settled(block.name) & goal))


# Hard: in three dimensions.


@spatial("hard", chance=1 / 6, primitive="control/place_sphere")
def build_tower(streams: Streams) -> Situation:
    """Stack three cubes in the order asked for."""
    scene = lay_out(streams, is_row, *alike(3))
    base, middle, top = (the(f"{word} cube") for word in asked(streams, *permutations(ROW)))
    low, mid, high = (resolve(level, looks(scene)) for level in (base, middle, top))
    tower = On(mid, low) & CentredOn(mid, low, 0.05) & CentredOn(high, low, 0.05)
    return do_all(scene, put(middle, "on", base), put(top, "on", middle), finally_=tower)


@spatial("hard", chance=1 / 24, primitive="control/place_sphere")
def assemble_set(streams: Streams) -> Situation:
    """Put one cube into a bowl, one next to it, and one on top of that."""

    def is_clear(scene: Scene) -> bool:
        ((x, y),) = places(scene, "bowl")
        sides = [(x + dx, y + dy) for dx, dy in ((0.16, 0), (-0.16, 0), (0, 0.16), (0, -0.16))]
        return is_row(scene) and all(math.dist(at, side) > 0.1 for at in places(scene) for side in sides)

    landmark = bowl("white").within(Region(x=(-0.085, -0.04), y=(-0.03, 0.03)))
    scene = lay_out(streams, is_clear, landmark, *alike(3, Region(x=(-0.25, 0.12), y=(-0.27, 0.27), gap_m=0.01)))
    side = asked(streams, *SIDES)
    words = list(permutations(ROW))[streams.rng("instruction").integers(6)]
    inner, outer, upper = (the(f"{word} cube") for word in words)
    clauses = (put(inner, "in", BOWL), put(outer, side, BOWL, among=SIDES), put(upper, "on", outer))
    stages = stages_for(say(*clauses).meaning, scene)
    return do_all(scene, *clauses, finally_=stages[1] & stages[3])


@spatial("hard", chance=1 / 4, primitive="primitive/pick_cube")
def retrieve_stacked(streams: Streams) -> Situation:
    """Lift the cube that is under, behind or in front of another; what lies on it must be taken off first."""
    rng = streams.rng("layout")
    x, y = rng.uniform(-0.11, -0.04), rng.uniform(-0.15, 0.15)
    near, far = (rng.uniform(0.1, 0.13) for _ in range(2))
    low, high, front, back = alike(4)
    scene = tabletop(
        low.at(x, y),
        high.at(x, y, z=3 * low.half_extents[2]),
        front.at(x - near, y + rng.uniform(-0.015, 0.015)),
        back.at(x + far, y + rng.uniform(-0.015, 0.015)),
    )
    relation: Spatial = asked(streams, "under", "behind", "in front of")
    target = Reference("cube", where=(Where(relation, the("highest cube")),))
    meant = resolve(target, looks(scene))
    retrieved = Grasped(meant) & Lifted(meant, RETRIEVED_M)
    uncovered = ~On(high.name, meant)
    stages = (Grasped(meant), retrieved) if meant != low.name else (uncovered, Grasped(meant), retrieved & uncovered)
    return Situation(scene, say(pick(target)), stages)
