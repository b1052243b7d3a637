"""What a plan works with, and how clauses find their plans.

A clause is solved by the plan for its verb and relation; these are in the folder `verbs`. Plans see things through a
`View`: the expert's is the simulator's world, that of a policy with eyes is what it makes out in its pictures.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

from robodx.experts import skills
from robodx.experts.grasps import CannotBeDone, from_above, grasp_yaw, nearest_turn, yaw_of
from robodx.experts.skills import Hand, PoseNow, Steps, VelocityNow, Wheels
from robodx.language.meaning import Clause, Names
from robodx.language.reference import Visible, is_related, looks_now
from robodx.registry import Registry
from robodx.sim.geometry import Pose, Vector, about
from robodx.sim.scene import Thing

# Tool height at which things are carried over others, and how far above its goal a thing is brought down from.
CARRY_M = 0.16
OVER_M = 0.07
# Let go just above: a thing pressed into what it stands on would be pushed away by the opening fingers.
DROP_M = 0.001
TRIES = 4
# Further than this from its goal, a thing was not placed but lost.
PLACED_M = 0.03
# And nearer than this, it was put there before; how deep it lies in a bowl or a bin depends on its shape.
THERE_M, DEEP_M = 0.004, 0.012
# What is at least this fast and will come this near within this time is waited for: a hand needs about a second to
# come down, close and rise.
CROSSING_M_S = 0.15
CROSSING_M = 0.2
CROSSING_S = 1.5
# Where a thing may be put that is in the way, and the room it should have there on all sides: for open fingers.
SPOTS = tuple((0.05 * i, 0.05 * j) for i in range(-4, 3) for j in range(-5, 6))
ROOM_M = 0.045
Spot = tuple[float, float]


class View(Visible, Protocol):
    """What there is and where, by name, as of now."""

    def thing(self, name: str) -> Thing: ...
    def pose(self, name: str) -> Pose: ...
    def frame(self, name: str, frame: str) -> Pose: ...
    def velocity(self, name: str) -> Vector: ...
    def is_grasped(self, name: str) -> bool: ...
    def holders(self, name: str) -> Sequence[str]: ...
    def is_lit(self, lamp: str) -> bool: ...


@dataclass
class PlanContext:
    """What a plan works with: things by name, its hand, and which thing each description means."""

    view: View
    hand: Hand
    names: Names
    # All hands of the robot, for a plan that leads more than one, and its base, where it has one.
    hands: Mapping[str, Hand] = field(default_factory=dict, kw_only=True)
    wheels: Wheels | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        self.hands = self.hands or {self.hand.name: self.hand}

    def with_hand(self, hand: Hand) -> PlanContext:
        return replace(self, hand=hand)

    def alone(self) -> PlanContext:
        """For a plan that may lead this hand only, and not drive."""
        return replace(self, hands={self.hand.name: self.hand}, wheels=None)

    def is_in_hand(self, name: str) -> bool:
        """Whether it is in this plan's hand."""
        return self.hand.name in self.view.holders(name)

    def pose(self, name: str) -> PoseNow:
        return lambda: self.view.pose(name)

    def velocity(self, name: str) -> VelocityNow:
        return lambda: self.view.velocity(name)

    def target(self, clause: Clause) -> str:
        return self.names[clause.target]

    def others(self, clause: Clause) -> tuple[str, ...]:
        return tuple(self.names[reference] for reference in clause.place.of) if clause.place else ()

    def require(self, name: str, frame: str) -> None:
        """That a thing has what a plan is about: the button of a switch, the cell of a bin."""
        thing = self.view.thing(name)
        if frame not in dict(thing.frames):
            raise CannotBeDone(f"a {thing.kind} has no {frame}")

    def grasp(self, name: str) -> PoseNow:
        """From above, at the thing's `grasp` frame if it has one, following it while it moves."""
        thing = self.view.thing(name)
        frames, half = dict(thing.frames), thing.half_extents
        spot = frames.get("grasp", Pose())
        # What has a tip is not taken by it: the fingers close across.
        half = (math.inf, *half[1:]) if "tip" in frames else half

        def now() -> Pose:
            pose = self.view.pose(name)
            x, y, z = pose.apply(spot.position)
            return from_above(x, y, z, grasp_yaw(pose, half, thing.kind))

        return now


Plan = Callable[[PlanContext, Clause], Steps]
# By verb and relation: "pick", "put in".
PLANS: Registry[Plan] = Registry("plan", "verbs")


