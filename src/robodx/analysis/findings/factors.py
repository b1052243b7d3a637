"""Which recorded attributes say the same of a trial: "told by colour" is also "requires perception/colour"."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from math import inf

from robodx.records.features import REQUIRES, WORD, YES, order

# Written before any held-out fault was read, but for what is said below.
COUNTS = {"expert_grasps": "grasps", "things": "objects", "loose_things": "objects"}
LATE = ("expert_duration_s", "waits")
# Places in metres are told in words, by definition. That was added after the first held-out faults were read, and so
# was that only the last of bands is late.
PLACE = re.compile(r"(target|goal)_([xy])_m")
MIDDLE = {"x": (-0.12, 0.0, "near", "far", "depth"), "y": (-0.07, 0.07, "right", "left", "side")}
# Whatever has an order has several acts, and so takes longer: policies that may stop in any second were found to fail
# "because steps have an order". Neither stands for the other among what changed along with it.
ORDER = f"{REQUIRES}language/order"
NUMBER = re.compile(r"-?\d+(?:\.\d+)?")


def is_same_factor(attribute: str, level: str, found: str, levels: Sequence[str]) -> bool:
    """Whether a cause that was found, an attribute at some levels, is the one that was planted, or its parent."""
    planted = set(_factors(attribute, level))
    return any(_meet(one, other) for each in levels for one in _factors(found, each) for other in planted)


def factors_of(attribute: str, levels: Sequence[str]) -> frozenset[tuple[str, str]]:
    """What a condition is about, however it is recorded."""
    return frozenset(one for level in levels for one in _factors(attribute, level))


def says_the_same(attribute: str, other: str) -> bool:
    """Whether two attributes are about one factor, whatever their levels; each word is one, and each role's cue."""
    one, two = ({name for name, _ in _factors(each, YES)} for each in (attribute, other))
    differ = any(each.startswith(WORD) or each in ("goal_cue", ORDER) for each in (attribute, other))
    return attribute == other or (bool(one & two) and not differ)


def _meet(found: tuple[str, str], planted: tuple[str, str]) -> bool:
    name, level = found
    other, wanted = planted
    if name != other and not other.startswith(f"{name}/"):
        return False
    if name != other or level == wanted:
        return True
    ranges = [_range(name, text) for text in (level, wanted)]
    return None not in ranges and max(one[0] for one in ranges if one) < min(one[1] for one in ranges if one)


def _factors(attribute: str, level: str) -> Iterator[tuple[str, str]]:
    """The ways to say it, each a factor and a level."""
    attribute = attribute.strip()
    for each in re.split(r"\s*(?:\||;| or )\s*", level.strip()) if not order(attribute) else [level.strip()]:
        path = attribute.removeprefix(REQUIRES) if attribute.startswith(REQUIRES) else None
        if attribute == REQUIRES.strip():
            path = each
        if path is not None:
            yield from _required(path)
        elif attribute in ("target_cue", "goal_cue"):
            yield from (("cue", cue) for cue in each.split(" and "))
        elif attribute in LATE:
            yield "late", "no" if each == "no" or (_range(attribute, each) or (0.0, inf))[1] < inf else YES
        elif attribute in ("acts", "clauses"):
            yield "acts", "1" if each == "1" else "several"
        elif attribute == "distractors":
            yield "distractors", "none" if each == "0" else "some"
        elif attribute in ("verb", "word") or attribute.startswith(WORD):
            text = attribute.removeprefix(WORD) if attribute.startswith(WORD) else each
            yield from (("word", word) for word in re.findall(r"[a-z']+", text.lower()))
        elif found := PLACE.fullmatch(attribute):
            yield from _place(found[1], found[2], each)
        else:
            yield COUNTS.get(attribute, attribute), each


def _place(role: str, axis: str, level: str) -> Iterator[tuple[str, str]]:
    low, high, below, above, name = MIDDLE[axis]
    bounds = _range(role, level)
    if bounds is not None and bounds[0] >= high:
        yield f"{role}_{name}", above
    elif bounds is not None and bounds[1] <= low:
        yield f"{role}_{name}", below


def _required(path: str) -> Iterator[tuple[str, str]]:
    main, _, rest = path.partition("/")
    if (main == "perception" and rest) or path in ("language/ordinal", "language/relation"):
        yield "cue", rest
    elif main == "motor" and rest:
        yield "act", rest
    elif path == "language/order":
        yield "acts", "several"
    elif path == "distractors":
        yield "distractors", "some"
    elif path == "choice":
        yield "objects", ">=2"
    else:
        yield path, YES


def _range(name: str, text: str) -> tuple[float, float] | None:
    """Of a level that is a number or a band of them: "2", "below 0.036", "0.036 to 0.046", "8 or more", ">0.2"."""
    numbers = [float(each) for each in NUMBER.findall(text)]
    if not numbers:
        return None
    if re.match(r"\s*(>|at least)", text) or "or more" in text:
        return numbers[0], inf
    if re.match(r"\s*(<|below|at most)", text):
        return -inf, numbers[0]
    return (numbers[0], numbers[1]) if len(numbers) > 1 else (numbers[0] - 1e-9, numbers[0] + 1e-9)
