"""Named random streams: each is derived from a seed, whose it is and its own name: no draw can disturb another."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, get_args

if TYPE_CHECKING:
    import numpy as np

Variation = Literal["robot", "layout", "attributes", "instruction", "timing", "arena"]
VARIATIONS: tuple[Variation, ...] = get_args(Variation)
# Seeds from here on are for training: their situations are said in any of the training phrasings. Scores on them are no
# test.
FIRST_TRAINING_SEED = 1_000_000


class UndeclaredStream(ValueError):
    """A task drew from a stream that its `varies` does not name: its isolation would be broken."""


@dataclass(frozen=True)
class Streams:
    """The random streams of one seed. With `declared` set, the six words of `varies` are open only if declared."""

    seed: int
    declared: frozenset[str] | None = None
    # Whose they are: were those of a seed the same in all tasks, a run of three seeds would show three colours at three
    # places, and always the same colour at the same place.
    owner: str | None = None

    @classmethod
    def of(cls, seed: int, declared: Iterable[str], owner: str | None = None) -> Streams:
        return cls(seed, frozenset(declared), owner)

    def turn(self, name: Variation, n: int) -> int:
        """One of n, each in turn over successive seeds: where a draw by chance would leave some out."""
        self._check(name)
        first = 0 if self.owner is None else _number(self.owner)
        return (self.seed + first) % n

    def rng(self, name: str, *keys: str | int) -> np.random.Generator:
        # Not above: the command line takes only a number from here, and its help and the Tab key must not wait.
        import numpy as np

        self._check(name)
        whose = () if self.owner is None else (self.owner,)
        return np.random.Generator(np.random.PCG64(_number(self.seed, *whose, name, *keys)))

    def _check(self, name: str) -> None:
        if self.declared is not None and name in VARIATIONS and name not in self.declared:
            declared = ", ".join(sorted(self.declared)) or "nothing"
            raise UndeclaredStream(f'drew from the stream "{name}", but the task varies only: {declared}')


def _number(*parts: str | int) -> int:
    text = "\x1f".join(str(part) for part in parts)
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=16).digest(), "little")
