"""What exports of tables have in common: one file of episodes, or a folder with the design and run.json beside it."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path

import polars as pl

from robodx.exports.base import Item, Source, Wishes
from robodx.records.design import rows_of
from robodx.records.flat import flat, flat_design

Encode = Callable[[pl.DataFrame], bytes]


def planned(suffix: str, encode: Encode) -> Callable[[Source, Wishes, Path], Sequence[Item]]:
    """A file if the place ends like one, else a folder."""

    def plan(source: Source, wishes: Wishes, out: Path) -> Sequence[Item]:
        def episodes(path: Path) -> None:
            path.write_bytes(encode(flat(source.episodes)))

        def design(path: Path) -> None:
            path.write_bytes(encode(flat_design(rows_of(source.episodes))))

        def about(path: Path) -> None:
            path.write_text(json.dumps(source.about, indent=2))

        if out.suffix.lower() == suffix and not out.is_dir():
            return [Item(out, episodes)]
        return [
            Item(out / f"episodes{suffix}", episodes),
            Item(out / f"design{suffix}", design),
            Item(out / "run.json", about),
        ]

    return plan
