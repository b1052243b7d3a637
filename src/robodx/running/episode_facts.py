"""Turns an episode into plain names and arrays, so that attribution needs no simulator."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, is_dataclass

import numpy as np
from numpy.typing import NDArray

from robodx.analysis.episode_facts import Entry, EpisodeFacts, Requirement
from robodx.language.meaning import If, Meaning
from robodx.language.reference import Reference, Seen, Unresolved, candidates
from robodx.records.trajectory import Trajectory
from robodx.robots.control import columns
from robodx.running.environment import Environment
from robodx.scoring.conditions import Condition
from robodx.scoring.from_meaning import looks
from robodx.scoring.parts import grasped_in, leaves
from robodx.scoring.stages import Stage
from robodx.sim.geometry import Array

# The fields of a condition that name what is handled; the other names in it are of what it is brought to.
HANDLED = ("thing", "part")


def facts_of(environment: Environment, trajectory: Trajectory) -> EpisodeFacts:
    score, simulation = environment.score, environment.simulation
    names = frozenset(thing.name for thing in simulation.scene)
    updated_step = environment.instruction_updates[-1].step
    poses = {thing.name: thing_poses(environment, trajectory, thing.name) for thing in simulation.scene}
    broken_step = next((e.step for e in environment.world.log.entries if e.kind == "broken"), None)
    hands = environment.robot.hands
    return EpisodeFacts(
        invalid_action=environment.invalid_action,
        period_s=1.0 / environment.spec.hz,
        stages=tuple(_requirement(stage, names) for stage in score.stages),
        stage_steps=tuple(score.stage_steps),
        broken=None if score.broken is None else _requirement(score.broken, names),
        broken_step=broken_step,
        excluded=_excluded(environment),
        informed_step=next(
            (int(q.step) for q in environment.queries if q.step >= updated_step), trajectory.actions.shape[0]
        ),
        entries=tuple(
            Entry(e.step, e.kind, e.object, e.other, e.value, hands.index(e.hand) if e.hand else 0)
            for e in environment.world.log.entries
        ),
        positions={name: pose[:, :3] for name, pose in poses.items()},
        tilts_rad={name: _tilts(pose[:, 3:]) for name, pose in poses.items()},
        movable=frozenset(thing.name for thing in simulation.scene if not thing.is_fixed),
        times_s=trajectory.time_s,
        tools=trajectory.tool_in_world[:, :, :3],
        joints=trajectory.commands[:, columns("position", environment.robot)].astype(np.float64),
        openings=trajectory.commands[:, columns("opening", environment.robot)].astype(np.float64),
        limit_steps=environment.limit_counts,
    )


def thing_poses(environment: Environment, trajectory: Trajectory, name: str) -> Array:
    """Where a thing was (n + 1, 7), position and quaternion, from the recorded state."""
    simulation = environment.simulation
    thing = simulation.scene.thing(name)
    if thing.is_fixed:
        return np.tile(np.array([*thing.pose.position, *thing.pose.quaternion]), (len(trajectory.qpos), 1))
    return trajectory.thing(name)


def _tilts(quaternions: Array) -> Array:
    """How far the axis that was vertical at first has turned from the vertical, in radians (n,)."""
    w, x, y, z = quaternions.T
    # The world's vertical in the thing's own frame, now and at first.
    up = np.stack([2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)], axis=1)
    tilts: Array = np.arccos(np.clip(up @ up[0], -1.0, 1.0))
    return tilts


def _requirement(stage: Stage | Condition, names: frozenset[str]) -> Requirement:
    conditions = leaves(stage)
    handled = {name for condition in conditions for name in _named(condition, HANDLED)}
    mentioned = {name for condition in conditions for name in _named(condition, None)}
    return Requirement(str(stage), frozenset(handled & names), frozenset(mentioned & names), bool(grasped_in(stage)))


def _named(condition: Condition, only: tuple[str, ...] | None) -> Iterator[str]:
    assert is_dataclass(condition)
    for field in fields(condition):
        value = getattr(condition, field.name)
        if isinstance(value, str) and (only is None or field.name in only):
            yield value.split("/")[0]


def _excluded(environment: Environment) -> frozenset[str]:
    """Things that the words name only to rule them out."""
    seen = looks(environment.simulation.scene)
    found: set[str] = set()
    for reference in _ruled_out(environment.meaning, seen):
        try:
            found |= set(candidates(reference, seen))
        except Unresolved:
            continue
    return frozenset(found)


def _ruled_out(meaning: Meaning, seen: Seen) -> Iterator[Reference]:
    for part in meaning.clauses:
        clause = (part.then if part.fact.holds(seen) else part.otherwise) if isinstance(part, If) else part
        yield from clause.target.but
        if clause.plain.is_negated:
            yield clause.target


def hand_axes(trajectory: Trajectory) -> NDArray[np.float64]:
    """Each hand's axes (n + 1, arms, 3, 3), as columns."""
    w, x, y, z = np.moveaxis(trajectory.tool_in_world[:, :, 3:], -1, 0)
    rows = [
        [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
        [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
        [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
    ]
    return np.moveaxis(np.array(rows), (0, 1), (-2, -1))
