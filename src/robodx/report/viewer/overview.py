"""A row for each task, family or tier, in each variant and of each policy: success as the report counts it, and how."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from robodx.analysis.failure_summary import shown_outcome
from robodx.analysis.metrics.failures import UNKNOWN
from robodx.analysis.metrics.grouped import success_by
from robodx.analysis.statistics.sequential import Stopped
from robodx.analysis.summary import TIERS, Summary
from robodx.analysis.variants import CLEAN
from robodx.errors import UserError
from robodx.records.design import FILE as DESIGN
from robodx.records.table import explained
from robodx.report.viewer.finding import Found, is_inside
from robodx.report.viewer.library import Run
from robodx.report.viewer.listing import Query, matching

BYS = ("task", "family", "tier")
# By what rows are sorted; where that is alike, by name, variant, policy and run.
ORDERS = ("name", "success", "n", "failures", "time", "family", "tier")
# Of a row as many episodes have a mark; the list has them all.
MOST_MARKS = 40
MOST_ROWS = 200
MARK = ("trial_id", "task", "seed", "repeat", "outcome", "kind")
UNLIKE = (UserError, OSError, TypeError, ValueError, AttributeError, KeyError, pl.exceptions.PolarsError)


@dataclass(frozen=True)
class Asked:
    """Which rows of an overview are wanted, and in what order."""

    by: str = "task"
    order: str = "name"
    is_descending: bool = False
    offset: int = 0

    def __post_init__(self) -> None:
        for what, word, words in (("grouping", self.by, BYS), ("order", self.order, ORDERS)):
            if word not in words:
                raise UserError(f'No {what} "{word[:40]}"; there are {", ".join(words)}')


@dataclass(frozen=True)
class _Counted:
    """A run's episodes as its report counts them, one short row each, and its rows so far, by what they are of."""

    episodes: pl.DataFrame
    rows: dict[str, pl.DataFrame]
    # What success is worked out from.
    source: pl.DataFrame
    stopped: Stopped


