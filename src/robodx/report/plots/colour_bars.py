"""Success with each colour of a group, as bars in the colours themselves."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from markupsafe import Markup

from robodx.report.plots.svg import drawing, tag
from robodx.report.words import percent

WIDTH, HEIGHT = 280.0, 138.0
LEFT, RIGHT, TOP, FLOOR = 42.0, 4.0, 44.0, 128.0
# A group of one colour is not a wall of it.
WIDEST = 16.0


class Bar(NamedTuple):
    """A colour by name and code ("#008080"), and the rate of success with it."""

    name: str
    code: str
    rate: float | None


def colour_bars(title: str, note: str, bars: Sequence[Bar], line: float | None) -> Markup:
    """In the order given; `line` is the rate that they are held against."""

    def y(rate: float) -> float:
        return TOP + (FLOOR - TOP) * (1 - rate)

    parts = [
        tag("text", title, x=0, y=14, class_="title"),
        tag("text", note, x=0, y=31, class_="tick"),
    ]
    for rate in (0.0, 0.5, 1.0):
        parts.append(tag("line", x1=LEFT, x2=WIDTH - RIGHT, y1=y(rate), y2=y(rate), class_="grid"))
        parts.append(tag("text", percent(rate), x=LEFT - 6, y=y(rate) + 4, text_anchor="end", class_="tick"))
    step = min(WIDEST, (WIDTH - RIGHT - LEFT) / max(1, len(bars)))
    for place, one in enumerate(bars):
        if one.rate is not None:
            wording = tag("title", f"{one.name}: {percent(one.rate)}")
            # One that never succeeds is still seen to be there.
            height = max(1.5, FLOOR - y(one.rate))
            parts.append(
                tag(
                    "rect", wording, x=LEFT + 1 + step * place, y=FLOOR - height, width=max(1.5, step - 1.5),
                    height=height, fill=one.code, class_="swatch",
                )
            )  # fmt: skip
    if line is not None:
        parts.append(tag("line", x1=LEFT, x2=WIDTH - RIGHT, y1=y(line), y2=y(line), class_="line"))
    says = ", ".join(f"{one.name} {percent(one.rate)}" for one in bars)
    return drawing(WIDTH, HEIGHT, f"{title}, {note}. {says}", *parts)


def swatch(code: str) -> Markup:
    """A small square of a colour, beside its name."""
    square = tag("rect", x=0.5, y=0.5, width=13, height=13, fill=code, class_="swatch")
    return tag("svg", square, width=14, height=14, class_="beside-name", aria_hidden="true")
