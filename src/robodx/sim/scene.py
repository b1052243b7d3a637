"""Frozen declarations of what stands where: shapes, things, arena, lights and cameras. Nothing here simulates."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Literal

from robodx.registry import UnknownName, unknown
from robodx.sim.colours import RGB, rgb
from robodx.sim.geometry import Pose, Quaternion, Vector, about, box_reach, cylinder_reach
from robodx.sim.materials import PLAIN, check

ORIGIN = Pose()
# Where a robot stands at the table, facing along x: what is nearest to it is said of distances from here.
STAND = (-0.615, 0.0)

ShapeKind = Literal["box", "sphere", "cylinder", "capsule", "prism", "turned"]


@dataclass(frozen=True)
class Shape:
    """One geometric primitive of a thing, in the thing's frame.

    `size` holds half extents: box (x, y, z), sphere (r,), cylinder and capsule (r, half length), prism (half height,),
    a convex `outline` in the xy plane extruded along z, turned (), an `outline` of (radius, height) from the outside to
    the inside, turned about z. One with a `name` is a lamp, lit as `thing/name`.
    """

    kind: ShapeKind
    size: tuple[float, ...]
    pose: Pose = ORIGIN
    colour: str | None = None
    outline: tuple[tuple[float, float], ...] = ()
    collides: bool = True
    # What is not drawn only collides, under a finer shape that does not.
    is_drawn: bool = True
    name: str | None = None
    # In the shape's frame: what rests on it is carried along like on a conveyor belt, m/s. Belts stand still until an
    # event runs them.
    surface_velocity: Vector | None = None

    def __post_init__(self) -> None:
        if self.kind == "turned" and self.collides:
            raise ValueError(
                "a turned shape is hollow and only drawn: give it collides=False, and colliding shapes beside it"
            )

    @property
    def volume_m3(self) -> float:
        match self.kind:
            case "box":
                return 8 * math.prod(self.size)
            case "sphere":
                return 4 / 3 * math.pi * self.size[0] ** 3
            case "cylinder":
                return 2 * math.pi * self.size[0] ** 2 * self.size[1]
            case "capsule":
                return math.pi * self.size[0] ** 2 * (2 * self.size[1] + 4 / 3 * self.size[0])
            case "prism":
                turned = self.outline[1:] + self.outline[:1]
                area = sum(a[0] * b[1] - b[0] * a[1] for a, b in zip(self.outline, turned, strict=True)) / 2
                return abs(area) * 2 * self.size[0]
            case "turned":
                return 0.0


@dataclass(frozen=True)
class Part:
    """A moving part of a thing: its shapes hang on one joint. Addressed as `thing/part`."""

    name: str
    shapes: tuple[Shape, ...]
    joint: Literal["slide", "hinge"]
    axis: Vector
    range: tuple[float, float]
    pose: Pose = ORIGIN
    stiffness: float = 0.0
    damping: float = 0.0
    friction_loss: float = 0.0
    mass_kg: float = 0.02


@dataclass(frozen=True)
class Region:
    """Where a thing may be put on the table: a rectangle, a range of turns about z, and room around it."""

    x: tuple[float, float]
    y: tuple[float, float]
    yaw_rad: tuple[float, float] = (0.0, 0.0)
    gap_m: float = 0.02


@dataclass(frozen=True)
class Thing:
    """An object: what it is called, what it looks like, what it weighs, and where it is to be put.

    The thing's frame is the centre of its bounding box, whose half extents are `half_extents`. `frames` are named
    places on it that a skill or a condition needs, such as a hole's mouth.
    """

    name: str
    kind: str
    colour: str
    shapes: tuple[Shape, ...]
    half_extents: Vector
    placement: Pose | Region
    mass_kg: float = 0.05
    friction: float = 1.0
    is_fixed: bool = False
    is_parked: bool = False
    parts: tuple[Part, ...] = ()
    frames: tuple[tuple[str, Pose], ...] = ()
    # Of a container, the half extents between its walls.
    cavity_half: tuple[float, float] | None = None
    # Colours of its bands in order along x, for what is told by them; and whether it wears stripes.
    bands: tuple[str, ...] = ()
    is_striped: bool = False
    # What it seems to be made of, drawn in lighter and darker shades of its colour.
    material: str = PLAIN

    def at(self, x: float, y: float, *, z: float | None = None, yaw_rad: float = 0.0) -> Thing:
        """Put at a fixed place; without `z` it rests on the table."""
        height = self.half_extents[2] if z is None else z
        return replace(self, placement=Pose((x, y, height), about("z", yaw_rad)))

    def posed(self, pose: Pose) -> Thing:
        return replace(self, placement=pose)

    def within(self, region: Region) -> Thing:
        return replace(self, placement=region)

    def parked(self) -> Thing:
        """Compiled, but out of the world until an event makes it appear."""
        if self.is_fixed:
            raise ValueError(f'"{self.name}" is fixed to the table: it cannot appear later')
        return replace(self, is_parked=True)

    def named(self, name: str) -> Thing:
        return replace(self, name=name)

    @property
    def pose(self) -> Pose:
        if isinstance(self.placement, Region):
            raise ValueError(f'"{self.name}" is not placed yet: its placement is a region')
        return self.placement

    def frame(self, name: str) -> Pose:
        frames = dict(self.frames)
        if name not in frames:
            raise UnknownName(unknown(f'frame of "{self.name}"', name, frames))
        return frames[name]

    def reach(self, turn: Quaternion) -> Vector:
        """Half extents of the box around it, along the axes of the frame in which it is turned so."""
        # What is round reaches no further for having rolled: the turned box around it would.
        kind = self.shapes[0].kind if len(self.shapes) == 1 else None
        if kind == "sphere":
            return self.half_extents
        if kind == "cylinder":
            return cylinder_reach(turn, self.half_extents[0], self.half_extents[2])
        return box_reach(turn, self.half_extents)

    @property
    def radius_m(self) -> float:
        """Of the circle around it on the table, for keeping things apart."""
        return math.hypot(self.half_extents[0], self.half_extents[1])


@dataclass(frozen=True)
class Light:
    """A directional or point light; `brightness` scales its diffuse and specular colour."""

    name: str
    position: Vector
    direction: Vector = (0.0, 0.0, -1.0)
    brightness: float = 1.0
    colour: RGB = (1.0, 1.0, 1.0)
    is_directional: bool = True
    casts_shadow: bool = True


@dataclass(frozen=True)
class Camera:
    """A pinhole camera that stands still and looks at a point."""

    name: str
    position: Vector
    target: Vector
    fovy_deg: float = 45.0


@dataclass(frozen=True)
class Arena:
    """The room: table, floor, walls behind and beside the robot, and sky. The table's top is z = 0."""

    table_colour: RGB = (0.72, 0.60, 0.46)
    table_second_colour: RGB = (0.62, 0.50, 0.37)
    table_material: str = "wood"
    wall_colour: RGB = (0.78, 0.78, 0.75)
    wall_second_colour: RGB = (0.72, 0.72, 0.70)
    wall_material: str = "plaster"
    table_half_size: tuple[float, float] = (0.85, 0.70)
    floor_colour: RGB = (0.42, 0.45, 0.49)
    sky_colours: tuple[RGB, RGB] = ((0.80, 0.86, 0.92), (0.55, 0.63, 0.72))
    ambient: float = 0.42

    def __post_init__(self) -> None:
        for material in (self.table_material, self.wall_material):
            check(material)


