"""All frames of a data set in memory: decoded once into a folder, by several processes, then loaded as tensors."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from hashlib import blake2b
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import torch
from network import Shape
from numpy.lib.format import open_memmap
from torch import Tensor

from robodx.datasets.formats.base import locate, open_data
from robodx.datasets.frames import lengths_of
from robodx.datasets.schema import DataSet
from robodx.learned.words import numbered, vocabulary_of
from robodx.policy_contract import PolicySpec
from robodx.running.demonstration_writer import STATE

# Of the episodes: they are never trained on, and say how well it predicts what it has not seen.
HELD_OUT = 0.02

_opened: DataSet | None = None


@dataclass(frozen=True)
class Frames:
    """N frames, one after the other, episode by episode."""

    # Of the data set.
    digest: str
    hz: float
    cameras: dict[str, int]
    state_names: list[str]
    vocabulary: list[str]
    # (N, height, width, 3) bytes of each camera.
    images: dict[str, Tensor]
    state: Tensor
    action: Tensor
    # The number of each frame's instruction, and the word numbers of each instruction.
    instruction: Tensor
    words: Tensor
    # The last frame of each frame's episode.
    last: Tensor
    # Frames that are trained on, and others.
    train: Tensor
    held_out: Tensor

    @classmethod
    def load(
        cls, place: str, cache: Path, *, share: float = 1.0, workers: int = 2, vocabulary: Sequence[str] | None = None
    ) -> Frames:
        """With `share`, only so many of each task's episodes are trained on. Without a vocabulary, that of the data."""
        data, path = open_data(place), str(locate(place).path.resolve())
        source = {"place": path, "digest": _digest(data)}
        if not (cache / "about.json").exists():
            _decode(data, place, cache, workers, source)
        about = json.loads((cache / "about.json").read_text())
        if {name: about.get(name) for name in source} != source:
            raise SystemExit(
                f"{cache} holds frames of {about.get('place')} ({about.get('digest')}), not of {path} as it is now "
                f"({source['digest']}): choose another folder with --cache"
            )
        names = ("state", "action", "instruction", "episode")
        arrays = {name: torch.from_numpy(np.load(cache / f"{name}.npy")) for name in names}
        ends = torch.tensor(np.cumsum(about["lengths"]))
        held_out = are_held_out(about["tasks"], about["seeds"])
        episodes, seen, chosen = Counter(about["tasks"]), Counter[str](), []
        for task, is_held_out in zip(about["tasks"], held_out, strict=True):
            seen[task] += 1
            chosen.append(not is_held_out and seen[task] <= share * episodes[task])
        if not any(chosen):
            raise SystemExit(f"{place} has too few episodes: {len(ends)}, of which {sum(held_out)} held out")
        vocabulary = vocabulary_of(about["instructions"]) if vocabulary is None else list(vocabulary)
        return cls(
            digest=about["digest"],
            hz=about["hz"],
            cameras=about["cameras"],
            state_names=about["state"],
            vocabulary=vocabulary,
            images={
                name: torch.from_numpy(np.load(cache / f"{name}.npy", mmap_mode="r+")) for name in about["cameras"]
            },
            state=arrays["state"],
            action=arrays["action"],
            instruction=arrays["instruction"],
            words=torch.tensor([numbered(text, vocabulary, Shape().longest) for text in about["instructions"]]),
            last=(ends - 1)[arrays["episode"]],
            train=torch.nonzero(torch.tensor(chosen)[arrays["episode"]])[:, 0],
            held_out=torch.nonzero(torch.tensor(held_out)[arrays["episode"]])[:, 0],
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


def are_held_out(tasks: Sequence[str], seeds: Sequence[int]) -> list[bool]:
    """By a hash: the same situation in every data set, whatever else its seed decides. One at least."""
    hashes = [
        int.from_bytes(blake2b(f"{task} {seed}".encode(), digest_size=8).digest()) / 2**64
        for task, seed in zip(tasks, seeds, strict=True)
    ]
    limit = max(HELD_OUT, min(hashes))
    return [one <= limit for one in hashes]


def _digest(data: DataSet) -> str:
    """Of its features, and of how many episodes and frames it has."""
    known = json.dumps([asdict(data.features), lengths_of(data).tolist()], sort_keys=True, default=str)
    return blake2b(known.encode(), digest_size=16).hexdigest()


def _decode(data: DataSet, place: str, cache: Path, workers: int, source: dict[str, str]) -> None:
    features = data.features
    # Refuses a rate that no policy can have.
    PolicySpec(hz=features.known_hz)
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
    np.save(cache / "instruction.npy", np.array([number[text] for one in episodes for text in one["instructions"]]))
    np.save(cache / "episode.npy", np.repeat(np.arange(len(data)), lengths))
    about = {
        "hz": features.hz, "cameras": {name: size[0] for name, size in features.cameras.items()},
        "state": list(features.state[STATE]), "instructions": instructions, "lengths": lengths,
        "tasks": [one["task"] for one in episodes], "seeds": [one["seed"] for one in episodes], **source,
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
        "task": str(one.metadata.get("task", "")), "seed": int(one.metadata.get("seed", index)),
    }  # fmt: skip


def _pictures(work: tuple[int, int, Path]) -> None:
    assert _opened is not None
    index, start, cache = work
    for name, pictures in _opened[index].images.items():
        frames = open_memmap(cache / f"{name}.npy", "r+")
        frames[start : start + len(pictures)] = pictures.all()
