"""All frames of data sets in memory, decoded once into folders by several processes, then loaded as tensors."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from hashlib import blake2b
from itertools import pairwise
from multiprocessing import get_context
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from decoded import Decoded, write
from network import Shape
from torch import Tensor

from robodx.datasets.descriptions import described
from robodx.datasets.formats.base import locate, open_data
from robodx.datasets.frames import lengths_of
from robodx.datasets.schema import DataSet
from robodx.learned.words import numbered, vocabulary_of
from robodx.policy_contract import PolicySpec
from robodx.running.demonstration_writer import STATE

# Of the episodes: they are never trained on, and say how well it predicts what it has not seen.
HELD_OUT = 0.02
# Of a folder of decoded frames: which data set they are of. With it the folder is complete.
SOURCE = "source.json"
# Pictures go to a GPU by way of memory that it reads itself, so much at a time.
STAGED_BYTES = 1 << 28


@dataclass(frozen=True)
class Chosen:
    """Which episodes are trained on."""

    # So many of each task's episodes.
    share: float = 1.0
    # None of these families.
    without: tuple[str, ...] = ()


@dataclass(frozen=True)
class Frames:
    """N frames, one after the other, episode by episode."""

    # Of the data sets.
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
        cls,
        places: Sequence[str],
        cache: Path,
        *,
        chosen: Chosen | None = None,
        workers: int = 2,
        vocabulary: Sequence[str] | None = None,
        device: torch.device | None = None,
    ) -> Frames:
        """Of several data sets, all with the same features. Without a vocabulary, that of the data."""
        device, chosen = device or torch.device("cpu"), chosen or Chosen()
        known = [_known(place) for place in places]
        parts = [
            part for one in known for part in _decoded(one, cache if len(known) == 1 else cache / one.digest, workers)
        ]
        features = _shared_features(parts)
        episodes = [episode for part in parts for episode in part.about["episodes"]]
        lengths = [episode["length"] for episode in episodes]
        tasks = [str(episode.get("task", "")) for episode in episodes]
        held_out = are_held_out(tasks, [int(one.get("seed", index)) for index, one in enumerate(episodes)])
        is_trained = are_chosen(tasks, held_out, chosen)
        if not any(is_trained):
            raise SystemExit(f"there are too few episodes: {len(episodes)}, of which {sum(held_out)} held out")
        # What is left out is not asked for either, unless nothing else was held out.
        asked = [
            is_one and task.split("/")[0] not in chosen.without for is_one, task in zip(held_out, tasks, strict=True)
        ]
        held_out = asked if any(asked) else held_out
        told = [part.about["instructions"] for part in parts]
        vocabulary = vocabulary_of(text for texts in told for text in texts) if vocabulary is None else list(vocabulary)
        words = [numbered(text, vocabulary, Shape().longest) for texts in told for text in texts]
        firsts = np.cumsum([0, *map(len, told)])
        said = [part.numbers("instruction") + first for part, first in zip(parts, firsts, strict=False)]
        episode = torch.repeat_interleave(torch.arange(len(lengths)), torch.tensor(lengths))
        found = cls(
            digest=_joined([one.digest for one in known]),
            hz=float(features["hz"]),
            cameras={name: size[0] for name, size in features["cameras"].items()},
            state_names=list(features["state"][STATE]),
            vocabulary=vocabulary,
            images={},
            state=torch.from_numpy(np.concatenate([part.numbers("state") for part in parts])),
            action=torch.from_numpy(np.concatenate([part.numbers("action") for part in parts])),
            instruction=torch.from_numpy(np.concatenate(said)),
            words=torch.tensor(words),
            last=(torch.tensor(lengths).cumsum(0) - 1)[episode],
            train=torch.nonzero(torch.tensor(is_trained)[episode])[:, 0],
            held_out=torch.nonzero(torch.tensor(held_out)[episode])[:, 0],
        )
        images = {name: _pictures(parts, name, size, device) for name, size in found.cameras.items()}
        return replace(found._on(device), images=images)

    def _on(self, device: torch.device) -> Frames:
        moved: dict[str, Any] = {
            name: value.to(device) for name, value in vars(self).items() if isinstance(value, Tensor)
        }
        return replace(self, **moved)

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


def are_chosen(tasks: Sequence[str], held_out: Sequence[bool], chosen: Chosen) -> list[bool]:
    """Of each task the first so many, and none that are held out."""
    episodes, seen, found = Counter(tasks), Counter[str](), []
    for task, is_held_out in zip(tasks, held_out, strict=True):
        seen[task] += 1
        is_among = seen[task] <= chosen.share * episodes[task] and task.split("/")[0] not in chosen.without
        found.append(is_among and not is_held_out)
    return found


class _Known(NamedTuple):
    """A data set, and what tells it from others."""

    place: str
    data: DataSet
    digest: str


def _known(place: str) -> _Known:
    data = open_data(place)
    # Its features, and how many episodes and frames it has.
    told = json.dumps([asdict(data.features), lengths_of(data).tolist()], sort_keys=True, default=str)
    return _Known(place, data, _joined([told]))


def _joined(texts: Sequence[str]) -> str:
    return blake2b("\n".join(texts).encode(), digest_size=16).hexdigest()


def _decoded(known: _Known, cache: Path, workers: int) -> list[Decoded]:
    """The frames of a data set: where they are if they are decoded already, or else in parts in the cache."""
    if isinstance(known.data, Decoded):
        return [known.data]
    source = {"place": str(locate(known.place).path.resolve()), "digest": known.digest}
    if not (cache / SOURCE).exists():
        parts = _decode(known, cache, workers)
        (cache / SOURCE).write_text(json.dumps({**source, "parts": parts}))
    there = json.loads((cache / SOURCE).read_text())
    if {name: there.get(name) for name in source} != source:
        raise SystemExit(
            f"{cache} holds frames of {there.get('place')} ({there.get('digest')}), not of {source['place']} as it is "
            f"now ({source['digest']}): choose another folder with --cache"
        )
    return [Decoded.at(cache / part) for part in there["parts"]]


def _decode(known: _Known, cache: Path, workers: int) -> list[str]:
    cache.mkdir(parents=True, exist_ok=True)
    # More parts than workers: some are longer than others.
    bounds = np.linspace(0, len(known.data), min(4 * workers, len(known.data)) + 1).astype(int).tolist()
    ranges = list(pairwise(bounds))
    parts = [f"part_{index:03}" for index in range(len(ranges))]
    work = [(known.place, *span, cache / part) for span, part in zip(ranges, parts, strict=True)]
    with get_context("spawn").Pool(workers) as pool:
        for done, count in enumerate(pool.imap_unordered(_decode_part, work), 1):
            print(f"decoded {done} of {len(parts)} parts of {known.place}, this one of {count} episodes", flush=True)
    return parts


def _decode_part(work: tuple[str, int, int, Path]) -> int:
    place, begin, end, folder = work
    torch.set_num_threads(1)
    data = open_data(place)
    write(folder, data.features, (data[index] for index in range(begin, end)))
    return end - begin


def _shared_features(parts: Sequence[Decoded]) -> dict[str, Any]:
    """Of all parts, which must have the same rate, cameras and numbers."""
    first, *others = [described(part.features) for part in parts]
    for name in ("hz", "cameras", "state", "action"):
        if any(one[name] != first[name] for one in others):
            raise SystemExit(f"the data sets differ in {name}: they cannot be trained on together")
    # Refuses a rate that no policy can have.
    PolicySpec(hz=parts[0].features.known_hz)
    if uneven := {name: size for name, size in first["cameras"].items() if size[0] != size[1]}:
        raise SystemExit(f"there are pictures that are not square: {uneven}")
    return first


def _pictures(parts: Sequence[Decoded], camera: str, side: int, device: torch.device) -> Tensor:
    """All pictures of a camera (N, side, side, 3), read straight to where they are to be."""
    count = sum(sum(part.lengths) for part in parts)
    pictures = torch.empty((count, side, side, 3), dtype=torch.uint8, device=device)
    flat, at = pictures.view(-1), 0
    staged = torch.empty(STAGED_BYTES, dtype=torch.uint8, pin_memory=True) if device.type == "cuda" else None
    for part in parts:
        size = sum(part.lengths) * side * side * 3
        with part.pictures_file(camera).open("rb", buffering=0) as file:
            end = at + size
            while at < end:
                into = flat[at:end] if staged is None else staged[: end - at]
                got = file.readinto(into.numpy())
                if not got:
                    raise SystemExit(f"{part.pictures_file(camera)} is shorter than {part.folder} says")
                if staged is not None:
                    flat[at : at + got].copy_(staged[:got])
                at += got
    return pictures
