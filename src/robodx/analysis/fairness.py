"""What the checks, people and a judge say of the instances of a set, by factor."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import polars as pl

# Of a factor, the share of instances that must pass the checks.
PASS_RATE = 0.95
ACCEPT = "accept"


@dataclass(frozen=True)
class Verdicts:
    """Of one factor. Every instance is checked; people and a judge look at some of them."""

    factor: str
    instances: int
    passed: int
    people_accepted: int
    people_judged: int
    judge_accepted: int
    judge_judged: int

    @property
    def pass_rate(self) -> float:
        return self.passed / self.instances

    @property
    def is_fair(self) -> bool:
        """Counted and not divided: 95 of 100 are enough."""
        return self.passed >= PASS_RATE * self.instances - 1e-9


@dataclass(frozen=True)
class Offender:
    instance: str
    factor: str
    reasons: tuple[str, ...]
    picture: str | None


def by_factor(instances: pl.DataFrame) -> list[Verdicts]:
    """Of the table of instances, in its order."""

    def decided(column: str) -> pl.Expr:
        """Who cannot tell has not judged."""
        return pl.col(column).is_in(["accept", "reject"])

    table = instances.group_by("factor", maintain_order=True).agg(
        pl.len().alias("instances"),
        pl.col("passes").sum().alias("passed"),
        *((pl.col(name) == ACCEPT).sum().alias(f"{name}_accepted") for name in ("people", "judge")),
        *(decided(name).sum().alias(f"{name}_judged") for name in ("people", "judge")),
    )
    return [Verdicts(**row) for row in table.iter_rows(named=True)]


def offenders(instances: pl.DataFrame) -> Iterator[Offender]:
    """Those that do not pass the checks."""
    for row in instances.filter(~pl.col("passes")).iter_rows(named=True):
        yield Offender(row["instance"], row["factor"], tuple(row["reasons"]), row["picture"])
