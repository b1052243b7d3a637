"""Dynamic: something happens to the things on its own: when, how fast and whither varies, as do colours and places."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from robodx.language.meaning import once_lit, pick, press, put, roll, touch
from robodx.language.phrasing import say
from robodx.language.reference import resolve, the
from robodx.scoring.conditions import While
from robodx.scoring.contact import Lit, Touched, settled
from robodx.scoring.events import Appear, Event, Roll, RunBelt, SwapColours, SwapPlaces, SwitchLamp, at
from robodx.scoring.from_meaning import lifted, looks, stages_for
from robodx.scoring.relations import CentredOn, HandNear, Lifted
from robodx.sim.geometry import Pose
from robodx.sim.objects import bin_, cube, goal_disc, lamp, ramp, sphere, switch
from robodx.sim.placement import place
from robodx.sim.scene import Region, Thing, tabletop
from robodx.streams import Streams
from robodx.tasks.base import Register, Situation, Tier, task
from robodx.tasks.perception import VIVID, some

STEP_S = 0.05
IN_TIME_S = 3.0
# Every turn of a cube, but for those that look the same.
ANY_TURN = (-0.75, 0.75)
NOT_RED = ("green", "blue", "yellow", "purple")
# Where a cube lies that is to be knocked towards the robot.
BEHIND = Region(x=(-0.04, 0.06), y=(-0.13, 0.13), yaw_rad=ANY_TURN)


def dynamic(tier: Tier, *, primitive: str, chance: float = 1.0) -> Register:
    return task(
        family="dynamic",
        tier=tier,
        varies=("robot", "attributes", "layout", "timing", "arena"),
        tags=("capability",),
        chance=chance,
        version=2,
        primitive=primitive,
    )


def early(rng: np.random.Generator, last_step: int = 10) -> float:
    """At the end of one of the first control steps."""
    return STEP_S * int(rng.integers(1, last_step + 1))


def while_reaching(rng: np.random.Generator) -> float:
    """At step 10 to 20: a hand that set out at once is on its way."""
    return STEP_S * int(rng.integers(10, 21))


def a_side(rng: np.random.Generator) -> int:
    """The robot's left or its right, along y."""
    return int(rng.choice((-1, 1)))


def drifts(ball: Thing, rng: np.random.Generator, *, speed_m_s: tuple[float, float], by: tuple[float, float]) -> Event:
    """Soon a ball rolls slowly across the table, in the direction of a shift."""
    share = rng.uniform(*speed_m_s) / math.hypot(*by)
    return at(early(rng), Roll(ball.name, (share * by[0], share * by[1])))


def crosses(
    ball: Thing, rng: np.random.Generator, *, speed_m_s: tuple[float, float], to_x_m: tuple[float, float]
) -> Event:
    """Soon a ball rolls slowly to the other side of the table."""
    x, y, _ = ball.pose.position
    return drifts(ball, rng, speed_m_s=speed_m_s, by=(rng.uniform(*to_x_m) - x, -2 * y))


def cube_and_sphere(streams: Streams, *, radius_m: float, mass_kg: float = 0.04) -> tuple[Thing, Thing]:
    """Of two colours."""
    one, two = some(streams, VIVID, 2)
    return cube(one).named("cube"), sphere(two, radius_m, mass_kg=mass_kg).named("sphere")


@dynamic("easy", primitive="primitive/press_switch")
def press_switch_in_time(streams: Streams) -> Situation:
    """Press the switch within three seconds after its lamp turns on, and not before."""
    # Over so long a time that a press at a fixed moment is seldom in time.
    lights_s = streams.rng("timing").uniform(1.0, 16.0)
    (colour,) = some(streams, VIVID, 1)
    scene = tabletop(switch(colour).within(Region(x=(-0.2, 0.02), y=(-0.2, 0.2), yaw_rad=ANY_TURN)))
    instruction = say(once_lit("switch", press("switch")))
    (pressed,), lit = stages_for(instruction.meaning, scene), Lit("switch/lamp")
    return Situation(
        scene,
        instruction,
        stages=(Touched("switch"), While(pressed, lit)),
        never=(pressed & ~lit,),
        events=(
            at(lights_s, SwitchLamp("switch/lamp")),
            at(lights_s + IN_TIME_S, SwitchLamp("switch/lamp", is_on=False)),
        ),
    )


# Where things lie that may be exchanged, so far apart that open fingers fit between them.
APART = Region(x=(-0.21, 0.06), y=(-0.23, 0.23), yaw_rad=ANY_TURN, gap_m=0.06)
OTHERS = 5


