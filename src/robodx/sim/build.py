"""Turns a placed scene and a robot into a compiled MuJoCo model in which every element is named."""

from __future__ import annotations

import math
from functools import cache

import numpy as np

from robodx.sim import contacts, materials
from robodx.sim.colours import RGB, rgb
from robodx.sim.engine import mujoco
from robodx.sim.geometry import Pose, about
from robodx.sim.robot import Robot
from robodx.sim.scene import Arena, Camera, Light, Part, Scene, Shape, Thing

# MuJoCo's pictures leave this group out.
UNDRAWN_GROUP = 3
# Around a turned shape.
SLICES = 36
PHYSICS_STEP_S = 0.002
# Of red, green and blue together.
DARK = 0.6
IMPEDANCE_RATIO = 20.0
FLOOR_Z = -0.75
WALL_X_M, WALL_Y_M = 1.6, 2.2
WALL_HALF_WIDTH_M, WALL_HALF_HEIGHT_M = 4.0, 1.5
# Parked things wait here, below the floor; they are compiled as things that touch, for MuJoCo would leave others out
# of its search for contacts for good, and the simulation takes contact and weight from them.
PARKING = Pose((0.0, 0.0, -3.0))

_GEOMS = {
    "box": mujoco.mjtGeom.mjGEOM_BOX,
    "sphere": mujoco.mjtGeom.mjGEOM_SPHERE,
    "cylinder": mujoco.mjtGeom.mjGEOM_CYLINDER,
    "capsule": mujoco.mjtGeom.mjGEOM_CAPSULE,
    "prism": mujoco.mjtGeom.mjGEOM_MESH,
    "turned": mujoco.mjtGeom.mjGEOM_MESH,
}
_JOINTS = {"slide": mujoco.mjtJoint.mjJNT_SLIDE, "hinge": mujoco.mjtJoint.mjJNT_HINGE}


def empty_spec() -> mujoco.MjSpec:
    """A spec with the physics settings of every RoboDx model, robot-only models included."""
    spec = mujoco.MjSpec()
    # MjSpec defaults to degrees, which would silently turn joint ranges of 2.9 rad into 2.9 degrees.
    spec.compiler.degree = False
    spec.option.timestep = PHYSICS_STEP_S
    spec.option.integrator = mujoco.mjtIntegrator.mjINT_IMPLICITFAST
    spec.option.cone = mujoco.mjtCone.mjCONE_ELLIPTIC
    spec.option.impratio = IMPEDANCE_RATIO
    return spec


def build(scene: Scene, robot: Robot, substeps: int) -> mujoco.MjModel:
    """`substeps` is how many physics steps the longest control step has."""
    spec = empty_spec()
    spec.visual.map.znear = 0.01
    # Shadows reach the table's corners.
    spec.visual.map.shadowclip = 1.2
    spec.stat.extent = 1.0
    spec.stat.center = [0.0, 0.0, 0.2]
    _add_arena(spec, scene.arena)
    for light in scene.lights:
        _add_light(spec, light)
    for camera in scene.cameras:
        _add_camera(spec, camera)
    robot.build(spec, robot.base_in_world)
    if scene.robot_colour is not None and robot.paint is not None:
        spec.material(robot.paint).rgba = [*scene.robot_colour, 1.0]
    for thing in scene:
        _add_thing(spec, thing)
    contacts.add_sensors(spec, scene, robot, substeps)
    return spec.compile()


def _add_arena(spec: mujoco.MjSpec, arena: Arena) -> None:
    spec.visual.headlight.ambient = [arena.ambient] * 3
    spec.visual.headlight.diffuse = [0.25] * 3
    spec.visual.headlight.specular = [0.05] * 3
    top, bottom = arena.sky_colours
    spec.add_texture(
        name="arena/sky",
        type=mujoco.mjtTexture.mjTEXTURE_SKYBOX,
        builtin=mujoco.mjtBuiltin.mjBUILTIN_GRADIENT,
        rgb1=top,
        rgb2=bottom,
        # Only the cameras at the back see it, and it costs time at every reset.
        width=16,
        height=96,
    )
    spec.worldbody.add_geom(
        name="arena/floor",
        type=mujoco.mjtGeom.mjGEOM_PLANE,
        size=[4, 4, 1],
        pos=[0, 0, FLOOR_Z],
        rgba=[*arena.floor_colour, 1],
    )
    half_x, half_y = arena.table_half_size
    table = spec.worldbody.add_geom(
        name="arena/table",
        type=mujoco.mjtGeom.mjGEOM_BOX,
        size=[half_x, half_y, 0.02],
        pos=[0, 0, -0.02],
        # Low, so that a ball's own rolling friction decides: the pair's friction is the element-wise maximum.
        friction=[1.0, 0.005, 1e-6],
    )
    _paint(spec, table, arena.table_material, arena.table_colour, arena.table_second_colour)
    _add_walls(spec, arena)
    for index, (x, y) in enumerate(((1, 1), (1, -1), (-1, 1), (-1, -1))):
        spec.worldbody.add_geom(
            name=f"arena/leg{index}",
            type=mujoco.mjtGeom.mjGEOM_BOX,
            size=[0.03, 0.03, -(FLOOR_Z + 0.04) / 2],
            pos=[x * (half_x - 0.06), y * (half_y - 0.06), (FLOOR_Z - 0.04) / 2],
            rgba=[*(0.6 * channel for channel in arena.table_colour), 1],
            contype=0,
            conaffinity=0,
        )