# Each sees the workspace; the overview and those at the back see, at home, the whole arm.
CAMERAS: tuple[Camera, ...] = (
    # From across the table, looking back at the robot: its left is the picture's right. Far away and narrow: a 40 mm
    # cube is 9 pixels wide in a picture of 128, and the near corners of the workspace are still in view.
    Camera("front", (2.45, 0.0, 1.65), (-0.32, 0.0, 0.02), 10.8),
    Camera("left", (-0.15, 1.35, 0.80), (-0.15, 0.0, 0.14), 29.0),
    Camera("right", (-0.15, -1.35, 0.80), (-0.15, 0.0, 0.14), 29.0),
    Camera("overview", (1.00, 0.0, 0.80), (-0.20, 0.0, 0.28), 45.0),
    Camera("back_left", (-1.30, 0.95, 1.10), (-0.27, 0.02, 0.22), 42.0),
    Camera("back_right", (-1.30, -0.95, 1.10), (-0.27, -0.02, 0.22), 42.0),
)

LIGHTS: tuple[Light, ...] = (Light("key", (0.6, 0.8, 2.0), (-0.35, -0.4, -1.0), brightness=0.6),)


@dataclass(frozen=True)
class Scene:
    """Everything that is there before the robot: a placed scene is one whose placements are all poses."""

    things: tuple[Thing, ...]
    arena: Arena = field(default_factory=Arena)
    cameras: tuple[Camera, ...] = CAMERAS
    lights: tuple[Light, ...] = LIGHTS
    # In place of the robot's own paint.
    robot_colour: RGB | None = None
    # Where a policy is told that the cameras stand; None: where they do.
    told_cameras: tuple[Camera, ...] | None = None

    def __post_init__(self) -> None:
        names = [thing.name for thing in self.things]
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise ValueError(f"two things share a name: {', '.join(twice)}; give one another with .named(...)")
        for thing in self.things:
            rgb(thing.colour)
            check(thing.material)

    def __iter__(self) -> Iterator[Thing]:
        return iter(self.things)

    def thing(self, name: str) -> Thing:
        for thing in self.things:
            if thing.name == name:
                return thing
        raise UnknownName(unknown("object", name, [thing.name for thing in self.things]))


def tabletop(*things: Thing, arena: Arena | None = None) -> Scene:
    """The table-top scene: these things, the usual arena, light and standing cameras."""
    return Scene(things, arena or Arena())
