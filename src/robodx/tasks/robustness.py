"""Robustness: control tasks with distractors, colours, sizes, shapes and rooms that no other family shows.

For evaluation only: a policy that was shown them could not be tested on what is unseen.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from robodx.language.meaning import insert, stand
from robodx.language.phrasing import say
from robodx.language.reference import Reference, the
from robodx.scoring.conditions import Condition
from robodx.scoring.contact import Grasped, settled
from robodx.scoring.from_meaning import stages_for
from robodx.scoring.orientation import Inserted
from robodx.sim.objects import cross, cube, half_moon, hexagonal_block, kit_tray, octagonal_peg, sphere
from robodx.sim.rooms import UNSEEN_ROOMS
from robodx.sim.scene import Thing, tabletop
from robodx.streams import Streams, Variation
from robodx.tasks import control
from robodx.tasks.base import EVALUATION_ONLY, Register, Situation, Tier, task
from robodx.tasks.control import push_onto_disc, stack, visit_bins

TAGS = ("capability", EVALUATION_ONLY)

UNSEEN_COLOURS = ("coral", "lavender", "mint", "sky blue")
TRAY_COLOUR = "ivory"
UNSEEN_BLOCKS: dict[str, Callable[[str], Thing]] = {
    "hexagonal block": hexagonal_block,
    "cross": cross,
    "half-moon": half_moon,
}
UNSEEN_KINDS = (*UNSEEN_BLOCKS, "octagonal peg", "kit tray")
# Control's cubes and spheres are 40 mm wide. What is smaller and bigger here still fits the gripper and the bin's cell.
UNSEEN_CUBE_HALVES_M = ((0.016, 0.0185), (0.0215, 0.023))
UNSEEN_RADII_M = ((0.016, 0.0185), (0.021, 0.022))
PEG_LENGTHS_M = (0.11, 0.13)


def robustness(
    tier: Tier, *, of: str, chance: float, varies: tuple[Variation, ...] = ("robot", "attributes")
) -> Register:
    """A task that shifts the control task `of`."""
    return task(family="robustness", tier=tier, varies=varies, tags=TAGS, chance=chance, primitive=f"control/{of}")


def colours(streams: Streams, count: int) -> list[str]:
    """So many unseen ones, no two the same."""
    return [str(colour) for colour in streams.rng("attributes", "colours").permutation(UNSEEN_COLOURS)[:count]]


def size(streams: Streams, ranges: tuple[tuple[float, float], ...]) -> float:
    """Smaller than usual, or bigger, in turn."""
    return float(streams.rng("attributes", "size").uniform(*ranges[streams.turn("attributes", len(ranges))]))


def with_distractors(situation: Situation, streams: Streams, *places: tuple[float, float, float]) -> Situation:
    """Unseen blocks of unseen colours at these places (x, y, turn)."""
    kinds = streams.rng("attributes", "kinds").permutation(list(UNSEEN_BLOCKS))
    blocks = [
        UNSEEN_BLOCKS[kind](colour).at(x, y, yaw_rad=yaw)
        for kind, colour, (x, y, yaw) in zip(kinds, colours(streams, len(places)), places, strict=False)
    ]
    return replace(situation, scene=replace(situation.scene, things=(*situation.scene.things, *blocks)))


def in_unseen_room(situation: Situation, streams: Streams) -> Situation:
    arena, light = UNSEEN_ROOMS[streams.turn("arena", len(UNSEEN_ROOMS))]
    return replace(situation, scene=replace(situation.scene, arena=arena, lights=(light,)))


@robustness("easy", of="place_sphere", chance=1 / 3)
def place_sphere_with_distractors(streams: Streams) -> Situation:
    """Put the sphere into the bin, with two distractors of unseen shapes and colours."""
    return with_distractors(control.place_sphere.situate(streams), streams, (-0.08, 0.19, 0.4), (-0.13, -0.17, -0.3))


@robustness("easy", of="push_cube", chance=1 / 3)
def push_cube_with_distractors(streams: Streams) -> Situation:
    """Push the cube onto the disc, with two distractors of unseen shapes and colours."""
    return with_distractors(control.push_cube.situate(streams), streams, (-0.15, -0.16, 0.3), (0.02, 0.20, -0.4))


@robustness("easy", of="stack_cube", chance=1 / 6)
def stack_cube_with_distractors(streams: Streams) -> Situation:
    """Stack the red cube on the green one, with a distractor of unseen shape and colour."""
    return with_distractors(control.stack_cube.situate(streams), streams, (0.02, 0.16, 0.3))


@robustness("medium", of="place_sphere", chance=1.0)
def place_unseen_sphere(streams: Streams) -> Situation:
    """Put a sphere of unseen colour and size into the bin."""
    (colour,) = colours(streams, 1)
    return visit_bins("blue", row=("blue",), ball=sphere(colour, size(streams, UNSEEN_RADII_M)), said="sphere")


@robustness("medium", of="push_cube", chance=1.0)
def push_unseen_cube(streams: Streams) -> Situation:
    """Push a cube of unseen colour and size onto the disc."""
    (colour,) = colours(streams, 1)
    return push_onto_disc(cube(colour, size(streams, UNSEEN_CUBE_HALVES_M)), "cube")


@robustness("medium", of="stack_cube", chance=1 / 2)
def stack_unseen_cube(streams: Streams) -> Situation:
    """Stack a cube of unseen colour and size on the green one."""
    (colour,) = colours(streams, 1)
    other = Reference("cube", but=(the("green cube"),), said="other cube")
    return stack(cube(colour, size(streams, UNSEEN_CUBE_HALVES_M)), cube("green"), other, "green cube")


EVERYTHING: tuple[Variation, ...] = ("robot", "attributes", "arena")


@robustness("hard", of="insert_peg", chance=1 / 6, varies=EVERYTHING)
def kit_assembly(streams: Streams) -> Situation:
    """Insert three parts of unseen shapes into their recesses in a tray, in a stated order, in an unseen room."""
    places = ((-0.17, -0.16, 0.35), (-0.15, 0.17, -0.5), (-0.17, 0.0, 0.3))
    parts = [
        block(colour).at(x, y, yaw_rad=yaw)
        for block, colour, (x, y, yaw) in zip(UNSEEN_BLOCKS.values(), colours(streams, 3), places, strict=True)
    ]
    tray = kit_tray(TRAY_COLOUR)
    stages: list[Condition] = []
    for part in parts:
        inserted = Inserted(part.name, tray.name, 0.008, hole=f"{part.kind} hole")
        stages += [Grasped(part.name), settled(part.name) & inserted]
    return in_unseen_room(
        Situation(
            scene=tabletop(*parts, tray.at(0.04, 0.0)),
            instruction=say(*(insert(part.kind, tray.kind) for part in parts)),
            stages=tuple(stages),
        ),
        streams,
    )


@robustness("hard", of="stack_cube", chance=1 / 2, varies=EVERYTHING)
def novel_scene_stack(streams: Streams) -> Situation:
    """Stack one block of unseen shape on another, in an unseen room."""
    upper, lower = colours(streams, 2)
    return in_unseen_room(stack(cross(upper), hexagonal_block(lower), "cross", "hexagonal block"), streams)


@robustness("hard", of="insert_peg", chance=1.0, varies=EVERYTHING)
def lift_peg_upright(streams: Streams) -> Situation:
    """Stand a lying peg of unseen shape on its end, within 0.08 rad and 5 mm, in an unseen room."""
    (colour,) = colours(streams, 1)
    length_m = float(streams.rng("attributes", "length").uniform(*PEG_LENGTHS_M))
    scene = tabletop(octagonal_peg(colour, length_m=length_m).at(-0.08, 0.04, yaw_rad=1.2))
    instruction = say(stand("octagonal peg"))
    return in_unseen_room(Situation(scene, instruction, stages_for(instruction.meaning, scene)), streams)
