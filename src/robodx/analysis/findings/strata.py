"""Strata: groups of episodes by what they required or what was done to them, each with those to hold it against.

They form a tree: a family, its tiers, their tasks; a requirement and its parts. None asks for a task or a policy by
name. Those that only one kind of finding is about are that kind's own.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from robodx.analysis.findings.gerunds import doing

Mask = NDArray[np.bool_]

# Of the narrower of two strata, the share within the wider from which it is a part of that.
WITHIN = 0.8
# A requirement by the last part of its path, after "trials with".
SAYS = {
    "choice": "several objects to choose from", "layout": "a varying layout", "distractors": "distractor objects",
    "change": "changes during the episode", "sudden": "sudden changes", "signal": "a signal to wait for",
    "words": "a new instruction during the episode", "language": "an instruction beyond plain names",
    "negation": "a negation",
    "condition": "a condition", "otherwise": "a condition that is not met", "order": "a required order of steps",
    "ordinal": "an ordinal", "relation": "a relation between objects", "synonym": "a synonym",
    "perception": "objects to tell apart by their looks", "colour": "a target named by colour",
    "size": "a target named by size",
    "shape": "a target named by shape", "place": "a target named by place", "pattern": "a target named by pattern",
    "moving things": "moving objects",
}  # fmt: skip

# What episodes inside are held against, where that is not all the rest.
OTHERS = "all other trials"
COMPARED_WITH = {
    "stress": "the same trials without it", "clock": "the same trials when the simulation waits",
    "value": "the other trials of these tasks",
}  # fmt: skip


@dataclass(frozen=True)
class Stratum:
    """`path` is what distinguishes the episodes inside from those outside; outside may be empty for `all`."""

    # "need", "family", "tier", "task", "all", or what a kind of finding calls its own.
    sort: str
    path: str
    # Which trials, as "trials with a negation".
    says: str
    inside: Mask
    outside: Mask
    # Where more have it than can be held against others, all of them.
    everywhere: Mask | None = None
    # What an episode has in common with those that it is held against: its situation, or only its task.
    paired_by: Literal["pair_id", "task"] | None = None

    @property
    def is_variant(self) -> bool:
        """Whether it is something that was done to the policy, beside the same situations without it."""
        return self.paired_by == "pair_id"

    @property
    def name(self) -> str:
        return self.path if self.sort == "all" else f"{self.sort}: {self.path}"

    @property
    def requirement(self) -> tuple[str, ...]:
        """The parts of a requirement's path, as ("language", "negation"); none of any other stratum."""
        return tuple(self.path.split("/")) if self.sort == "need" else ()

    def is_part_of(self, other: Stratum) -> bool:
        """Whether it is the narrower, and mostly within the other."""
        mine, others, both = (int(each.sum()) for each in (self.inside, other.inside, self.inside & other.inside))
        return mine < others and both >= WITHIN * mine

    def joined(self, other: Stratum) -> Stratum:
        """Where either of two requirements is made."""
        path, says = f"{self.path} or {other.path}", f"{self.says} or {other.says}"
        return Stratum(self.sort, path, says, self.inside | other.inside, self.outside & other.outside)


def strata(episodes: pl.DataFrame, of_kinds: Iterable[Stratum] = ()) -> list[Stratum]:
    """Of the episodes of one policy, with what variant each belongs to (see prepare.py); `of_kinds` are kinds' own."""
    base = episodes["is_base"].to_numpy()
    found = [
        *_needs(episodes, base),
        *of_kinds,
        *_groups(episodes, base),
        Stratum("all", "everything", "trials", base, np.zeros(len(base), dtype=np.bool_)),
    ]
    return [one for one in found if one.inside.any() and (one.sort == "all" or one.outside.any())]


def _needs(episodes: pl.DataFrame, base: Mask) -> Iterator[Stratum]:
    """A requirement with all that is below it: "language" is every requirement on language.

    What only one task requires cannot be told from that task.
    """
    lists: Sequence[Sequence[str] | None] = episodes["requirements"].to_list()
    tasks = episodes["task"].to_numpy()
    required = [{prefix for path in paths or () for prefix in prefixes(path)} for paths in lists]
    # The deeper first: of two that hold the same episodes it says more.
    for path in sorted(set().union(*required), key=lambda path: (-path.count("/"), path)):
        has = np.array([path in each for each in required], dtype=np.bool_)
        if len(set(tasks[has])) > 1:
            yield Stratum("need", path, requirement_in_words(path), base & has, base & ~has)


def requirement_in_words(path: str) -> str:
    main, _, rest = path.partition("/")
    last = path.split("/")[-1]
    return f"trials that require {doing(rest)}" if main == "motor" else f"trials with {SAYS.get(last, last)}"


def compared_with(sort: str) -> str:
    return COMPARED_WITH.get(sort, OTHERS)


def prefixes(path: str) -> list[str]:
    """A path and all that it lies in, the widest first."""
    parts = path.split("/")
    return ["/".join(parts[: end + 1]) for end in range(len(parts))]


def _groups(episodes: pl.DataFrame, base: Mask) -> Iterator[Stratum]:
    tiers = episodes.select(pl.concat_str("family", "tier", separator="/", ignore_nulls=True)).to_series()
    for sort, names in (("family", episodes["family"]), ("tier", tiers), ("task", episodes["task"])):
        for name in sorted(names.drop_nulls().unique()):
            has = (names == name).fill_null(False).to_numpy()
            yield Stratum(sort, name, _group_in_words(sort, name), base & has, base & ~has)


def _group_in_words(sort: str, name: str) -> str:
    family, _, tier = name.partition("/")
    if sort == "tier" and tier:
        return f"{tier} trials of the {family} family"
    return f"trials of the task {name}" if sort == "task" else f"trials of the {name} family"
