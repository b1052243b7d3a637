"""What a weakness is called where nothing says more than where it shows."""

from __future__ import annotations

from robodx.analysis.findings.kinds.base import FindingKind, register
from robodx.analysis.findings.wording import levels_in_words

register(
    FindingKind(
        name="weak capability",
        by_condition=lambda condition, mode: levels_in_words(condition),
        by_failure_mode=lambda mode: mode.name,
        # It names whatever no other kind does.
        priority=-2,
    )
)
