"""The wrong thing, the wrong place, the wrong time, or what was forbidden."""

from __future__ import annotations

from collections.abc import Iterator

from robodx.analysis.account import Demand, EpisodeFacts, Hold
from robodx.analysis.attribution.base import AWAY_M, SETTLED_S, Fault, Kind

# What is still held this long after the words have changed was not let go of because of them.
KEPT_S = 1.5
# Within this distance of a thing fingers close on it.
AT_M = 0.05
# What is put to a thing lies no farther than this from its middle.
THERE_M = 0.04


def wrong_choices(account: EpisodeFacts) -> Iterator[Fault]:
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


def _wrong_choice(account: EpisodeFacts, name: str, step: int, did: str) -> Fault | None:
    stage = min(account.stage_at(step), len(account.stages) - 1)
    demand, before, later = account.stages[stage], account.stages[:stage], account.stages[stage + 1 :]
    # Where a condition does not say what is to be handled, nothing is the wrong thing.
    if not demand.handled or name in demand.handled or any(name in each.handled for each in before):
        return None
    was_tried = any(hold.object in demand.handled and hold.start < step for hold in account.holds)
    fault = Fault("constraint", "incorrect action sequence", step, name, demand.says, "")
    if name in account.excluded:
        return fault._replace(says=f"the robot {did} {name}, which the words rule out")
    if any(name in each.handled for each in later):
        # Who goes on after an act that failed did not mistake the order.
        return None if was_tried else fault._replace(says=f"the robot {did} {name} before its turn")
    if was_tried:
        return fault._replace(says=f"the robot {did} {name} besides {_listed(demand)}")
    told = f", as it was told from step {account.informed_step} on" if account.informed_step else ""
    return fault._replace(kind="reference", says=f"the robot {did} {name}, not {_listed(demand)}{told}")


def _wrong_place(account: EpisodeFacts, hold: Hold) -> Fault | None:
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
        name for name in account.positions if name != hold.object and account.apart_m(hold.object, name, step) < THERE_M
    ]
    wrong = [name for name in there if name not in demand.mentioned]
    if not wrong or len(wrong) < len(there):
        return None
    is_later = any(wrong[0] in each.mentioned for each in later)
    says = f"{hold.object} was put to {wrong[0]}, {'before its turn' if is_later else f'not as asked: {demand.says}'}"
    kind: Kind = "constraint" if is_later else "reference"
    return Fault(kind, "incorrect action sequence", hold.end, wrong[0], demand.says, says)


def _wrong_reach(account: EpisodeFacts) -> Iterator[Fault]:
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
    for step in account.closings:
        demand = account.stages[min(account.stage_at(step), len(account.stages) - 1)]
        nearest = min(account.positions, key=lambda name: account.distance_m(name, step))
        right_m = min((account.distance_m(name, step) for name in demand.handled), default=0.0)
        if account.distance_m(nearest, step) < AT_M and right_m > AWAY_M:
            fault = _wrong_choice(account, nearest, step, "closed its fingers at")
            if fault is not None:
                yield fault
        return


def violation(account: EpisodeFacts, broken: Demand, step: int) -> Fault:
    stage = min(account.stage_at(step), len(account.stages) - 1)
    handled = account.stages[stage].handled
    wrong = sorted(broken.handled - handled - account.excluded)
    says = f"what must never be came to be: {broken.says}"
    if wrong and not broken.handled & handled:
        return Fault("reference", "incorrect action sequence", step, wrong[0], broken.says, says)
    name = min(broken.handled, default="")
    return Fault("constraint", "incorrect action sequence", step, name, broken.says, says)


def _listed(demand: Demand) -> str:
    return " or ".join(sorted(demand.handled)) or "what was asked for"
