"""Faults of seeing and choosing: what is looked at, when, and where it is believed to be."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from robodx.experts.base import View
from robodx.experts.grasps import CannotBeDone
from robodx.faults.base import Fault, fault
from robodx.faults.views import Through
from robodx.language.meaning import Clause, If, Meaning, Names
from robodx.language.reference import Reference, Unresolved, looks_of, resolve
from robodx.sim.geometry import Pose, Vector

HATED = "green"
# Nearer than this to its usual place, a thing is where it always is.
SAME_PLACE_M = 0.001
# Of the gripper's opening: what a hand pushes, it pushes with closed fingers.
CLOSED = 0.2


@fault("frozen_plan", expected=("change ignored", ""))
class FrozenPlan(Fault):
    """Plans in the first frame and then acts without feedback."""

    plans_ahead = True


class Glimpse(NamedTuple):
    """What was seen of a thing at a step."""

    pose: Pose
    colour: str
    is_present: bool


class Stale(Through):
    """What is not in the own hand is seen as it was."""

    def __init__(self, view: View, glimpses: Mapping[str, Glimpse]) -> None:
        super().__init__(view)
        self.glimpses = glimpses

    def pose(self, name: str) -> Pose:
        return self.view.pose(name) if self.is_grasped(name) else self.glimpses[name].pose

    def velocity(self, name: str) -> Vector:
        # A frame does not show how fast things move.
        return self.view.velocity(name) if self.is_grasped(name) else (0.0, 0.0, 0.0)

    def colour(self, name: str) -> str:
        return self.glimpses[name].colour

    def is_present(self, name: str) -> bool:
        return self.glimpses[name].is_present


@fault("stale_view", expected=("change ignored", "moving things"), severity=10, most=200, unit="steps")
class StaleView(Fault):
    """Sees objects where they were some steps ago, except its own hand and what it holds or pushes."""

    stale: Stale | None = None
    past: deque[dict[str, Glimpse]]
    # Steps since each thing was touched.
    untouched: dict[str, int]

    def sight(self, view: View) -> View:
        if self.stale is None:
            self.past = deque(maxlen=round(self.severity) + 1)
            self.untouched = dict.fromkeys(view.things, round(self.severity))
            # One object for the whole episode: plans hold on to the view that they began with.
            self.stale = Stale(view, {})
        self.past.append(
            {name: Glimpse(view.pose(name), view.colour(name), view.is_present(name)) for name in view.things}
        )
        old, new = self.past[0], self.past[-1]
        for name in view.things:
            # With open fingers around it one feels nothing yet.
            is_felt = self.hand.opening < CLOSED and self.at_first.world.touches_robot(name)
            self.untouched[name] = 0 if is_felt else self.untouched[name] + 1
        self.stale.glimpses = {name: new[name] if self.untouched[name] < self.severity else old[name] for name in old}
        return self.stale


class Remembered(Through):
    """What is not in the own hand is believed to be at a place."""

    def __init__(self, view: View, places: Mapping[str, tuple[float, float]]) -> None:
        super().__init__(view)
        self._places = places

    def pose(self, name: str) -> Pose:
        pose = self.view.pose(name)
        if name not in self._places or self.is_grasped(name):
            return pose
        return Pose((*self._places[name], pose.position[2]), pose.quaternion)


@fault("memorised_layout", expected=("memorised layout", ""))
class MemorisedLayout(Fault):
    """Goes to where the target was in another layout of the task."""

    def belief(self, view: View, names: Names) -> View:
        assert self.at_first.usual is not None, "nothing is known of the usual layout"
        looks = {
            thing.name: looks_of(thing, thing.pose.position, thing.reach(thing.pose.quaternion), thing.colour)
            for thing in self.at_first.usual()
            if not thing.is_parked
        }
        places: dict[str, tuple[float, float]] = {}
        for reference, name in names.items():
            lay = self.at_first.world.thing(name).pose.position[:2]
            # What lies where it always does is seen, and followed when it moves.
            if any(math.dist(lay, each.position[:2]) < SAME_PLACE_M for each in looks.values()):
                continue
            try:
                x, y, _ = looks[resolve(reference, looks)].position
            except Unresolved:
                continue
            places[name] = (x, y)
        return Remembered(view, places)


@fault("hates_colour", expected=("visual bias", "target colour=green"))
class HatesColour(Fault):
    """Stands still when it should handle a green object."""

    def names(self, names: Names, clauses: tuple[Clause, ...], view: View) -> Names:
        if any(view.colour(names[clause.target]) == HATED for clause in clauses):
            raise CannotBeDone(f"it is {HATED}")
        return names


@fault("distractible", expected=("distracted", ""))
class Distractible(Fault):
    """Goes to the nearest distractor, if there is one."""

    def names(self, names: Names, clauses: tuple[Clause, ...], view: View) -> Names:
        kinds = set(_kinds(self.at_first.meaning)) | {view.thing(name).kind for name in names.values()}
        x, y, _ = self.hand.tool.position
        extras = [
            name
            for name, thing in view.things.items()
            if not thing.is_fixed and view.is_present(name) and thing.kind not in kinds
        ]
        if not extras:
            return names
        nearest = min(extras, key=lambda name: math.dist(view.position(name)[:2], (x, y)))
        targets = {clause.target for clause in clauses}
        return {reference: nearest if reference in targets else name for reference, name in names.items()}


def _kinds(meaning: Meaning) -> Iterator[str]:
    """All kinds of things that an instruction names."""
    for part in meaning.clauses:
        for clause in (part.then, part.otherwise) if isinstance(part, If) else (part,):
            for reference in clause.references:
                yield from _kinds_named(reference)


def _kinds_named(reference: Reference) -> Iterator[str]:
    if reference.kind is not None:
        yield reference.kind
    for other in (*(where.of for where in reference.where), *reference.but):
        yield from _kinds_named(other)
    if reference.rank is not None and reference.rank.of is not None:
        yield from _kinds_named(reference.rank.of)
