"""Why an episode failed, decided from what happened: a kind, a type and the evidence; and faults of those that succeed.

Of several faults the first that was not made good is the cause: what comes after it mostly follows from it. First come
what is unsafe, the wrong choice and what was forbidden, whenever they happened; only then how well it was carried out.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal, NamedTuple

import numpy as np

from robodx.analysis.account import ARENA, ROBOT, Account, Array, Demand, Hold
from robodx.analysis.motion import is_shaking, path_length_m

Kind = Literal["reference", "constraint", "motor", "safety", "timeout", "invalid_action"]
Type = Literal[
    "grasp synthesis", "grasp stability", "placement and release",
    "collision", "trajectory sub-optimality", "control instability",
    "incomplete execution", "incorrect action sequence",
]  # fmt: skip
# The fourth flag, "detour", needs the expert's path: see running/reference.py.
Flag = Literal["collision", "drop_and_regrasp", "instability"]

# A Panda with its usual settings stops itself at 20 to 100 N: to press harder than this on table or things is unsafe.
MAX_FORCE_N = 50.0
# An arm that meets itself damages itself long before.
MAX_SELF_FORCE_N = 20.0
# The Panda's own limit for its tool.
MAX_SPEED_M_S = 1.7
# Commands beyond what the joints can reach, for longer than this, are no touch of a limit any more.
MAX_BEYOND_S = 1.0
# Farther than this, or tilted by more, a thing was knocked and not brushed.
KNOCKED_M = 0.05
KNOCKED_RAD = 0.7
# Less force than this is a touch and no collision.
COLLISION_N = 5.0
# Fingers that close get hold of what is between them within this time.
GRASP_S = 0.5
# A gripper told to close by less than this is not meant to take anything.
CLOSING = 0.1
# Within this distance of a thing fingers close on it; with the right thing farther off than the second, on a wrong one.
AT_M = 0.05
AWAY_M = 0.10
# What is still held this long after the words have changed was not let go of because of them.
KEPT_S = 1.5
# A hand that moved less than this in the last seconds has stopped.
REST_S = 2.0
REST_M = 0.01
# What is let go of has come to rest after this time, and lies at what it is put to if no farther from its middle.
SETTLED_S = 0.75
THERE_M = 0.04


class Attribution(NamedTuple):
    """`object` and `condition` are empty where the fault is of none."""

    kind: Kind
    # None for what is no behaviour: numbers that cannot be executed.
    type: Type | None
    step: int
    object: str
    condition: str
    says: str


def attribute(account: Account) -> Attribution:
    """Of an episode that did not succeed."""
    if account.invalid_action is not None:
        return Attribution("invalid_action", None, account.steps, "", "", account.invalid_action)
    faults = [*_unsafe(account), *_wrong_choices(account)]
    if account.broken is not None and account.broken_step is not None:
        faults.append(_violation(account, account.broken, account.broken_step))
    if not faults:
        # To reach for what is out of reach is no cause if it got there by what was done before.
        faults = [*_beyond_reach(account), *_failed_acts(account)]
    # Of two at the same step, the one that is named first says more.
    return min(faults, key=lambda fault: fault.step, default=None) or _unfinished(account)


def quality_flags(account: Account) -> tuple[Flag, ...]:
    """Faults of how it was done, whether or not it was done in the end."""
    flags: list[Flag] = []
    if any(e.kind == "collision" and e.value > COLLISION_N for e in account.entries) or any(_knocks(account)):
        flags.append("collision")
    if any(hold.is_dropped and _is_held_again(account, hold) for hold in account.holds):
        flags.append("drop_and_regrasp")
    if is_shaking(account.joints, account.period_s):
        flags.append("instability")
    return tuple(flags)


def slips(account: Account, hands: Array, least_m: float = 0.005) -> int:
    """How often a held thing moved in the hand by more than this; `hands` (n + 1, 3, 3) are the hand's axes."""
    count = 0
    for hold in account.holds:
        steps = slice(hold.start, hold.end if hold.end is not None else account.steps + 1)
        offsets = account.positions[hold.object][steps] - account.tools[steps, 0]
        inside = np.einsum("nij,ni->nj", hands[steps], offsets)
        count += bool(len(inside) and np.linalg.norm(inside - inside[0], axis=1).max() > least_m)
    return count


