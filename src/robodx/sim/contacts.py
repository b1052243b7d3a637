"""Who touches whom: the robot's touches from every physics substep, everything else from the last of a control step.

MuJoCo itself watches the substeps, with contact sensors that keep a history: looking at the contacts from Python after
each of 25 substeps would cost more than the rest of RoboDx's work in a control step.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from robodx.sim.engine import mujoco
from robodx.sim.geometry import Array
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


_FOUND = 1 << int(mujoco.mjtConDataField.mjCONDATA_FOUND)
_FORCE = 1 << int(mujoco.mjtConDataField.mjCONDATA_FORCE)
# MuJoCo's codes for how several contacts become one: by their sum.
_NET = 3


def add_sensors(spec: mujoco.MjSpec, scene: Scene, robot: Robot, substeps: int) -> None:
    """The robot's touches in each of the last `substeps`: whom it touches, and how hard the arena and itself."""
    subtree, body = mujoco.mjtObj.mjOBJ_XBODY, mujoco.mjtObj.mjOBJ_BODY

    def add(name: str, data: tuple[int, int, int], other: str, kind: mujoco.mjtObj) -> None:
        sensor = spec.add_sensor(
            name=name,
            type=mujoco.mjtSensor.mjSENS_CONTACT,
            objtype=subtree,
            objname=robot.root_body,
            reftype=kind,
            refname=other,
            nsample=substeps,
        )
        sensor.intprm = data

    fixed = {ARENA: ("world", body), ROBOT: (robot.root_body, subtree)}
    # These follow each other in memory, so that one look covers them all.
    for name, other in fixed.items():
        add(f"touch/{name}", (_FOUND, 0, 1), *other)
    for thing in scene:
        add(f"touch/{thing.name}", (_FOUND, 0, 1), thing.name, subtree)
    for name, other in fixed.items():
        add(f"force/{name}", (_FORCE, _NET, 1), *other)


@dataclass(frozen=True)
class _Owner:
    """Who a geom belongs to: a thing, the arena or the robot, and there which finger of which hand."""

    name: str
    finger: tuple[str, int] | None = None


@dataclass(eq=False)
class _Pattern:
    """What one set of touching geoms means."""

    pairs: frozenset[Pair]
    # Per thing that another part of the robot than a finger touches, the contact rows.
    hits: dict[str, list[int]] = field(default_factory=dict)
    # Per hand and thing, the contact rows of its left and its right finger.
    pinches: dict[tuple[str, str], tuple[list[int], list[int]]] = field(default_factory=dict)


