"""The read-only, name-addressed view of the simulation: all that conditions, events and privileged policies see."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from robodx.registry import UnknownName, unknown
from robodx.sim.contacts import ARENA, ROBOT
from robodx.sim.geometry import Pose, Vector
from robodx.sim.log import Log
from robodx.sim.robot import Robot
from robodx.sim.scene import Thing
from robodx.sim.simulation import Simulation


class Speed(NamedTuple):
    linear_m_s: float
    angular_rad_s: float


@dataclass(frozen=True)
class Snapshot:
    """The world of one instant as plain values, for what must outlive the simulation."""

    time_s: float
    poses: Mapping[str, Pose]
    joints: Mapping[str, float]
    # By hand.
    tools: Mapping[str, Pose]
    openings: Mapping[str, float]


class World:
    """Poses, speeds, contacts, grasps and the log, by the names of the scene."""

    def __init__(self, simulation: Simulation) -> None:
        self._simulation = simulation
        data = simulation.data
        self.things: dict[str, Thing] = {thing.name: thing for thing in simulation.scene}
        self._heading_rad = _heading(simulation.robot.base_in_world)
        # Views into MuJoCo's own arrays: reading a pose looks nothing up.
        self._positions = {name: data.body(name).xpos for name in self.things}
        self._quaternions = {name: data.body(name).xquat for name in self.things}
        self._velocities = {name: data.joint(name).qvel for name, thing in self.things.items() if not thing.is_fixed}
        self._joints = {
            f"{name}/{part.name}": data.joint(f"{name}/{part.name}").qpos
            for name, thing in self.things.items()
            for part in thing.parts
        }
        # What conditions remember (since when it holds, that it once held), keyed by the condition itself.
        self.memory: dict[Hashable, Any] = {}

    @property
    def step(self) -> int:
        return self._simulation.step_count

    @property
    def time_s(self) -> float:
        return self._simulation.time_s

    @property
    def log(self) -> Log:
        return self._simulation.log

    def note_refined(self, text: str | None) -> None:
        """What a policy is told now in place of its instruction, by a layer before it; None: the instruction."""
        self.log.add_refined(self._simulation.step_count, self._simulation.time_s, text)

    def thing(self, name: str) -> Thing:
        try:
            return self.things[name]
        except KeyError:
            raise UnknownName(unknown("object", name, self.things)) from None

    def position(self, name: str) -> Vector:
        try:
            x, y, z = self._positions[name].tolist()
        except KeyError:
            raise UnknownName(unknown("object", name, self.things)) from None
        return (x, y, z)

    def pose(self, name: str) -> Pose:
        position = self.position(name)
        qw, qx, qy, qz = self._quaternions[name].tolist()
        return Pose(position, (qw, qx, qy, qz))

    def frame(self, name: str, frame: str) -> Pose:
        """A named frame of a thing, in the world."""
        return self.pose(name) @ self.thing(name).frame(frame)

    def reach(self, name: str) -> Vector:
        """Half extents of the thing's bounding box along the world's axes, as it lies now."""
        thing = self.thing(name)
        qw, qx, qy, qz = self._quaternions[name].tolist()
        return thing.reach((qw, qx, qy, qz))

    def speed(self, name: str) -> Speed:
        velocity = self._velocities.get(self.thing(name).name)
        if velocity is None:
            return Speed(0.0, 0.0)
        vx, vy, vz, wx, wy, wz = velocity.tolist()
        return Speed(math.sqrt(vx * vx + vy * vy + vz * vz), math.sqrt(wx * wx + wy * wy + wz * wz))

    def velocity(self, name: str) -> Vector:
        """Linear velocity in the world frame."""
        velocity = self._velocities.get(self.thing(name).name)
        if velocity is None:
            return (0.0, 0.0, 0.0)
        vx, vy, vz = velocity[:3].tolist()
        return (vx, vy, vz)

    def joint(self, name: str) -> float:
        """The position of a moving part, `thing/part`: radians of a hinge, metres of a slide."""
        try:
            return float(self._joints[name][0])
        except KeyError:
            raise UnknownName(unknown("moving part", name, self._joints)) from None

    def is_lit(self, lamp: str) -> bool:
        lamps = self._simulation.lamps
        if lamp not in lamps:
            raise UnknownName(unknown("lamp", lamp, lamps))
        return lamps[lamp]

    def colour(self, name: str) -> str:
        """The colour it wears now: an event may have changed it."""
        return self._simulation.colours[self.thing(name).name]

    def is_present(self, name: str) -> bool:
        return self.thing(name).name not in self._simulation.parked

    def touching(self, a: str, b: str) -> bool:
        """Whether two things touch, at the end of this control step."""
        return self._simulation.contacts.touches(self.thing(a).name, self.thing(b).name)

    def touches_robot(self, name: str) -> bool:
        """Whether the robot touched it at any moment of this control step."""
        return self._simulation.contacts.touches(self.thing(name).name, ROBOT)

    def touches_arena(self, name: str) -> bool:
        return self._simulation.contacts.touches(self.thing(name).name, ARENA)

    def is_grasped(self, name: str) -> bool:
        """Between both fingers of one hand."""
        return self.thing(name).name in self._simulation.contacts.held.values()

    def holders(self, name: str) -> tuple[str, ...]:
        """The hands that hold it: more than one while it is handed over."""
        known = self.thing(name).name
        return tuple(hand for hand, thing in self._simulation.contacts.held.items() if thing == known)

    @property
    def robot(self) -> Robot:
        return self._simulation.robot

    @property
    def hands(self) -> tuple[str, ...]:
        return self.robot.hands

    # Of a hand, which may be left out where there is only one.

    def held(self, hand: str | None = None) -> str | None:
        return self._simulation.contacts.held[self._hand(hand)]

    def tool(self, hand: str | None = None) -> Pose:
        return self._simulation.tool_in_world(hand)

    def opening(self, hand: str | None = None) -> float:
        """Measured, 0 (closed) … 1 (open)."""
        return self._simulation.gripper_openings()[self.hands.index(self._hand(hand))]

    def _hand(self, name: str | None) -> str:
        return self.robot.arm.name if name is None else self.robot.arm_of(name).name

    @property
    def base(self) -> Pose:
        """Where the robot stands now."""
        return self._simulation.base_in_world()

    @property
    def heading_rad(self) -> float:
        """Which way the robot looks: its turn about the vertical."""
        return self._heading_rad if self.robot.base is None else _heading(self.base)

    def distance_to_hand(self, place: Vector, hand: str | None = None) -> float:
        """Of the hand that is named, or of the nearest."""
        hands = self.hands if hand is None else (hand,)
        return min([math.dist(self.tool(name).position, place) for name in hands])

    def imagined(self) -> Simulation:
        """A simulation of its own, of things as they are now and at rest, to try a plan out in."""
        return self._simulation.imagined()

    def copy(self) -> Snapshot:
        return Snapshot(
            self.time_s,
            {name: self.pose(name) for name in self.things},
            {name: self.joint(name) for name in self._joints},
            {hand: self.tool(hand) for hand in self.hands},
            {hand: self.opening(hand) for hand in self.hands},
        )


def _heading(base: Pose) -> float:
    x, y, _ = base.axis("x")
    return math.atan2(y, x)
