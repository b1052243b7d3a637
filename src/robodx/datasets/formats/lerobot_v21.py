"""LeRobot v2.1: one file of rows and one video an episode, with GR00T's names of the parts of state and action."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from itertools import groupby
from pathlib import Path
from typing import Any

from robodx.datasets.bounds import MOST_EPISODES, expanded, whole
from robodx.datasets.descriptions import checked
from robodx.datasets.foreign_files import read_json, read_lines, reading
from robodx.datasets.formats.base import FORMATS, DataFormat
from robodx.datasets.lerobot.declaring import FILES_IN_A_CHUNK, info_of, layout_to_write
from robodx.datasets.lerobot.features import ACTION, STATE, Layout, Part, layout_of
from robodx.datasets.lerobot.files import INFO, at, write_json, write_lines, write_table
from robodx.datasets.lerobot.folder import Folder, Row, index_of
from robodx.datasets.lerobot.metadata import columns_of
from robodx.datasets.lerobot.rows import Tasks, rows_of, statistics_of
from robodx.datasets.lerobot.statistics import of_pixels, pixels
from robodx.datasets.schema import Demonstration, Features, Video
from robodx.datasets.video_files import VideoFile, clip

VERSION = "v2.1"
DATA = "data/chunk-{episode_chunk:03d}/episode_{episode_index:06d}.parquet"
VIDEOS = "videos/chunk-{episode_chunk:03d}/{video_key}/episode_{episode_index:06d}.mp4"
EPISODES = Path("meta") / "episodes.jsonl"
TASKS = Path("meta") / "tasks.jsonl"
STATISTICS = Path("meta") / "episodes_stats.jsonl"
MODALITY = Path("meta") / "modality.json"


def is_at(path: Path) -> bool:
    return (path / INFO).is_file() and (path / EPISODES).is_file()


def write(path: Path, features: Features, demonstrations: Iterable[Demonstration]) -> None:
    layout = layout_to_write(features)
    tasks, steps = Tasks(), 0
    episodes: list[dict[str, Any]] = []
    all_statistics: list[dict[str, Any]] = []
    metadata: list[Mapping[str, Any]] = []
    for episode, demonstration in checked(features, demonstrations):
        rows = rows_of(demonstration, layout, episode=episode, first=steps, tasks=tasks)
        write_table(path / _file(DATA, episode), rows)
        statistics = statistics_of(rows)
        for name, key in layout.videos.items():
            file = path / _file(VIDEOS, episode, video_key=key)
            with (
                closing(VideoFile(file, features.known_hz, features.cameras[name])) as video,
                clip(demonstration.images[name], features.known_hz, path / "videos" / f"{key}.part.mp4") as found,
            ):
                video.add(found)
            statistics[key] = of_pixels(pixels(demonstration.images[name]))
        instructions = list(dict.fromkeys(demonstration.instructions))
        episodes.append({"episode_index": episode, "tasks": instructions, "length": len(rows)})
        all_statistics.append({"episode_index": episode, "stats": statistics})
        metadata.append(demonstration.metadata)
        steps += len(rows)
    for name, values in columns_of(metadata).items():
        for row, value in zip(episodes, values, strict=True):
            row[name] = value
    write_lines(path / EPISODES, episodes)
    write_lines(path / STATISTICS, all_statistics)
    write_lines(path / TASKS, [{"task_index": number, "task": text} for text, number in tasks.numbers.items()])
    write_json(path / MODALITY, modality(layout))
    # Last: a folder without it is no data set.
    info = info_of(layout, version=VERSION, episodes=len(episodes), steps=steps, tasks=len(tasks.numbers))
    info |= {"total_videos": len(episodes) * len(layout.videos), "total_chunks": -(-len(episodes) // FILES_IN_A_CHUNK)}
    write_json(path / INFO, info | {"data_path": DATA, "video_path": VIDEOS if layout.videos else None})


def read(path: Path) -> Folder:
    """Of v2.0 too, which differs in its statistics only."""
    info = read_json(at(path, INFO))
    layout = layout_of(info, path / INFO)
    if (path / MODALITY).is_file():
        layout = layout_of(info, path / INFO, _groups(at(path, MODALITY), info["features"]))
    with reading(path / TASKS):
        instructions = {int(row["task_index"]): str(row["task"]) for row in read_lines(at(path, TASKS))}
    with reading(path / EPISODES):
        episodes = sorted(read_lines(at(path, EPISODES)), key=index_of)

    def file(template: str, row: Row, **more: str) -> Path:
        with reading(path / INFO):
            in_a_chunk = whole(info["chunks_size"], "chunks_size", least=1, most=MOST_EPISODES)
            return at(path, _file(info[template], index_of(row), in_a_chunk, **more))

    return Folder(
        path,
        info,
        layout,
        instructions,
        episodes,
        path / EPISODES,
        lambda row: file("data_path", row),
        lambda row, key: Video(file("video_path", row, video_key=key)),
    )


def modality(layout: Layout) -> dict[str, Any]:
    """What GR00T asks of a data set: names of parts of the state and the action, of videos and of the words."""
    return {
        "state": {name: {"start": part.start, "end": part.end} for name, part in layout.state.items()},
        ACTION: _action_groups(layout.features.action),
        "video": {name: {"original_key": key} for name, key in layout.videos.items()},
        "annotation": {"human.task_description": {"original_key": "task_index"}},
    }


def _action_groups(names: Sequence[str]) -> dict[str, dict[str, int]]:
    """What moves the gripper is a group of its own, as GR00T's own configurations have it."""
    runs: list[tuple[str, int]] = []
    for is_gripper, run in groupby(names, key=lambda name: "gripper" in name or name.endswith("opening")):
        runs.append(("gripper" if is_gripper else "arm", len(list(run))))
    groups: dict[str, dict[str, int]] = {}
    start = 0
    for kind, length in runs:
        # Of a second arm.
        number = sum(name.startswith(kind) for name in groups)
        groups[f"{kind}_{number + 1}" if number else kind] = {"start": start, "end": start + length}
        start += length
    return groups


def _groups(file: Path, features: Mapping[str, Any]) -> dict[str, Part]:
    """The parts of the state by GR00T's names."""
    groups = {}
    with reading(file):
        for name, group in read_json(file).get("state", {}).items():
            part = Part(str(group.get("original_key") or STATE), int(group["start"]), int(group["end"]))
            if part.key not in features:
                raise ValueError(f"{name} is a part of {part.key}, which is no feature of the data set")
            width = features[part.key]["shape"][0]
            if not 0 <= part.start < part.end <= width:
                raise ValueError(f"{name} is {part.start} to {part.end} of {part.key}, which has {width} numbers")
            groups[str(name)] = part
    return groups


def _file(template: object, episode: int, in_a_chunk: int = FILES_IN_A_CHUNK, **more: str) -> str:
    return expanded(template, {"episode_chunk": episode // in_a_chunk, "episode_index": episode, **more})


FORMATS.add(
    "lerobot-v2.1",
    DataFormat("lerobot-v2.1", f"LeRobot {VERSION} with GR00T's modality.json", is_at, read, write, pictured="video"),
)
