"""How often a policy violates each relation, beside merely trying again (MR0) and beside what the success oracle says.

A rate is of situations: the repeats of one are averaged, and those that went alike in all are counted once.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from robodx.analysis.metamorphic.levels import (
    CALIBRATED,
    LEVELS,
    SITUATION,
    Level,
    calibrated,
    violation_at,
    with_verdicts,
)
from robodx.analysis.metrics.observations import alike_once
from robodx.analysis.statistics.agreement import kappa_of
from robodx.analysis.statistics.estimates import MAX_ERROR_SHARE, NOTHING, Estimate, wilson
from robodx.analysis.statistics.multiple import holm
from robodx.analysis.statistics.paired import paired_test
from robodx.records.pairs import REPEAT

Floats = NDArray[np.float64]
# A violation in so many of a hundred pairs is what the calibrated level lets pass of mere repeats.
TOLERATED = 0.05
PERCENTILES = (10, 25, 50, 75, 90)
# Tolerances of the sweep, in metres.
SWEEP_M = tuple(round(0.01 * step, 2) for step in range(51))
# By which verdict a follow-up is compared with the repeat of its source: one that neither had a say in.
COMPARED: dict[Level, str] = {
    level: "violates_others" if level == CALIBRATED else f"violates_{level}" for level in LEVELS
}
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
    # MR0 on the same sources; and how much higher the relation's rate is, on the same situations; at the calibrated
    # level both by the repeats of other situations. Repeats are expected to stay near: there is no difference to tell
    # where a relation asks the path to vary.
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
    """What the success oracle and the relation say of the same follow-ups."""

    policy: str
    relation: str
    task: str | None
    level: str
    # Pairs.
    both: int
    oracle_only: int
    relation_only: int
    neither: int
    # Of situations: how often they say the same, and how far beyond chance; None where chance explains it all.
    agreement: Estimate
    kappa: Estimate


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
    """The calibrated δ of one policy and task; None with fewer than 19 situations that were repeated."""

    policy: str
    task: str
    delta_m: float | None
    situations: int


@dataclass(frozen=True)
class MetamorphicTable:
    distance: str
    violations: tuple[Violations, ...]
    overlaps: tuple[Overlap, ...]
    sweeps: tuple[Sweep, ...]
    spreads: tuple[Spread, ...]
    failure_types: tuple[FailureType, ...]
    tolerances: tuple[Tolerance, ...]

    @property
    def policies(self) -> list[str]:
        return list(dict.fromkeys(one.policy for one in self.violations))

    def level_told(self, policy: str) -> str:
        """The one that is told first: the calibrated, if the repeats of all tasks allow for it.

        Else what is told of all tasks would be of some of them.
        """
        is_calibrated = all(one.delta_m is not None for one in self.tolerances_of(policy))
        return CALIBRATED if is_calibrated else LEVELS[0]

    def of(self, policy: str, level: str) -> list[Violations]:
        """Over all tasks, a row for each relation."""
        return [one for one in self.violations if (one.policy, one.level, one.task) == (policy, level, None)]

    def overlaps_of(self, policy: str, level: str) -> list[Overlap]:
        return [one for one in self.overlaps if (one.policy, one.level, one.task) == (policy, level, None)]

    def tolerances_of(self, policy: str) -> list[Tolerance]:
        return [one for one in self.tolerances if one.policy == policy]


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
        of_policy = [mine.filter(pl.col("relation") == name) for name in names]
        parts = [_part(task, one, repeated) for part in of_policy if len(part) for task, one in _by_task(part)]
        for level in LEVELS:
            found += _adjusted([_violations(str(policy), level, part) for part in parts])
            overlaps += [_overlap(str(policy), level, part) for part in parts]
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


class _Part(NamedTuple):
    """One relation on one task or on all."""

    task: str | None
    pairs: pl.DataFrame
    # By situation: the means of `violates_…`, and of those pairs that the oracle judged too, of whether it says the
    # same, `agrees_…`, and of what each says, `both_violates_…` and `both_flagged_…`.
    alone: pl.DataFrame
    # Of those whose source has a repeat also what this does: `again_…`, `only_again_…`, `only_relation_…`.
    beside: pl.DataFrame


def _part(task: str | None, pairs: pl.DataFrame, repeated: pl.DataFrame) -> _Part:
    said = [one for level in LEVELS for one in _beside_oracle(level)]
    alone = _once(pairs.with_columns(said), ["source_hash", "follow_up_hash"])
    verdicts = list(COMPARED.values())
    firsts = [pl.col(name).first().alias(f"again_{name}") for name in verdicts]
    again = repeated.group_by("source_id").agg(*firsts, again_hash=pl.col("follow_up_hash").first())
    beside = pairs.join(again, on="source_id", maintain_order="left")
    for name in verdicts:
        violates, repeats = pl.col(name), pl.col(f"again_{name}")
        # What one of the two has no verdict for is no pair.
        known = violates.is_not_null() & repeats.is_not_null()
        beside = beside.with_columns(
            pl.when(known).then(violates).alias(name),
            pl.when(known).then(repeats).alias(f"again_{name}"),
            (repeats & ~violates).alias(f"only_again_{name}"),
            (violates & ~repeats).alias(f"only_relation_{name}"),
        )
    return _Part(
        task,
        pairs,
        _situations(alone, [*(f"violates_{level}" for level in LEVELS), *(one.meta.output_name() for one in said)]),
        _situations(
            _once(beside, ["source_hash", "follow_up_hash", "again_hash"]),
            [f"{kind}{name}" for name in verdicts for kind in ("", "again_", "only_again_", "only_relation_")],
        ),
    )


def _beside_oracle(level: Level) -> tuple[pl.Expr, ...]:
    violates, flagged = pl.col(f"violates_{level}"), pl.col("is_flagged")
    return (
        (violates == flagged).alias(f"agrees_{level}"),
        pl.when(flagged.is_not_null()).then(violates).alias(f"both_violates_{level}"),
        pl.when(violates.is_not_null()).then(flagged).alias(f"both_flagged_{level}"),
    )


def _once(pairs: pl.DataFrame, hashes: Sequence[str]) -> pl.DataFrame:
    """Of the situations of a task that went alike in all these trajectories the first, with all its repeats."""
    return alike_once(pairs, pl.col("task"), pl.struct(SITUATION).hash(), pl.struct(hashes).hash())


def _situations(pairs: pl.DataFrame, names: Sequence[str]) -> pl.DataFrame:
    """The mean over the repeats of each situation: a policy that is asked twice tells little more."""
    return pairs.group_by(SITUATION, maintain_order=True).agg(pl.col(*names).cast(pl.Float64).mean())


def _violations(policy: str, level: Level, part: _Part) -> Violations:
    pairs, verdict = part.pairs, f"violates_{level}"
    errors = pairs["distance_m"].null_count()
    relation, pattern = str(pairs["relation"][0]), str(pairs["pattern"][0])
    found = Violations(
        policy, relation, pattern, part.task, level, pairs[verdict].count(), int(pairs[verdict].sum()),
        NOTHING, NOTHING, NOTHING, None, None, errors,
    )  # fmt: skip
    shares = part.alone[verdict].drop_nulls()
    if errors > MAX_ERROR_SHARE * len(pairs) or shares.is_empty():
        return found
    found = replace(found, rate=_rate(shares))
    if relation == REPEAT:
        return found
    name = COMPARED[level]
    both = part.beside.drop_nulls(name)
    found = replace(found, repeated=_rate(both[f"again_{name}"]))
    if pattern != "consistency":
        return replace(found, p=_more_than_tolerated(shares))
    lost, won = (float(both[f"only_{which}_{name}"].sum()) for which in ("again", "relation"))
    again, violates = both[f"again_{name}"].to_numpy(), both[name].to_numpy()
    difference, p = paired_test(again, violates, lost, won, np.random.default_rng(0))
    return replace(found, difference=difference, p=p)


def _rate(shares: pl.Series) -> Estimate:
    known = shares.drop_nulls()
    return wilson(float(known.sum()), len(known))


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


def _overlap(policy: str, level: Level, part: _Part) -> Overlap:
    known = part.pairs.select(pl.col(f"violates_{level}"), "is_flagged").drop_nulls()
    violates, flagged = (known[name].to_numpy() for name in known.columns)
    both, oracle, relation = (int(one.sum()) for one in (flagged & violates, flagged & ~violates, ~flagged & violates))
    neither = len(known) - both - oracle - relation
    agreement = _rate(part.alone[f"agrees_{level}"])
    return Overlap(
        policy, str(part.pairs["relation"][0]), part.task, level, both, oracle, relation, neither,
        agreement, kappa_of(agreement, _by_chance(part.alone, level)),
    )  # fmt: skip


def _by_chance(situations: pl.DataFrame, level: Level) -> float:
    """How often two would say the same that say yes as often as the relation and the oracle do, and know of nothing."""
    shares = situations.select(f"both_violates_{level}", f"both_flagged_{level}").mean().row(0)
    a, b = (0.0 if share is None else float(share) for share in shares)
    return a * b + (1 - a) * (1 - b)


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
