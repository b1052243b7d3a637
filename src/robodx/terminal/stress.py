"""What stress costs a policy, as a person reads it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from robodx.analysis.graded import Graded
from robodx.analysis.statistics.estimates import Estimate
from robodx.analysis.stress import Degradation, NotTestable, StressTable, StressTrend, unconfirmed_drop
from robodx.output import visible
from robodx.terminal.comparison import p_value, points
from robodx.terminal.console import table_lines, wrapped

ALPHA = 0.05
# A run in which only larger falls than this would be seen says little of a stressor that was not seen to harm.
LARGE_FALL = 0.25

Rows = dict[str, list[Degradation]]


def lines(table: StressTable) -> Iterator[str]:
    """A row for each stressor over all its carriers, and what it comes to; which carrier suffers is in the JSON."""
    policies = list(_policies(table))
    for policy, rows, trends in policies:
        # A level that only some of them have, as of runs that do not say their names, is empty for the others.
        levels = sorted({row.level for each in rows.values() for row in each}, key=_place)
        yield f"Change in success of {policy} under stress, in points on the same situations:"
        yield from table_lines([_of_stressor(name, each, levels, trends.get(name)) for name, each in rows.items()])
        yield ""
        for sentence in _conclusion(policy, rows, trends):
            yield from wrapped(sentence)
    yield from _untested(table)
    if not policies:
        return
    legend = ["clean: success rate without stress"]
    if any(trend.p_holm is not None for _, rows, trends in policies for name, trend in trends.items() if name in rows):
        legend.append(
            "p: trend over the levels, Holm-adjusted over the stressors; intervals are per level, so the two can "
            "disagree"
        )
    if any(row.visible_drop is not None for _, rows, _ in policies for each in rows.values() for row in each):
        legend.append("detectable: the smallest drop that would have been detected with 80% power")
    yield from wrapped("; ".join(legend) + ".")


def details(table: StressTable) -> Iterator[str]:
    """Every level of every stressor."""
    for policy, rows, _ in _policies(table):
        yield f"Success of {policy} under stress, level by level:"
        found = [row for each in rows.values() for row in sorted(each, key=lambda row: _place(row.level))]
        header, *texts = table_lines([_of_level(row) for row in found])
        yield header
        before = None
        for row, text in zip(found, texts, strict=True):
            if row.stressor != before:
                yield f"{row.stressor}:"
            before = row.stressor
            yield text
        yield ""
    yield from _untested(table)
    if any(_policies(table)):
        yield from wrapped(
            "clean, stressed: success rates; difference: in points, with its 95% interval and its exact p, not "
            "adjusted; retained, repeated: of the trials solved clean, the share solved again under stress and when "
            "simply repeated; lost: how much more stress loses than repeating does, in points; exposed: the share of "
            "queries or commands that were perturbed; n: situations (identical ones count once)."
        )


def graded_lines(levels: Sequence[Graded]) -> Iterator[str]:
    """Tests whose levels are tasks: a row for each level, with what the test measures."""
    for policy in dict.fromkeys(one.policy for one in levels):
        yield f"Tests of {policy} whose levels are tasks:"
        yield from table_lines([_of_graded(one) for one in levels if one.policy == policy])
        yield ""
    if levels:
        yield from wrapped(
            "stability: exp(−mean speed of the commanded joints, in radians per 1/20 s); calls / s, actions / s: how "
            "many queries the policy can answer in a second, and how many actions these hold, medians over episodes."
        )
        yield ""


def _of_graded(one: Graded) -> dict[str, Any]:
    return {
        "test": f"{one.test} {one.level}",
        "task": one.task.partition("/")[2],
        "clock": one.clock,
        "success": str(one.success),
        "stability": _rounded(one.stability),
        "calls / s": _rounded(one.calls_per_s),
        "actions / s": _rounded(one.actions_per_s),
        "n": one.success.n,
    }


def _rounded(found: Estimate) -> str | None:
    return None if found.value is None else f"{found.value:.3g}" if found.value < 1000 else f"{found.value:.0f}"


def _policies(table: StressTable) -> Iterator[tuple[str, Rows, dict[str, StressTrend]]]:
    for policy in dict.fromkeys(row.policy for row in table.rows):
        if rows := table.levels(policy):
            yield policy, rows, {trend.stressor: trend for trend in table.trends if trend.policy == policy}


def _of_stressor(name: str, rows: list[Degradation], levels: list[str], trend: StressTrend | None) -> dict[str, Any]:
    found = {row.level: points(row.difference) for row in rows}
    visible = _visible(rows)
    return {
        "stressor": name,
        "clean": str(rows[0].clean),
        "n": rows[0].clean.n,
        **{level: found.get(level) for level in levels},
        "p": None if trend is None else p_value(trend.p_holm),
        "detectable": None if visible is None else f"{100 * visible:.0f}",
        "errors": sum(row.errors for row in rows) or None,
    }


def _of_level(row: Degradation) -> dict[str, Any]:
    exposed = [share for share in (row.exposure, row.commands) if share is not None]
    return {
        "level": row.level,
        "clean": _percent(row.clean),
        "stressed": _percent(row.stressed),
        "difference": points(row.difference),
        "retained": _percent(row.retained),
        "repeated": _percent(row.repeated),
        "lost": points(row.excess_loss),
        "p": p_value(row.p),
        "exposed": f"{100 * max(exposed):.0f}%" if exposed else None,
        "n": row.clean.n,
        "errors": row.errors or None,
    }


def _conclusion(policy: str, rows: Rows, trends: dict[str, StressTrend]) -> Iterator[str]:
    """In words: what breaks it, what was not seen to, and what could not have been."""
    breaks, unharmed, unknown, unconfirmed = [], [], [], []
    for name, each in rows.items():
        trend, visible = trends.get(name), _visible(each)
        if trend is None:
            continue
        if trend.p_holm is not None and trend.p_holm < ALPHA and (trend.slope or 0.0) < 0:
            breaks.append(name + _from_where(each))
        elif says := unconfirmed_drop(name, each, trend, list(trends.values())):
            unconfirmed.append(says)
        elif visible is not None and visible <= LARGE_FALL:
            unharmed.append((name, visible))
        else:
            unknown.append((name, visible))
    if breaks:
        yield f"{policy} breaks under {', '.join(breaks)}."
    yield from unconfirmed
    if unharmed:
        names = ", ".join(name for name, _ in unharmed)
        drop = f"a drop of {100 * max(visible for _, visible in unharmed):.0f} points or more would have been detected"
        yield f"{policy} shows no drop under {names} ({drop})."
    if unknown:
        falls = [visible for _, visible in unknown if visible is not None]
        fall = f"a drop of less than {100 * max(falls):.0f} points" if falls else "even a total loss"
        names = ", ".join(name for name, _ in unknown)
        yield f"There are too few episodes to judge {names}: {fall} would not have been detected."
    if unordered := [name for name in rows if name not in trends]:
        yield f"No p for {', '.join(unordered)}: its levels have no order of severity."


def _from_where(rows: list[Degradation]) -> str:
    """The first level that alone is seen to harm, as all after it are."""
    harmful = ""
    for row in sorted(rows, key=lambda row: _place(row.level), reverse=True):
        if row.difference.high is None or row.difference.high >= 0:
            break
        harmful = f" (from {row.level} on)"
    return harmful


def _untested(table: StressTable) -> Iterator[str]:
    for policy in dict.fromkeys(one.policy for one in table.not_applicable):
        yield from wrapped(visible(table.not_applicable_says(policy)))
    for one in table.not_testable:
        yield from wrapped(f"{one.task} is not testable here: {one.policy} solved {_solved(one)} without stress.")


def _solved(one: NotTestable) -> str:
    return f"{round((one.clean.value or 0.0) * one.clean.n)} of {one.clean.n}"


def _visible(rows: list[Degradation]) -> float | None:
    """The smallest fall that would have been seen at every level; None if at some no fall would have been."""
    falls = [row.visible_drop for row in rows]
    return None if None in falls else max((fall for fall in falls if fall is not None), default=None)


def _percent(found: Estimate) -> str:
    return "—" if found.value is None else f"{100 * found.value:.0f}%"


def _place(level: str) -> tuple[int, float, str]:
    """Named levels as v1, v2, v3, and severities by their size."""
    try:
        return (1, float(level), "")
    except ValueError:
        return (0, 0.0, level)
