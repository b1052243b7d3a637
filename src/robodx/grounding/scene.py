"""A parsed scene: objects with categories, colour, size, position and state, however they were made out."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

from robodx.language.reference import SAME_SIZE, Looks, Seen
from robodx.registry import UnknownName
from robodx.sim.colours import PALETTE, RGB, rgb

Size = Literal["small", "normal", "big"]
# As the robot has it, which looks along +x and has +y at its left.
Position = Literal["left", "right", "near", "far", "middle"]
State = Literal["solid", "hollow"]

# The category of everything: "the small object".
ANYTHING = "object"
CONTAINERS = ("bin", "bowl", "crate", "box", "receptacle", "slot", "kit tray")
DEVICES = ("switch", "lamp", "ramp", "conveyor")
# The middle of where things lie on a table, as attributes of situations have it.
MIDDLE_X_M = (-0.12, 0.0)
MIDDLE_Y_M = (-0.07, 0.07)


@dataclass(frozen=True)
class SceneObject:
    """One object. Its `id` is unique in the scene; its `name` is a noun that others may share."""

    id: str
    name: str
    categories: tuple[str, ...]
    colour: str | None
    size: Size
    position: Position
    state: State
    # The same as descriptions are resolved by.
    looks: Looks


@dataclass(frozen=True)
class ParsedScene:
    """All that was made out. What is only told in words has no measures: of two on the left none is the leftmost."""

    objects: tuple[SceneObject, ...]
    is_measured: bool = True

    @cached_property
    def seen(self) -> Seen:
        return {each.id: each.looks for each in self.objects}

    def object(self, id: str) -> SceneObject:
        return next(each for each in self.objects if each.id == id)


def parsed(seen: Seen) -> ParsedScene:
    """The objects of a scene of which the measures are known."""
    sizes = [looks.size_m for looks in seen.values()]
    return ParsedScene(tuple(_object(id, looks, sizes) for id, looks in seen.items()))


def categories_of(kind: str) -> tuple[str, ...]:
    """From what it is called to what everything is."""
    shared = "container" if kind in CONTAINERS else "device" if kind in DEVICES else "geometry"
    return (kind, shared, ANYTHING)


def palette_word(colour: str) -> str | None:
    """The word of instructions for a paint: its own, or that of the nearest colour that has one."""
    if colour in PALETTE:
        return colour
    try:
        paint = rgb(colour)
    except UnknownName:
        return None
    return min(PALETTE, key=lambda word: _distance(PALETTE[word], paint))


def _distance(a: RGB, b: RGB) -> float:
    return sum((x - y) ** 2 for x, y in zip(a, b, strict=True))


def _object(id: str, looks: Looks, sizes: list[float]) -> SceneObject:
    looks = replace(looks, colour=palette_word(looks.colour) if looks.colour else None)
    return SceneObject(
        id=id,
        name=looks.kind,
        categories=categories_of(looks.kind),
        colour=looks.colour,
        size=_size(looks.size_m, min(sizes), max(sizes)),
        position=_position(looks),
        state="hollow" if looks.cavity_half is not None else "solid",
        looks=looks,
    )


def _size(size_m: float, least: float, most: float) -> Size:
    """Beside the other objects: in the lowest or the highest third of how large they are."""
    if most < (1 + SAME_SIZE) * least:
        return "normal"
    share = (size_m - least) / (most - least)
    return "small" if share < 1 / 3 else "big" if share > 2 / 3 else "normal"


def _position(looks: Looks) -> Position:
    x, y, _ = looks.position
    if not MIDDLE_Y_M[0] <= y <= MIDDLE_Y_M[1]:
        return "left" if y > 0 else "right"
    return "near" if x < MIDDLE_X_M[0] else "far" if x > MIDDLE_X_M[1] else "middle"
