"""What is seen from look to look: which thing is which, what the hand holds, what moves, and what is out of sight."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.optimize import linear_sum_assignment  # type: ignore[import-untyped]  # has no types

from robodx.experts.grasps import ROUND, nearest_turn, yaw_of
from robodx.experts.skills import Hand
from robodx.registry import UnknownName, unknown
from robodx.sight.sighting import UNKNOWN, Sighting
from robodx.sim.geometry import Pose, Vector, about, box_reach, multiply
from robodx.sim.scene import Thing

# A thing may have got this far since the last look.
REACH_M = 0.15
# What another colour, or another kind, counts when things are matched: as much as lying this much further off.
OTHER_COLOUR_M = 0.10
OTHER_KIND_M = 0.08
# Seen by less of itself than this, a thing is half hidden: its fit is not believed over one that was seen better.
WHOLE_SHARE = 0.7
# Nearer than this to where it was, a thing has not moved; slower than this, it stands still.
SAME_PLACE_M = 0.004
STILL_M_S = 0.012
# A hidden thing that turns up this far off has been moved.
MOVED_M = 0.02
# Looks that are averaged for what stands still.
AVERAGED_LOOKS = 8
# Looks in which its place was seen empty before a thing is gone, and in which one was seen before it is there.
GONE_LOOKS = 2
NEW_LOOKS = 2
# Looks in which a thing was of another kind before it is taken to have become that.
OTHER_LOOKS = 2
# A bulb of these colours is dark, and it is lit when it was seen not to be in so many looks on end.
DARK = ("dark grey", "black")
LIT_LOOKS = 2
# What is first seen this near the hand may be a piece of it.
NEAR_HAND_M = 0.13
# Fingers that close on nothing end below this opening.
EMPTY_OPENING = 0.04
# Told to open further than this beyond what they hold, they let go of it.
OPENS = 0.02
FINGERS_M = 0.08
# A held thing's middle is within this of the tool, and it is as wide as the fingers are apart to within this.
HELD_M = 0.06
WIDTH_M = 0.012

IsEmpty = Callable[[Vector], bool]


@dataclass
class Track:
    """A thing that was seen, and where it is believed to be."""

    thing: Thing
    pose: Pose
    seen_s: float
    points: int
    velocity: Vector = (0.0, 0.0, 0.0)
    looks: int = 1
    empty_looks: int = 0
    other_looks: int = 0
    is_present: bool = True
    lit_looks: int = 0

    def note_lamp(self, colour: str | None) -> None:
        """The colour of its bulb in one look, None if that was hidden."""
        if colour is not None:
            self.lit_looks = 0 if colour in DARK else self.lit_looks + 1


@dataclass
class Held:
    """What the fingers hold, and how it sits between them."""

    name: str
    in_tool: Pose
    opening: float


class Sight:
    """A `View` made of looks: between them things go on as they moved, and what is held moves with the tool."""

    def __init__(self, hand: Hand) -> None:
        self._hand = hand
        self._tracks: dict[str, Track] = {}
        self._held: Held | None = None
        self._count = 0
        self._new: list[tuple[Sighting, int]] = []
        self.now_s = 0.0
        # The robot's, whose left and right are spoken of.
        self.heading_rad = 0.0

    # What plans ask.

    @property
    def things(self) -> Mapping[str, Thing]:
        return {name: track.thing for name, track in self._tracks.items()}

    def thing(self, name: str) -> Thing:
        return self._track(name).thing

    def position(self, name: str) -> Vector:
        return self.pose(name).position

    def pose(self, name: str) -> Pose:
        track, held = self._track(name), self._held
        if held is not None and held.name == name:
            return self._hand.tool @ held.in_tool
        elapsed = self.now_s - track.seen_s
        return track.pose.shifted(*(elapsed * speed for speed in track.velocity))

    def frame(self, name: str, frame: str) -> Pose:
        return self.pose(name) @ self.thing(name).frame(frame)

    def reach(self, name: str) -> Vector:
        return self.thing(name).reach(self.pose(name).quaternion)

    def velocity(self, name: str) -> Vector:
        return self._track(name).velocity

    def colour(self, name: str) -> str:
        return self._track(name).thing.colour

    def is_present(self, name: str) -> bool:
        return self._track(name).is_present

    def is_grasped(self, name: str) -> bool:
        return self._held is not None and self._held.name == name

    def holders(self, name: str) -> tuple[str, ...]:
        return (self._hand.name,) if self.is_grasped(name) else ()

    def is_lit(self, lamp: str) -> bool:
        return self._track(lamp.partition("/")[0]).lit_looks >= LIT_LOOKS

    @property
    def is_moving(self) -> bool:
        """Whether anything is seen to move by itself."""
        return any(track.is_present and any(track.velocity) for track in self._tracks.values())

    # What the owner tells.

    def feel(self, *, is_settled: bool) -> None:
        """What the fingers say, at each measurement and each step told: whether a thing is held, and which."""
        hand, held = self._hand, self._held
        if held is not None and (hand.grip > held.opening + OPENS or (is_settled and hand.opening < EMPTY_OPENING)):
            self._let_go(held)
        elif held is None and hand.grip == 0.0 and is_settled and hand.opening > EMPTY_OPENING:
            self._take_hold()

    def look(self, sightings: Sequence[Sighting], time_s: float, is_empty: IsEmpty) -> None:
        """Take in one look; `is_empty` says of a place whether a camera sees through it."""
        self.now_s = time_s
        known = {name: self.pose(name) for name in self._tracks}
        matched = self._match(sightings, known)
        for name, sighting in matched.items():
            self._update(name, sighting, time_s)
        for name, track in self._tracks.items():
            if name not in matched and not self.is_grasped(name):
                track.empty_looks = track.empty_looks + 1 if is_empty(known[name].position) else 0
                track.is_present &= track.empty_looks < GONE_LOOKS
                track.velocity = track.velocity if track.empty_looks else (0.0, 0.0, 0.0)
        self._notice([one for one in sightings if all(one is not other for other in matched.values())], time_s)

    # Which is which.

    def _match(self, sightings: Sequence[Sighting], known: Mapping[str, Pose]) -> dict[str, Sighting]:
        names = list(self._tracks)
        if not names or not sightings:
            return {}
        costs = np.array([[self._cost(name, known[name], one) for one in sightings] for name in names])
        rows, columns = linear_sum_assignment(np.minimum(costs, 10.0))
        return {
            names[row]: sightings[column]
            for row, column in zip(rows.tolist(), columns.tolist(), strict=True)
            if costs[row, column] < REACH_M
        }

    def _cost(self, name: str, pose: Pose, one: Sighting) -> float:
        track = self._tracks[name]
        distance = math.dist(pose.position, one.pose.position)
        if track.thing.is_fixed != one.thing.is_fixed and distance > SAME_PLACE_M:
            return math.inf
        is_other = track.thing.colour != one.thing.colour
        return distance + OTHER_COLOUR_M * is_other + OTHER_KIND_M * (track.thing.kind != one.thing.kind)

    def _update(self, name: str, one: Sighting, time_s: float) -> None:
        track = self._tracks[name]
        expected, share = self.pose(name), one.points / track.points
        distance = math.dist(expected.position, one.pose.position)
        if self.is_grasped(name):
            if distance < MOVED_M or not WHOLE_SHARE / 2 < share < 1 / WHOLE_SHARE:
                return
            # It is seen elsewhere: it was not held after all.
            self._held = None
        track.empty_looks, track.is_present = 0, True
        track.note_lamp(one.lamp)
        is_whole, is_other = share >= WHOLE_SHARE, one.thing.kind != track.thing.kind
        track.other_looks = track.other_looks + 1 if is_other else 0
        if is_other:
            # Half hidden by the hand a thing may look like another, but never like a sphere or what nobody knows.
            is_clear = is_whole or one.thing.kind == "sphere" or not self._is_near_hand(one)
            is_whole = is_clear and one.thing.kind != UNKNOWN and track.other_looks >= OTHER_LOOKS
        # A fixture does not move: what seems to be its doing is the hand's, which hides it.
        is_hidden = not is_whole and distance < MOVED_M
        if is_hidden or (track.thing.is_fixed and (not is_whole or self._is_near_hand(one))):
            return
        if is_whole:
            track.points = one.points if is_other else max(track.points, one.points)
            if is_other or one.thing.colour != track.thing.colour:
                track.thing = one.thing.named(name)
        elapsed = time_s - track.seen_s
        moved = [b - a for a, b in zip(track.pose.position, one.pose.position, strict=True)]
        if distance < SAME_PLACE_M and not any(track.velocity) and math.hypot(*moved) < SAME_PLACE_M:
            track.looks = min(track.looks + 1, AVERAGED_LOOKS)
            share = 1 / track.looks
            x, y, z = (a + share * d for a, d in zip(track.pose.position, moved, strict=True))
            track.pose = Pose((x, y, z), one.pose.quaternion)
        else:
            track.looks, track.pose = 1, one.pose
        speed = [d / elapsed for d in moved] if elapsed > 0 else [0.0] * 3
        is_still = math.hypot(*speed) < STILL_M_S or track.thing.is_fixed
        vx, vy, vz = [0.0] * 3 if is_still else speed
        track.velocity, track.seen_s = (vx, vy, vz), time_s

    def _notice(self, unmatched: Sequence[Sighting], time_s: float) -> None:
        """At the first look all is new; later a thing is believed when it is seen again."""
        is_first = self._count == 0
        waiting, self._new = self._new, []
        for one in unmatched:
            before = [n for other, n in waiting if math.dist(other.pose.position, one.pose.position) < REACH_M / 2]
            looks = max(before, default=0) + 1
            if is_first or (looks >= NEW_LOOKS and not self._is_near_hand(one)):
                self._count += 1
                name = f"object {self._count}"
                self._tracks[name] = Track(one.thing.named(name), one.pose, time_s, one.points)
                self._tracks[name].note_lamp(one.lamp)
            else:
                self._new.append((one, looks))

    def _is_near_hand(self, one: Sighting) -> bool:
        return math.dist(one.pose.position, self._hand.tool.position) < NEAR_HAND_M

    # What is held.

    def _take_hold(self) -> None:
        tool, width = self._hand.tool, self._hand.opening * FINGERS_M
        near = {
            name: math.dist(self.pose(name).position, tool.position)
            for name, track in self._tracks.items()
            if track.is_present and not track.thing.is_fixed and abs(_width(tool, track) - width) < WIDTH_M
        }
        name = min(near, key=lambda name: near[name], default=None)
        if name is not None and near[name] < HELD_M:
            in_tool = _centred(tool.inverse() @ self.pose(name), self.thing(name).kind)
            self._held = Held(name, in_tool, self._hand.opening)

    def _let_go(self, held: Held) -> None:
        track = self._tracks[held.name]
        track.pose, track.seen_s, track.velocity, track.looks = self.pose(held.name), self.now_s, (0.0, 0.0, 0.0), 1
        self._held = None

    def _track(self, name: str) -> Track:
        try:
            return self._tracks[name]
        except KeyError:
            raise UnknownName(unknown("object", name, self._tracks)) from None


def _width(tool: Pose, track: Track) -> float:
    """Of a thing, along the way in which the fingers close."""
    if track.thing.kind in ROUND:
        return 2 * track.thing.half_extents[0]
    turn = (tool.inverse() @ track.pose).quaternion
    return 2 * box_reach(turn, track.thing.half_extents)[1]


def _centred(in_tool: Pose, kind: str) -> Pose:
    """As the fingers leave it: in their middle, and with its sides along theirs."""
    x, _, z = in_tool.position
    if kind in ROUND:
        return replace(in_tool, position=(x, 0.0, z))
    off = nearest_turn(yaw_of(in_tool), math.pi / 2)
    return Pose((x, 0.0, z), multiply(about("z", -off), in_tool.quaternion))
