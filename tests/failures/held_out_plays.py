"""More ways to go wrong, and other ways to send what is done: other rates, action spaces and longer chunks."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice

import numpy as np

from robodx.experts import skills
from robodx.experts.base import CARRY_M
from robodx.experts.grasps import from_above, nearest_turn
from robodx.experts.skills import Steps, Waypoint
from robodx.policies.expert import privileged, to_action
from robodx.policy_contract import ActionChunk, EpisodeStart, Observation, PolicySpec
from robodx.records.trial import Trial
from robodx.robots.control import Controller, as_joint_action
from robodx.running.observers import Finished
from robodx.running.rollout import rollout
from robodx.sim.geometry import Pose, Vector, about, conjugate, multiply, to_rotation_vector
from robodx.sim.robot import ROBOTS
from robodx.sim.simulation import Command
from robodx.tasks.base import TASKS
from tests.failures.acting import Act, Actor, Script, Scripted, Spot
from tests.failures.expected import Failure
from tests.failures.plays import ON_CUBE_M

STEPWISE = PolicySpec(action_space="ee_delta", hz=10.0, is_privileged=True, state=())
IN_JOINTS = PolicySpec(action_space="joint", is_privileged=True, state=("joint_positions",))
IN_JOINTS_SLOWLY = PolicySpec(action_space="joint", hz=10.0, is_privileged=True, state=("joint_positions",))
IN_SPEEDS = PolicySpec(action_space="joint_velocity", is_privileged=True, state=())
IN_POSES = Scripted.spec


@dataclass(frozen=True)
class Sent(Failure):
    """A failure of a policy with another interface than most."""

    spec: PolicySpec = IN_POSES
    chunk: int = 1


def perform(failure: Failure) -> Finished:
    player = Sender(failure) if isinstance(failure, Sent) else Scripted(failure.script)
    trial = Trial(failure.task, TASKS[failure.task].version, f"script:{failure.name}", failure.seed)
    (finished,) = rollout([trial], player)
    return finished


class Sender(Scripted):
    """Plays a script in another action space, at another rate, or several steps ahead without looking."""

    def __init__(self, failure: Sent) -> None:
        super().__init__(failure.script)
        self.spec, self._chunk = failure.spec, failure.chunk
        self._robot = ROBOTS["panda"]
        self._poses = Controller(self._robot, "ee_pose")
        self._sent: Waypoint | None = None
        self._command: Command | None = None

    def reset(self, starts: Sequence[EpisodeStart]) -> None:
        super().reset(starts)
        self._sent = self._command = None

    def _act(self, observation: Observation) -> ActionChunk:
        (actor, script), world = self._playing[observation.episode_id], privileged(observation).world
        actor.hand.tool, actor.hand.opening = world.tool(), world.opening()
        actions: list[ActionChunk] = []
        for what in islice(script, self._chunk):
            if isinstance(what, np.ndarray):
                return what
            actions.append(self._action(what, world.base, observation))
        return np.stack(actions or [self._action(actor.hand.stay(), world.base, observation)])

    def _action(self, waypoint: Waypoint, base: Pose, observation: Observation) -> ActionChunk:
        if self.spec.action_space == "ee_pose":
            return to_action(base, waypoint)
        if self.spec.action_space == "ee_delta":
            before = self._sent.tool if self._sent else privileged(observation).world.tool()
            self._sent = waypoint
            return _step(base.inverse() @ before, base.inverse() @ waypoint.tool, waypoint.opening)
        if self._command is None:
            joints = np.asarray(observation.state["joint_positions"], np.float32)
            self._command = Command(joints, np.ones(1, np.float32))
        resolved = self._poses.resolve(to_action(base, waypoint), self._command, 1.0 / self.spec.hz)
        self._command = resolved.command
        return as_joint_action(self._command, self._robot)


def _step(before: Pose, after: Pose, opening: float) -> ActionChunk:
    """From one pose to the next in the base's axes, as an `ee_delta` action."""
    shift = np.subtract(after.position, before.position)
    turn = to_rotation_vector(multiply(after.quaternion, conjugate(before.quaternion)))
    return np.array([*shift, *turn, opening], np.float32)


