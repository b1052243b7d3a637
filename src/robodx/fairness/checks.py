"""Whether the thing that is asked for and where it goes can be seen: limits, and what an instance does against them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from robodx.errors import UserError
from robodx.fairness.looking import MARGIN, SIZE, Seen, Sight, sight
from robodx.records.trial import DEFAULT_ROBOT
from robodx.scoring.parts import leaves, walk
from robodx.scoring.stages import Stage
from robodx.sim.enclosing import enclosing
from robodx.sim.render import Renderer
from robodx.sim.robot import ROBOTS
from robodx.sim.simulation import Simulation
from robodx.sim.world import World
from robodx.tasks.base import Situation

CAMERAS = ("front",)


@dataclass(frozen=True)
class Limits:
    """What can be seen is seen fairly. Pixels are those of a picture of 256 × 256."""

    # Eight by eight: a quarter of the patch of 16 × 16 that most networks see at once, and 4 × 4 in a picture of 128,
    # in which a colour can just be told. The usual cube has 450.
    least_target_px: int = 64
    # What a thing is put into must be aimed at, and is several times as large. The usual box has 2300.
    least_goal_px: int = 256
    # Of what lies within the picture. What is hidden by half is told from what is half as large only by guessing.
    most_hidden: float = 0.4
    # Beyond the edges of the picture.
    most_cut_off: float = 0.25
    # CIEDE2000: 1 can just be noticed, by people who look for it and in large fields. Of things of a few hundred pixels
    # on a wooden table, whose two shades differ by 8.5, what differs less might be a board.
    least_contrast: float = 8.0
    # Of the thing that is grasped: one face alone does not tell a cube from a tile.
    least_faces: int = 2
    # L* of the middle pixel. The usual rooms have 46 to 71; below a quarter of white, sRGB has few colours left.
    least_lightness: float = 25.0
    most_lightness: float = 97.0


LIMITS = Limits()


@dataclass(frozen=True)
class Measured:
    """Of an instance the worst over its cameras; None where there is nothing to measure."""

    target_px: int | None = None
    target_hidden: float | None = None
    target_cut_off: float | None = None
    target_contrast: float | None = None
    target_faces: int | None = None
    goal_px: int | None = None
    goal_hidden: float | None = None
    goal_cut_off: float | None = None
    goal_contrast: float | None = None
    lightness: float | None = None


@dataclass(frozen=True)
class Checked:
    """Passed if there is no reason why not."""

    measured: Measured
    reasons: tuple[str, ...]
    # By camera; none where it could not be built.
    pictures: tuple[NDArray[np.uint8], ...] = ()

    @property
    def passes(self) -> bool:
        return not self.reasons


SCHEMA: dict[str, pl.DataType] = {
    "instance": pl.String(),
    "factor": pl.String(),
    "passes": pl.Boolean(),
    "reasons": pl.List(pl.String()),
    "target_px": pl.Int64(),
    "target_hidden": pl.Float64(),
    "target_cut_off": pl.Float64(),
    "target_contrast": pl.Float64(),
    "target_faces": pl.Int64(),
    "goal_px": pl.Int64(),
    "goal_hidden": pl.Float64(),
    "goal_cut_off": pl.Float64(),
    "goal_contrast": pl.Float64(),
    "lightness": pl.Float64(),
}


def check(
    instances: Iterable[tuple[str, str, Situation]], *, cameras: Sequence[str] = CAMERAS, limits: Limits = LIMITS
) -> pl.DataFrame:
    """A row for each (instance, factor, placed situation): what was measured, and why it does not pass."""
    rows = []
    for name, factor, situation in instances:
        checked = checked_situation(situation, cameras=cameras, limits=limits)
        rows.append({"instance": name, "factor": factor, **row_of(checked)})
    return pl.DataFrame(rows, schema=SCHEMA)


def row_of(checked: Checked) -> dict[str, object]:
    return {"passes": checked.passes, "reasons": list(checked.reasons), **vars(checked.measured)}


def roles(situation: Situation) -> tuple[str, tuple[str, ...]]:
    """The thing that is handled and those that it is brought to, as the last stage speaks of them."""
    things = {thing.name for thing in situation.scene}
    texts = [one.split("/")[0] for one in walk(situation.stages[-1]) if isinstance(one, str)]
    named = tuple(dict.fromkeys(text for text in texts if text in things))
    if not named:
        raise UserError("its last stage speaks of no thing, so that nothing has to be seen")
    return named[0], named[1:]


def checked_situation(
    situation: Situation,
    *,
    cameras: Sequence[str] = CAMERAS,
    limits: Limits = LIMITS,
    robot: str = DEFAULT_ROBOT,
    quality: str = "fast",
) -> Checked:
    """In each of these cameras, with the robot at home. What cannot be built does not pass."""
    body = ROBOTS[robot]
    try:
        target, goals = roles(situation)
        simulation = Simulation(situation.scene, body, np.array(body.home))
    except (UserError, ValueError) as error:
        return Checked(Measured(), (f"it cannot be built: {error}",))
    with closing(Renderer(simulation, largest=(SIZE + 2 * MARGIN,) * 2, quality=quality)) as renderer:
        sights = {camera: sight(simulation, renderer, camera, (target, *goals)) for camera in cameras}
    inside = {camera: enclosing(simulation, simulation.camera(camera).in_world.position) for camera in cameras}
    reasons = [f"the camera is inside of the {name} ({camera})" for camera, names in inside.items() for name in names]
    reasons += [reason for camera, one in sights.items() for reason in _offences(one, target, goals, limits, camera)]
    if _is_done(situation, World(simulation)):
        reasons.append("it is done already")
    if len(cameras) == 1:
        reasons = [reason.removesuffix(f" ({cameras[0]})") for reason in reasons]
    return Checked(
        _worst(list(sights.values()), target, goals), tuple(reasons), tuple(s.picture for s in sights.values())
    )


def _is_done(situation: Situation, world: World) -> bool:
    """Whether all that the last stage asks for is so; how long it must stay so does not matter here."""
    return any(all(leaf.holds(world) for leaf in leaves(way)) for way in Stage.of(situation.stages[-1]).alternatives)


def _offences(one: Sight, target: str, goals: tuple[str, ...], limits: Limits, camera: str) -> Iterator[str]:
    where = f" ({camera})"
    if not limits.least_lightness <= one.lightness <= limits.most_lightness:
        word = "dark" if one.lightness < limits.least_lightness else "bright"
        yield f"the picture is too {word}: L* {one.lightness:.0f}{where}"
    for name in (target, *goals):
        seen = one.things[name]
        least = limits.least_target_px if name == target else limits.least_goal_px
        yield from (f"the {name} {said}{where}" for said in _of_thing(seen, least, limits))
    solid = one.things[target]
    if solid.visible_px >= limits.least_target_px and solid.faces < limits.least_faces:
        yield f"the {target} is seen flat or edge-on: {solid.faces} of {limits.least_faces} faces{where}"


def _of_thing(seen: Seen, least_px: int, limits: Limits) -> Iterator[str]:
    """What is wrong with what is seen of a thing: where nothing is, its colour is not to blame."""
    if not seen.unhidden_px:
        yield "is off-screen"
        return
    if seen.cut_off > limits.most_cut_off:
        yield f"is cut off by the edge: {seen.cut_off:.0%} of it"
    if seen.hidden > limits.most_hidden:
        yield f"is hidden: {seen.hidden:.0%} of it"
    elif seen.visible_px < least_px:
        yield f"is too small: {seen.visible_px} pixels, of {least_px}"
    if seen.visible_px and seen.contrast is not None and seen.contrast < limits.least_contrast:
        yield f"has the colour of what is around it: CIEDE2000 {seen.contrast:.1f}, of {limits.least_contrast:g}"


def _worst(sights: list[Sight], target: str, goals: tuple[str, ...]) -> Measured:
    solid, others = [one.things[target] for one in sights], [one.things[name] for one in sights for name in goals]
    lightness = [one.lightness for one in sights]
    return Measured(
        target_px=min(one.visible_px for one in solid),
        target_hidden=max(one.hidden for one in solid),
        target_cut_off=max(one.cut_off for one in solid),
        target_contrast=_least(one.contrast for one in solid),
        target_faces=min(one.faces for one in solid),
        goal_px=min((one.visible_px for one in others), default=None),
        goal_hidden=max((one.hidden for one in others), default=None),
        goal_cut_off=max((one.cut_off for one in others), default=None),
        goal_contrast=_least(one.contrast for one in others),
        # The one that is further from the middle.
        lightness=max(lightness, key=lambda l_star: abs(l_star - 50)),
    )


def _least(values: Iterable[float | None]) -> float | None:
    return min((value for value in values if value is not None), default=None)
