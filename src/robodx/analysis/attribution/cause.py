"""Which fault is the cause of a failure; and faults of those that succeed.

Of several faults the first that was not made good is the cause: what comes after it mostly follows from it. First come
what is unsafe, the wrong choice and what was forbidden, whenever they happened; only then how well it was carried out.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

import numpy as np

from robodx.analysis.attribution.acts import failed_acts, knocks
from robodx.analysis.attribution.base import REST_M, REST_S, FailureCause, Type
from robodx.analysis.attribution.choices import violation, wrong_choices
from robodx.analysis.attribution.safety import beyond_reach, unsafe
from robodx.analysis.episode_facts import Array, EpisodeFacts
from robodx.analysis.motion import is_shaking, path_length_m

# The fourth flag, "detour", needs the expert's path: see running/reference.py.
Flag = Literal["collision", "drop_and_regrasp", "instability"]

# Less force than this is a touch and no collision.
COLLISION_N = 5.0
# A held thing that moved farther than this in the hand slipped.
SLIP_M = 0.005


def attribute(facts: EpisodeFacts) -> FailureCause:
    """Of an episode that did not succeed."""
    if facts.invalid_action is not None:
        return FailureCause("invalid_action", None, facts.steps, "", "", facts.invalid_action)
    causes = [*unsafe(facts), *_misjudged(facts)]
    if not causes:
        # To reach for what is out of reach is no cause if it got there by what was done before.
        causes = [*beyond_reach(facts), *failed_acts(facts)]
    # Of two at the same step, the one that is named first says more.
    cause = min(causes, key=lambda cause: cause.step, default=None) or _unfinished(facts)
    # What is unsafe counts whatever was reached, and must not hide that nothing was.
    return cause._replace(says=f"{cause.says}; {_reached(facts)}") if cause.kind == "safety" else cause


def first_mistake(facts: EpisodeFacts) -> FailureCause | None:
    """What was chosen wrongly or was forbidden, cause or not: who scrapes the table may confuse colours too."""
    return min(_misjudged(facts), key=lambda cause: cause.step, default=None)


def _misjudged(facts: EpisodeFacts) -> Iterator[FailureCause]:
    yield from wrong_choices(facts)
    if facts.broken is not None and facts.broken_step is not None:
        yield violation(facts, facts.broken, facts.broken_step)


def _unfinished(facts: EpisodeFacts) -> FailureCause:
    requirement = facts.stages[min(len(facts.stage_steps), len(facts.stages) - 1)]
    last = min(round(REST_S / facts.period_s), facts.steps)
    kind: Type
    if path_length_m(facts.tools) < REST_M:
        kind, says = "incomplete execution", "the robot stood still"
    elif path_length_m(facts.tools[-last - 1 :]) < REST_M:
        kind, says = "incomplete execution", "the robot stopped before the task was done"
    elif is_shaking(facts.joints, facts.period_s):
        kind, says = "control instability", "the robot shook until it ran out of time"
    else:
        kind, says = "trajectory sub-optimality", "the robot ran out of time while it was still moving"
    names = sorted(requirement.handled)
    reached = _reached(facts)
    if facts.informed_step:
        reached += f"; the goal had changed, and the policy was informed at step {facts.informed_step}"
    return FailureCause("timeout", kind, facts.steps, names[0] if names else "", requirement.says, f"{says}; {reached}")


def _reached(facts: EpisodeFacts) -> str:
    count = len(facts.stages)
    return f"it reached {len(facts.stage_steps)} of {count} stage{'s'[: count != 1]}"


def quality_flags(facts: EpisodeFacts) -> tuple[Flag, ...]:
    """Faults of how it was done, whether or not it was done in the end."""
    flags: list[Flag] = []
    if any(e.kind == "collision" and e.value > COLLISION_N for e in facts.entries) or any(knocks(facts)):
        flags.append("collision")
    if any(hold.is_dropped and facts.is_held_again(hold) for hold in facts.holds):
        flags.append("drop_and_regrasp")
    if is_shaking(facts.joints, facts.period_s):
        flags.append("instability")
    return tuple(flags)


def slips(facts: EpisodeFacts, hands: Array) -> int:
    """How often a held thing moved in the hand by more than this; `hands` (n + 1, arms, 3, 3) are their axes."""
    count = 0
    for hold in facts.holds:
        steps = slice(hold.start, hold.end if hold.end is not None else facts.steps + 1)
        offsets = facts.positions[hold.object][steps] - facts.tools[steps, hold.hand]
        inside = np.einsum("nij,ni->nj", hands[steps, hold.hand], offsets)
        count += bool(len(inside) and np.linalg.norm(inside - inside[0], axis=1).max() > SLIP_M)
    return count
