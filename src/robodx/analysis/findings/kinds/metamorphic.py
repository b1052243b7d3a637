"""A path that changes though nothing that matters did, or does not change though it should: by metamorphic pairs."""

from __future__ import annotations

from robodx.analysis.findings.failure_modes import FailureMode
from robodx.analysis.findings.kinds.base import FindingKind, register
from robodx.analysis.metamorphic.words import label

KIND = "metamorphic inconsistency"


def _relation(mode: FailureMode) -> str | None:
    """A mode of the sort "relation" is named by the relation that is violated."""
    return label(mode.name) if mode.sort == "relation" else None


register(
    FindingKind(
        name=KIND,
        # It is seen in how it moves, and says nothing of why it fails: a symptom.
        by_failure_mode=_relation,
    )
)
