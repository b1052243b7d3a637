"""What the Panda looks like: a few low-polygon shells lofted from tables of cross sections."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from robodx.sim.engine import mujoco
from robodx.sim.geometry import Array

MATERIALS = {
    "white": ((0.96, 0.96, 0.97, 1.0), 0.4, 0.6),
    "dark": ((0.13, 0.14, 0.16, 1.0), 0.3, 0.4),
    "rubber": ((0.27, 0.28, 0.30, 1.0), 0.1, 0.1),
    "signal": ((0.25, 0.62, 0.95, 1.0), 0.2, 0.2),
}
SIDES = 20


class Row(NamedTuple):
    """A cross section: where along the axis, its half widths, and how far its centre is off the axis."""

    at: float
    half_u: float
    half_v: float
    off_u: float = 0.0
    off_v: float = 0.0


class Shell(NamedTuple):
    """Rows joined into a closed surface along `axis`; u and v are the next two axes in the order x, y, z, x, y."""

    axis: str
    rows: Sequence[Row]
    # 2 is an ellipse; larger is nearer to a rectangle.
    squareness: float = 2.0
    sides: int = SIDES


def ring(
    axis: str, at: float, radius: float, *, half_width: float = 0.006, off: tuple[float, float] = (0.0, 0.0)
) -> Shell:
    return Shell(axis, [Row(at + side * half_width, radius, radius, *off) for side in (-1, 1)])


def barrel(axis: str, flat: float, end: float, radius: float, *, off: tuple[float, float] = (0.0, 0.0)) -> Shell:
    """Half of a joint's housing: flat where it meets its other half, domed at its free end."""
    depth = radius * 0.9
    shoulder = end - math.copysign(depth, end - flat)
    dome = [(shoulder + (end - shoulder) * math.sin(a), radius * math.cos(a)) for a in np.radians([0, 25, 50, 70, 85])]
    return Shell(axis, [Row(at, r, r, *off) for at, r in [(flat, radius), *dome]])


