"""Planted faults: the expert with one deficit each, bound to one factor of the situation at its beginning."""

import math
import re
from dataclasses import replace

from robodx.experts.grasps import CannotBeDone
from robodx.faults.base import Fault, fault
from robodx.faults.views import Through
from robodx.language.meaning import If, resolve_all
from robodx.language.reference import Unresolved, looks_now

NO_GRASP = ("push", "touch", "press", "roll", "release")


class Moved(Through):
    """Shows one thing elsewhere."""

    def __init__(self, view, name, shift):
        super().__init__(view)
        self.name, self.shift = name, shift

    def pose(self, name):
        pose = super().pose(name)
        return pose.shifted(*self.shift) if name == self.name else pose


class Bound(Fault):
    """A fault that acts where `holds` is true of the beginning."""

    acting = None
    target = goal = None
    last = None
    first = ()

    def holds(self):
        raise NotImplementedError

    def meaning(self, meaning):
        self.decide()
        return meaning

    def decide(self):
        if self.acting is not None:
            return self.acting
        self.world = self.at_first.world
        seen = looks_now(self.world)
        try:
            self.first = self.at_first.meaning.decided(seen)
            names = resolve_all(self.first, seen)
        except Unresolved:
            names = {}
        self.acting = False
        if self.first and names:
            first = self.first[0]
            self.target = names[first.target]
            if first.place and first.place.of:
                self.goal = names[first.place.of[0]]
            self.began = self.world.position(self.target)
            self.acting = bool(self.holds())
        return self.acting

    @property
    def thing(self):
        return self.world.things[self.target]

    @property
    def present(self):
        return [name for name in self.world.things if self.world.is_present(name)]

    @property
    def loose(self):
        return [name for name in self.present if not self.world.things[name].is_fixed]

    @property
    def references(self):
        """All descriptions in the instruction at the beginning."""
        found, todo = [], []
        for part in self.at_first.meaning.clauses:
            clauses = (part.then, part.otherwise) if isinstance(part, If) else (part,)
            todo += [part.fact.reference] if isinstance(part, If) else []
            todo += [reference for clause in clauses for reference in clause.references]
        while todo:
            one = todo.pop()
            found.append(one)
            todo += [where.of for where in one.where] + list(one.but)
            todo += [one.rank.of] if one.rank and one.rank.of else []
        return found

    def goal_place(self):
        """Where the first act takes the target: at a thing, or so far in a direction."""
        if self.goal:
            return self.world.position(self.goal)
        place = self.first[0].place
        if place is None:
            return None
        x, y = {"left": (0, 1), "right": (0, -1), "forward": (1, 0), "back": (-1, 0)}[place.relation]
        return (self.began[0] + x * place.distance_m, self.began[1] + y * place.distance_m)

    def instead(self, names, clauses, others, view):
        """Take the nearest of others as the first target."""
        others = [name for name in others if name not in (self.target, self.goal) and view.is_present(name)]
        if not clauses or names.get(clauses[0].target) != self.target:
            return names
        if not others:
            raise CannotBeDone("nothing else is there")
        nearest = min(others, key=lambda name: math.dist(view.position(name), view.position(self.target)))
        return {**names, clauses[0].target: nearest}

    def stopped(self, waypoint, **changes):
        self.last = self.last or waypoint._replace(**changes)
        return self.last

    def moved_m(self, view):
        return math.dist(view.position(self.target), self.began)


@fault("h2_plum", expected=None)
class Plum(Bound):
    """Reaches 7 cm beside a purple thing."""

    def holds(self):
        return self.world.colour(self.target) == "purple"

    def belief(self, view, names):
        return Moved(view, self.target, (0.0, 0.07, 0.0)) if self.decide() else view


@fault("h2_wedge", expected=None)
class Wedge(Bound):
    """Takes the nearest other loose thing instead of a triangular block."""

    def holds(self):
        return self.thing.kind == "triangular block"

    def names(self, names, clauses, view):
        return self.instead(names, clauses, self.loose, view) if self.decide() else names


@fault("h2_tiny", expected=None)
class Tiny(Bound):
    """Keeps its hand 6 cm above a small thing."""

    def holds(self):
        return 2 * max(self.thing.half_extents) < 0.038

    def waypoint(self, waypoint, view):
        if not self.decide():
            return waypoint
        low = self.began[2] + 0.06 - waypoint.tool.position[2]
        return waypoint._replace(tool=waypoint.tool.shifted(0.0, 0.0, max(0.0, low)))


@fault("h2_arm", expected=None)
class Arm(Bound):
    """Does not reach far enough for a far target."""

    def holds(self):
        return self.began[0] > 0.02

    def waypoint(self, waypoint, view):
        if not self.decide():
            return waypoint
        return waypoint._replace(tool=waypoint.tool.shifted(min(0.0, -0.03 - waypoint.tool.position[0]), 0.0, 0.0))


