"""Held-out faults: the expert with one deficit each, which shows only at one level of one factor."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from robodx.experts.grasps import CannotBeDone
from robodx.faults.base import Fault, fault
from robodx.faults.views import Through
from robodx.language.meaning import Clause, If, Meaning
from robodx.language.reference import Rank, Reference

SIZES = {"biggest", "smallest", "bigger", "smaller", "odd"}
WITHOUT_GRASP = {"push", "touch", "press", "roll", "release"}
ALONG = {"left": (0.0, 1.0), "right": (0.0, -1.0), "forward": (1.0, 0.0), "back": (-1.0, 0.0)}
ROUND = {"sphere", "cylinder"}
FLIPPED = {"in front of": "behind", "behind": "in front of", "nearest": "farthest", "farthest": "nearest",
           "forward": "back", "back": "forward"}


def all_clauses(meaning: Meaning) -> Iterator[Clause]:
    """All clauses of an instruction, those of conditions included."""
    for clause in meaning.clauses:
        if isinstance(clause, If):
            yield clause.then
            yield clause.otherwise
        else:
            yield clause


def nested(reference: Reference) -> Iterator[Reference]:
    """A description, and those in it."""
    yield reference
    for where in reference.where:
        yield from nested(where.of)
    for but in reference.but:
        yield from nested(but)
    if reference.rank is not None and reference.rank.of is not None:
        yield from nested(reference.rank.of)


def of_clause(clause: Clause) -> Iterator[Reference]:
    """All descriptions in a clause."""
    yield from nested(clause.target)
    for reference in clause.place.of if clause.place is not None else ():
        yield from nested(reference)
    if clause.once_lit is not None:
        yield from nested(clause.once_lit)


def all_references(meaning: Meaning) -> Iterator[Reference]:
    """All descriptions in an instruction."""
    for clause in all_clauses(meaning):
        yield from of_clause(clause)
    for conditional in meaning.clauses:
        if isinstance(conditional, If):
            yield from nested(conditional.fact.reference)


@dataclass(frozen=True)
class Case:
    """What the situation is like at the beginning."""

    text: str
    meaning: Meaning
    clauses: tuple[Clause, ...]
    view: Any
    target: str
    at: tuple[float, float, float]
    goal: str | None
    goal_at: tuple[float, float] | None

    @property
    def first(self) -> Clause:
        return self.clauses[0]

    @property
    def on_table(self) -> list[str]:
        return [n for n, thing in self.view.things.items() if not thing.is_parked and self.view.is_present(n)]

    @property
    def distractors(self) -> list[str]:
        named = {reference.kind for clause in all_clauses(self.meaning) for reference in of_clause(clause)}
        things = self.view.things
        others = [n for n in self.on_table if n not in {self.target, self.goal}]
        return [n for n in others if not things[n].is_fixed and things[n].kind not in named]

    @property
    def target_size_m(self) -> float:
        return 2 * max(self.view.things[self.target].half_extents)

    @property
    def turn_deg(self) -> float | None:
        """How far the sides of the target are turned from the edges of the table."""
        if self.view.things[self.target].kind in ROUND:
            return None
        w, x, y, z = self.view.pose(self.target).quaternion
        along = (1 - 2 * (y * y + z * z), 2 * (x * y + w * z))
        if math.hypot(*along) < 0.5:
            along = (2 * (x * y - w * z), 1 - 2 * (x * x + z * z))
        turn = math.degrees(math.atan2(along[1], along[0])) % 90
        return min(turn, 90 - turn)

    @property
    def grasps(self) -> int:
        """How often something must be taken."""
        number, held = 0, None
        for clause in self.clauses:
            if clause.action in WITHOUT_GRASP:
                held = None
                continue
            number += clause.target != held
            held = clause.target if clause.action == "pick" else None
        return number

    @property
    def is_unusual_phrasing(self) -> bool:
        """Whether the words of the first act are among those for testing."""
        best = None
        for is_test, templates in ((False, self.first.phrasings.train), (True, self.first.phrasings.test)):
            for template in templates:
                parts = [re.escape(part.strip()) for part in re.split(r"\{[^}]*\}", template.lower())]
                pattern = r"[^,;]+?".join(rf"(?<![\w-]){p}(?![\w-])" if p else "" for p in parts)
                found = re.search(pattern, self.text.lower())
                if found:
                    key = (found.start(), -sum(map(len, parts)))
                    best = min(best or (key, is_test), (key, is_test))
        return best is not None and best[1]

    def near(self, place: str) -> list[str]:
        """What else could be handled, those of the target's kind first, then the nearest ones."""
        things, target = self.view.things, self.view.things[self.target]
        at = self.view.position(self.target)
        others = [n for n in self.on_table if n not in {self.target, self.goal} and things[n].is_fixed == target.is_fixed]
        return sorted(others, key=lambda n: (place == "kind" and things[n].kind != target.kind,
                                             math.dist(at[:2], self.view.position(n)[:2]), n))


