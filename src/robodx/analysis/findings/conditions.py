"""Conditions: groups of episodes by what they demanded or what was done to them, each with those to hold it against.

They form a tree: a family, its tiers, their tasks; a demand and its parts. None of them asks for a task or a policy by
name.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from robodx.analysis.findings.gerunds import doing

Mask = NDArray[np.bool_]
Sort = Literal["need", "value", "stress", "clock", "family", "tier", "task", "all"]

# What a target is that is to be taken: a policy may have a bias against a value of these.
VALUES = ("colour", "kind")
# Of the narrower of two conditions, the share within the wider from which it is a part of that.
WITHIN = 0.8
# A demand by the last part of its path, after "trials with".
SAYS = {
    "choice": "a choice among things", "layout": "a varying layout", "distractors": "things that nobody speaks of",
    "change": "changes", "sudden": "sudden changes", "signal": "a signal to wait for",
    "words": "a new instruction on the way", "language": "more than a plain name", "negation": "a negation",
    "condition": "a condition", "otherwise": "a condition that is not met", "order": "an order of steps",
    "ordinal": "an ordinal", "relation": "a relation between things", "synonym": "a synonym",
    "perception": "things to be told by their looks", "colour": "a colour to go by", "size": "a size to go by",
    "shape": "a shape to go by", "place": "a place to go by", "pattern": "a pattern to go by",
}  # fmt: skip


@dataclass(frozen=True)
class Condition:
    """`path` is what distinguishes the episodes inside from those outside; outside may be empty for `all`."""

    sort: Sort
    path: str
    inside: Mask
    outside: Mask
    # Where more have it than can be held against others, all of them.
    everywhere: Mask | None = None

    @property
    def is_arm(self) -> bool:
        """Whether it is something that was done to the policy, beside the same situations without it."""
        return self.sort in ("stress", "clock")

    @property
    def name(self) -> str:
        return self.path if self.sort == "all" else f"{self.sort}: {self.path}"

    @property
    def says(self) -> str:
        """Which trials, as "trials with a negation"."""
        main, _, rest = self.path.partition("/")
        if self.sort == "need":
            last = self.path.split("/")[-1]
            return f"trials of {doing(rest)}" if main == "motor" else f"trials with {SAYS.get(last, last)}"
        if self.sort == "value":
            return "trials whose target has the {} {}".format(*self.path.split("="))
        if self.sort == "stress":
            return f"trials under {main}{f' at level {rest}' if rest else ''}"
        if self.sort == "clock":
            return "trials in which the world does not wait"
        return "trials" if self.sort == "all" else f"trials of {self.path}"

    def is_part_of(self, other: Condition) -> bool:
        """Whether it is the narrower, and mostly within the other."""
        mine, others, both = (int(each.sum()) for each in (self.inside, other.inside, self.inside & other.inside))
        return mine < others and both >= WITHIN * mine

    def joined(self, other: Condition) -> Condition:
        """Where either of two demands is made."""
        path = f"{self.path} or {other.path}"
        return Condition(self.sort, path, self.inside | other.inside, self.outside & other.outside)


def conditions(episodes: pl.DataFrame) -> list[Condition]:
    """Of the episodes of one policy, with what arm each belongs to (see prepare.py)."""
    base = episodes["is_base"].to_numpy()
    found = [
        *_needs(episodes, base),
        *_values(episodes, base),
        *_stresses(episodes, base),
        *_clocks(episodes, base),
        *_groups(episodes, base),
        Condition("all", "everything", base, np.zeros(len(base), dtype=np.bool_)),
    ]
    return [one for one in found if one.inside.any() and (one.sort == "all" or one.outside.any())]


def _needs(episodes: pl.DataFrame, base: Mask) -> Iterator[Condition]:
    """A demand with all that is below it: "language" is every demand on language.

    What only one task demands cannot be told from that task.
    """
    lists: Sequence[Sequence[str] | None] = episodes["demands"].to_list()
    tasks = episodes["task"].to_numpy()
    prefixes = [{prefix for path in paths or () for prefix in _prefixes(path)} for paths in lists]
    # The deeper first: of two that hold the same episodes it says more.
    for path in sorted(set().union(*prefixes), key=lambda path: (-path.count("/"), path)):
        has = np.array([path in each for each in prefixes], dtype=np.bool_)
        if len(set(tasks[has])) > 1:
            yield Condition("need", path, base & has, base & ~has)


def _prefixes(path: str) -> list[str]:
    parts = path.split("/")
    return ["/".join(parts[: end + 1]) for end in range(len(parts))]


def _values(episodes: pl.DataFrame, base: Mask) -> Iterator[Condition]:
    """A target's value, held against other values in the same tasks: tasks differ in more than this."""
    tasks = episodes["task"].to_numpy()
    for factor in VALUES:
        worn = episodes["target"].struct.field(factor).to_numpy()
        for value in sorted({str(each) for each in worn if each is not None}):
            has = base & (worn == value)
            both = base & np.isin(tasks, np.intersect1d(tasks[has], tasks[base & ~has]))
            yield Condition("value", f"{factor}={value}", both & has, both & ~has, everywhere=has)


def _stresses(episodes: pl.DataFrame, base: Mask) -> Iterator[Condition]:
    """A stressor, and each of its levels, held against the same situations without it."""
    arms, pairs = episodes["stress"].to_list(), episodes["pair_id"].to_numpy()
    paths = {prefix for arm in arms if arm for prefix in _prefixes(arm)}
    for path in sorted(paths):
        has = np.array([arm is not None and path in _prefixes(arm) for arm in arms], dtype=np.bool_)
        yield Condition("stress", path, has, base & np.isin(pairs, pairs[has]))


def _clocks(episodes: pl.DataFrame, base: Mask) -> Iterator[Condition]:
    """Where the world does not wait, held against the same situations where it does."""
    pairs, has = episodes["pair_id"].to_numpy(), episodes["is_realtime"].to_numpy()
    yield Condition("clock", "realtime", has, base & np.isin(pairs, pairs[has]))


def _groups(episodes: pl.DataFrame, base: Mask) -> Iterator[Condition]:
    tiers = episodes.select(pl.concat_str("family", "tier", separator="/", ignore_nulls=True)).to_series()
    for sort, names in (("family", episodes["family"]), ("tier", tiers), ("task", episodes["task"])):
        for name in sorted(names.drop_nulls().unique()):
            has = (names == name).fill_null(False).to_numpy()
            yield Condition(sort, name, base & has, base & ~has)  # type: ignore[arg-type]
