"""Conditions: what trials may have in common that a policy fails at, each an attribute at one of some levels."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from robodx.records.features import NO, REQUIRES, WORD, YES, order

Features = Mapping[str, str]
Mask = NDArray[np.bool_]
# Held by fewer trials than the first, or lacked by fewer than the second, nothing can be said of a condition.
LEAST_INSIDE, LEAST_OUTSIDE = 2, 4
# What failing itself might change, or what says nothing of a trial.
NEVER = ("expert_path_m", "room_table_half_size")


@dataclass(frozen=True, order=True)
class Condition:
    """That an attribute is at one of these levels; what is not recorded of a trial is "no"."""

    attribute: str
    levels: tuple[str, ...]

    def holds(self, features: Features) -> bool:
        return features.get(self.attribute, NO) in self.levels

    def among(self, trials: Sequence[Features]) -> Mask:
        attribute, levels = self.attribute, self.levels
        return np.array([features.get(attribute, NO) in levels for features in trials], dtype=np.bool_)

    @property
    def name(self) -> str:
        """As "target_side=right", "requires language/negation", "acts=2|3 or more"."""
        return self.attribute if self.levels == (YES,) else f"{self.attribute}={'|'.join(self.levels)}"

    @classmethod
    def parse(cls, name: str) -> Condition:
        attribute, equals, levels = name.partition("=")
        return cls(attribute, tuple(levels.split("|")) if equals else (YES,))

    @property
    def is_word(self) -> bool:
        return self.attribute.startswith(WORD)

    @property
    def requirement(self) -> str | None:
        """The path of what it says is required, if it is about that."""
        return self.attribute.removeprefix(REQUIRES) if self.attribute.startswith(REQUIRES) else None


def conditions(trials: Sequence[Features]) -> list[Condition]:
    """All that some of the trials hold and others do not; of numbers also "at least" and "at most"."""
    counted: dict[str, dict[str, int]] = defaultdict(lambda: defaultdict(int))
    for features in trials:
        for name, level in features.items():
            counted[name][level] += 1
    found: list[Condition] = []
    for name, levels in sorted(counted.items()):
        if name.startswith(NEVER):
            continue
        ordered = [level for level in order(name) if level in levels]
        sets: list[tuple[str, ...]] = [(level,) for level in sorted(levels)]
        for cut in range(1, len(ordered)):
            sets += [tuple(ordered[cut:]), tuple(ordered[:cut])]
        for one in dict.fromkeys(sets):
            held = sum(levels[level] for level in one)
            if LEAST_INSIDE <= held <= len(trials) - LEAST_OUTSIDE:
                found.append(Condition(name, one))
    return found