class Contacts:
    """Which things touch which during a control step, and what each hand holds at its end."""

    def __init__(
        self,
        model: mujoco.MjModel,
        data: mujoco.MjData,
        scene: Scene,
        robot: Robot,
        log: Log,
    ) -> None:
        self._model, self._data, self._log = model, data, log
        # MuJoCo's own list, which is always that of the last substep.
        self._contact = data.contact
        self._owners = _owners(model, scene, robot)
        self._tool_matrices = {arm.name: data.site(arm.tool_site).xmat for arm in robot.arms}
        self._patterns: dict[bytes, _Pattern] = {}
        # Views into the sensors' histories, a column for each substep of the last control step.
        self._names = [ARENA, ROBOT, *(thing.name for thing in scene)]
        self._times, self._found = _touch_history(model, data, len(self._names))
        self._forces = {name: _force_history(model, data, f"force/{name}") for name in (ARENA, ROBOT)}
        self._since_s = -np.inf
        self._steady: tuple[bytes, bytes] | None = None
        self._open_collisions: dict[Pair, LogEntry] = {}
        self.pairs: frozenset[Pair] = frozenset()
        self._hands = robot.hands
        # By hand.
        self.held: dict[str, str | None] = dict.fromkeys(self._hands)
        self._held_at = dict.fromkeys(self._hands, 0.0)

    def owner_names(self) -> list[str]:
        """Per geom, the thing it belongs to, or the arena or the robot."""
        return [owner.name for owner in self._owners]

    def step(self, substeps: int) -> None:
        """Step the physics while MuJoCo watches."""
        if substeps > len(self._times):
            raise ValueError(f"a control step of {substeps} physics steps, but only {len(self._times)} are watched")
        is_whole = substeps == len(self._times)
        self._since_s = -np.inf if is_whole else self._data.time - self._model.opt.timestep / 2
        mujoco.mj_step(self._model, self._data, nstep=substeps)

    def end_step(
        self, step: int, time_s: float, commanded_openings: NDArray[np.float32], openings: Callable[[], list[float]]
    ) -> None:
        """Log what began and ended in this control step, given what the grippers were told and how to measure them."""
        geoms = self._contact.geom.tobytes()
        look = (geoms, self._found.tobytes())
        if look == self._steady:
            return
        pattern, before = self._pattern(geoms), self.pairs
        self.pairs = pattern.pairs
        found = self._found if self._since_s < 0 else self._found[:, self._times > self._since_s]
        touched = [name for name, counts in zip(self._names, found.tolist(), strict=True) if any(counts)]
        self._log_touches(touched, before, step, time_s)
        self._log_collisions(touched, pattern, step, time_s)
        self._log_grasps(pattern, step, time_s, commanded_openings, openings)
        # A look like this one again says nothing new, unless a force or the direction of a pinch must be measured.
        is_measured = self._open_collisions or any(self.held[hand] is None for hand, _ in pattern.pinches)
        self._steady = None if is_measured or self._since_s > 0 else look

    def touches(self, a: str, b: str) -> bool:
        return (a, b) in self.pairs or (b, a) in self.pairs

    def _log_touches(self, touched: list[str], before: frozenset[Pair], step: int, time_s: float) -> None:
        """The robot's touches in this control step; new ones are logged in the order in which they began."""
        pairs = [(name, ROBOT) for name in touched]
        if not self.pairs.issuperset(pairs):
            self.pairs = self.pairs.union(pairs)
        new = [name for name in touched if (name, ROBOT) not in before and name not in (ARENA, ROBOT)]
        for name in sorted(new, key=self._began):
            self._log.add(LogEntry(step, time_s, "contact", name, ROBOT))

    def _began(self, name: str) -> float:
        counts = self._found[self._names.index(name)].tolist()
        times_s: list[float] = self._times.tolist()
        return min(time_s for time_s, count in zip(times_s, counts, strict=True) if count and time_s > self._since_s)

    def _log_collisions(self, touched: list[str], pattern: _Pattern, step: int, time_s: float) -> None:
        """Touches of the robot that no task asks for: the arena, itself, and things by another part than a finger."""
        forces: dict[Pair, float] = {}
        for name in (ARENA, ROBOT):
            if name in touched:
                recent = self._forces[name][self._times > self._since_s]
                forces[name, ROBOT] = float(np.linalg.norm(recent, axis=1).max())
        for name, rows in pattern.hits.items():
            # With elliptic cones a contact's first constraint row is its normal force.
            addresses = self._contact.efc_address[rows]
            forces[name, ROBOT] = float(self._data.efc_force[addresses[addresses >= 0]].sum())
        for pair, force in forces.items():
            entry = self._open_collisions.get(pair)
            if entry is None:
                entry = self._open_collisions[pair] = self._log.add(LogEntry(step, time_s, "collision", *pair))
            entry.value = max(entry.value, force)
        for pair in [pair for pair in self._open_collisions if pair not in forces]:
            del self._open_collisions[pair]

    def _log_grasps(
        self,
        pattern: _Pattern,
        step: int,
        time_s: float,
        commanded_openings: NDArray[np.float32],
        openings: Callable[[], list[float]],
    ) -> None:
        held = {hand: self._held_by(pattern, hand) for hand in self._hands}
        for arm, (hand, now) in enumerate(held.items()):
            before = self.held[hand]
            if before == now:
                continue
            if before is not None:
                # Not told to open any further than when it closed on the thing: it slipped, or was knocked out.
                is_drop = bool(commanded_openings[arm] <= self._held_at[hand])
                self._log.add(LogEntry(step, time_s, "drop" if is_drop else "release", before, hand=hand))
            if now is not None:
                self._held_at[hand] = openings()[arm]
                self._log.add(LogEntry(step, time_s, "grasp", now, hand=hand))
        self.held = held

    def _held_by(self, pattern: _Pattern, hand: str) -> str | None:
        pinched = {thing: sides for (owner, thing), sides in pattern.pinches.items() if owner == hand and all(sides)}
        if not pinched:
            return None
        if (held := self.held[hand]) in pinched:
            return held
        frames = self._contact.frame.tolist()
        _, x, _, _, y, _, _, z, _ = self._tool_matrices[hand].tolist()
        along = [abs(nx * x + ny * y + nz * z) for nx, ny, nz, *_ in frames]
        for thing, sides in pinched.items():
            if all(max(along[row] for row in rows) > GRASP_COSINE for rows in sides):
                return thing
        return None

    def _pattern(self, key: bytes) -> _Pattern:
        pattern = self._patterns.get(key)
        if pattern is None:
            pattern = self._read_pattern()
            if len(self._patterns) >= MAX_PATTERNS:
                self._patterns.clear()
            self._patterns[key] = pattern
        return pattern

    def _read_pattern(self) -> _Pattern:
        pairs: set[Pair] = set()
        hits: dict[str, list[int]] = {}
        pinches: dict[tuple[str, str], tuple[list[int], list[int]]] = {}
        for row, (geom1, geom2) in enumerate(self._contact.geom.tolist()):
            a, b = self._owners[geom1], self._owners[geom2]
            # The robot comes last, and things among themselves by their names.
            if a.name == ROBOT or (b.name != ROBOT and b.name < a.name):
                a, b = b, a
            pairs.add((a.name, b.name))
            if b.name != ROBOT or a.name in (ARENA, ROBOT):
                continue
            if b.finger is None:
                hits.setdefault(a.name, []).append(row)
            else:
                hand, side = b.finger
                pinches.setdefault((hand, a.name), ([], []))[side].append(row)
        return _Pattern(frozenset(pairs), hits, pinches)


# A sensor's block in `data.history` begins with two words of MuJoCo's own; then come the times, then the values.
_HEADER = 2


def _touch_history(model: mujoco.MjModel, data: mujoco.MjData, count: int) -> tuple[Array, Array]:
    """Sample times (substeps,) and how many contacts were found (count, substeps), as views."""
    first = model.sensor(f"touch/{ARENA}").id
    substeps, start = int(model.sensor_history[first][0]), int(model.sensor_historyadr[first])
    size = _HEADER + 2 * substeps
    blocks = data.history[start : start + count * size].reshape(count, size)
    return blocks[0, _HEADER : _HEADER + substeps], blocks[:, _HEADER + substeps :]


def _force_history(model: mujoco.MjModel, data: mujoco.MjData, sensor: str) -> Array:
    """The net force (substeps, 3) in the world, as a view."""
    index = model.sensor(sensor).id
    substeps = int(model.sensor_history[index][0])
    start = int(model.sensor_historyadr[index]) + _HEADER + substeps
    forces: Array = data.history[start : start + 3 * substeps].reshape(substeps, 3)
    return forces


def _owners(model: mujoco.MjModel, scene: Scene, robot: Robot) -> list[_Owner]:
    fingers = {body: (arm.name, side) for arm in robot.arms for side, body in enumerate(arm.gripper.finger_bodies)}
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
