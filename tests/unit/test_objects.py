"""Every object builder, alone on the table with the Panda: it compiles, fits its box and rests."""

from __future__ import annotations

from collections.abc import Callable

import mujoco
import numpy as np
import pytest

from robodx.registry import UnknownName
from robodx.robots.panda import PANDA
from robodx.sim import objects
from robodx.sim.build import build
from robodx.sim.geometry import Array, difference
from robodx.sim.scene import Thing, tabletop
from robodx.sim.simulation import Simulation
from robodx.sim.world import World

BUILT: dict[str, Thing] = {
    "cube": objects.cube("red"),
    "big cube": objects.cube("red", 0.03),
    "sphere": objects.sphere("yellow"),
    "cylinder": objects.cylinder("green"),
    "triangular_block": objects.triangular_block("purple"),
    "t_block": objects.t_block("cyan"),
    "peg": objects.peg("orange"),
    "banded_peg": objects.banded_peg("red", "yellow", "blue"),
    "hole_block": objects.hole_block("blue"),
    "bin_": objects.bin_("blue"),
    "bowl": objects.bowl("white"),
    "crate": objects.crate("grey"),
    "open_box": objects.open_box("yellow"),
    "charger": objects.charger(),
    "receptacle": objects.receptacle(),
    "goal_disc": objects.goal_disc(),
    "slot_board": objects.slot_board(),
    "hexagonal_block": objects.hexagonal_block("mint"),
    "cross": objects.cross("coral"),
    "half_moon": objects.half_moon("lavender"),
    "octagonal_peg": objects.octagonal_peg("sky blue"),
    "kit_tray": objects.kit_tray("ivory"),
    "switch": objects.switch(),
    "lamp": objects.lamp(),
    "ramp": objects.ramp(),
    "conveyor": objects.conveyor(),
}
FREE = [name for name, thing in BUILT.items() if not thing.is_fixed]
FIXED = [name for name, thing in BUILT.items() if thing.is_fixed]
EVERY = pytest.mark.parametrize("name", BUILT)
ELEMENTS = {"BODY": "nbody", "JOINT": "njnt", "GEOM": "ngeom", "SITE": "nsite", "CAMERA": "ncam", "LIGHT": "nlight"}
ELEMENTS |= {"MESH": "nmesh", "TEXTURE": "ntex", "MATERIAL": "nmat", "ACTUATOR": "nu", "TENDON": "ntendon"}


def geom_box(model: mujoco.MjModel, data: mujoco.MjData, geom: int) -> tuple[Array, Array]:
    """Lower and upper corner of one geom in the world, from its vertices or its analytic extent."""
    centre, rotation = data.geom_xpos[geom], data.geom_xmat[geom].reshape(3, 3)
    size = model.geom_size[geom]
    match model.geom_type[geom]:
        case mujoco.mjtGeom.mjGEOM_SPHERE:
            reach = np.full(3, size[0])
        case mujoco.mjtGeom.mjGEOM_CYLINDER:
            axis = rotation[:, 2]
            reach = size[0] * np.sqrt(1 - axis**2) + size[1] * np.abs(axis)
        case mujoco.mjtGeom.mjGEOM_BOX:
            reach = np.abs(rotation) @ size
        case _:
            mesh = model.mesh(model.geom_dataid[geom])
            vertices = model.mesh_vert[mesh.vertadr[0] : mesh.vertadr[0] + mesh.vertnum[0]] @ rotation.T + centre
            return vertices.min(axis=0), vertices.max(axis=0)
    return centre - reach, centre + reach


def test_every_builder_is_tested() -> None:
    builders = {
        name
        for name, entry in vars(objects).items()
        if callable(entry) and getattr(entry, "__annotations__", {}).get("return") == "Thing"
    }
    assert builders == set(BUILT) - {"big cube"}


@EVERY
def test_every_element_of_the_model_is_named(name: str) -> None:
    model = build(tabletop(BUILT[name].at(0.0, 0.0)), PANDA, 25)
    unnamed = [
        f"{kind} {index}"
        for kind, count in ELEMENTS.items()
        for index in range(getattr(model, count))
        if not mujoco.mj_id2name(model, getattr(mujoco.mjtObj, f"mjOBJ_{kind}"), index)
    ]
    assert unnamed == []


