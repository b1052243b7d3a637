"""Which fault is the cause of a failure; and faults of those that succeed.

Of several faults the first that was not made good is the cause: what comes after it mostly follows from it. First come
what is unsafe, the wrong choice and what was forbidden, whenever they happened; only then how well it was carried out.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

import numpy as np

from robodx.analysis.account import Array, EpisodeFacts
from robodx.analysis.attribution.acts import failed_acts, knocks
from robodx.analysis.attribution.base import REST_M, REST_S, Fault, Type
from robodx.analysis.attribution.choices import violation, wrong_choices
from robodx.analysis.attribution.safety import beyond_reach, unsafe
from robodx.analysis.motion import is_shaking, path_length_m

# The fourth flag, "detour", needs the expert's path: see running/reference.py.
Flag = Literal["collision", "drop_and_regrasp", "instability"]

# Less force than this is a touch and no collision.
COLLISION_N = 5.0
# A held thing that moved farther than this in the hand slipped.
SLIP_M = 0.005


def attribute(account: EpisodeFacts) -> Fault:
    """Of an episode that did not succeed."""
    if account.invalid_action is not None:
        return Fault("invalid_action", None, account.steps, "", "", account.invalid_action)
    faults = [*unsafe(account), *_misjudged(account)]
    if not faults:
        # To reach for what is out of reach is no cause if it got there by what was done before.
        faults = [*beyond_reach(account), *failed_acts(account)]
    # Of two at the same step, the one that is named first says more.
    return min(faults, key=lambda fault: fault.step, default=None) or _unfinished(account)


def first_mistake(account: EpisodeFacts) -> Fault | None:
    """What was chosen wrongly or was forbidden, cause or not: who scrapes the table may confuse colours too."""
    return min(_misjudged(account), key=lambda fault: fault.step, default=None)


def _misjudged(account: EpisodeFacts) -> Iterator[Fault]:
    yield from wrong_choices(account)
    if account.broken is not None and account.broken_step is not None:
        yield violation(account, account.broken, account.broken_step)


def _unfinished(account: EpisodeFacts) -> Fault:
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
    return Fault("timeout", kind, account.steps, names[0] if names else "", demand.says, f"{says}, {reached}")


def quality_flags(account: EpisodeFacts) -> tuple[Flag, ...]:
    """Faults of how it was done, whether or not it was done in the end."""
    flags: list[Flag] = []
    if any(e.kind == "collision" and e.value > COLLISION_N for e in account.entries) or any(knocks(account)):
        flags.append("collision")
    if any(hold.is_dropped and account.is_held_again(hold) for hold in account.holds):
        flags.append("drop_and_regrasp")
    if is_shaking(account.joints, account.period_s):
        flags.append("instability")
    return tuple(flags)


def slips(account: EpisodeFacts, hands: Array) -> int:
    """How often a held thing moved in the hand by more than this; `hands` (n + 1, 3, 3) are the hand's axes."""
    count = 0
    for hold in account.holds:
        steps = slice(hold.start, hold.end if hold.end is not None else account.steps + 1)
        offsets = account.positions[hold.object][steps] - account.tools[steps, 0]
        inside = np.einsum("nij,ni->nj", hands[steps], offsets)
        count += bool(len(inside) and np.linalg.norm(inside - inside[0], axis=1).max() > SLIP_M)
    return count