def exchange(
    streams: Streams, words: str, first: Thing, others: tuple[Thing, ...], effect: type[SwapColours | SwapPlaces]
) -> Situation:
    """Pick up what fits the words, which changes with one of the others while a hand is on its way to it.

    So many others that always to go to the same one does not help.
    """
    rng, order = streams.rng("timing"), streams.rng("layout").permutation(1 + len(others))
    swap_s, other = while_reaching(rng), others[rng.integers(len(others))]
    scene = tabletop(*((first, *others)[index].within(APART) for index in order))
    worn = {first.name: other.colour, other.name: first.colour} if effect is SwapColours else {}
    after = tabletop(*(replace(thing, colour=worn.get(thing.name, thing.colour)) for thing in scene))
    instruction, target = say(pick(words)), resolve(the(words), looks(after))
    return Situation(
        scene,
        instruction,
        stages_for(instruction.meaning, after),
        # At first it may have been the right one.
        never=tuple(lifted(scene, thing.name) for thing in scene if thing.name != target),
        events=(at(swap_s, effect(first.name, other.name)),),
    )


@dynamic("easy", primitive="primitive/pick_cube", chance=1 / 6)
def colour_swap_pick(streams: Streams) -> Situation:
    """Pick up the red cube; while the hand approaches, it swaps colours with another cube."""
    colours = streams.rng("attributes").choice(NOT_RED, OTHERS)
    others = tuple(cube(str(colour)).named(f"cube {number}") for number, colour in enumerate(colours, start=2))
    return exchange(streams, "red cube", cube("red").named("cube 1"), others, SwapColours)


@dynamic("easy", primitive="primitive/pick_cube", chance=1 / 6)
def shape_swap_pick(streams: Streams) -> Situation:
    """Pick up the cube; while the hand approaches, it swaps places with a sphere of the same colour."""
    (colour,) = some(streams, VIVID, 1)
    others = tuple(sphere(colour).named(f"sphere {number}") for number in range(1, 1 + OTHERS))
    return exchange(streams, "cube", cube(colour).named("cube"), others, SwapPlaces)


FROM_M = 0.45


@dynamic("medium", primitive="primitive/pick_cube")
def pick_cube_bumped(streams: Streams) -> Situation:
    """Pick up the cube; while the hand approaches, a heavy ball knocks it aside."""
    rng = streams.rng("timing")
    block, ball = cube_and_sphere(streams, radius_m=0.03, mass_kg=0.9)
    scene = place(tabletop(block.within(BEHIND), ball.parked()), streams.rng("layout"))
    x, y, _ = scene.thing(block.name).pose.position
    # From across the table, more from the left or more from the right.
    angle_rad, speed_m_s, offset_m = rng.uniform(-1.0, 1.0), rng.uniform(0.9, 1.2), rng.uniform(-0.008, 0.008)
    ux, uy = -math.cos(angle_rad), math.sin(angle_rad)
    start = Pose((x - FROM_M * ux - offset_m * uy, y - FROM_M * uy + offset_m * ux, ball.half_extents[2]))
    start_s, instruction = while_reaching(rng), say(pick("cube"))
    return Situation(
        scene,
        instruction,
        stages_for(instruction.meaning, scene),
        events=(
            at(start_s, Appear(ball.name, start)),
            at(start_s, Roll(ball.name, (speed_m_s * ux, speed_m_s * uy))),
        ),
    )


@dynamic("medium", primitive="primitive/pick_cube")
def pick_sliding_cube(streams: Streams) -> Situation:
    """Pick up the cube while it slides down a slope, before it reaches the shelter at the bottom."""
    rng, layout = streams.rng("timing"), streams.rng("layout")
    slope = ramp().at(layout.uniform(-0.07, 0.03), layout.uniform(-0.15, 0.15), yaw_rad=layout.uniform(-0.5, 0.5))
    (colour,) = some(streams, VIVID, 1)
    on_belt = Pose((layout.uniform(0.05, 0.1), layout.uniform(-0.015, 0.015), 0.02))
    block = cube(colour).named("cube").posed(slope.pose @ slope.frame("top") @ on_belt)
    scene, instruction = tabletop(slope, block), say(pick("cube"))
    return Situation(
        scene,
        instruction,
        stages_for(instruction.meaning, scene),
        events=(at(early(rng, 4), RunBelt(slope.name, rng.uniform(0.045, 0.055))),),
    )