@EVERY
def test_bounding_box_is_what_half_extents_say(name: str) -> None:
    thing = BUILT[name].at(0.0, 0.0)
    model = build(tabletop(thing), PANDA, 25)
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    root = model.body(thing.name).id
    boxes = [geom_box(model, data, g) for g in range(model.ngeom) if model.body_rootid[model.geom_bodyid[g]] == root]
    x, y, z = thing.half_extents
    assert np.min([low for low, _ in boxes], axis=0) == pytest.approx([-x, -y, 0.0], abs=1e-6)
    assert np.max([high for _, high in boxes], axis=0) == pytest.approx([x, y, 2 * z], abs=1e-6)


@EVERY
def test_frames_lie_in_or_on_the_box(name: str) -> None:
    thing = BUILT[name]
    for frame, pose in thing.frames:
        assert np.all(np.abs(pose.position) <= np.array(thing.half_extents) + 1e-9), frame


@EVERY
def test_declared_mass_is_the_compiled_mass(name: str) -> None:
    thing = BUILT[name]
    model = build(tabletop(thing.at(0.0, 0.0)), PANDA, 25)
    declared = thing.mass_kg if any(shape.collides for shape in thing.shapes) else 0.0
    assert model.body(thing.name).mass[0] == pytest.approx(declared)


@pytest.mark.parametrize("name", FREE)
@pytest.mark.parametrize("yaw_rad", [0.0, 0.7])
def test_free_things_rest(
    name: str, yaw_rad: float, simulate: Callable[..., Simulation], wait: Callable[[Simulation, float], None]
) -> None:
    thing = BUILT[name].at(0.05, -0.1, yaw_rad=yaw_rad)
    simulation = simulate(thing)
    wait(simulation, 1.0)
    now = World(simulation).pose(thing.name)
    moved = difference(thing.pose, now)
    assert moved.distance_m < 1e-3 and moved.angle_rad < 0.01
    assert thing.pose.position[2] - now.position[2] < 5e-4
    speed = World(simulation).speed(thing.name)
    assert speed.linear_m_s < 1e-3 and speed.angular_rad_s < 0.02


@pytest.mark.parametrize("name", FIXED)
def test_fixed_things_do_not_move(
    name: str, simulate: Callable[..., Simulation], wait: Callable[[Simulation, float], None]
) -> None:
    thing = BUILT[name].at(0.05, -0.1)
    simulation = simulate(thing)
    start = World(simulation).copy()
    wait(simulation, 1.0)
    end = World(simulation).copy()
    assert end.poses == start.poses == {thing.name: thing.pose}
    assert end.joints == pytest.approx({f"{thing.name}/{part.name}": 0.0 for part in thing.parts}, abs=1e-6)


def test_ball_dropped_near_the_cell_of_a_bin_comes_to_rest_in_it(
    simulate: Callable[..., Simulation], wait: Callable[[Simulation, float], None]
) -> None:
    simulation = simulate(objects.bin_("blue").at(0.0, 0.0), objects.sphere("yellow").at(0.004, -0.004, z=0.04))
    wait(simulation, 2.0)
    world = World(simulation)
    cell = world.frame("blue bin", "cell").position
    assert world.position("yellow sphere") == pytest.approx((cell[0], cell[1], cell[2] + 0.02), abs=2e-3)
    assert world.speed("yellow sphere").linear_m_s < 0.01


def test_button_springs_back_and_stops_at_its_travel(
    simulate: Callable[..., Simulation], wait: Callable[[Simulation, float], None]
) -> None:
    simulation = simulate(objects.switch().at(0.0, 0.0))
    joint = simulation.data.joint("switch/button")
    joint.qpos[:] = objects.SWITCH_TRAVEL_M
    wait(simulation, 1.0)
    assert abs(World(simulation).joint("switch/button")) < 1e-3
    simulation.data.body("switch/button").xfrc_applied[2] = -20.0
    wait(simulation, 1.0)
    assert World(simulation).joint("switch/button") == pytest.approx(objects.SWITCH_TRAVEL_M, abs=1e-3)


def test_unknown_colour_or_frame_is_answered_with_the_nearest() -> None:
    with pytest.raises(UnknownName, match=r'No colour "purpel". Did you mean "purple"'):
        tabletop(objects.cube("purpel"))
    with pytest.raises(UnknownName, match=r'No frame of "orange peg" "tpi". Did you mean "tip"'):
        BUILT["peg"].frame("tpi")


def test_two_things_of_one_name_are_refused() -> None:
    with pytest.raises(ValueError, match=r"share a name: red cube"):
        tabletop(objects.cube("red"), objects.cube("red"))
