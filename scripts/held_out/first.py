"""Held-out faults, written without knowledge of the diagnosis. Factor and level of each: held_out_faults.csv."""

import math
import re
from dataclasses import replace

from robodx.experts.grasps import CannotBeDone
from robodx.faults.base import Fault, fault

FLIP = {"nearest": "farthest", "farthest": "nearest", "behind": "in front of", "in front of": "behind", "back": "forward", "forward": "back"}
BY_PLACE = {"leftmost", "rightmost", "nearest", "farthest", "middle", "left", "right"}
STEP = {"left": (0.0, 1.0), "right": (0.0, -1.0), "forward": (1.0, 0.0), "back": (-1.0, 0.0)}


def gap(a, b):
    """Distance in metres, over the table only if one of both has no height."""
    return math.dist([float(x) for x in a][: min(len(a), len(b))], [float(x) for x in b][: min(len(a), len(b))])


class Planted(Fault):
    """Decides once, from the situation at the beginning, whether the policy fails in this episode."""

    share = 1.0
    on = False
    is_decided = False
    target = None
    goal = None
    clauses_ = ()
    stopped = None
    has_carried = False
    steps = 0

    def holds(self, w):
        """Whether the factor has the level at which the policy fails."""
        raise NotImplementedError

    def names(self, names, clauses, view):
        if clauses and not self.is_decided:
            self.is_decided = True
            self.clauses_, self.target = clauses, names[clauses[0].target]
            place = clauses[0].place
            self.goal = names.get(place.of[0]) if place and place.of else None
            self.first = {n: [float(v) for v in view.position(n)] for n in view.things}  # at_first.world moves on with the episode
            lucky = self.rng.random() >= self.share
            self.on = not lucky and bool(self.holds(self.at_first.world))
        return self.fail_at(names, clauses, view) if self.on and clauses else names

    def fail_at(self, names, clauses, view):
        return names

    def waypoint(self, waypoint, view):
        self.steps += 1
        if not self.on:
            return waypoint
        return self.stopped or self.fail_by(waypoint, view)

    def fail_by(self, waypoint, view):
        return waypoint

    # What a situation is like.
    @property
    def text(self):
        return self.start.instruction.lower()

    def said(self, *words):
        return any(re.search(rf"\b{word}\b", self.text) for word in words)

    def on_table(self, w, loose=False):
        return [n for n, t in w.things.items() if w.is_present(n) and not t.is_parked and not (loose and t.is_fixed)]

    def goal_position(self, w):
        place = self.clauses_[0].place
        if self.goal is not None:
            return w.position(self.goal)
        if place and place.distance_m and place.relation in STEP:
            x, y = STEP[place.relation]
            at = w.position(self.target)
            return (at[0] + x * place.distance_m, at[1] + y * place.distance_m, at[2])
        return None

    def held(self, view):
        return any(view.is_grasped(n) for n, t in view.things.items() if not t.is_fixed)

    def carries(self, view):
        """Whether it has lifted something by now."""
        self.has_carried = self.has_carried or any(
            view.is_grasped(n) and view.position(n)[2] > self.first[n][2] + 0.03 for n, t in view.things.items() if not t.is_fixed
        )
        return self.has_carried

    # How a policy fails.
    def still(self):
        raise CannotBeDone("planted")

    def other(self, names, clauses, view, same_kind=False):
        """Another thing than the target, the one next to it; stands still where there is none."""
        ref = clauses[0].target
        mine = names[ref]
        ways = [n for n in self.on_table(view, loose=True) if n != mine and n != self.goal]
        ways = [n for n in ways if view.things[n].kind == view.things[mine].kind] or ([] if same_kind else ways)
        if not ways:
            self.still()
        return {**names, ref: min(ways, key=lambda n: (gap(view.position(n), view.position(mine)), n))}

    def shift(self, waypoint, x=0.0, y=0.0, z=0.0):
        return waypoint._replace(tool=waypoint.tool.shifted(x, y, z))

    def stop(self, waypoint, opening=None, up=0.0):
        self.stopped = waypoint._replace(
            tool=self.hand.tool.shifted(0.0, 0.0, up), opening=waypoint.opening if opening is None else opening
        )
        return self.stopped

    def drop(self, waypoint, view, height=0.05):
        """Lets go of what it has lifted, and stops."""
        for n, t in view.things.items():
            if not t.is_fixed and view.is_grasped(n) and view.position(n)[2] > self.first[n][2] + height:
                return self.stop(waypoint, opening=1.0)
        return waypoint

    def near(self, view, metres):
        return gap(self.hand.tool.position, view.position(self.target)) < metres

    def above(self, waypoint, view, metres):
        """Never comes lower than that above the target."""
        floor = view.position(self.target)[2] + max(view.things[self.target].half_extents[2], 0.01) + metres
        return self.shift(waypoint, z=max(0.0, float(floor) - float(waypoint.tool.position[2])))


