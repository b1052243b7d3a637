"""Gathers contacts in every physics substep, at the price of one dictionary look-up where nothing changed."""

from __future__ import annotations

from dataclasses import dataclass, field

import mujoco
import numpy as np
from numpy.typing import NDArray

from robodx.sim.log import Log, LogEntry
from robodx.sim.robot import Robot
from robodx.sim.scene import Scene

ARENA = "arena"
ROBOT = "robot"
# A pad holds a thing from the side it closes on: within 45 degrees of the closing axis.
GRASP_COSINE = 0.7
# Contact patterns recur; a scene that never repeats one must not grow without bound.
MAX_PATTERNS = 4096

Pair = tuple[str, str]


@dataclass(frozen=True)
class _Owner:
    """Who a geom belongs to: a thing, the arena or the robot, and there which finger of which arm."""

    name: str
    finger: tuple[int, int] | None = None

    @property
    def is_robot(self) -> bool:
        return self.name == ROBOT


@dataclass(eq=False)
class _Pattern:
    """What one set of touching geoms means."""

    pairs: frozenset[Pair]
    collisions: dict[Pair, list[int]] = field(default_factory=dict)
    # Per arm and thing, the contact rows of its left and its right finger.
    pinches: dict[tuple[int, str], tuple[list[int], list[int]]] = field(default_factory=dict)


