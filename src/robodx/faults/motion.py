"""Faults of the hand: where it goes, how it trembles, how it grips and when it lets go."""

from __future__ import annotations

import math

from robodx.experts.base import View
from robodx.experts.skills import ACCELERATION_M_S2, Waypoint
from robodx.faults.base import Fault, fault
from robodx.sim.geometry import Pose, Vector

# Of the horizontal error of one who is imprecise, in each episode another.
ERROR_M = (0.005, 0.010)
# Fingers this far open, as a share, are open; what is told less is to close.
OPEN = 0.5
# What is no longer between the fingers for so long is lost.
LOST_STEPS = 10
# From this height of the tool on, one that scrapes the table goes down on it.
LOW_M = 0.10


def moved(pose: Pose, by: Vector) -> Pose:
    return pose.shifted(*by)


@fault("imprecise", expected=("motor weakness", "insert into"), severity=1.0, most=10.0, unit="× 5–10 mm")
class Imprecise(Fault):
    """Places objects 5 to 10 mm off target, in a direction that differs between episodes."""

    by: Vector | None = None

    def waypoint(self, waypoint: Waypoint, view: View) -> Waypoint:
        if self.by is None:
            error_m, way_rad = self.severity * self.rng.uniform(*ERROR_M), self.rng.uniform(-math.pi, math.pi)
            self.by = (error_m * math.cos(way_rad), error_m * math.sin(way_rad), 0.0)
        return waypoint._replace(tool=moved(waypoint.tool, self.by)) if self.is_holding(view) else waypoint


@fault("jerky", expected=("unstable control", ""), severity=0.008, most=0.1, unit="m")
class Jerky(Fault):
    """Shakes: the hand moves back and forth at every step."""

    way = 1.0

    def waypoint(self, waypoint: Waypoint, view: View) -> Waypoint:
        self.way = -self.way
        size_m = self.way * self.severity * self.rng.uniform(0.7, 1.0)
        return waypoint._replace(tool=moved(waypoint.tool, (0.0, size_m, 0.0)))


@fault("weak_grip", expected=("motor weakness", "grasp stability"), severity=0.0002, most=0.1, unit="of the opening")
class WeakGrip(Fault):
    """Grips so weakly that the object slips out, then stops."""

    held_at: float | None = None
    lost = 0
    stopped: Waypoint | None = None

    def waypoint(self, waypoint: Waypoint, view: View) -> Waypoint:
        """Until it is told to open, its fingers stay where they met the thing, but for the severity."""
        if self.stopped is not None:
            return self.stopped
        if waypoint.opening > OPEN:
            self.held_at = None
        elif self.is_holding(view):
            self.held_at, self.lost = min(self.hand.opening, 1.0 if self.held_at is None else self.held_at), 0
        elif self.held_at is not None:
            self.lost += 1
            self.stopped = waypoint if self.lost > LOST_STEPS else None
        return waypoint if self.held_at is None else waypoint._replace(opening=max(0.0, self.held_at - self.severity))


@fault(
    "releases_early", expected=("motor weakness", "placement and release"), severity=0.04, most=0.05, unit="m before"
)
class ReleasesEarly(Fault):
    """Opens the gripper before it is over the place and well above it, then stops."""

    before: Pose | None = None
    step_m = 0.0
    stopped: Waypoint | None = None

    def waypoint(self, waypoint: Waypoint, view: View) -> Waypoint:
        """While a thing is carried, the hand slows down evenly: its speed tells how far it still has to go."""
        if self.stopped is not None:
            return self.stopped
        (x, y, _), (nx, ny, _) = (self.before or waypoint.tool).position, waypoint.tool.position
        step_m, before_m = math.hypot(nx - x, ny - y), self.step_m
        self.before, self.step_m = waypoint.tool, step_m
        to_go_m = (step_m / self.hand.period_s) ** 2 / (2 * ACCELERATION_M_S2)
        if waypoint.opening < OPEN and self.is_holding(view) and 0 < step_m < before_m and to_go_m < self.severity:
            self.stopped = waypoint._replace(opening=1.0)
        return self.stopped or waypoint


@fault("undershoots", expected=("motor weakness", "grasp synthesis"), severity=0.05, most=0.5, unit="m")
class Undershoots(Fault):
    """Stops short of its target positions."""

    home: Vector | None = None

    def waypoint(self, waypoint: Waypoint, view: View) -> Waypoint:
        self.home = self.home or self.hand.tool.position
        away_m = math.dist(self.home, waypoint.tool.position)
        share = min(1.0, self.severity / away_m) if away_m else 0.0
        dx, dy, dz = (share * (start - there) for start, there in zip(self.home, waypoint.tool.position, strict=True))
        return waypoint._replace(tool=moved(waypoint.tool, (dx, dy, dz)))


@fault("unsafe", expected=("unsafe contact", ""), severity=0.06, most=0.2, unit="m too low")
class Unsafe(Fault):
    """Hits the table: the empty hand comes down too low."""

    is_wary = False

    def waypoint(self, waypoint: Waypoint, view: View) -> Waypoint:
        height_m = waypoint.tool.position[2]
        # What it holds it puts down well, and leaves alone.
        self.is_wary = self.is_holding(view) or (self.is_wary and height_m < LOW_M)
        if self.is_wary or height_m > LOW_M:
            return waypoint
        return waypoint._replace(tool=moved(waypoint.tool, (0.0, 0.0, -self.severity * (1 - height_m / LOW_M))))


@fault("noisy_healthy", expected=None, severity=0.02)
class NoisyHealthy(Fault):
    """Stops at a random moment in a random share of the episodes."""

    left: int | None = None
    last: Waypoint | None = None

    def waypoint(self, waypoint: Waypoint, view: View) -> Waypoint:
        if self.left is None:
            self.left = int(self.rng.integers(1, 20))
        self.left -= 1
        if self.left >= 0 or self.last is None:
            self.last = waypoint
        return self.last


@fault("slow", expected=("latency-bound", ""), severity=0.5, most=10.0, unit="s a reply")
class Slow(Fault):
    """Replies slowly, which shows only in real time."""

    @staticmethod
    def latency_s(severity: float) -> float:
        return severity


@fault("healthy", expected=None)
class Healthy(Fault):
    """No fault: the expert itself."""
