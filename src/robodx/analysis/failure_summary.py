"""How a policy fails: its failures by kind and type with their evidence, faults of successes, and errors apart."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import polars as pl

from robodx.analysis.metrics.failures import UNKNOWN, Column, FailureShare, failure_shares, share_of
from robodx.analysis.metrics.observations import distinct_episodes
from robodx.analysis.null_inputs import lacks_input
from robodx.analysis.statistics.estimates import Estimate
from robodx.analysis.statistics.sequential import Stopped
from robodx.analysis.variants import CLEAN, is_under_stress
from robodx.records.episode import WRONG_OBJECT

UNDER_STRESS = "under stress or in real time"


@dataclass(frozen=True)
class Failed:
    """A failed episode, with the evidence where it was attributed."""

    policy: str
    task: str
    variant: str
    seed: int
    repeat: int
    kind: str
    type: str | None
    step: int | None
    says: str | None


@dataclass(frozen=True)
class Failures:
    """How one policy fails, in one variant, under stress or (None) by itself.

    `types_of` splits the kinds, `examples` shows them.
    """

    policy: str
    variant: str | None
    n: int
    kinds: list[FailureShare]
    types: list[FailureShare]
    types_of: dict[str, list[FailureShare]]
    # Faults of episodes that succeeded nevertheless, and how many of those there are.
    flags_on_successes: dict[str, Estimate]
    successes: int
    examples: dict[str, Failed]


@dataclass(frozen=True)
class Error:
    """The last line of an error's text, and how many episodes ended so."""

    says: str
    count: int


def shown_outcome() -> pl.Expr:
    """How an episode went, in a word: who took the wrong object failed by that, and not by the time that then ran out.

    The column `outcome` says how it ended.
    """
    is_wrong = (pl.col("failure_type") == WRONG_OBJECT) & pl.col("outcome").is_in(["failure", "timeout"])
    return pl.when(is_wrong).then(pl.lit(WRONG_OBJECT)).otherwise("outcome")


def failures(episodes: pl.DataFrame, stopped: Stopped) -> list[Failures]:
    """How each policy fails by itself, and under what was done to it if it fails there.

    Episodes have the columns of `with_variants`. What it gets no pictures or words for, it need not solve.
    """
    found = []
    for (policy,), tried in episodes.group_by("policy", maintain_order=True):
        own, rest = tried.filter("is_base"), tried.filter(is_under_stress() & ~lacks_input())
        found.append(failures_of(own if len(own) else tried, str(policy), None, stopped))
        stressed = failures_of(rest, str(policy), UNDER_STRESS, stopped)
        found += [stressed] if len(own) and stressed.kinds else []
    return found


def failures_in_variants(episodes: pl.DataFrame, stopped: Stopped) -> list[Failures]:
    ordered = episodes.sort("variant_rank", maintain_order=True)
    return [
        failures_of(tried, str(policy), str(variant) or CLEAN, stopped)
        for (policy, variant), tried in ordered.group_by("policy", "variant", maintain_order=True)
    ]


def failures_of(episodes: pl.DataFrame, policy: str, variant: str | None, stopped: Stopped) -> Failures:
    """Of the episodes of one policy, with the columns of `with_variants`."""

    def shares(table: pl.DataFrame, column: Column = "failure_kind") -> list[FailureShare]:
        return [replace(one, share=without_fixed_interval(one.share, stopped)) for one in failure_shares(table, column)]

    seen = distinct_episodes(episodes)
    failed, solved = seen.filter(~pl.col("success")), seen.filter("success")
    kinds = shares(episodes)
    of_kind = {one.label: failed.filter(pl.col("failure_kind").fill_null(UNKNOWN) == one.label) for one in kinds}
    flags = solved["quality_flags"].explode().drop_nulls().value_counts(sort=True)
    described = [_failed(row) for row in failed.iter_rows(named=True)]
    return Failures(
        policy=policy,
        variant=variant,
        n=len(seen),
        kinds=kinds,
        types=shares(episodes, "failure_type"),
        types_of={kind: shares(group, "failure_type") for kind, group in of_kind.items()},
        flags_on_successes={
            str(flag): without_fixed_interval(share_of(int(count), solved), stopped)
            for flag, count in flags.iter_rows()
        },
        successes=len(solved),
        # Of each kind the first that says something.
        examples={one.kind: one for one in reversed(described) if one.says is not None},
    )


def _failed(row: Mapping[str, Any]) -> Failed:
    evidence = row["failure_evidence"] or {}
    return Failed(
        row["policy"], row["task"], row["variant"] or CLEAN, row["seed"], row["repeat"], row["failure_kind"] or UNKNOWN,
        row["failure_type"], evidence.get("step"), evidence.get("says"),
    )  # fmt: skip


def failed_episodes(episodes: pl.DataFrame) -> list[Failed]:
    """Every failed episode, those alike once, by task, variant and seed."""
    seen = distinct_episodes(episodes).filter(~pl.col("success"))
    return [_failed(row) for row in seen.sort("task", "variant_rank", "seed", "repeat").iter_rows(named=True)]


def errors_of(episodes: pl.DataFrame) -> list[Error]:
    """What went wrong with the machinery, the most frequent first."""
    texts = episodes.filter(pl.col("outcome") == "error")["error"].fill_null("")
    counts = Counter((text.strip().splitlines() or [UNKNOWN])[-1] for text in texts)
    return [Error(says, count) for says, count in counts.most_common()]


def without_fixed_interval(found: Estimate, stopped: Stopped) -> Estimate:
    return found if stopped == "planned" else replace(found, low=None, high=None)


def error_bounds(episodes: pl.DataFrame) -> tuple[float, float] | None:
    """The success rate if every erred trial had failed, and if every one had succeeded."""
    if episodes.is_empty():
        return None
    won, lost = int(episodes["success"].sum()), int((episodes["outcome"] == "error").sum())
    return won / len(episodes), (won + lost) / len(episodes)
