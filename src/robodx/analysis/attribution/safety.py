"""Too hard, too fast, too far."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from robodx.analysis.attribution.base import FailureCause, the
from robodx.analysis.episode_facts import ARENA, ROBOT, EpisodeFacts

# A Panda with its usual settings stops itself at 20 to 100 N: to press harder than this on table or things is unsafe.
MAX_FORCE_N = 50.0
# An arm that meets itself damages itself long before.
MAX_SELF_FORCE_N = 20.0
# The Panda's own limit for its tool.
MAX_SPEED_M_S = 1.7
# Commands beyond what the joints can reach, for longer than this, are no touch of a limit any more.
MAX_BEYOND_S = 1.0


def unsafe(facts: EpisodeFacts) -> Iterator[FailureCause]:
    for entry in facts.entries:
        if entry.kind != "collision":
            continue
        limit = MAX_SELF_FORCE_N if entry.object == ROBOT else MAX_FORCE_N
        if entry.value > limit:
            what = {ARENA: "the table", ROBOT: "itself"}.get(entry.object, the(entry.object))
            says = f"the robot pressed on {what} with {entry.value:.0f} N (limit {limit:g} N)"
            yield FailureCause("safety", "collision", entry.step, entry.object, f"at most {limit:g} N", says)
            break
    speeds = np.linalg.norm(np.diff(facts.tools, axis=0), axis=2).max(axis=1, initial=0.0) / np.diff(facts.times_s)
    if (speeds > MAX_SPEED_M_S).any():
        step = int(np.argmax(speeds > MAX_SPEED_M_S)) + 1
        says = f"the hand moved at {speeds.max():.1f} m/s (limit {MAX_SPEED_M_S:g} m/s)"
        yield FailureCause("safety", "control instability", step, "", f"at most {MAX_SPEED_M_S:g} m/s", says)


def beyond_reach(facts: EpisodeFacts) -> Iterator[FailureCause]:
    for bound in ("joint range", "reach"):
        beyond_s = facts.period_s * facts.limit_steps.get(bound, 0)
        if beyond_s > MAX_BEYOND_S:
            step = next(e.step for e in facts.entries if e.kind == "limit" and e.object == bound)
            says = f"the commands exceeded the arm's {bound} for {beyond_s:.1f} s (limit {MAX_BEYOND_S:g} s)"
            yield FailureCause("safety", "control instability", step, "", f"at most {MAX_BEYOND_S:g} s", says)
