"""What findings about one policy are made from."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import polars as pl

from robodx.analysis.findings.conditions import Condition, Mask
from robodx.analysis.findings.decisions import Tally
from robodx.analysis.findings.failure_modes import FailureMode
from robodx.analysis.findings.kinds.base import Own
from robodx.analysis.findings.proposals import Screened

# What recovers most of the failed trials with these ids, in words.
Because = Callable[[Sequence[str]], str | None]


class Subject(NamedTuple):
    """What findings about a policy are made from."""

    # As the tasks laid them out, without stress, each situation once.
    table: pl.DataFrame
    screened: Screened
    modes: list[FailureMode]
    # Of these, what the screening is searched for beside failing itself.
    types: list[FailureMode]
    own: list[Own]
    because: Because
    who: str
    # Of each task, in the largest diagnosis of it; and from which seed on none of them has been.
    seeds: int
    fresh_seed: int
    # What pairs were run for, and their episodes: where there are any, the same command would decide no more.
    decided: Sequence[Tally]
    paired: pl.DataFrame
    # Tasks with act and kind of object that the screening met.
    contexts: frozenset[str]
    # The chance of a score, if nothing mattered; None in a run that outcomes ended, for they ended it as they liked.
    chance: Callable[[float], float] | None

    def inside(self, condition: Condition) -> Mask:
        own = next((one.inside for one in self.own if one.condition == condition), None)
        return condition.among(self.screened.trials) if own is None else own

    def concerned(self, tally: Tally) -> Mask:
        inside = self.inside(tally.condition)
        return inside if tally.given is None else inside & self.inside(tally.given)