def _add_walls(spec: mujoco.MjSpec, arena: Arena) -> None:
    """Behind the robot, further than the cameras there, and on both sides."""
    for name, (x, y), yaw_rad in (
        ("back", (-WALL_X_M, 0.0), 0.0),
        ("left", (0.0, WALL_Y_M), -math.pi / 2),
        ("right", (0.0, -WALL_Y_M), math.pi / 2),
    ):
        # Upright, its picture not turned, and facing the table.
        stands = Pose((x, y, FLOOR_Z), about("z", yaw_rad)) @ Pose((0, 0, 0), about("z", math.pi / 2))
        pose = stands @ Pose((0, 0, WALL_HALF_HEIGHT_M), about("x", math.pi / 2))
        wall = spec.worldbody.add_geom(
            name=f"arena/{name}_wall",
            type=mujoco.mjtGeom.mjGEOM_PLANE,
            size=[WALL_HALF_WIDTH_M, WALL_HALF_HEIGHT_M, 1],
            pos=pose.position,
            quat=pose.quaternion,
            contype=0,
            conaffinity=0,
            # Some lamps hang behind it.
            castshadow=False,
        )
        _paint(spec, wall, arena.wall_material, arena.wall_colour, arena.wall_second_colour)


def _paint(spec: mujoco.MjSpec, geom: mujoco.MjsGeom, material: str, colour: RGB, second: RGB) -> None:
    """With the picture of a material, or with the colour alone."""
    picture = materials.picture(material, colour, second)
    if picture is None:
        geom.rgba = [*colour, 1]
        return
    name = f"arena/{material} {colour} {second}"
    if spec.material(name) is None:
        texture = spec.add_texture(
            name=name, type=mujoco.mjtTexture.mjTEXTURE_2D, width=materials.PIXELS, height=materials.PIXELS, nchannel=3
        )
        texture.data = picture.rgb
        repeats = [picture.repeats_per_m] * 2
        # Dull: a bright spot would hide what it is made of.
        made = spec.add_material(name=name, texrepeat=repeats, texuniform=True, specular=0.1, shininess=0.1)
        made.textures[mujoco.mjtTextureRole.mjTEXROLE_RGB] = name
    geom.material = name


def _cover(spec: mujoco.MjSpec, geom: mujoco.MjsGeom, thing: Thing) -> None:
    """With the picture of a material on all sides, as a cube has them, in the thing's colour and a darker one."""
    colour = rgb(thing.colour)
    # Of what is dark itself, a lighter one.
    second = tuple(0.55 * channel if sum(colour) > DARK else 0.35 + 0.65 * channel for channel in colour)
    picture = materials.picture(thing.material, colour, (second[0], second[1], second[2]))
    assert picture is not None
    name = f"{thing.name}/{thing.material}"
    if spec.material(name) is None:
        texture = spec.add_texture(
            name=name, type=mujoco.mjtTexture.mjTEXTURE_CUBE, width=materials.PIXELS, height=6 * materials.PIXELS,
            nchannel=3,
        )  # fmt: skip
        texture.data = 6 * picture.rgb
        made = spec.add_material(name=name, specular=0.1, shininess=0.1)
        made.textures[mujoco.mjtTextureRole.mjTEXROLE_RGB] = name
    geom.material = name
    # The picture has the colour.
    geom.rgba = [1, 1, 1, 1]


def _add_light(spec: mujoco.MjSpec, light: Light) -> None:
    kind = mujoco.mjtLightType.mjLIGHT_DIRECTIONAL if light.is_directional else mujoco.mjtLightType.mjLIGHT_SPOT
    spec.worldbody.add_light(
        name=light.name,
        type=kind,
        pos=light.position,
        dir=light.direction,
        diffuse=[light.brightness * channel for channel in light.colour],
        specular=[0.3 * light.brightness * channel for channel in light.colour],
        castshadow=light.casts_shadow,
    )


@cache
def camera_quaternion(camera: Camera) -> tuple[float, float, float, float]:
    """A camera looks along its own -z, with +y up in the picture."""
    back = np.subtract(camera.position, camera.target)
    back /= np.linalg.norm(back)
    right = np.cross([0.0, 0.0, 1.0], back)
    if np.linalg.norm(right) < 1e-6:
        raise ValueError(f'camera "{camera.name}" looks straight up or down; move its target a little')
    right /= np.linalg.norm(right)
    return Pose.from_matrix((0, 0, 0), np.column_stack([right, np.cross(back, right), back])).quaternion