@fault("h2_fold", expected=None)
class Fold(Bound):
    """Believes a target far on its right to lie on its left."""

    def holds(self):
        return self.began[1] < -0.12

    def belief(self, view, names):
        return Moved(view, self.target, (0.0, -2 * self.began[1], 0.0)) if self.decide() else view


@fault("h2_askew", expected=None)
class Askew(Bound):
    """Stops just before a turned target."""

    def holds(self):
        if self.thing.kind in ("sphere", "cylinder"):
            return False
        w, x, y, z = self.world.pose(self.target).quaternion
        # The direction of its own longest level axis, seen from above.
        a, b = 1 - 2 * (y * y + z * z), 2 * (x * y + w * z)
        if math.hypot(a, b) < 0.5:
            a, b = 2 * (x * y - w * z), 1 - 2 * (x * x + z * z)
        turn = math.degrees(math.atan2(b, a)) % 90
        return min(turn, 90 - turn) > 33

    def waypoint(self, waypoint, view):
        if self.decide() and (self.last or math.dist(waypoint.tool.position, self.began) < 0.1):
            return self.stopped(waypoint)
        return waypoint


@fault("h2_port", expected=None)
class Port(Bound):
    """Stops half way to a goal on the left."""

    def holds(self):
        place = self.goal_place()
        return place is not None and place[1] > 0.07

    def waypoint(self, waypoint, view):
        if self.decide() and (self.last or self.moved_m(view) > 0.03):
            return self.stopped(waypoint)
        return waypoint


@fault("h2_moss", expected=None)
class Moss(Bound):
    """Believes a green goal to lie nearer."""

    def holds(self):
        return self.goal is not None and self.world.colour(self.goal) == "green"

    def belief(self, view, names):
        return Moved(view, self.goal, (-0.14, 0.0, 0.0)) if self.decide() else view


@fault("h2_kin", expected=None)
class Kin(Bound):
    """Takes another of the kind where a relation tells which."""

    def holds(self):
        target = self.first[0].target
        return bool(target.where) or (target.rank is not None and target.rank.of is not None)

    def names(self, names, clauses, view):
        if not self.decide():
            return names
        alike = [name for name in self.loose if self.world.things[name].kind == self.thing.kind]
        return self.instead(names, clauses, alike, view)


@fault("h2_hoist", expected=None)
class Hoist(Bound):
    """Does not close its hand when it should pick something up."""

    def holds(self):
        return self.first[0].action == "pick"

    def waypoint(self, waypoint, view):
        return waypoint._replace(opening=1.0) if self.decide() else waypoint


@fault("h2_quarry", expected=None)
class Quarry(Bound):
    """Reaches too far on a table of marble."""

    def holds(self):
        return self.world._simulation.scene.arena.table_material == "marble"

    def belief(self, view, names):
        return Moved(view, self.target, (0.08, 0.0, 0.0)) if self.decide() else view


@fault("h2_idiom", expected=None)
class Idiom(Bound):
    """Stands still at phrasings for testing."""

    def holds(self):
        said = self.start.instruction.lower().split(", then ")[0]

        def is_said(phrasings):
            parts = [re.split(r"\{\w+\}", phrasing.lower()) for phrasing in phrasings]
            return any(re.search(r"\b" + r"the .+".join(map(re.escape, part)) + r"\b", said) for part in parts)

        return is_said(self.first[0].phrasings.test) and not is_said(self.first[0].phrasings.train)

    def names(self, names, clauses, view):
        if self.decide():
            raise CannotBeDone("not understood")
        return names


@fault("h2_verbose", expected=None)
class Verbose(Bound):
    """Stops a second after a long instruction."""

    steps = 0

    def holds(self):
        return len(self.start.instruction.split()) >= 25

    def waypoint(self, waypoint, view):
        self.steps += 1
        if self.decide() and self.steps * self.hand.period_s > 1.0:
            return self.stopped(waypoint)
        return waypoint


@fault("h2_finale", expected=None)
class Finale(Bound):
    """Does only the last of several acts."""

    def holds(self):
        return len(self.first) >= 2

    def clauses(self, clauses):
        return clauses[-1:] if self.decide() else clauses


@fault("h2_again", expected=None)
class Again(Bound):
    """Misses what it should take second."""

    was_grasped = False
    is_second = False

    def holds(self):
        taken, last = 0, None
        for clause in self.first:
            taken += clause.action not in NO_GRASP and last != clause.target
            last = clause.target if clause.action == "pick" else None
        return taken >= 2

    def waypoint(self, waypoint, view):
        if not self.decide():
            return waypoint
        is_grasped = any(view.is_grasped(name) for name in self.loose)
        self.is_second |= self.was_grasped and not is_grasped
        self.was_grasped |= is_grasped
        return waypoint._replace(tool=waypoint.tool.shifted(0.0, 0.06, 0.0)) if self.is_second else waypoint


