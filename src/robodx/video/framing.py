"""Where the overview of a film looks: from the task's front camera, wide enough for the robot through the episode."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from robodx.records.trajectory import Trajectory
from robodx.running.environment import Environment
from robodx.sim.build import camera_quaternion
from robodx.sim.contacts import ROBOT
from robodx.sim.geometry import Pose
from robodx.sim.scene import Camera
from robodx.sim.simulation import Simulation
from robodx.tasks.base import TASKS

Array = NDArray[np.float64]

FRONT = "front"
# Left free around what must be seen, as a share of the picture.
MARGIN = 0.03
# What is farther off its axis than this, beside or behind the camera, cannot be brought into view by widening it.
WIDEST = math.tan(math.radians(80))
CORNERS = np.array(list(itertools.product((-1.0, 1.0), repeat=3)))


def overview_of(environment: Environment, trajectory: Trajectory) -> Camera:
    """The front camera where the task has it, whatever moved it since, turned and widened.

    In view are all that it shows by itself, and the whole robot in every state of the trajectory.
    """
    trial = environment.trial
    cameras = TASKS[trial.task].placed(trial.seed).scene.cameras
    front = next((camera for camera in cameras if camera.name == FRONT), cameras[0])
    half = math.tan(math.radians(front.fovy_deg) / 2)
    own = np.array([(x * half, y * half, -1.0) for x in (-1, 1) for y in (-1, 1)]) @ _axes(front).T
    robot = _robot(environment.simulation, trajectory) - front.position
    rays = np.concatenate([own, robot[_is_ahead(front, robot)]])
    seen = _seen(front, rays)
    middle = (seen.min(axis=0) + seen.max(axis=0)) / 2
    x, y, z = np.add(front.position, _axes(front) @ (*middle, -1.0))
    turned = replace(front, target=(float(x), float(y), float(z)))
    widest = float(np.abs(_seen(turned, rays)).max()) * (1 + 2 * MARGIN)
    return replace(turned, fovy_deg=2 * math.degrees(math.atan(widest)))


def _axes(camera: Camera) -> Array:
    """(3, 3): right, up and backwards, in columns."""
    return Pose((0.0, 0.0, 0.0), camera_quaternion(camera)).matrix


def _seen(camera: Camera, rays: Array) -> Array:
    """(n, 2): where in its picture directions from the camera are, from the middle, at a distance of 1."""
    x, y, z = (rays @ _axes(camera)).T
    return np.asarray(np.column_stack([x, y]) / -z[:, None])


def _is_ahead(camera: Camera, rays: Array) -> NDArray[np.bool_]:
    """Which directions could be seen; those of an episode that diverged are no numbers."""
    aside, ahead = np.abs(rays @ _axes(camera))[:, :2].max(axis=1), -(rays @ _axes(camera))[:, 2]
    return np.asarray(aside < WIDEST * ahead)


def _robot(simulation: Simulation, trajectory: Trajectory) -> Array:
    """(n, 3): the corners of boxes around all parts of the robot, in all states. The state is left as it was."""
    model, data = simulation.model, simulation.data
    parts = np.array([owner == ROBOT for owner in simulation.contacts.owner_names()])
    boxes = model.geom_aabb[parts]  # (parts, 6): middle and half extents
    corners = boxes[:, None, :3] + CORNERS * boxes[:, None, 3:]  # (parts, 8, 3)
    was, points = data.qpos.copy(), []
    for qpos in trajectory.qpos:
        data.qpos[:] = qpos
        simulation.refresh()
        turned = np.einsum("pij,pcj->pci", data.geom_xmat[parts].reshape(-1, 3, 3), corners)
        points.append((data.geom_xpos[parts][:, None] + turned).reshape(-1, 3))
    data.qpos[:] = was
    simulation.refresh()
    return np.concatenate(points)
