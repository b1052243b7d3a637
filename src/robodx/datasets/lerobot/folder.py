"""A LeRobot data set that is read; its version says in which files an episode is."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from robodx.datasets.bounds import MOST_EPISODES, MOST_STEPS, quoted, whole
from robodx.datasets.foreign_files import reading
from robodx.datasets.lerobot.features import Layout
from robodx.datasets.lerobot.files import INFO, pictures_in_rows, pictures_in_video, read_rows
from robodx.datasets.lerobot.metadata import metadata_of
from robodx.datasets.lerobot.rows import demonstration_of
from robodx.datasets.schema import Demonstration, Features, Video

Row = Mapping[str, Any]


@dataclass(frozen=True)
class Folder:
    path: Path
    info: Mapping[str, Any]
    layout: Layout
    instructions: Mapping[int, str]
    # The table of episodes, and the file that it is in.
    episodes: Sequence[Row]
    episodes_at: Path
    # Where the rows of an episode are, and the pictures of one of its cameras.
    rows_of: Callable[[Row], Path]
    video_of: Callable[[Row, str], Video]

    def __post_init__(self) -> None:
        with reading(self.path / INFO):
            if self.info["total_episodes"] != len(self.episodes):
                told, found = self.info["total_episodes"], len(self.episodes)
                raise ValueError(f"total_episodes is {quoted(told)}, but {self.episodes_at} lists {found:,}")

    @property
    def features(self) -> Features:
        return self.layout.features

    @property
    def lengths(self) -> list[int]:
        """Steps of each episode, without reading them."""
        with reading(self.episodes_at):
            return [_length(row) for row in self.episodes]

    def __len__(self) -> int:
        return len(self.episodes)

    def __getitem__(self, index: int) -> Demonstration:
        row = self.episodes[index]
        with reading(self.episodes_at):
            episode, count = index_of(row), _length(row)
            file = self.rows_of(row)
            videos = {name: self.video_of(row, key) for name, key in self.layout.videos.items()}
        hz, sizes = self.features.known_hz, self.features.cameras
        images = {name: pictures_in_video(video, count, hz, sizes[name]) for name, video in videos.items()}
        images |= {
            name: pictures_in_rows(file, key, episode, count, sizes[name]) for name, key in self.layout.images.items()
        }
        rows = read_rows(file, self.layout.columns, episode, count)
        # In the order in which they are declared, whichever way they are stored.
        ordered = {name: images[name] for name in self.features.cameras}
        with reading(file):
            return demonstration_of(
                rows, self.layout, instructions=self.instructions, images=ordered, metadata=metadata_of(row)
            )


def index_of(row: Row) -> int:
    return whole(row["episode_index"], "episode_index", most=MOST_EPISODES)


def _length(row: Row) -> int:
    return whole(row["length"], "the length of an episode", least=1, most=MOST_STEPS)