# Neighbouring links share each sideways joint: one has the housing's half on one side, the next has the other, which
# gives the Panda its zigzag. Frames are the links' modified Denavit-Hartenberg frames.
LOOK: dict[str, dict[str, list[Shell]]] = {
    "link0": {
        "white": [
            Shell(
                "z",
                [
                    Row(0.000, 0.108, 0.094, -0.037),
                    Row(0.040, 0.104, 0.090, -0.037),
                    Row(0.065, 0.090, 0.080, -0.028),
                    Row(0.090, 0.067, 0.066, -0.007),
                    Row(0.135, 0.059, 0.059),
                ],
                2.8,
                # It is nearest to the cameras, and its flat sides would show.
                sides=32,
            ),
        ],
        "dark": [ring("z", 0.139, 0.0575)],
    },
    "link1": {
        "white": [
            Shell(
                "z",
                [
                    Row(-0.188, 0.058, 0.058),
                    Row(-0.120, 0.057, 0.057),
                    Row(-0.075, 0.058, 0.060, 0, -0.006),
                    Row(-0.035, 0.059, 0.058, 0, -0.030),
                    Row(0.000, 0.059, 0.050, 0, -0.056),
                    Row(0.040, 0.040, 0.036, 0, -0.060),
                ],
            ),
            barrel("y", -0.004, -0.128, 0.061),
        ],
        "dark": [ring("y", 0.0, 0.0595)],
    },
    "link2": {
        "white": [
            Shell(
                "y",
                [
                    Row(0.040, 0.036, 0.040, 0.060, 0),
                    Row(0.000, 0.050, 0.059, 0.056, 0),
                    Row(-0.035, 0.058, 0.059, 0.030, 0),
                    Row(-0.075, 0.060, 0.058, 0.006, 0),
                    Row(-0.120, 0.057, 0.057),
                    Row(-0.188, 0.057, 0.057),
                ],
            ),
            barrel("z", 0.004, 0.128, 0.061),
        ],
    },
    "link3": {
        "white": [
            Shell(
                "z",
                [
                    Row(-0.120, 0.057, 0.057),
                    Row(-0.100, 0.058, 0.057, 0.004, 0.001),
                    Row(-0.070, 0.066, 0.057, 0.022, 0.008),
                    Row(-0.035, 0.070, 0.055, 0.054, 0.030),
                    Row(0.000, 0.063, 0.048, 0.0825, 0.054),
                    Row(0.040, 0.043, 0.036, 0.0825, 0.058),
                ],
            ),
            barrel("y", 0.004, 0.122, 0.059, off=(0.0, 0.0825)),
        ],
        "dark": [ring("z", -0.124, 0.0545), ring("y", 0.0, 0.0605, off=(0.0, 0.0825))],
    },
    "link4": {
        "white": [
            Shell(
                "y",
                [
                    Row(-0.040, 0.036, 0.043, 0.058, 0.0),
                    Row(0.000, 0.048, 0.063, 0.054, 0.0),
                    Row(0.035, 0.055, 0.070, 0.030, -0.028),
                    Row(0.070, 0.057, 0.066, 0.008, -0.060),
                    Row(0.100, 0.057, 0.058, 0.001, -0.0785),
                    Row(0.120, 0.057, 0.057, 0.0, -0.0825),
                ],
            ),
            barrel("z", 0.004, 0.122, 0.059),
        ],
    },
    "link5": {
        "white": [
            Shell(
                "z",
                [
                    Row(-0.256, 0.057, 0.057),
                    Row(-0.220, 0.057, 0.057),
                    Row(-0.170, 0.054, 0.054, 0, 0.012),
                    Row(-0.110, 0.045, 0.044, 0, 0.040),
                    Row(-0.050, 0.042, 0.040, 0, 0.058),
                    Row(0.000, 0.042, 0.040, 0, 0.058),
                    Row(0.030, 0.032, 0.030, 0, 0.056),
                ],
            ),
            barrel("y", 0.004, 0.112, 0.049),
        ],
        "dark": [ring("z", -0.260, 0.0545), ring("y", 0.0, 0.0505)],
    },
    "link6": {
        "white": [
            barrel("z", 0.004, 0.070, 0.049),
            Shell(
                "x",
                [
                    Row(0.000, 0.046, 0.022, 0, 0.028),
                    Row(0.040, 0.046, 0.034, 0.002, 0.012),
                    Row(0.080, 0.046, 0.044, 0.004, 0),
                ],
                2.4,
            ),
            Shell(
                "y",
                [
                    Row(0.056, 0.030, 0.030, 0, 0.088),
                    Row(0.050, 0.043, 0.043, 0, 0.088),
                    Row(0.036, 0.050, 0.050, 0, 0.088),
                    Row(-0.030, 0.050, 0.050, 0, 0.088),
                    Row(-0.046, 0.047, 0.047, 0, 0.088),
                ],
            ),
        ],
        "dark": [
            ring("y", 0.055, 0.027, half_width=0.003, off=(0.0, 0.088)),
            ring("y", -0.05, 0.043, off=(0.0, 0.088)),
        ],
        "signal": [ring("y", 0.057, 0.015, half_width=0.003, off=(0.0, 0.088))],
    },
    "link7": {
        "white": [
            Shell("z", [Row(0.054, 0.045, 0.045), Row(0.080, 0.045, 0.045), Row(0.094, 0.041, 0.041)]),
            Shell(
                "z", [Row(0.060, 0.018, 0.018, 0.026), Row(0.072, 0.020, 0.022, 0.034), Row(0.088, 0.016, 0.020, 0.036)]
            ),
        ],
        "dark": [ring("z", 0.099, 0.040)],
    },
    "hand": {
        "white": [
            Shell(
                "z",
                [
                    Row(-0.002, 0.030, 0.040),
                    Row(0.006, 0.0315, 0.062),
                    Row(0.016, 0.0315, 0.088),
                    Row(0.028, 0.0315, 0.100),
                    Row(0.050, 0.0315, 0.102),
                    Row(0.056, 0.0285, 0.100),
                ],
                3.6,
            ),
        ],
        "dark": [
            Shell("z", [Row(0.055, 0.024, 0.096), Row(0.0604, 0.023, 0.094)], 8.0),
            # The wrist camera's housing, just behind its lens.
            Shell("z", [Row(-0.004, 0.020, 0.022, 0.046), Row(0.016, 0.024, 0.024, 0.050)], 5.0),
        ],
    },
    "finger": {
        "dark": [
            Shell(
                "z",
                [
                    Row(0.0000, 0.0105, 0.0120, 0, 0.0150),
                    Row(0.0180, 0.0105, 0.0120, 0, 0.0150),
                    Row(0.0340, 0.0095, 0.0065, 0, 0.0115),
                    Row(0.0540, 0.0090, 0.0050, 0, 0.0085),
                ],
                8.0,
            ),
        ],
    },
}


