"""A radar of rates: one look at a profile. It has no intervals, so that a plot with them must stand beside it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from markupsafe import Markup

from robodx.report.plots.svg import MARKS, drawing, mark, path, tag
from robodx.report.words import percent, short

# Wide enough for a label of 14 letters on either side.
WIDTH, RADIUS = 440.0, 108.0
RINGS = (0.25, 0.5, 0.75, 1.0)
LEGEND_ROW = 20.0


class Series(NamedTuple):
    """A name, and its rate on each axis; None where there is none."""

    name: str
    rates: Sequence[float | None]


def radar(title: str, axes: Sequence[str], series: Sequence[Series]) -> Markup:
    """At least three axes, and as many series as there are marks."""
    centre_x, centre_y = WIDTH / 2, 40 + RADIUS + 22
    legend_y = centre_y + RADIUS + 48
    height = legend_y + LEGEND_ROW * math.ceil(len(series) / 2) - 6

    def place(axis: int, share: float) -> tuple[float, float]:
        turn = -math.pi / 2 + 2 * math.pi * axis / len(axes)
        return centre_x + RADIUS * share * math.cos(turn), centre_y + RADIUS * share * math.sin(turn)

    parts = [tag("text", title, x=WIDTH / 2, y=18, text_anchor="middle", class_="title")]
    for share in RINGS:
        ring = [place(axis, share) for axis in range(len(axes))]
        parts.append(tag("polygon", points=path(ring), class_="grid"))
    for axis, name in enumerate(axes):
        end = place(axis, 1)
        parts.append(tag("line", x1=centre_x, y1=centre_y, x2=end[0], y2=end[1], class_="grid"))
        parts.append(_axis_label(name, *place(axis, 1.13), centre_x))
    for index, one in enumerate(series):
        parts += _profile(one, index, axes, [None if r is None else place(at, r) for at, r in enumerate(one.rates)])
        x, y = 60 + (index % 2) * (WIDTH / 2 - 40), legend_y + LEGEND_ROW * (index // 2)
        parts.append(mark(MARKS[index % len(MARKS)], x, y - 4, class_=f"dot c{index + 1}"))
        parts.append(tag("text", short(one.name, 24), tag("title", one.name), x=x + 11, y=y, class_="label"))
    for share in (0.5, 1.0):
        x, y = place(0, share)
        parts.append(tag("text", percent(share), x=x + 6, y=y + 12, class_="tick halo"))
    says = "; ".join(
        f"{one.name}: {', '.join(f'{name} {percent(r)}' for name, r in zip(axes, one.rates, strict=True))}"
        for one in series
    )
    return drawing(WIDTH, height, f"{title}. {says}", *parts)


def _profile(one: Series, index: int, axes: Sequence[str], places: list[tuple[float, float] | None]) -> list[Markup]:
    known = [place for place in places if place is not None]
    style = f"c{index + 1} dash{index} under{len(MARKS) - index}"
    parts = []
    # Over an axis without a rate no line is drawn: it would claim one.
    if len(known) == len(axes):
        parts.append(tag("polygon", points=path(known), class_=f"profile {style}"))
    else:
        for start, end in zip(places, [*places[1:], places[0]], strict=True):
            if start is not None and end is not None:
                parts.append(tag("line", x1=start[0], y1=start[1], x2=end[0], y2=end[1], class_=f"profile {style}"))
    for name, place, found in zip(axes, places, one.rates, strict=True):
        if place is not None:
            wording = tag("title", f"{one.name}, {name}: {percent(found)}")
            parts.append(mark(MARKS[index % len(MARKS)], *place, 3.6, wording, class_=f"dot c{index + 1}"))
    return parts


def _axis_label(name: str, x: float, y: float, centre_x: float) -> Markup:
    anchor = "middle" if abs(x - centre_x) < 12 else "start" if x > centre_x else "end"
    return tag("text", short(name, 14), tag("title", name), x=x, y=y + 4, text_anchor=anchor, class_="label")
