"""Which of the eleven basic colours a colour is called by, and how saturated it is, from its red, green and blue."""

from __future__ import annotations

import colorsys
import re

GROUPS = ("red", "orange", "yellow", "green", "blue", "purple", "pink", "brown", "white", "grey", "black")
_HEX = re.compile(r"#[0-9a-fA-F]{6}")


def is_colour(text: str | None) -> bool:
    return text is not None and _HEX.fullmatch(text) is not None


def saturation(code: str) -> float:
    """From 0 to 1, of "#008080"."""
    return _hsv(code)[1]


def group_of(code: str) -> str:
    """By hue; what has little of it is white, grey or black, and what is dark or pale may have a name of its own."""
    degrees, saturated, value = _hsv(code)
    if value < 0.15:
        return "black"
    if saturated * value < 0.14:
        return "white" if value >= 0.94 else "grey"
    if degrees >= 345 or degrees < 12:
        if value < 0.7:
            return "brown" if saturated < 0.78 else "red"
        return "pink" if saturated < 0.55 else "red"
    if degrees < 50:
        return "brown" if value < 0.9 or saturated < 0.5 else "orange"
    if degrees < 68:
        return "yellow" if value >= 0.6 else "green"
    return "green" if degrees < 165 else "blue" if degrees < 255 else "purple" if degrees < 315 else "pink"


def _hsv(code: str) -> tuple[float, float, float]:
    """Hue in degrees, and saturation and value from 0 to 1."""
    if not is_colour(code):
        raise ValueError(f'"{code}" is no colour: write it as "#008080"')
    red, green, blue = (int(code[place : place + 2], 16) / 255 for place in (1, 3, 5))
    hue, saturated, value = colorsys.rgb_to_hsv(red, green, blue)
    return 360 * hue, saturated, value
