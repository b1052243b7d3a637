"""Reusable skills in closed loop: each takes where things are as functions of now, and yields one waypoint a step.

A skill never sees a world: an expert passes poses from the simulator, another policy may pass what it sees.
All poses are in the world frame. The tool's z axis points out of the fingers, its y axis is the one they close along.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Generator
from dataclasses import dataclass
from typing import NamedTuple

from robodx.experts.grasps import yaw_of
from robodx.sim.geometry import Pose, Vector, difference, interpolate

# How fast the tool is moved: quick enough for four pick-and-places in 20 s, slow enough to track within a millimetre.
SPEED_M_S = 0.5
TURN_RAD_S = 1.8
ACCELERATION_M_S2 = 2.5
CAREFUL_SPEED_M_S = 0.12
# A motion is over when the measured tool is this near its goal, or has had this long to get there.
ARRIVED_M = 0.002
ARRIVED_RAD = 0.02
SETTLE_STEPS = 10
APPROACH_M = 0.08
# A held thing that is this much further from the tool than when it was taken is no longer held.
LOST_M = 0.03
# Slower than this a thing is taken to be at rest.
MOVING_M_S = 0.01
# A hand that pushes a thing comes back to straight behind it over about this way.
STEERING_M = 0.05
# A thing this far beside the hand that comes down on it got away.
STRAYED_M = 0.025
GRIP_STEPS = 14
# How far the fingers open around a ball that is to roll between them, and how fast it is rolled.
LOOSE = 0.65
ROLL_SPEED_M_S = 0.2
OPEN_STEPS = 6
# How fast a base drives and turns, and how near to its goal it stands.
DRIVE_M_S = 0.5
DRIVE_M_S2 = 1.0
DRIVE_RAD_S = 0.8
STANDS_M = 0.005


class Waypoint(NamedTuple):
    """What the hand is told for one control step."""

    tool: Pose
    opening: float


@dataclass
class Wheels:
    """What a skill knows of a base that drives: where it stands, measured each step by its owner, and its speed."""

    pose: Pose
    period_s: float
    # Along its own axes: forwards, to the left, turning left. It stands unless it is told anew at every step.
    velocity: Vector = (0.0, 0.0, 0.0)

    def towards(self, goal: Pose, max_speed_m_s: float) -> None:
        """One step along the straight line to a place on the floor, slowing down before it."""
        there = self.pose.inverse() @ goal
        (x, y, _), turn = there.position, yaw_of(there)
        away = math.hypot(x, y)
        speed = min(max_speed_m_s, math.sqrt(2 * DRIVE_M_S2 * away), away / self.period_s)
        along = speed / away if away > 0 else 0.0
        turn_rad_s = math.copysign(min(DRIVE_RAD_S, 0.5 * abs(turn) / self.period_s), turn)
        self.velocity = (along * x, along * y, turn_rad_s)


PoseNow = Callable[[], Pose]
VelocityNow = Callable[[], Vector]
Steps = Generator[Waypoint, None, None]


@dataclass
class Hand:
    """What a skill knows of the hand: measured each step by its owner, and last commanded by itself."""

    tool: Pose
    opening: float
    period_s: float
    commanded: Pose
    grip: float = 1.0
    # As the robot calls it; a robot with one hand need not.
    name: str = ""
    _speed: float = 0.0

    @property
    def waypoint(self) -> Waypoint:
        """What it was told last."""
        return Waypoint(self.commanded, self.grip)

    def towards(self, goal: Pose, max_speed_m_s: float) -> Waypoint:
        """One step along the straight line to the goal, speeding up and slowing down evenly."""
        left = difference(self.commanded, goal)
        gain = ACCELERATION_M_S2 * self.period_s
        braking = math.sqrt(2 * ACCELERATION_M_S2 * left.distance_m)
        self._speed = min(max_speed_m_s, self._speed + gain, max(braking, 0.25 * gain))
        steps = max(left.distance_m / (self._speed * self.period_s), left.angle_rad / (TURN_RAD_S * self.period_s), 1.0)
        self.commanded = goal if steps <= 1.0 else interpolate(self.commanded, goal, 1.0 / steps)
        return self.waypoint

    def stay(self) -> Waypoint:
        self._speed = 0.0
        return self.waypoint

    def glide(self, velocity: Vector) -> Waypoint:
        """One step at a velocity."""
        self._speed = math.hypot(*velocity)
        self.commanded = led(self.commanded, velocity, self.period_s)
        return self.waypoint


def reach(
    hand: Hand, goal: PoseNow, *, speed_m_s: float = SPEED_M_S, unless: Callable[[], bool] = lambda: False
) -> Steps:
    """Move the tool to a pose that may itself move; break off if `unless` comes to hold."""
    waited = 0
    while waited < SETTLE_STEPS and not unless():
        # What moves is aimed at where it is to be when the step ends, and met there.
        aim = goal()
        yield hand.towards(aim, speed_m_s)
        left = difference(hand.tool, aim)
        if left.distance_m < ARRIVED_M and left.angle_rad < ARRIVED_RAD:
            return
        # Still on the way: only a hand that was told everything is waited for.
        waited += difference(hand.commanded, aim).distance_m < 1e-6


def grip(hand: Hand, velocity: Vector = (0.0, 0.0, 0.0)) -> Steps:
    """Close until the fingers stop; around what moves, while going along with it."""
    hand.grip = 0.0
    before = hand.opening
    for step in range(GRIP_STEPS):
        yield hand.glide(velocity)
        if step >= 3 and abs(hand.opening - before) < 0.002:
            return
        before = hand.opening


def release(hand: Hand, opening: float = 1.0) -> Steps:
    hand.grip = opening
    for _ in range(OPEN_STEPS):
        yield hand.stay()


def together(hand: Hand, *several: Steps) -> Steps:
    """What several hands do at once, until all have done it."""
    while several := tuple(steps for steps in several if next(steps, None) is not None):
        yield hand.waypoint


def drive(hand: Hand, wheels: Wheels, goal: PoseNow) -> Steps:
    """Drive to a place on the floor; the hands keep their place on the robot."""
    waited, speed_m_s = 0, 0.0
    while waited < SETTLE_STEPS:
        speed_m_s = min(DRIVE_M_S, speed_m_s + DRIVE_M_S2 * wheels.period_s)
        wheels.towards(goal(), speed_m_s)
        yield hand.waypoint
        there = wheels.pose.inverse() @ goal()
        is_there = math.hypot(*there.position[:2]) < STANDS_M and abs(yaw_of(there)) < ARRIVED_RAD
        waited = waited + 1 if is_there else 0


def pick(
    hand: Hand,
    grasp: PoseNow,
    *,
    lift_to_m: float,
    velocity: VelocityNow = lambda: (0.0, 0.0, 0.0),
    is_clear: Callable[[], bool] = lambda: True,
) -> Steps:
    """From above: over the grasp, down to it while the way is clear, close, and up to a height."""
    hand.grip = 1.0
    yield from surround(hand, grasp, velocity=velocity, is_clear=is_clear)
    yield from grip(hand, moving(velocity()))
    yield from rise(hand, lift_to_m)


def surround(hand: Hand, grasp: PoseNow, *, velocity: VelocityNow, is_clear: Callable[[], bool]) -> Steps:
    """Over a thing and down around it, and up again if it gets away or something else comes."""

    def ahead() -> Pose:
        return led(grasp(), moving(velocity()), hand.period_s)

    def has_strayed() -> bool:
        x, y, _ = ahead().inverse().apply(hand.commanded.position)
        return math.hypot(x, y) > STRAYED_M

    while True:
        yield from clear(hand, grasp().position[2] + APPROACH_M)
        yield from reach(hand, lambda: back_off(ahead(), APPROACH_M))
        while not is_clear():
            yield hand.towards(back_off(ahead(), APPROACH_M), SPEED_M_S)
        yield from reach(hand, ahead, unless=lambda: has_strayed() or not is_clear())
        if is_clear() and not has_strayed():
            return


def moving(velocity: Vector) -> Vector:
    """The velocity, or none where it is too small to be followed."""
    return velocity if math.hypot(*velocity) > MOVING_M_S else (0.0, 0.0, 0.0)


def led(pose: Pose, velocity: Vector, seconds: float) -> Pose:
    """The pose of something that goes on at a velocity, a moment later."""
    vx, vy, vz = velocity
    return pose.shifted(seconds * vx, seconds * vy, seconds * vz)


def clear(hand: Hand, height_m: float) -> Steps:
    """Leave the table if the hand is lower than this."""
    if hand.tool.position[2] < height_m - 0.01:
        yield from rise(hand, height_m)


def rise(hand: Hand, height_m: float) -> Steps:
    """Straight up (or down) to a height, in the orientation the hand has."""
    x, y, _ = hand.commanded.position
    goal = Pose((x, y, height_m), hand.commanded.quaternion)
    yield from reach(hand, lambda: goal)


def retreat(hand: Hand, distance_m: float = APPROACH_M) -> Steps:
    """Back out along the tool's own axis."""
    goal = back_off(hand.commanded, distance_m)
    yield from reach(hand, lambda: goal)


