"""Results as notebooks show them: small pieces of HTML without scripts, in the colours of the page around them."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from robodx.analysis.headline import Headline
    from robodx.analysis.statistics.estimates import Estimate
    from robodx.analysis.summary import Row

# Grey is seen on white as well as on black, and so is the colour of the text around. Of a long table the rest is
# scrolled to. Notebooks that drop styles, as on some web pages, still show the numbers.
STYLE = """<style>
.robodx p{margin:.3em 0}.robodx div{max-height:26em;overflow:auto;max-width:100%}
.robodx table{border-collapse:collapse;font-size:inherit}.robodx tr{background:none!important}
.robodx th,.robodx td{padding:2px 10px 2px 0;text-align:left;white-space:nowrap;border:0}
.robodx i{position:relative;display:inline-block;width:8em;height:.7em;background:rgba(128,128,128,.2)}
.robodx i b,.robodx i u{position:absolute;background:currentColor}.robodx i b{top:0;bottom:0;opacity:.35}
.robodx i u{top:-.1em;bottom:-.1em;width:2px;margin-left:-1px}
</style>"""


def estimate_html(estimate: Estimate) -> str:
    """The value with its interval, as text and, where it is a share, drawn from 0 to 100%."""
    return f"{STYLE}<span class=robodx>{escape(str(estimate))} {bar(estimate)} {_n(estimate)}</span>"


def results_html(headlines: Sequence[Headline], rows: Sequence[Row], not_applicable: Sequence[str]) -> str:
    """The mean over tasks first, then each task."""
    errors = [sum(row.errors for row in rows if row.policy == one.policy) for one in headlines]
    told = [_told(one, count, len(headlines) > 1) for one, count in zip(headlines, errors, strict=True)]
    first = "".join(f"<p>{one}</p>" for one in told) or "<p>No episodes.</p>"
    left_out = f"<p>Not applicable: {escape(', '.join(not_applicable))}.</p>" if not_applicable else ""
    return f"{STYLE}<section class=robodx>{first}{_table(rows) if rows else ''}{left_out}</section>"


def bar(estimate: Estimate) -> str:
    """From 0 to 100%: the interval as a band, the value as a line; nothing where it is no share."""
    value, low, high = estimate.value, estimate.low, estimate.high
    if value is None or low is None or high is None or not 0 <= low <= value <= high <= 1:
        return ""
    band = f"<b style='left:{100 * low:.1f}%;width:{100 * (high - low):.1f}%'></b>"
    return f"<i>{band}<u style='left:{100 * value:.1f}%'></u></i>"


def _table(rows: Sequence[Row]) -> str:
    has_variants = any(row.perturbations for row in rows)
    has_errors = any(row.errors for row in rows)
    heads = ["task", *(["perturbed"] if has_variants else []), "success", "", "n", *(["errors"] if has_errors else [])]
    body = "".join(
        "<tr>"
        + "".join(
            [
                f"<td>{escape(row.task)}",
                *([f"<td>{escape(row.perturbations)}"] if has_variants else []),
                f"<td>{escape(str(row.success))}",
                f"<td>{bar(row.success)}",
                f"<td>{row.success.n}",
                *([f"<td>{row.errors or ''}"] if has_errors else []),
            ]
        )
        for row in rows
    )
    head = "".join(f"<th>{name}" for name in heads)
    table = f"<table><thead><tr>{head}<tbody>{body}</table>"
    return f"<div>{table}</div><p>success: with its 95% interval; n: number of situations.</p>"


def _told(one: Headline, errors: int, has_policies: bool) -> str:
    whose = f"{escape(one.policy)}: " if has_policies else ""
    over = f"mean over {one.tasks} tasks" if one.tasks > 1 else "one task"
    mean = ", ".join(filter(None, (over, _n(one.success))))
    failed = f" {errors} ended in an error." if errors else ""
    counts = f". {escape(one.by_episode)}{one.in_all}{failed}" if one.judged else f".{failed}"
    return f"{whose}<b>Success {escape(str(one.success))}</b> {bar(one.success)} {mean}{counts}"


def _n(estimate: Estimate) -> str:
    return "" if estimate.value is None else f"n = {estimate.n}"
