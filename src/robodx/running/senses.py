"""What a robot feels, and where its cameras are said to be."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

from robodx.policy_contract import Calibration
from robodx.sim.build import camera_quaternion
from robodx.sim.geometry import Array, Pose
from robodx.sim.scene import Camera
from robodx.sim.simulation import Simulation


def senses(simulation: Simulation) -> dict[str, Callable[[], Array | list[float]]]:
    """The parts of the state by name. None of them keeps an environment alive."""
    is_mobile = simulation.robot.base is not None
    return {
        "joint_positions": simulation.joint_positions,
        "joint_velocities": simulation.joint_velocities,
        "gripper_opening": simulation.gripper_openings,
        "ee_pose": partial(_tools_in_base, simulation, None if is_mobile else simulation.base_in_world().inverse()),
        "base_pose": partial(_base_in_world, simulation),
    }


def calibration(simulation: Simulation, name: str, standing: Mapping[str, Camera]) -> Calibration:
    """Of a camera that stands in the scene as these do, or that the robot carries. A base stands as it begins."""
    base_in_world = simulation.base_in_world()
    if name in standing:
        camera = standing[name]
        pose = Pose(camera.position, camera_quaternion(camera))
        return Calibration(camera.fovy_deg, base_in_world.inverse() @ pose)
    carried, hand = simulation.camera(name), simulation.carrier(name)
    if hand is None:
        return Calibration(carried.fovy_deg, base_in_world.inverse() @ carried.in_world)
    tool = simulation.tool_in_world(hand)
    return Calibration(carried.fovy_deg, tool.inverse() @ carried.in_world, "tool", hand)


def _tools_in_base(simulation: Simulation, world_in_fixed_base: Pose | None) -> list[float]:
    """With the world in the base of a robot that stays where it is, which is known once."""
    world_in_base = world_in_fixed_base or simulation.base_in_world().inverse()
    tools = (world_in_base @ simulation.tool_in_world(hand) for hand in simulation.robot.hands)
    return [value for tool in tools for value in (*tool.position, *tool.quaternion)]


def _base_in_world(simulation: Simulation) -> list[float]:
    base = simulation.base_in_world()
    return [*base.position, *base.quaternion]