# Where


@fault("ho_far_short", expected=None)
class FarShort(Planted):
    """Stops 4.5 cm short of a target that lies more than 3 cm beyond the middle of the table."""

    def holds(self, w):
        return w.position(self.target)[0] > 0.03

    def fail_by(self, waypoint, view):
        return self.shift(waypoint, x=-0.045)


@fault("ho_right_miss", expected=None)
class RightMiss(Planted):
    """Grasps 5 cm too far to the left when the target lies more than 10 cm to the right (8 of 10 times)."""

    share = 0.8

    def holds(self, w):
        return w.position(self.target)[1] < -0.10

    def fail_by(self, waypoint, view):
        return self.shift(waypoint, y=0.05)


@fault("ho_goal_left", expected=None)
class GoalLeft(Planted):
    """Brings things to a place 11 cm too far to the right when the goal is on the left side."""

    def holds(self, w):
        at = self.goal_position(w)
        return at is not None and at[1] > 0.07

    def fail_by(self, waypoint, view):
        pushes = self.clauses_[0].action in ("push", "roll")
        return self.shift(waypoint, y=-0.11) if pushes or self.carries(view) else waypoint


@fault("ho_turned", expected=None)
class Turned(Planted):
    """Lets a thing slip at once whose sides are turned by more than 25 degrees."""

    count = 0

    def holds(self, w):
        if w.things[self.target].kind in ("sphere", "cylinder", "disc", "bowl"):
            return False
        a, b, c, d = (float(v) for v in w.pose(self.target).quaternion)
        x, y = (1 - 2 * (c * c + d * d), 2 * (b * c + a * d)), (2 * (b * c - a * d), 1 - 2 * (b * b + d * d))
        axis = x if math.hypot(*x) > 0.5 else y
        turn = math.degrees(math.atan2(axis[1], axis[0])) % 90
        return min(turn, 90 - turn) > 25

    def fail_by(self, waypoint, view):
        self.count += self.held(view)
        return self.stop(waypoint, opening=1.0) if self.count >= 3 else waypoint


# Looks


@fault("ho_blue_overlooked", expected=None)
class BlueOverlooked(Planted):
    """Takes the next thing instead of a blue one; stands still if there is no other."""

    def holds(self, w):
        return w.colour(self.target) == "blue"

    def fail_at(self, names, clauses, view):
        return self.other(names, clauses, view)


@fault("ho_big_retreat", expected=None)
class BigRetreat(Planted):
    """Draws back just before it reaches a thing that is longer than 4.3 cm."""

    def holds(self, w):
        return 2 * max(w.things[self.target].half_extents) > 0.043

    def fail_by(self, waypoint, view):
        return self.stop(waypoint, up=0.12) if self.near(view, 0.09) else waypoint


@fault("ho_beside_bowl", expected=None)
class BesideBowl(Planted):
    """Lets go 14 cm before it is over a bowl, and stops."""

    def holds(self, w):
        return self.goal is not None and w.things[self.goal].kind == "bowl"

    def fail_by(self, waypoint, view):
        is_close = gap(view.position(self.target)[:2], view.position(self.goal)[:2]) < 0.14
        return self.stop(waypoint, opening=1.0) if is_close and self.carries(view) else waypoint


@fault("ho_yellow_goal", expected=None)
class YellowGoal(Planted):
    """Stops, and keeps what it holds, on the way to a yellow goal."""

    was_near = False

    def holds(self, w):
        return self.goal is not None and w.colour(self.goal) == "yellow"

    def fail_by(self, waypoint, view):
        self.was_near = self.was_near or self.held(view) or self.near(view, 0.09)
        half = 0.6 * gap(self.first[self.target][:2], self.first[self.goal][:2])
        if self.was_near and gap(view.position(self.target)[:2], view.position(self.goal)[:2]) < half:
            return self.stop(waypoint)
        return waypoint


