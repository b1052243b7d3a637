"""What velocities come to: the pose that the hand is told, step by step, within the workspace and near the hand."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields, replace

from robodx.errors import UserError
from robodx.sim.geometry import Pose, Quaternion, Vector, about, difference, interpolate, multiply

# Of a full stick or a key at full speed: about as fast as the expert, for the time is limited as for a policy.
FASTEST_M_S = 0.5
FASTEST_RAD_S = 1.8
# Speeding up evenly keeps the joints within their own limits. Stopping is at once: who lets go means it.
ACCELERATION_M_S2 = 2.5
# The table top in the robot's base: as far as the arm reaches, and as high as things are ever lifted.
LOWEST: Vector = (0.30, -0.45, 0.0)
HIGHEST: Vector = (0.78, 0.45, 0.60)
# Either way, of the hand's pose at home. Fingers are alike on both sides: half a turn in all is every grasp, and
# further round the last joint has no room left to move with.
MOST_YAW_RAD = 1.7
# The hand is told no pose further from where it is: it neither presses harder, nor has a long way back afterwards.
# A step at full speed is 25 mm.
LEASH_M = 0.04
LEASH_RAD = 0.4
# The tool's z axis points out of the fingers: turned about x by half a turn it points down.
DOWN: Quaternion = about("x", math.pi)


@dataclass(frozen=True)
class Velocity:
    """Shares of the fastest, -1 to 1: x away from the robot, y to its left, z up, yaw counterclockwise from above."""

    x: float = 0.0
    y: float = 0.0
    z: float = 0.0
    yaw: float = 0.0

    def __post_init__(self) -> None:
        for one in fields(self):
            value = getattr(self, one.name)
            # What is not a number is not within these either.
            if not -1.0 <= value <= 1.0:
                raise UserError(f"the velocity {one.name} is {value}: it must be -1 to 1")

    @property
    def metres_per_second(self) -> Vector:
        """Of the hand; no faster across than along an axis."""
        return _scaled((self.x, self.y, self.z), FASTEST_M_S / max(1.0, math.hypot(self.x, self.y, self.z)))

    @property
    def is_still(self) -> bool:
        return not (self.x or self.y or self.z or self.yaw)


@dataclass(frozen=True)
class Target:
    """Where the hand is told to be, in the robot's base, and how fast that moves."""

    pose: Pose
    # About the vertical, of the tool's x axis.
    yaw_rad: float
    velocity_m_s: Vector = (0.0, 0.0, 0.0)

    @classmethod
    def at(cls, tool: Pose) -> Target:
        return cls(tool, yaw_of(tool))


def yaw_of(tool: Pose) -> float:
    x, y, _ = tool.axis("x")
    return math.atan2(y, x)


def advanced(target: Target, asked: Velocity, tool: Pose, period_s: float) -> Target:
    """One control step on. `tool` is where the hand is measured to be.

    The hand always comes to point straight down: it starts off a little tilted, and who drives has no way to mend that.
    """
    if asked.is_still:
        return replace(target, velocity_m_s=(0.0, 0.0, 0.0))
    velocity = _sped_up(target.velocity_m_s, asked.metres_per_second, period_s)
    position = _leashed(_within(target.pose.position, _scaled(velocity, period_s)), tool.position)
    yaw = target.yaw_rad + asked.yaw * FASTEST_RAD_S * period_s
    if abs(yaw) > max(MOST_YAW_RAD, abs(target.yaw_rad)) or abs(_wrapped(yaw - yaw_of(tool))) > LEASH_RAD:
        yaw = target.yaw_rad
    upright = Pose(position, multiply(about("z", yaw), DOWN))
    turn_rad = difference(target.pose, upright).angle_rad
    share = min(1.0, FASTEST_RAD_S * period_s / max(turn_rad, 1e-9))
    turned = interpolate(Pose(position, target.pose.quaternion), upright, share)
    return Target(Pose(position, turned.quaternion), yaw, velocity)


def _sped_up(now: Vector, wanted: Vector, period_s: float) -> Vector:
    if not any(wanted):
        return wanted
    # Who turns back stops first, and at once as well.
    now = now if sum(a * b for a, b in zip(now, wanted, strict=True)) > 0 else (0.0, 0.0, 0.0)
    change = math.dist(now, wanted)
    share = min(1.0, ACCELERATION_M_S2 * period_s / max(change, 1e-9))
    x, y, z = (a + share * (b - a) for a, b in zip(now, wanted, strict=True))
    return (x, y, z)


def _within(position: Vector, step: Vector) -> Vector:
    """Further inside or along the edge, never further out: a hand that starts outside does not jump."""
    x, y, z = (
        min(max(at + way, min(low, at)), max(high, at))
        for at, way, low, high in zip(position, step, LOWEST, HIGHEST, strict=True)
    )
    return (x, y, z)


def _leashed(position: Vector, tool: Vector) -> Vector:
    share = min(1.0, LEASH_M / max(math.dist(position, tool), 1e-9))
    x, y, z = (at + share * (told - at) for at, told in zip(tool, position, strict=True))
    return (x, y, z)


def _scaled(vector: Vector, by: float) -> Vector:
    x, y, z = vector
    return (by * x, by * y, by * z)


def _wrapped(angle_rad: float) -> float:
    return math.remainder(angle_rad, math.tau)
