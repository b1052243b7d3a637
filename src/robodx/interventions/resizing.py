"""Things of another size or kind, where they lie, as far as what is asked can still be done with them."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Literal

import numpy as np

from robodx.experts.grasps import WIDEST_M
from robodx.interventions.base import NotApplicable
from robodx.interventions.changing import heard, with_things
from robodx.interventions.redescribing import NewLook
from robodx.interventions.relooking import is_in_events, relooked
from robodx.records.features import BOUNDS, level
from robodx.scoring.parts import walk
from robodx.scoring.relations import CentredOn
from robodx.scoring.sides import FLANKS, HEADINGS
from robodx.sim.geometry import Pose
from robodx.sim.scene import Scene, Shape, Thing
from robodx.tasks.base import Situation
from robodx.tasks.carrier import ANY, CONTAINERS, FLAT_BELOW, FLAT_ON_TOP, LOOSE, SHORT

Role = Literal["target", "goal"]
AS_WIDE_AS_DEEP = ("cube", "cylinder")
# With which kinds an act can be done, as what is handled and as what it goes to.
CAN: dict[tuple[str, Role], tuple[str, ...]] = {
    ("pick", "target"): ANY,
    ("touch", "target"): ANY,
    ("push onto", "target"): AS_WIDE_AS_DEEP,
    ("put in", "target"): SHORT,
    ("put in", "goal"): tuple(CONTAINERS),
    ("put on", "target"): FLAT_BELOW,
    ("put on", "goal"): FLAT_ON_TOP,
    ("put beside", "target"): AS_WIDE_AS_DEEP,
    ("put beside", "goal"): AS_WIDE_AS_DEEP,
    ("put between", "target"): AS_WIDE_AS_DEEP,
    ("put between", "goal"): AS_WIDE_AS_DEEP,
    **{(f"put {side}", "target"): FLAT_BELOW for side in FLANKS},
    **{(f"put {side}", "goal"): ANY for side in FLANKS},
    ("move near", "target"): FLAT_BELOW,
    ("move near", "goal"): ANY,
    **{(f"move {way}", "target"): FLAT_BELOW for way in HEADINGS},
}
# As a share of a kind's usual size: what can be handled; and what goes into containers, or onto others. Then the
# narrowest and the widest that a hand takes.
SCALES = (0.75, 1.35)
FITTING = (0.8, 1.2)
GRASPABLE_M = (0.016, WIDEST_M - 0.006)
# So much at least, for another size within the band.
LEAST_SHARE = 0.03
TOUCHING_M = 0.002
# What a thing that has grown leaves free around it.
FREE_M = 0.03


def size_of(thing: Thing) -> float:
    """As it is recorded: its longest side."""
    return 2 * max(thing.half_extents)


def bands(attribute: str) -> list[tuple[float, float]]:
    """The sizes of each level of a recorded size, in metres."""
    bounds = BOUNDS[attribute]
    return list(zip((0.0, *bounds), (*bounds, math.inf), strict=True))


def resized(situation: Situation, thing: Thing, low_m: float, high_m: float) -> Situation:
    """To a size in this range, as near as can be to the size that it has."""
    check_free(situation, thing)
    least, most = _possible(situation, thing)
    margin = 0.01 * size_of(thing)
    low, high = max(low_m + margin, least), min(high_m - margin, most)
    if low > high:
        raise NotApplicable(f"the {thing.name} cannot be {_mm(low_m)} to {_mm(high_m)} and still be taken hold of")
    # Clear of the bounds, where there is room: a size is to be seen, and not only to be counted.
    now = size_of(thing)
    size = low + 0.25 * (high - low) if low > now else high - 0.25 * (high - low)
    return _with(situation, thing, scaled(thing, size / now))


def resized_within(situation: Situation, thing: Thing, rng: np.random.Generator) -> Situation:
    """To another size at which the recorded one has the same level."""
    check_free(situation, thing)
    least, most = _possible(situation, thing)
    now = size_of(thing)
    low, high = next((low, high) for low, high in bands("target_size_m") if low <= now < high)
    low, high = max(low + 0.0005, least), min(high - 0.0005, most)
    choices = [size for size in (low, high) if abs(size - now) >= LEAST_SHARE * now]
    for place in rng.permutation(len(choices)):
        # Not all the way: there and back is as far as into another band.
        share = min(1.0, 0.15 * now / abs(choices[place] - now))
        try:
            return _with(situation, thing, scaled(thing, 1 + share * (choices[place] - now) / now))
        except NotApplicable:
            continue
    raise NotApplicable(f"there is no other size for the {thing.name} that is called the same")


def scaled(thing: Thing, share: float) -> Thing:
    """Bigger or smaller by this in all directions, as heavy as before, and resting on what it rested on."""

    def moved(pose: Pose) -> Pose:
        x, y, z = pose.position
        return Pose((share * x, share * y, share * z), pose.quaternion)

    def shape(one: Shape) -> Shape:
        return replace(
            one,
            size=tuple(share * each for each in one.size),
            pose=moved(one.pose),
            outline=tuple((share * x, share * y) for x, y in one.outline),
        )

    x_half, y_half, z_half = thing.half_extents
    other = replace(
        thing,
        shapes=tuple(shape(one) for one in thing.shapes),
        half_extents=(share * x_half, share * y_half, share * z_half),
        frames=tuple((name, moved(pose)) for name, pose in thing.frames),
    )
    return _resting(other, thing)


def of_kind(situation: Situation, thing: Thing, kind: str) -> Thing:
    """Another kind in its place: of its colour, about its size and turned as it is."""
    check_free(situation, thing)
    if thing.kind == kind:
        raise NotApplicable(f"the {thing.name} is of that kind already")
    if thing.bands or thing.is_striped:
        raise NotApplicable(f"the {thing.name} is told by its pattern")
    if kind in CONTAINERS:
        other = CONTAINERS[kind](thing.colour)
    else:
        usual = LOOSE[kind](thing.colour, 1.0)
        other = LOOSE[kind](thing.colour, float(np.clip(size_of(thing) / size_of(usual), 0.85, 1.15)))
    if other.is_fixed != thing.is_fixed:
        raise NotApplicable(f"a {kind} and the {thing.name} are not both fixed to the table")
    return _resting(other.named(thing.name), thing)


def rekinded(situation: Situation, things: list[Thing], kind: str) -> Situation:
    """These of another kind, and called so."""
    for thing in things:
        check_can(situation, thing, kind)
    others = {thing.name: of_kind(situation, thing, kind) for thing in things}
    _check_room(situation.scene, with_things(situation.scene, others), list(others))
    return relooked(situation, others, [NewLook(thing.name, "kind", thing.kind, kind) for thing in things])


def check_can(situation: Situation, thing: Thing, kind: str) -> None:
    centred = [one for one in walk(situation.stages) if isinstance(one, CentredOn)]
    for act, role in _roles(situation, thing):
        if act == "put in" and any(thing.name in (one.thing, one.other) for one in centred):
            raise NotApplicable("where it comes to rest to the millimetre depends on its kind")
        if kind not in CAN.get((act, role), ()):
            raise NotApplicable(f'a {kind} will not do as the {role} of "{act}"')


def check_free(situation: Situation, thing: Thing) -> None:
    """It lies on the table, nothing lies on it, and nothing will happen to it."""
    if is_in_events(situation, thing.name):
        raise NotApplicable(f"something will happen to the {thing.name}")
    if abs(thing.pose.position[2] - thing.reach(thing.pose.quaternion)[2]) > TOUCHING_M:
        raise NotApplicable(f"the {thing.name} does not lie on the table")
    _check_room(situation.scene, situation.scene, [thing.name])


def _with(situation: Situation, thing: Thing, other: Thing) -> Situation:
    _check_room(situation.scene, with_things(situation.scene, {thing.name: other}), [thing.name])
    return relooked(situation, {thing.name: other})


def _roles(situation: Situation, thing: Thing) -> list[tuple[str, Role]]:
    """In which acts it has a part, and which."""
    what = heard(situation)
    roles: list[tuple[str, Role]] = []
    for clause in what.clauses:
        goals = [what.names[each] for each in (clause.place.of if clause.place else ())]
        if what.names[clause.target] == thing.name:
            roles.append((clause.act, "target"))
        if thing.name in goals:
            roles.append((clause.act, "goal"))
        if clause.act == "put on" and len(goals) > 1 and thing.name in (what.names[clause.target], *goals):
            raise NotApplicable(f"the {thing.name} is part of what one thing is put on")
    if [role for _, role in roles].count("target") > 1:
        raise NotApplicable(f"the {thing.name} is handled again, from where it was put")
    return roles


def _possible(situation: Situation, thing: Thing) -> tuple[float, float]:
    """From its smallest to its biggest size, in metres."""
    if thing.kind not in LOOSE:
        raise NotApplicable(f"a {thing.kind} comes in one size only")
    roles = _roles(situation, thing)
    for act, role in roles:
        if thing.kind not in CAN.get((act, role), ()):
            raise NotApplicable(f'for "{act}" it must have the size that it has')
    low, high = SCALES if all(act in ("pick", "touch") for act, _ in roles) else FITTING
    usual = size_of(LOOSE[thing.kind](thing.colour, 1.0))
    width = 2 * min(thing.half_extents[:2]) / size_of(thing)
    return max(low * usual, GRASPABLE_M[0] / width), min(high * usual, GRASPABLE_M[1] / width)


def _resting(thing: Thing, before: Thing) -> Thing:
    x, y, z = before.pose.position
    turn = before.pose.quaternion
    return thing.posed(Pose((x, y, z - before.reach(turn)[2] + thing.reach(turn)[2]), turn))


def _check_room(before: Scene, after: Scene, names: list[str]) -> None:
    """What has grown must not come too near to others; and none of these may lie in or on another."""
    for name in names:
        thing, was = after.thing(name), before.thing(name)
        for other in after:
            if other.name == name or other.is_parked:
                continue
            apart = math.dist(thing.pose.position[:2], other.pose.position[:2])
            free = FREE_M if thing.radius_m > was.radius_m else 0.0
            if apart < thing.radius_m + other.radius_m + free:
                raise NotApplicable(f"the {name} and the {other.name} are too near to each other")


def _mm(size_m: float) -> str:
    return f"{1000 * size_m:.0f} mm"


def size_level(thing: Thing) -> str:
    return level("target_size_m", size_of(thing))
