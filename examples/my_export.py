"""A form of your own for robodx export: robodx export RUN --to markdown --plugin examples/my_export.py"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from robodx.exports.base import Exporter, Item, Source, Wishes, exporter
from robodx.records.flat import flat


def plan(source: Source, wishes: Wishes, out: Path) -> Sequence[Item]:
    """What will be written, and what writes it: to a path from which it is moved to its place when all is whole."""
    table = flat(source.episodes).select("task", "seed", "outcome")

    def write(path: Path) -> None:
        lines = [
            "| task | seed | outcome |",
            "|---|---|---|",
            *(f"| {a} | {b} | {c} |" for a, b, c in table.iter_rows()),
        ]
        path.write_text("\n".join(lines))

    return [Item(out, write)]


exporter(Exporter("markdown", "a table of outcomes", plan, ending=".md"))