def case_of(text: str, meaning: Meaning, names: Any, clauses: tuple[Clause, ...], view: Any) -> Case:
    """What is to be seen at the beginning."""
    target = names[clauses[0].target]
    place = clauses[0].place
    x, y, z = (float(value) for value in view.position(target))
    goal, goal_at = None, None
    if place is not None and place.of:
        goal = names[place.of[0]]
        goal_at = (float(view.position(goal)[0]), float(view.position(goal)[1]))
    elif place is not None and place.relation in ALONG and place.distance_m:
        dx, dy = ALONG[place.relation]
        goal_at = (x + dx * place.distance_m, y + dy * place.distance_m)
    return Case(text, meaning, clauses, view, target, (x, y, z), goal, goal_at)


class Elsewhere(Through):
    """Shows one thing shifted."""

    def __init__(self, view: Any, name: str, shift: tuple[float, float, float]) -> None:
        super().__init__(view)
        self._name, self._shift = name, shift

    def pose(self, name: str) -> Any:
        pose = super().pose(name)
        return pose.shifted(*self._shift) if name == self._name else pose


class Deficit(Fault):
    """Looks once, at the beginning, whether its situation is one in which the deficit shows."""

    case: Case | None = None
    is_on = False
    steps = 0
    last: Any = None

    @staticmethod
    def shows(case: Case) -> bool:
        """Whether the situation is one in which it fails."""
        raise NotImplementedError

    def names(self, names: Any, clauses: tuple[Clause, ...], view: Any) -> Any:
        if self.case is None and clauses:
            self.case = case_of(self.start.instruction, self.at_first.meaning, names, clauses, view)
            self.is_on = self.shows(self.case)
            if self.is_on:
                self.begins(self.case)
        return self.chosen(dict(names)) if self.is_on else names

    def waypoint(self, waypoint: Any, view: Any) -> Any:
        if not self.is_on or self.case is None:
            return waypoint
        self.steps += 1
        if self.last is not None:
            return self.last
        return self.moved(waypoint, view, self.case)

    def belief(self, view: Any, names: Any) -> Any:
        return self.believed(view, self.case) if self.is_on and self.case is not None else view

    def begins(self, case: Case) -> None:
        """Keeps what it needs of the beginning."""

    def chosen(self, names: Any) -> Any:
        """On which things it acts when the deficit shows."""
        return names

    def moved(self, waypoint: Any, view: Any, case: Case) -> Any:
        """Where its hand goes when the deficit shows."""
        return waypoint

    def believed(self, view: Any, case: Case) -> Any:
        """Where it believes things to be when the deficit shows."""
        return view

    def stop(self, waypoint: Any, opening: float | None = None) -> Any:
        """Stays here from now on."""
        self.last = waypoint if opening is None else waypoint._replace(opening=opening)
        return self.last


class TakesAnother(Deficit):
    """Acts on another thing, or on none if there is no other."""

    preferred = "near"
    instead: str | None = None

    def begins(self, case: Case) -> None:
        self.instead = next(iter(case.near(self.preferred)), None)

    def chosen(self, names: Any) -> Any:
        if self.case is None or self.instead is None:
            raise CannotBeDone("nothing else is there")
        return {reference: self.instead if name == self.case.target else name for reference, name in names.items()}


def at(waypoint: Any, x: float, y: float, z: float) -> Any:
    """The same with the hand elsewhere."""
    px, py, pz = waypoint.tool.position
    return waypoint._replace(tool=waypoint.tool.shifted(x - px, y - py, z - pz))


