"""Where a parallel gripper can take hold of a thing from above."""

from __future__ import annotations

import math

from robodx.sim.geometry import Pose, about, multiply

# Fingers open 80 mm apart: what is wider than this leaves no room to come down.
WIDEST_M = 0.072
POINTING_DOWN = about("x", math.pi)
ROUND = ("sphere", "cylinder")
# Of what is no box, after which turn about z its outline is the same; the fingers close on its sides along y.
OUTLINE_TURN_RAD = {
    "hexagonal block": math.pi / 3,
    "cross": math.pi / 2,
    "half-moon": 2 * math.pi,
    "triangular block": math.pi,
    "T-block": 2 * math.pi,
}


class CannotBeDone(ValueError):
    """What is asked cannot be done with such a thing."""


def from_above(x: float, y: float, z: float, yaw_rad: float) -> Pose:
    """A tool pose pointing down whose fingers close along y turned by `yaw_rad`."""
    return Pose((x, y, z), multiply(about("z", yaw_rad), POINTING_DOWN))


def yaw_of(pose: Pose) -> float:
    """The turn of a pose's x axis about the vertical."""
    x, y, _ = pose.axis("x")
    return math.atan2(y, x)


def nearest_turn(yaw_rad: float, period_rad: float) -> float:
    """The equivalent turn nearest zero, that is nearest the hand's home."""
    return (yaw_rad + period_rad / 2) % period_rad - period_rad / 2


def grasp_yaw(pose: Pose, half_extents: tuple[float, float, float], kind: str) -> float:
    """The turn of the hand, nearest its home, in which the fingers close on two faces of a thing lying flat."""
    if kind in ROUND:
        return 0.0
    yaw = yaw_of(pose)
    if kind in OUTLINE_TURN_RAD:
        # Which finger comes to which side does not matter.
        return nearest_turn(yaw, min(math.pi, OUTLINE_TURN_RAD[kind]))
    along_x, along_y = (2 * extent <= WIDEST_M for extent in half_extents[:2])
    choices = [nearest_turn(yaw, math.pi)] if along_y else []
    if along_x:
        choices.append(nearest_turn(yaw + math.pi / 2, math.pi))
    if not choices:
        raise CannotBeDone(f"a {kind} of {[2 * e for e in half_extents]} m is too wide for the gripper")
    return min(choices, key=abs)
