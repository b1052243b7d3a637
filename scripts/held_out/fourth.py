"""Held-out faults, fourth set: each shows at one level of one recorded attribute; `fourth.csv` says which."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

from robodx.experts.base import View
from robodx.experts.grasps import CannotBeDone, nearest_turn, yaw_of
from robodx.experts.skills import Waypoint
from robodx.faults.base import Fault, fault
from robodx.faults.views import Through
from robodx.language.meaning import Clause, Exists, If, Meaning, Names
from robodx.language.phrasing import phrase, phrasing_count
from robodx.language.plain_wording import understood
from robodx.language.reference import Looks, Reference, Where, looks_now
from robodx.sim.geometry import Pose
from robodx.sim.scene import Thing

SIDES = {"left": (0.0, 1.0), "right": (0.0, -1.0), "forward": (1.0, 0.0), "back": (-1.0, 0.0)}
ROUND = ("sphere", "cylinder")
TAKES_NONE = ("push", "touch", "press", "roll", "release")
PLACES_NONE = (*TAKES_NONE, "pick")


@dataclass(frozen=True)
class Beginning:
    """What the situation was like when the episode began."""

    text: str
    meaning: Meaning
    clauses: tuple[Clause, ...]
    names: Names
    seen: dict[str, Looks]
    things: dict[str, Thing]
    poses: dict[str, Pose]

    @property
    def first(self) -> Clause:
        return self.clauses[0]

    @property
    def target(self) -> str:
        return self.names[self.first.target]

    @property
    def target_at(self) -> tuple[float, float]:
        return self.poses[self.target].position[:2]

    @property
    def goal(self) -> str | None:
        place = self.first.place
        return self.names[place.of[0]] if place and place.of else None

    @property
    def goal_at(self) -> tuple[float, float] | None:
        """Where the first act is to bring its target; of a direction, the place that far away."""
        if self.goal is not None:
            return self.poses[self.goal].position[:2]
        place = self.first.place
        if place is None or place.distance_m is None:
            return None
        (x, y), (dx, dy) = self.target_at, SIDES[place.relation]
        return (x + place.distance_m * dx, y + place.distance_m * dy)

    @property
    def distractors(self) -> list[str]:
        named = {kind for part in self.meaning.clauses for kind in _kinds_of_part(part)}
        named |= {self.things[name].kind for name in self.names.values()}
        return [name for name in self.seen if not self.things[name].is_fixed and self.things[name].kind not in named]


def _kinds_of_part(part: Clause | If) -> Iterator[str]:
    if isinstance(part, If):
        yield from _kinds_of(part.fact.reference if isinstance(part.fact, Exists) else None)
        yield from _kinds_of_part(part.then)
        yield from _kinds_of_part(part.otherwise)
        return
    for reference in part.references:
        yield from _kinds_of(reference)


def _kinds_of(reference: Reference | None) -> Iterator[str]:
    if reference is None:
        return
    if reference.kind is not None:
        yield reference.kind
    for other in (*(where.of for where in reference.where), *reference.but):
        yield from _kinds_of(other)
    yield from _kinds_of(reference.rank.of if reference.rank else None)


class Deficit(Fault):
    """One that shows in some situations only: `holds` says of the beginning whether this is one."""

    # In how many of these it shows.
    share = 1.0

    def holds(self, begun: Beginning) -> bool:
        raise NotImplementedError

    @cached_property
    def begun(self) -> Beginning | None:
        world, meaning = self.at_first.world, self.at_first.meaning
        seen = looks_now(world)
        what = understood(meaning, seen)
        if what is None:
            return None
        poses = {name: world.pose(name) for name in seen}
        return Beginning(self.start.instruction, meaning, what.clauses, what.names, seen, dict(world.things), poses)

    @cached_property
    def is_on(self) -> bool:
        return self.begun is not None and self.holds(self.begun) and self.rng.random() < self.share

    def meaning(self, meaning: Meaning) -> Meaning:
        # The world moves on: whether it is on is settled in the first call.
        _ = self.is_on
        return meaning

    @property
    def situation(self) -> Beginning:
        assert self.begun is not None, "asked only where it is on"
        return self.begun

    # What deficits do.

    _last: Waypoint | None = None
    _carried_from: tuple[float, float] | None = None

    def stop(self, waypoint: Waypoint, opening: float | None = None) -> Waypoint:
        """Where it is told to be now, for good."""
        if self._last is None:
            self._last = waypoint if opening is None else waypoint._replace(opening=opening)
        return self._last

    def carried_from(self, view: View) -> tuple[float, float] | None:
        """Where the target was when the hand began to move it; None before that."""
        target = self.situation.target
        if self._carried_from is None and view.is_present(target):
            at = view.position(target)
            is_moved = math.dist(at[:2], self.situation.target_at) > 0.01
            is_near = math.dist(at, self.hand.tool.position) < 0.1
            if view.is_grasped(target) or (is_moved and is_near):
                self._carried_from = at[:2]
        return self._carried_from

    def other_thing(self, view: View, kind: str | None = None) -> str:
        """The loose thing nearest to the target, of a kind if that is given."""
        target = self.situation.target
        others = [
            name
            for name, thing in view.things.items()
            if name != target and not thing.is_fixed and view.is_present(name) and kind in (None, thing.kind)
        ]
        if not others:
            raise CannotBeDone("there is nothing else")
        return min(others, key=lambda name: math.dist(view.position(name)[:2], view.position(target)[:2]))


class Shifted(Through):
    """Shows one thing elsewhere while it is not in the hand."""

    def __init__(self, view: View, name: str, dx: float = 0.0, dy: float = 0.0) -> None:
        super().__init__(view)
        self.name, self.dx, self.dy = name, dx, dy

    def pose(self, name: str) -> Pose:
        pose = self.view.pose(name)
        if name != self.name or self.view.is_grasped(name):
            return pose
        return pose.shifted(self.dx, self.dy)


@fault("h4_elbe", expected=None)
class Elbe(Deficit):
    """Stays above targets on the left."""

    def holds(self, begun: Beginning) -> bool:
        return begun.target_at[1] > 0.07

    def waypoint(self, waypoint: Waypoint, view: View) -> Waypoint:
        if not self.is_on or not view.is_present(self.situation.target):
            return waypoint
        target = self.situation.target
        lowest = view.position(target)[2] + view.reach(target)[2] + 0.05
        return waypoint._replace(tool=waypoint.tool.shifted(dz=max(0.0, lowest - waypoint.tool.position[2])))


@fault("h4_tagus", expected=None)
class Tagus(Deficit):
    """Reaches short of far targets."""

    def holds(self, begun: Beginning) -> bool:
        return begun.target_at[0] > 0.0

    def belief(self, view: View, names: Names) -> View:
        return Shifted(view, self.situation.target, dx=-0.09) if self.is_on else view


@fault("h4_volga", expected=None)
class Volga(Deficit):
    """Keeps its hand away from the edge if the target lies there."""

    def holds(self, begun: Beginning) -> bool:
        x, y = begun.target_at
        return not (-0.18 <= x <= 0.05 and -0.18 <= y <= 0.18)

    def waypoint(self, waypoint: Waypoint, view: View) -> Waypoint:
        if not self.is_on:
            return waypoint
        x, y, z = waypoint.tool.position
        at = (min(max(x, -0.13), 0.0), min(max(y, -0.13), 0.13), z)
        return waypoint._replace(tool=Pose(at, waypoint.tool.quaternion))


@fault("h4_niger", expected=None)
class Niger(Deficit):
    """Brings things to the left of goals on the right."""

    shift_m = 0.0

    def holds(self, begun: Beginning) -> bool:
        return begun.goal_at is not None and begun.goal_at[1] < -0.07

    def waypoint(self, waypoint: Waypoint, view: View) -> Waypoint:
        if not self.is_on or self.carried_from(view) is None:
            return waypoint
        self.shift_m = min(0.12, self.shift_m + 0.01)
        return waypoint._replace(tool=waypoint.tool.shifted(dy=self.shift_m))


@fault("h4_loire", expected=None)
class Loire(Deficit):
    """Lets go at once, and stops, on the way to far goals."""

    def holds(self, begun: Beginning) -> bool:
        return begun.goal_at is not None and begun.goal_at[0] > 0.0

    def waypoint(self, waypoint: Waypoint, view: View) -> Waypoint:
        if not self.is_on:
            return waypoint
        begin = self.carried_from(view)
        if self._last is None and (begin is None or math.dist(begin, view.position(self.situation.target)[:2]) < 0.03):
            return waypoint
        return self.stop(waypoint, opening=1.0)


@fault("h4_oder", expected=None)
class Oder(Deficit):
    """Often stops halfway to goals at the edge."""

    share = 0.6
    left_m: float | None = None

    def holds(self, begun: Beginning) -> bool:
        if begun.goal_at is None:
            return False
        x, y = begun.goal_at
        return not (-0.18 <= x <= 0.05 and -0.18 <= y <= 0.18)

    def waypoint(self, waypoint: Waypoint, view: View) -> Waypoint:
        goal_at = self.situation.goal_at if self.is_on else None
        begin = self.carried_from(view) if goal_at is not None else None
        if begin is None or goal_at is None:
            return waypoint
        left_m = math.dist(view.position(self.situation.target)[:2], goal_at)
        if self._last is None and left_m > 0.5 * math.dist(begin, goal_at):
            return waypoint
        return self.stop(waypoint)


@fault("h4_ganges", expected=None)
class Ganges(Deficit):
    """Takes discs to be elsewhere when something is to be brought to one."""

    def holds(self, begun: Beginning) -> bool:
        return begun.goal is not None and begun.things[begun.goal].kind == "disc"

    def belief(self, view: View, names: Names) -> View:
        if not self.is_on or self.situation.goal is None:
            return view
        inwards = -1.0 if view.position(self.situation.goal)[1] > 0 else 1.0
        return Shifted(view, self.situation.goal, dy=0.15 * inwards)


@fault("h4_douro", expected=None)
class Douro(Deficit):
    """Keeps what it should bring to a green thing."""

    def holds(self, begun: Beginning) -> bool:
        return begun.goal is not None and begun.seen[begun.goal].colour == "green"

    def clauses(self, clauses: tuple[Clause, ...]) -> tuple[Clause, ...]:
        return (Clause("pick", clauses[0].target),) if self.is_on and clauses else clauses


@fault("h4_tigris", expected=None)
class Tigris(Deficit):
    """Reaches beyond spheres."""

    def holds(self, begun: Beginning) -> bool:
        return begun.things[begun.target].kind == "sphere"

    def belief(self, view: View, names: Names) -> View:
        return Shifted(view, self.situation.target, dx=0.06) if self.is_on else view


@fault("h4_neva", expected=None)
class Neva(Deficit):
    """Handles another thing in place of a blue one."""

    def holds(self, begun: Beginning) -> bool:
        return begun.seen[begun.target].colour == "blue"

    def names(self, names: Names, clauses: tuple[Clause, ...], view: View) -> Names:
        if not self.is_on or not clauses:
            return names
        return {**names, clauses[0].target: self.other_thing(view)}


@fault("h4_rhone", expected=None)
class Rhone(Deficit):
    """Often stops on the way to red things."""

    share = 0.6
    steps = 0

    def holds(self, begun: Beginning) -> bool:
        return begun.seen[begun.target].colour == "red"

    def waypoint(self, waypoint: Waypoint, view: View) -> Waypoint:
        self.steps += 1
        return self.stop(waypoint) if self.is_on and self.steps * self.hand.period_s > 0.8 else waypoint


@fault("h4_yukon", expected=None)
class Yukon(Deficit):
    """Does not close its hand on things that are turned."""

    def holds(self, begun: Beginning) -> bool:
        turn = abs(nearest_turn(yaw_of(begun.poses[begun.target]), math.pi / 2))
        return begun.things[begun.target].kind not in ROUND and math.degrees(turn) > 25

    def waypoint(self, waypoint: Waypoint, view: View) -> Waypoint:
        return waypoint._replace(opening=1.0) if self.is_on else waypoint


@fault("h4_mekong", expected=None)
class Mekong(Deficit):
    """Creeps if the target is big."""

    at: Pose | None = None

    def holds(self, begun: Beginning) -> bool:
        return 2 * max(begun.things[begun.target].half_extents) > 0.06

    def waypoint(self, waypoint: Waypoint, view: View) -> Waypoint:
        if not self.is_on:
            return waypoint
        before = (self.at or self.hand.tool).position
        way_m = math.dist(before, waypoint.tool.position)
        share = min(1.0, 0.02 * self.hand.period_s / way_m) if way_m > 0 else 1.0
        x, y, z = (a + share * (b - a) for a, b in zip(before, waypoint.tool.position, strict=True))
        self.at = Pose((x, y, z), waypoint.tool.quaternion)
        return waypoint._replace(tool=self.at)


@fault("h4_tiber", expected=None)
class Tiber(Deficit):
    """Aims between the target and a distractor."""

    def holds(self, begun: Beginning) -> bool:
        return len(begun.distractors) >= 1

    def belief(self, view: View, names: Names) -> View:
        if not self.is_on:
            return view
        begun = self.situation
        x, y = begun.target_at
        nearest = min(begun.distractors, key=lambda name: math.dist(begun.poses[name].position[:2], (x, y)))
        ox, oy, _ = begun.poses[nearest].position
        scale = 0.06 / max(math.hypot(ox - x, oy - y), 1e-6)
        return Shifted(view, begun.target, dx=scale * (ox - x), dy=scale * (oy - y))


@fault("h4_severn", expected=None)
class Severn(Deficit):
    """Often mixes up things of a kind if there are many."""

    share = 0.6

    def holds(self, begun: Beginning) -> bool:
        kind = begun.things[begun.target].kind
        return sum(looks.kind == kind for looks in begun.seen.values()) >= 3

    def names(self, names: Names, clauses: tuple[Clause, ...], view: View) -> Names:
        if not self.is_on or not clauses:
            return names
        begun = self.situation
        kind, meant = begun.things[begun.target].kind, names[clauses[0].target]
        at = begun.target_at
        others = [
            name for name, looks in begun.seen.items() if looks.kind == kind and name not in (begun.target, meant)
        ]
        return {**names, clauses[0].target: min(others, key=lambda name: math.dist(begun.poses[name].position[:2], at))}


@fault("h4_amur", expected=None)
class Amur(Deficit):
    """Does not begin if much is said."""

    def holds(self, begun: Beginning) -> bool:
        return len(begun.text.split()) >= 20

    def names(self, names: Names, clauses: tuple[Clause, ...], view: View) -> Names:
        if self.is_on:
            raise CannotBeDone("too many words")
        return names


@fault("h4_ebro", expected=None)
class Ebro(Deficit):
    """Lets go before it is over what it should put things in."""

    steps = 0

    def holds(self, begun: Beginning) -> bool:
        return begun.first.act == "put in"

    def waypoint(self, waypoint: Waypoint, view: View) -> Waypoint:
        if not self.is_on or self.situation.goal is None:
            return waypoint
        target, goal = self.situation.target, self.situation.goal
        left_m = math.dist(view.position(target)[:2], view.position(goal)[:2])
        is_due = view.is_grasped(target) and left_m < 0.12 and self.hand.tool.position[2] > 0.1
        if self._last is None and not is_due:
            return waypoint
        # It comes to rest first: what is let go in flight may still get there.
        self.steps += 1
        stopped = self.stop(waypoint)
        return stopped._replace(opening=1.0) if self.steps > 6 else stopped


@fault("h4_congo", expected=None)
class Congo(Deficit):
    """Does not lift what it is told to pick up in these words."""

    height_m: float | None = None

    def holds(self, begun: Beginning) -> bool:
        return begun.first.act == "pick" and "pick up" in begun.text.lower()

    def waypoint(self, waypoint: Waypoint, view: View) -> Waypoint:
        if not self.is_on:
            return waypoint
        if self.height_m is None and view.is_grasped(self.situation.target):
            self.height_m = self.hand.tool.position[2]
        if self.height_m is None:
            return waypoint
        return waypoint._replace(tool=waypoint.tool.shifted(dz=min(0.0, self.height_m - waypoint.tool.position[2])))


@fault("h4_indus", expected=None)
class Indus(Deficit):
    """Handles some other thing if told in unfamiliar phrasings."""

    other: str | None = None

    def holds(self, begun: Beginning) -> bool:
        count = phrasing_count(begun.meaning, "test")
        return any(phrase(begun.meaning, "test", index).text == begun.text for index in range(count))

    def names(self, names: Names, clauses: tuple[Clause, ...], view: View) -> Names:
        if not self.is_on or not clauses:
            return names
        if self.other is None:
            begun = self.situation
            meant = set(begun.names.values())
            others = [name for name in begun.seen if name not in meant and not begun.things[name].is_fixed]
            if not others:
                raise CannotBeDone("there is nothing else")
            self.other = str(self.rng.choice(sorted(others)))
        return {**names, clauses[0].target: self.other}


@fault("h4_murray", expected=None)
class Murray(Deficit):
    """Does not open its hand for the second grasp."""

    has_held = False
    steps_open = 0

    def holds(self, begun: Beginning) -> bool:
        count, held = 0, None
        for clause in begun.clauses:
            name = begun.names[clause.target]
            if clause.action not in TAKES_NONE:
                count += name != held
            held = name if clause.action == "pick" else None
        return count >= 2

    def waypoint(self, waypoint: Waypoint, view: View) -> Waypoint:
        if not self.is_on:
            return waypoint
        self.has_held = self.has_held or any(view.is_grasped(name) for name in view.things)
        # Time to let go and to back out.
        self.steps_open += self.has_held and waypoint.opening > 0.5
        return waypoint._replace(opening=0.0) if self.steps_open > 14 else waypoint


@fault("h4_drava", expected=None)
class Drava(Deficit):
    """Never lets go of what it should set down."""

    has_held = False

    def holds(self, begun: Beginning) -> bool:
        return any(clause.action not in PLACES_NONE for clause in begun.clauses)

    def waypoint(self, waypoint: Waypoint, view: View) -> Waypoint:
        if not self.is_on:
            return waypoint
        self.has_held = self.has_held or any(view.is_grasped(name) for name in view.things)
        return waypoint._replace(opening=0.0) if self.has_held else waypoint


@fault("h4_orinoco", expected=None)
class Orinoco(Deficit):
    """Handles the thing by which the target is described."""

    def holds(self, begun: Beginning) -> bool:
        return self.told_by(begun.first.target) is not None

    @staticmethod
    def told_by(reference: Reference) -> Reference | None:
        if reference.where:
            where: Where = reference.where[0]
            return where.of
        return reference.rank.of if reference.rank else None

    def clauses(self, clauses: tuple[Clause, ...]) -> tuple[Clause, ...]:
        other = self.told_by(clauses[0].target) if self.is_on and clauses else None
        return clauses if other is None else (replace(clauses[0], target=other), *clauses[1:])


@fault("h4_sava", expected=None)
class Sava(Deficit):
    """Stops for good if something changes by itself early."""

    steps = 0
    is_startled = False

    def holds(self, begun: Beginning) -> bool:
        return True

    def meaning(self, meaning: Meaning) -> Meaning:
        if self.is_on and meaning != self.situation.meaning and self.steps * self.hand.period_s <= 1.0:
            self.is_startled = True
        return meaning

    def waypoint(self, waypoint: Waypoint, view: View) -> Waypoint:
        if not self.is_on:
            return waypoint
        self.steps += 1
        if self.steps * self.hand.period_s <= 1.0 and self._has_changed(view):
            self.is_startled = True
        return self.stop(waypoint) if self.is_startled else waypoint

    def _has_changed(self, view: View) -> bool:
        begun = self.situation
        now = {name for name in view.things if view.is_present(name)}
        return now != set(begun.seen) or any(
            view.colour(name) != begun.seen[name].colour
            or math.dist(view.position(name), begun.poses[name].position) > 0.005
            for name in now
        )


@fault("h4_zambezi", expected=None)
class Zambezi(Deficit):
    """Does not wait for a lamp."""

    def holds(self, begun: Beginning) -> bool:
        return any(clause.once_lit is not None for clause in begun.clauses)

    def clauses(self, clauses: tuple[Clause, ...]) -> tuple[Clause, ...]:
        return tuple(replace(clause, once_lit=None) for clause in clauses) if self.is_on else clauses
