"""Other colours for things, in words that name the new ones."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from robodx.interventions.base import Levels, NotApplicable
from robodx.interventions.redescribing import NewLook
from robodx.interventions.relooking import others_than, relooked
from robodx.scoring.events import Recolour, SwapColours
from robodx.sim.colours import SHADES
from robodx.sim.scene import Shape, Thing
from robodx.tasks.base import Situation
from robodx.tasks.carrier import COLOURS

# What tells a thing stays the same sort: of a red cube among blue ones a blue one is made by an exchange.
KEPT = ("target_cue", "goal_cue")


def colours_of(role: str) -> Mapping[str, Levels]:
    """Each familiar colour, and what it sets."""
    return {colour: {f"{role}_colour": colour} for colour in COLOURS}


def recoloured(situation: Situation, thing: Thing, colour: str) -> Situation:
    if thing.colour == colour:
        raise NotApplicable(f"the {thing.name} is {colour} already")
    return _painted(situation, {thing: colour})


def exchanged(situation: Situation, one: str, other: str) -> Situation:
    """Whatever has one of the two colours gets the other: what tells things apart stays what it was."""
    swap = {one: other, other: one}
    return _painted(situation, {t: swap[t.colour] for t in situation.scene if t.colour in swap})


def others_recoloured(situation: Situation, thing: Thing, rng: np.random.Generator) -> Situation:
    """Another thing in another familiar colour, if possible one that nobody handles; else this one in another shade."""
    for other in others_than(situation, thing):
        for colour in rng.permutation([colour for colour in COLOURS if colour not in (thing.colour, other.colour)]):
            try:
                return _painted(situation, {other: str(colour)})
            except NotApplicable:
                continue
    if shades := SHADES.get(thing.colour):
        shade = str(rng.choice(list(shades)))
        shapes = tuple(replace(each, colour=each.colour or shade) for each in thing.shapes)
        return relooked(situation, {thing.name: replace(thing, shapes=shapes)})
    raise NotApplicable(f"nothing but the {thing.name} is there, and there are no shades of {thing.colour}")


def _painted(situation: Situation, colours: Mapping[Thing, str]) -> Situation:
    if any(isinstance(event.effect, Recolour | SwapColours) for event in situation.events):
        raise NotApplicable("things change their colours later")
    if banded := [thing.name for thing in colours if thing.bands]:
        raise NotApplicable(f"the {banded[0]} has bands of several colours")
    things = {thing.name: in_colour(thing, colour) for thing, colour in colours.items()}
    new_looks = [NewLook(thing.name, "colour", thing.colour, colour) for thing, colour in colours.items()]
    return relooked(situation, things, new_looks, keeps=KEPT)


def in_colour(thing: Thing, colour: str) -> Thing:
    """All of it that has its colour."""
    own = {thing.colour, *SHADES.get(thing.colour, ())}

    def painted(shapes: tuple[Shape, ...]) -> tuple[Shape, ...]:
        return tuple(replace(shape, colour=colour) if shape.colour in own else shape for shape in shapes)

    parts = tuple(replace(part, shapes=painted(part.shapes)) for part in thing.parts)
    return replace(thing, colour=colour, shapes=painted(thing.shapes), parts=parts)
