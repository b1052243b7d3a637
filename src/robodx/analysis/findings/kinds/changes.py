"""What changes while the policy acts: the instruction, or things."""

from __future__ import annotations

from robodx.analysis.findings.kinds.base import FindingKind, register
from robodx.analysis.findings.search import Candidate

CHANGES = {"moving things": "moving things", "sudden": "sudden changes", "signal": "signals"}
UPDATES = ("change", "words")


def _change(candidate: Candidate) -> str | None:
    demand = candidate.condition.demand
    if demand[:1] != ("change",) or demand == UPDATES:
        return None
    return CHANGES.get("/".join(demand[1:]), "")


register(
    FindingKind(
        name="updates ignored",
        sentence="It does not follow a new instruction while it acts",
        by_condition=lambda candidate: "" if candidate.condition.demand == UPDATES else None,
    )
)

register(
    FindingKind(
        name="change ignored",
        sentence="It does not cope with {subject}",
        by_condition=_change,
        in_words=lambda subject: subject or "changes while it acts",
    )
)
