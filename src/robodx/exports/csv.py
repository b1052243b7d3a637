"""CSV: one row an episode, for spreadsheets and any language."""

from robodx.exports.base import Exporter, exporter
from robodx.exports.tables import planned
from robodx.records.flat import to_csv

exporter(
    Exporter(
        "csv",
        "one row an episode, for spreadsheets and any language",
        planned(".csv", lambda table: to_csv(table).encode()),
        ending=".csv",
    )
)
