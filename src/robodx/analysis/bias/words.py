"""Factors and values of the suite `bias` in words."""

from __future__ import annotations

from collections.abc import Sequence

from robodx.analysis.bias.cells import CROSSED
from robodx.analysis.bias.interactions import LEVEL, Interaction
from robodx.analysis.bias.tables import FactorBias

# After "with".
VALUES = {
    "colour": "{value} object", "camera_pose": "the camera at {value}", "camera_orientation": "the camera at {value}",
    "camera_distance": "the camera {value} further back",
}  # fmt: skip
# After "than with".
AT_BASELINE = {
    "colour": "a red one", "camera_pose": "the original camera", "camera_orientation": "the original camera",
    "camera_distance": "the original camera",
}  # fmt: skip
CAMERA = ("camera_pose", "camera_orientation", "camera_distance")
VOWELS = "aeiou"


def label(factor: str) -> str:
    """As "camera pose", or "colour × camera pose"."""
    return CROSSED.join(one.replace("_", " ") for one in factor.split(CROSSED))


def with_value(factor: str, value: str) -> str:
    """As "a grey object", or "light direction left"."""
    said = VALUES.get(factor, f"{label(factor)} {{value}}").format(value=value)
    return f"{'an' if said[0] in VOWELS else 'a'} {said}" if factor == "colour" else said


def with_baseline(factor: str, baseline: str) -> str:
    usual = f"the usual {label(factor)}" if baseline == "usual" else f"{label(factor)} {baseline}"
    return AT_BASELINE.get(factor, usual)


def baseline_label(factor: str, baseline: str) -> str:
    """As a short name in a table."""
    return "original" if factor in CAMERA else baseline


def interaction_says(one: Interaction) -> str:
    """Whether the two interact at all, and what may be said of which depends more on the other."""
    p = "" if one.p is None else "p < 0.001" if one.p < 0.001 else f"p = {one.p:.2g}"
    shown = "" if one.p is None else f"The two {'interact' if one.p < LEVEL else 'are not shown to interact'} ({p}). "
    return f"{shown}{_direction_says(one)}"


def _direction_says(one: Interaction) -> str:
    if one.ratio is None:
        return "One of the two has no coefficient, so that nothing can be said of a direction."
    if one.levels[0] != one.levels[1]:
        chance = "" if one.null_ratio is None else f", and without any interaction it would be {one.null_ratio:.2g}"
        return (
            f"The first coefficient is {one.ratio:.2g} times the second{chance}: with unequal numbers of values "
            "the two are not comparable, and no direction is claimed."
        )
    p = "" if one.p_direction is None else f" (p = {one.p_direction:.2g})"
    if one.stronger is None:
        return f"Neither direction is shown to be stronger{p}."
    return f"Bias by {label(one.stronger)} depends more on the other than the reverse{p}."


def tried_once(factors: Sequence[FactorBias]) -> str:
    """What cannot be said of these, because each value was tried once in a context; empty of none."""
    names = [label(one.factor) for one in factors if one.repeats == 1]
    if not names:
        return ""
    return (
        f"Of {', '.join(names)} each value was tried once in a context at most: their coefficients cannot differ from "
        "those by chance, and p alone tells whether values matter. More repeats would."
    )
