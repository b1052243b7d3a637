"""The words there are for things: kinds, sizes, and what else people call them."""

from __future__ import annotations

SIZES = ("big", "small")
KINDS = (
    "cube", "sphere", "cylinder", "triangular block", "T-block", "peg", "block with a hole", "bin", "bowl", "crate",
    "box", "charger", "receptacle", "disc", "slot", "switch", "lamp", "ramp", "conveyor",
    "hexagonal block", "cross", "half-moon", "octagonal peg", "kit tray",
)  # fmt: skip
ORDINALS = ("first", "second", "third", "fourth")
NUMBERS = ("no", "one", "two", "three", "four", "five", "six")

# Other words for the same, which anybody uses; and some that one may not know.
EVERYDAY: dict[str, tuple[str, ...]] = {
    "red": ("crimson", "scarlet", "ruby"),
    "green": ("emerald", "jade"),
    "blue": ("azure", "cobalt", "sapphire"),
    "cube": ("block", "cuboid", "brick", "building block"),
    "sphere": ("ball", "orb"),
    "peg": ("rod", "stick"),
    "disc": ("disk", "circle"),
    "bin": ("tray",),
    "switch": ("button",),
    "charger": ("plug",),
    "receptacle": ("socket",),
    "big": ("large",),
    "small": ("little", "tiny"),
    "pick up": ("take", "get", "lift", "raise", "grab", "grasp", "grip", "seize", "fetch", "collect", "take hold of",
                "get hold of"),
}  # fmt: skip
RARE: dict[str, tuple[str, ...]] = {
    "red": ("vermilion", "carmine"),
    "green": ("viridian", "verdant"),
    "blue": ("ultramarine", "cerulean"),
    "cube": ("hexahedron",),
    "pick up": ("clutch", "snatch up"),
}


def article(words: str) -> str:
    return "an" if words[0] in "aeiou" else "a"


def plural_kind(kind: str) -> str:
    """Of "block with a hole" it is the block that there are several of."""
    head, space, rest = kind.partition(" with ")
    return f"{head}{'es' if head.endswith(('s', 'x', 'ch')) else 's'}{space}{rest}"
