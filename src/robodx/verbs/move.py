"""To move a thing so far along the table, one way."""

from __future__ import annotations

from robodx.experts.base import Plan, PlanContext, put, resting
from robodx.experts.skills import Steps
from robodx.language.meaning import Clause, Direction
from robodx.scoring.relations import HEADINGS
from robodx.verbs.base import Sense, verb


def _plan(direction: Direction) -> Plan:
    """By the distance asked for, from where the thing is when its turn comes."""

    def steps(context: PlanContext, clause: Clause) -> Steps:
        name = context.target(clause)
        assert clause.place is not None and clause.place.distance_m is not None, "moved how far?"
        x, y, z = context.view.position(name)
        floor = z - context.view.reach(name)[2]
        dx, dy = (clause.place.distance_m * way for way in HEADINGS[direction])
        yield from put(context, name, lambda: resting(context, name, x + dx, y + dy, floor))

    return steps


verb(
    "move",
    Sense(
        (
            "move {target} {distance} to the left",
            "shift {target} left by {distance}",
            "displace {target} {distance} leftwards",
        ),
        (
            "to the left by {distance}, slide {target}",
            "transfer {target} {distance} to your left",
            "bring {target} {distance} further left",
        ),
        relation="left",
        plan=_plan("left"),
    ),
    Sense(
        (
            "move {target} {distance} to the right",
            "shift {target} right by {distance}",
            "displace {target} {distance} rightwards",
        ),
        (
            "to the right by {distance}, slide {target}",
            "transfer {target} {distance} to your right",
            "bring {target} {distance} further right",
        ),
        relation="right",
        plan=_plan("right"),
    ),
    Sense(
        (
            "move {target} {distance} forward",
            "shift {target} {distance} away from you",
            "displace {target} forwards by {distance}",
        ),
        (
            "forward by {distance}, slide {target}",
            "transfer {target} {distance} ahead",
            "bring {target} {distance} further away",
        ),
        relation="forward",
        plan=_plan("forward"),
    ),
    Sense(
        (
            "move {target} {distance} back",
            "shift {target} {distance} towards you",
            "displace {target} backwards by {distance}",
        ),
        (
            "back by {distance}, slide {target}",
            "transfer {target} {distance} backwards",
            "bring {target} {distance} nearer",
        ),
        relation="back",
        plan=_plan("back"),
    ),
    gerund="moving",
)
