"""The named colours of objects: the words instructions use and the RGB they are painted with."""

from __future__ import annotations

from robodx.registry import UnknownName, unknown
from robodx.sim.css_colours import CSS, PREFIX

RGB = tuple[float, float, float]

PALETTE: dict[str, RGB] = {
    "red": (0.80, 0.12, 0.12),
    "green": (0.13, 0.58, 0.20),
    "blue": (0.12, 0.30, 0.80),
    "yellow": (0.95, 0.80, 0.10),
    "orange": (0.95, 0.48, 0.08),
    "purple": (0.50, 0.18, 0.62),
    "pink": (0.95, 0.50, 0.66),
    "magenta": (0.82, 0.12, 0.52),
    "maroon": (0.42, 0.06, 0.10),
    "cyan": (0.10, 0.72, 0.78),
    "teal": (0.05, 0.42, 0.42),
    "lime": (0.62, 0.85, 0.15),
    "navy": (0.06, 0.10, 0.38),
    "brown": (0.45, 0.28, 0.15),
    "coral": (1.0, 0.46, 0.40),
    "lavender": (0.70, 0.58, 0.95),
    "mint": (0.58, 0.95, 0.74),
    "sky blue": (0.46, 0.74, 0.98),
    "ivory": (0.93, 0.89, 0.77),
    "white": (0.95, 0.95, 0.95),
    "light grey": (0.78, 0.78, 0.79),
    "silver": (0.72, 0.72, 0.73),
    "pearl grey": (0.67, 0.67, 0.68),
    "ash grey": (0.62, 0.62, 0.63),
    "grey": (0.55, 0.56, 0.58),
    "dark grey": (0.22, 0.23, 0.25),
    "black": (0.07, 0.07, 0.08),
}

# Shades that a shape may be painted with and that nothing is called: anybody calls them by the colour before them.
SHADES: dict[str, dict[str, RGB]] = {
    "red": {"crimson": (0.76, 0.10, 0.27), "brick red": (0.64, 0.19, 0.14), "tomato": (0.94, 0.21, 0.17)},
    "green": {"emerald": (0.10, 0.66, 0.36), "grass green": (0.30, 0.62, 0.12), "forest green": (0.09, 0.41, 0.14)},
}
_PAINTS = (
    PALETTE
    | {name: paint for shades in SHADES.values() for name, paint in shades.items()}
    | {f"{PREFIX}{name}": paint for name, paint in CSS.items()}
)


def rgb(name: str) -> RGB:
    try:
        return _PAINTS[name]
    except KeyError:
        raise UnknownName(unknown("colour", name, PALETTE)) from None