class Contacts:
    """Which things touch which during a control step, and what each arm holds at its end."""

    def __init__(self, model: mujoco.MjModel, data: mujoco.MjData, scene: Scene, robot: Robot, log: Log) -> None:
        self._model, self._data, self._log = model, data, log
        self._owners = _owners(model, scene, robot)
        self._tool_matrices = [data.site(arm.tool_site).xmat for arm in robot.arms]
        self._patterns: dict[bytes, _Pattern] = {}
        self._seen: dict[int, _Pattern] = {}
        self._last = _Pattern(frozenset())
        # By their number, the geom pairs of the contacts (ncon, 2).
        self._views: dict[int, NDArray[np.int32]] = {}
        self._open_collisions: dict[Pair, LogEntry] = {}
        self._step_collisions: dict[Pair, float] = {}
        self.pairs: frozenset[Pair] = frozenset()
        self.held: tuple[str | None, ...] = (None,) * len(robot.arms)

    def owner_names(self) -> list[str]:
        """Per geom, the thing it belongs to, or the arena or the robot."""
        return [owner.name for owner in self._owners]

    def step(self, substeps: int) -> None:
        """Step the physics, and look at the contacts after every substep."""
        model, data, views, step = self._model, self._data, self._views, mujoco.mj_step
        self._seen = {}
        self._step_collisions = {}
        key, pattern = None, self._last
        for _ in range(substeps):
            step(model, data)
            try:
                now = views[data.ncon].tobytes()
            except KeyError:
                # MuJoCo keeps contacts at the start of the data's arena, so their address never changes. Asking the
                # bindings for them in each of 25 substeps would cost more than all else that is done with contacts.
                views[data.ncon] = data.contact.geom
                now = views[data.ncon].tobytes()
            if now != key:
                key, pattern = now, self._pattern(now)
                self._seen[id(pattern)] = pattern
            if pattern.collisions:
                self._measure_collisions(pattern)
        self._last = pattern

    def _pattern(self, key: bytes) -> _Pattern:
        pattern = self._patterns.get(key)
        if pattern is None:
            pattern = self._read_pattern()
            if len(self._patterns) >= MAX_PATTERNS:
                self._patterns.clear()
            self._patterns[key] = pattern
        return pattern

    def end_step(self, step: int, time_s: float, closing: tuple[bool, ...]) -> None:
        """Log what began and ended in this control step; `closing` says which grippers are commanded to close."""
        if len(self._seen) > 1 or self._last.pairs != self.pairs:
            before = self.pairs
            self.pairs = frozenset().union(*(pattern.pairs for pattern in self._seen.values()))
            for thing, other in sorted(self.pairs - before):
                if other == ROBOT and thing not in (ARENA, ROBOT):
                    self._log.add(LogEntry(step, time_s, "contact", thing, ROBOT))
        if self._step_collisions or self._open_collisions:
            self._log_collisions(step, time_s)
        if self._last.pinches or any(self.held):
            self._log_grasps(step, time_s, closing)

    def touches(self, a: str, b: str) -> bool:
        return (a, b) in self.pairs or (b, a) in self.pairs

    def _log_collisions(self, step: int, time_s: float) -> None:
        for pair, force in self._step_collisions.items():
            entry = self._open_collisions.get(pair)
            if entry is None:
                entry = self._log.add(LogEntry(step, time_s, "collision", *pair))
                self._open_collisions[pair] = entry
            entry.value = max(entry.value, force)
        for pair in [pair for pair in self._open_collisions if pair not in self._step_collisions]:
            del self._open_collisions[pair]

    def _log_grasps(self, step: int, time_s: float, closing: tuple[bool, ...]) -> None:
        held = tuple(self._held_by(arm) for arm in range(len(self.held)))
        for before, now, is_closing in zip(self.held, held, closing, strict=True):
            if before == now:
                continue
            if before is not None:
                # The hand was not told to open, so the thing slipped or was knocked out.
                self._log.add(LogEntry(step, time_s, "drop" if is_closing else "release", before))
            if now is not None:
                self._log.add(LogEntry(step, time_s, "grasp", now))
        self.held = held

    def _held_by(self, arm: int) -> str | None:
        pinched = {thing: sides for (owner, thing), sides in self._last.pinches.items() if owner == arm and all(sides)}
        if not pinched:
            return None
        if (held := self.held[arm]) in pinched:
            return held
        normals = self._data.contact.frame[:, :3]
        closing_axis = self._tool_matrices[arm].reshape(3, 3)[:, 1]
        for thing, sides in pinched.items():
            if all(np.abs(normals[rows] @ closing_axis).max() > GRASP_COSINE for rows in sides):
                return thing
        return None

    def _measure_collisions(self, pattern: _Pattern) -> None:
        contact = self._data.contact
        addresses, forces = contact.efc_address, self._data.efc_force
        for pair, rows in pattern.collisions.items():
            # With elliptic cones a contact's first constraint row is its normal force.
            force = sum(float(forces[addresses[row]]) for row in rows if addresses[row] >= 0)
            self._step_collisions[pair] = max(force, self._step_collisions.get(pair, 0.0))

    def _read_pattern(self) -> _Pattern:
        pairs: set[Pair] = set()
        collisions: dict[Pair, list[int]] = {}
        pinches: dict[tuple[int, str], tuple[list[int], list[int]]] = {}
        for row, (geom1, geom2) in enumerate(self._data.contact.geom):
            a, b = self._owners[geom1], self._owners[geom2]
            if a.is_robot and not b.is_robot:
                a, b = b, a
            if not b.is_robot and b.name < a.name:
                a, b = b, a
            pairs.add((a.name, b.name))
            if not b.is_robot:
                continue
            if b.finger is not None and a.name not in (ARENA, ROBOT):
                arm, side = b.finger
                pinches.setdefault((arm, a.name), ([], []))[side].append(row)
            elif not (a.is_robot and a.finger is not None and b.finger is not None):
                # Fingers close on each other and touch things by design; every other touch of the robot is a collision.
                collisions.setdefault((a.name, ROBOT), []).append(row)
        return _Pattern(frozenset(pairs), collisions, pinches)


def _owners(model: mujoco.MjModel, scene: Scene, robot: Robot) -> list[_Owner]:
    fingers = {
        body: (index, side)
        for index, arm in enumerate(robot.arms)
        for side, body in enumerate(arm.gripper.finger_bodies)
    }
    root = model.body(robot.root_body).id
    things = {model.body(thing.name).id: thing.name for thing in scene}
    owners = []
    for geom in range(model.ngeom):
        body = int(model.geom_bodyid[geom])
        top = int(model.body_rootid[body])
        if top == root:
            owners.append(_Owner(ROBOT, fingers.get(model.body(body).name)))
        else:
            owners.append(_Owner(things.get(top, ARENA)))
    return owners
