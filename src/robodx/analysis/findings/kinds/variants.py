"""What is done to a policy beside the same situations without it: stress, and a world that does not wait."""

from __future__ import annotations

import shlex
from collections.abc import Iterator

import numpy as np
import polars as pl

from robodx.analysis.findings.kinds.base import FindingKind, NextTest, register
from robodx.analysis.findings.strata import Stratum, prefixes


def _stresses(episodes: pl.DataFrame) -> Iterator[Stratum]:
    """A stressor, and each of its levels, held against the same situations without it."""
    base, pairs = episodes["is_base"].to_numpy(), episodes["pair_id"].to_numpy()
    stresses = [prefixes(stress) if stress else [] for stress in episodes["stress"].to_list()]
    for path in sorted(set().union(*stresses)):
        has = np.array([path in each for each in stresses], dtype=np.bool_)
        without = base & np.isin(pairs, pairs[has])
        yield Stratum("stress", path, f"trials under {_at_level(path)}", has, without, paired_by="pair_id")


def _at_level(path: str) -> str:
    stressor, _, level = path.partition("/")
    return f"{stressor} at level {level}" if level else stressor


def _cliff(ask: NextTest) -> str:
    stressor = ask.subject.split("/")[0]
    if stressor == "combined":
        return ask.run()
    return f"robodx cliff {shlex.quote(ask.tasks[0])} {ask.policy} --stressor {shlex.quote(stressor)}"


def _clocks(episodes: pl.DataFrame) -> Iterator[Stratum]:
    """Where the world does not wait, held against the same situations where it does."""
    pairs, has = episodes["pair_id"].to_numpy(), episodes["is_realtime"].to_numpy()
    without = episodes["is_base"].to_numpy() & np.isin(pairs, pairs[has])
    yield Stratum("clock", "realtime", "trials in real time", has, without, paired_by="pair_id")


register(
    FindingKind(
        name="failure cliff",
        sentence="It breaks under {subject}",
        strata=_stresses,
        by_stratum=lambda candidate: candidate.stratum.path if candidate.stratum.sort == "stress" else None,
        in_words=_at_level,
        next_test=_cliff,
    )
)

register(
    FindingKind(
        name="latency-bound",
        sentence="It is too slow for real time",
        strata=_clocks,
        by_stratum=lambda candidate: "" if candidate.stratum.sort == "clock" else None,
        next_test=lambda ask: ask.run("--clock realtime:measured --seeds 25"),
    )
)
