"""In what a follow-up differs from its source: each relation declares it, and nothing else may change."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from robodx.interventions.changing import renamed, target_of
from robodx.scoring.parts import walk
from robodx.sim.geometry import Pose
from robodx.sim.scene import Thing
from robodx.tasks.base import Situation

Part = Literal[
    "words", "added things", "place of the target", "places", "look of another thing", "looks", "light", "cameras",
    "room", "what counts", "events",
]  # fmt: skip


def differences(before: Situation, after: Situation) -> set[Part]:
    """By name of a part; things are told by their place in the list, for they may be called by their new looks."""
    return set(_differences(before, after))


def _differences(before: Situation, after: Situation) -> Iterator[Part]:
    if before.instruction.text != after.instruction.text:
        yield "words"
    was, now = before.scene, after.scene
    if was.lights != now.lights:
        yield "light"
    if (was.cameras, was.told_cameras) != (now.cameras, now.told_cameras):
        yield "cameras"
    if (was.arena, was.robot_colour) != (now.arena, now.robot_colour):
        yield "room"
    if len(now.things) != len(was.things):
        yield "added things"
    pairs = list(zip(was.things, now.things, strict=False))
    target = target_of(before).name
    moved = {one.name for one, other in pairs if one.placement != other.placement}
    if moved:
        yield "place of the target" if moved == {target} else "places"
    painted = {one.name for one, other in pairs if _look(one) != _look(other)}
    if painted:
        yield "looks" if target in painted or len(painted) > 1 else "look of another thing"
    names = {one.name: other.name for one, other in pairs if one.name != other.name}
    added = {thing.name for thing in now.things[len(was.things) :]}
    # That what was added must not be taken either goes with its being there.
    never = tuple(one for one in after.never if not added & set(map(str, walk(one))))
    counted = renamed(before.stages, names), renamed(before.never, names), before.time_limit_s
    if counted != (after.stages, never, after.time_limit_s):
        yield "what counts"
    waits = [(each.wait_s, each.is_asked_while_waiting) for each in (before, after)]
    if renamed(before.events, names) != after.events or waits[0] != waits[1]:
        yield "events"


def _look(thing: Thing) -> Thing:
    """All but where it is and what it is called."""
    return thing.named("").posed(Pose())