def _add_camera(spec: mujoco.MjSpec, camera: Camera) -> None:
    spec.worldbody.add_camera(
        name=camera.name, pos=camera.position, quat=camera_quaternion(camera), fovy=camera.fovy_deg
    )


def _add_thing(spec: mujoco.MjSpec, thing: Thing) -> None:
    pose = PARKING if thing.is_parked else thing.pose
    body = spec.worldbody.add_body(name=thing.name, pos=pose.position, quat=pose.quaternion)
    if not thing.is_fixed:
        body.add_freejoint(name=thing.name)
    _add_shapes(spec, body, thing, thing.shapes, thing.name, thing.mass_kg)
    for part in thing.parts:
        _add_part(spec, body, thing, part)


def _add_part(spec: mujoco.MjSpec, parent: mujoco.MjsBody, thing: Thing, part: Part) -> None:
    name = f"{thing.name}/{part.name}"
    # Weightless: a spring strong enough to carry the part would also have to be pressed through.
    body = parent.add_body(name=name, pos=part.pose.position, quat=part.pose.quaternion, gravcomp=1.0)
    body.add_joint(
        name=name,
        type=_JOINTS[part.joint],
        axis=part.axis,
        range=part.range,
        limited=mujoco.mjtLimited.mjLIMITED_TRUE,
        stiffness=[part.stiffness, 0, 0],
        damping=[part.damping, 0, 0],
        frictionloss=part.friction_loss,
        armature=0.001,
        # A stop, not a second spring: with MuJoCo's default a light part is pressed through it.
        solimp_limit=[0.99, 0.999, 0.001, 0.5, 2.0],
    )
    _add_shapes(spec, body, thing, part.shapes, name, part.mass_kg)
    # MuJoCo spares a child the contact with its parent, but not where the parent is fixed to the world.
    spec.add_exclude(name=name, bodyname1=thing.name, bodyname2=name)


def _add_shapes(
    spec: mujoco.MjSpec, body: mujoco.MjsBody, thing: Thing, shapes: tuple[Shape, ...], name: str, mass_kg: float
) -> None:
    volume = sum(shape.volume_m3 for shape in shapes if shape.collides) or math.inf
    for index, shape in enumerate(shapes):
        geom = body.add_geom(
            name=f"{name}/{shape.name or index}",
            type=_GEOMS[shape.kind],
            pos=shape.pose.position,
            quat=shape.pose.quaternion,
            rgba=[*rgb(shape.colour or thing.colour), 1.0],
            mass=mass_kg * shape.volume_m3 / volume if shape.collides else 0.0,
            friction=[thing.friction, 0.005, 2e-5 if shape.kind == "sphere" else 1e-4],
            condim=6 if shape.kind == "sphere" else 3,
            contype=int(shape.collides),
            conaffinity=int(shape.collides),
            group=0 if shape.is_drawn else UNDRAWN_GROUP,
        )
        if thing.material != materials.PLAIN and shape.colour is None:
            _cover(spec, geom, thing)
        if shape.surface_velocity is not None:
            geom.surfacevel[:3] = shape.surface_velocity
        if shape.kind == "prism":
            geom.meshname = _add_prism(spec, f"{name}/{index}", shape)
        elif shape.kind == "turned":
            geom.meshname = _add_turned(spec, f"{name}/{index}", shape)
        else:
            geom.size[: len(shape.size)] = shape.size


def _add_prism(spec: mujoco.MjSpec, name: str, shape: Shape) -> str:
    half = shape.size[0]
    vertices = [(x, y, z) for z in (-half, half) for x, y in shape.outline]
    spec.add_mesh(name=name, uservert=np.array(vertices, dtype=np.float32).ravel())
    return name


def _add_turned(spec: mujoco.MjSpec, name: str, shape: Shape) -> str:
    """A surface without thickness: of each slice two triangles a piece of the outline, facing out of it."""
    turns = 2 * np.pi * np.arange(SLICES) / SLICES
    radii, heights = np.array(shape.outline).T
    rings = np.stack(
        np.broadcast_arrays(np.outer(radii, np.cos(turns)), np.outer(radii, np.sin(turns)), heights[:, None])
    )
    here = np.arange(rings[0].size).reshape(rings[0].shape)[:-1]  # (pieces, slices)
    beside, above = np.roll(here, -1, axis=1), here + SLICES
    beside_above = beside + SLICES
    faces = np.stack([here, beside, beside_above, here, beside_above, above], axis=-1).reshape(-1, 3)
    spec.add_mesh(
        name=name,
        uservert=rings.reshape(3, -1).T.astype(np.float32).ravel(),
        userface=faces.astype(np.int32).ravel(),
        inertia=mujoco.mjtMeshInertia.mjMESH_INERTIA_SHELL,
    )
    return name
