"""The expert: resolves the meaning it is given on the objects' attributes, and solves it clause by clause.

A clause is solved by the plan for its action and relation. A family whose tasks need more registers another with
`@plan(...)` in a module of this folder.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from robodx.experts import skills
from robodx.experts.grasps import from_above, grasp_yaw, nearest_turn, yaw_of
from robodx.experts.skills import Hand, PoseNow, Steps
from robodx.language.meaning import Attributes, Clause, Meaning, Reference, resolve
from robodx.registry import Registry
from robodx.scoring.from_meaning import insertion_depth_m
from robodx.sim.geometry import Pose, about
from robodx.sim.world import World

# Tool height at which things are carried over others, and how far above its goal a thing is brought down from.
CARRY_M = 0.16
OVER_M = 0.07
# Let go just above: a thing pressed into what it stands on would be pushed away by the opening fingers.
DROP_M = 0.001
BESIDE_GAP_M = 0.002
# Fingers open this share in a bin: clear of the thing, and short of the walls.
OPENING_IN_BIN = 0.65
PUSH_NEAR_M = 0.02
TRIES = 4
# Further than this from its goal, a thing was not placed but lost.
PLACED_M = 0.03


@dataclass
class Scenery:
    """What a plan works with: the world by name, and which thing each reference means."""

    world: World
    hand: Hand
    names: Mapping[Reference, str]

    def pose(self, name: str) -> PoseNow:
        return lambda: self.world.pose(name)

    def target(self, clause: Clause) -> str:
        return self.names[clause.target]

    def others(self, clause: Clause) -> tuple[str, ...]:
        return tuple(self.names[reference] for reference in clause.place.of) if clause.place else ()

    def grasp(self, name: str) -> PoseNow:
        """From above, at the thing's `grasp` frame if it has one, following it while it moves."""
        thing = self.world.thing(name)
        spot = dict(thing.frames).get("grasp", Pose())

        def now() -> Pose:
            pose = self.world.pose(name)
            x, y, z = pose.apply(spot.position)
            return from_above(x, y, z, grasp_yaw(pose, thing.half_extents, thing.kind))

        return now


Plan = Callable[[Scenery, Clause], Steps]
PLANS: Registry[Plan] = Registry("plan", "experts")


def plan(action: str, relation: str | None = None) -> Callable[[Plan], Plan]:
    """Register how clauses of this action and relation are solved."""

    def register(steps: Plan) -> Plan:
        return PLANS.add(_name(action, relation), steps)

    return register


def _name(action: str, relation: str | None) -> str:
    return action if relation is None else f"{action} {relation}"


def attributes(world: World) -> list[tuple[str, Attributes]]:
    """What can be said of each thing that is there now."""
    return [
        (name, Attributes(thing.kind, world.colour(name), thing.size))
        for name, thing in world.things.items()
        if world.is_present(name)
    ]


def resolve_all(meaning: Meaning, world: World) -> dict[Reference, str]:
    known = attributes(world)
    return {reference: resolve(reference, known) for reference in meaning.references}


def solve(meaning: Meaning, world: World, hand: Hand, names: Mapping[Reference, str]) -> Iterator[skills.Waypoint]:
    """Waypoints that do what is meant, in order, and then stand still."""
    scenery = Scenery(world, hand, names)
    for clause in meaning.clauses:
        if clause.is_negated:
            continue
        yield from PLANS[_name(clause.action, clause.place.relation if clause.place else None)](scenery, clause)
    while True:
        yield hand.stay()


def take(scenery: Scenery, name: str) -> Steps:
    """Pick a thing up, again if it slipped away."""
    for _ in range(TRIES):
        yield from skills.pick(scenery.hand, scenery.grasp(name), lift_to_m=CARRY_M)
        if scenery.world.is_grasped(name):
            return


def put(scenery: Scenery, name: str, goal: PoseNow, *, opening: float = 1.0, over_m: float = OVER_M) -> Steps:
    """Pick a thing up and place it at a pose, again if it was lost on the way."""
    for _ in range(TRIES):
        yield from take(scenery, name)
        yield from skills.place(scenery.hand, scenery.pose(name), goal, over_m=over_m, opening=opening)
        if math.dist(scenery.world.position(name), goal().position) < PLACED_M:
            return


def resting(scenery: Scenery, name: str, x: float, y: float, floor_z: float) -> Pose:
    """The thing set down at a place, squared up with the table by the smallest turn."""
    pose, thing = scenery.world.pose(name), scenery.world.thing(name)
    yaw = yaw_of(pose)
    # A cube looks the same after a quarter turn: undo only what is needed to square it up.
    square = yaw - nearest_turn(yaw, math.pi / 2)
    return Pose((x, y, floor_z + thing.half_extents[2] + DROP_M), about("z", square))


