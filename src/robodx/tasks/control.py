"""Control: the same objects at the same places and one instruction a task; only the arm's start varies."""

from __future__ import annotations

from robodx.language.meaning import Words, insert, push, put
from robodx.language.phrasing import say
from robodx.scoring.conditions import Condition
from robodx.scoring.contact import Grasped, settled
from robodx.scoring.orientation import Inserted
from robodx.scoring.relations import Beside, CentredOn, In, On
from robodx.sim.objects import bin_, charger, cube, goal_disc, hole_block, peg, receptacle, sphere
from robodx.sim.scene import Thing, tabletop
from robodx.streams import Streams
from robodx.tasks.base import Register, Situation, Tier, task

TAGS = ("capability",)
YELLOW_SPHERE = sphere("yellow")


def control(tier: Tier, *, chance: float) -> Register:
    return task(family="control", tier=tier, varies=("robot",), tags=TAGS, chance=chance)


def in_cell(thing: str, container: str) -> Condition:
    return settled(thing) & In(thing, container) & CentredOn(thing, container, 0.005, frame="cell")


def bins(*colours: str) -> tuple[Thing, ...]:
    """In a row from the robot's left to its right."""
    spacing = 0.16
    left = spacing * (len(colours) - 1) / 2
    return tuple(bin_(colour).at(0.05, left - index * spacing) for index, colour in enumerate(colours))


def visit_bins(
    *order: str, row: tuple[str, ...], ball: Thing = YELLOW_SPHERE, said: Words = "yellow sphere"
) -> Situation:
    stages: list[Condition] = []
    for colour in order:
        stages += [Grasped(ball.name), in_cell(ball.name, f"{colour} bin")]
    return Situation(
        scene=tabletop(ball.at(-0.14, 0.0), *bins(*row)),
        instruction=say(*(put(said, "in", f"{colour} bin") for colour in order)),
        stages=tuple(stages),
    )


def push_onto_disc(pushed: Thing, said: Words) -> Situation:
    return Situation(
        scene=tabletop(pushed.at(-0.17, 0.06), goal_disc("green").at(0.03, 0.0)),
        instruction=say(push(said, "green disc")),
        stages=(settled(pushed.name) & CentredOn(pushed.name, "green disc", 0.1),),
    )


def stack(upper: Thing, lower: Thing, said_upper: Words, said_lower: Words) -> Situation:
    return Situation(
        scene=tabletop(upper.at(-0.12, 0.11), lower.at(-0.02, -0.09)),
        instruction=say(put(said_upper, "on", said_lower)),
        stages=(Grasped(upper.name), settled(upper.name) & On(upper.name, lower.name)),
    )


@control("easy", chance=1.0)
def place_sphere(streams: Streams) -> Situation:
    """Put the sphere into the middle cell of a bin."""
    return visit_bins("blue", row=("blue",))


@control("easy", chance=1.0)
def push_cube(streams: Streams) -> Situation:
    """Push the cube onto a disc, without needing to lift it."""
    return push_onto_disc(cube("red"), "red cube")


@control("easy", chance=1 / 2)
def stack_cube(streams: Streams) -> Situation:
    """Stack the red cube on the green one."""
    return stack(cube("red"), cube("green"), "red cube", "green cube")


@control("medium", chance=1.0)
def insert_peg(streams: Streams) -> Situation:
    """Insert the peg sideways into a hole with 3 mm clearance."""
    return Situation(
        scene=tabletop(peg("orange").at(-0.16, 0.10, yaw_rad=0.5), hole_block("blue").at(0.06, -0.06)),
        instruction=say(insert("orange peg", "blue block with a hole")),
        stages=(
            Grasped("orange peg"),
            Inserted("orange peg", "blue block with a hole", 0.0),
            settled("orange peg") & Inserted("orange peg", "blue block with a hole", 0.035),
        ),
    )


@control("medium", chance=1 / 2)
def place_sphere_two_bins(streams: Streams) -> Situation:
    """Put the sphere into the purple bin, then move it into the blue one."""
    return visit_bins("purple", "blue", row=("purple", "blue"))


def base_of_two() -> tuple[Condition, ...]:
    """Red beside green, and blue on top of both."""
    return (
        Grasped("red cube"),
        settled("red cube") & Beside("red cube", "green cube"),
        Grasped("blue cube"),
        settled("blue cube") & On("blue cube", "red cube") & On("blue cube", "green cube"),
    )


BASE_OF_TWO = (put("red cube", "beside", "green cube"), put("blue cube", "on", "red cube", "green cube"))


@control("medium", chance=1 / 6)
def stack_three(streams: Streams) -> Situation:
    """Put the red cube beside the green one, then the blue one on top of both."""
    return Situation(
        scene=tabletop(cube("red").at(-0.16, 0.14), cube("green").at(0.0, 0.0), cube("blue").at(-0.16, -0.14)),
        instruction=say(*BASE_OF_TWO),
        stages=base_of_two(),
    )


@control("hard", chance=1 / 6)
def place_sphere_three_bins(streams: Streams) -> Situation:
    """Put the sphere into three bins, one after the other, in a stated order."""
    return visit_bins("purple", "green", "blue", row=("blue", "purple", "green"))


@control("hard", chance=1.0)
def plug_charger(streams: Streams) -> Situation:
    """Plug the charger's two prongs into the receptacle, within 5 mm and 0.2 rad."""
    return Situation(
        scene=tabletop(charger().at(-0.16, 0.08, yaw_rad=-0.4), receptacle().at(0.06, -0.04)),
        instruction=say(insert("charger", "receptacle")),
        stages=(
            Grasped("charger"),
            Inserted("charger", "receptacle", 0.0),
            settled("charger") & Inserted("charger", "receptacle", 0.015),
        ),
    )


@control("hard", chance=1 / 24)
def stack_four(streams: Streams) -> Situation:
    """Build stack_three, then put the purple cube beside its base, within a centimetre."""
    return Situation(
        scene=tabletop(
            cube("red").at(-0.16, 0.14),
            cube("green").at(0.0, 0.0),
            cube("blue").at(-0.16, -0.14),
            cube("purple").at(-0.02, 0.20),
        ),
        instruction=say(*BASE_OF_TWO, put("purple cube", "beside", "green cube")),
        stages=(
            *base_of_two(),
            Grasped("purple cube"),
            settled("purple cube")
            & Beside("purple cube", "green cube", gap_m=0.01)
            & On("blue cube", "red cube")
            & On("blue cube", "green cube"),
        ),
    )
