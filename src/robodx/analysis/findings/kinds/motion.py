"""How hands do it: skills that are weak, control that shakes, and contact that is too hard."""

from __future__ import annotations

from robodx.analysis.findings.failure_modes import MOTOR
from robodx.analysis.findings.gerunds import doing
from robodx.analysis.findings.kinds.base import FindingKind, register
from robodx.analysis.findings.search import Candidate


def _skill(candidate: Candidate) -> str | None:
    main, *parts = candidate.stratum.requirement or ("",)
    return parts[0] if main == "motor" and parts and not candidate.failure_mode.is_choice else None


register(
    FindingKind(
        name="motor weakness",
        sentence="It is weak at {subject}",
        by_failure_mode=lambda mode: mode.name if mode.sort == "type" and mode.name in MOTOR else None,
        otherwise=_skill,
        in_words=lambda subject: subject if subject in MOTOR else doing(subject),
    )
)

register(
    FindingKind(
        name="unstable control",
        sentence="Its control is unstable",
        by_failure_mode=lambda mode: "" if mode.name in ("instability", "control instability") else None,
    )
)

register(
    FindingKind(
        name="unsafe contact",
        sentence="It hits the table or objects too hard",
        by_failure_mode=lambda mode: "" if mode.name in ("collision", "safety") else None,
    )
)
