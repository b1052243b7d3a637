"""What scripted episodes are made of: an actor that knows and can do everything, and ways to do one thing wrong."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain, islice

import numpy as np

from robodx.experts import skills
from robodx.experts.base import CARRY_M, PlanContext
from robodx.experts.grasps import from_above
from robodx.experts.schedule import Schedule
from robodx.experts.skills import Hand, PoseNow, Steps, VelocityNow, Waypoint
from robodx.language.meaning import Clause, Meaning, resolve_all
from robodx.language.reference import looks_now
from robodx.policies.expert import privileged, to_action
from robodx.policy_contract import ActionChunk, EpisodeStart, Observation, PolicySpec
from robodx.sim.geometry import Pose, Vector, about, multiply
from robodx.sim.world import World

Spot = Callable[[], Vector]
Act = Iterator[Waypoint | ActionChunk]
Script = Callable[["Actor"], Act]

# How far the tool is above the middle of a thing that lies on the table when a hand rests over it.
OVER_M = 0.12


@dataclass
class LaggardHand(Hand):
    """A hand that goes at a share of the speed it is told to."""

    pace: float = 1.0

    def towards(self, goal: Pose, max_speed_m_s: float) -> Waypoint:
        return super().towards(goal, self.pace * max_speed_m_s)


@dataclass
class Actor(PlanContext):
    """Knows what is meant, sees everything and acts on its own: verbs are steps, and nothing is tried twice."""

    hand: LaggardHand
    clauses: tuple[Clause, ...]

    @property
    def thing(self) -> str:
        """What the first clause is about."""
        return self.target(self.clauses[0])

    @property
    def place(self) -> str:
        """Where the first clause wants it."""
        return self.others(self.clauses[0])[0]

    def other(self, number: int = 0, *, kind: str | None = None) -> str:
        """A loose thing that nothing is said of, and of the kind of what is meant unless another is given."""
        meant = set(self.names.values())
        kind = kind or self.view.thing(self.thing).kind
        return [
            name
            for name, thing in self.view.things.items()
            if name not in meant and not thing.is_fixed and kind in ("any", thing.kind)
        ][number]

    def at(self, name: str, dx: float = 0.0, dy: float = 0.0, dz: float = 0.0) -> Spot:
        """Where a thing is at any time, or beside it."""

        def now() -> Vector:
            x, y, z = self.view.position(name)
            return (x + dx, y + dy, z + dz)

        return now

    # As the expert does it.

    def do(self, *clauses: Clause) -> Steps:
        schedule = Schedule(clauses or self.clauses, self)
        while (told := schedule.step()) is not None:
            yield told[self.hand.name]

    def mistaking(self, *swapped: tuple[str, str]) -> Actor:
        """This actor, taking one thing for another."""
        other = dict(swapped)
        return replace(self, names={said: other.get(name, name) for said, name in self.names.items()})

    # Single acts.

    def take(
        self, name: str, *, off: Vector = (0.0, 0.0, 0.0), turn: float = 0.0, grip: float = 0.0, lift_m: float = CARRY_M
    ) -> Steps:
        """Pick a thing up once; `off` beside where it should be taken, or with a grip that does not close."""
        grasp = self.grasp(name)
        velocity = self.velocity(name)
        yield from self.surround(lambda: _turned(grasp().shifted(*off), turn), velocity)
        yield from self.close(grip)
        yield from skills.rise(self.hand, lift_m)

    def surround(self, grasp: PoseNow, velocity: VelocityNow = lambda: (0.0, 0.0, 0.0)) -> Steps:
        self.hand.grip = 1.0
        yield from skills.surround(self.hand, grasp, velocity=velocity, is_clear=lambda: True)

    def close(self, grip: float = 0.0) -> Steps:
        self.hand.grip = grip
        for _ in range(8):
            yield self.hand.stay()

    def go(self, spot: Spot | Vector, speed_m_s: float = skills.SPEED_M_S) -> Steps:
        """The tool to a spot, in the orientation it has."""
        turned = self.hand.commanded.quaternion
        yield from skills.reach(
            self.hand, lambda: Pose(spot() if callable(spot) else spot, turned), speed_m_s=speed_m_s
        )

    def point(self, pose: Pose) -> Steps:
        yield from skills.reach(self.hand, lambda: pose)

    def bring(self, name: str, goal: Pose) -> Steps:
        """A held thing to a pose."""
        yield from skills.carry(self.hand, self.pose(name), (lambda: goal, 2 * skills.CAREFUL_SPEED_M_S))

    def over(self, spot: Spot, height_m: float = OVER_M) -> Steps:
        """The tool over a spot: up first, as one that does not want to touch anything."""
        x, y, z = spot()
        yield from skills.clear(self.hand, height_m)
        yield from self.go((x, y, z + height_m))

    def set_down(self, spot: Spot, *, opening: float = 1.0) -> Steps:
        """Over a spot, down so that what is held would be there, open, and up again: whether it is held or not."""
        yield from self.over(spot)
        yield from self.go(spot, 2 * skills.CAREFUL_SPEED_M_S)
        yield from self.open(opening)
        yield from skills.retreat(self.hand)

    def open(self, opening: float = 1.0) -> Steps:
        yield from skills.release(self.hand, opening)

    def poke(self, name: str, depth_m: float = 0.004) -> Steps:
        """Touch a thing from above with closed fingers."""

        def top() -> Pose:
            x, y, z = self.view.position(name)
            return from_above(x, y, z + self.view.reach(name)[2], 0.0)

        yield from skills.touch(self.hand, top, depth_m=depth_m)

    def sweep(self, name: str, *, along: tuple[float, float], height_m: float = 0.03, speed_m_s: float = 0.4) -> Steps:
        """Low along the table through a thing, from 12 cm before it to 12 cm behind."""
        self.hand.grip = 0.0
        (x, y, _), (ux, uy) = self.view.position(name), along
        length = math.hypot(ux, uy)
        dx, dy = 0.12 * ux / length, 0.12 * uy / length
        yield from skills.clear(self.hand, CARRY_M)
        yield from self.go((x - dx, y - dy, CARRY_M))
        yield from self.go((x - dx, y - dy, height_m))
        yield from self.go((x + dx, y + dy, height_m), speed_m_s)
        yield from skills.rise(self.hand, CARRY_M)

    def wait(self, seconds: float) -> Steps:
        for _ in range(round(seconds / self.hand.period_s)):
            yield self.hand.stay()

    def wander(self, spots: Sequence[Vector], rounds: int = 1) -> Steps:
        for spot in list(spots) * rounds:
            yield from self.go(spot, 0.4)


def _turned(pose: Pose, yaw_rad: float) -> Pose:
    return Pose(pose.position, multiply(about("z", yaw_rad), pose.quaternion))


# One thing wrong with how an act is carried out.


def then(*acts: Iterable[Waypoint | ActionChunk]) -> Act:
    """One after the other; each begins only when its turn comes."""
    return chain(*acts)


def first(seconds: float, steps: Iterable[Waypoint], hz: float = 20.0) -> Iterator[Waypoint]:
    """Only the beginning of an act."""
    return islice(steps, round(seconds * hz))


def shaken(steps: Iterable[Waypoint], by: Vector, every: int = 1) -> Steps:
    """To and fro by so much around where the hand should be, turning back every so many steps."""
    for step, waypoint in enumerate(steps):
        sign = 1 if (step // every) % 2 else -1
        dx, dy, dz = (sign * share for share in by)
        yield waypoint._replace(tool=waypoint.tool.shifted(dx, dy, dz))


class Scripted:
    """Plays one script in any episode it is given, and stands still when that is over."""

    spec = PolicySpec(action_space="ee_pose", is_privileged=True, state=())

    def __init__(self, script: Script) -> None:
        self._script = script
        self._playing: dict[str, tuple[Actor, Act]] = {}

    def reset(self, starts: Sequence[EpisodeStart]) -> None:
        for start in starts:
            world, meaning = privileged(start).world, privileged(start).meaning
            hand = LaggardHand(world.tool(), world.opening(), 1.0 / self.spec.hz, world.tool(), name=world.hands[0])
            actor = cast(world, hand, meaning)
            self._playing[start.episode_id] = (actor, iter(self._script(actor)))

    def act(self, observations: Sequence[Observation]) -> Sequence[ActionChunk]:
        return [self._act(observation) for observation in observations]

    def finish(self, ids: Sequence[str]) -> None:
        for episode_id in ids:
            self._playing.pop(episode_id, None)

    def _act(self, observation: Observation) -> ActionChunk:
        (actor, script), world = self._playing[observation.episode_id], privileged(observation).world
        actor.hand.tool, actor.hand.opening = world.tool(), world.opening()
        what = next(script, None)
        if isinstance(what, np.ndarray):
            return what
        return to_action(world.base, what or actor.hand.stay())[None]


def cast(world: World, hand: LaggardHand, meaning: Meaning) -> Actor:
    known = looks_now(world)
    clauses = meaning.decided(known)
    return Actor(world, hand, resolve_all(clauses, known), clauses)
