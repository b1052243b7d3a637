"""The scene of visual bias: a small solid goes into a yellow box, and nothing else is there."""

from __future__ import annotations

import math
from collections.abc import Callable

from robodx.language.meaning import Meaning, put
from robodx.language.phrasing import phrase
from robodx.language.reference import Reference
from robodx.scoring.from_meaning import stages_for
from robodx.sim.objects import cube, cylinder, open_box, sphere, triangular_block
from robodx.sim.scene import Thing, tabletop
from robodx.streams import Streams
from robodx.tasks.base import Situation, task
from robodx.tasks.carrier import COLOURS

SOLIDS: dict[str, Callable[[str], Thing]] = {
    "cube": cube,
    "cylinder": cylinder,
    "triangular block": triangular_block,
    "sphere": sphere,
}
SHAPES = tuple(SOLIDS)
# The middles of where the solid lies at first, and how far from them it may lie.
PLACES = ((-0.17, 0.15), (-0.17, -0.15), (0.05, 0.17), (0.05, -0.17))
JITTER_M = 0.035
BOX_AT = (-0.05, 0.0)
BOX_COLOUR = "yellow"
# The small one of two things: no wording names its shape or its colour, nor that of the box.
MEANING = Meaning((put(Reference(size="small"), "in", "box"),))
WORDINGS = 3


def solid_and_box(
    shape: str, place: int, colour: str, wording: int, *, offset: tuple[float, float] = (0.0, 0.0), yaw_rad: float = 0.0
) -> Situation:
    """The scene as a function of what a study of bias sets, and of how far the solid lies from the place's middle."""
    (x, y), (dx, dy) = PLACES[place], offset
    solid = SOLIDS[shape](colour).named("solid").at(x + dx, y + dy, yaw_rad=yaw_rad)
    scene = tabletop(solid, open_box(BOX_COLOUR).named("box").at(*BOX_AT))
    return Situation(scene, phrase(MEANING, "train", wording), stages_for(MEANING, scene))


@task(
    family="bias",
    varies=("robot", "layout", "attributes", "instruction", "arena"),
    tags=("bias",),
    chance=1.0,
    primitive="control/place_sphere",
)
def put_solid_in_box(streams: Streams) -> Situation:
    """Put the small object into the yellow box: four shapes, four places, three wordings, any familiar colour."""
    layout, colours = streams.rng("layout"), streams.rng("attributes", "colour")
    around = len(SHAPES) * len(PLACES)
    # Each shape comes to each place within sixteen seeds, and each wording to each of these within forty-eight.
    turn = streams.turn("layout", around)
    return solid_and_box(
        SHAPES[streams.turn("attributes", len(SHAPES))],
        (turn + turn // len(SHAPES)) % len(PLACES),
        COLOURS[int(colours.integers(len(COLOURS)))],
        streams.turn("instruction", WORDINGS),
        offset=(layout.uniform(-JITTER_M, JITTER_M), layout.uniform(-JITTER_M, JITTER_M)),
        yaw_rad=layout.uniform(-math.pi, math.pi),
    )
