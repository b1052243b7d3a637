"""Whether a pair violates its relation, at four levels: three of fixed distances and one of the policy's own noise."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, NamedTuple, get_args

import numpy as np
import polars as pl

from robodx.records.pairs import REPEAT
from robodx.registry import UnknownName, unknown

Level = Literal["strict", "medium", "low", "calibrated"]
LEVELS: tuple[Level, ...] = get_args(Level)
CALIBRATED: Level = "calibrated"
Distance = Literal["frechet", "dtw", "hausdorff", "endpoint"]
DISTANCES: tuple[Distance, ...] = get_args(Distance)


class Bounds(NamedTuple):
    """Of the strict, medium or low level."""

    # A path is consistent up to this many metres away, and has varied from this many on.
    consistent_m: float
    varied_m: float
    # After a relocation it is at least and at most so many times as far away as the target was moved.
    least: float
    most: float


# Of the paper; stricter always flags more, so that what is to vary must do so most at the strict level.
FIXED: dict[Level, Bounds] = {
    "strict": Bounds(0.1, 0.3, 0.65, 1.60),
    "medium": Bounds(0.2, 0.2, 0.29, 2.20),
    "low": Bounds(0.3, 0.1, 0.0, 2.80),
}
# Calibrated: what 95 of 100 repeats stay within, and no finer than what control and contact make of nothing.
FINEST_M = 0.02
# From so many situations on that were repeated there is a distance within which the next one stays 95 times of 100.
FEWEST_REPEATS = 19
SITUATION = ("policy", "task", "seed")


def conformal(distances_m: pl.Series) -> float | None:
    """The ⌈0.95 (n + 1)⌉-th smallest: the next of their kind is no larger with a probability of 95% or more."""
    known = np.sort(distances_m.drop_nulls().to_numpy())
    return float(known[_place(len(known)) - 1]) if len(known) >= FEWEST_REPEATS else None


def _place(n: int) -> int:
    """⌈0.95 (n + 1)⌉, in whole numbers, for 0.95 is none."""
    return -(-19 * (n + 1) // 20)


def calibrated(pairs: pl.DataFrame, distance: str = "frechet") -> pl.DataFrame:
    """The tolerance δ of each policy and task that has pairs, by its repeats (MR0).

    `policy`, `task`, `delta_m` (null where it has too few) and `situations`: how many of them were repeated.
    """
    repeated = _repeated(pairs, distance)
    rows = []
    for policy, task in pairs.select("policy", "task").unique(maintain_order=True).iter_rows():
        mine = repeated.filter(policy=policy, task=task)["distance_m"]
        rows.append({"policy": policy, "task": task, "delta_m": _at_least(conformal(mine)), "situations": len(mine)})
    kinds = {"policy": pl.String(), "task": pl.String(), "delta_m": pl.Float64(), "situations": pl.Int64()}
    return pl.DataFrame(rows, schema=kinds)


def _repeated(pairs: pl.DataFrame, distance: str) -> pl.DataFrame:
    """A row for each situation that was repeated and measured, with the largest `distance_m` of its repeats.

    Repeats of one situation are alike: five of each of four say less of the next situation than one of each of twenty.
    """
    repeats = pairs.filter(pl.col("relation") == REPEAT).with_columns(distance_m=pl.col(_column(distance)))
    return repeats.drop_nulls("distance_m").group_by(SITUATION, maintain_order=True).agg(pl.col("distance_m").max())


def of_others(pairs: pl.DataFrame, distance: str = "frechet") -> pl.DataFrame:
    """For each situation δ by the repeats of all others of its task: `policy`, `task`, `seed`, `delta_others_m`.

    A repeat that is itself among those that δ was taken from exceeds it less often than anything else would. So where
    a repeat and a follow-up of a situation are compared, neither may have had a say in δ.
    """
    rows = []
    for (policy, task), part in _repeated(pairs, distance).group_by("policy", "task", maintain_order=True):
        if len(part) < FEWEST_REPEATS:
            continue
        for seed in part["seed"]:
            others = np.sort(part.filter(pl.col("seed") != seed)["distance_m"].to_numpy())
            delta_m = float(others[min(_place(len(others)), len(others)) - 1])
            rows.append({"policy": policy, "task": task, "seed": seed, "delta_others_m": _at_least(delta_m)})
    kinds = {"policy": pl.String(), "task": pl.String(), "seed": pl.Int64(), "delta_others_m": pl.Float64()}
    return pl.DataFrame(rows, schema=kinds)


def with_verdicts(pairs: pl.DataFrame, distance: str = "frechet") -> pl.DataFrame:
    """With `distance_m`, `delta_m` and, for each level, whether the relation is violated: `violates_strict` and so on.

    Null where nothing was measured, at the calibrated level also where there are too few repeats. `violates_others` is
    the calibrated verdict by the repeats of other situations, to compare a follow-up with the repeat of its source.
    """
    tolerances = calibrated(pairs, distance).drop("situations")
    known = pairs.drop("delta_m", "delta_others_m", strict=False).with_columns(distance_m=pl.col(_column(distance)))
    return (
        known.join(tolerances, on=["policy", "task"], how="left", maintain_order="left")
        .join(of_others(pairs, distance), on=SITUATION, how="left", maintain_order="left")
        .with_columns(violation(level).alias(f"violates_{level}") for level in LEVELS)
        .with_columns(violates_others=violation_at(pl.col("delta_others_m")))
    )


def violation(level: Level) -> pl.Expr:
    """Of a table with `pattern`, `moved_m`, `distance_m` and `delta_m`."""
    if level == CALIBRATED:
        return violation_at(pl.col("delta_m"))
    bounds, d, moved = FIXED[level], pl.col("distance_m"), pl.col("moved_m")
    return _by_pattern(
        {
            "consistency": d > bounds.consistent_m,
            "variation": d < bounds.varied_m,
            "relocation": (d < bounds.least * moved) | (d > bounds.most * moved),
        }
    )


def violation_at(delta: pl.Expr) -> pl.Expr:
    """With a tolerance: of a relocation the strict bounds, widened by it."""
    bounds, d, moved = FIXED["strict"], pl.col("distance_m"), pl.col("moved_m")
    # A distance is never below zero: neither bound asks it to be.
    least, most = bounds.least * moved - delta, bounds.most * moved + delta
    return _by_pattern(
        {"consistency": d > delta, "variation": d < delta, "relocation": (d < least) | (d > most)},
    )


def _by_pattern(violated: Mapping[str, pl.Expr]) -> pl.Expr:
    found = pl.lit(None, pl.Boolean)
    for pattern, is_so in violated.items():
        found = pl.when(pl.col("pattern") == pattern).then(is_so).otherwise(found)
    return found


def _at_least(distance_m: float | None) -> float | None:
    return None if distance_m is None else max(FINEST_M, distance_m)


def chosen(distance: str) -> Distance:
    """The word as one of those that there are."""
    found = next((one for one in DISTANCES if one == distance), None)
    if found is None:
        raise UnknownName(unknown("distance", distance, DISTANCES))
    return found


def _column(distance: str) -> str:
    return f"{chosen(distance)}_m"