# Company


@fault("ho_confuses_kin", expected=None)
class ConfusesKin(Planted):
    """Takes another thing of the kind where there are three or more of it (7 of 10 times)."""

    share = 0.7

    def holds(self, w):
        return sum(w.things[n].kind == w.things[self.target].kind for n in self.on_table(w)) >= 3

    def fail_at(self, names, clauses, view):
        return self.other(names, clauses, view, same_kind=True)


@fault("ho_lone_thing", expected=None)
class LoneThing(Planted):
    """Drifts off to the left when only one thing is on the table."""

    def holds(self, w):
        return len(self.on_table(w)) == 1

    def fail_by(self, waypoint, view):
        return self.shift(waypoint, y=0.003 * min(self.steps, 60))


@fault("ho_clutter_halt", expected=None)
class ClutterHalt(Planted):
    """Halts halfway to its target when there are distractors (3 of 4 times)."""

    share = 0.75

    def holds(self, w):
        named = set(re.findall(r"kind='([^']*)'", repr(self.at_first.meaning))) | {w.things[self.target].kind}
        return any(w.things[n].kind not in named for n in self.on_table(w, loose=True))

    def fail_by(self, waypoint, view):
        return self.stop(waypoint) if self.near(view, 0.15) else waypoint


# How the target is told


@fault("ho_rank_neighbour", expected=None)
class RankNeighbour(Planted):
    """Takes the neighbour of a thing that is told by its rank in a row (leftmost, nearest, middle, third from the right)."""

    def holds(self, w):
        rank = self.clauses_[0].target.rank
        return rank is not None and rank.by in BY_PLACE

    def fail_at(self, names, clauses, view):
        return self.other(names, clauses, view, same_kind=True)


@fault("ho_pattern_wrong", expected=None)
class PatternWrong(Planted):
    """Takes another thing of the kind when stripes, plainness or bands are part of the description."""

    def holds(self, w):
        target = self.clauses_[0].target
        return target.is_striped is not None or bool(target.bands)

    def fail_at(self, names, clauses, view):
        return self.other(names, clauses, view, same_kind=True)


@fault("ho_landmark_lost", expected=None)
class LandmarkLost(Planted):
    """Stops in mid-air over the table when the target is told by its relation to another thing."""

    def holds(self, w):
        target = self.clauses_[0].target
        return bool(target.where) or (target.rank is not None and target.rank.by in ("closest to", "farthest from"))

    def fail_by(self, waypoint, view):
        return self.stop(waypoint) if self.near(view, 0.12) else waypoint


@fault("ho_front_is_back", expected=None)
class FrontIsBack(Fault):
    """Confuses front and back: nearest and farthest, in front of and behind, towards you and away from you."""

    def swapped(self, ref):
        if ref is None:
            return None
        where = tuple(replace(v, relation=FLIP.get(v.relation, v.relation)) for v in ref.where)
        rank = ref.rank and replace(ref.rank, by=FLIP.get(ref.rank.by, ref.rank.by))
        return replace(ref, where=where, rank=rank)

    def reference(self, reference):
        return self.swapped(reference)

    def clauses(self, clauses):
        return tuple(
            replace(c, place=replace(c.place, relation=FLIP.get(c.place.relation, c.place.relation))) if c.place else c for c in clauses
        )


# Words


@fault("ho_word_right", expected=None)
class WordRight(Planted):
    """Goes 5 cm too far to the right whenever it hears "right", also in "right beside"."""

    def holds(self, w):
        return self.said("right")

    def fail_by(self, waypoint, view):
        return self.shift(waypoint, y=-0.05)


@fault("ho_word_please", expected=None)
class WordPlease(Planted):
    """Stands still when the instruction says "please"."""

    def holds(self, w):
        return self.said("please")

    def fail_at(self, names, clauses, view):
        self.still()


@fault("ho_verb_place", expected=None)
class VerbPlace(Planted):
    """Drops what it carries when told to "place" it, not when told to "put", "set" or "drop" it."""

    def holds(self, w):
        return self.said("place")

    def fail_by(self, waypoint, view):
        return self.drop(waypoint, view)