# Getting hold of it.


def take_at(a: Actor, x: float, y: float) -> Steps:
    """Whatever loose thing is nearest to a place by now."""
    loose = [name for name, thing in a.view.things.items() if not thing.is_fixed]
    yield from a.take(min(loose, key=lambda name: math.dist(a.view.position(name)[:2], (x, y))))


def close_at(a: Actor, spot: Vector, lift_m: float = CARRY_M) -> Steps:
    """Down to a spot, close and up again, whatever is there."""
    x, y, z = spot
    yield from a.point(from_above(x, y, z + 0.1, 0.0))
    yield from a.go(spot)
    yield from a.close()
    yield from a.go((x, y, lift_m))


def touch_after(a: Actor, spot: Vector, seconds: float) -> Steps:
    """With closed fingers down to where something was at first, after a time, and up again."""
    x, y, z = spot
    a.hand.grip = 0.0
    yield from a.wait(seconds)
    yield from a.point(from_above(x, y, z + 0.1, 0.0))
    yield from a.go((x, y, z + 0.015))
    yield from skills.rise(a.hand, CARRY_M)


def take_and_slip(a: Actor, name: str, opening: float, *, lift_m: float, off: Vector = (0.0, 0.0, 0.0)) -> Steps:
    """Lifted a little, then the fingers give."""
    yield from a.take(name, off=off, lift_m=lift_m)
    yield from a.close(opening)
    yield from a.wait(0.5)
    yield from skills.rise(a.hand, CARRY_M)


def take_moving_and_slip(a: Actor, name: str, opening: float, *, lift_m: float) -> Steps:
    """As above, from something that carries it along."""
    velocity = a.velocity(name)
    yield from a.surround(a.grasp(name), velocity)
    yield from skills.grip(a.hand, skills.moving(velocity()))
    yield from skills.rise(a.hand, lift_m)
    yield from a.close(opening)
    yield from a.wait(0.5)
    yield from skills.rise(a.hand, CARRY_M)


def push_ahead(a: Actor, name: str, tries: int, way: float = 1.0) -> Steps:
    """Low from the side with open fingers, of which one pushes the thing ahead before they close on nothing."""
    for _ in range(tries):
        a.hand.grip = 1.0
        x, y, z = a.view.position(name)
        yield from a.point(from_above(x, y - way * 0.085, 0.12, 0.0))
        yield from a.go((x, y - way * 0.085, max(z, 0.016)))
        yield from a.go((x, y - way * 0.035, max(z, 0.016)), 0.3)
        yield from a.close()
        yield from skills.rise(a.hand, CARRY_M)


def brush(a: Actor, name: str, along_m: float) -> Steps:
    """In passing, a fingertip along the top of a thing, which does not move."""
    a.hand.grip = 0.0
    x, y, z = a.view.position(name)
    top = z + a.view.reach(name)[2] + 0.0097
    yield from a.point(from_above(x, y - along_m, top + 0.03, 0.0))
    yield from a.go((x, y - along_m, top))
    yield from a.go((x, y + along_m, top), 0.3)
    yield from skills.rise(a.hand, CARRY_M)


def graze(a: Actor, x: float, y: float) -> Steps:
    """The tips of closed fingers onto the table, ever so slowly, and up again."""
    a.hand.grip = 0.0
    yield from a.point(from_above(x, y, 0.03, 0.0))
    yield from a.go((x, y, 0.0115))
    for _ in range(21):
        a.hand.commanded = a.hand.commanded.shifted(dz=-0.0001)
        yield a.hand.stay()
    yield from skills.rise(a.hand, CARRY_M)


# Bringing it and putting it down.


def fling(a: Actor, name: str, spot: Spot, *, before: tuple[float, float], early_m: float, speed_m_s: float) -> Steps:
    """Over a spot in full motion, opening the fingers on the way; the hand does not stop there."""
    yield from a.take(name)
    (x, y, z), (dx, dy) = spot(), before
    yield from a.go((x + dx, y + dy, z))
    for waypoint in a.go((x - dx, y - dy, z), speed_m_s):
        if math.dist(waypoint.tool.position[:2], (x, y)) < early_m:
            a.hand.grip = 1.0
        yield waypoint._replace(opening=a.hand.grip)