def has_moved(view: Any, case: Case, by_m: float) -> bool:
    """Whether the target is no longer where it was."""
    return math.dist(view.position(case.target)[:2], case.at[:2]) > by_m


@fault("h3_alder", expected=None)
class Alder(Deficit):
    """Stops short of things at the far end."""

    @staticmethod
    def shows(case: Case) -> bool:
        return case.at[0] > 0.03

    def moved(self, waypoint: Any, view: Any, case: Case) -> Any:
        x, y, z = waypoint.tool.position
        return at(waypoint, min(x, case.at[0] - 0.1), y, z)


@fault("h3_birch", expected=None)
class Birch(Deficit):
    """Reaches for a spot nearer to the middle."""

    @staticmethod
    def shows(case: Case) -> bool:
        return case.at[1] < -0.12

    def believed(self, view: Any, case: Case) -> Any:
        return Elsewhere(view, case.target, (0.0, 0.1, 0.0))


@fault("h3_cedar", expected=None)
class Cedar(Deficit):
    """Brings things only part of the way."""

    @staticmethod
    def shows(case: Case) -> bool:
        return case.goal_at is not None and case.goal_at[1] > 0.1

    def moved(self, waypoint: Any, view: Any, case: Case) -> Any:
        if case.goal_at is None or not (view.is_grasped(case.target) or has_moved(view, case, 0.01)):
            return waypoint
        x, y, z = waypoint.tool.position
        return at(waypoint, x, min(y, case.goal_at[1] - 0.14), z)


@fault("h3_elm", expected=None)
class Elm(TakesAnother):
    """Takes something else when told with unusual words."""

    @staticmethod
    def shows(case: Case) -> bool:
        return any(reference.said is not None for reference in all_references(case.meaning))


@fault("h3_fir", expected=None)
class Fir(Fault):
    """Stops after some seconds."""

    steps = 0
    last: Any = None

    def waypoint(self, waypoint: Any, view: Any) -> Any:
        self.steps += 1
        if self.last is None and self.steps * self.hand.period_s > 4.5:
            self.last = waypoint
        return self.last or waypoint


@fault("h3_gorse", expected=None)
class Gorse(Deficit):
    """Once it has let go of a thing, its hand stays open."""

    taken: str | None = None
    is_spent = False

    @staticmethod
    def shows(case: Case) -> bool:
        return case.grasps >= 2

    def moved(self, waypoint: Any, view: Any, case: Case) -> Any:
        if self.is_spent:
            return waypoint._replace(opening=1.0)
        if self.taken is None:
            self.taken = next((n for n in case.on_table if view.is_grasped(n)), None)
        else:
            self.is_spent = not view.is_grasped(self.taken) and waypoint.opening > 0.5
        return waypoint


@fault("h3_hazel", expected=None)
class Hazel(Deficit):
    """Hovers above things of one kind."""

    @staticmethod
    def shows(case: Case) -> bool:
        return bool(case.view.things[case.target].kind == "triangular block")

    def moved(self, waypoint: Any, view: Any, case: Case) -> Any:
        x, y, z = waypoint.tool.position
        return at(waypoint, x, y, max(z, case.at[2] + 0.13))


@fault("h3_ivy", expected=None)
class Ivy(Deficit):
    """Raises its hand and waits, because of one word."""

    @staticmethod
    def shows(case: Case) -> bool:
        return "down" in re.findall(r"[a-z'-]+", case.text.lower())

    def moved(self, waypoint: Any, view: Any, case: Case) -> Any:
        if self.steps * self.hand.period_s < 0.4:
            return waypoint
        x, y, z = waypoint.tool.position
        return self.stop(at(waypoint, x, y, z + 0.05), 1.0)


@fault("h3_juniper", expected=None)
class Juniper(TakesAnother):
    """Takes something else when it should handle a thing of one colour."""

    @staticmethod
    def shows(case: Case) -> bool:
        return bool(case.view.colour(case.target) == "purple")


@fault("h3_kelp", expected=None)
class Kelp(Deficit):
    """Its hand stays too high above small things."""

    @staticmethod
    def shows(case: Case) -> bool:
        return case.target_size_m < 0.037

    def moved(self, waypoint: Any, view: Any, case: Case) -> Any:
        x, y, z = waypoint.tool.position
        return at(waypoint, x, y, z + 0.045)