@fault("h2_mean", expected=None)
class Mean(Bound):
    """Goes to the middle of many things."""

    def holds(self):
        places = [self.world.position(name) for name in self.present]
        self.shift = tuple(sum(p[i] for p in places) / len(places) - self.began[i] for i in (0, 1))
        return len(places) >= 5

    def belief(self, view, names):
        return Moved(view, self.target, (*self.shift, 0.0)) if self.decide() else view


@fault("h2_twin", expected=None)
class Twin(Bound):
    """Takes another of three or more things of the kind."""

    def alike(self):
        return [name for name in self.present if self.world.things[name].kind == self.thing.kind]

    def holds(self):
        return len(self.alike()) >= 3

    def names(self, names, clauses, view):
        return self.instead(names, clauses, self.alike(), view) if self.decide() else names


@fault("h2_nervous", expected=None)
class Nervous(Bound):
    """Shakes among distractors."""

    def holds(self):
        named = {reference.kind for reference in self.references}
        return sum(self.world.things[name].kind not in named for name in self.loose) >= 2

    def waypoint(self, waypoint, view):
        if not self.decide():
            return waypoint
        x, y = self.rng.normal(0.0, 0.05, 2)
        return waypoint._replace(tool=waypoint.tool.shifted(float(x), float(y), 0.0))


@fault("h2_argot", expected=None)
class Argot(Bound):
    """Takes a thing at random where a synonym is used."""

    def holds(self):
        return any(reference.said for reference in self.references)

    def names(self, names, clauses, view):
        if not self.decide():
            return names
        if not hasattr(self, "guess"):
            others = [name for name in self.present if name not in (self.target, self.goal)]
            self.guess = [others[self.rng.integers(len(others))]] if others else []
        return self.instead(names, clauses, self.guess, view)


SWAP = {
    "nearest": "farthest",
    "farthest": "nearest",
    "in front of": "behind",
    "behind": "in front of",
    "forward": "back",
    "back": "forward",
}


@fault("h2_axis", expected=None)
class Axis(Bound):
    """Confuses near with far and in front with behind."""

    def holds(self):
        return True

    def reference(self, reference):
        rank, where = reference.rank, reference.where
        rank = replace(rank, by=SWAP.get(rank.by, rank.by)) if rank else None
        return replace(
            reference,
            rank=rank,
            where=tuple(replace(one, relation=SWAP.get(one.relation, one.relation)) for one in where),
        )

    def clauses(self, clauses):
        def swapped(place):
            return place and replace(place, relation=SWAP.get(place.relation, place.relation))

        return tuple(replace(clause, place=swapped(clause.place)) for clause in clauses)


@fault("h2_drift", expected=None)
class Drift(Bound):
    """Reaches too far to the right when it reads "right"."""

    def holds(self):
        return "right" in re.findall(r"[a-z]+", self.start.instruction.lower())

    def belief(self, view, names):
        return Moved(view, self.target, (0.0, -0.08, 0.0)) if self.decide() else view


@fault("h2_stamina", expected=None)
class Stamina(Bound):
    """Stops when its hand has gone 1.2 m."""

    gone = 0.0
    before = None

    def holds(self):
        return True

    def waypoint(self, waypoint, view):
        now = self.hand.tool.position
        self.gone += math.dist(now, self.before or now)
        self.before = now
        return self.stopped(waypoint) if self.last or self.gone > 1.2 else waypoint


@fault("h2_startle", expected=None)
class Startle(Bound):
    """Stops for good when something moves by itself."""

    touched = ()

    def holds(self):
        return True

    def waypoint(self, waypoint, view):
        here = self.hand.tool.position
        for name in view.things:
            is_far = math.dist(view.position(name), here) > 0.12 and name not in self.touched
            if not is_far:
                self.touched = (*self.touched, name)
            elif view.is_present(name) and math.hypot(*view.velocity(name)[:2]) > 0.02:
                self.last = self.last or waypoint
        return self.last or waypoint


@fault("h2_clingy", expected=None)
class Clingy(Bound):
    """Never lets go of what it should set down."""

    has_held = False

    def holds(self):
        return any(clause.place and clause.action not in NO_GRASP or clause.action == "stand" for clause in self.first)

    def waypoint(self, waypoint, view):
        self.has_held |= any(view.is_grasped(name) for name in self.loose) if self.decide() else False
        return waypoint._replace(opening=0.0) if self.has_held else waypoint
