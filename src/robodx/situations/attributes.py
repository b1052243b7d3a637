"""The recorded attributes of a situation: what is handled, where it lies and goes, what is said, and how all looks.

They are read off the instruction, the scene and the policy's cameras as they are when an episode begins, after what
perturbations made of them, and never off the task's name.
"""

from __future__ import annotations

import math
import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import fields, is_dataclass
from functools import cache
from itertools import pairwise
from typing import Any

from robodx.experts.grasps import ROUND, nearest_turn, yaw_of
from robodx.language.discriminating_attributes import cue_of
from robodx.language.meaning import Clause, Instruction, Meaning
from robodx.language.reference import Looks, Reference, Seen
from robodx.policy_contract import CameraRequest
from robodx.records.episode import Attributes, Label, Quantity
from robodx.scoring.conditions import After
from robodx.scoring.events import Event
from robodx.scoring.from_meaning import looks
from robodx.scoring.sides import HEADINGS
from robodx.sim.colours import PALETTE, RGB
from robodx.sim.rooms import FAMILIAR_ROOMS
from robodx.sim.scene import CAMERAS, Arena, Camera, Light, Scene, Thing
from robodx.situations.requirements import alike, distractors, meant, of_event, stated

Named = tuple[str, str | float]

# The middle third of where things lie on the table; the robot looks along +x and its left is +y.
MIDDLE_X_M = (-0.12, 0.0)
MIDDLE_Y_M = (-0.07, 0.07)
# Beyond this a thing lies at the edge of where things lie: about a third of places, on every side.
INNER_X_M = (-0.18, 0.05)
INNER_Y_M = (-0.18, 0.18)
# Verbs for which a thing is taken.
GRASPING = ("pick", "put", "move", "insert", "stand")
# And for which it must be set down somewhere.
PLACING = GRASPING[1:]
# An event that comes later than this finds a hand that set out at once near its target.
LATE_S = 1.0
# What the instruction says in no phrasing that is known for its verb.
OTHER = "other"


def attributes(
    instruction: Instruction,
    scene: Scene,
    cameras: Sequence[CameraRequest] = (),
    events: Sequence[Event] = (),
    waits: str = "no",
) -> Attributes:
    """Of the first instruction, in the scene as it was at first, for a policy that is shown these pictures."""
    seen = looks(scene)
    clauses = instruction.meaning.decided(seen)
    found = dict(
        [
            *_words(instruction, len(clauses)),
            ("grasps", grasps_of(clauses)),
            ("places", "yes" if any(clause.action in PLACING for clause in clauses) else "no"),
            ("waits", waits),
            ("first_event", first_event([instruction.meaning], events)),
            *(_first_act(clauses[0], scene, seen) if clauses else ()),
            *_counts(instruction, scene),
            *_shown(cameras, scene.cameras),
            *_light(scene.lights),
            *_room(scene.arena),
        ]
    )
    return Attributes(
        tuple(Label(name, value) for name, value in found.items() if isinstance(value, str)),
        tuple(Quantity(name, float(value)) for name, value in found.items() if not isinstance(value, str)),
    )


def grasps_of(clauses: Sequence[Clause]) -> int:
    """How often a thing must be taken; what was picked up just before is in the hand already."""
    taken = [clause for clause in clauses if clause.action in GRASPING]
    kept = sum(one.action == "pick" and one.target == next_.target for one, next_ in pairwise(taken))
    return len(taken) - kept


def first_event(meanings: Sequence[Meaning], events: Sequence[Event]) -> str:
    """When something first happens by itself; "as it acts" where that depends on what is done."""
    telling = [event for event in events if of_event(event, meanings)]
    times_s = [event.when.seconds for event in telling if isinstance(event.when, After)]
    if not times_s:
        return "as it acts" if telling else "none"
    return "early" if min(times_s) < LATE_S else "late"


def _first_act(clause: Clause, scene: Scene, seen: Seen) -> Iterator[Named]:
    """What is handled first, and where it goes."""
    yield "act", clause.act
    yield from _thing("target", clause.target, scene, seen)
    target = meant(clause.target, seen)
    if target is not None:
        yield "target_pattern", _pattern(seen[target.name])
        yield "things_of_target_kind", sum(look.kind == target.kind for look in seen.values())
        if (turn := _turn_deg(scene.thing(target.name))) is not None:
            yield "target_turn_deg", turn
    place = clause.place
    if place is None:
        return
    if place.of:
        yield from _thing("goal", place.of[0], scene, seen)
    elif target is not None and place.distance_m is not None:
        dx, dy = next(heading for direction, heading in HEADINGS.items() if direction == place.relation)
        yield from _position("goal", target.x_m + place.distance_m * dx, target.y_m + place.distance_m * dy)


def _thing(role: str, reference: Reference, scene: Scene, seen: Seen) -> Iterator[Named]:
    thing = meant(reference, seen)
    if thing is not None:
        yield f"{role}_kind", thing.kind
        yield f"{role}_colour", thing.colour
        yield f"{role}_cue", cue_of(reference, seen, alike(scene, reference, seen))
        yield f"{role}_size_m", thing.size_m
        yield from _position(role, thing.x_m, thing.y_m)


