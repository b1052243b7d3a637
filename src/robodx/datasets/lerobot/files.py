"""Files of a LeRobot data set, read so that what is wrong with one is said of it."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import av
import numpy as np
import polars as pl
from numpy.typing import NDArray

from robodx.datasets import videos
from robodx.datasets.formats.base import UnreadableData
from robodx.datasets.schema import Images, Pictures, Video

INFO = Path("meta") / "info.json"
WRONG = (OSError, ValueError, LookupError, TypeError, AttributeError, av.error.FFmpegError, pl.exceptions.PolarsError)


@contextmanager
def reading(file: Path) -> Iterator[None]:
    try:
        yield
    except UnreadableData:
        raise
    except FileNotFoundError:
        raise UnreadableData(f"{file} is missing") from None
    except WRONG as error:
        said = str(error).strip().splitlines()
        raise UnreadableData(f"{file} cannot be read: {said[0] if said else type(error).__name__}") from None


def read_json(file: Path) -> dict[str, Any]:
    with reading(file):
        found = json.loads(file.read_text(encoding="utf-8"))
        if not isinstance(found, dict):
            raise ValueError("it holds no names with values")
        return found


def read_lines(file: Path) -> list[dict[str, Any]]:
    with reading(file):
        return [dict(json.loads(line)) for line in file.read_text(encoding="utf-8").splitlines() if line.strip()]


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


def read_rows(file: Path, columns: Sequence[str], episode: int, count: int) -> pl.DataFrame:
    """The steps of one episode, of a file that may hold several."""
    with reading(file):
        if not file.is_file():
            raise FileNotFoundError
        rows = pl.scan_parquet(file).filter(pl.col("episode_index") == episode).select(columns).collect()
        if len(rows) != count:
            raise ValueError(f"episode {episode} has {len(rows)} rows there, not {count}")
        return rows


def pictures_in_video(video: Video, count: int, hz: float) -> Pictures:
    if not video.path.is_file():
        raise UnreadableData(f"{video.path} is missing")
    pictures = videos.pictures(video, count, hz)

    def read(steps: Sequence[int]) -> Images:
        with reading(video.path):
            return pictures.read(steps)

    return Pictures(count, read, video)


def pictures_in_rows(file: Path, key: str, episode: int, count: int) -> Pictures:
    """PNG or JPEG, as bytes in a column of the rows."""

    def read(steps: Sequence[int]) -> Images:
        column = read_rows(file, [key], episode, count)[key]
        with reading(file):
            return np.stack([_picture(column[step]) for step in steps])

    return Pictures(count, read)


def _picture(value: Mapping[str, Any] | bytes) -> NDArray[np.uint8]:
    data = value if isinstance(value, bytes) else value["bytes"]
    if data is None:
        raise ValueError("a picture is only a path, to a file that is not part of the data set")
    with av.open(io.BytesIO(data), "r") as file:
        return np.asarray(next(file.decode(video=0)).to_ndarray(format="rgb24"), dtype=np.uint8)
