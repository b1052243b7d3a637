"""How far a policy's motion is from the expert's, if its answers are read in one way or another."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache

import numpy as np

from robodx.compatibility.hypotheses import COMPETENT
from robodx.compatibility.showing import Asked
from robodx.robots.control import moved
from robodx.running.demonstrations import Frame
from robodx.sim.geometry import Array, Pose, conjugate, from_rotation_vector, multiply, normalise, to_rotation_vector
from robodx.spaces import InvalidAction
from robodx.wires.actions import Actions
from robodx.wires.base import WireError
from robodx.wires.preset import Preset

# Steps of the expert that count as one observation when two fits are compared: neighbouring answers are alike.
UNIT_STEPS = 10
# A fit is better than another if its loss is lower by this share, and by more than chance: a one-sided paired t-test
# over the units. The level is strict, because many hypotheses are compared, and more than once.
MARGIN, LEVEL = 0.05, 0.001
# A component that is explained less than this may be wrong in a way that no hypothesis has.
LEAST_OF_COMPONENT = -0.25
# Motions that differ by less than this share of the expert's are the same.
NO_EFFECT = 0.01


@dataclass(frozen=True)
class Motions:
    """The policy's motion and the expert's between two questions, (answers, numbers) by component; NaN for errors."""

    pairs: Mapping[str, tuple[Array, Array]]
    # (demonstration, part of it) for each answer.
    units: Array

    @classmethod
    def of(cls, preset: Preset, answers: Sequence[Sequence[Asked]]) -> Motions:
        # Past the middle or not is too coarse to tell one range of a gripper from another.
        preset = replace(preset, actions=replace(preset.actions, gripper_is_binary=False))
        rows: dict[str, list[tuple[Array, Array]]] = {}
        units = []
        for index, demonstration in enumerate(answers):
            for asked in demonstration:
                expected, found = asked.expected(preset.actions, _expected), None
                try:
                    if asked.reply is not None:
                        found = _found(asked.frame, preset, preset.chunk(asked.reply)[: asked.actions].astype(float))
                except (InvalidAction, WireError):
                    pass
                for name, theirs in expected.items():
                    ours = np.full_like(theirs, np.nan) if found is None else found[name]
                    rows.setdefault(name, []).append((ours, theirs))
                units.append((index, asked.step // UNIT_STEPS))
        pairs = {name: (np.array([a for a, _ in some]), np.array([b for _, b in some])) for name, some in rows.items()}
        return cls(pairs, np.array(units))

    def regripped(self, ours: Actions, other: Actions) -> Motions:
        """The same answers with another meaning of the gripper's number."""
        opening, wanted = self.pairs["gripper"]
        numbers = ours.gripper_closed + opening * (ours.gripper_open - ours.gripper_closed)
        again = (numbers - other.gripper_closed) / (other.gripper_open - other.gripper_closed)
        return replace(self, pairs={**self.pairs, "gripper": (_bounded(again), wanted)})

    def same_as(self, other: Motions, sizes: Mapping[str, float]) -> bool:
        """Whether the policy moves alike in both, asked at the same times."""
        if not np.array_equal(self.units, other.units) or self.pairs.keys() != other.pairs.keys():
            return False
        for name, (ours, _) in self.pairs.items():
            theirs = other.pairs[name][0]
            difference = np.square(ours - theirs).sum(axis=1)
            if not np.array_equal(np.isnan(ours), np.isnan(theirs)):
                return False
            if math.sqrt(float(np.nanmean(difference))) > NO_EFFECT * sizes[name]:
                return False
        return True

    @property
    def sizes(self) -> dict[str, float]:
        """How much the expert moves, by component; of an opening, how far it is from the usual one."""
        usual = {name: b.mean(axis=0) if name == "gripper" else 0.0 for name, (_, b) in self.pairs.items()}
        return {
            name: math.sqrt(float(np.square(b - usual[name]).sum(axis=1).mean())) or 1e-6
            for name, (_, b) in self.pairs.items()
        }


