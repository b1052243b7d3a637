"""Dynamic: the same things at the same places, and something happens to them: when, how fast and whither varies."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from robodx.language.meaning import once_lit, pick, press, put, roll, touch
from robodx.language.phrasing import say
from robodx.scoring.conditions import Condition, While
from robodx.scoring.contact import Grasped, JointBeyond, Lit, Touched, settled
from robodx.scoring.events import Appear, Event, Roll, RunBelt, SwapColours, SwapPlaces, SwitchLamp, at
from robodx.scoring.from_meaning import LIFT_M, PRESSED_SHARE
from robodx.scoring.relations import CentredOn, HandNear, Lifted
from robodx.sim.geometry import Pose
from robodx.sim.objects import SWITCH_TRAVEL_M, bin_, cube, goal_disc, lamp, ramp, sphere, switch
from robodx.sim.scene import Thing, tabletop
from robodx.streams import Streams
from robodx.tasks.base import Register, Situation, Tier, task
from robodx.tasks.control import in_cell

STEP_S = 0.05
IN_TIME_S = 3.0


def dynamic(tier: Tier, *, primitive: str, chance: float = 1.0) -> Register:
    return task(
        family="dynamic",
        tier=tier,
        varies=("robot", "timing"),
        tags=("capability",),
        chance=chance,
        primitive=primitive,
    )


def picked(thing: str) -> tuple[Condition, ...]:
    return (Grasped(thing), Grasped(thing) & Lifted(thing, LIFT_M))


def early(rng: np.random.Generator, last_step: int = 10) -> float:
    """At the end of one of the first control steps."""
    return STEP_S * int(rng.integers(1, last_step + 1))


def while_reaching(rng: np.random.Generator) -> float:
    """At step 10 to 20: a hand that set out at once is on its way."""
    return STEP_S * int(rng.integers(10, 21))


def heading(speed_m_s: float, angle_rad: float) -> tuple[float, float]:
    """A velocity to the robot's right, turned by an angle."""
    return (speed_m_s * math.sin(angle_rad), -speed_m_s * math.cos(angle_rad))


def drifts(
    ball: Thing, rng: np.random.Generator, *, speed_m_s: tuple[float, float], angle_rad: tuple[float, float]
) -> Event:
    """Soon a ball rolls slowly across the table."""
    velocity = heading(rng.uniform(*speed_m_s), rng.uniform(*angle_rad))
    return at(early(rng), Roll(ball.name, velocity))


@dynamic("easy", primitive="primitive/press_switch")
def press_switch_in_time(streams: Streams) -> Situation:
    """Press the switch within three seconds after its lamp turns on, and not before."""
    # Over so long a time that a press at a fixed moment is seldom in time.
    lights_s = streams.rng("timing").uniform(1.0, 16.0)
    pressed, lit = JointBeyond("switch/button", PRESSED_SHARE * SWITCH_TRAVEL_M), Lit("switch/lamp")
    return Situation(
        scene=tabletop(switch().at(-0.10, 0.0)),
        instruction=say(once_lit("switch", press("switch"))),
        stages=(Touched("switch"), While(pressed, lit)),
        never=(pressed & ~lit,),
        events=(
            at(lights_s, SwitchLamp("switch/lamp")),
            at(lights_s + IN_TIME_S, SwitchLamp("switch/lamp", is_on=False)),
        ),
    )


# A place in the middle, and around it the places of those that may change with what lies there.
MIDDLE = (-0.10, 0.0)
AROUND = ((-0.10, 0.18), (-0.10, -0.18), (-0.20, 0.10), (-0.20, -0.10), (0.04, 0.0))


def exchange(
    streams: Streams, words: str, middle: Thing, others: tuple[Thing, ...], effect: type[SwapColours | SwapPlaces]
) -> Situation:
    """Pick up what fits the words, which changes with one of the others while a hand is on its way to it.

    So many others that always to go to the same one does not help.
    """
    rng = streams.rng("timing")
    swap_s, other = while_reaching(rng), others[rng.integers(len(others))].name
    target = other if effect is SwapColours else middle.name
    things = (middle.at(*MIDDLE), *(thing.at(*place) for thing, place in zip(others, AROUND, strict=True)))
    return Situation(
        scene=tabletop(*things),
        instruction=say(pick(words)),
        stages=picked(target),
        # At first it may have been the right one.
        never=tuple(Lifted(thing.name, LIFT_M) for thing in things if thing.name != target),
        events=(at(swap_s, effect(middle.name, other)),),
    )


@dynamic("easy", primitive="primitive/pick_cube", chance=1 / 6)
def colour_swap_pick(streams: Streams) -> Situation:
    """Pick up the red cube; while the hand approaches, it swaps colours with another cube."""
    others = tuple(cube("blue").named(f"cube {number}") for number in range(1, 1 + len(AROUND)))
    return exchange(streams, "red cube", cube("red").named("middle cube"), others, SwapColours)


@dynamic("easy", primitive="primitive/pick_cube", chance=1 / 6)
def shape_swap_pick(streams: Streams) -> Situation:
    """Pick up the cube; while the hand approaches, it swaps places with a sphere of the same colour."""
    others = tuple(sphere("red").named(f"sphere {number}") for number in range(1, 1 + len(AROUND)))
    return exchange(streams, "cube", cube("red"), others, SwapPlaces)


FROM_M = 0.45


