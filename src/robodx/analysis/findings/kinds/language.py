"""What words ask for: a part of language, or that they are minded at all."""

from __future__ import annotations

from robodx.analysis.findings.kinds.base import FindingKind, register
from robodx.analysis.findings.search import Candidate

SUB_SKILLS = {
    "negation": "negations", "condition": "conditions", "order": "the order of steps", "ordinal": "ordinals",
    "relation": "relations between objects", "signal": "signals", "synonym": "synonyms",
}  # fmt: skip


def _sub_skill(candidate: Candidate) -> str | None:
    main, *parts = candidate.stratum.requirement or ("",)
    return parts[0] if main == "language" and parts else None


def _wrong_everywhere(candidate: Candidate) -> str | None:
    return "" if candidate.stratum.sort == "all" and candidate.failure_mode.sort == "wrong thing" else None


register(
    FindingKind(
        name="language sub-skill",
        sentence="It does not understand {subject}",
        by_stratum=_sub_skill,
        in_words=lambda subject: SUB_SKILLS.get(subject, subject),
    )
)

register(
    FindingKind(
        name="instruction ignored",
        sentence="It chooses objects regardless of the instruction",
        by_stratum=lambda candidate: "" if candidate.stratum.requirement[:1] == ("choice",) else None,
        otherwise=_wrong_everywhere,
    )
)
