"""What is in a data set, told from its description and from some of its episodes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from robodx.datasets.cards import card_path
from robodx.datasets.formats.base import Located
from robodx.datasets.frames import lengths_of, success_is_recorded
from robodx.datasets.schema import DataSet, Demonstration

# Episodes that are read for ranges, instructions, tasks and success: spread evenly over all.
MOST_READ = 200
CARD_LINES = 8


@dataclass(frozen=True)
class Range:
    """What a number is like; None where it is nowhere finite."""

    vector: str
    name: str
    least: float | None
    mean: float | None
    most: float | None


@dataclass(frozen=True)
class Survey:
    """Everything that `robodx data show` tells of a data set."""

    path: str
    format: str
    robot: str
    episodes: int
    frames: int
    # None where its source does not say how long a step takes.
    hz: float | None
    hours: float | None
    # Height and width.
    cameras: dict[str, tuple[int, int]]
    # What follows is told from so many episodes.
    episodes_read: int
    state: list[Range]
    action: list[Range]
    # In how many of these episodes each was said; the most frequent first.
    instructions: dict[str, int]
    tasks: dict[str, int]
    # The share of episodes that end solved; None if it is not recorded.
    success: float | None
    about: dict[str, Any]
    card: list[str]


@dataclass(frozen=True)
class EpisodeSurvey:
    """What is told of one episode."""

    episode: int
    steps: int
    # Each from its first step on.
    instructions: dict[int, str]
    is_solved: bool | None
    metadata: dict[str, Any]


def survey(found: Located, data: DataSet, advance: Callable[[int, int], None] = lambda done, total: None) -> Survey:
    """Reads numbers, not pictures; `advance` is told how many episodes of how many are read."""
    features = data.features
    frames = int(lengths_of(data).sum())
    chosen = (
        np.unique(np.linspace(0, len(data) - 1, min(len(data), MOST_READ)).astype(int)).tolist() if len(data) else []
    )
    read = []
    for done, number in enumerate(chosen, start=1):
        read.append(data[number])
        advance(done, len(chosen))
    return Survey(
        path=str(found.path),
        format=found.format.name,
        robot=features.robot,
        episodes=len(data),
        frames=frames,
        hz=features.hz,
        hours=None if features.hz is None else frames / features.hz / 3600,
        cameras=dict(features.cameras),
        episodes_read=len(read),
        state=[
            one
            for vector, names in features.state.items()
            for one in _ranges(vector, names, (e.state[vector] for e in read))
        ],
        action=_ranges("action", features.action, (e.action for e in read)),
        instructions=_counted(text for e in read for text in dict.fromkeys(e.instructions) if text),
        tasks=_counted(str(e.metadata["task"]) for e in read if "task" in e.metadata),
        success=_success(data, read),
        about=_plain(features.about),
        card=_card(found.path),
    )


def survey_episode(data: DataSet, number: int) -> EpisodeSurvey:
    episode = data[number]
    said = episode.instructions
    return EpisodeSurvey(
        number,
        len(episode),
        {step: text for step, text in enumerate(said) if not step or text != said[step - 1]},
        episode.is_solved if len(episode) and success_is_recorded(data) else None,
        _plain(episode.metadata),
    )


def _ranges(vector: str, names: Iterable[str], values: Iterable[NDArray[np.float32]]) -> list[Range]:
    arrays = list(values)
    if not arrays:
        return [Range(vector, name, None, None, None) for name in names]
    columns = np.concatenate(arrays).astype(np.float64).T
    found = []
    for name, column in zip(names, columns, strict=True):
        finite = column[np.isfinite(column)]
        told = (float(finite.min()), float(finite.mean()), float(finite.max())) if finite.size else (None, None, None)
        found.append(Range(vector, name, *told))
    return found


def _counted(texts: Iterable[str]) -> dict[str, int]:
    return dict(Counter(texts).most_common())


def _success(data: DataSet, read: list[Demonstration]) -> float | None:
    solved = [episode.is_solved for episode in read if len(episode)] if success_is_recorded(data) else []
    if not solved or None in solved:
        return None
    return sum(map(bool, solved)) / len(solved)


def _plain(facts: Mapping[str, Any]) -> dict[str, Any]:
    """As JSON can tell it."""
    return {
        name: value.tolist() if isinstance(value, np.ndarray | np.generic) else value for name, value in facts.items()
    }


def _card(path: Path) -> list[str]:
    """Its first lines, without a header of YAML, which is for machines."""
    file = card_path(path)
    if not file.is_file():
        return []
    lines = file.read_text(errors="replace").splitlines()
    if lines and lines[0] == "---" and "---" in lines[1:]:
        lines = lines[lines.index("---", 1) + 1 :]
    return [line for line in lines if line.strip()][:CARD_LINES]
