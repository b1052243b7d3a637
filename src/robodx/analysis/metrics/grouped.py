"""Success of very many groups at once: as `success_rate` says of each, without asking it of one after the other."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl

from robodx.analysis.metrics.base import estimate, mean_estimate
from robodx.analysis.metrics.observations import STRATUM, is_fair, observations
from robodx.analysis.metrics.success import success_rate
from robodx.analysis.statistics.estimates import NOTHING, Estimate
from robodx.analysis.statistics.sequential import Stopped

Key = tuple[object, ...]
GROUP = "_group"


def success_by(episodes: pl.DataFrame, keys: Sequence[str], stopped: Stopped = "planned") -> dict[Key, Estimate]:
    """The success rate of each group of episodes that have these columns alike, by their values."""
    groups = episodes.select(keys).unique(maintain_order=True).with_row_index(GROUP)
    numbered = episodes.join(groups, on=list(keys), nulls_equal=True, maintain_order="left")
    names: dict[object, Key] = dict(zip(groups[GROUP].to_list(), groups.select(keys).iter_rows(), strict=True))
    if stopped != "planned":
        # Intervals that hold whenever one stops are those of one group after the other.
        parts = numbered.partition_by(GROUP, as_dict=True)
        rng = np.random.default_rng
        return {names[id]: estimate(success_rate, part, rng(0), stopped=stopped) for (id,), part in parts.items()}
    seen = observations(numbered, apart=(GROUP,))
    counted = dict(
        seen.group_by(GROUP).agg(pl.struct("task", "seed", "perturbations", "policy").hash().n_unique()).iter_rows()
    )
    unfair = _unfair(numbered)
    found = {id: NOTHING for id in names} | {id: _mean(part) for (id,), part in _situations(seen).items()}
    return {
        name: Estimate(None, None, None, counted.get(id, 0)) if id in unfair else found[id]
        for id, name in names.items()
    }


def _unfair(numbered: pl.DataFrame) -> set[object]:
    """The groups of which `is_fair` would say that errors make the rest no fair sample."""
    erred = numbered.filter((pl.col("outcome") == "error").any().over(GROUP))
    return {id for (id,), part in erred.partition_by(GROUP, as_dict=True).items() if not is_fair(part)}


def _situations(seen: pl.DataFrame) -> dict[Key, pl.DataFrame]:
    """The mean over repeats in each situation, with its stratum numbered as they appear: the groups' tables."""
    table = seen.select(GROUP, "seed", hash=pl.struct(STRATUM).hash(), value=pl.col("success").cast(pl.Float64))
    means = table.drop_nulls("value").group_by(GROUP, "hash", "seed", maintain_order=True).agg(pl.col("value").mean())
    strata = table.select(GROUP, "hash").unique(maintain_order=True)
    strata = strata.with_columns(stratum=pl.int_range(pl.len()).over(GROUP))
    joined = means.join(strata, on=[GROUP, "hash"], maintain_order="left")
    return joined.partition_by(GROUP, as_dict=True)


def _mean(situations: pl.DataFrame) -> Estimate:
    return mean_estimate(situations, np.random.default_rng(0), bounds=(0.0, 1.0))