def put_at(a: Actor, name: str, spot: Spot, *, speed_m_s: float, height_m: float = 0.0) -> Steps:
    """At a speed of its own to a spot, let go so much above, and up."""
    yield from a.take(name)
    x, y, z = spot()
    yield from a.go((x, y, max(z + 0.08, CARRY_M)), speed_m_s)
    yield from a.go((x, y, z + height_m), speed_m_s)
    yield from a.open()
    yield from skills.retreat(a.hand)


def put_on_both(a: Actor, name: str, one: str, other: str) -> Steps:
    """Onto two cubes side by side."""
    yield from a.take(name)
    yield from a.set_down(_on_both(a, one, other))


def knock_apart_and_build_on(a: Actor, one: str, other: str, name: str) -> Steps:
    """Two cubes side by side are swept apart, and another is set down where they were."""
    where = _on_both(a, one, other)()
    yield from a.sweep(one, along=(0.2, -1.0), height_m=0.025, speed_m_s=0.5)
    yield from a.take(name)
    yield from a.set_down(lambda: where)


def _on_both(a: Actor, one: str, other: str) -> Spot:
    def now() -> Vector:
        (x, y, z), (ox, oy, _) = a.view.position(one), a.view.position(other)
        return ((x + ox) / 2, (y + oy) / 2, z + ON_CUBE_M)

    return now


def put_turned(a: Actor, name: str, spot: Spot, turn_rad: float) -> Steps:
    """To a spot with the hand turned from how it took the thing, let go and up."""
    yield from a.take(name)
    (x, y, z), turned = spot(), multiply(about("z", turn_rad), a.hand.commanded.quaternion)
    yield from a.point(Pose((x, y, z + 0.08), turned))
    yield from a.go((x, y, z), 2 * skills.CAREFUL_SPEED_M_S)
    yield from a.open(0.8)
    yield from skills.retreat(a.hand)


def ram(
    a: Actor,
    name: str,
    obstacle: str,
    *,
    before: tuple[float, float],
    height_m: float,
    speed_m_s: float,
    then_at: tuple[float, float] | None = None,
) -> Steps:
    """What is held is driven sideways into something, and let go where that was, or at a place."""
    yield from a.take(name)
    (x, y, _), (dx, dy) = a.view.position(obstacle), before
    yield from a.go((x + dx, y + dy, CARRY_M))
    yield from a.go((x + dx, y + dy, height_m))
    yield from a.go((x - dx, y - dy, height_m), speed_m_s)
    yield from skills.rise(a.hand, CARRY_M)
    gx, gy = then_at or (x, y)
    yield from a.go((gx, gy, CARRY_M))
    yield from a.go((gx, gy, height_m))
    yield from a.open()
    yield from skills.retreat(a.hand)


def push_to(a: Actor, name: str, x: float, y: float, speed_m_s: float = 0.2) -> Steps:
    """With closed fingers from behind, in a straight line until the fingers are at a place."""
    a.hand.grip = 0.0
    px, py, _ = a.view.position(name)
    length = math.hypot(x - px, y - py)
    ux, uy = (x - px) / length, (y - py) / length
    yield from a.point(from_above(px - 0.06 * ux, py - 0.06 * uy, 0.1, nearest_turn(math.atan2(uy, ux), math.pi)))
    yield from a.go((px - 0.06 * ux, py - 0.06 * uy, 0.02))
    yield from a.go((x, y, 0.02), speed_m_s)
    yield from skills.rise(a.hand, CARRY_M)


