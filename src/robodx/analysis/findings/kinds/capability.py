"""What a weakness is called where nothing says more than where it shows."""

from __future__ import annotations

from robodx.analysis.findings.kinds.base import FindingKind, register
from robodx.analysis.findings.search import Candidate
from robodx.analysis.summary import TIERS


def _path(candidate: Candidate) -> str:
    return "" if candidate.stratum.sort == "all" else candidate.stratum.path


def _in_words(path: str) -> str:
    """As "hard spatial tasks", of "spatial/hard"; what is narrower is called by its path."""
    group, _, part = path.partition("/")
    if part in TIERS:
        return f"{part} {group} tasks"
    return path if part else f"{group or 'most'} tasks"


register(
    FindingKind(
        name="weak capability",
        sentence="It does poorly on {subject}",
        otherwise=_path,
        # It names whatever no other kind does.
        priority=-1,
        in_words=_in_words,
    )
)
