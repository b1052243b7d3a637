"""What a weakness is called where nothing says more than where it shows."""

from __future__ import annotations

from robodx.analysis.findings.kinds.base import FindingKind, register
from robodx.analysis.findings.search import Candidate


def _path(candidate: Candidate) -> str:
    return "" if candidate.stratum.sort == "all" else candidate.stratum.path


register(
    FindingKind(
        name="weak capability",
        sentence="It is weak in {subject}",
        otherwise=_path,
        # It names whatever no other kind does.
        priority=-1,
        in_words=lambda subject: subject or "most of what it is asked",
    )
)