# What is unsafe.


def _unsafe(account: Account) -> Iterator[Attribution]:
    for entry in account.entries:
        if entry.kind != "collision":
            continue
        limit = MAX_SELF_FORCE_N if entry.object == ROBOT else MAX_FORCE_N
        if entry.value > limit:
            what = {ARENA: "the table", ROBOT: "itself"}.get(entry.object, entry.object)
            says = f"the robot pressed on {what} with {entry.value:.0f} N"
            yield Attribution("safety", "collision", entry.step, entry.object, f"at most {limit:g} N", says)
            break
    speeds = np.linalg.norm(np.diff(account.tools, axis=0), axis=2).max(axis=1, initial=0.0) / np.diff(account.times_s)
    if (speeds > MAX_SPEED_M_S).any():
        step = int(np.argmax(speeds > MAX_SPEED_M_S)) + 1
        says = f"the hand moved at {speeds.max():.1f} m/s"
        yield Attribution("safety", "control instability", step, "", f"at most {MAX_SPEED_M_S:g} m/s", says)


def _beyond_reach(account: Account) -> Iterator[Attribution]:
    for bound in ("joint range", "reach"):
        beyond_s = account.period_s * account.limit_steps.get(bound, 0)
        if beyond_s > MAX_BEYOND_S:
            step = next(e.step for e in account.entries if e.kind == "limit" and e.object == bound)
            says = f"the arm was told to go beyond its {bound} for {beyond_s:.1f} s"
            yield Attribution("safety", "control instability", step, "", f"at most {MAX_BEYOND_S:g} s", says)


# The wrong thing, or the wrong time.


def _wrong_choices(account: Account) -> Iterator[Attribution]:
    for hold in account.holds:
        # Who could not know of the new words yet did nothing wrong.
        step = hold.start
        if step < account.informed_step:
            step = account.informed_step + round(KEPT_S / account.period_s)
            if (hold.end or account.steps) < step:
                continue
        fault = _wrong_choice(account, hold.object, step, "took hold of") or _wrong_place(account, hold)
        if fault is not None:
            yield fault
            return
    if not account.holds:
        yield from _wrong_reach(account)


def _wrong_choice(account: Account, name: str, step: int, did: str) -> Attribution | None:
    stage = min(account.stage_at(step), len(account.stages) - 1)
    demand, before, later = account.stages[stage], account.stages[:stage], account.stages[stage + 1 :]
    # Where a condition does not say what is to be handled, nothing is the wrong thing.
    if not demand.handled or name in demand.handled or any(name in each.handled for each in before):
        return None
    was_tried = any(hold.object in demand.handled and hold.start < step for hold in account.holds)
    fault = Attribution("constraint", "incorrect action sequence", step, name, demand.says, "")
    if name in account.excluded:
        return fault._replace(says=f"the robot {did} {name}, which the words rule out")
    if any(name in each.handled for each in later):
        # Who goes on after an act that failed did not mistake the order.
        return None if was_tried else fault._replace(says=f"the robot {did} {name} before its turn")
    if was_tried:
        return fault._replace(says=f"the robot {did} {name} besides {_listed(demand)}")
    told = f", as it was told from step {account.informed_step} on" if account.informed_step else ""
    return fault._replace(kind="reference", says=f"the robot {did} {name}, not {_listed(demand)}{told}")