@dynamic("medium", primitive="control/place_sphere")
def place_rolling_sphere(streams: Streams) -> Situation:
    """Put the sphere, which rolls across the table, into a bin."""
    rng, layout = streams.rng("timing"), streams.rng("layout")
    colour, other = some(streams, VIVID, 2)
    side = a_side(layout)
    ball = sphere(colour).named("sphere").at(layout.uniform(-0.21, -0.11), side * layout.uniform(0.14, 0.24))
    holder = bin_(other).named("bin").at(layout.uniform(0.02, 0.07), layout.uniform(-0.12, 0.12))
    scene, instruction = tabletop(ball, holder), say(put("sphere", "in", "bin"))
    return Situation(
        scene,
        instruction,
        stages_for(instruction.meaning, scene),
        events=(crosses(ball, rng, speed_m_s=(0.05, 0.10), to_x_m=(-0.21, -0.11)),),
    )


# How near a ball's lane comes to the cube, and how far away it starts. It is there half a second after it set out,
# which is when a hand that came down at once closes its fingers.
LANE_M = 0.07
FAR_M = 0.32


@dynamic("hard", primitive="primitive/pick_cube", chance=1 / 2)
def pick_cube_ball_crossing(streams: Streams) -> Situation:
    """Pick up the cube without touching the ball that crosses close by when the hand approaches."""
    rng, layout = streams.rng("timing"), streams.rng("layout")
    block, ball = cube_and_sphere(streams, radius_m=0.04)
    # From the left or from the right, and turned so that it also passes the robot.
    side, lane_rad = a_side(layout), layout.uniform(0.5, 0.85)
    ux, uy = -math.sin(lane_rad), -side * math.cos(lane_rad)
    x, y = layout.uniform(-0.14, -0.02), side * layout.uniform(-0.14, -0.02)
    block = block.at(x, y, yaw_rad=layout.uniform(*ANY_TURN))
    ball = ball.at(x + side * LANE_M * uy - FAR_M * ux, y - side * LANE_M * ux - FAR_M * uy)
    scene, asked = tabletop(block, ball), pick("cube")
    speed_m_s = rng.uniform(0.5, 0.8)
    return Situation(
        scene,
        say(asked, replace(touch("sphere"), is_negated=True)),
        stages_for(say(asked).meaning, scene),
        never=(Touched(ball.name),),
        events=(
            Event(
                HandNear(block.name, rng.uniform(0.11, 0.14)),
                Roll(ball.name, (speed_m_s * ux, speed_m_s * uy)),
            ),
        ),
    )


@dynamic("hard", primitive="primitive/pick_cube")
def catch_after_light(streams: Streams) -> Situation:
    """Pick up the rolling sphere, but leave it alone until the lamp turns green."""
    rng, layout = streams.rng("timing"), streams.rng("layout")
    (colour,) = some(streams, VIVID, 1)
    ball = sphere(colour).named("sphere")
    ball = ball.at(layout.uniform(-0.21, -0.03), a_side(layout) * layout.uniform(0.2, 0.26))
    signal = lamp().at(layout.uniform(0.09, 0.13), layout.uniform(-0.18, 0.18))
    scene, instruction = tabletop(ball, signal), say(once_lit("lamp", pick("sphere")))
    return Situation(
        scene,
        instruction,
        stages_for(instruction.meaning, scene),
        never=(Touched(ball.name) & ~Lit("lamp/lamp"),),
        events=(
            crosses(ball, rng, speed_m_s=(0.05, 0.08), to_x_m=(-0.21, -0.03)),
            at(rng.uniform(1.5, 4.0), SwitchLamp("lamp/lamp", colour="green")),
        ),
    )


@dynamic("hard", primitive="control/push_cube")
def roll_ball_to_goal(streams: Streams) -> Situation:
    """Roll the ball, which drifts away, so that it comes to rest on a disc of 0.1 m radius."""
    rng, layout = streams.rng("timing"), streams.rng("layout")
    colour, other = some(streams, VIVID, 2)
    side = a_side(layout)
    ball = sphere(colour).named("sphere").at(layout.uniform(-0.21, -0.03), side * layout.uniform(0.02, 0.12))
    goal = goal_disc(other).named("disc").at(layout.uniform(-0.11, 0.05), -side * layout.uniform(0.11, 0.17))
    away_rad = rng.uniform(-0.3, 0.3)
    return Situation(
        tabletop(ball, goal),
        say(roll("sphere", "disc")),
        stages=(Touched(ball.name), settled(ball.name) & CentredOn(ball.name, goal.name, 0.1)),
        never=(Lifted(ball.name, 0.02),),
        events=(drifts(ball, rng, speed_m_s=(0.05, 0.08), by=(math.sin(away_rad), side * math.cos(away_rad))),),
    )