def lean(a: Actor, name: str, tilt_rad: float) -> Steps:
    """A long thing is taken near its left end, turned towards upright by less than a right angle, and let go."""
    half = a.view.thing(name).half_extents[0]
    start = a.view.pose(name)
    end = math.copysign(1.0, start.axis("x")[1])

    def grasp() -> Pose:
        pose = a.view.pose(name)
        yaw = math.atan2(pose.axis("x")[1], pose.axis("x")[0])
        yaw = (yaw + math.pi / 2) % math.pi - math.pi / 2
        return from_above(*pose.apply((end * (half - 0.03), 0.0, 0.0)), yaw)

    yield from a.surround(grasp)
    yield from a.close()
    yield from skills.rise(a.hand, CARRY_M)
    upright = np.array([[0.0, -end, 0.0], [0.0, 0.0, -1.0], [end, 0.0, 0.0]])
    goal = Pose.from_matrix((*start.position[:2], half + 0.004), upright)
    goal = Pose(goal.position, multiply(about("x", -tilt_rad), goal.quaternion))
    yield from a.bring(name, goal.shifted(dz=0.07))
    yield from a.bring(name, goal)
    yield from a.open()
    yield from skills.retreat(a.hand)


# To and fro, or without an end.


def slowly(a: Actor, pace: float, steps: Steps) -> Steps:
    a.hand.pace = pace
    yield from steps


def swaying(steps: Steps, by_m: float, period_s: float, hz: float = 20.0) -> Steps:
    """Evenly to and fro along y around where the hand should be."""
    for step, waypoint in enumerate(steps):
        yield waypoint._replace(tool=waypoint.tool.shifted(dy=by_m * math.sin(2 * math.pi * step / (hz * period_s))))


def twist(a: Actor, name: str, by_rad: float, period_s: float, seconds: float) -> Steps:
    """Over a thing, turning to and fro about the way down."""
    yield from a.point(from_above(*a.at(name, dz=0.1)(), 0.0))
    home = a.hand.commanded
    for step in range(round(seconds / a.hand.period_s)):
        turn_rad = by_rad * math.sin(2 * math.pi * step * a.hand.period_s / period_s)
        a.hand.commanded = Pose(home.position, multiply(about("z", turn_rad), home.quaternion))
        yield a.hand.stay()


def hover(a: Actor, name: str, seconds: float, height_m: float = 0.12) -> Steps:
    """Over a thing wherever it goes, and never down to it."""
    yield from a.point(from_above(*a.at(name, dz=height_m)(), 0.0))
    for _ in range(round(seconds / a.hand.period_s)):
        x, y, z = a.view.position(name)
        yield a.hand.towards(Pose((x, y, z + height_m), a.hand.commanded.quaternion), skills.SPEED_M_S)


def joints(a: Actor, goal: Sequence[float], seconds: float, opening: float = 1.0) -> Act:
    """Joint targets, evenly over a time from where a hand at home is, for a policy that sends such."""
    home = np.array(ROBOTS["panda"].arms[0].home)
    steps = round(seconds / a.hand.period_s)
    for step in range(steps):
        now = home + (np.array(goal) - home) * min(1.0, 2 * (step + 1) / steps)
        yield np.array([[*now, opening]], np.float32)


def rattle(a: Actor, amplitude_rad: Sequence[float], seconds: float, every: int) -> Act:
    """All joints to and fro around home."""
    home = np.array(ROBOTS["panda"].arms[0].home)
    for step in range(round(seconds / a.hand.period_s)):
        sign = 1.0 if (step // every) % 2 else -1.0
        yield np.array([[*(home + sign * np.array(amplitude_rad)), 1.0]], np.float32)


def speeds(a: Actor, rad_s: Sequence[float], seconds: float, every: int) -> Act:
    """Joint speeds that turn round every so many steps."""
    for step in range(round(seconds / a.hand.period_s)):
        sign = 1.0 if ((step + every // 2) // every) % 2 else -1.0
        yield np.array([[*(sign * np.array(rad_s)), 1.0]], np.float32)


def spoilt_chunk(a: Actor, script: Script, at: int, value: float) -> Act:
    """Sixteen actions ahead, one of which is no number."""
    steps = [step for step in islice(script(a), 16) if isinstance(step, Waypoint)]
    base = ROBOTS["panda"].base_in_world
    chunk = np.stack([to_action(base, step) for step in steps])
    yield chunk
    spoilt = chunk.copy()
    spoilt[at, 1] = value
    yield spoilt