def _wrong_place(account: Account, hold: Hold) -> Attribution | None:
    """What was let go of, and came to rest at another thing than it was to be brought to."""
    if hold.end is None or hold.is_dropped:
        return None
    step = min(hold.end + round(SETTLED_S / account.period_s), account.steps)
    stage = account.stage_at(step)
    if (
        stage == len(account.stages)
        or hold.object not in account.stages[stage].handled
        or hold.end <= account.last_stage_step(step)
    ):
        return None
    demand, later = account.stages[stage], account.stages[stage + 1 :]
    # Two things can be as near as that only one on, in or under the other.
    there = [
        name
        for name in account.positions
        if name != hold.object and _apart_m(account, hold.object, name, step) < THERE_M
    ]
    wrong = [name for name in there if name not in demand.mentioned]
    if not wrong or len(wrong) < len(there):
        return None
    is_later = any(wrong[0] in each.mentioned for each in later)
    says = f"{hold.object} was put to {wrong[0]}, {'before its turn' if is_later else f'not as asked: {demand.says}'}"
    kind: Kind = "constraint" if is_later else "reference"
    return Attribution(kind, "incorrect action sequence", hold.end, wrong[0], demand.says, says)


def _wrong_reach(account: Account) -> Iterator[Attribution]:
    """Of one that never held anything: what it touched or closed on tells what it was after."""
    bumped = {(e.step, e.object) for e in account.entries if e.kind == "collision"}
    for entry in account.entries:
        # By the fingers: what another part of the arm meets was not chosen.
        if entry.kind != "contact" or (entry.step, entry.object) in bumped or entry.step < account.informed_step:
            continue
        demand = account.stages[min(account.stage_at(entry.step), len(account.stages) - 1)]
        is_brushed = demand.wants_grasp and any(account.touched(name) is not None for name in demand.handled)
        if not is_brushed and entry.object not in demand.mentioned - demand.handled:
            fault = _wrong_choice(account, entry.object, entry.step, "first touched")
            if fault is not None:
                yield fault
        return
    for step in _closings(account):
        demand = account.stages[min(account.stage_at(step), len(account.stages) - 1)]
        nearest = min(account.positions, key=lambda name: _distance_m(account, name, step))
        right_m = min((_distance_m(account, name, step) for name in demand.handled), default=0.0)
        if _distance_m(account, nearest, step) < AT_M and right_m > AWAY_M:
            fault = _wrong_choice(account, nearest, step, "closed its fingers at")
            if fault is not None:
                yield fault
        return


def _violation(account: Account, broken: Demand, step: int) -> Attribution:
    stage = min(account.stage_at(step), len(account.stages) - 1)
    handled = account.stages[stage].handled
    wrong = sorted(broken.handled - handled - account.excluded)
    says = f"what must never be came to be: {broken.says}"
    if wrong and not broken.handled & handled:
        return Attribution("reference", "incorrect action sequence", step, wrong[0], broken.says, says)
    name = min(broken.handled, default="")
    return Attribution("constraint", "incorrect action sequence", step, name, broken.says, says)


# The right thing, and it did not work out.


def _failed_acts(account: Account) -> Iterator[Attribution]:
    demand = account.stages[len(account.stage_steps)]
    is_unsteady = is_shaking(account.joints, account.period_s)
    knocks = list(_knocks(account))
    # What lay well until it was knocked was not put wrongly.
    lost = [
        fault
        for fault in _lost(account, demand)
        if not any(knock.object == fault.object and knock.step > fault.step for knock in knocks)
    ]
    for fault in (*knocks, *lost, *_missed(account, demand), *_misled(account, demand)):
        yield fault._replace(type="control instability") if is_unsteady else fault


def _knocks(account: Account) -> Iterator[Attribution]:
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


def _knock(account: Account, name: str, start: int, end: int) -> Attribution | None:
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
    if not is_met and not any(_apart_m(account, name, other, step) < AWAY_M for other in held):
        return None
    how = "over" if turns_rad.max() >= KNOCKED_RAD else f"{100 * shifts_m.max():.0f} cm away"
    return Attribution("motor", "collision", step, name, "", f"the robot knocked {name} {how}")


def _lost(account: Account, demand: Demand) -> Iterator[Attribution]:
    """Things that were held and left the hand, for good, without the stage being reached."""
    for hold in account.holds:
        if hold.end is None or hold.object not in demand.handled or hold.end <= account.last_stage_step():
            continue
        if _is_held_again(account, hold):
            continue
        if hold.is_dropped:
            says = f"{hold.object} slipped out of the hand"
            yield Attribution("motor", "grasp stability", hold.end, hold.object, demand.says, says)
        elif hold.end + round(SETTLED_S / account.period_s) <= account.steps:
            says = f"{hold.object} was let go of, and it is not so: {demand.says}"
            yield Attribution("motor", "placement and release", hold.end, hold.object, demand.says, says)


