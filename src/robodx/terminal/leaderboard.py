"""A leaderboard as a person reads it in a terminal, and as a program does."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from robodx.analysis.leaderboard import Leaderboard, Pair, Standing
from robodx.analysis.leaderboard_sentences import basis, cautions, conclusion, in_parts, method, of_whom
from robodx.analysis.wording import shortened
from robodx.terminal.comparison import p_value, points
from robodx.terminal.console import table_lines, wrapped

# JSON and the page have all pairs.
SHOWN_PAIRS = 21


def lines(found: Leaderboard) -> Iterator[str]:
    """The sentence comes last, where it is seen."""
    yield from wrapped(f"{basis(found)}:")
    yield ""
    yield from table_lines([_cells(one) for one in found.standings])
    # One family alone would say what the success over all says.
    for families in in_parts(found.families) if len(found.families) > 1 else ():
        yield ""
        yield from table_lines(
            [
                {"success": shortened(of_whom(one)), **{name: str(one.families[name]) for name in families}}
                for one in found.compared
            ]
        )
    yield ""
    yield from table_lines([_pair(one) for one in found.pairs[:SHOWN_PAIRS]])
    if (more := len(found.pairs) - SHOWN_PAIRS) > 0:
        yield f"and {more} more pairs: see --json or --html"
    yield ""
    for text in (*cautions(found), *method(), conclusion(found)):
        yield from wrapped(text)


def as_dict(found: Leaderboard) -> dict[str, Any]:
    """For a program, with the sentences too."""
    return {
        **asdict(found),
        "standings": [{"rank": one.rank, **asdict(one)} for one in found.standings],
        "pairs": [{**asdict(one), "winner": one.winner} for one in found.pairs],
        "cautions": list(cautions(found)),
        "says": conclusion(found),
    }


def _cells(one: Standing) -> dict[str, Any]:
    return {
        "rank": one.rank, "policy": shortened(of_whom(one)), "success": str(one.success) if one.is_compared else "—",
        "n": one.success.n, "errors": one.errors or None,
    }  # fmt: skip


def _pair(one: Pair) -> dict[str, Any]:
    return {
        "pair": f"{shortened(one.first)} − {shortened(one.second)}",
        "difference": points(one.difference), "n": one.difference.n,
        "p": p_value(one.adjusted_p), "verdict": "not told apart" if one.winner is None else "told apart",
    }  # fmt: skip