@plan("pick")
def pick(scenery: Scenery, clause: Clause) -> Steps:
    yield from take(scenery, scenery.target(clause))


@plan("put", "on")
def put_on(scenery: Scenery, clause: Clause) -> Steps:
    """On top of one thing, or across the middle of several."""
    name, supports = scenery.target(clause), scenery.others(clause)

    def goal() -> Pose:
        places = [scenery.world.position(support) for support in supports]
        top = max(z + scenery.world.reach(support)[2] for support, (_, _, z) in zip(supports, places, strict=True))
        x, y = (sum(place[axis] for place in places) / len(places) for axis in (0, 1))
        return resting(scenery, name, x, y, top)

    yield from put(scenery, name, goal)


@plan("put", "in")
def put_in(scenery: Scenery, clause: Clause) -> Steps:
    name, (container,) = scenery.target(clause), scenery.others(clause)

    def goal() -> Pose:
        x, y, z = scenery.world.frame(container, "cell").position
        return resting(scenery, name, x, y, z)

    yield from put(scenery, name, goal, opening=OPENING_IN_BIN)


@plan("put", "beside")
def put_beside(scenery: Scenery, clause: Clause) -> Steps:
    """Behind or in front of the other, whichever side is free: the fingers close along y and stay clear of it."""
    name, (other,) = scenery.target(clause), scenery.others(clause)
    side = free_side(scenery, name, other)

    def goal() -> Pose:
        x, y, z = scenery.world.position(other)
        rx, _, rz = scenery.world.reach(other)
        offset = rx + scenery.world.thing(name).half_extents[0] + BESIDE_GAP_M
        return resting(scenery, name, x + side * offset, y, z - rz)

    yield from put(scenery, name, goal)


def free_side(scenery: Scenery, name: str, other: str) -> int:
    """+1 behind, -1 in front: where no third thing is in the way."""
    world = scenery.world
    x, y, _ = world.position(other)
    offset = world.reach(other)[0] + world.thing(name).half_extents[0]

    def room(side: int) -> float:
        return min(
            (
                math.dist((x + side * offset, y), world.position(third)[:2])
                for third in world.things
                if third not in (name, other)
            ),
            default=1.0,
        )

    return -1 if room(-1) >= min(room(+1), 2 * offset) else +1


@plan("push", "onto")
def push_onto(scenery: Scenery, clause: Clause) -> Steps:
    world, hand = scenery.world, scenery.hand
    name, (goal,) = scenery.target(clause), scenery.others(clause)
    half = world.thing(name).half_extents

    def behind() -> Pose:
        (x, y, z), (gx, gy, _) = world.position(name), world.position(goal)
        length = math.hypot(gx - x, gy - y)
        back = half[0] + 0.035
        yaw = nearest_turn(math.atan2(gy - y, gx - x), math.pi)
        return from_above(x - (gx - x) / length * back, y - (gy - y) / length * back, max(z, 0.02), yaw)

    for _ in range(TRIES):
        yield from skills.push(hand, behind, scenery.pose(name), scenery.pose(goal), near_m=PUSH_NEAR_M)
        if math.dist(world.position(name)[:2], world.position(goal)[:2]) < world.thing(goal).half_extents[0] / 2:
            return


@plan("insert", "into")
def insert_into(scenery: Scenery, clause: Clause) -> Steps:
    """The thing's `tip` to the other's `hole`, then in along the hole's axis until the tip is near its far end."""
    world = scenery.world
    name, (other,) = scenery.target(clause), scenery.others(clause)
    thing = world.thing(name)
    thing_in_tip = thing.frame("tip").inverse()
    depth = insertion_depth_m(thing, world.thing(other))

    def at(depth_m: float) -> PoseNow:
        return lambda: world.frame(other, "hole") @ Pose((depth_m, 0.0, 0.0)) @ thing_in_tip

    for _ in range(TRIES):
        yield from take(scenery, name)
        yield from skills.insert(scenery.hand, scenery.pose(name), at(-0.02), at(depth), over_m=OVER_M)
        if world.frame(name, "tip").inverse().apply(world.frame(other, "hole").position)[0] < -0.5 * depth:
            return


@plan("press")
def press(scenery: Scenery, clause: Clause) -> Steps:
    world = scenery.world
    name = scenery.target(clause)
    travel = world.thing(name).parts[0].range[1]

    def button() -> Pose:
        x, y, z = world.frame(name, "button").position
        return from_above(x, y, z, 0.0)

    for _ in range(TRIES):
        yield from skills.press(scenery.hand, button, depth_m=travel)
