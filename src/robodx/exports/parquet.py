"""Parquet: the same table as in CSV, with types, for pandas, polars, DuckDB and Spark."""

from __future__ import annotations

import io

import polars as pl

from robodx.exports.base import Exporter, exporter
from robodx.exports.tables import planned


def _encoded(table: pl.DataFrame) -> bytes:
    buffer = io.BytesIO()
    table.write_parquet(buffer)
    return buffer.getvalue()


exporter(
    Exporter(
        "parquet",
        "the same table with types, for pandas, polars, DuckDB and Spark",
        planned(".parquet", _encoded),
        ending=".parquet",
    )
)
