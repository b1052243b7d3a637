"""Success over a training or over the amount of data, on training situations and on others, as an SVG."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from markupsafe import Markup

from robodx.analysis.statistics.estimates import Estimate
from robodx.report.plots.svg import Scale, around, mark, path, tag

WIDE, HIGH, EDGE = 640, 320, 52
RATES = Scale(0.0, 1.0)


class Trained(NamedTuple):
    """One network: how far or on how much it was trained, and what it solves."""

    at: float
    on_training: Estimate | None
    on_test: Estimate


def training_curve(networks: Sequence[Trained], unit: str) -> str:
    ordered = sorted(networks, key=lambda one: one.at)
    across = around([one.at for one in ordered], with_zero=True)
    fits = [(one.at, one.on_training) for one in ordered if one.on_training is not None]
    tests = [(one.at, one.on_test) for one in ordered]
    drawn = [
        *_axes(across, unit),
        # Beside each other, so that intervals do not hide each other.
        *_curve(fits, across, "#2266aa", "square", "training situations", -4),
        *_curve(tests, across, "#cc5522", "circle", "test situations", 4),
    ]
    frame = tag("rect", width=WIDE, height=HIGH, fill="white")
    return str(tag("svg", frame, *drawn, xmlns="http://www.w3.org/2000/svg", viewBox=f"0 0 {WIDE} {HIGH}",
                   width=WIDE, height=HIGH, font_family="sans-serif", font_size=12)) + "\n"  # fmt: skip


def _axes(across: Scale, unit: str) -> Iterator[Markup]:
    for rate in RATES.ticks():
        y = _y(rate)
        yield tag("line", x1=EDGE, x2=WIDE - EDGE, y1=y, y2=y, stroke="#dddddd")
        yield tag("text", f"{100 * rate:.0f}%", x=EDGE - 6, y=y + 4, text_anchor="end")
    for value in across.ticks():
        yield tag("text", f"{value:,.0f}", x=_x(value, across), y=HIGH - EDGE + 18, text_anchor="middle")
    yield tag("text", unit, x=WIDE - EDGE, y=HIGH - EDGE + 36, text_anchor="end")


def _curve(
    found: Sequence[tuple[float, Estimate]], across: Scale, colour: str, shape: str, says: str, aside: float
) -> Iterator[Markup]:
    told = [(_x(at, across) + aside, one) for at, one in found if one.value is not None]
    places = [(x, _y(one.value or 0.0)) for x, one in told]
    if not places:
        return
    yield tag("polyline", points=path(places), fill="none", stroke=colour)
    for (x, y), (_, one) in zip(places, told, strict=True):
        if one.low is not None and one.high is not None:
            yield tag("line", x1=x, x2=x, y1=_y(one.low), y2=_y(one.high), stroke=colour)
        yield mark(shape, x, y, 4.0, fill=colour)
    below = 22 + 16 * (shape == "circle")
    yield mark(shape, EDGE + 14, below - 4, 4.0, fill=colour)
    yield tag("text", says, x=EDGE + 24, y=below, fill=colour)


def _x(value: float, across: Scale) -> float:
    return EDGE + (WIDE - 2 * EDGE) * across(value)


def _y(rate: float) -> float:
    return HIGH - EDGE - (HIGH - 2 * EDGE) * RATES(rate)
