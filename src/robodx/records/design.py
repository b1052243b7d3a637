"""The design table: why each trial was run, for which suite and comparison, separate from its outcome."""

from __future__ import annotations

import io
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args

import polars as pl

from robodx.records import files
from robodx.records.about import UnreadableRun, refused, stop_if_interrupted
from robodx.records.trial import Trial
from robodx.records.value_columns import FACTOR
from robodx.records.values import Factor, factor_record

# What a trial is in a comparison.
Variant = Literal[
    "clean", "repeated", "stressed", "source", "follow-up", "cell", "screening", "confirmation", "substituted",
    "intervened",
]  # fmt: skip
VARIANTS: tuple[str, ...] = get_args(Variant)

FILE = "design.parquet"
ADVICE = "Move it away, and what trials were for is worked out by the rules of older versions."
# What a row says besides of which trial it is.
PURPOSE = pl.Struct(
    {
        "suite": pl.String(),
        "variant": pl.String(),
        "source_id": pl.String(),
        "factors": pl.List(FACTOR),
        "level": pl.String(),
    }
)
PURPOSES = tuple(field.name for field in PURPOSE.fields)
SCHEMA = pl.Schema({"trial_id": pl.String(), **{field.name: field.dtype for field in PURPOSE.fields}})
# What makes a row.
ROW = ("suite", "variant", "trial_id", "source_id", "level")
# Of a table of episodes with their design: for each episode its rows of the design table.
COLUMN = "design"


@dataclass(frozen=True)
class Planned:
    """A trial and what it is for: what it is held against, by which factors it differs from that, at which level."""

    trial: Trial
    variant: Variant = "clean"
    source: Trial | None = None
    factors: tuple[Factor, ...] = ()
    level: str | None = None
    # Who asks, where that is not what the trial says.
    suite: str | None = None

    def __post_init__(self) -> None:
        if self.variant not in VARIANTS:
            raise ValueError(f'No variant "{self.variant}". There are: {", ".join(VARIANTS)}')
        for name, value in self.factors:
            if isinstance(value, float) and not math.isfinite(value):
                raise ValueError(f"the factor {name} is {value}: it must be a finite number, a text, or true or false")


def trials_of(planned: Iterable[Planned]) -> list[Trial]:
    """Each once, whoever asked for it."""
    return list({one.trial.id: one.trial for one in planned}.values())


def design_table(planned: Iterable[Planned]) -> pl.DataFrame:
    rows = [
        {
            "trial_id": one.trial.id,
            "suite": one.suite or one.trial.suite,
            "variant": one.variant,
            "source_id": None if one.source is None else one.source.id,
            "factors": [factor_record(factor) for factor in one.factors],
            "level": one.level,
        }
        for one in planned
    ]
    return united([pl.DataFrame(rows, schema=SCHEMA)])


def united(tables: Sequence[pl.DataFrame]) -> pl.DataFrame:
    """Each row once; a trial has several where several suites asked for it, or one holds it against several others."""
    rows = pl.concat([pl.DataFrame(schema=SCHEMA), *tables])
    return rows.unique(ROW, keep="last").sort(ROW)


def read_design(run: Path) -> pl.DataFrame | None:
    """As it was written; None if there is none, as in runs before schema version 4."""
    path = run / FILE
    if not path.exists():
        return None
    try:
        table = pl.read_parquet(path.read_bytes())
    except OSError as error:
        raise refused(path, error) from error
    except (pl.exceptions.PanicException, pl.exceptions.PolarsError) as error:
        stop_if_interrupted(error)
        raise UnreadableRun(f"{path} is damaged: {error}. {ADVICE}") from error
    if table.schema != SCHEMA:
        raise UnreadableRun(f"{path} is damaged: its columns are not {', '.join(SCHEMA)}. {ADVICE}")
    if empty := [name for name in ("trial_id", "suite", "variant", "factors") if table[name].has_nulls()]:
        raise UnreadableRun(f"{path} is damaged: the column {empty[0]} has empty values in it. {ADVICE}")
    if odd := sorted(set(table["variant"].unique()) - set(VARIANTS), key=str):
        raise UnreadableRun(
            f"{path} is damaged: it has the variant {odd[0]!r}, not one of {', '.join(VARIANTS)}. {ADVICE}"
        )
    return united([table])


def write_design(run: Path, rows: pl.DataFrame) -> None:
    """Whole or not at all, beside what is there already."""
    before = read_design(run)
    table = united([rows] if before is None else [before, rows])
    if before is None or not table.equals(before):
        buffer = io.BytesIO()
        table.write_parquet(buffer)
        files.write(run / FILE, buffer.getvalue())


def with_design(episodes: pl.DataFrame, design: pl.DataFrame) -> pl.DataFrame:
    """Each episode with its rows of the design table, a list, in the column `design`."""
    purposes = design.group_by("trial_id", maintain_order=True).agg(pl.struct(*PURPOSES).alias(COLUMN))
    joined = episodes.drop(COLUMN, strict=False).join(purposes, on="trial_id", how="left", maintain_order="left")
    return joined.with_columns(pl.col(COLUMN).fill_null(pl.lit([], pl.List(PURPOSE))))


def together(tables: Sequence[pl.DataFrame]) -> pl.DataFrame:
    """Episodes of several runs: of a trial in several of them the last one, with what it was for in any of them."""
    every = pl.concat(tables)
    once = every.unique("trial_id", keep="last", maintain_order=True)
    return with_design(once, united([rows_of(every)])) if COLUMN in every.columns else once


def rows_of(episodes: pl.DataFrame) -> pl.DataFrame:
    """The design table of episodes that have theirs."""
    return episodes.select("trial_id", COLUMN).explode(COLUMN).drop_nulls(COLUMN).unnest(COLUMN).select(*SCHEMA)


def has_variant(*variants: Variant) -> pl.Expr:
    """Of episodes with their design: whether one is such a variant in any comparison."""
    return pl.col(COLUMN).list.eval(pl.element().struct.field("variant").is_in(list(variants))).list.any()
