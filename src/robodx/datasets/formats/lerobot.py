"""LeRobot v3.0: many episodes in a file of rows, many in a video, and a table that says where each begins."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

import polars as pl

from robodx.datasets.bounds import MOST_EPISODES, stored_bytes, whole
from robodx.datasets.descriptions import checked
from robodx.datasets.foreign_files import read_json, reading
from robodx.datasets.formats.base import FORMATS, DataFormat
from robodx.datasets.lerobot.declaring import info_of, layout_to_write
from robodx.datasets.lerobot.features import layout_of
from robodx.datasets.lerobot.files import INFO, at, is_plain, objects, read_table, write_json, write_table
from robodx.datasets.lerobot.folder import Folder, Row
from robodx.datasets.lerobot.growing import MB, Place, RowFiles, VideoFiles
from robodx.datasets.lerobot.metadata import columns_of
from robodx.datasets.lerobot.rows import Tasks, rows_of, statistics_of
from robodx.datasets.lerobot.statistics import Pixels, Statistics, of_pixels, pixels
from robodx.datasets.schema import Demonstration, Features, Video

VERSION = "v3.0"
FILE = "chunk-{chunk_index:03d}/file-{file_index:03d}"
DATA = f"data/{FILE}.parquet"
VIDEOS = f"videos/{{video_key}}/{FILE}.mp4"
EPISODES = f"meta/episodes/{FILE}.parquet"
TASKS = "meta/tasks.parquet"
STATISTICS = "meta/stats.json"
# LeRobot's own.
DATA_FILE_MB = 100
VIDEO_FILE_MB = 200


def is_at(path: Path) -> bool:
    return (path / INFO).is_file() and (path / "meta" / "episodes").is_dir()


def write(path: Path, features: Features, demonstrations: Iterable[Demonstration]) -> None:
    layout = layout_to_write(features)
    tasks, steps = Tasks(), 0
    episodes: list[dict[str, Any]] = []
    metadata: list[Mapping[str, Any]] = []
    seen: dict[str, Pixels] = {}
    with ExitStack() as files:
        data = files.enter_context(closing(RowFiles(path, DATA, DATA_FILE_MB)))
        videos = {}
        for name, key in layout.videos.items():
            camera = VideoFiles(
                path, VIDEOS, key, hz=features.known_hz, shape=features.cameras[name], most_mb=VIDEO_FILE_MB
            )
            videos[name] = files.enter_context(closing(camera))
        for episode, demonstration in checked(features, demonstrations):
            rows = rows_of(demonstration, layout, episode=episode, first=steps, tasks=tasks)
            statistics = statistics_of(rows)
            row = {
                "episode_index": episode,
                "tasks": list(dict.fromkeys(demonstration.instructions)),
                "length": len(rows),
                **data.add(rows).columns("data"),
                "dataset_from_index": steps,
                "dataset_to_index": steps + len(rows),
            }
            for name, key in layout.videos.items():
                row |= videos[name].add(demonstration.images[name])
                here = pixels(demonstration.images[name])
                seen[key] = seen[key].plus(here) if key in seen else here
                statistics[key] = of_pixels(here)
            episodes.append(row | _flat(statistics))
            metadata.append(demonstration.metadata)
            steps += len(rows)
    table = pl.DataFrame(episodes, infer_schema_length=None)
    _write_episodes(path, table.hstack(pl.DataFrame(columns_of(metadata), infer_schema_length=None).get_columns()))
    _write_tasks(path, tasks)
    write_json(path / STATISTICS, _statistics(data.files, seen))
    # Last: a folder without it is no data set.
    info = info_of(layout, version=VERSION, episodes=len(episodes), steps=steps, tasks=len(tasks.numbers))
    info |= {"data_files_size_in_mb": DATA_FILE_MB, "video_files_size_in_mb": VIDEO_FILE_MB}
    write_json(path / INFO, info | {"data_path": DATA, "video_path": VIDEOS if layout.videos else None})


def read(path: Path) -> Folder:
    info = read_json(at(path, INFO))
    episodes_at = path / "meta" / "episodes"

    def place(row: Row, of: str) -> Place:
        indices = (f"{of}/chunk_index", f"{of}/file_index")
        return Place(*(whole(row[name], name, most=MOST_EPISODES) for name in indices))

    def file(row: Row, of: str, template: str, **more: str) -> Path:
        stands = place(row, of)
        with reading(path / INFO):
            return at(path, stands.path(info[template], **more))

    def rows_of(row: Row) -> Path:
        return file(row, "data", "data_path")

    def video_of(row: Row, key: str) -> Video:
        of = f"videos/{key}"
        return Video(file(row, of, "video_path", video_key=key), float(row[f"{of}/from_timestamp"]))

    return Folder(
        path,
        info,
        layout_of(info, path / INFO),
        _read_tasks(at(path, TASKS)),
        _read_episodes(path, episodes_at),
        episodes_at,
        rows_of,
        video_of,
    )


def _flat(statistics: Mapping[str, Statistics]) -> dict[str, Any]:
    return {f"stats/{key}/{name}": value for key, found in statistics.items() for name, value in found.items()}


def _statistics(files: list[Path], seen: Mapping[str, Pixels]) -> dict[str, Statistics]:
    """Of all steps, one column of the written rows after the other."""
    rows = pl.scan_parquet(files)
    found = {key: of_pixels(counts) for key, counts in seen.items()}
    for key in rows.collect_schema():
        found |= statistics_of(rows.select(key).collect())
    return found


def _write_episodes(path: Path, episodes: pl.DataFrame) -> None:
    in_a_file = max(int(len(episodes) * DATA_FILE_MB * MB / episodes.estimated_size()), 1)
    place = Place()
    for rows in episodes.iter_slices(in_a_file):
        columns = [pl.lit(value).alias(name) for name, value in place.columns("meta/episodes").items()]
        write_table(path / place.path(EPISODES), rows.with_columns(columns))
        place = place.next()


def _write_tasks(path: Path, tasks: Tasks) -> None:
    """With the instructions as pandas' index, by which LeRobot looks them up."""
    table = pl.DataFrame({"task_index": list(tasks.numbers.values()), "task": list(tasks.numbers)})
    columns = [("task_index", "int64", "int64"), ("task", "unicode", "object")]
    for_pandas = {
        "index_columns": ["task"],
        "column_indexes": [],
        "columns": [
            {"name": name, "field_name": name, "pandas_type": kind, "numpy_type": numpy, "metadata": None}
            for name, kind, numpy in columns
        ],
        "pandas_version": "2.2.0",
    }
    write_table(path / TASKS, table, {"pandas": json.dumps(for_pandas)})
    # Readers look for pandas' notes in Arrow's schema where there is one, and polars writes one without them. Under
    # another name it is overlooked, and the notes of the file itself count.
    before, name, after = (path / TASKS).read_bytes().rpartition(b"ARROW:schema")
    if name:
        (path / TASKS).write_bytes(before + b"polar:schema" + after)


