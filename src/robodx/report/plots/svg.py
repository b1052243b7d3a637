"""Elements of SVG, with everything in them escaped."""

from __future__ import annotations

import math
from dataclasses import dataclass

from markupsafe import Markup, escape

from robodx.report.words import plain

# As many as can be told apart without colours too: each has a mark of its own.
MARKS = ("circle", "square", "triangle", "diamond")


def tag(name: str, *children: Markup | str, **attributes: object) -> Markup:
    """An element; `class_` is written class, and other underscores as dashes. Attributes of None are left out."""
    written = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{escape(_attribute(value))}"'
        for key, value in attributes.items()
        if value is not None
    )
    inside = "".join(child if isinstance(child, Markup) else escape(plain(child)) for child in children)
    return Markup(f"<{name}{written}>{inside}</{name}>")


def drawing(width: float, height: float, says: str, *children: Markup) -> Markup:
    """A drawing of its own proportions, no wider than it is legible; `says` is for who cannot see it."""
    return tag(
        "svg", tag("title", says), *children,
        viewBox=f"0 0 {width:g} {height:g}", role="img", aria_label=plain(says), style=f"max-width: {1.25 * width:g}px",
    )  # fmt: skip


def mark(shape: str, x: float, y: float, size: float = 4.0, *children: Markup, **attributes: object) -> Markup:
    """A mark around a point."""
    if shape == "circle":
        return tag("circle", *children, cx=x, cy=y, r=size, **attributes)
    corners = {"square": 4, "triangle": 3, "diamond": 4}[shape]
    turn = math.pi / 4 if shape == "square" else -math.pi / 2
    angles = [turn + 2 * math.pi * corner / corners for corner in range(corners)]
    places = [(x + 1.25 * size * math.cos(angle), y + 1.25 * size * math.sin(angle)) for angle in angles]
    return tag("polygon", *children, points=path(places), **attributes)


def path(places: list[tuple[float, float]]) -> str:
    return " ".join(f"{x:.1f},{y:.1f}" for x, y in places)


@dataclass(frozen=True)
class Scale:
    """From values to a share of the width, 0 to 1; a logarithmic one has values above 0 only."""

    low: float
    high: float
    is_logarithmic: bool = False

    def __call__(self, value: float) -> float:
        low, high = self.low, self.high
        if self.is_logarithmic:
            low, high, value = math.log(low), math.log(high), math.log(max(value, self.low))
        share = (value - low) / (high - low)
        return min(1.0, max(0.0, share))

    def ticks(self, about: int = 4) -> list[float]:
        """Round values within it."""
        if self.is_logarithmic:
            decades = range(math.ceil(math.log10(self.low) - 1e-9), math.floor(math.log10(self.high) + 1e-9) + 1)
            return [10.0**k for k in decades]
        step = 10 ** math.floor(math.log10((self.high - self.low) / about))
        step = next(step * k for k in (1, 2, 2.5, 5, 10) if (self.high - self.low) / (step * k) <= about + 0.5)
        first = math.ceil(self.low / step - 1e-9)
        return [step * k for k in range(first, math.floor(self.high / step + 1e-9) + 1)]


def around(values: list[float], *, with_zero: bool = False, is_logarithmic: bool = False) -> Scale:
    """A scale on which all the values lie, with a little room."""
    if is_logarithmic:
        return Scale(10 ** math.floor(math.log10(min(values))), 10 ** math.ceil(math.log10(max(values)) + 1e-6), True)
    low, high = min([*values, *([0.0] if with_zero else [])]), max([*values, *([0.0] if with_zero else [])])
    room = 0.06 * (high - low) or 0.5 * abs(high) or 1.0
    return Scale(low if with_zero and low == 0 else low - room, high + room)


def _attribute(value: object) -> str:
    return f"{value:.2f}".rstrip("0").rstrip(".") if isinstance(value, float) else plain(str(value))
