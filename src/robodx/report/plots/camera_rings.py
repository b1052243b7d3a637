"""Success from camera poses on rings around the workspace, seen from above."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import NamedTuple

from markupsafe import Markup

from robodx.report.plots.svg import drawing, tag
from robodx.report.words import percent, short

# In metres from the middle of the workspace, seen from above: x is away from the robot, y to its left.
RADII_M = {1: 0.5, 2: 0.7, 3: 0.9}
HEIGHTS_M = {1: 0.9, 2: 0.7, 3: 0.5}
ROBOT_X_M = -0.545
TABLE_X_M = (-0.78, 0.92)
TABLE_HALF_WIDTH_M = 0.70
WIDTH, TOP = 400.0, 64.0
PIXELS_PER_M = 176.0
DISC = 15.0
_POSE = re.compile(r"ring (\d+), ([−-]?\d+)°")


class Pose(NamedTuple):
    ring: int
    degrees: int


def pose_of(value: str) -> Pose | None:
    """Of "ring 2, −30°"; None of what is no such pose."""
    found = _POSE.fullmatch(value)
    if found is None or int(found[1]) not in RADII_M:
        return None
    return Pose(int(found[1]), int(found[2].replace("−", "-")))


def camera_rings(title: str, note: str, rates: Mapping[str, float | None]) -> Markup:
    """`rates` are by the names of poses. The robot is below and looks up; angles grow to its left."""
    middle = WIDTH / 2, TOP + PIXELS_PER_M * (RADII_M[3] + 0.16)
    height = middle[1] + PIXELS_PER_M * 0.84

    def at(x_m: float, y_m: float) -> tuple[float, float]:
        return middle[0] - PIXELS_PER_M * y_m, middle[1] - PIXELS_PER_M * x_m

    def on_ring(radius_m: float, degrees: float) -> tuple[float, float]:
        turn = math.radians(degrees)
        return at(radius_m * math.cos(turn), radius_m * math.sin(turn))

    parts = [
        tag("text", short(title, 52), tag("title", title), x=0, y=14, class_="title"),
        tag("text", note, x=0, y=31, class_="tick"),
    ]
    left, far = at(TABLE_X_M[1], TABLE_HALF_WIDTH_M)
    parts.append(
        tag(
            "rect", x=left, y=far, width=2 * PIXELS_PER_M * TABLE_HALF_WIDTH_M,
            height=PIXELS_PER_M * (TABLE_X_M[1] - TABLE_X_M[0]), rx=6, class_="furniture",
        )
    )  # fmt: skip
    for radius in RADII_M.values():
        ends = on_ring(radius, 90), on_ring(radius, -90)
        size = PIXELS_PER_M * radius
        arc = f"M {ends[0][0]:.1f} {ends[0][1]:.1f} A {size:.1f} {size:.1f} 0 0 1 {ends[1][0]:.1f} {ends[1][1]:.1f}"
        parts.append(tag("path", d=arc, class_="grid"))
    parts += _robot(*at(ROBOT_X_M, 0.0))
    parts.append(tag("text", "table", x=at(0, 0.62)[0], y=at(TABLE_X_M[0], 0)[1] - 10, class_="tick"))
    x, y = at(0.0, 0.0)
    parts.append(tag("path", d=f"M {x - 5} {y} h 10 M {x} {y - 5} v 10", class_="cross"))
    parts.append(tag("text", "workspace", x=x, y=y + 20, text_anchor="middle", class_="tick"))
    known = {pose: (name, rate) for name, rate in rates.items() if (pose := pose_of(name)) is not None}
    for pose, (name, rate) in known.items():
        parts += _camera(name, rate, *on_ring(RADII_M[pose.ring], pose.degrees))
    for degrees in sorted({pose.degrees for pose in known}):
        if abs(degrees) < 90:
            x, y = on_ring(RADII_M[3] + 0.13, degrees)
            side = "middle" if degrees == 0 else "end" if degrees > 0 else "start"
            parts.append(tag("text", _degrees(degrees), x=x, y=y + 2, text_anchor=side, class_="tick"))
    # Beside the ends of the outer ring there is no room.
    for degrees in (-90, 90):
        x, y = on_ring(RADII_M[3], degrees)
        parts.append(tag("text", _degrees(degrees), x=x, y=y - DISC - 6, text_anchor="middle", class_="tick"))
    for ring, radius in RADII_M.items():
        x, y = on_ring(radius, -90)
        parts.append(tag("text", str(ring), x=x, y=y + DISC + 14, text_anchor="middle", class_="tick"))
        if ring == 2:
            parts.append(tag("text", "rings", x=x, y=y + DISC + 28, text_anchor="middle", class_="tick"))
    says = ", ".join(f"{name} {percent(rate)}" for name, rate in rates.items())
    return drawing(WIDTH, height, f"{title}. {note}. {says}", *parts)


def _camera(name: str, rate: float | None, x: float, y: float) -> list[Markup]:
    wording = tag("title", f"{name}: {percent(rate)}")
    style = None if rate is None else f"--shade: {rate:.3f}"
    number = "—" if rate is None else f"{100 * rate:.0f}"
    return [
        tag("circle", wording, cx=x, cy=y, r=DISC, class_="camera", style=style),
        tag("text", number, x=x, y=y + 4, text_anchor="middle", class_="inside"),
    ]


def _robot(x: float, y: float) -> list[Markup]:
    """Its base, and where it looks."""
    return [
        tag("path", d=f"M {x} {y - 30} l 7 10 h -14 z", class_="robot"),
        tag("rect", x=x - 17, y=y - 16, width=34, height=32, rx=8, class_="robot"),
        tag("text", "robot", x=x + 25, y=y + 5, class_="tick"),
    ]


def _degrees(value: int) -> str:
    return f"{value}°".replace("-", "−")