def _position(role: str, x_m: float, y_m: float) -> Iterator[Named]:
    yield f"{role}_x_m", x_m
    yield f"{role}_y_m", y_m
    yield f"{role}_side", side_of(y_m)
    yield f"{role}_depth", depth_of(x_m)
    yield f"{role}_edge", edge_of(x_m, y_m)


def edge_of(x_m: float, y_m: float) -> str:
    """Whether it lies at the edge of the part of the table where things lie."""
    return "no" if INNER_X_M[0] <= x_m < INNER_X_M[1] and INNER_Y_M[0] <= y_m < INNER_Y_M[1] else "yes"


def side_of(y_m: float) -> str:
    """Of the table, as the robot sees it."""
    return ("right", "middle", "left")[bisect_right(MIDDLE_Y_M, y_m)]


def depth_of(x_m: float) -> str:
    """How far away from the robot."""
    return ("near", "middle", "far")[bisect_right(MIDDLE_X_M, x_m)]


def _pattern(look: Looks) -> str:
    return "banded" if look.bands else "striped" if look.is_striped else "plain"


def _turn_deg(thing: Thing) -> float | None:
    """How far its sides are turned from the table's edges, 0 to 45; None of what is round."""
    return None if thing.kind in ROUND else math.degrees(abs(nearest_turn(yaw_of(thing.pose), math.pi / 2)))


def _words(instruction: Instruction, acts: int) -> Iterator[Named]:
    clauses = list(stated(instruction.meaning))
    split, verb = _phrasing(clauses[0], instruction.text) if clauses else (OTHER, OTHER)
    # A task may have sentences of its own, and tells which are to test with.
    own = {"train": instruction.train, "test": instruction.test}
    split = next((name for name, texts in own.items() if instruction.text in texts), split)
    yield "phrasing", split
    yield "verb", verb
    yield "words", len(instruction.text.split())
    yield "clauses", len(clauses)
    yield "acts", acts


def _phrasing(clause: Clause, text: str) -> tuple[str, str]:
    """The longest template of the clause's verb that the text is made by: of which split, and its words."""
    made = [
        (len(verb), split, verb)
        for split in ("train", "test", "read")
        for template in getattr(clause.phrasings, split)
        for verb, pattern in [template_words(template)]
        if pattern.search(text.lower())
    ]
    _, split, verb = max(made, default=(0, OTHER, OTHER))
    return split, verb


@cache
def template_words(template: str) -> tuple[str, re.Pattern[str]]:
    """Its words without what is filled in, and what a text with all of them looks like."""
    parts = [part.strip(" ,") for part in re.split(r"{\w+}", template.lower())]
    pattern = ".*".join(rf"\b{re.escape(part)}\b" for part in parts if part)
    return " … ".join(part for part in parts if part), re.compile(pattern)


def _counts(instruction: Instruction, scene: Scene) -> Iterator[Named]:
    there = [thing for thing in scene if not thing.is_parked]
    yield "things", len(there)
    yield "loose_things", sum(not thing.is_fixed for thing in there)
    yield "distractors", len(distractors([instruction.meaning], scene))


def _shown(requests: Sequence[CameraRequest], standing: Sequence[Camera]) -> Iterator[Named]:
    """What the policy is shown, and how far those cameras stand from where they usually do."""
    yield "cameras", ", ".join(request.name for request in requests) or "none"
    if requests:
        yield "picture", ", ".join(dict.fromkeys(f"{request.width}×{request.height}" for request in requests))
    usual, here = ({camera.name: camera.position for camera in each} for each in (CAMERAS, standing))
    names = [request.name for request in requests if request.name in usual.keys() & here.keys()]
    if names:
        yield "camera_offset_m", max(math.dist(usual[name], here[name]) for name in names)


@cache
def _light(lights: tuple[Light, ...]) -> tuple[Named, ...]:
    if not lights:
        return (("light_brightness", 0.0),)
    brightest = max(lights, key=lambda light: light.brightness)
    dx, dy, _ = brightest.direction
    return (
        ("light_brightness", sum(light.brightness for light in lights)),
        ("light_colour", colour_word(brightest.colour)),
        # It goes there, so that it comes from the other side.
        ("light_from", ("left" if dy < 0 else "right") if abs(dy) >= abs(dx) else ("far" if dx < 0 else "near")),
    )


@cache
def _room(arena: Arena) -> tuple[Named, ...]:
    """All that the room says of itself in words, colours and numbers, whatever a room comes to say."""
    is_familiar = any(arena == room.arena for room in FAMILIAR_ROOMS)
    return (*_described("room", arena), ("room_familiar", "yes" if is_familiar else "no"))


def _described(name: str, value: Any) -> Iterator[Named]:
    if is_dataclass(value):
        for field in fields(value):
            yield from _described(f"{name}_{field.name}", getattr(value, field.name))
    elif isinstance(value, str | float):
        yield name, value
    elif isinstance(value, bool):
        yield name, "yes" if value else "no"
    elif isinstance(value, tuple) and len(value) == 3 and name.endswith("colour"):
        yield name, colour_word(value)


def colour_word(colour: RGB) -> str:
    """The nearest of the colours that there are words for."""
    return min(PALETTE, key=lambda word: math.dist(PALETTE[word], colour))
