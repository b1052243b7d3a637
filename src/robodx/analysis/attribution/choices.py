"""The wrong thing, the wrong place, the wrong time, or what was forbidden."""

from __future__ import annotations

from collections.abc import Iterator

from robodx.analysis.attribution.base import AWAY_M, SETTLED_S, FailureCause, is_numbered, the
from robodx.analysis.episode_facts import EpisodeFacts, Hold, Requirement

# What is still held this long after the words have changed was not let go of because of them.
KEPT_S = 1.5
# Within this distance of a thing fingers close on it.
AT_M = 0.05
# What is put to a thing lies no farther than this from its middle.
THERE_M = 0.04


def wrong_choices(facts: EpisodeFacts) -> Iterator[FailureCause]:
    for hold in facts.holds:
        # Who could not know of the new words yet did nothing wrong.
        step = hold.start
        if step < facts.informed_step:
            step = facts.informed_step + round(KEPT_S / facts.period_s)
            if (hold.end or facts.steps) < step:
                continue
        cause = _wrong_choice(facts, hold.object, step, "grasped") or _wrong_place(facts, hold)
        if cause is not None:
            yield cause
            return
    if not facts.holds:
        yield from _wrong_reach(facts)


def _wrong_choice(facts: EpisodeFacts, name: str, step: int, did: str) -> FailureCause | None:
    stage = min(facts.stage_at(step), len(facts.stages) - 1)
    requirement, before, later = facts.stages[stage], facts.stages[:stage], facts.stages[stage + 1 :]
    # Where a condition does not say what is to be handled, nothing is the wrong thing.
    if not requirement.handled or name in requirement.handled or any(name in each.handled for each in before):
        return None
    was_tried = any(hold.object in requirement.handled and hold.start < step for hold in facts.holds)
    cause = FailureCause("constraint", "incorrect action sequence", step, name, requirement.says, "")
    if name in facts.excluded:
        return cause._replace(says=f"the robot {did} {the(name)}, which the instruction excludes")
    if any(name in each.handled for each in later):
        # Who goes on after an act that failed did not mistake the order.
        return None if was_tried else cause._replace(says=f"the robot {did} {the(name)} before its turn")
    if was_tried:
        return cause._replace(says=f"the robot {did} {the(name)} in addition to {_listed(requirement)}")
    since_when = f", the target from step {facts.informed_step} on" if facts.informed_step else ""
    right = f"{_listed(requirement)}{_where(facts, name, requirement, step)}{since_when}"
    says = f"the robot {did} {the(name)} instead of {right}"
    return cause._replace(kind="reference", type="wrong object", says=says)


def _wrong_place(facts: EpisodeFacts, hold: Hold) -> FailureCause | None:
    """What was let go of, and came to rest at another thing than it was to be brought to."""
    if hold.end is None or hold.is_dropped:
        return None
    step = min(hold.end + round(SETTLED_S / facts.period_s), facts.steps)
    stage = facts.stage_at(step)
    if (
        stage == len(facts.stages)
        or hold.object not in facts.stages[stage].handled
        or hold.end <= facts.last_stage_step(step)
    ):
        return None
    requirement, later = facts.stages[stage], facts.stages[stage + 1 :]
    # Two things can be as near as that only one on, in or under the other.
    there = [
        name for name in facts.positions if name != hold.object and facts.apart_m(hold.object, name, step) < THERE_M
    ]
    wrong = [name for name in there if name not in requirement.mentioned]
    if not wrong or len(wrong) < len(there):
        return None
    is_later = any(wrong[0] in each.mentioned for each in later)
    mistake = "before its turn" if is_later else f"but the goal was: {requirement.says}"
    says = f"the robot put {the(hold.object)} at {the(wrong[0])}, {mistake}"
    cause = FailureCause("reference", "wrong object", hold.end, wrong[0], requirement.says, says)
    return cause._replace(kind="constraint", type="incorrect action sequence") if is_later else cause


def _wrong_reach(facts: EpisodeFacts) -> Iterator[FailureCause]:
    """Of one that never held anything: what it touched or closed on tells what it was after."""
    bumped = {(e.step, e.object) for e in facts.entries if e.kind == "collision"}
    for entry in facts.entries:
        # By the fingers: what another part of the arm meets was not chosen.
        if entry.kind != "contact" or (entry.step, entry.object) in bumped or entry.step < facts.informed_step:
            continue
        requirement = facts.stages[min(facts.stage_at(entry.step), len(facts.stages) - 1)]
        is_brushed = requirement.wants_grasp and any(facts.touched(name) is not None for name in requirement.handled)
        if not is_brushed and entry.object not in requirement.mentioned - requirement.handled:
            cause = _wrong_choice(facts, entry.object, entry.step, "first touched")
            if cause is not None:
                yield cause
        return
    for step in facts.closings:
        requirement = facts.stages[min(facts.stage_at(step), len(facts.stages) - 1)]
        nearest = min(facts.positions, key=lambda name: facts.distance_m(name, step))
        right_m = min((facts.distance_m(name, step) for name in requirement.handled), default=0.0)
        if facts.distance_m(nearest, step) < AT_M and right_m > AWAY_M:
            cause = _wrong_choice(facts, nearest, step, "closed its gripper at")
            if cause is not None:
                yield cause
        return


def violation(facts: EpisodeFacts, broken: Requirement, step: int) -> FailureCause:
    stage = min(facts.stage_at(step), len(facts.stages) - 1)
    handled = facts.stages[stage].handled
    wrong = sorted(broken.handled - handled - facts.excluded)
    says = f"a forbidden condition occurred: {broken.says}"
    if wrong and not broken.handled & handled:
        return FailureCause("reference", "wrong object", step, wrong[0], broken.says, says)
    name = min(broken.handled, default="")
    return FailureCause("constraint", "incorrect action sequence", step, name, broken.says, says)


def _where(facts: EpisodeFacts, name: str, requirement: Requirement, step: int) -> str:
    """Of things that look alike, only their places say which is meant."""
    apart_m = [facts.apart_m(name, right, step) for right in requirement.handled & facts.positions.keys()]
    return f", {100 * min(apart_m):.0f} cm away" if is_numbered(name) and apart_m else ""


def _listed(requirement: Requirement) -> str:
    return " or ".join(map(the, sorted(requirement.handled))) or "the requested object"