class Overviews:
    """Of runs, worked out when they are first asked for and again when their episodes change."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._lock = threading.Lock()
        self._known: dict[str, tuple[Found, _Counted | str]] = {}

    def page(self, runs: Sequence[Run], query: Query, asked: Asked) -> dict[str, Any]:
        """Rows that have an episode which the query finds. Their numbers are of all their episodes, marks of these."""
        rows, problems, outside, without = [], [], 0, 0
        for run in runs:
            counted = self._counted(run, asked.by)
            found = matching(run.listing, query)
            if isinstance(counted, str):
                problems.append(f"{run.found.name}: {counted}")
                continue
            table = _marked(counted, found, asked.by)
            outside += len(found.join(counted.episodes, on="trial_id", how="anti"))
            nameless = counted.episodes.filter(pl.col(asked.by).is_null())
            without += len(found.join(nameless, on="trial_id", how="semi"))
            if len(table):
                rows.append(table.with_columns(run=pl.lit(run.found.id), run_name=pl.lit(run.found.name)))
        every = _sorted(pl.concat(rows), asked) if rows else None
        return {
            "rows": [] if every is None else every.slice(asked.offset, MOST_ROWS).drop("place").to_dicts(),
            "total": 0 if every is None else len(every),
            "outside": outside,
            # Of tasks that have no tier, or no family.
            "without": without,
            "problems": problems,
            "several": [
                name for name in ("run", "policy", "variant") if every is not None and every[name].n_unique() > 1
            ],
        }

    def _counted(self, run: Run, by: str) -> _Counted | str:
        # One at a time: two requests for the same run would both work it out.
        with self._lock:
            found, counted = self._known.get(run.found.id, (None, ""))
            if found is None or found.parts != run.found.parts:
                counted = _count(run, self._root)
            if isinstance(counted, _Counted) and by not in counted.rows:
                try:
                    counted.rows[by] = _rows(counted, by)
                except UNLIKE as error:
                    counted = f"its tasks cannot be summed up: {error}"
            self._known[run.found.id] = (run.found, counted)
            return counted


def _count(run: Run, root: Path) -> _Counted | str:
    if run.episodes.is_empty():
        return "it has no episodes"
    try:
        if not is_inside(run.found.path / DESIGN, root) and (run.found.path / DESIGN).is_symlink():
            return f"{DESIGN} lies outside of the folder"
        summary = Summary(explained(run.episodes, run.found.path, run.about), run.about)
    except UNLIKE as error:
        return f"its tasks cannot be summed up: {error}".replace(f"{root}/", "")[:500]
    is_failed = pl.col("outcome").is_in(["failure", "timeout"])
    episodes = summary.episodes.select(
        "trial_id", "policy", "task", "family", "tier", "seed", "repeat", "steps", "duration_s", "variant_rank",
        variant=pl.when(pl.col("variant") == "").then(pl.lit(CLEAN)).otherwise("variant"),
        outcome=shown_outcome(),
        kind=pl.when(is_failed).then(pl.col("failure_kind").fill_null(UNKNOWN)),
    )  # fmt: skip
    # As the list calls it: of repeats, or of the cells of a grid, it has other names or several.
    listed = run.listing.select("trial_id", listed="variant")
    return _Counted(
        episodes.join(listed, on="trial_id", how="left", maintain_order="left"), {}, summary.episodes, summary.stopped
    )


def _rows(counted: _Counted, by: str) -> pl.DataFrame:
    """All rows of the run: what does not depend on what is asked for."""
    keys = ["policy", by, "variant"]
    of_source = counted.source.filter(pl.col(by).is_not_null()).with_columns(
        variant=pl.when(pl.col("variant") == "").then(pl.lit(CLEAN)).otherwise("variant")
    )
    success = success_by(of_source, keys, counted.stopped)
    is_judged = pl.col("outcome") != "error"
    one_only = pl.when(pl.col("listed").n_unique() == 1).then(pl.col("listed").first())
    rows = (
        counted.episodes.filter(pl.col(by).is_not_null())
        .group_by(keys, maintain_order=True)
        .agg(
            pl.len().alias("episodes"), (pl.col("outcome") == "success").sum().alias("solved"),
            (~is_judged).sum().alias("errors"), pl.col("kind").drop_nulls().value_counts(sort=True).alias("kinds"),
            pl.col("steps").filter(is_judged).median().alias("median_steps"),
            pl.col("duration_s").filter(is_judged).median().alias("median_s"),
            pl.col("task").n_unique().alias("tasks"), pl.col("variant_rank").min(), one_only.alias("listed"),
            *(pl.col(name).first().alias(f"of_{name}") for name in ("family", "tier")),
        )
        .rename({by: "name"})
    )  # fmt: skip
    found = [success[key] for key in rows.select("policy", "name", "variant").iter_rows()]
    order = {tier: place for place, tier in enumerate(TIERS)} if by == "tier" else {}
    return rows.with_columns(
        *(
            pl.Series(name, [getattr(one, field) for one in found], kind)
            for name, field, kind in (
                ("success", "value", pl.Float64), ("low", "low", pl.Float64), ("high", "high", pl.Float64),
                ("n", "n", pl.Int64),
            )
        ),
        failures=pl.col("episodes") - pl.col("solved") - pl.col("errors"),
        place=pl.col("name").replace_strict(order, default=len(order), return_dtype=pl.Int64),
    )  # fmt: skip


def _marked(counted: _Counted, found: pl.DataFrame, by: str) -> pl.DataFrame:
    """The rows that have episodes which were found, with marks of these."""
    keys = ["policy", by, "variant"]
    mine = counted.episodes.join(found.select("trial_id"), on="trial_id", how="semi", maintain_order="left")
    mine = mine.filter(pl.col(by).is_not_null()).sort("task", "seed", "repeat", maintain_order=True)
    marks = (
        mine.group_by(keys)
        .agg(pl.struct(MARK).head(MOST_MARKS).alias("marks"), pl.len().alias("found"))
        .rename({by: "name"})
    )
    return counted.rows[by].join(marks, on=["policy", "name", "variant"], maintain_order="left")


def _sorted(rows: pl.DataFrame, asked: Asked) -> pl.DataFrame:
    first: Mapping[str, Sequence[str | pl.Expr]] = {
        "name": (), "success": ("success", "n"), "n": ("n",), "failures": ("failures",), "time": ("median_s",),
        "family": ("of_family",),
        "tier": (pl.col("of_tier").replace_strict({tier: place for place, tier in enumerate(TIERS)}, default=None),),
    }  # fmt: skip
    led = first[asked.order]
    order = [*led, "place", "name", "variant_rank", "variant", "policy", "run_name"]
    falls = [asked.is_descending and at < (len(led) or 2) for at in range(len(order))]
    return rows.sort(*order, descending=falls, nulls_last=True)