def carry(hand: Hand, held: PoseNow, *goals: tuple[PoseNow, float]) -> Steps:
    """Bring a held thing to one pose after the other, each at its speed; break off if it is lost on the way.

    Where the tool must go follows from how the thing really sits in the hand, measured at each step.
    """
    start_m = math.dist(hand.tool.position, held().position)

    def is_lost() -> bool:
        return math.dist(hand.tool.position, held().position) > start_m + LOST_M

    for goal, speed_m_s in goals:

        def tool(goal: PoseNow = goal) -> Pose:
            return goal() @ held().inverse() @ hand.tool

        yield from reach(hand, tool, speed_m_s=speed_m_s, unless=is_lost)


def place(hand: Hand, held: PoseNow, goal: PoseNow, *, over_m: float, opening: float = 1.0) -> Steps:
    """Carry a held thing to a pose from above, let go, and back out."""
    yield from carry(hand, held, (lambda: goal().shifted(dz=over_m), SPEED_M_S), (goal, 2 * CAREFUL_SPEED_M_S))
    yield from release(hand, opening)
    yield from retreat(hand)


def insert(hand: Hand, held: PoseNow, entry: PoseNow, goal: PoseNow, *, over_m: float) -> Steps:
    """Line a held thing up before a hole, then move it in along a straight line, let go and back out."""
    yield from carry(
        hand,
        held,
        (lambda: entry().shifted(dz=over_m), SPEED_M_S),
        (entry, 2 * CAREFUL_SPEED_M_S),
        (entry, CAREFUL_SPEED_M_S),
        (goal, CAREFUL_SPEED_M_S),
    )
    yield from release(hand)
    yield from retreat(hand)


