"""Adaptability: what was begun is no longer what is to be done, for the thing has moved or the words have changed."""

from __future__ import annotations

import math

from robodx.language.meaning import pick, release
from robodx.language.phrasing import say
from robodx.scoring.conditions import After
from robodx.scoring.contact import Grasped
from robodx.scoring.events import Event, Move, NewInstruction, at
from robodx.scoring.from_meaning import stages_for
from robodx.scoring.relations import HandAt
from robodx.sim.objects import cube
from robodx.sim.placement import place
from robodx.sim.scene import Region, tabletop
from robodx.streams import Streams, Variation
from robodx.tasks.base import NEEDS_LANGUAGE, Register, Situation, Tier, task
from robodx.tasks.perception import VIVID, some

# At step 20 and at step 10: a hand that set out at once is on its way.
MOVES_S = 1.0
CHANGES_S = 0.5
# Fingers reach 65 mm from the tool, and a cube 35 mm from its centre: nearer to it, the cube would move into them.
HAND_M = 0.1
ANYWHERE = Region(x=(-0.2, 0.05), y=(-0.2, 0.2), yaw_rad=(-0.7, 0.7), gap_m=0.06)
# So far from the hand that it is not around the cube by the time it moves.
AWAY = Region(x=(-0.03, 0.04), y=(-0.18, 0.18), yaw_rad=(-0.7, 0.7))


def adaptability(
    tier: Tier, *, varies: tuple[Variation, ...], chance: float = 1.0, tags: tuple[str, ...] = ()
) -> Register:
    return task(
        family="adaptability",
        tier=tier,
        varies=("robot", "attributes", "layout", "arena", *varies),
        tags=("stress", *tags),
        chance=chance,
        version=2,
        primitive="primitive/pick_cube",
    )


@adaptability("easy", varies=("timing",))
def pick_moved_cube(streams: Streams) -> Situation:
    """Pick up the cube, which moves aside after one second unless it is grasped by then."""
    rng = streams.rng("timing")
    distance_m, angle_rad = rng.uniform(0.04, 0.08), rng.uniform(-math.pi, math.pi)
    (colour,) = some(streams, VIVID, 1)
    scene = place(tabletop(cube(colour).named("cube").within(AWAY)), streams.rng("layout"))
    (block,), instruction = scene, say(pick("cube"))
    by = (distance_m * math.cos(angle_rad), distance_m * math.sin(angle_rad), 0.0)
    is_too_late = Grasped(block.name) | HandAt(block.pose.shifted(*by).position, HAND_M)
    return Situation(
        scene,
        instruction,
        stages_for(instruction.meaning, scene),
        events=(Event(After(MOVES_S), Move(block.name, by), unless=is_too_late),),
    )


@adaptability("medium", varies=("instruction",), chance=1 / 2)
def pick_other_cube(streams: Streams) -> Situation:
    """Pick up the cube of one colour; after half a second the instruction changes to that of another."""
    first, second = some(streams, VIVID, 2)
    scene = tabletop(*(cube(colour).within(ANYWHERE) for colour in sorted((first, second))))
    update = say(pick(f"{second} cube"))
    # Who has lifted the first one may still put it down: what counts is the second.
    return Situation(
        scene,
        say(pick(f"{first} cube")),
        stages_for(update.meaning, scene),
        events=(at(CHANGES_S, NewInstruction(update)),),
    )


@adaptability("hard", varies=(), tags=(NEEDS_LANGUAGE,))
def lift_then_release(streams: Streams) -> Situation:
    """Pick up the cube; as soon as it is up, the instruction changes to releasing it."""
    (colour,) = some(streams, VIVID, 1)
    scene = tabletop(cube(colour).named("cube").within(ANYWHERE))
    instruction, update = say(pick("cube")), say(release("cube"))
    grasped, lifted = stages_for(instruction.meaning, scene)
    _, released = stages_for(update.meaning, scene)
    return Situation(
        scene,
        instruction,
        (grasped, lifted, released),
        events=(Event(lifted, NewInstruction(update)),),
    )
