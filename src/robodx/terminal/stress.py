"""What stress costs a policy, as a person reads it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from robodx.analysis.stress import Degradation, StressTable, StressTrend
from robodx.terminal.comparison import points
from robodx.terminal.console import table_lines


def lines(table: StressTable) -> Iterator[str]:
    """A row for each stressor over all its carriers; which carrier suffers is in the JSON."""
    for policy in dict.fromkeys(row.policy for row in table.rows):
        trends = {trend.stressor: trend for trend in table.trends if trend.policy == policy}
        rows: dict[str, list[Degradation]] = {}
        for row in table.rows:
            if row.policy == policy and row.task is None:
                rows.setdefault(row.stressor, []).append(row)
        yield f"What stress costs {policy}, in points of success on the same situations:"
        # A level that only some of them have, as of runs that do not say their names, is empty for the others.
        levels = dict.fromkeys(row.level for each in rows.values() for row in each)
        yield from table_lines(
            [_of_stressor(name, each, list(levels), trends.get(name)) for name, each in rows.items()]
        )
        yield ""
    for one in table.not_testable:
        yield f"{one.task} is not testable here: without stress {one.policy} solves {one.clean} of {one.clean.n}."
    if table.rows:
        yield (
            "clean: success without stress; p: of a trend over the levels, adjusted (Holm) over the stressors; "
            "visible: the smallest fall that would have been seen four times in five."
        )


def _of_stressor(name: str, rows: list[Degradation], levels: list[str], trend: StressTrend | None) -> dict[str, Any]:
    p = trend.p_holm if trend is not None else None
    found = {row.level: points(row.difference) for row in rows}
    visible = [row.visible_drop for row in rows if row.visible_drop is not None]
    return {
        "stressor": name,
        "kind": rows[0].kind or None,
        "clean": str(rows[0].clean),
        "n": rows[0].clean.n,
        **{level: found.get(level) for level in levels},
        "p": None if p is None else f"{p:.3f}",
        "visible": f"{100 * max(visible):.0f}" if visible else None,
    }
