"""A dot with its interval, as wide as the cell that it stands in: a table of them is a plot that can be read aloud."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from markupsafe import Markup

from robodx.analysis.statistics.estimates import Estimate
from robodx.report.plots.svg import MARKS, Scale, tag
from robodx.report.words import percent

RATES = Scale(0.0, 1.0)
DIFFERENCES = Scale(-1.0, 1.0)
HEIGHT = 22
# Of each of several in one row.
FURTHER = 14
AXIS_HEIGHT = 20
# Of the width on either side, so that marks and labels at the ends are not cut.
EDGE = 0.04


class Drawn(NamedTuple):
    """An estimate, and the colour and the mark that it has everywhere."""

    found: Estimate
    colour: int = 1
    mark: int = 0


def whiskers(each: Sequence[Drawn], says: str, *, scale: Scale = RATES, line: float | None = None) -> Markup:
    """Above one another; `line` is what they are to be compared with.

    Without an interval there is a hollow dot, without a value nothing.
    """
    parts = [tag("title", says)]
    if line is not None:
        at = _at(scale, line)
        parts.append(tag("line", x1=at, x2=at, y1="0", y2="100%", class_="line"))
    for place, (found, colour, mark) in enumerate(each):
        y = f"{100 * (place + 0.5) / len(each):.4g}%"
        parts.append(tag("line", x1="0", x2="100%", y1=y, y2=y, class_="base"))
        if found.value is None:
            continue
        is_known = found.low is not None and found.high is not None
        if found.low is not None and found.high is not None:
            low, high = _at(scale, found.low), _at(scale, found.high)
            parts.append(tag("line", x1=low, x2=high, y1=y, y2=y, class_=f"whisker c{colour}"))
        style = f"dot c{colour}" if is_known else f"dot hollow c{colour}"
        parts.append(_mark(MARKS[mark], _at(scale, found.value), y, style))
    height = HEIGHT if len(each) == 1 else FURTHER * len(each) + 4
    return tag("svg", *parts, class_="whiskers", height=height, role="img", aria_label=says)


def axis(scale: Scale = RATES, says: Callable[[float], str] = percent, *, about: int = 4) -> Markup:
    """The ticks above a column of whiskers."""
    parts = []
    for place, value in enumerate(scale.ticks(about)):
        at = _at(scale, value)
        # On a phone every other one has to do.
        style = "minor" if place % 2 else None
        parts.append(tag("line", x1=at, x2=at, y1=AXIS_HEIGHT - 4, y2=AXIS_HEIGHT, class_="tick"))
        parts.append(tag("text", says(value), x=at, y=AXIS_HEIGHT - 7, text_anchor="middle", class_=style))
    return tag("svg", *parts, class_="whiskers axis", height=AXIS_HEIGHT, aria_hidden="true")


def _mark(shape: str, x: str, y: str, style: str) -> Markup:
    """In a small drawing of its own, for its place is a share of a width that nobody knows yet."""
    inside = {
        "circle": tag("circle", cx=0, cy=0, r=4.5),
        "square": tag("rect", x=-4, y=-4, width=8, height=8),
        "triangle": tag("polygon", points="0,-5.5 5,4 -5,4"),
        "diamond": tag("polygon", points="0,-5.5 5.5,0 0,5.5 -5.5,0"),
    }[shape]
    return tag("svg", tag("g", inside, class_=style), x=x, y=y, overflow="visible")


def _at(scale: Scale, value: float) -> str:
    return f"{100 * (EDGE + (1 - 2 * EDGE) * scale(value)):.2f}%"