def push(hand: Hand, behind: PoseNow, pushed: PoseNow, goal: PoseNow, *, near_m: float) -> Steps:
    """With closed fingers from behind a thing, along the table, until it is near its goal."""
    hand.grip = 0.0
    yield from clear(hand, behind().position[2] + APPROACH_M)
    yield from reach(hand, lambda: back_off(behind(), APPROACH_M))
    yield from reach(hand, behind)
    while math.dist(pushed().position[:2], goal().position[:2]) > near_m:
        (px, py, _), (gx, gy, _) = pushed().position, goal().position
        length = math.hypot(gx - px, gy - py)
        ux, uy = (gx - px) / length, (gy - py) / length
        x, y, z = hand.commanded.position
        before_m, aside_m = (px - x) * ux + (py - y) * uy, (py - y) * ux - (px - x) * uy
        if before_m < 0:
            # It slipped away to the side.
            break
        # Steer: at the goal, and back to straight behind the thing.
        slant = aside_m / STEERING_M
        ahead = Pose((x + 0.1 * (ux - slant * uy), y + 0.1 * (uy + slant * ux), z), hand.commanded.quaternion)
        yield hand.towards(ahead, 1.5 * CAREFUL_SPEED_M_S)
    yield from back_away(hand, pushed, 0.04)
    yield from retreat(hand)


def roll(
    hand: Hand,
    around: PoseNow,
    rolled: PoseNow,
    goal: PoseNow,
    *,
    velocity: VelocityNow,
    is_clear: Callable[[], bool],
) -> Steps:
    """Stop a ball between the fingers, roll it before one of them to its goal, and stop it there."""
    hand.grip = 1.0
    yield from surround(hand, around, velocity=velocity, is_clear=is_clear)
    yield from grip(hand, moving(velocity()))
    yield from release(hand, LOOSE)
    ux, uy, _ = hand.commanded.axis("y")
    start, end = hand.commanded, goal().position
    along = (end[0] - start.position[0]) * ux + (end[1] - start.position[1]) * uy
    target = start.shifted(ux * along, uy * along)

    def has_escaped() -> bool:
        return math.dist(hand.tool.position[:2], rolled().position[:2]) > LOST_M

    yield from reach(hand, lambda: target, speed_m_s=ROLL_SPEED_M_S, unless=has_escaped)
    yield from grip(hand)
    yield from release(hand)
    yield from retreat(hand)


def back_away(hand: Hand, thing: PoseNow, distance_m: float) -> Steps:
    """Along the table, away from a thing."""
    (tx, ty, _), (x, y, z) = thing().position, hand.commanded.position
    length = math.hypot(x - tx, y - ty) or 1.0
    goal = Pose((x + (x - tx) / length * distance_m, y + (y - ty) / length * distance_m, z), hand.commanded.quaternion)
    yield from reach(hand, lambda: goal)


def press(hand: Hand, button: PoseNow, *, depth_m: float) -> Steps:
    """With closed fingers, straight down on a button by `depth_m` from where it is now, and up again."""
    top = button()
    yield from touch(hand, lambda: top, depth_m=depth_m)


def touch(hand: Hand, top: PoseNow, *, depth_m: float) -> Steps:
    """With closed fingers, from above onto the top of a thing that may move, by `depth_m` into it, and up again."""
    hand.grip = 0.0
    yield from clear(hand, top().position[2] + APPROACH_M)
    yield from reach(hand, lambda: back_off(top(), APPROACH_M))
    yield from reach(hand, lambda: top().shifted(dz=-depth_m), speed_m_s=CAREFUL_SPEED_M_S)
    yield from retreat(hand)


def back_off(tool: Pose, distance_m: float) -> Pose:
    """A pose further back along the tool's own axis."""
    return tool @ Pose((0.0, 0.0, -distance_m))
