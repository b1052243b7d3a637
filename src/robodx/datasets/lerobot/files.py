"""Files of a LeRobot data set: JSON, tables, videos, and pictures in tables."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from robodx.datasets import videos
from robodx.datasets.bounds import fits, stored_bytes, within
from robodx.datasets.foreign_files import quiet, reading
from robodx.datasets.formats.base import UnreadableData
from robodx.datasets.lerobot import parquet_sizes
from robodx.datasets.schema import Images, Pictures, Video
from robodx.datasets.stills import from_bytes

INFO = Path("meta") / "info.json"
# Of a number or a short text of a table that becomes a Python object.
OBJECT_BYTES = 64


def at(folder: Path, name: Path | str) -> Path:
    """A file of the data set."""
    with reading(folder):
        return within(folder, str(name))


def write_json(file: Path, value: Mapping[str, Any]) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(value, indent=4, ensure_ascii=False), encoding="utf-8")


def write_lines(file: Path, rows: Sequence[Mapping[str, Any]]) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")


def write_table(file: Path, table: pl.DataFrame, metadata: Mapping[str, str] | None = None) -> None:
    """Row groups are short, so that reading one episode reads little more."""
    file.parent.mkdir(parents=True, exist_ok=True)
    table.write_parquet(file, compression="snappy", row_group_size=4096, metadata=dict(metadata or {}))


def read_table(
    file: Path,
    is_wanted: Callable[[str, pl.DataType], bool],
    *,
    where: pl.Expr | bool = True,
    needs: Sequence[str] = (),
) -> pl.DataFrame:
    """Columns that are wanted by name and type, and the rows of which `where` is true, which `needs` other columns."""
    with reading(file), quiet():
        if not file.is_file():
            raise FileNotFoundError
        table = pl.scan_parquet(file, glob=False, hive_partitioning=False)
        schema = table.collect_schema()
        columns = [name for name, kind in schema.items() if is_wanted(name, kind)]
        read = frozenset((*columns, *needs))
        # A missing value of a fixed width takes as much room as one that is there.
        arrays = [kind for name, kind in schema.items() if name in read and isinstance(kind, pl.Array)]
        fixed = 8 * parquet_sizes.row_count(file) * sum(prod(kind.shape) for kind in arrays)
        fits("it", max(parquet_sizes.size_of(file, read), fixed), stored_bytes(file))
        return table.filter(where).select(columns).collect()


def objects(table: pl.DataFrame, stored: int) -> list[dict[str, Any]]:
    """The rows of a table of numbers and texts. Texts that are the same are one in it, and each its own here."""
    texts = sum(int(column.str.len_bytes().cast(pl.Int64).sum()) for column in table if column.dtype == pl.String)
    fits("the table", OBJECT_BYTES * table.height * table.width + texts, stored)
    return table.to_dicts()


def is_plain(kind: pl.DataType) -> bool:
    """Numbers, texts and booleans."""
    return kind.is_numeric() or kind in (pl.String, pl.Boolean)


def read_rows(file: Path, columns: Sequence[str], episode: int, count: int) -> pl.DataFrame:
    """The steps of one episode, of a file that may hold several."""
    where = pl.col("episode_index") == episode
    with reading(file):
        rows = read_table(file, lambda name, _: name in columns, where=where, needs=["episode_index"])
        if lost := sorted(set(columns) - set(rows.columns)):
            raise ValueError(f"it has no column {lost[0]}")
        if len(rows) != count:
            raise ValueError(f"episode {episode} has {len(rows)} rows there, not {count}")
        return rows


def pictures_in_video(video: Video, count: int, hz: float, size: tuple[int, int]) -> Pictures:
    if not video.path.is_file():
        raise UnreadableData(f"{video.path} is missing")
    pictures = videos.pictures(video, count, hz, prod(size))

    def read(steps: Sequence[int]) -> Images:
        with reading(video.path):
            return pictures.read(steps)

    return Pictures(count, read, video)


def pictures_in_rows(file: Path, key: str, episode: int, count: int, size: tuple[int, int]) -> Pictures:
    """PNG or JPEG, as bytes in a column of the rows."""

    def read(steps: Sequence[int]) -> Images:
        column = read_rows(file, [key], episode, count)[key]
        with reading(file):
            return np.stack([_picture(column[step], size) for step in steps])

    return Pictures(count, read)


def _picture(value: Mapping[str, Any] | bytes, size: tuple[int, int]) -> NDArray[np.uint8]:
    data = value if isinstance(value, bytes) else value["bytes"]
    if data is None:
        raise ValueError("a picture is only a path, to a file that is not part of the data set")
    image = from_bytes(data)
    if prod(image.shape[:2]) > prod(size):
        raise ValueError(f"a picture is {image.shape[:2]}, larger than {size}, as the data set says")
    return image
