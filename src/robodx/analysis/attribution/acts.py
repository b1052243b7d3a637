"""The right thing, and it did not work out: missed, lost, put wrongly, knocked over."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from robodx.analysis.attribution.base import AWAY_M, REST_M, REST_S, SETTLED_S, FailureCause, the
from robodx.analysis.episode_facts import EpisodeFacts, Requirement
from robodx.analysis.motion import is_shaking

# Farther than this, or tilted by more, a thing was knocked and not brushed.
KNOCKED_M = 0.05
KNOCKED_RAD = 0.7


def failed_acts(facts: EpisodeFacts) -> Iterator[FailureCause]:
    requirement = facts.stages[len(facts.stage_steps)]
    is_unsteady = is_shaking(facts.joints, facts.period_s)
    knocked = list(knocks(facts))
    # What lay well until it was knocked was not put wrongly.
    lost = [
        cause
        for cause in _lost(facts, requirement)
        if not any(knock.object == cause.object and knock.step > cause.step for knock in knocked)
    ]
    for cause in (*knocked, *lost, *_missed(facts, requirement), *_misled(facts, requirement)):
        yield cause._replace(type="control instability") if is_unsteady else cause


def knocks(facts: EpisodeFacts) -> Iterator[FailureCause]:
    """Things that were elsewhere, or on their side, after the robot met them without holding them."""
    moved_by_events = {name for e in facts.entries if e.kind == "event" for name in e.other.split(";")}
    wait = round(SETTLED_S / facts.period_s)
    aimed_at = {name for requirement in facts.stages for name in requirement.handled}
    for name in sorted(facts.movable):
        # What rolls by itself proves nothing.
        if name in moved_by_events:
            continue
        holds = [hold for hold in facts.holds if hold.object == name]
        # Until it is taken, what is to be taken or pushed is expected to be moved.
        starts = [hold.end + wait for hold in holds if hold.end is not None]
        if not holds and name not in aimed_at:
            starts = [0]
        for start in starts:
            end = min((hold.start for hold in holds if hold.start >= start), default=facts.steps)
            cause = _knock(facts, name, start, end)
            if cause is not None:
                yield cause
                break


def _knock(facts: EpisodeFacts, name: str, start: int, end: int) -> FailureCause | None:
    places = facts.positions[name]
    # What is still on the move was not knocked off its place.
    resting = (
        step
        for step in range(start, end)
        if np.linalg.norm(places[step : step + 5] - places[step], axis=1).max() < REST_M / 5
    )
    start = next(resting, end)
    shifts_m = np.linalg.norm(places[start : end + 1] - places[start], axis=1)
    turns_rad = np.abs(facts.tilts_rad[name][start : end + 1] - facts.tilts_rad[name][start])
    if shifts_m.max() < KNOCKED_M and turns_rad.max() < KNOCKED_RAD:
        return None
    step = start + int(np.argmax((shifts_m > REST_M) | (turns_rad > KNOCKED_RAD / 5)))
    is_met = any(e.kind == "contact" and e.object == name and start <= e.step <= step for e in facts.entries)
    held = [hold.object for hold in facts.holds if hold.start <= step <= (hold.end or facts.steps)]
    if not is_met and not any(facts.apart_m(name, other, step) < AWAY_M for other in held):
        return None
    how = "over" if turns_rad.max() >= KNOCKED_RAD else f"{100 * shifts_m.max():.0f} cm away"
    return FailureCause("motor", "collision", step, name, "", f"the robot knocked {the(name)} {how}")


def _lost(facts: EpisodeFacts, requirement: Requirement) -> Iterator[FailureCause]:
    """Things that were held and left the hand, for good, without the stage being reached."""
    for hold in facts.holds:
        if hold.end is None or hold.object not in requirement.handled or hold.end <= facts.last_stage_step():
            continue
        if facts.is_held_again(hold):
            continue
        if hold.is_dropped:
            says = f"{the(hold.object)} slipped out of the hand"
            yield FailureCause("motor", "grasp stability", hold.end, hold.object, requirement.says, says)
        elif hold.end + round(SETTLED_S / facts.period_s) <= facts.steps:
            says = f"the robot released {the(hold.object)}, but the goal was not met: {requirement.says}"
            yield FailureCause("motor", "placement and release", hold.end, hold.object, requirement.says, says)


def _missed(facts: EpisodeFacts, requirement: Requirement) -> Iterator[FailureCause]:
    """What was to be taken, and was only touched, or fingers closed on nothing."""
    since = facts.last_stage_step()
    if not requirement.wants_grasp or any(
        hold.object in requirement.handled and hold.start >= since for hold in facts.holds
    ):
        return
    for step in facts.closings:
        names = sorted(requirement.handled, key=lambda name: facts.distance_m(name, step))
        # Near where the thing is, or was: who comes too late closes on its place.
        if names and step >= since and facts.nearest_m(names, step) < AWAY_M:
            away_m = facts.distance_m(names[0], step)
            says = f"the gripper closed {100 * away_m:.0f} cm from {the(names[0])} and grasped nothing"
            yield FailureCause("motor", "grasp synthesis", step, names[0], requirement.says, says)
    for entry in facts.entries:
        if entry.kind == "contact" and entry.object in requirement.handled and entry.step >= since:
            says = f"the robot touched {the(entry.object)} but never grasped it"
            yield FailureCause("motor", "grasp synthesis", entry.step, entry.object, requirement.says, says)


def _misled(facts: EpisodeFacts, requirement: Requirement) -> Iterator[FailureCause]:
    """What is moved without being held, pushed or pressed, and came to rest where it should not be."""
    if requirement.wants_grasp or any(hold.object in requirement.handled for hold in facts.holds):
        return
    for name in sorted(requirement.handled):
        touched = facts.touched(name)
        if touched is None:
            continue
        last = round(REST_S / facts.period_s)
        path = facts.positions[name]
        if np.linalg.norm(path[-last:] - path[-1], axis=1).max() < REST_M:
            says = f"the robot moved {the(name)}, but the goal was not met: {requirement.says}"
            yield FailureCause("motor", "placement and release", touched, name, requirement.says, says)
