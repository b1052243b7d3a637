"""Puts things that have a region at poses: drawn from the `layout` stream, apart from each other."""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace

import numpy as np

from robodx.sim.geometry import Pose, about
from robodx.sim.scene import Region, Scene, Thing

# Rejection sampling: with a few things on a table a draw nearly always fits; this many misses mean that it cannot.
MAX_TRIES = 2000


class NoRoom(ValueError):
    """The declared regions cannot hold their things with the declared gaps."""


def place(scene: Scene, rng: np.random.Generator) -> Scene:
    """The scene with every region replaced by a pose drawn in it; fixed things come first and stay."""
    placed: dict[str, Thing] = {t.name: t for t in scene if isinstance(t.placement, Pose)}
    for thing in scene:
        if isinstance(thing.placement, Region):
            placed[thing.name] = _draw(thing, thing.placement, [t for t in placed.values() if not t.is_parked], rng)
    return replace(scene, things=tuple(placed[thing.name] for thing in scene))


def place_clearly(
    drawn: Callable[[], Scene], rng: np.random.Generator, is_clear: Callable[[Scene], bool] = lambda scene: True
) -> Scene:
    """Scenes as they are `drawn`, until one has room for all its things and is clear."""
    for _ in range(MAX_TRIES):
        scene = drawn()
        # The first things may leave no room for the last.
        with suppress(NoRoom):
            placed = place(scene, rng)
            if is_clear(placed):
                return placed
    raise NoRoom(f"no clear layout of {', '.join(thing.name for thing in scene)}")


def needs_layout(scene: Scene) -> bool:
    return any(isinstance(thing.placement, Region) for thing in scene)


def _draw(thing: Thing, region: Region, others: list[Thing], rng: np.random.Generator) -> Thing:
    for _ in range(MAX_TRIES):
        x, y, yaw = (rng.uniform(*bounds) for bounds in (region.x, region.y, region.yaw_rad))
        if all(_is_apart(thing, x, y, region.gap_m, other) for other in others):
            return thing.posed(Pose((x, y, thing.half_extents[2]), about("z", yaw)))
    raise NoRoom(
        f'no room for "{thing.name}" in x {region.x}, y {region.y} at {region.gap_m} m from '
        f"{', '.join(other.name for other in others)}"
    )


def _is_apart(thing: Thing, x: float, y: float, gap_m: float, other: Thing) -> bool:
    ox, oy, _ = other.pose.position
    return math.hypot(x - ox, y - oy) >= thing.radius_m + other.radius_m + gap_m
