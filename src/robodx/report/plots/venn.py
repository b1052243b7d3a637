"""Two verdicts on the same episodes as two circles, whose areas and whose overlap are to scale."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from robodx.report.plots.svg import drawing, tag
from robodx.report.words import short

WIDTH, HEIGHT = 330.0, 138.0
TOP, BOTTOM = 38.0, 36.0
# A circle of one episode of thousands is still seen.
SMALLEST = 1.2
HALVINGS = 40


@dataclass(frozen=True)
class Pair:
    """Of episodes: only the first verdict, both, only the second, and neither; `name` is written above."""

    name: str
    first: int
    both: int
    second: int
    neither: int

    @property
    def sizes(self) -> tuple[int, int]:
        return self.first + self.both, self.second + self.both

    @property
    def counted(self) -> int:
        return self.first + self.both + self.second + self.neither


def venns(title: str, names: tuple[str, str], pairs: Sequence[Pair], per_pixel: float) -> Markup:
    """Pairs of circles side by side, `per_pixel` episodes to a square pixel; counts are written below each."""
    parts = [tag("text", short(title, 44), tag("title", title), x=0, y=14, class_="title")]
    step = WIDTH / len(pairs)
    for place, one in enumerate(pairs):
        middle = step * (place + 0.5)
        parts.append(tag("text", one.name, x=middle, y=32, text_anchor="middle", class_="tick"))
        if not one.counted:
            parts.append(tag("text", "no verdict", x=middle, y=TOP + 36, text_anchor="middle", class_="tick"))
            continue
        parts += _circles(one, middle, per_pixel, names)
        parts.append(_counts(one, middle))
    says = "; ".join(f"{one.name}: {_said(one, names)}" if one.counted else f"{one.name}: none" for one in pairs)
    return drawing(WIDTH, HEIGHT, f"{title}. {says}", *parts)


def scale_of(pairs: Sequence[Pair], columns: int) -> float:
    """Episodes to a square pixel, so that the largest of all these fits into one of so many columns."""
    room, height = WIDTH / columns - 10, HEIGHT - TOP - BOTTOM
    needed = [1e-9]
    for one in pairs:
        first, second = (math.sqrt(size / math.pi) for size in one.sizes)
        apart = distance(first, second, one.both) if min(one.sizes) else 0.0
        needed += [_reach(first, second, apart) / room, 2 * max(first, second) / height]
    return max(needed) ** 2


def distance(first: float, second: float, overlap: float) -> float:
    """Between the centres of two circles of these radii that share so much area."""
    near, far = abs(first - second), first + second
    for _ in range(HALVINGS):
        middle = (near + far) / 2
        near, far = (near, middle) if lens(first, second, middle) < overlap else (middle, far)
    return (near + far) / 2


def lens(first: float, second: float, apart: float) -> float:
    """The area that two circles share."""
    if apart >= first + second:
        return 0.0
    if apart <= abs(first - second):
        return math.pi * min(first, second) ** 2
    a = (apart**2 + first**2 - second**2) / (2 * apart)
    b = apart - a
    chord = math.sqrt(max(0.0, first**2 - a**2))
    angle_a, angle_b = (math.acos(max(-1.0, min(1.0, side / r))) for side, r in ((a, first), (b, second)))
    return first**2 * angle_a + second**2 * angle_b - apart * chord


def _reach(first: float, second: float, apart: float) -> float:
    """How wide two circles are together."""
    return max(first, apart + second) + max(first, second - apart)


def _circles(one: Pair, middle: float, per_pixel: float, names: tuple[str, str]) -> list[Markup]:
    first, second = (math.sqrt(size / per_pixel / math.pi) for size in one.sizes)
    apart = distance(first, second, one.both / per_pixel) if min(one.sizes) else first + second
    left = max(first, second - apart)
    start, y = middle - _reach(first, second, apart) / 2 + left, TOP + (HEIGHT - TOP - BOTTOM) / 2
    wording = tag("title", f"{one.name}: {_said(one, names)}")
    places = ((start, first, one.sizes[0], "c2"), (start + apart, second, one.sizes[1], "c1"))
    return [
        tag("circle", wording, cx=x, cy=y, r=max(SMALLEST, r), class_=f"venn {colour}")
        for x, r, size, colour in places
        if size
    ]


def _counts(one: Pair, middle: float) -> Markup:
    """The three counts in the colours of their parts, and how many are in none of them."""
    y = HEIGHT - BOTTOM + 14
    numbers = [
        tag("tspan", f"{one.first}", class_="count c2"), tag("tspan", f" · {one.both} · ", class_="count c0"),
        tag("tspan", f"{one.second}", class_="count c1"),
    ]  # fmt: skip
    return tag(
        "g",
        tag("text", *numbers, x=middle, y=y, text_anchor="middle"),
        tag("text", f"of {one.counted}", x=middle, y=y + 15, text_anchor="middle", class_="tick"),
    )


def _said(one: Pair, names: tuple[str, str]) -> str:
    return (
        f"{one.first} by {names[0]} only, {one.both} by both, {one.second} by {names[1]} only, {one.neither} by neither"
    )