@dynamic("medium", primitive="primitive/pick_cube")
def pick_cube_bumped(streams: Streams) -> Situation:
    """Pick up the cube; while the hand approaches, a heavy ball knocks it aside."""
    rng = streams.rng("timing")
    ball = sphere("blue", 0.03, mass_kg=0.9)
    # From across the table, more from the left or more from the right.
    angle_rad, speed_m_s, offset_m = rng.uniform(-1.0, 1.0), rng.uniform(0.9, 1.2), rng.uniform(-0.008, 0.008)
    ux, uy = -math.cos(angle_rad), math.sin(angle_rad)
    start = Pose((-FROM_M * ux - offset_m * uy, -FROM_M * uy + offset_m * ux, ball.half_extents[2]))
    start_s = while_reaching(rng)
    return Situation(
        scene=tabletop(cube("red").at(0.0, 0.0), ball.parked()),
        instruction=say(pick("red cube")),
        stages=picked("red cube"),
        events=(
            at(start_s, Appear(ball.name, start)),
            at(start_s, Roll(ball.name, (speed_m_s * ux, speed_m_s * uy))),
        ),
    )


@dynamic("medium", primitive="primitive/pick_cube")
def pick_sliding_cube(streams: Streams) -> Situation:
    """Pick up the cube while it slides down a slope, before it reaches the shelter at the bottom."""
    rng = streams.rng("timing")
    slope = ramp().at(-0.04, 0.10)
    block = cube("red").posed(slope.pose @ slope.frame("top") @ Pose((0.03, 0.0, 0.02)))
    return Situation(
        scene=tabletop(slope, block),
        instruction=say(pick("red cube")),
        # Clear of the slope, whose top is at 0.1 m.
        stages=(Grasped(block.name), Grasped(block.name) & Lifted(block.name, 0.12)),
        events=(at(early(rng, 4), RunBelt(slope.name, rng.uniform(0.045, 0.055))),),
    )


@dynamic("medium", primitive="control/place_sphere")
def place_rolling_sphere(streams: Streams) -> Situation:
    """Put the sphere, which rolls across the table, into the middle cell of a bin."""
    ball = sphere("yellow").at(-0.17, 0.22)
    return Situation(
        scene=tabletop(ball, bin_("blue").at(0.05, 0.0)),
        instruction=say(put("yellow sphere", "in", "blue bin")),
        stages=(Grasped(ball.name), in_cell(ball.name, "blue bin")),
        events=(drifts(ball, streams.rng("timing"), speed_m_s=(0.05, 0.10), angle_rad=(-0.5, 0.5)),),
    )


# A ball's lane past the cube, turned so that it also passes the robot: how near it comes, and from how far. It is there
# half a second after it set out, which is when a hand that came down at once closes its fingers.
LANE_RAD = math.radians(-40.0)
LANE_M = 0.07
FAR_M = 0.32


@dynamic("hard", primitive="primitive/pick_cube", chance=1 / 2)
def pick_cube_ball_crossing(streams: Streams) -> Situation:
    """Pick up the cube without touching the ball that crosses close by when the hand approaches."""
    rng = streams.rng("timing")
    ux, uy = heading(1.0, LANE_RAD)
    x, y = -0.05, 0.0
    block, ball = cube("red").at(x, y), sphere("blue", 0.04)
    return Situation(
        scene=tabletop(block, ball.at(x + LANE_M * uy - FAR_M * ux, y - LANE_M * ux - FAR_M * uy)),
        instruction=say(pick("red cube"), replace(touch("blue sphere"), is_negated=True)),
        stages=picked(block.name),
        never=(Touched(ball.name),),
        events=(
            Event(
                HandNear(block.name, rng.uniform(0.11, 0.14)), Roll(ball.name, heading(rng.uniform(0.5, 0.8), LANE_RAD))
            ),
        ),
    )


@dynamic("hard", primitive="primitive/pick_cube")
def catch_after_light(streams: Streams) -> Situation:
    """Pick up the rolling sphere, but leave it alone until the lamp turns green."""
    rng = streams.rng("timing")
    ball = sphere("red").at(-0.12, 0.26)
    lit = Lit("lamp/lamp")
    return Situation(
        scene=tabletop(ball, lamp().at(0.13, 0.0)),
        instruction=say(once_lit("lamp", pick("red sphere"))),
        stages=picked(ball.name),
        never=(Touched(ball.name) & ~lit,),
        events=(
            drifts(ball, rng, speed_m_s=(0.05, 0.08), angle_rad=(-0.1, 0.1)),
            at(rng.uniform(1.5, 4.0), SwitchLamp("lamp/lamp", colour="green")),
        ),
    )


@dynamic("hard", primitive="control/push_cube")
def roll_ball_to_goal(streams: Streams) -> Situation:
    """Roll the ball, which drifts away, so that it comes to rest on a disc of 0.1 m radius."""
    ball = sphere("yellow").at(-0.18, 0.04)
    return Situation(
        scene=tabletop(ball, goal_disc("green").at(0.0, -0.14)),
        instruction=say(roll("yellow sphere", "green disc")),
        stages=(Touched(ball.name), settled(ball.name) & CentredOn(ball.name, "green disc", 0.1)),
        never=(Lifted(ball.name, 0.02),),
        events=(drifts(ball, streams.rng("timing"), speed_m_s=(0.05, 0.08), angle_rad=(math.pi - 0.3, math.pi + 0.3)),),
    )
