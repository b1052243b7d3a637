"""How often a policy violates each relation, beside merely trying again (MR0) and beside what the success oracle says.

A rate is of situations: the repeats of one are averaged, and those that went alike in all are counted once.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from robodx.analysis.metamorphic.levels import LEVELS, calibrated, violation_at, with_verdicts
from robodx.analysis.metamorphic.measuring import REPEAT
from robodx.analysis.metrics.observations import alike_once
from robodx.analysis.statistics.estimates import MAX_ERROR_SHARE, NOTHING, Estimate, wilson
from robodx.analysis.statistics.multiple import holm
from robodx.analysis.statistics.paired import mcnemar_p, tango
from robodx.analysis.statistics.permutation import swap_test

# A violation in so many of a hundred pairs is what the calibrated level lets pass of mere repeats.
TOLERATED = 0.05
PERCENTILES = (10, 25, 50, 75, 90)
# Tolerances of the sweep, in metres.
SWEEP_M = tuple(round(0.01 * step, 2) for step in range(51))
SITUATION = ("task", "seed")
NO_TYPE = "not attributed"


@dataclass(frozen=True)
class Violations:
    """One relation at one level, on one task or (task is None) on all."""

    policy: str
    relation: str
    pattern: str
    task: str | None
    level: str
    # How many pairs there are a verdict for, and how many of them violate the relation.
    pairs: int
    violating: int
    # Of situations.
    rate: Estimate
    # MR0 on the same sources; and how much higher the relation's rate is, on the same situations. Repeats are expected
    # to stay near: there is no difference to tell where a relation asks the path to vary.
    repeated: Estimate
    difference: Estimate
    # Of consistency: exact and paired, of no difference. Else: exact, of a rate of no more than 5%.
    p: float | None
    # After Holm over the relations of a policy at this level; of all tasks together alone.
    p_holm: float | None
    # Pairs without a distance, for one of the two ended in an error or has no trajectory.
    errors: int


@dataclass(frozen=True)
class Overlap:
    """What the success oracle and the relation say of the same follow-ups, counted in pairs."""

    policy: str
    relation: str
    task: str | None
    level: str
    both: int
    oracle_only: int
    relation_only: int
    neither: int
    # How often they say the same, of situations, and how far beyond chance; None where chance explains it all.
    agreement: Estimate
    kappa: float | None


@dataclass(frozen=True)
class Sweep:
    """The share of pairs that violate a relation, by tolerance; of a relocation the strict bounds, widened by it."""

    policy: str
    relation: str
    pattern: str
    pairs: int
    tolerances_m: tuple[float, ...]
    shares: tuple[float, ...]


@dataclass(frozen=True)
class Spread:
    """Percentiles of the distances of one relation, in metres, by `PERCENTILES`."""

    policy: str
    relation: str
    pairs: int
    percentiles_m: tuple[float, ...]


@dataclass(frozen=True)
class FailureType:
    """How follow-ups of one relation fail by the success oracle, and how many of these violate the relation too."""

    policy: str
    relation: str
    failure_type: str
    flagged: int
    # By level; None where there is no verdict.
    violating: Mapping[str, int | None]


@dataclass(frozen=True)
class Tolerance:
    """The calibrated δ of one policy and task; None with fewer than 19 repeats."""

    policy: str
    task: str
    delta_m: float | None
    repeats: int


@dataclass(frozen=True)
class MetamorphicTable:
    distance: str
    violations: tuple[Violations, ...]
    overlaps: tuple[Overlap, ...]
    sweeps: tuple[Sweep, ...]
    spreads: tuple[Spread, ...]
    failure_types: tuple[FailureType, ...]
    tolerances: tuple[Tolerance, ...]


def metamorphic_table(pairs: pl.DataFrame, distance: str = "frechet") -> MetamorphicTable | None:
    """Of a table of pairs; None where there are none. Relations are in the order of their numbers, MR0 first."""
    if pairs.is_empty():
        return None
    judged = with_verdicts(pairs, distance)
    names = sorted(judged["relation"].unique(), key=order)
    found: list[Violations] = []
    overlaps: list[Overlap] = []
    for (policy,), mine in judged.group_by("policy", maintain_order=True):
        repeated = mine.filter(pl.col("relation") == REPEAT)
        parts = {name: part for name in names if len(part := mine.filter(pl.col("relation") == name))}
        for level in LEVELS:
            rows: list[Violations] = []
            for part in parts.values():
                rows += [_violations(str(policy), task, level, one, repeated) for task, one in _by_task(part)]
                overlaps += [_overlap(str(policy), task, level, one) for task, one in _by_task(part)]
            found += _adjusted(rows)
    of_relation = [
        (str(policy), name, part)
        for (policy,), mine in judged.group_by("policy", maintain_order=True)
        for name in names
        if len(part := mine.filter(pl.col("relation") == name))
    ]
    return MetamorphicTable(
        distance,
        tuple(found),
        tuple(overlaps),
        tuple(_sweep(*one) for one in of_relation if one[2]["distance_m"].count()),
        tuple(_spread(*one) for one in of_relation if one[2]["distance_m"].count()),
        tuple(each for one in of_relation for each in _failure_types(*one)),
        tuple(Tolerance(**row) for row in calibrated(pairs, distance).iter_rows(named=True)),
    )


def order(relation: str) -> tuple[list[int], str]:
    """MR2 before MR10, and compositions by their first relation."""
    return [int(number) for number in re.findall(r"\d+", relation)][:1], relation


def _by_task(pairs: pl.DataFrame) -> Iterator[tuple[str | None, pl.DataFrame]]:
    yield None, pairs
    for (task,), part in pairs.sort("task", maintain_order=True).group_by("task", maintain_order=True):
        yield str(task), part


def _violations(policy: str, task: str | None, level: str, pairs: pl.DataFrame, repeated: pl.DataFrame) -> Violations:
    verdict = f"violates_{level}"
    again = repeated.group_by("source_id").agg(pl.col(verdict).first().alias("again"), again_hash=_first_hash())
    beside = pairs.with_columns(violates=pl.col(verdict)).join(again, on="source_id", how="left", maintain_order="left")
    errors = pairs["distance_m"].null_count()
    known = beside.drop_nulls("violates")
    relation, pattern = str(pairs["relation"][0]), str(pairs["pattern"][0])
    found = Violations(
        policy, relation, pattern, task, level, len(known), int(known["violates"].sum()),
        NOTHING, NOTHING, NOTHING, None, None, errors,
    )  # fmt: skip
    if errors > MAX_ERROR_SHARE * len(pairs) or known.is_empty():
        return found
    each = _situations(_once(known, ["source_hash", "follow_up_hash"]))
    rate = _rate(each["violates"])
    if relation == REPEAT:
        return replace(found, rate=rate)
    both = _situations(_once(known.drop_nulls("again"), ["source_hash", "follow_up_hash", "again_hash"]))
    found = replace(found, rate=rate, repeated=_rate(both["again"]))
    if pattern != "consistency":
        return replace(found, p=_more_than_tolerated(each["violates"]))
    only_again, only_relation = float(both["only_again"].sum()), float(both["only_relation"].sum())
    return replace(found, difference=tango(only_again, only_relation, len(both)), p=_paired_p(both))


def _first_hash() -> pl.Expr:
    return pl.col("follow_up_hash").first()


def _once(pairs: pl.DataFrame, hashes: Sequence[str]) -> pl.DataFrame:
    """Of the situations of a task that went alike in all these trajectories the first, with all its repeats."""
    return alike_once(pairs, pl.col("task"), pl.struct(SITUATION).hash(), pl.struct(hashes).hash())


def _situations(pairs: pl.DataFrame) -> pl.DataFrame:
    """The mean over the repeats of each situation: a policy that is asked twice tells little more."""
    violates, again = pl.col("violates"), pl.col("again")
    return pairs.group_by(SITUATION, maintain_order=True).agg(
        violates.cast(pl.Float64).mean(),
        again.cast(pl.Float64).mean(),
        only_again=(again & ~violates).cast(pl.Float64).mean(),
        only_relation=(violates & ~again).cast(pl.Float64).mean(),
    )


def _rate(shares: pl.Series) -> Estimate:
    known = shares.drop_nulls()
    return wilson(float(known.sum()), len(known))


def _paired_p(situations: pl.DataFrame) -> float | None:
    """Exact where each situation was tried once; of means over repeats by exchanging the two within situations."""
    if situations.is_empty():
        return None
    again, violates = (situations[name].to_numpy() for name in ("again", "violates"))
    if np.isin(again, (0.0, 1.0)).all() and np.isin(violates, (0.0, 1.0)).all():
        return mcnemar_p(*(round(float(situations[name].sum())) for name in ("only_again", "only_relation")))
    return swap_test(again, violates, np.random.default_rng(0))


def _more_than_tolerated(shares: pl.Series) -> float | None:
    """The exact one-sided p of so many violating situations, if 5% would; of means over repeats what is whole."""
    # Here, for it takes a third of a second to import.
    from scipy.special import bdtrc  # type: ignore[import-untyped]

    count, n = int(shares.sum()), len(shares)
    return (float(bdtrc(count - 1, n, TOLERATED)) if count else 1.0) if n else None


def _adjusted(rows: list[Violations]) -> list[Violations]:
    """With p after Holm over the relations, of those rows that are of all tasks."""
    adjusted = holm({one.relation: one.p for one in rows if one.task is None})
    return [replace(one, p_holm=adjusted[one.relation]) if one.task is None else one for one in rows]


def _overlap(policy: str, task: str | None, level: str, pairs: pl.DataFrame) -> Overlap:
    known = pairs.with_columns(violates=pl.col(f"violates_{level}")).drop_nulls(["violates", "is_flagged"])
    violates, flagged = known["violates"].to_numpy(), known["is_flagged"].to_numpy()
    both, oracle, relation = (int(one.sum()) for one in (flagged & violates, flagged & ~violates, ~flagged & violates))
    neither = len(known) - both - oracle - relation
    is_same = known.with_columns(violates=pl.col("violates") == pl.col("is_flagged"), again=pl.lit(None, pl.Boolean))
    each = _situations(_once(is_same, ["source_hash", "follow_up_hash"]))
    return Overlap(
        policy, str(pairs["relation"][0]), task, level, both, oracle, relation, neither, _rate(each["violates"]),
        cohens_kappa(both, oracle, relation, neither),
    )  # fmt: skip


def cohens_kappa(both: int, first_only: int, second_only: int, neither: int) -> float | None:
    """How far two yes-or-no verdicts agree beyond chance, of 1; None where chance alone makes them agree in all."""
    n = both + first_only + second_only + neither
    if not n:
        return None
    first, second = (both + first_only) / n, (both + second_only) / n
    by_chance = first * second + (1 - first) * (1 - second)
    return ((both + neither) / n - by_chance) / (1 - by_chance) if by_chance < 1 else None


def _sweep(policy: str, relation: str, pairs: pl.DataFrame) -> Sweep:
    known = pairs.drop_nulls("distance_m")
    shares = known.select(
        violation_at(pl.lit(tolerance)).mean().alias(str(place)) for place, tolerance in enumerate(SWEEP_M)
    ).row(0)
    return Sweep(policy, relation, str(pairs["pattern"][0]), len(known), SWEEP_M, tuple(map(float, shares)))


def _spread(policy: str, relation: str, pairs: pl.DataFrame) -> Spread:
    known = pairs["distance_m"].drop_nulls().to_numpy()
    return Spread(policy, relation, len(known), tuple(map(float, np.percentile(known, PERCENTILES))))


def _failure_types(policy: str, relation: str, pairs: pl.DataFrame) -> Iterator[FailureType]:
    flagged = pairs.filter("is_flagged").with_columns(pl.col("failure_type").fill_null(NO_TYPE))
    counted = [
        (len(part), str(kind), {str(level): _count(part[f"violates_{level}"]) for level in LEVELS})
        for (kind,), part in flagged.group_by("failure_type")
    ]
    for count, kind, violating in sorted(counted, key=lambda one: (-one[0], one[1])):
        yield FailureType(policy, relation, kind, count, violating)


def _count(verdicts: pl.Series) -> int | None:
    return int(verdicts.sum()) if verdicts.count() else None
