"""Parquet: the same table as in CSV, with types, for pandas, polars, DuckDB and Spark."""

from __future__ import annotations

from robodx.exports.base import Exporter, exporter
from robodx.exports.tables import planned
from robodx.records.flat import to_parquet

exporter(
    Exporter(
        "parquet",
        "the same table with types, for pandas, polars, DuckDB and Spark",
        planned(".parquet", to_parquet),
        ending=".parquet",
    )
)
