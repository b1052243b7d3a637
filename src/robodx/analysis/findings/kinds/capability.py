"""What a weakness is called where nothing says more than where it shows."""

from __future__ import annotations

from robodx.analysis.findings.conditions import Condition
from robodx.analysis.findings.failure_modes import FailureMode
from robodx.analysis.findings.kinds.base import FindingKind, register
from robodx.analysis.findings.wording import levels_in_words

GROUPS = ("family", "tier", "task")


def _where(condition: Condition, mode: FailureMode) -> str:
    levels = levels_in_words(condition)
    return (
        levels
        if condition.attribute in GROUPS
        else condition.attribute
        if levels == "yes"
        else f"{condition.attribute}={levels}"
    )


register(
    FindingKind(
        name="weak capability",
        by_condition=_where,
        by_failure_mode=lambda mode: mode.name,
        # It names whatever no other kind does.
        priority=-2,
    )
)