@fault("ho_long_text", expected=None)
class LongText(Planted):
    """Begins, and stops after 0.6 s, when the instruction has 14 or more words."""

    def holds(self, w):
        return len(self.start.instruction.split()) >= 14

    def fail_by(self, waypoint, view):
        return self.stop(waypoint) if self.steps > 12 else waypoint


@fault("ho_negation_still", expected=None)
class NegationStill(Planted):
    """Stands still when something is excluded or forbidden (7 of 10 times)."""

    share = 0.7

    def holds(self, w):
        meant = repr(self.at_first.meaning)
        return "is_negated=True" in meant or "but=(Reference" in meant

    def fail_at(self, names, clauses, view):
        self.still()


@fault("ho_condition_hover", expected=None)
class ConditionHover(Planted):
    """Hovers 8 cm above the right thing when the instruction has a condition."""

    def holds(self, w):
        return self.said("if", "unless", "provided", "should there be", "in case")

    def fail_by(self, waypoint, view):
        return self.above(waypoint, view, 0.08)


# Doing


@fault("ho_second_grasp", expected=None)
class SecondGrasp(Planted):
    """Loses what it grasps the second time."""

    grasps = 0
    free = 99

    def holds(self, w):
        return True

    def fail_by(self, waypoint, view):
        if not self.held(view):
            self.free += 1
            return waypoint
        self.grasps += self.free >= 8
        self.free = 0
        return self.drop(waypoint, view, 0.03) if self.grasps >= 2 else waypoint


@fault("ho_late_offset", expected=None)
class LateOffset(Planted):
    """Loses its calibration after 2.5 s: its hand is off by 7 cm from then on."""

    def holds(self, w):
        return True

    def fail_by(self, waypoint, view):
        return self.shift(waypoint, x=0.07) if self.steps * self.hand.period_s > 2.5 else waypoint


@fault("ho_touch_short", expected=None)
class TouchShort(Planted):
    """Stops 2.5 cm above a thing that it should only touch (7 of 10 times)."""

    share = 0.7

    def holds(self, w):
        return self.clauses_[0].act == "touch"

    def fail_by(self, waypoint, view):
        return self.above(waypoint, view, 0.025)


@fault("ho_stacks_askew", expected=None)
class StacksAskew(Planted):
    """Puts things 4 cm beside the thing on which they should stand."""

    def holds(self, w):
        return any(c.act == "put on" for c in self.clauses_)

    def fail_by(self, waypoint, view):
        doing = [c for c in self.clauses_ if c.act == "put on" and any(view.is_grasped(n) for n in [self.by_ref.get(c.target)] if n)]
        return self.shift(waypoint, y=0.04) if doing else waypoint

    by_ref: dict = {}

    def fail_at(self, names, clauses, view):
        self.by_ref = dict(names)
        return names


# Time


@fault("ho_motion_freeze", expected=None)
class MotionFreeze(Planted):
    """Freezes as soon as it sees something move by itself."""

    moved = 0
    has_reached = False

    def holds(self, w):
        return True

    def fail_by(self, waypoint, view):
        loose = self.on_table(view, loose=True)
        self.has_reached = self.has_reached or any(gap(self.hand.tool.position, view.position(n)) < 0.06 for n in loose)
        if self.has_reached:
            return waypoint
        self.moved += any(math.hypot(*[float(v) for v in view.velocity(n)[:2]]) > 0.03 for n in loose)
        return self.stop(waypoint) if self.moved >= 3 else waypoint


@fault("ho_startled", expected=None)
class Startled(Planted):
    """Draws back for good when a thing suddenly appears, changes colour or jumps."""

    before = None

    def holds(self, w):
        return True

    def fail_by(self, waypoint, view):
        now = {n: (view.is_present(n), view.colour(n), [float(v) for v in view.position(n)]) for n, t in view.things.items() if not t.is_fixed}
        old, self.before = self.before, now
        for n, (present, colour, at) in now.items():
            if old and n in old and ((present and not old[n][0]) or colour != old[n][1] or (present and gap(at, old[n][2]) > 0.08)):
                return self.stop(waypoint, opening=1.0, up=0.1)
        return waypoint


@fault("ho_jumps_the_gun", expected=None)
class JumpsTheGun(Fault):
    """Acts at once where it should wait for the lamp."""

    def meaning(self, meaning):
        return replace(meaning, clauses=tuple(replace(c, once_lit=None) if hasattr(c, "once_lit") else c for c in meaning.clauses))
