"""Moving a whole scene at once, mirrored or shifted and turned: things, what happens to them, and what counts."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from functools import cache
from typing import Any, TypeVar

from robodx.interventions.base import NotApplicable
from robodx.interventions.changing import heard
from robodx.interventions.moving import check_kept
from robodx.interventions.room import obstacles
from robodx.language.meaning import Clause, Instruction, Place
from robodx.language.plain_wording import understood
from robodx.language.reference import Rank, Reference, Where
from robodx.scoring.contact import Grasped
from robodx.scoring.events import Move, NewInstruction, Push, Roll
from robodx.scoring.from_meaning import looks
from robodx.scoring.relations import HandAt, InsideRegion
from robodx.scoring.sides import Displaced, Flanking, LeftOf, RightOf
from robodx.sim.geometry import Pose, Vector, about, multiply
from robodx.sim.scene import Shape, Thing
from robodx.tasks.base import Situation

T = TypeVar("T")
_OTHER_SIDE = {
    "left": "right", "right": "left", "leftmost": "rightmost", "rightmost": "leftmost", "left of": "right of",
    "right of": "left of",
}  # fmt: skip
# "Right beside it" is no side.
_SIDE_WORD = re.compile(r"\b(leftmost|rightmost|left|right)\b(?! (?:beside|by|up to|alongside|after))", re.IGNORECASE)
# Nearer than this, two corners are the same.
SAME_M = 1e-5


@dataclass(frozen=True)
class Motion:
    """Of the whole table: turned about its middle and shifted; or mirrored, left for right."""

    dx_m: float = 0.0
    dy_m: float = 0.0
    turn_rad: float = 0.0
    is_mirrored: bool = False

    def way(self, vector: Sequence[float]) -> tuple[float, ...]:
        x, y, *rest = vector
        if self.is_mirrored:
            return (x, -y, *rest)
        cosine, sine = math.cos(self.turn_rad), math.sin(self.turn_rad)
        return (cosine * x - sine * y, sine * x + cosine * y, *rest)

    def at(self, place: Sequence[float]) -> tuple[float, ...]:
        x, y, *rest = self.way(place)
        return (x + self.dx_m, y + self.dy_m, *rest)

    def pose(self, pose: Pose) -> Pose:
        x, y, z = self.at(pose.position)
        if self.is_mirrored:
            qw, qx, qy, qz = pose.quaternion
            return Pose((x, y, z), (qw, -qx, qy, -qz))
        return Pose((x, y, z), multiply(about("z", self.turn_rad), pose.quaternion))

    def side(self, word: str) -> str:
        return _OTHER_SIDE.get(word, word) if self.is_mirrored else word


def moved_as_a_whole(situation: Situation, motion: Motion, may_change: tuple[str, ...]) -> Situation:
    """The same asked of the same things, and left said for right where that is mirrored."""
    scene = situation.scene
    if motion.is_mirrored:
        for thing in scene:
            if not is_symmetrical(thing):
                raise NotApplicable(f"the {thing.name} is another thing in a mirror")
    things = tuple(thing.posed(motion.pose(thing.pose)) for thing in scene)
    after = replace(
        situation,
        scene=replace(scene, things=things),
        instruction=_moved(situation.instruction, motion),
        stages=_moved(situation.stages, motion),
        never=_moved(situation.never, motion),
        events=_moved(situation.events, motion),
    )
    _check_same(situation.instruction, after.instruction, situation, after)
    for before, later in zip(_told(situation), _told(after), strict=True):
        _check_same(before, later, situation, after)
    was, now = heard(situation), heard(after)
    if more := obstacles(now, after.scene) - obstacles(was, scene):
        raise NotApplicable(min(more)[1])
    check_kept(situation, after, may_change)
    return after


def _told(situation: Situation) -> list[Instruction]:
    return [event.effect.instruction for event in situation.events if isinstance(event.effect, NewInstruction)]


def _check_same(said: Instruction, now_said: Instruction, before: Situation, after: Situation) -> None:
    was, now = (understood(one.meaning, looks(each.scene)) for one, each in ((said, before), (now_said, after)))
    names = [None if one is None else [names[1:] for names in _things(one.acts)] for one in (was, now)]
    if names[0] != names[1]:
        raise NotApplicable("the words would mean other things")


def _things(acts: tuple[tuple[object, ...], ...]) -> Iterator[tuple[object, ...]]:
    """Without the relation, which may be the other side."""
    for action, _, *names in acts:
        yield (action, *names)


def _moved(part: T, motion: Motion) -> T:
    """Declarations that speak of places, ways or sides, and all that has such in it."""
    if isinstance(part, tuple):
        return tuple(_moved(one, motion) for one in part)  # type: ignore[return-value]
    if not is_dataclass(part) or isinstance(part, type):
        return part
    found: Any = part
    match part:
        case Pose():
            return motion.pose(part)  # type: ignore[return-value]
        case InsideRegion():
            raise NotApplicable("what counts is tied to a part of the table")
        case LeftOf() | RightOf() if motion.is_mirrored:
            other = RightOf if isinstance(part, LeftOf) else LeftOf
            return other(part.thing, part.other, part.margin_m)  # type: ignore[return-value]
        case Displaced():
            found = replace(part, start=motion.at(part.start), direction=motion.side(part.direction))  # type: ignore[arg-type]
        case HandAt():
            found = replace(part, place=motion.at(part.place))  # type: ignore[arg-type]
        case Flanking():
            found = replace(part, side=motion.side(part.side))  # type: ignore[arg-type]
        case Move():
            found = replace(part, by=motion.way(part.by))  # type: ignore[arg-type]
        case Push() | Roll():
            found = replace(part, velocity_m_s=motion.way(part.velocity_m_s))  # type: ignore[arg-type]
        case Place():
            among = tuple(motion.side(each) for each in part.among)
            found = replace(part, relation=motion.side(part.relation), among=among)  # type: ignore[arg-type]
        case Where():
            found = replace(part, relation=motion.side(part.relation))  # type: ignore[arg-type]
        case Rank():
            found = replace(part, by=motion.side(part.by))  # type: ignore[arg-type]
        case Clause() | Grasped() if part.hand is not None:
            found = replace(part, hand=motion.side(part.hand))
        case Reference() if part.said is not None and motion.is_mirrored:
            found = replace(part, said=_mirrored_text(part.said))
        case Instruction() if motion.is_mirrored:
            meaning = _moved(part.meaning, motion)
            if meaning == part.meaning:
                return part
            train, test = (tuple(map(_mirrored_text, texts)) for texts in (part.train, part.test))
            return Instruction(_mirrored_text(part.text), meaning, train, test)  # type: ignore[return-value]
    values = {field.name: getattr(found, field.name) for field in fields(found) if field.init}
    moved = {name: _moved(value, motion) for name, value in values.items()}
    changed = {name: value for name, value in moved.items() if value is not values[name] and value != values[name]}
    return replace(found, **changed) if changed else found  # type: ignore[no-any-return]


def _mirrored_text(text: str) -> str:
    def other(match: re.Match[str]) -> str:
        word = _OTHER_SIDE[match[0].lower()]
        return word.capitalize() if match[0][0].isupper() else word

    return _SIDE_WORD.sub(other, text)


@cache
def _corners(shapes: tuple[Shape, ...], frame: Pose) -> frozenset[tuple[object, ...]]:
    return frozenset((s.kind, s.colour, s.size, frozenset(map(_rounded, _points(s, frame)))) for s in shapes)


def _points(shape: Shape, frame: Pose) -> Iterator[Vector]:
    pose = frame @ shape.pose
    match shape.kind:
        case "box":
            a, b, c = shape.size
            yield from (pose.apply((i * a, j * b, k * c)) for i in (-1, 1) for j in (-1, 1) for k in (-1, 1))
        case "prism":
            yield from (pose.apply((x, y, k * shape.size[0])) for x, y in shape.outline for k in (-1, 1))
        case "cylinder" | "capsule":
            yield from (pose.apply((0.0, 0.0, k * shape.size[1])) for k in (-1, 1))
        case _:
            yield pose.position


def _rounded(point: Vector) -> tuple[int, ...]:
    return tuple(round(value / SAME_M) for value in point)


def is_symmetrical(thing: Thing) -> bool:
    """Whether a mirror along its own y axis shows the same thing."""
    return _is_symmetrical(thing.shapes, tuple((part.shapes, part.pose) for part in thing.parts), thing.frames)


@cache
def _is_symmetrical(
    shapes: tuple[Shape, ...],
    parts: tuple[tuple[tuple[Shape, ...], Pose], ...],
    frames: tuple[tuple[str, Pose], ...],
) -> bool:
    bodies = [_corners(each, frame) for each, frame in ((shapes, Pose()), *parts)]
    mirrored = [
        frozenset((*about_it, frozenset((x, -y, z) for x, y, z in points)) for *about_it, points in body)  # type: ignore[attr-defined]
        for body in bodies
    ]
    return bodies == mirrored and all(abs(pose.position[1]) < SAME_M for _, pose in frames)
