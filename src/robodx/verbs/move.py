"""To move a thing so far along the table, one way."""

from __future__ import annotations

from robodx.experts.base import Plan, PlanContext, put, resting
from robodx.experts.skills import Steps
from robodx.language.meaning import Clause, Direction
from robodx.scoring.sides import HEADINGS
from robodx.sim.geometry import turned
from robodx.verbs.base import Sense, verb


def _plan(direction: Direction) -> Plan:
    """By the distance asked for, from where the thing is when its turn comes."""

    def steps(context: PlanContext, clause: Clause) -> Steps:
        name = context.target(clause)
        assert clause.place is not None and clause.place.distance_m is not None, "moved how far?"
        x, y, z = context.view.position(name)
        floor = z - context.view.reach(name)[2]
        ahead, left = (clause.place.distance_m * way for way in HEADINGS[direction])
        dx, dy, _ = turned((ahead, left, 0.0), context.view.heading_rad)
        yield from put(context, name, lambda: resting(context, name, x + dx, y + dy, floor))

    return steps


def _sideways(side: Direction) -> Sense:
    return Sense(
        (
            f"move {{target}} {{distance}} to your {side}",
            f"shift {{target}} towards your {side} by {{distance}}",
            f"displace {{target}} by {{distance}} to your {side}-hand side",
        ),
        (
            f"slide {{target}} {{distance}} over to your {side}",
            f"reposition {{target}} {{distance}} further to your {side}",
            f"bring {{target}} to a spot {{distance}} further {side} from your point of view",
        ),
        relation=side,
        plan=_plan(side),
    )


verb(
    "move",
    _sideways("left"),
    _sideways("right"),
    Sense(
        (
            "move {target} {distance} away from you",
            "shift {target} forward by {distance}, away from you",
            "displace {target} by {distance} in the direction that you face",
        ),
        (
            "slide {target} {distance} straight ahead of you",
            "reposition {target} {distance} farther from you",
            "bring {target} to a spot {distance} further ahead of you",
        ),
        relation="forward",
        plan=_plan("forward"),
    ),
    Sense(
        (
            "move {target} {distance} towards you",
            "shift {target} back by {distance}, towards you",
            "displace {target} by {distance} in your direction",
        ),
        (
            "slide {target} {distance} closer to you",
            "reposition {target} {distance} nearer to you",
            "bring {target} to a spot {distance} back towards you",
        ),
        relation="back",
        plan=_plan("back"),
    ),
    gerund="moving",
)