def _read_tasks(file: Path) -> dict[int, str]:
    """The instruction is the other column: pandas' index, whatever its name is."""
    with reading(file):
        table = read_table(file, lambda name, kind: is_plain(kind))
        (text,) = (column.name for column in table if column.name != "task_index" and column.dtype == pl.String)
        return {int(row["task_index"]): str(row[text]) for row in objects(table, stored_bytes(file))}


def _read_episodes(path: Path, folder: Path) -> list[dict[str, Any]]:
    """Without the statistics of each, which are most of it."""
    with reading(folder):
        files = [at(path, file.relative_to(path)) for file in sorted(folder.glob("*/*.parquet"))]
        if not files:
            raise ValueError("there is no table of episodes in it")
        tables = [
            read_table(file, lambda name, kind: is_plain(kind) and not name.startswith("stats/")) for file in files
        ]
        table = pl.concat(tables, how="diagonal_relaxed").sort("episode_index")
        return objects(table, sum(map(stored_bytes, files)))


# As LeRobot itself loads it.
LOADING = """
from lerobot.datasets.lerobot_dataset import LeRobotDataset

data = LeRobotDataset("me/NAME", root="PATH")
"""
FORMATS.add(
    "lerobot",
    DataFormat("lerobot", f"LeRobot {VERSION}", is_at, read, write, pictured="video", loading=LOADING),
)
