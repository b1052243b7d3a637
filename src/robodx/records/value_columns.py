"""How values of a perturbation or a factor are stored in tables."""

from __future__ import annotations

import polars as pl

NAMED_NUMBER = pl.Struct({"name": pl.String(), "value": pl.Float64()})
APPLIED = pl.Struct(
    {"name": pl.String(), "severity": pl.Float64(), "word": pl.String(), "numbers": pl.List(NAMED_NUMBER)}
)
# Up to schema version 3 a severity was all there was.
APPLIED_BEFORE = pl.Struct({"name": pl.String(), "severity": pl.Float64()})
FACTOR = pl.Struct({"name": pl.String(), "number": pl.Float64(), "text": pl.String(), "flag": pl.Boolean()})


def with_typed_values(column: str) -> pl.Expr:
    """The column of an older table, of severities alone, as it is stored now."""
    unset = (pl.lit(None, field.dtype).alias(field.name) for field in APPLIED.fields[2:])
    typed = pl.struct(pl.element().struct.field("name", "severity"), *unset)
    return pl.col(column).list.eval(typed).cast(pl.List(APPLIED))