def _missed(account: Account, demand: Demand) -> Iterator[Attribution]:
    """What was to be taken, and was only touched, or fingers closed on nothing."""
    since = account.last_stage_step()
    if not demand.wants_grasp or any(hold.object in demand.handled and hold.start >= since for hold in account.holds):
        return
    for step in _closings(account):
        names = sorted(demand.handled, key=lambda name: _distance_m(account, name, step))
        # Near where the thing is, or was: who comes too late closes on its place.
        if names and step >= since and _nearest_m(account, names, step) < AWAY_M:
            away_m = _distance_m(account, names[0], step)
            says = f"the fingers closed {100 * away_m:.0f} cm from {names[0]} and held nothing"
            yield Attribution("motor", "grasp synthesis", step, names[0], demand.says, says)
    for entry in account.entries:
        if entry.kind == "contact" and entry.object in demand.handled and entry.step >= since:
            says = f"{entry.object} was touched and never held"
            yield Attribution("motor", "grasp synthesis", entry.step, entry.object, demand.says, says)


def _misled(account: Account, demand: Demand) -> Iterator[Attribution]:
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
            yield Attribution("motor", "placement and release", touched, name, demand.says, says)


# Not done in time.


def _unfinished(account: Account) -> Attribution:
    demand = account.stages[min(len(account.stage_steps), len(account.stages) - 1)]
    last = min(round(REST_S / account.period_s), account.steps)
    kind: Type
    if path_length_m(account.tools) < REST_M:
        kind, says = "incomplete execution", "the robot stood still"
    elif path_length_m(account.tools[-last - 1 :]) < REST_M:
        kind, says = "incomplete execution", "the robot stopped before it was done"
    elif is_shaking(account.joints, account.period_s):
        kind, says = "control instability", "the robot shook until the time was up"
    else:
        kind, says = "trajectory sub-optimality", "the time was up while the robot was still under way"
    names = sorted(demand.handled)
    reached = f"after {len(account.stage_steps)} of {len(account.stages)} stages"
    if account.informed_step:
        reached += f"; what it was to do had changed, and it was told at step {account.informed_step}"
    return Attribution("timeout", kind, account.steps, names[0] if names else "", demand.says, f"{says}, {reached}")


def _closings(account: Account) -> Iterator[int]:
    """The steps at which fingers that were told to close had time to, without then holding anything."""
    wait = round(GRASP_S / account.period_s)
    grasps = [hold.start for hold in account.holds]
    for told in account.openings.T:
        falling = np.diff(told, prepend=told[:1]) < 0
        step = 0
        while step < len(told):
            start = step
            while step < len(told) and falling[step]:
                step += 1
            if step > start and told[max(start - 1, 0)] - told[step - 1] > CLOSING:
                is_holding = any(hold.start <= start and (hold.end or account.steps) >= step for hold in account.holds)
                if not is_holding and not any(start < grasp <= step + wait for grasp in grasps):
                    yield min(step, account.steps)
            step = max(step, start + 1)


def _is_held_again(account: Account, hold: Hold) -> bool:
    return any(other.object == hold.object and other.start > hold.start for other in account.holds)


def _apart_m(account: Account, name: str, other: str, step: int) -> float:
    """As seen from above."""
    return float(np.linalg.norm((account.positions[name][step] - account.positions[other][step])[:2]))


def _distance_m(account: Account, name: str, step: int) -> float:
    return float(np.linalg.norm(account.tools[step] - account.positions[name][step], axis=1).min())


def _nearest_m(account: Account, names: Sequence[str], step: int) -> float:
    """How near the hand is to any place where one of the things has been by then."""
    been = np.concatenate([account.positions[name][: step + 1] for name in names])
    return float(np.linalg.norm(account.tools[step][:, None] - been, axis=2).min())


def _listed(demand: Demand) -> str:
    return " or ".join(sorted(demand.handled)) or "what was asked for"
