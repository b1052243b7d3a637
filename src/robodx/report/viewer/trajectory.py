"""The curves of one episode, from its stored arrays: the tool's way, the actions, and where things went."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from robodx.records.trajectory import DAMAGED, index_of

Floats = NDArray[np.float64]

# More points than a plot has pixels are not sent.
MOST_POINTS = 1500
LARGEST_FILE = 200_000_000
UNIT_QUATERNION_TOLERANCE = 1e-6
# Bodies that wait for their part in the play are parked far from the table.
FARTHEST_M = 1.5

# (what is plotted together, its names) of one arm, by action space.
PARTS: Mapping[str, tuple[tuple[str, tuple[str, ...]], ...]] = {
    "ee_delta": (
        ("translation, m per step", ("dx", "dy", "dz")),
        ("rotation, rad per step", ("rx", "ry", "rz")),
        ("gripper opening", ("grip",)),
    ),
    "ee_pose": (
        ("position, m", ("x", "y", "z")),
        ("quaternion", ("qw", "qx", "qy", "qz")),
        ("gripper opening", ("grip",)),
    ),
}
# In which frame a hand's numbers are; docs/conventions.md. Those of `ee_delta` may be along the tool's axes.
FRAMES = {"ee_pose": "in the robot's base frame", "ee_delta": "along the axes of the robot's base"}
TOOL_AXES = "along the axes of the tool"
JOINTS = {"joint": "joints, rad", "joint_velocity": "joints, rad/s"}


class Unreadable(Exception):
    """The arrays of an episode are missing or damaged; the message says which."""


def curves(path: Path, action_space: str | None, delta_frame: str | None = None) -> dict[str, Any]:
    """For plots, as lists: one row of `tool` an arm, one of `actions` a number that the policy sends."""
    arrays = _load(path)
    try:
        time_s, tool, stage = arrays["time_s"], arrays["tool_in_world"], arrays["stage"]
        if not (tool.ndim == 3 and tool.shape[2] == 7 and len(time_s) == len(tool) == len(stage) > 0):
            raise ValueError(f"time {time_s.shape}, tool {tool.shape} and stage {stage.shape} do not fit together")
        actions = np.atleast_2d(arrays["actions"])[: len(time_s)]  # (n, action_dim)
        perturbed = arrays.get("is_command_perturbed", np.zeros(len(actions), dtype=np.bool_))
        stride = max(1, -(-len(time_s) // MOST_POINTS))
        kept = slice(None, None, stride)
        return {
            "time_s": _numbers(time_s[kept]),
            "end_s": float(time_s[-1]),
            "tool": [[_numbers(tool[kept, arm, axis]) for axis in range(3)] for arm in range(tool.shape[1])],
            "stage": stage[kept].tolist(),
            "actions": [_numbers(column) for column in actions[kept].T],
            "action_parts": action_parts(action_space, actions.shape[1], tool.shape[1], delta_frame),
            "openings": [_numbers(arrays["commands"][kept, column]) for column in _opening_columns(arrays)],
            "things": [
                {"name": name, "way": [_numbers(axis) for axis in way[kept].T]} for name, way in _things(arrays).items()
            ],
            "perturbed_s": _spans(time_s, perturbed.astype(bool)),
        }
    except (KeyError, ValueError, IndexError, TypeError, AttributeError, RecursionError) as error:
        raise Unreadable(f"{path.name} is damaged: {error}") from error


def action_parts(space: str | None, width: int, arms: int, delta_frame: str | None = None) -> list[dict[str, Any]]:
    """What to plot together: a title, the index and the name of each curve, and their frame if they have one."""
    frame = TOOL_AXES if (space, delta_frame) == ("ee_delta", "tool") else FRAMES.get(space or "")
    parts = PARTS.get(space or "", ())
    if space in JOINTS and arms and width % arms == 0:
        joints = tuple(f"j{index + 1}" for index in range(width // arms - 1))
        parts = ((JOINTS[space], joints), ("gripper opening", ("grip",)))
    groups, at = [], 0
    for arm in range(arms if parts else 0):
        for title, names in parts:
            if at + len(names) <= width:
                where = f", arm {arm + 1}" if arms > 1 else ""
                group = {"title": title + where, "at": list(range(at, at + len(names))), "names": list(names)}
                groups.append(group if frame is None or names == ("grip",) else {**group, "frame": frame})
                at += len(names)
    if at < width:
        rest = range(at, width)
        groups.append({"title": "action", "at": list(rest), "names": [f"a{index + 1}" for index in rest]})
    return groups


def _opening_columns(arrays: Mapping[str, NDArray[Any]]) -> list[int]:
    """Which commands open the hands, in the order of the tools; of older records, which had one arm, the last."""
    if "commands" not in arrays:
        return []
    index = index_of(arrays)
    return [-1] if index is None else [hand.opening for hand in sorted(index.hands, key=lambda hand: hand.tool)]


def _things(arrays: Mapping[str, NDArray[Any]]) -> dict[str, Floats]:
    """The ways (n, 3) of things that move freely and begin near the table, by name; in older records they have none."""
    qpos = arrays.get("qpos")
    if qpos is None or qpos.ndim != 2:
        return {}
    index = index_of(arrays)
    if index is None:
        return {f"object {place}": way for place, way in enumerate(guessed(qpos), start=1)}
    ways = {name: qpos[:, start : start + 3] for name, start in index.things.items()}
    return {name: way for name, way in ways.items() if np.all(np.abs(way[0]) < FARTHEST_M)}


def guessed(qpos: Floats) -> list[Floats]:
    """The ways (n, 3) of things that move freely, in a record of before schema version 4, which names no numbers.

    A free body is seven of them in a row whose last four are always a unit quaternion, which joints are not.
    """
    found, at = [], 0
    while at + 7 <= qpos.shape[1]:
        norms = np.linalg.norm(qpos[:, at + 3 : at + 7], axis=1)
        if np.all(np.abs(norms - 1) < UNIT_QUATERNION_TOLERANCE):
            way = qpos[:, at : at + 3]
            if np.all(np.abs(way[0]) < FARTHEST_M):
                found.append(way)
            at += 7
        else:
            at += 1
    return found


def _load(path: Path) -> dict[str, NDArray[Any]]:
    try:
        if path.stat().st_size > LARGEST_FILE:
            raise Unreadable(f"{path.name} is too large to be shown")
        # Opened here, for numpy leaves what is no archive open.
        with path.open("rb") as file, np.load(file, allow_pickle=False) as arrays:
            return {name: arrays[name] for name in arrays}
    except FileNotFoundError:
        raise Unreadable("its trajectory is missing: there is nothing to plot") from None
    except DAMAGED as error:
        raise Unreadable(f"{path.name} is damaged: {error}") from error


def _numbers(values: NDArray[Any]) -> list[float | None]:
    """A tenth of a millimetre is more than a plot shows; a policy that was thinking sent nothing."""
    return [value if np.isfinite(value) else None for value in np.round(values.astype(np.float64), 4).tolist()]


def _spans(time_s: Floats, is_perturbed: NDArray[np.bool_]) -> list[tuple[float, float]]:
    edges = np.flatnonzero(np.diff(np.concatenate([[False], is_perturbed, [False]]).astype(np.int8)))
    last = len(time_s) - 1
    return [(float(time_s[min(a, last)]), float(time_s[min(b, last)])) for a, b in edges.reshape(-1, 2)]
