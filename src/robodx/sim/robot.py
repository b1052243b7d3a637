"""What a robot is to the simulation: its arms, grippers, cameras, and how it is added to a model."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from robodx.registry import Registry
from robodx.sim.geometry import Pose

if TYPE_CHECKING:
    from robodx.sim.engine import mujoco


@dataclass(frozen=True)
class Gripper:
    """A parallel gripper, driven by one actuator whose control is the travel of one finger."""

    actuator: str
    finger_joints: tuple[str, str]
    finger_bodies: tuple[str, str]
    pad_geoms: tuple[str, str]
    finger_travel_m: float


@dataclass(frozen=True)
class Arm:
    """A serial chain with a gripper; `role` is how tasks speak of it, never the robot's name.

    Each joint has one actuator of the joint's name: a position servo whose target is its activation and whose control
    is the target's velocity, so that MuJoCo itself moves the target linearly between two commands.
    """

    role: str
    joints: tuple[str, ...]
    lower_rad: tuple[float, ...]
    upper_rad: tuple[float, ...]
    max_speed_rad_s: tuple[float, ...]
    home_rad: tuple[float, ...]
    tool_site: str
    gripper: Gripper
    # kv / kp of the servos: the time by which a moving target is led, so that a constant speed is tracked without lag.
    lead_s: float


@dataclass(frozen=True)
class Robot:
    """An embodiment. `build(spec, base_in_world)` adds its bodies, actuators and cameras to a model."""

    name: str
    arms: tuple[Arm, ...]
    cameras: tuple[str, ...]
    build: Callable[[mujoco.MjSpec, Pose], None]
    base_in_world: Pose
    root_body: str
    start_noise_rad: float = 0.02
    # The material of its model that is its paint, where it has one.
    paint: str | None = None
    description: str = field(default="", compare=False)

    @property
    def arm(self) -> Arm:
        """The only arm of a single-arm robot."""
        if len(self.arms) != 1:
            raise ValueError(f"{self.name} has {len(self.arms)} arms; choose one by role")
        return self.arms[0]


ROBOTS: Registry[Robot] = Registry("robot", "robots")
