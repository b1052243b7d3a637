"""Policies whose consistency is known: what metamorphic testing must find, or must not be misled by.

robodx run metamorphic/MR3 --policy dazzled --plugin scripts/inconsistent_policies.py
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from robodx.faults.base import Fault, fault
from robodx.language.discriminating_attributes import rewritten
from robodx.language.meaning import Clause
from robodx.language.reference import Reference, Where
from robodx.policies.vision import VisionPolicy
from robodx.policy_contract import ActionChunk, Observation, policy
from robodx.streams import Streams

Floats = NDArray[np.float64]
# The tool's height above the base at which a hand is on its way and not at work; and over how much it comes in.
HIGH_M, OVER_M = 0.14, 0.06
# How much higher a dazzled hand goes for all the light there is, within which bounds, and where it goes as it should.
HIGHER_M, MOST_M, USUAL = 2.0, (-0.1, 0.25), 0.5
JITTER_M = 0.04


class Deviating(VisionPolicy):
    """Vision whose hand is off its way where it is high, so that it still does what it should."""

    def __init__(self) -> None:
        super().__init__()
        self._off: dict[str, Floats] = {}

    def off(self, observation: Observation) -> Floats:
        """By how much, in metres; from the first observation of an episode."""
        raise NotImplementedError

    def finish(self, ids: Sequence[str]) -> None:
        super().finish(ids)
        for episode_id in ids:
            self._off.pop(episode_id, None)

    def _act(self, observation: Observation) -> ActionChunk:
        if observation.episode_id not in self._off:
            self._off[observation.episode_id] = self.off(observation)
        chunk = super()._act(observation).copy()
        share = np.clip((chunk[:, 2:3] - HIGH_M) / OVER_M, 0.0, 1.0)
        chunk[:, :3] += share * self._off[observation.episode_id]
        return chunk


@policy("dazzled")
class Dazzled(Deviating):
    """Vision that lifts its hand higher the brighter it is: sensitive to brightness."""

    def off(self, observation: Observation) -> Floats:
        brightness = float(np.mean([image.mean() for image in observation.images.values()])) / 255
        return np.array([0.0, 0.0, float(np.clip(HIGHER_M * (brightness - USUAL), *MOST_M))])


@policy("jittery")
class Jittery(Deviating):
    """Vision whose hand strays by some centimetres, elsewhere in each episode: noisy, and consistent."""

    def off(self, observation: Observation) -> Floats:
        # Other words are another episode: a server that is asked again answers with fresh noise.
        words = zlib.crc32(observation.instruction.encode())
        seed = self._starts[observation.episode_id].policy_seed
        return Streams(seed).rng("jitter", str(words)).normal(0.0, JITTER_M, 3)


LEFT = {"right": "left", "rightmost": "leftmost", "right of": "left of"}


@fault("hears_only_left", expected=("language sub-skill", "left and right"))
class HearsOnlyLeft(Fault):
    """Takes right for left, and left for what it is."""

    def reference(self, reference: Reference) -> Reference:
        return rewritten(reference, _to_the_left)

    def clauses(self, clauses: tuple[Clause, ...]) -> tuple[Clause, ...]:
        return tuple(
            replace(clause, place=replace(clause.place, relation=LEFT[clause.place.relation]))  # type: ignore[arg-type]
            if clause.place and clause.place.relation in LEFT
            else clause
            for clause in clauses
        )


def _to_the_left(description: Reference) -> Reference:
    where = tuple(Where(LEFT.get(each.relation, each.relation), each.of) for each in description.where)  # type: ignore[arg-type]
    rank = description.rank and replace(description.rank, by=LEFT.get(description.rank.by, description.rank.by))  # type: ignore[arg-type]
    return replace(description, where=where, rank=rank)
