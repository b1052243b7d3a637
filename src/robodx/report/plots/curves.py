"""Success over the severity of a stressor, with intervals, what it is without stress, and where it breaks."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from markupsafe import Markup

from robodx.analysis.statistics.estimates import Estimate
from robodx.report.plots.svg import MARKS, Scale, drawing, mark, path, tag
from robodx.report.words import percent, rate, short

WIDTH, HEIGHT = 330.0, 232.0
LEFT, RIGHT, TOP, BOTTOM = 40.0, 12.0, 44.0, 44.0
FLOOR = HEIGHT - BOTTOM
# Ticks that are nearer than this would be written over each other.
APART = 30.0
# Of names beside their marks: how far rows are apart, how wide a letter is, and how many there may be.
LEGEND_ROW = 15.0
LETTER = 6.4
UNIT_ROW = 12.0
LONGEST = 40
# The repeated variant stands beside the clean one, both at no stress.
BESIDE = 11.0


@dataclass(frozen=True)
class Level:
    """`severity` is its place on the axis; without stress it is 0."""

    name: str
    severity: float
    success: Estimate


@dataclass(frozen=True)
class Curve:
    """One policy's success, clean first, in the colour that is its own.

    `again` is the repeated variant's, `harmed_from` the first level from which on all are seen to harm.
    """

    policy: str
    levels: Sequence[Level]
    colour: int = 0
    again: Estimate | None = None
    harmed_from: str | None = None


@dataclass(frozen=True)
class Fall:
    """Where success is halved: a severity with its interval."""

    severity: float
    low: float
    high: float


def curves(
    title: str,
    note: str,
    of_policies: Sequence[Curve],
    *,
    is_ordered: bool = True,
    fall: Fall | None = None,
    unit: str = "",
) -> Markup:
    """One small picture a stressor; several policies have a line each and their names in place of the note."""
    names = sorted({(one.severity, one.name) for curve in of_policies for one in curve.levels})
    places = _places([severity for severity, _ in names], is_ordered)
    is_alone = len(of_policies) == 1
    rows = [] if is_alone else _rows(of_policies)
    above = [tag("text", short(title, 34), tag("title", title), x=LEFT, y=16, class_="title")]
    above += [tag("text", note, x=LEFT, y=32, class_="tick")] if is_alone else _legend(rows)
    parts = []
    for share in (0.0, 0.5, 1.0):
        parts.append(tag("line", x1=LEFT, x2=WIDTH - RIGHT, y1=_y(share), y2=_y(share), class_="grid"))
        parts.append(tag("text", percent(share), x=LEFT - 6, y=_y(share) + 4, text_anchor="end", class_="tick"))
    for severity, name in names:
        x, value = places[severity], f"{severity:g}"
        parts.append(tag("text", short(name, 8), x=x, y=FLOOR + 18, text_anchor="middle", class_="label"))
        if severity and name != value:
            parts.append(tag("text", value, x=x, y=FLOOR + 32, text_anchor="middle", class_="tick"))
    if unit:
        parts.append(
            tag("text", short(unit, LONGEST), x=(LEFT + WIDTH) / 2, y=FLOOR + 48, text_anchor="middle", class_="tick")
        )
    if is_alone:
        parts += _background(of_policies[0], places)
    if fall is not None and is_ordered and len(places) > 1:
        parts += _fall(fall, places)
    for place, curve in enumerate(of_policies):
        # Of several policies, beside each other at every level.
        parts += _curve(curve, {severity: x + 4.0 * place for severity, x in places.items()})
    lower = LEGEND_ROW * max(0, len(rows) - 1)
    plot = tag("g", *parts, transform=f"translate(0 {lower:g})")
    return drawing(WIDTH, HEIGHT + lower + (UNIT_ROW if unit else 0), f"{title}: {_said(of_policies)}", *above, plot)


def _rows(of_policies: Sequence[Curve]) -> list[list[Curve]]:
    """As many policies beside each other as have room for their names."""
    rows: list[list[Curve]] = []
    left = 0.0
    for curve in of_policies:
        left -= _legend_width(curve)
        if not rows or left < 0:
            rows.append([])
            left = WIDTH - LEFT - _legend_width(curve)
        rows[-1].append(curve)
    return rows


def _legend(rows: Sequence[Sequence[Curve]]) -> list[Markup]:
    parts = []
    for below, row in enumerate(rows):
        x, y = LEFT + 4, 32 + LEGEND_ROW * below
        for curve in row:
            parts.append(mark(MARKS[curve.colour % len(MARKS)], x, y - 4, class_=f"dot c{curve.colour + 1}"))
            wording = tag("title", curve.policy)
            parts.append(tag("text", short(curve.policy, LONGEST), wording, x=x + 9, y=y, class_="tick"))
            x += _legend_width(curve)
    return parts


def _legend_width(curve: Curve) -> float:
    return 26 + LETTER * min(LONGEST, len(curve.policy))


def _background(curve: Curve, places: dict[float, float]) -> list[Markup]:
    """The level of the clean variant, and from where on it breaks."""
    parts = []
    if curve.harmed_from is not None:
        x = next(places[one.severity] for one in curve.levels if one.name == curve.harmed_from)
        parts.append(tag("rect", x=x - 12, y=TOP, width=WIDTH - RIGHT - x + 12, height=FLOOR - TOP, class_="harm"))
        says = f"breaks from {short(curve.harmed_from, 8)} on"
        anchor, at = ("end", WIDTH - RIGHT - 4) if x > 0.6 * WIDTH else ("start", x - 6)
        # At the top the curve itself passes by.
        parts.append(tag("text", says, x=at, y=FLOOR - 8, text_anchor=anchor, class_="harmed"))
    clean = curve.levels[0]
    if clean.severity == 0 and clean.success.value is not None:
        y = _y(clean.success.value)
        parts.append(tag("line", x1=LEFT, x2=WIDTH - RIGHT, y1=y, y2=y, class_="clean"))
    return parts


def _curve(curve: Curve, places: dict[float, float]) -> list[Markup]:
    colour = f"c{curve.colour + 1}"
    measured = [one for one in curve.levels if one.success.value is not None]
    known = [(places[one.severity], _y(one.success.value or 0.0), one) for one in measured]
    line = path([(x, y) for x, y, _ in known])
    parts = [tag("polyline", points=line, class_=f"profile open {colour} dash{curve.colour}")]
    if curve.again is not None and curve.again.value is not None:
        x = places[0.0] + BESIDE
        parts += _whisker(x, curve.again, f"whisker again {colour}")
        wording = tag("title", f"{curve.policy}, repeated trials without stress: {_wording(curve.again)}")
        parts.append(mark("diamond", x, _y(curve.again.value), 3.4, wording, class_=f"dot hollow {colour}"))
    for x, y, one in known:
        parts += _whisker(x, one.success, f"whisker {colour}")
        wording = tag("title", f"{curve.policy}, {one.name}: {_wording(one.success)}")
        parts.append(mark(MARKS[curve.colour % len(MARKS)], x, y, 4, wording, class_=f"dot {colour}"))
    return parts


def _whisker(x: float, found: Estimate, style: str) -> list[Markup]:
    if found.low is None or found.high is None:
        return []
    return [tag("line", x1=x, x2=x, y1=_y(found.low), y2=_y(found.high), class_=style)]


def _fall(fall: Fall, places: dict[float, float]) -> list[Markup]:
    def x(severity: float) -> float:
        return float(np.interp(severity, list(places), list(places.values())))

    wording = tag("title", f"Half of the clean success at {fall.severity:.3g} [{fall.low:.3g}, {fall.high:.3g}]")
    at = x(fall.severity)
    return [
        tag("line", x1=x(fall.low), x2=x(fall.high), y1=_y(0.5), y2=_y(0.5), class_="cliff"),
        tag("line", wording, x1=at, x2=at, y1=TOP, y2=FLOOR, class_="cliff thin"),
        tag("text", "cliff", x=at + 4, y=TOP + 12, class_="harmed halo"),
    ]


def _places(severities: list[float], is_ordered: bool) -> dict[float, float]:
    """Where each severity stands: to scale, or evenly where names would then be written over each other."""
    left, right = LEFT + 14, WIDTH - RIGHT - 16
    if is_ordered and len(severities) > 1 and severities[0] >= 0:
        scale = Scale(0.0, severities[-1])
        places = [left + (right - left) * scale(one) for one in severities]
        if all(b - a >= APART for a, b in itertools.pairwise(places)):
            return dict(zip(severities, places, strict=True))
    step = (right - left) / max(1, len(severities) - 1)
    return {one: left + step * at for at, one in enumerate(severities)}


def _y(share: float) -> float:
    return TOP + (FLOOR - TOP) * (1 - share)


def _wording(found: Estimate) -> str:
    return f"{rate(found)}, n = {found.n}"


def _said(of_policies: Sequence[Curve]) -> str:
    def levels(curve: Curve) -> str:
        return ", ".join(f"{one.name} {_wording(one.success)}" for one in curve.levels)

    return "; ".join(f"{curve.policy}: {levels(curve)}" for curve in of_policies)
