"""Relations in words: what each changes, what to expect, and what it says that a path breaks it.

Of those that do not ship it is told by their pattern.
"""

from __future__ import annotations

SEPARATOR = " & "
NAMES = {
    "MR0": "repeat", "MR1": "synonym", "MR2": "distractor", "MR3": "brightness", "MR4": "negation", "MR5": "relocation",
    "MR6": "mirror", "MR7": "recolour", "MR8": "camera jitter", "MR9": "paraphrase", "MR10": "translation",
    "MR11": "idempotence",
}  # fmt: skip
# After "when".
CHANGES = {
    "MR0": "the same trial is run again",
    "MR1": "the verb of the instruction is replaced by a synonym",
    "MR2": "an unrelated object is added",
    "MR3": "the light is brighter or darker",
    "MR4": "the instruction is negated",
    "MR5": "the target lies elsewhere",
    "MR6": "scene and instruction are mirrored",
    "MR7": "an irrelevant object has another colour",
    "MR8": "the camera is moved by a few millimetres",
    "MR9": "the instruction is paraphrased",
    "MR10": "the whole scene is moved",
    "MR11": "the goal is satisfied already",
}
# What a person who sees both may expect.
EXPECTED = {
    "MR4": "something else, or nothing",
    "MR5": "a path that moves along with the target",
    "MR6": "the mirror image of the path",
    "MR10": "a path that moves along with the scene",
    "MR11": "hardly any motion",
}
# Of the rest, by pattern.
EXPECTED_OF = {
    "consistency": "the same path",
    "variation": "another path, or none",
    "relocation": "a path that changes as far as something was moved",
}
# What is seen of a policy that violates it, before "when".
SEEN = {
    "MR4": "Its path stays the same",
    "MR5": "Its path changes too little or too much",
    "MR6": "Its path is not mirrored",
    "MR10": "Its path does not move along",
    "MR11": "It moves",
}
SEEN_OF = {
    "consistency": "Its path changes",
    "variation": "Its path stays the same",
    "relocation": "Its path changes too little or too much",
}
OTHERWISE_SEEN = "Its path is not as the relation asks"


def parts(relation: str) -> list[str]:
    """Those that a composition is made of."""
    return relation.split(SEPARATOR)


def label(relation: str) -> str:
    """As "MR2 distractor", or "MR1 & MR3 synonym, brightness"; of an unknown one just its name."""
    names = [NAMES[one] for one in parts(relation) if one in NAMES]
    return f"{relation} {', '.join(names)}" if names else relation


def claim(relation: str, pattern: str) -> str:
    """As "Its path changes when an unrelated object is added"."""
    each = parts(relation)
    changes = " and ".join(CHANGES.get(one, f"{one} is applied") for one in each)
    # What is seen of a composition is not what is seen of its parts: one may ask the path to stay, another to vary.
    seen = SEEN.get(relation) or SEEN_OF.get(pattern, OTHERWISE_SEEN) if len(each) == 1 else OTHERWISE_SEEN
    return f"{seen} when {changes}"


def expectation(relation: str, pattern: str) -> str:
    """As "MR2 distractor: an unrelated object is added; expected: the same path"."""
    each = parts(relation)
    changes = " and ".join(CHANGES[one] for one in each if one in CHANGES)
    by_pattern = [EXPECTED_OF[pattern]] if pattern in EXPECTED_OF else []
    expected = ", ".join([EXPECTED[one] for one in each if one in EXPECTED] or by_pattern)
    return f"{label(relation)}{f': {changes}' if changes else ''}{f'; expected: {expected}' if expected else ''}"
