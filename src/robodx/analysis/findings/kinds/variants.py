"""What is done to a policy beside the same situations without it: stress, and a world that does not wait."""

from __future__ import annotations

import shlex

from robodx.analysis.findings.kinds.base import FindingKind, NextTest, register


def _at_level(path: str) -> str:
    stressor, _, level = path.partition("/")
    return f"{stressor} at level {level}" if level else stressor


def _cliff(ask: NextTest) -> str:
    stressor = ask.subject.split("/")[0]
    if stressor == "combined":
        return ask.run()
    return f"robodx cliff {shlex.quote(ask.tasks[0])} {ask.policy} --stressor {shlex.quote(stressor)}"


register(
    FindingKind(
        name="failure cliff",
        sentence="It breaks under {subject}",
        by_condition=lambda condition, mode: condition.levels[0] if condition.attribute == "stress" else None,
        in_words=_at_level,
        next_test=_cliff,
    )
)

register(
    FindingKind(
        name="latency-bound",
        sentence="It is too slow for real time",
        by_condition=lambda condition, mode: "" if condition.attribute == "clock" else None,
        next_test=lambda ask: ask.run("--clock realtime:measured --seeds 25"),
    )
)
