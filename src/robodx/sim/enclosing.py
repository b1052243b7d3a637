"""Which things a point lies inside of: pictures do not tell, for a surface is drawn only from its outer side."""

from __future__ import annotations

import itertools

import numpy as np

from robodx.sim.engine import mujoco
from robodx.sim.geometry import Vector
from robodx.sim.simulation import Simulation

# What is all around is met this way and that: along the axes and between them.
DIRECTIONS = [
    np.array(way, dtype=np.float64) / np.linalg.norm(way) for way in itertools.product((-1, 0, 1), repeat=3) if any(way)
]


def enclosing(simulation: Simulation, point: Vector) -> list[str]:
    """The owners of all that is around a point, each once: the robot, the arena or things by name.

    Also by what is felt and not drawn: the shells of a robot need not be closed.
    """
    model, data, at = simulation.model, simulation.data, np.array(point, dtype=np.float64)
    owners = simulation.contacts.owner_names()
    near = np.linalg.norm(data.geom_xpos - at, axis=1) < model.geom_rbound
    solid = model.geom_type != mujoco.mjtGeom.mjGEOM_PLANE
    found = (owners[geom] for geom in np.flatnonzero(near & solid) if _is_around(model, data, int(geom), at))
    return list(dict.fromkeys(found))


def _is_around(model: mujoco.MjModel, data: mujoco.MjData, geom: int, at: np.ndarray) -> bool:
    if model.geom_type[geom] == mujoco.mjtGeom.mjGEOM_MESH:
        return all(mujoco.mj_rayMesh(model, data, geom, at, way) >= 0 for way in DIRECTIONS)
    pose = data.geom_xpos[geom], data.geom_xmat[geom], model.geom_size[geom]
    return all(mujoco.mju_rayGeom(*pose, at, way, model.geom_type[geom]) >= 0 for way in DIRECTIONS)
