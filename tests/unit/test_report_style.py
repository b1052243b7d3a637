"""The page's colours: whatever is written can be read in both themes; the browser looks at all of it when thorough."""

from __future__ import annotations

import re
from itertools import product
from pathlib import Path

import pytest

import robodx.report

STYLE = (Path(robodx.report.__file__).parent / "templates" / "style.css").read_text()
LIGHT, DARK, PAPER = (dict(re.findall(r"--([\w-]+): (#[0-9a-f]{3,6})\b", part)) for part in (
    STYLE.partition("@media")[0], STYLE.partition("prefers-color-scheme: dark")[2].partition("* {")[0],
    STYLE.partition("@media print")[2],
))  # fmt: skip
THEMES = {"light": LIGHT, "dark": LIGHT | DARK, "paper": LIGHT | PAPER}


def channels(colour: str) -> list[float]:
    digits = colour[1:] if len(colour) == 7 else "".join(2 * one for one in colour[1:])
    return [int(digits[at : at + 2], 16) / 255 for at in (0, 2, 4)]


def mixed(one: str, share: float, other: str) -> list[float]:
    return [share * a + (1 - share) * b for a, b in zip(channels(one), channels(other), strict=True)]


def contrast(one: list[float], other: list[float]) -> float:
    """As WCAG defines it."""
    lights = []
    for colour in (one, other):
        linear = (each / 12.92 if each <= 0.04045 else ((each + 0.055) / 1.055) ** 2.4 for each in colour)
        lights.append(sum(each * weight for each, weight in zip(linear, (0.2126, 0.7152, 0.0722), strict=True)))
    return (max(lights) + 0.05) / (min(lights) + 0.05)


@pytest.mark.parametrize("theme", THEMES)
def test_text_has_contrast(theme: str) -> None:
    colours = THEMES[theme]
    assert len(colours) >= 15, "the style was read"
    written = [
        *product(("ink", "quiet", "accent", "good", "bad"), ("paper", "card")),
        ("warn-ink", "warn"),
        ("paper", "ink"),
    ]
    poor = {pair: ratio for pair in written if (ratio := contrast(*(channels(colours[one]) for one in pair))) < 4.5}
    assert not poor
    # What cells and cameras are shaded with, at its darkest, and the coloured counts.
    for shade in ("c1", "c2"):
        assert contrast(channels(colours["ink"]), mixed(colours[shade], 0.5, colours["card"])) >= 4.5
    for mark in ("c1", "c2", "c3", "c4"):
        assert contrast(mixed(colours[mark], 0.65, colours["ink"]), channels(colours["paper"])) >= 4.5


def test_what_is_measured_is_what_the_style_does() -> None:
    shares = re.findall(r"color-mix\(in srgb, var\(--c\d?\) (?:calc\(var\(--shade(?:, 0)?\) \* )?(\d+)%", STYLE)
    assert shares == ["65", "50", "50", "50"] and STYLE.count("color-mix(") == len(shares)
    assert contrast(channels("#767676"), channels("#fff")) == pytest.approx(4.54, abs=0.01)