@functools.cache
def mesh_files() -> dict[str, bytes]:
    """Each part and material as an OBJ file: MuJoCo caches meshes from files, so later compiles are 2 ms faster."""
    return {
        f"{part}_{material}": loft(shells)
        for part, by_material in LOOK.items()
        for material, shells in by_material.items()
    }


def loft(shells: Sequence[Shell]) -> bytes:
    vertices: list[Array] = []  # each (n, 3)
    faces: list[NDArray[np.int_]] = []  # each (m, 3): indices of vertices, counter-clockwise from outside
    first = 1  # an OBJ file counts from 1
    for shell in shells:
        rows, sides = sorted(shell.rows), shell.sides
        i, j = np.arange(sides), np.roll(np.arange(sides), -1)
        angles = i * (2 * np.pi / sides)
        cosine, sine = (np.sign(w) * np.abs(w) ** (2 / shell.squareness) for w in (np.cos(angles), np.sin(angles)))
        loops = [
            np.column_stack([np.full(sides, at), off_u + half_u * cosine, off_v + half_v * sine])
            for at, half_u, half_v, off_u, off_v in rows
        ]
        ends = np.array([(row.at, row.off_u, row.off_v) for row in (rows[0], rows[-1])])
        # (along, u, v) is a cyclic shift of (x, y, z), so triangles keep their facing.
        vertices.append(np.roll(np.vstack([*loops, ends]), "xyz".index(shell.axis), axis=1))
        last = first + sides * (len(rows) - 1)
        for low in range(first, last, sides):
            faces.append(np.column_stack([low + i, low + j, low + sides + j]))
            faces.append(np.column_stack([low + i, low + sides + j, low + sides + i]))
        bottom, top = np.full(sides, last + sides), np.full(sides, last + sides + 1)
        faces += [np.column_stack([bottom, first + j, first + i]), np.column_stack([top, last + i, last + j])]
        first = last + sides + 2
    lines = [f"v {x:.6f} {y:.6f} {z:.6f}" for x, y, z in np.vstack(vertices)]
    lines += [f"f {a} {b} {c}" for a, b, c in np.vstack(faces)]
    return "\n".join(lines).encode()


def add_assets(spec: mujoco.MjSpec, prefix: str) -> None:
    for name, (rgba, specular, shininess) in MATERIALS.items():
        spec.add_material(name=f"{prefix}{name}", rgba=rgba, specular=specular, shininess=shininess)
    for name, content in mesh_files().items():
        spec.assets[f"{prefix}{name}.obj"] = content
        # Meshes carry no mass, but MuJoCo's default volume integral warns of shells that overlap.
        shell = mujoco.mjtMeshInertia.mjMESH_INERTIA_SHELL
        spec.add_mesh(name=f"{prefix}{name}", file=f"{prefix}{name}.obj", inertia=shell)


def dress(body: mujoco.MjsBody, part: str, prefix: str) -> None:
    """Give a body its part's shells: seen, but without mass or contact."""
    for material in LOOK[part]:
        body.add_geom(
            name=f"{body.name}_{material}",
            type=mujoco.mjtGeom.mjGEOM_MESH,
            meshname=f"{prefix}{part}_{material}",
            material=f"{prefix}{material}",
            contype=0,
            conaffinity=0,
            group=2,
            mass=0,
        )