@fault("h3_larch", expected=None)
class Larch(TakesAnother):
    """Takes another of the candidates."""

    preferred = "kind"

    @staticmethod
    def shows(case: Case) -> bool:
        target = case.first.target
        measured = target.rank is not None and target.rank.by in {"closest to", "farthest from"} and target.rank.n == 1
        return bool(target.where) or measured


@fault("h3_moss", expected=None)
class Moss(Deficit):
    """Its hand hangs between things that differ in size."""

    middle: tuple[float, float] | None = None

    @staticmethod
    def shows(case: Case) -> bool:
        target, things = case.first.target, case.view.things
        is_sized = target.size is not None or (target.rank is not None and target.rank.by in SIZES)
        alike = {case.view.colour(n) for n in case.on_table if things[n].kind == things[case.target].kind}
        return is_sized and not target.where and (target.colour is None or len(alike) == 1)

    def begins(self, case: Case) -> None:
        other = next(iter(case.near("kind")), None)
        x, y = case.view.position(other)[:2] if other is not None else (case.at[0] - 0.1, case.at[1])
        self.middle = ((case.at[0] + x) / 2, (case.at[1] + y) / 2)

    def moved(self, waypoint: Any, view: Any, case: Case) -> Any:
        if waypoint.tool.position[2] < 0.2 and self.middle is not None:
            return self.stop(at(waypoint, *self.middle, 0.2))
        return waypoint


@fault("h3_nettle", expected=None)
class Nettle(Deficit):
    """Begins with one act, and gives up."""

    @staticmethod
    def shows(case: Case) -> bool:
        return case.first.act == "push onto"

    def moved(self, waypoint: Any, view: Any, case: Case) -> Any:
        return self.stop(waypoint) if has_moved(view, case, 0.008) else waypoint


@fault("h3_oak", expected=None)
class Oak(Deficit):
    """Loses what it should set on its end."""

    things: frozenset[str] = frozenset()
    lifted = 0

    @staticmethod
    def shows(case: Case) -> bool:
        return any(clause.act == "stand" for clause in case.clauses)

    def chosen(self, names: Any) -> Any:
        clauses = self.case.clauses if self.case is not None else ()
        told = {names[clause.target] for clause in clauses if clause.act == "stand" and clause.target in names}
        self.things = self.things | told
        return names

    def moved(self, waypoint: Any, view: Any, case: Case) -> Any:
        self.lifted += any(view.is_grasped(name) for name in self.things)
        return self.stop(waypoint, 1.0) if self.lifted > 4 else waypoint


@fault("h3_pine", expected=None)
class Pine(Deficit):
    """Stands still on a full table."""

    @staticmethod
    def shows(case: Case) -> bool:
        return len(case.on_table) >= 5

    def chosen(self, names: Any) -> Any:
        raise CannotBeDone("too much at once")


@fault("h3_quince", expected=None)
class Quince(TakesAnother):
    """Goes for a thing that was not mentioned."""

    @staticmethod
    def shows(case: Case) -> bool:
        return len(case.distractors) >= 2

    def begins(self, case: Case) -> None:
        self.instead = min(case.distractors, key=lambda n: (math.dist(case.view.position(n)[:2], case.at[:2]), n))


def flipped(reference: Reference) -> Reference:
    """With nearer and farther exchanged."""
    rank: Rank | None = reference.rank
    if rank is not None:
        rank = replace(rank, by=FLIPPED.get(rank.by, rank.by), of=flipped(rank.of) if rank.of is not None else None)
    where = tuple(replace(w, relation=FLIPPED.get(w.relation, w.relation), of=flipped(w.of)) for w in reference.where)
    return replace(reference, rank=rank, where=where)


@fault("h3_rowan", expected=None)
class Rowan(Fault):
    """Mixes up two directions."""

    def reference(self, reference: Reference) -> Reference:
        return flipped(reference)

    def clauses(self, clauses: tuple[Clause, ...]) -> tuple[Clause, ...]:
        return tuple(
            replace(c, place=replace(c.place, relation=FLIPPED[c.place.relation]))
            if c.place is not None and c.place.relation in FLIPPED else c for c in clauses)


