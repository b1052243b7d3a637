"""Work of the probe that many cases share, kept in files: answers of a policy, and demonstrations."""

from __future__ import annotations

import hashlib
import pickle
import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any

import numpy as np

from robodx.policy_contract import ActionChunk, EpisodeStart, Observation, Policy, PolicySpec, replies
from robodx.records import files
from robodx.robots.kinematics import Kinematics
from robodx.running.demonstrations import Demonstration, demonstrate

WAIT_S = 60.0


@dataclass
class _Episode:
    """What was said to the policy since its episode began, and what of it the policy itself has not heard yet."""

    start: EpisodeStart
    digest: bytes
    unheard: list[Observation] = field(default_factory=list)
    is_begun: bool = False


class Remembered:
    """Answers from a file where the same episode was seen before, up to the last observation.

    Only for a policy that gives the same answers to the same start and observations, in one episode at a time. It hears
    what led to a question as soon as it has to answer one itself, so that what it remembers of its episode is as if it
    had been asked always.
    """

    def __init__(self, inside: Policy, path: Path) -> None:
        self.spec, self._inside = inside.spec, inside
        path.parent.mkdir(parents=True, exist_ok=True)
        # Several processes write into it; each answer is written at once.
        self._kept = sqlite3.connect(path, timeout=WAIT_S, isolation_level=None, check_same_thread=False)
        self._kept.execute("PRAGMA journal_mode=WAL")
        self._kept.execute("PRAGMA synchronous=OFF")
        self._kept.execute(
            "CREATE TABLE IF NOT EXISTS answers (question BLOB PRIMARY KEY, chunk BLOB, type TEXT, width INTEGER)"
        )
        self._episode: _Episode | None = None

    def reset(self, starts: Sequence[EpisodeStart]) -> None:
        (start,) = starts
        # Not every client says that an episode has ended.
        self._end()
        self._episode = _Episode(start, hashlib.blake2b(repr(replace(start, episode_id="")).encode()).digest())

    def act(self, observations: Sequence[Observation]) -> Sequence[ActionChunk | Exception]:
        return [self._answer(one) for one in observations]

    def finish(self, episode_ids: Sequence[str]) -> None:
        if self._episode and self._episode.start.episode_id in episode_ids:
            self._end()

    def _end(self) -> None:
        if self._episode and self._episode.is_begun:
            self._inside.finish([self._episode.start.episode_id])
        self._episode = None

    def _answer(self, observation: Observation) -> ActionChunk | Exception:
        episode = self._episode
        assert episode is not None and observation.episode_id == episode.start.episode_id
        episode.digest = _digest(episode.digest, observation)
        row = self._kept.execute(
            "SELECT chunk, type, width FROM answers WHERE question = ?", (episode.digest,)
        ).fetchone()
        if row is not None:
            episode.unheard.append(observation)
            return np.frombuffer(row[0], dtype=row[1]).reshape(-1, row[2]).copy()
        if not episode.is_begun:
            self._inside.reset([episode.start])
            episode.is_begun = True
        for earlier in episode.unheard:
            replies(self._inside, [earlier])
        episode.unheard.clear()
        (chunk,) = replies(self._inside, [observation])
        if not isinstance(chunk, Exception):
            values = (episode.digest, chunk.tobytes(), chunk.dtype.str, chunk.shape[1])
            self._kept.execute("INSERT OR IGNORE INTO answers VALUES (?, ?, ?, ?)", values)
        return chunk


def _digest(before: bytes, observation: Observation) -> bytes:
    """Of all that was said up to and with this observation."""
    found = hashlib.blake2b(before)
    found.update(repr((observation.step, observation.time_s, observation.instruction)).encode())
    for arrays in (observation.state, observation.images, observation.depth, observation.segmentation):
        for name in sorted(arrays):
            array = np.ascontiguousarray(arrays[name])
            found.update(repr((name, array.shape, array.dtype.str)).encode())
            found.update(array.data)
    return found.digest()


class RememberedDemonstrations:
    """In place of `demonstrate`: what was drawn once for the same cameras and state is read again."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        folder.mkdir(parents=True, exist_ok=True)

    def __call__(self, spec: PolicySpec, task: str, *, seed: int, robot: str) -> Demonstration:
        name = hashlib.blake2b(repr((spec, task, seed, robot)).encode(), digest_size=16).hexdigest()
        path = self._folder / f"{name}.pickle"
        if path.exists():
            parts: dict[str, Any] = pickle.loads(path.read_bytes())
            return Demonstration(**parts, kinematics=Kinematics(robot))
        made = demonstrate(spec, task, seed=seed, robot=robot)
        # A model of the simulator is large, and the same for all.
        kept = {one.name: getattr(made, one.name) for one in fields(made) if one.name != "kinematics"}
        files.write(path, pickle.dumps(kept, protocol=5))
        return made