@dataclass(frozen=True)
class Fit:
    """The agreement of policy and expert under one hypothesis."""

    # By unit (demonstration, part): from 0, the same motion, to the number of components, another one altogether.
    losses: Mapping[tuple[int, int], float]
    # Shares of the expert's motion that are explained, by component; below 0 is worse than standing still.
    shares: Mapping[str, float]
    errors: int

    @classmethod
    def of(cls, motions: Motions, sizes: Mapping[str, float]) -> Fit:
        errors = {name: np.sqrt(np.square(a - b).sum(axis=1)) / sizes[name] for name, (a, b) in motions.pairs.items()}
        # Bounded: one wild answer, or a component that is off by a factor of 1000, does not hide the others.
        loss = np.sum([error / (1 + error) for error in errors.values()], axis=0)
        used = ~np.isnan(loss)
        grouped: dict[tuple[int, int], list[float]] = {}
        for (index, part), one in zip(motions.units[used].tolist(), loss[used].tolist(), strict=True):
            grouped.setdefault((index, part), []).append(one)
        shares = {
            name: max(1.0 - float(np.square(error[used]).mean()), -9.99) if used.any() else -9.99
            for name, error in errors.items()
        }
        return cls({unit: float(np.mean(some)) for unit, some in grouped.items()}, shares, int((~used).sum()))

    @property
    def explains(self) -> float:
        return float(np.mean(list(self.shares.values())))

    @property
    def loss(self) -> float:
        return float(np.mean(list(self.losses.values()))) if self.losses else math.inf

    @property
    def is_competent(self) -> bool:
        return self.explains > COMPETENT and min(self.shares.values()) > LEAST_OF_COMPONENT

    def is_better_than(self, other: Fit) -> bool:
        """By the margin and beyond chance, on the units that both have."""
        gains = np.array([other.losses[unit] - loss for unit, loss in self.losses.items() if unit in other.losses])
        if len(gains) < 3 or float(gains.mean()) <= MARGIN * other.loss:
            return False
        error = float(gains.std(ddof=1)) / math.sqrt(len(gains))
        return float(gains.mean()) > _quantile(len(gains) - 1) * error


@cache
def _quantile(freedom: int) -> float:
    """Of Student's distribution, at the level."""
    from scipy.special import stdtrit  # type: ignore[import-untyped]

    return float(stdtrit(freedom, 1 - LEVEL))


def _expected(frame: Frame, actions: Actions) -> dict[str, Array]:
    """The expert's motion, from where such actions begin."""
    if not actions.space.startswith("ee_"):
        motion = {"joints": frame.target_joints - frame.commanded_joints}
    else:
        motion = _shift_and_turn(_start(frame, actions), frame.target)
    return {**motion, "gripper": np.array([frame.opening])}


def _found(frame: Frame, preset: Preset, chunk: Array) -> dict[str, Array]:
    """Where actions lead."""
    actions, opening = preset.actions, _bounded(chunk[-1, -1:])
    if not actions.space.startswith("ee_"):
        numbers = chunk[:, :-1]
        is_speed = actions.space == "joint_velocity"
        motion = numbers.sum(axis=0) / preset.hz if is_speed else numbers[-1] - frame.commanded_joints
        return {"joints": _bounded(motion), "gripper": opening}
    start = _start(frame, actions)
    return {**_shift_and_turn(start, _target(start, actions, chunk)), "gripper": opening}


def _start(frame: Frame, actions: Actions) -> Pose:
    return frame.achieved if actions.delta_from == "achieved" else frame.commanded


def _shift_and_turn(start: Pose, target: Pose) -> dict[str, Array]:
    shift = np.subtract(target.position, start.position)
    turn = to_rotation_vector(normalise(multiply(target.quaternion, conjugate(start.quaternion))))
    return {"position": _bounded(shift), "rotation": np.array(turn)}


def _bounded(numbers: Array) -> Array:
    """Steps of kilometres are as wrong as steps of metres, and must not overflow."""
    return np.clip(numbers, -1e3, 1e3)


def _target(start: Pose, actions: Actions, chunk: Array) -> Pose:
    if actions.space == "ee_pose":
        return Pose.of(chunk[-1, :3], normalise(chunk[-1, 3:7]))
    for action in chunk:
        x, y, z = action[:3].tolist()
        start = moved(start, (x, y, z), from_rotation_vector(action[3:6]), actions.delta_frame)
    return start
