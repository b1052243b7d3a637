"""What a robot is to the simulation: its groups of joints, hands, cameras, and how it is added to a model."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Literal, NamedTuple

from robodx.registry import Registry, UnknownName, unknown
from robodx.sim.geometry import Pose
from robodx.spaces import ActionSpace

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
class Group:
    """Joints that are commanded together; its name is how tasks and policies speak of it.

    Each joint has one actuator of the joint's name: a position servo whose target is its activation and whose control
    is the target's velocity, so that MuJoCo itself moves the target linearly between two commands.
    """

    name: str
    joints: tuple[str, ...]
    # Radians a second of a joint that turns, metres a second of one that slides.
    max_speed: tuple[float, ...]
    # kv / kp of the servos: the time by which a moving target is led, so that a constant speed is tracked without lag.
    lead_s: float


@dataclass(frozen=True)
class Posed(Group):
    """A group that is commanded by the positions of its joints, such as a lift."""

    lower: tuple[float, ...]
    upper: tuple[float, ...]
    home: tuple[float, ...]


@dataclass(frozen=True)
class Arm(Posed):
    """A serial chain with a gripper: a hand goes by the name of its arm."""

    tool_site: str
    gripper: Gripper


@dataclass(frozen=True)
class Base(Group):
    """Two slides and a hinge, x, y and yaw, on which the robot's root body drives over the floor.

    It is commanded by velocities along its own axes, as it then stands; at none of them it is locked.
    """


PartKind = Literal["pose", "step", "position", "velocity", "opening", "drive"]


class ActionPart(NamedTuple):
    """Numbers of an action that belong together: of which group, what they are, and where they stand in it.

    An arm takes a pose or a step of its tool, or positions or velocities of its joints; then comes its hand's opening.
    """

    group: Group
    kind: PartKind
    start: int
    stop: int


@dataclass(frozen=True)
class Robot:
    """An embodiment. `build(spec, base_in_world)` adds its bodies, actuators and cameras to a model."""

    name: str
    # In the order of their numbers in an action.
    groups: tuple[Group, ...]
    cameras: tuple[str, ...]
    build: Callable[[mujoco.MjSpec, Pose], None]
    # Where it stands when an episode begins.
    base_in_world: Pose
    root_body: str
    start_noise_rad: float = 0.02
    # The material of its model that is its paint, where it has one.
    paint: str | None = None
    description: str = field(default="", compare=False)

    def __post_init__(self) -> None:
        names = [group.name for group in self.groups]
        if len(set(names)) < len(names):
            raise ValueError(f"{self.name} has two groups of one name: {', '.join(names)}")
        bases = [group for group in self.groups if isinstance(group, Base)]
        if len(bases) > 1 or any(len(base.joints) != 3 for base in bases):
            raise ValueError(f"{self.name} must have one base at most, of three joints: x, y and yaw")
        for hand in self.hands:
            # As words name it: "with your left hand".
            if not (hand.isascii() and hand.isalpha() and hand.islower()):
                raise ValueError(f'a hand is named by one word in small letters, not "{hand}"')

    @cached_property
    def arms(self) -> tuple[Arm, ...]:
        return tuple(group for group in self.groups if isinstance(group, Arm))

    @cached_property
    def posed(self) -> tuple[Posed, ...]:
        """Those that are commanded by positions: all but the base."""
        return tuple(group for group in self.groups if isinstance(group, Posed))

    @cached_property
    def joints(self) -> tuple[str, ...]:
        """Of the groups that are commanded by positions, in order: what a command and a measured state hold."""
        return tuple(joint for group in self.posed for joint in group.joints)

    @property
    def home(self) -> tuple[float, ...]:
        return tuple(value for group in self.posed for value in group.home)

    @cached_property
    def base(self) -> Base | None:
        """None of a robot that stays where it is."""
        return next((group for group in self.groups if isinstance(group, Base)), None)

    def layout(self, space: ActionSpace) -> tuple[ActionPart, ...]:
        """What the numbers of an action are, in order."""
        parts: list[ActionPart] = []
        for group in self.groups:
            for kind, width in _kinds(group, space):
                start = parts[-1].stop if parts else 0
                parts.append(ActionPart(group, kind, start, start + width))
        return tuple(parts)

    @property
    def said(self) -> str:
        """Its groups in a sentence: "the groups left, right and base"."""
        names = [group.name for group in self.groups]
        return f"the group{'s'[: len(names) > 1]} {' and '.join(filter(None, (', '.join(names[:-1]), names[-1])))}"

    @property
    def hands(self) -> tuple[str, ...]:
        return tuple(arm.name for arm in self.arms)

    @property
    def arm(self) -> Arm:
        """The only arm of a single-arm robot."""
        if len(self.arms) != 1:
            raise ValueError(f"{self.name} has {len(self.arms)} arms; choose one by name: {', '.join(self.hands)}")
        return self.arms[0]

    def arm_of(self, hand: str) -> Arm:
        for arm in self.arms:
            if arm.name == hand:
                return arm
        raise UnknownName(unknown("hand", hand, self.hands))


def _kinds(group: Group, space: ActionSpace) -> list[tuple[PartKind, int]]:
    if isinstance(group, Base):
        return [("drive", len(group.joints))]
    own: PartKind = "velocity" if space == "joint_velocity" else "position"
    if not isinstance(group, Arm):
        return [(own, len(group.joints))]
    kinds: dict[ActionSpace, tuple[PartKind, int]] = {"ee_pose": ("pose", 7), "ee_delta": ("step", 6)}
    return [kinds.get(space, (own, len(group.joints))), ("opening", 1)]


ROBOTS: Registry[Robot] = Registry("robot", "robots")
