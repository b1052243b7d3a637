"""The right thing, and it did not work out: missed, lost, put wrongly, knocked over."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from robodx.analysis.account import Demand, EpisodeFacts
from robodx.analysis.attribution.base import AWAY_M, REST_M, REST_S, SETTLED_S, Fault
from robodx.analysis.motion import is_shaking

# Farther than this, or tilted by more, a thing was knocked and not brushed.
KNOCKED_M = 0.05
KNOCKED_RAD = 0.7


def failed_acts(account: EpisodeFacts) -> Iterator[Fault]:
    demand = account.stages[len(account.stage_steps)]
    is_unsteady = is_shaking(account.joints, account.period_s)
    knocked = list(knocks(account))
    # What lay well until it was knocked was not put wrongly.
    lost = [
        fault
        for fault in _lost(account, demand)
        if not any(knock.object == fault.object and knock.step > fault.step for knock in knocked)
    ]
    for fault in (*knocked, *lost, *_missed(account, demand), *_misled(account, demand)):
        yield fault._replace(type="control instability") if is_unsteady else fault


def knocks(account: EpisodeFacts) -> Iterator[Fault]:
    """Things that were elsewhere, or on their side, after the robot met them without holding them."""
    moved_by_events = {name for e in account.entries if e.kind == "event" for name in e.other.split(";")}
    wait = round(SETTLED_S / account.period_s)
    aimed_at = {name for demand in account.stages for name in demand.handled}
    for name in sorted(account.movable):
        # What rolls by itself proves nothing.
        if name in moved_by_events:
            continue
        holds = [hold for hold in account.holds if hold.object == name]
        # Until it is taken, what is to be taken or pushed is expected to be moved.
        starts = [hold.end + wait for hold in holds if hold.end is not None]
        if not holds and name not in aimed_at:
            starts = [0]
        for start in starts:
            end = min((hold.start for hold in holds if hold.start >= start), default=account.steps)
            fault = _knock(account, name, start, end)
            if fault is not None:
                yield fault
                break


def _knock(account: EpisodeFacts, name: str, start: int, end: int) -> Fault | None:
    places = account.positions[name]
    # What is still on the move was not knocked off its place.
    resting = (
        step
        for step in range(start, end)
        if np.linalg.norm(places[step : step + 5] - places[step], axis=1).max() < REST_M / 5
    )
    start = next(resting, end)
    shifts_m = np.linalg.norm(places[start : end + 1] - places[start], axis=1)
    turns_rad = np.abs(account.tilts_rad[name][start : end + 1] - account.tilts_rad[name][start])
    if shifts_m.max() < KNOCKED_M and turns_rad.max() < KNOCKED_RAD:
        return None
    step = start + int(np.argmax((shifts_m > REST_M) | (turns_rad > KNOCKED_RAD / 5)))
    is_met = any(e.kind == "contact" and e.object == name and start <= e.step <= step for e in account.entries)
    held = [hold.object for hold in account.holds if hold.start <= step <= (hold.end or account.steps)]
    if not is_met and not any(account.apart_m(name, other, step) < AWAY_M for other in held):
        return None
    how = "over" if turns_rad.max() >= KNOCKED_RAD else f"{100 * shifts_m.max():.0f} cm away"
    return Fault("motor", "collision", step, name, "", f"the robot knocked {name} {how}")


def _lost(account: EpisodeFacts, demand: Demand) -> Iterator[Fault]:
    """Things that were held and left the hand, for good, without the stage being reached."""
    for hold in account.holds:
        if hold.end is None or hold.object not in demand.handled or hold.end <= account.last_stage_step():
            continue
        if account.is_held_again(hold):
            continue
        if hold.is_dropped:
            says = f"{hold.object} slipped out of the hand"
            yield Fault("motor", "grasp stability", hold.end, hold.object, demand.says, says)
        elif hold.end + round(SETTLED_S / account.period_s) <= account.steps:
            says = f"{hold.object} was let go of, and it is not so: {demand.says}"
            yield Fault("motor", "placement and release", hold.end, hold.object, demand.says, says)


def _missed(account: EpisodeFacts, demand: Demand) -> Iterator[Fault]:
    """What was to be taken, and was only touched, or fingers closed on nothing."""
    since = account.last_stage_step()
    if not demand.wants_grasp or any(hold.object in demand.handled and hold.start >= since for hold in account.holds):
        return
    for step in account.closings:
        names = sorted(demand.handled, key=lambda name: account.distance_m(name, step))
        # Near where the thing is, or was: who comes too late closes on its place.
        if names and step >= since and account.nearest_m(names, step) < AWAY_M:
            away_m = account.distance_m(names[0], step)
            says = f"the fingers closed {100 * away_m:.0f} cm from {names[0]} and held nothing"
            yield Fault("motor", "grasp synthesis", step, names[0], demand.says, says)
    for entry in account.entries:
        if entry.kind == "contact" and entry.object in demand.handled and entry.step >= since:
            says = f"{entry.object} was touched and never held"
            yield Fault("motor", "grasp synthesis", entry.step, entry.object, demand.says, says)


def _misled(account: EpisodeFacts, demand: Demand) -> Iterator[Fault]:
    """What is moved without being held, pushed or pressed, and came to rest where it should not be."""
    if demand.wants_grasp or any(hold.object in demand.handled for hold in account.holds):
        return
    for name in sorted(demand.handled):
        touched = account.touched(name)
        if touched is None:
            continue
        last = round(REST_S / account.period_s)
        path = account.positions[name]
        if np.linalg.norm(path[-last:] - path[-1], axis=1).max() < REST_M:
            says = f"{name} was moved and came to rest, and it is not so: {demand.says}"
            yield Fault("motor", "placement and release", touched, name, demand.says, says)
