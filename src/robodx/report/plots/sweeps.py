"""Shares over a tolerance: one line a policy, with the tolerances that have names marked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from robodx.report.plots.curves import BOTTOM, FLOOR, HEIGHT, LEFT, RIGHT, TOP, WIDTH
from robodx.report.plots.svg import Scale, drawing, path, tag
from robodx.report.words import percent, short

# Every so many values one is told to who cannot see the line.
TOLD = 10


@dataclass(frozen=True)
class Line:
    """The share at each tolerance; a reference is drawn thin and dotted."""

    name: str
    tolerances: Sequence[float]
    shares: Sequence[float]
    colour: int = 0
    is_reference: bool = False


def sweep(title: str, note: str, lines: Sequence[Line], marked: Mapping[str, float], unit: str) -> Markup:
    """A small picture; `marked` are the tolerances that have names."""
    scale = Scale(0.0, max(line.tolerances[-1] for line in lines))

    def x(value: float) -> float:
        return LEFT + (WIDTH - RIGHT - LEFT - 8) * scale(value)

    def y(share: float) -> float:
        return TOP + (FLOOR - TOP) * (1 - share)

    parts = [
        tag("text", short(title, 34), tag("title", title), x=LEFT, y=16, class_="title"),
        tag("text", short(note, 50), tag("title", note), x=LEFT, y=32, class_="tick"),
    ]
    for share in (0.0, 0.5, 1.0):
        parts.append(tag("line", x1=LEFT, x2=WIDTH - RIGHT, y1=y(share), y2=y(share), class_="grid"))
        parts.append(tag("text", percent(share), x=LEFT - 6, y=y(share) + 4, text_anchor="end", class_="tick"))
    for name, value in marked.items():
        parts.append(tag("line", tag("title", name), x1=x(value), x2=x(value), y1=TOP, y2=FLOOR, class_="clean"))
    for value in scale.ticks(5):
        parts.append(tag("text", f"{value:g}", x=x(value), y=FLOOR + 16, text_anchor="middle", class_="tick"))
    parts.append(tag("text", unit, x=WIDTH - RIGHT, y=HEIGHT - BOTTOM + 32, text_anchor="end", class_="tick"))
    for line in sorted(lines, key=lambda one: not one.is_reference):
        places = [(x(a), y(b)) for a, b in zip(line.tolerances, line.shares, strict=True)]
        style = "reference c0" if line.is_reference else f"profile open c{1 + line.colour % 4} dash{line.colour % 4}"
        parts.append(tag("polyline", tag("title", line.name), points=path(places), class_=style))
    return drawing(WIDTH, HEIGHT, f"{title}: {_said(lines)}", *parts)


def _said(lines: Sequence[Line]) -> str:
    def shares(line: Line) -> str:
        told = list(zip(line.tolerances, line.shares, strict=True))[::TOLD]
        return ", ".join(f"{percent(share)} at {value:g}" for value, share in told)

    return "; ".join(f"{line.name} {shares(line)}" for line in lines)
