"""The labels of a failure review, and what of them the automatic attribution means by its failure types."""

from __future__ import annotations

from typing import get_args

from robodx.analysis.attribution.base import Type
from robodx.records.review import Label

NO_FAILURE = "no failure"
CANNOT_TELL = "cannot tell"
MANIPULATION, MOTION, PLANNING = "manipulation", "motion", "planning and reasoning"

LABELS = (
    Label(
        "grasp synthesis", MANIPULATION, "It closes beside the thing, at a bad place of it, or never gets hold of it."
    ),
    Label("grasp stability", MANIPULATION, "It has hold of the thing, which then slips or falls."),
    Label("placement and release", MANIPULATION, "It brings the thing, and puts it down or lets go of it wrongly."),
    Label("collision", MOTION, "It bumps into the table, itself or a thing that it was not to touch."),
    Label("trajectory sub-optimality", MOTION, "It gets there by detours, or runs out of time while it still moves."),
    Label("control instability", MOTION, "It shakes, jerks, or presses against the limits of its joints."),
    Label("incomplete execution", PLANNING, "It stops, or stands still, before all that was asked for is done."),
    Label(
        "incorrect action sequence", PLANNING, "It does something else than what was asked for, or in another order."
    ),
    Label(NO_FAILURE, help="It did what was asked for, and did it well."),
    Label(CANNOT_TELL, help="The films do not show what went wrong.", is_abstention=True),
)

# The attribution tells apart more than the taxonomy: who takes the wrong thing does something else than was asked for.
OTHERWISE_CALLED = {"wrong object": "incorrect action sequence"}
AUTOMATIC = {name: OTHERWISE_CALLED.get(name, name) for name in get_args(Type)}


def automatic_label(is_flagged: bool | None, failure_type: str | None) -> str | None:
    """What the program says of an episode. None where it says nothing: an error, or actions that cannot be executed."""
    if is_flagged is None:
        return None
    return AUTOMATIC.get(failure_type or "") if is_flagged else NO_FAILURE
