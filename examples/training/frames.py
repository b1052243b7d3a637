"""All frames of a data set in memory: decoded once into a folder, by several processes, then loaded as tensors."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass, replace
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import torch
from network import Shape
from numpy.lib.format import open_memmap
from torch import Tensor

from robodx.datasets.formats.base import open_data
from robodx.datasets.schema import DataSet
from robodx.learned.words import numbered, vocabulary_of

STATE = "state"
# Every so many episodes one is held out.
HELD_OUT_EVERY = 50

_opened: DataSet | None = None


@dataclass(frozen=True)
class Frames:
    """N frames, one after the other, episode by episode."""

    hz: float
    cameras: dict[str, int]
    state_names: list[str]
    vocabulary: list[str]
    # (N, height, width, 3) bytes of each camera.
    images: dict[str, Tensor]
    state: Tensor
    action: Tensor
    # The number of each frame's instruction, and the word numbers of each instruction.
    said: Tensor
    words: Tensor
    # The last frame of each frame's episode.
    last: Tensor
    # Frames that are trained on, and others.
    train: Tensor
    held_out: Tensor

    @classmethod
    def load(cls, place: str, cache: Path, share: float = 1.0, workers: int = 2) -> Frames:
        """With `share`, only so many of each task's episodes are trained on."""
        if not (cache / "about.json").exists():
            _decode(place, cache, workers)
        about = json.loads((cache / "about.json").read_text())
        arrays = {
            name: torch.from_numpy(np.load(cache / f"{name}.npy")) for name in ("state", "action", "said", "episode")
        }
        ends = torch.tensor(np.cumsum(about["lengths"]))
        chosen = [number % HELD_OUT_EVERY != 0 for number in range(len(ends))]
        held_out = torch.tensor([not one for one in chosen])[arrays["episode"]]
        seen: Counter[str] = Counter()
        for number, task in enumerate(about["tasks"]):
            seen[task] += 1
            chosen[number] = chosen[number] and seen[task] <= share * about["tasks"].count(task)
        vocabulary = vocabulary_of(about["instructions"])
        return cls(
            hz=about["hz"],
            cameras=about["cameras"],
            state_names=about["state"],
            vocabulary=vocabulary,
            images={
                name: torch.from_numpy(np.load(cache / f"{name}.npy", mmap_mode="r+")) for name in about["cameras"]
            },
            state=arrays["state"],
            action=arrays["action"],
            said=arrays["said"],
            words=torch.tensor([numbered(text, vocabulary, Shape().longest) for text in about["instructions"]]),
            last=(ends - 1)[arrays["episode"]],
            train=torch.nonzero(torch.tensor(chosen)[arrays["episode"]])[:, 0],
            held_out=torch.nonzero(held_out)[:, 0],
        )

    def on(self, device: torch.device) -> Frames:
        moved: dict[str, Any] = {
            name: value.to(device) for name, value in vars(self).items() if isinstance(value, Tensor)
        }
        return replace(self, **moved, images={name: pictures.to(device) for name, pictures in self.images.items()})

    def chunks(self, at: Tensor, length: int) -> Tensor:
        """The next actions (frames, length, width); the last one of an episode is repeated."""
        steps = at[:, None] + torch.arange(length, device=at.device)
        return self.action[torch.minimum(steps, self.last[at][:, None])]


def _decode(place: str, cache: Path, workers: int) -> None:
    data = open_data(place)
    features = data.features
    if uneven := {name: size for name, size in features.cameras.items() if size[0] != size[1]}:
        raise SystemExit(f"{place} has pictures that are not square: {uneven}")
    cache.mkdir(parents=True, exist_ok=True)
    with get_context("spawn").Pool(workers, _open, (place,)) as pool:
        episodes = list(pool.imap(_numbers, range(len(data)), chunksize=16))
        lengths = [len(one["action"]) for one in episodes]
        starts = np.cumsum([0, *lengths])
        for name, (height, width) in features.cameras.items():
            open_memmap(cache / f"{name}.npy", "w+", np.uint8, (int(starts[-1]), height, width, 3)).flush()
        work = [(index, int(starts[index]), cache) for index in range(len(data))]
        for done, _ in enumerate(pool.imap_unordered(_pictures, work, chunksize=16), 1):
            if done % 500 == 0 or done == len(data):
                print(f"decoded {done} of {len(data)} episodes", flush=True)
    instructions = sorted({text for one in episodes for text in one["instructions"]})
    number = {text: index for index, text in enumerate(instructions)}
    np.save(cache / "state.npy", np.concatenate([one["state"] for one in episodes]))
    np.save(cache / "action.npy", np.concatenate([one["action"] for one in episodes]))
    np.save(cache / "said.npy", np.array([number[text] for one in episodes for text in one["instructions"]]))
    np.save(cache / "episode.npy", np.repeat(np.arange(len(data)), lengths))
    about = {
        "hz": features.hz, "cameras": {name: size[0] for name, size in features.cameras.items()},
        "state": list(features.state[STATE]), "instructions": instructions, "lengths": lengths,
        "tasks": [one["task"] for one in episodes],
    }  # fmt: skip
    # Last: with it the folder is complete.
    (cache / "about.json").write_text(json.dumps(about))


def _open(place: str) -> None:
    global _opened
    torch.set_num_threads(1)
    _opened = open_data(place)


def _numbers(index: int) -> dict[str, Any]:
    assert _opened is not None
    one = _opened[index]
    return {
        "instructions": one.instructions, "state": one.state[STATE], "action": one.action,
        "task": str(one.metadata.get("task", "")),
    }  # fmt: skip


def _pictures(work: tuple[int, int, Path]) -> None:
    assert _opened is not None
    index, start, cache = work
    for name, pictures in _opened[index].images.items():
        frames = open_memmap(cache / f"{name}.npy", "r+")
        frames[start : start + len(pictures)] = pictures.all()