def take(context: PlanContext, name: str, under: tuple[str, ...] = ()) -> Steps:
    """Pick a thing up, again if it slipped away; what lies on it is put aside first.

    `under` are things that wait for it to be put aside: who sees badly may see each of two on the other.
    """
    if name in under:
        raise CannotBeDone(f"{name} seems to lie on what lies on it")
    if context.is_in_hand(name):
        yield from _keep(context)
        return
    known = looks_now(context.view)
    # What is gone has nothing on it.
    for other, looks in known.items() if name in known else ():
        if other != name and not context.view.thing(other).is_fixed and is_related(looks, "on", known[name]):
            yield from put(context, other, aside(context, other), under=(*under, name))
    for _ in range(TRIES):
        yield from skills.pick(
            context.hand,
            context.grasp(name),
            lift_to_m=CARRY_M,
            velocity=context.velocity(name),
            is_clear=lambda: not is_crossed(context.view, name),
        )
        if context.is_in_hand(name):
            return


def _keep(context: PlanContext) -> Steps:
    """Go on with what is in the hand already, whoever put it there."""
    hand = context.hand
    hand.grip, hand.commanded = 0.0, hand.tool
    yield from skills.clear(hand, CARRY_M)


def is_crossed(view: View, name: str) -> bool:
    """Whether something else rolls by, or is about to: a hand that came down now would be in its way."""
    (x, y, _), (vx, vy, _) = view.position(name), view.velocity(name)
    for other in view.things:
        if other == name or not view.is_present(other):
            continue
        (ox, oy, _), (ovx, ovy, _) = view.position(other), view.velocity(other)
        dx, dy, dvx, dvy = ox - x, oy - y, ovx - vx, ovy - vy
        speed = math.hypot(dvx, dvy)
        if min(speed, math.hypot(ovx, ovy)) < CROSSING_M_S:
            continue
        # How far it still has to go to where it is nearest, and how near that is.
        to_go, miss = -(dx * dvx + dy * dvy) / speed, abs(dx * dvy - dy * dvx) / speed
        if miss < CROSSING_M and -CROSSING_M < to_go < CROSSING_S * speed:
            return True
    return False


def put(
    context: PlanContext,
    name: str,
    goal: PoseNow,
    *,
    opening: float = 1.0,
    over_m: float = OVER_M,
    under: tuple[str, ...] = (),
) -> Steps:
    """Pick a thing up and place it at a pose, again if it was lost on the way; what lies there already stays."""
    if not context.is_in_hand(name) and _is_there(context.view.position(name), goal().position):
        return
    for _ in range(TRIES):
        yield from take(context, name, under)
        yield from skills.place(context.hand, context.pose(name), goal, over_m=over_m, opening=opening)
        if math.dist(context.view.position(name), goal().position) < PLACED_M:
            return


def _is_there(position: Vector, goal: Vector) -> bool:
    return math.dist(position[:2], goal[:2]) < THERE_M and abs(position[2] - goal[2]) < DEEP_M


def aside(context: PlanContext, name: str) -> PoseNow:
    """Flat on the table at the nearest spot with room for the hand."""
    x, y = roomy(context, name, SPOTS)
    return lambda: resting(context, name, x, y, 0.0)


def roomy(context: PlanContext, name: str, spots: Sequence[Spot], beside: tuple[str, ...] = ()) -> Spot:
    """The nearest of these spots with room for the thing and the hand, or else the roomiest; `beside` may be near."""
    view = context.view
    here, radius = view.position(name), view.thing(name).radius_m
    others = [
        (looks.position, view.thing(other).radius_m)
        for other, looks in looks_now(view).items()
        if other not in (name, *beside)
    ]

    def room(spot: Spot) -> float:
        return min((math.dist(spot, at[:2]) - radius - other for at, other in others), default=math.inf)

    free = [spot for spot in spots if room(spot) > ROOM_M] or [max(spots, key=room)]
    return min(free, key=lambda spot: math.dist(spot, here[:2]))


def resting(context: PlanContext, name: str, x: float, y: float, floor_z: float, turn_rad: float = 0.0) -> Pose:
    """The thing set down at a place, squared up with what is turned so, or with the table, and the hand with it."""
    pose, thing = context.view.pose(name), context.view.thing(name)
    height = floor_z + thing.half_extents[2] + DROP_M
    if thing.kind == "sphere":
        # However it has rolled, it is the right way up.
        return Pose((x, y, height), pose.quaternion)
    # A cube looks the same after a quarter turn: it is given the one that brings the hand nearest its home.
    hand = context.hand.tool if context.is_in_hand(name) else context.grasp(name)()
    in_hand = yaw_of(pose) - yaw_of(hand)
    square = in_hand - nearest_turn(in_hand, math.pi / 2) + nearest_turn(turn_rad, math.pi / 2)
    return Pose((x, y, height), about("z", square))
