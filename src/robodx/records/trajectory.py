"""A trajectory: the arrays of one episode, with the names of what their columns hold."""

from __future__ import annotations

import hashlib
import io
import json
import zipfile
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from tokenize import TokenError
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from robodx.records import files

Array = NDArray[np.float64]

# What numpy raises of stored arrays, according to which byte is wrong.
DAMAGED = (
    OSError, ValueError, LookupError, TypeError, EOFError, AttributeError, RuntimeError, MemoryError,
    zipfile.BadZipFile, zlib.error, TokenError,
)  # fmt: skip


# What makes a motion what it was.
DIGESTED = ("qpos", "commands", "stage")


class Query(NamedTuple):
    """One call of the policy."""

    step: int
    inference_s: float
    is_perturbed: bool = False


@dataclass(frozen=True)
class Hand:
    """One gripping hand: which of the tools it is, and where its opening is commanded and measured."""

    name: str
    # Of `tool_in_world`, the second index.
    tool: int
    # The column of `commands` that holds its opening, 0 closed to 1 open.
    opening: int
    # The columns of `qpos` that hold its fingers' joints.
    fingers: tuple[int, ...]


@dataclass(frozen=True)
class Index:
    """What the columns of a trajectory hold, by name."""

    # The column of `qpos` of each joint of the robot.
    joints: Mapping[str, int]
    # The first of the seven columns of `qpos`, position and quaternion, of each thing that moves freely.
    things: Mapping[str, int]
    hands: tuple[Hand, ...]

    def as_json(self) -> str:
        return json.dumps(asdict(self), separators=(",", ":"))

    @classmethod
    def of_json(cls, text: str) -> Index:
        found = json.loads(text)
        hands = (Hand(one["name"], one["tool"], one["opening"], tuple(one["fingers"])) for one in found["hands"])
        return cls(found["joints"], found["things"], tuple(hands))


@dataclass(frozen=True)
class Trajectory:
    """Arrays of one episode: n control steps, n + 1 states. Their digest is of the arrays, not of the names."""

    time_s: Array  # (n + 1,)
    qpos: Array  # (n + 1, nq)
    tool_in_world: Array  # (n + 1, arms, 7)
    stage: NDArray[np.int32]  # (n + 1,)
    actions: NDArray[np.float32]  # (n, action_dim): as the policy sent them, NaN while it was thinking
    commands: NDArray[np.float32]  # (n, joint action): what was executed, as `joint` actions
    query_steps: NDArray[np.int32]  # (queries,): when the policy was asked
    inference_s: Array  # (queries,): how long each answer took
    is_query_perturbed: NDArray[np.bool_]  # (queries,): whether what it was shown, or when it was heard, was perturbed
    is_command_perturbed: NDArray[np.bool_]  # (n,): whether something else was executed than what it asked for
    # None in records of before schema version 4.
    index: Index | None = None

    def thing(self, name: str) -> Array:
        """Where a thing that moves freely was: positions and quaternions (n + 1, 7)."""
        if self.index is None or name not in self.index.things:
            raise KeyError(f"the trajectory does not say where {name} is")
        start = self.index.things[name]
        poses: Array = self.qpos[:, start : start + 7]
        return poses

    def digest(self) -> str:
        """The same for two episodes only if they moved alike, bit for bit."""
        return _digest(getattr(self, name) for name in DIGESTED)

    def save(self, path: Path) -> None:
        buffer = io.BytesIO()
        arrays = {name: value for name, value in vars(self).items() if name != "index"}
        if self.index is not None:
            arrays["index"] = np.array(self.index.as_json())
        np.savez_compressed(buffer, **arrays)
        files.write(path, buffer.getvalue())

    @classmethod
    def load(cls, file: Path) -> Trajectory:
        """What it raises of a damaged file is one of `DAMAGED`."""
        with np.load(file, allow_pickle=False) as arrays:
            known: dict[str, Any] = {name: arrays[name] for name in cls.__dataclass_fields__ if name in arrays}
            known["index"] = index_of(known)
            # Older ones do not say what was perturbed.
            known.setdefault("is_query_perturbed", np.zeros(len(known["query_steps"]), dtype=np.bool_))
            known.setdefault("is_command_perturbed", np.zeros(len(known["commands"]), dtype=np.bool_))
            return cls(**known)


def stored_digest(content: bytes) -> str:
    """Of a stored trajectory, in half the time that it takes to load it; raises as `Trajectory.load` does."""
    with zipfile.ZipFile(io.BytesIO(content)) as stored:
        # All of it is read, for its checksums; to make arrays of all would take the time.
        parts = {name: stored.read(name) for name in stored.namelist()}
    headed = (io.BytesIO(parts[f"{name}.npy"]) for name in DIGESTED)
    return _digest(np.lib.format.read_array(one, allow_pickle=False) for one in headed)


def _digest(arrays: Iterable[NDArray[Any]]) -> str:
    digest = hashlib.blake2b(digest_size=16)
    for array in arrays:
        digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()


def index_of(arrays: Mapping[str, NDArray[Any]]) -> Index | None:
    """The names that stored arrays come with; None in older records."""
    return Index.of_json(str(arrays["index"])) if "index" in arrays else None
