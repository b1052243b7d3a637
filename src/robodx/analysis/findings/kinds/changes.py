"""What changes while the policy acts: the instruction, or things."""

from __future__ import annotations

from robodx.analysis.findings.kinds.base import FindingKind, register
from robodx.analysis.findings.search import Candidate

CHANGES = {"moving things": "moving things", "sudden": "sudden changes", "signal": "signals"}
UPDATES = ("change", "words")


def _change(candidate: Candidate) -> str | None:
    requirement = candidate.stratum.requirement
    if requirement[:1] != ("change",) or requirement == UPDATES:
        return None
    return CHANGES.get("/".join(requirement[1:]), "")


register(
    FindingKind(
        name="updates ignored",
        sentence="It ignores a new instruction during the episode",
        by_stratum=lambda candidate: "" if candidate.stratum.requirement == UPDATES else None,
    )
)

register(
    FindingKind(
        name="change ignored",
        sentence="It does not cope with {subject}",
        by_stratum=_change,
        in_words=lambda subject: subject.replace("things", "objects") or "changes during the episode",
    )
)
