"""Other meanings of motions in a policy's answers: how rotations are written, steps or poses, whose axes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

import numpy as np

from robodx.compatibility.data_fit import Answered, Reading
from robodx.compatibility.data_truth import Truth
from robodx.sim.geometry import Array, Quaternion, conjugate, multiply, normalise, rotate
from robodx.wires.rotations import ROTATIONS

# Whose quaternions are shorter than this (median) averages.
SHORT = 0.9


def rotation_forms(truth: Truth, answered: Answered) -> Iterator[Reading]:
    if not truth.rotations:
        return
    own = ROTATIONS[truth.rotation]
    for name, form in ROTATIONS.items():
        if name != truth.rotation and form.width == own.width:
            numbers = _each_rotation(
                truth, answered.numbers, lambda row, _, form=form: own.write(form.read(row))  # type: ignore[misc]
            )  # fmt: skip
            if numbers is not None:
                yield Reading("rotation form", f"its rotations are {name}, and the data set's {truth.rotation}",
                              replace(answered, numbers=numbers))  # fmt: skip


def averaged_quaternions(truth: Truth, answered: Answered) -> Iterator[Reading]:
    """Who learns from q and −q of the same rotation answers their mean, which is none."""
    for columns in truth.quaternions:
        lengths = np.linalg.norm(answered.numbers[..., columns], axis=-1, keepdims=True)
        known = lengths[np.isfinite(lengths)]
        length = float(np.median(known)) if known.size else 1.0
        if length >= SHORT or (known < 1e-6).all():
            continue
        numbers = answered.numbers.copy()
        numbers[..., columns] = numbers[..., columns] / np.maximum(lengths, 1e-6)
        quaternions = truth.all_actions[:, columns]
        mixed = float((quaternions @ quaternions[0] < 0).mean())
        yield Reading(
            "antipodal quaternions",
            f"its quaternions have a length of {length:.2g}: it averages q and −q, and {mixed:.0%} of the data set's "
            "lie opposite to its first",
            replace(answered, numbers=numbers),
        )  # fmt: skip


def deltas(truth: Truth, answered: Answered) -> Iterator[Reading]:
    """Steps where the data set says where to be."""
    if not truth.is_absolute:
        return
    summed = [column for column in truth.motion if not any(column in turn for turn in truth.rotations)]
    for start, words in _starts(truth):
        for is_chained, how in ((False, "the chunk's start"), (True, "one action to the next")):
            numbers = answered.numbers.copy()
            steps = np.cumsum(numbers, axis=1) if is_chained else numbers
            numbers[..., summed] = start[:, None][..., summed] + steps[..., summed]
            if truth.rotations:
                turned = _turned(truth, start, numbers, is_chained=is_chained)
                if turned is None:
                    continue
                numbers = turned
            yield Reading("delta instead of absolute", f"its answers are steps from {how}, from {words} on",
                          replace(answered, numbers=numbers))  # fmt: skip


def absolutes(truth: Truth, answered: Answered) -> Iterator[Reading]:
    """Where to be, where the data set has steps."""
    if truth.is_absolute or truth.space == "joint_velocity":
        return
    for start, words in _starts(truth)[1:]:
        numbers = answered.numbers.copy()
        before = np.concatenate([start[:, None], numbers[:, :-1]], axis=1)
        numbers[..., truth.motion] = (numbers - before)[..., truth.motion]
        sentence = f"its answers say where to be, and the data set has steps from {words}"
        yield Reading("absolute instead of delta", sentence, replace(answered, numbers=numbers))


def delta_frames(truth: Truth, answered: Answered) -> Iterator[Reading]:
    poses = [frame.pose for frame in truth.frames]
    if truth.space != "ee_delta" or len(truth.positions) != 1 or any(pose is None for pose in poses):
        return
    turns = [normalise(pose[3:7]) for pose in poses if pose is not None]
    blocks = [truth.positions[0], *(turn for turn in truth.rotations if len(turn) == 3)]
    for ours, theirs, is_back in (("tool", "base", False), ("base", "tool", True)):
        numbers = answered.numbers.copy()
        for row, quaternion in enumerate(turns):
            q = conjugate(quaternion) if is_back else quaternion
            for block in blocks:
                for k in range(numbers.shape[1]):
                    x, y, z = numbers[row, k, list(block)].tolist()
                    numbers[row, k, list(block)] = rotate(q, (x, y, z))
        yield Reading("frame", f"its steps are in the axes of the {ours}, and the data set's in those of the {theirs}",
                      replace(answered, numbers=numbers))  # fmt: skip


def _starts(truth: Truth) -> list[tuple[Array, str]]:
    """(frames, numbers) from which steps may be counted: the action before, a state as wide, the tool's pose."""
    starts = [(truth.at(-1), "the action before")]
    vectors = truth.frames[0].vectors
    for name in vectors:
        if len(vectors[name]) == len(truth.names):
            starts.append(
                (np.stack([frame.vectors[name].astype(float) for frame in truth.frames]), f"the state {name}")
            )
    poses = [frame.pose for frame in truth.frames if frame.pose is not None]
    if len(poses) == len(truth.frames) and len(truth.positions) == 1:
        start = truth.at(-1) if truth.is_absolute else np.zeros((len(poses), len(truth.names)))
        start[:, list(truth.positions[0])] = [pose[:3] for pose in poses]
        if truth.rotations:
            written = [ROTATIONS[truth.rotation].write(normalise(pose[3:7])) for pose in poses]
            start[:, list(truth.rotations[0])] = written
        starts.append((start, "the tool's pose"))
    return starts


def _turned(truth: Truth, start: Array, numbers: Array, *, is_chained: bool) -> Array | None:
    """Rotations after the turns in `numbers`, from those at the start."""
    form = ROTATIONS[truth.rotation]
    turned = numbers.copy()
    try:
        for columns in map(list, truth.rotations):
            for row in range(len(numbers)):
                if np.isnan(start[row, columns]).any() or np.isnan(numbers[row][:, columns]).any():
                    turned[row][:, columns] = np.nan
                    continue
                before: Quaternion = form.read(start[row, columns].tolist())
                for k in range(numbers.shape[1]):
                    after = multiply(form.read(numbers[row, k, columns].tolist()), before)
                    turned[row, k, columns] = form.write(normalise(after))
                    before = after if is_chained else before
    except (ValueError, ZeroDivisionError):
        return None
    return turned


def _each_rotation(truth: Truth, numbers: Array, change: Callable[[list[float], int], Sequence[float]]) -> Array | None:
    changed = numbers.copy()
    try:
        for columns in map(list, truth.rotations):
            for row in range(len(numbers)):
                for k in range(numbers.shape[1]):
                    if not np.isnan(numbers[row, k, columns]).any():
                        changed[row, k, columns] = change(numbers[row, k, columns].tolist(), row)
    except (ValueError, ZeroDivisionError):
        return None
    return changed