@fault("h3_sage", expected=None)
class Sage(Fault):
    """Clenches its hand and stops when it is told something else."""

    is_told = False
    last: Any = None

    def meaning(self, meaning: Meaning) -> Meaning:
        self.is_told = self.is_told or meaning != self.at_first.meaning
        return meaning

    def waypoint(self, waypoint: Any, view: Any) -> Any:
        if self.is_told and self.last is None:
            self.last = waypoint._replace(opening=0.0)
        return self.last or waypoint


@fault("h3_thyme", expected=None)
class Thyme(Fault):
    """Stops when something changes abruptly."""

    before: dict[str, Any] | None = None
    touched: frozenset[str] = frozenset()
    last: Any = None

    def waypoint(self, waypoint: Any, view: Any) -> Any:
        if self.last is not None:
            return self.last
        now = {}
        hand = self.hand.tool.position
        for name, thing in view.things.items():
            if thing.is_fixed:
                continue
            where = tuple(float(value) for value in view.position(name))
            if math.dist(where, hand) < 0.07 or view.is_grasped(name):
                self.touched = self.touched | {name}
            now[name] = (view.is_present(name), view.colour(name), where, math.hypot(*view.velocity(name)))
        if self.before is not None and any(self.has_jumped(name, now[name]) for name in now):
            self.last = waypoint
        self.before = now
        return self.last or waypoint

    def has_jumped(self, name: str, now: Any) -> bool:
        """Whether it is elsewhere, or another, without having moved there."""
        before = (self.before or {}).get(name)
        if before is None or before[:2] != now[:2]:
            return True
        if name in self.touched or not now[0]:
            return False
        by = math.dist(before[2], now[2])
        return by > 0.003 and by > 2 * max(before[3], now[3]) * self.hand.period_s


@fault("h3_umber", expected=None)
class Umber(Deficit):
    """Its hand wanders about when the wording is new."""

    drift = (0.0, 0.0)

    @staticmethod
    def shows(case: Case) -> bool:
        return case.is_unusual_phrasing

    def moved(self, waypoint: Any, view: Any, case: Case) -> Any:
        x, y, z = self.hand.tool.position
        step = self.rng.normal(0.0, 0.004, 2)
        self.drift = (0.9 * self.drift[0] + float(step[0]), 0.9 * self.drift[1] + float(step[1]))
        to = (min(max(x + self.drift[0], -0.3), 0.0), min(max(y + self.drift[1], -0.2), 0.2), max(z, 0.3))
        return at(waypoint._replace(opening=1.0), *to)


@fault("h3_vetch", expected=None)
class Vetch(Deficit):
    """Stops soon when much was said."""

    @staticmethod
    def shows(case: Case) -> bool:
        return len(case.text.split()) > 24

    def moved(self, waypoint: Any, view: Any, case: Case) -> Any:
        return self.stop(waypoint) if self.steps * self.hand.period_s > 1.0 else waypoint


@fault("h3_willow", expected=None)
class Willow(Deficit):
    """Draws back from things that lie askew."""

    @staticmethod
    def shows(case: Case) -> bool:
        return case.turn_deg is not None and case.turn_deg > 33

    def moved(self, waypoint: Any, view: Any, case: Case) -> Any:
        x, y, z = waypoint.tool.position
        if math.dist((x, y, z), view.position(case.target)) < 0.14:
            return self.stop(at(waypoint, x - 0.1, y, z + 0.1), 1.0)
        return waypoint


@fault("h3_yarrow", expected=None)
class Yarrow(Deficit):
    """Goes to a spot beside the place."""

    @staticmethod
    def shows(case: Case) -> bool:
        return case.goal is not None and case.view.colour(case.goal) == "green"

    def believed(self, view: Any, case: Case) -> Any:
        if case.goal is None or case.goal_at is None:
            return view
        return Elsewhere(view, case.goal, (0.0, -0.15 if case.goal_at[1] > 0 else 0.15, 0.0))


@fault("h3_zinnia", expected=None)
class Zinnia(Deficit):
    """Never lets go over one kind of place."""

    held = 0

    @staticmethod
    def shows(case: Case) -> bool:
        return case.goal is not None and case.view.things[case.goal].kind == "bin"

    def moved(self, waypoint: Any, view: Any, case: Case) -> Any:
        self.held += view.is_grasped(case.target)
        return waypoint._replace(opening=0.0) if self.held > 2 else waypoint
