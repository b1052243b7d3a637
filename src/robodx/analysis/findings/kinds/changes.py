"""What changes while the policy acts: the instruction, or things."""

from __future__ import annotations

from robodx.analysis.findings.conditions import Condition
from robodx.analysis.findings.failure_modes import FailureMode
from robodx.analysis.findings.kinds.base import FindingKind, register

CHANGES = {"moving things": "moving things", "sudden": "sudden changes", "signal": "signals"}
UPDATES = "change/words"


def _change(condition: Condition, mode: FailureMode) -> str | None:
    main, _, rest = (condition.requirement or "").partition("/")
    if main == "change" and condition.requirement != UPDATES:
        return CHANGES.get(rest, "")
    return "events" if condition.attribute == "first_event_s" and "none" not in condition.levels else None


register(
    FindingKind(
        name="updates ignored",
        sentence="It ignores a new instruction during the episode",
        by_condition=lambda condition, mode: "" if condition.requirement == UPDATES else None,
    )
)

register(
    FindingKind(
        name="change ignored",
        sentence="It does not cope with {subject}",
        by_condition=_change,
        in_words=lambda subject: subject.replace("things", "objects") or "changes during the episode",
    )
)
