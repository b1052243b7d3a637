"""How far a policy's answers are from the actions of a data set, beside a trivial guess, and which of two is nearer."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from robodx.compatibility.data_truth import STILL, Truth
from robodx.compatibility.hypotheses import COMPETENT
from robodx.sim.geometry import Array

# Actions of an answered chunk that are compared: later ones are harder to foresee.
COMPARED = 8
# Fewer frames decide nothing.
FEWEST_FRAMES = 20
# What explains better leaves at most this share of the error, gains this much of the whole, is better on most frames
# (sign test, for some sixty hypotheses), and on most episodes, because frames of one episode are alike.
MUST_LEAVE, MUST_GAIN, SIGN_LEVEL, EPISODES_BETTER = 0.5, 0.05, 0.001, 2 / 3
# A component may lose as much as that, relative to its error and to the whole.
MAY_LOSE, MAY_LOSE_OF_ALL = 1.05, 0.01


@dataclass(frozen=True)
class Answered:
    """(frames, actions, numbers) that the policy answered, NaN where it did not; and for which steps they are."""

    numbers: Array
    # How many steps later than asked, of motion and gripper.
    motion_ahead: int = 0
    gripper_ahead: int = 0

    @property
    def errors(self) -> int:
        return int(np.isnan(self.numbers[:, 0, :]).any(axis=1).sum())


@dataclass(frozen=True)
class Reading:
    """A hypothesis of what the answers mean: in a word, in a sentence, and the answers as the data set has actions."""

    aspect: str
    sentence: str
    answered: Answered
    must_explain: float = COMPETENT
    must_leave: float = MUST_LEAVE
    must_gain: float = MUST_GAIN


@dataclass(frozen=True)
class DataFit:
    """Squared errors by component, (frames, actions): of the policy, and of the trivial guess. NaN where unknown."""

    error: Mapping[str, Array]
    trivial: Mapping[str, Array]
    episodes: NDArray[np.int64]

    @classmethod
    def of(cls, truth: Truth, answered: Answered, most: int = COMPARED) -> DataFit:
        rows = min(most, answered.numbers.shape[1])
        found = answered.numbers[:, :rows].copy()
        wanted = np.stack([truth.at(k + answered.motion_ahead) for k in range(rows)], axis=1)
        if truth.gripper:
            later = np.stack([truth.at(k + answered.gripper_ahead) for k in range(rows)], axis=1)
            wanted[..., truth.gripper] = later[..., truth.gripper]
        guess = np.broadcast_to(truth.usual, wanted.shape).copy()
        if truth.is_absolute:
            guess[..., truth.motion] = truth.at(-1)[:, None, truth.motion]
        for columns in truth.quaternions:
            # q and −q are one rotation.
            for one in (found, guess):
                with np.errstate(invalid="ignore"):
                    turned = (one[..., columns] * wanted[..., columns]).sum(axis=-1, keepdims=True) < 0
                one[..., columns] = np.where(turned, -one[..., columns], one[..., columns])
        error, trivial = {}, {}
        for name, wide in truth.components.items():
            columns = list(wide)
            # Numbers in units of which nothing is known count alike.
            weight = 1 / truth.spread[columns] if name == "motion" else np.ones(len(wide))
            far = np.clip((found - wanted)[..., columns] * weight, -1e6, 1e6)
            off = np.square((guess - wanted)[..., columns] * weight).sum(axis=-1)
            if float(np.nansum(off)) > STILL:
                error[name], trivial[name] = np.square(far).sum(axis=-1), off
        return cls(error, trivial, truth.episodes)

    @property
    def unexplained(self) -> dict[str, float]:
        """Of each component, the error relative to that of the trivial guess."""
        return {name: _share(self.error[name], self.trivial[name]) for name in self.error}

    @property
    def is_all_explained(self) -> bool:
        """Whether nothing is left that another hypothesis could gain."""
        return all(ratio < MUST_GAIN for ratio in self.unexplained.values())

    @property
    def shares(self) -> dict[str, float]:
        """What is explained of each component; below 0 it is worse than the trivial guess."""
        return {name: max(1.0 - ratio, -9.99) for name, ratio in self.unexplained.items()}

    @property
    def total(self) -> float:
        # Bounded, so that a component that is off by a factor of 1000 does not hide the others.
        return sum(min(ratio, 10.0) + 1e-3 * math.log1p(ratio) for ratio in self.unexplained.values())

    @property
    def explained_by_step(self) -> list[float]:
        """Of all components together, for each action of the chunk."""
        rows = next(iter(self.error.values())).shape[1] if self.error else 0
        return [
            float(np.mean([1 - _share(self.error[name][:, [k]], self.trivial[name][:, [k]]) for name in self.error]))
            for k in range(rows)
        ]

    def improves_on(
        self,
        other: DataFit,
        must_explain: float = COMPETENT,
        must_leave: float = MUST_LEAVE,
        must_gain: float = MUST_GAIN,
    ) -> bool:
        """Whether some component is explained, far better and on most frames and episodes, and none much worse."""
        is_better = False
        for name in self.error:
            if name not in other.error:
                return False
            rows = min(self.error[name].shape[1], other.error[name].shape[1])
            mine, theirs = self.error[name][:, :rows], other.error[name][:, :rows]
            known = ~(np.isnan(mine) | np.isnan(theirs))
            here, there = _per_frame(mine, known), _per_frame(theirs, known)
            whole = float(np.nansum(np.where(known, other.trivial[name][:, :rows], np.nan)))
            a, b = float(np.where(known, mine, 0).sum()), float(np.where(known, theirs, 0).sum())
            if a > MAY_LOSE * b + MAY_LOSE_OF_ALL * whole:
                return False
            is_better |= (
                known.any(axis=1).sum() >= FEWEST_FRAMES
                and a <= must_leave * b
                and b - a >= must_gain * whole
                and self.shares[name] >= must_explain
                and _sign_test(here, there) < SIGN_LEVEL
                and self._episodes_better(here, there) >= EPISODES_BETTER
            )
        return is_better

    def _episodes_better(self, here: Array, there: Array) -> float:
        votes = [
            np.nansum(here[self.episodes == one]) < np.nansum(there[self.episodes == one])
            for one in np.unique(self.episodes)
            if not np.array_equal(here[self.episodes == one], there[self.episodes == one], equal_nan=True)
        ]
        return float(np.mean(votes)) if votes else 0.0


def _share(error: Array, trivial: Array) -> float:
    known = ~(np.isnan(error) | np.isnan(trivial))
    return float(error[known].sum()) / max(float(trivial[known].sum()), STILL)


def _per_frame(error: Array, known: NDArray[np.bool_]) -> Array:
    """NaN where nothing of a frame is known."""
    count = known.sum(axis=1)
    return np.where(count > 0, np.where(known, error, 0.0).sum(axis=1) / np.maximum(count, 1), np.nan)


def _sign_test(mine: Array, theirs: Array) -> float:
    """How likely so many frames would be better by chance, were both alike."""
    better, worse = int((mine < theirs).sum()), int((mine > theirs).sum())
    n = better + worse
    return sum(math.comb(n, k) for k in range(better, n + 1)) / 2**n if n else 1.0
