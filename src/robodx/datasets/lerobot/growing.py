"""Files that take one episode after the other until they are full, as LeRobot v3.0 numbers them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from robodx.datasets.bounds import expanded
from robodx.datasets.lerobot.declaring import FILES_IN_A_CHUNK
from robodx.datasets.lerobot.files import write_table
from robodx.datasets.schema import Pictures
from robodx.datasets.video_files import VideoFile, clip

MB = 1024**2


@dataclass(frozen=True)
class Place:
    """Where a file stands among the others."""

    chunk: int = 0
    file: int = 0

    def next(self) -> Place:
        is_full = self.file + 1 == FILES_IN_A_CHUNK
        return Place(self.chunk + 1, 0) if is_full else Place(self.chunk, self.file + 1)

    def path(self, template: object, **more: str) -> str:
        return expanded(template, {"chunk_index": self.chunk, "file_index": self.file, **more})

    def columns(self, of: str) -> dict[str, Any]:
        return {f"{of}/chunk_index": self.chunk, f"{of}/file_index": self.file}


class RowFiles:
    """Rows are kept until their file is full: they are numbers only."""

    def __init__(self, root: Path, template: str, most_mb: float) -> None:
        self.files: list[Path] = []
        self._root, self._template, self._most = root, template, most_mb * MB
        self._place, self._rows, self._size = Place(), list[pl.DataFrame](), 0

    def add(self, rows: pl.DataFrame) -> Place:
        size = int(rows.estimated_size())
        if self._rows and self._size + size >= self._most:
            self._write()
            self._place = self._place.next()
        self._rows.append(rows)
        self._size += size
        return self._place

    def close(self) -> None:
        if self._rows:
            self._write()

    def _write(self) -> None:
        file = self._root / self._place.path(self._template)
        write_table(file, pl.concat(self._rows))
        self.files.append(file)
        self._rows, self._size = [], 0


class VideoFiles:
    """Those of one camera; the first picture of an episode is exactly where the last of the one before ends."""

    def __init__(
        self, root: Path, template: str, key: str, *, hz: float, shape: tuple[int, int], most_mb: float
    ) -> None:
        self._root, self._template, self._key = root, template, key
        self._hz, self._shape, self._most = hz, shape, most_mb * MB
        self._place = Place()
        self._file = self._open()

    def add(self, pictures: Pictures) -> dict[str, Any]:
        """Where they are, as columns of the table of episodes."""
        with clip(pictures, self._hz, self._root / "videos" / f"{self._key}.part.mp4") as found:
            is_full = self._file.size > 0 and self._file.size + found.size >= self._most
            if is_full or not self._file.takes(found):
                self._file.close()
                self._place = self._place.next()
                self._file = self._open()
            first_s = self._file.seconds
            self._file.add(found)
        of = f"videos/{self._key}"
        return {
            **self._place.columns(of),
            f"{of}/from_timestamp": first_s,
            f"{of}/to_timestamp": self._file.seconds,
        }

    def close(self) -> None:
        self._file.close()

    def _open(self) -> VideoFile:
        file = self._root / self._place.path(self._template, video_key=self._key)
        return VideoFile(file, self._hz, self._shape)
