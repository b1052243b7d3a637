"""How many failures are looked at, and which: as many from the oracle as from the relations, over all strata."""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import NormalDist

import numpy as np
import polars as pl

from robodx.analysis.statistics.estimates import CONFIDENCE
from robodx.errors import UserError
from robodx.records.pairs import REPEAT, ROW

MARGIN = 0.07
# To know a share more exactly than this, more than a million would have to be looked at.
FINEST_MARGIN = 0.001
# Of the share that is to be estimated nothing is known before: at one half most items are needed.
SHARE = 0.5
STRATA = ("relation", "task", "policy")
ORACLE, RELATION = "oracle failure", "relation violation"


def sample_size(population: int, margin: float = MARGIN, confidence: float = CONFIDENCE) -> int:
    """Cochran's, corrected for a finite population: drawn at random, so many show a share of it within the margin."""
    if population <= 0:
        return 0
    if not FINEST_MARGIN <= margin < 1:
        raise UserError(f"a margin of {margin:g} is not between {FINEST_MARGIN:g} and 1")
    z = NormalDist().inv_cdf(0.5 + confidence / 2)
    of_very_many = z * z * SHARE * (1 - SHARE) / margin**2
    return min(population, math.ceil(of_very_many / (1 + (of_very_many - 1) / population)))


def population(pairs: pl.DataFrame) -> pl.DataFrame:
    """The pairs that one of the two accuses, in a fixed order: columns of the pairs table, and `is_violated`."""
    # Repeats of the source say how much the policy varies by itself. They test no relation.
    accused = pl.col("is_flagged").fill_null(False) | pl.col("is_violated").fill_null(False)
    return pairs.filter(accused & (pl.col("relation") != REPEAT)).unique(ROW, keep="first").sort(ROW)


def draw(pairs: pl.DataFrame, rng: np.random.Generator, margin: float = MARGIN) -> pl.DataFrame:
    """The sample, in a shuffled order, with the column `drawn_from`.

    Half are oracle failures and half violations, as far as there are enough of each; what is both serves once.
    """
    every = population(pairs)
    size = sample_size(len(every), margin)
    sides = {ORACLE: every.filter("is_flagged"), RELATION: every.filter("is_violated")}
    # The rarer first: it might otherwise be used up for the other half.
    first, second = sorted(sides, key=lambda name: (len(sides[name]), name))
    rare = spread(sides[first], size // 2 if first == ORACLE else size - size // 2, rng).with_columns(
        drawn_from=pl.lit(first)
    )
    rest = sides[second].join(rare, on=ROW, how="anti", nulls_equal=True)
    common = spread(rest, size - len(rare), rng).with_columns(drawn_from=pl.lit(second))
    left = every.join(pl.concat([rare, common]), on=ROW, how="anti", nulls_equal=True)
    # All that are left are of the rarer side: those of the other were not enough.
    more = spread(left, size - len(rare) - len(common), rng).with_columns(drawn_from=pl.lit(first))
    drawn = pl.concat([rare, common, more]).sort(ROW)
    # Who labels one after the other must not know from which half the next one is.
    return drawn[rng.permutation(len(drawn))]


def spread(rows: pl.DataFrame, size: int, rng: np.random.Generator, strata: Sequence[str] = STRATA) -> pl.DataFrame:
    """So many rows, from each stratum its share: of a relation, of a task within it and so on, give or take one.

    Every k-th of the rows by strata, in a random order within each, from a random start.
    """
    size = min(size, len(rows))
    if size <= 0:
        return rows.clear()
    ordered = rows.sort(ROW)[rng.permutation(len(rows))].sort(strata, maintain_order=True, nulls_last=True)
    places = ((np.arange(size) + rng.random()) * len(rows) / size).astype(np.int64)
    return ordered[places]
