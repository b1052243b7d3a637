"""The search for a failure cliff: what came of each severity, the fitted curve, and where it is down to one half."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from markupsafe import Markup

from robodx.analysis.statistics.psychometric import Cliff
from robodx.report.plots.curves import BOTTOM, HEIGHT, LEFT, RIGHT, TOP, WIDTH
from robodx.report.plots.svg import Scale, drawing, path, tag
from robodx.report.words import percent, short


class Asked(NamedTuple):
    """What came of one severity, and what the fitted curve has there."""

    severity: float
    successes: int
    n: int
    foreseen: float


def cliff_curve(title: str, note: str, asked: Sequence[Asked], found: Cliff, unit: str) -> Markup:
    scale = Scale(0.0, found.maximum)

    def x(severity: float) -> float:
        return LEFT + 10 + (WIDTH - RIGHT - LEFT - 24) * scale(severity)

    def y(share: float) -> float:
        return TOP + (HEIGHT - TOP - BOTTOM) * (1 - share)

    parts = [
        tag("text", short(title, 34), tag("title", title), x=LEFT, y=16, class_="title"),
        tag("text", short(note, 44), tag("title", note), x=LEFT, y=32, class_="tick"),
    ]
    for share in (0.0, 0.5, 1.0):
        parts.append(tag("line", x1=LEFT, x2=WIDTH - RIGHT, y1=y(share), y2=y(share), class_="grid"))
        parts.append(tag("text", percent(share), x=LEFT - 6, y=y(share) + 4, text_anchor="end", class_="tick"))
    for severity in scale.ticks(3):
        value = f"{severity:g}"
        parts.append(tag("text", value, x=x(severity), y=HEIGHT - BOTTOM + 16, text_anchor="middle", class_="tick"))
    parts.append(
        tag("text", short(unit, 40) or "severity", x=WIDTH - RIGHT, y=HEIGHT - 10, text_anchor="end", class_="tick")
    )
    if found.is_found and found.severity is not None and found.low is not None and found.high is not None:
        left, right = x(found.low), x(found.high)
        wording = f"Half of the clean success at {found.severity:.3g} [{found.low:.3g}, {found.high:.3g}]"
        height = HEIGHT - TOP - BOTTOM
        parts.append(
            tag("rect", tag("title", wording), x=left, y=TOP, width=right - left, height=height, class_="harm")
        )
        middle = x(found.severity)
        parts.append(tag("line", x1=middle, x2=middle, y1=TOP, y2=HEIGHT - BOTTOM, class_="cliff thin"))
        anchor = "end" if middle > 0.7 * WIDTH else "start"
        at = middle + (-5 if anchor == "end" else 5)
        parts.append(
            tag("text", f"cliff at {found.severity:.2g}", x=at, y=TOP + 12, text_anchor=anchor, class_="harmed")
        )
    parts.append(
        tag("polyline", points=path([(x(one.severity), y(one.foreseen)) for one in asked]), class_="profile open c1")
    )
    for one in asked:
        wording = tag(
            "title", f"severity {one.severity:g}: {one.successes} of {one.n} solved, fitted {percent(one.foreseen)}"
        )
        size = 2.2 + 1.1 * math.sqrt(one.n)
        parts.append(
            tag("circle", wording, cx=x(one.severity), cy=y(one.successes / one.n), r=size, class_="dot faint c1")
        )
    said = ", ".join(f"{one.severity:g}: {one.successes} of {one.n}" for one in asked)
    return drawing(WIDTH, HEIGHT, f"{title}. {note}. Solved by severity: {said}", *parts)
