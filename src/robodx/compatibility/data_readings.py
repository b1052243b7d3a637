"""What a policy's answers may mean otherwise than a data set's actions do. Each generator in READINGS is one idea."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

import numpy as np

from robodx.compatibility.data_fit import COMPARED, Answered, Reading
from robodx.compatibility.data_motions import absolutes, averaged_quaternions, delta_frames, deltas, rotation_forms
from robodx.compatibility.data_truth import Truth
from robodx.compatibility.hypotheses import COMPETENT, DEGREES, FAR_SCALE, SCALED
from robodx.sim.geometry import Array
from robodx.wires.rotations import ROTATIONS

# A policy may be faster or slower than its data: another time must leave nearly nothing of the error.
TIME_MUST_LEAVE, TIME_EXPLAINS = 0.1, 0.8
MOST_EARLY, MOST_LATE, MOST_LAG = 8, 4, 6
RATES = (2, 3)
# A fitted scale must be that far from 1: noise makes it smaller, and a policy may be slower or faster than its data.
FAR_FITTED = 3.0
# A gripper is open or closed if this share of its numbers is within 5% of either end.
BINARY = 0.95
# Noise around open and closed is no mistake: of graded answers most lie well between the two, and few beyond them.
GRADED_GAIN, BETWEEN, MOST_BETWEEN, BEYOND, FEW_BEYOND = 0.15, 0.15, 0.5, 0.05, 0.1
GRIPPERS = ((0.0, 1.0), (-1.0, 1.0), (1.0, 0.0), (1.0, -1.0))


def gripper_ends(truth: Truth, answered: Answered) -> Iterator[Reading]:
    """Another range or the other way round."""
    for column in truth.gripper:
        low, high = _ends(truth, column)
        if high - low < 1e-6:
            return
    ends = [_ends(truth, column) for column in truth.gripper]
    for first, last in dict.fromkeys((*GRIPPERS, *((high, low) for low, high in ends))):
        if not ends or all(math.isclose(first, low, abs_tol=0.02) and math.isclose(last, high, abs_tol=0.02) for
                           low, high in ends):  # fmt: skip
            continue
        numbers = answered.numbers.copy()
        for column, (low, high) in zip(truth.gripper, ends, strict=True):
            numbers[..., column] = low + (numbers[..., column] - first) / (last - first) * (high - low)
        aspect = "gripper range" if first < last else "gripper sign"
        low, high = ends[0]
        sentence = f"its gripper is {first:.3g} and {last:.3g} where the data set has {low:.3g} and {high:.3g}"
        yield Reading(aspect, sentence, replace(answered, numbers=numbers))


def gripper_threshold(truth: Truth, answered: Answered) -> Iterator[Reading]:
    for column in truth.gripper:
        low, high = _ends(truth, column)
        values = truth.all_actions[:, column]
        at_ends = np.minimum(np.abs(values - low), np.abs(values - high)) <= 0.05 * (high - low)
        if high - low > 1e-6 and at_ends.mean() >= BINARY:
            numbers, middle = answered.numbers.copy(), (low + high) / 2
            graded = numbers[..., column]
            share = (graded[np.isfinite(graded)] - low) / (high - low)
            inside, outside = np.abs(share - 0.5) < 0.5 - BETWEEN, np.abs(share - 0.5) > 0.5 + BEYOND
            if inside.mean() < MOST_BETWEEN or outside.mean() > FEW_BEYOND:
                continue
            numbers[..., column] = np.where(np.isnan(graded), np.nan, np.where(graded > middle, high, low))
            sentence = (
                f"its gripper ({truth.names[column]}) is graded, and the data set's is {low:.3g} or {high:.3g}: it "
                f"must be cut at {middle:.3g}"
            )
            yield Reading(
                "gripper threshold", sentence, replace(answered, numbers=numbers), SCALED, must_gain=GRADED_GAIN
            )


def gripper_lag(truth: Truth, answered: Answered) -> Iterator[Reading]:
    if truth.gripper and answered.gripper_ahead == 0:
        for steps in range(1, MOST_LAG + 1):
            sentence = f"its gripper does what the data set did {_steps(steps)} before"
            yield Reading(
                "gripper lag", sentence, replace(answered, gripper_ahead=-steps), TIME_EXPLAINS, TIME_MUST_LEAVE
            )


def units(truth: Truth, answered: Answered) -> Iterator[Reading]:
    scales = {"position": ((0.001, "millimetres"), (1000.0, "metres, and the data set's in millimetres"))}
    turns = ((DEGREES[0], "degrees"), (DEGREES[1], "radians, and the data set's in degrees"))
    if truth.rotations and ROTATIONS[truth.rotation].is_angles:
        scales["rotation"] = turns
    scales["joints"] = turns
    for component, factors in scales.items():
        for factor, words in factors:
            if component in truth.components:
                numbers = answered.numbers.copy()
                numbers[..., list(truth.components[component])] *= factor
                aspect = "millimetres" if component == "position" else "degrees"
                yield Reading(aspect, f"its {component} is in {words}", replace(answered, numbers=numbers))


def normalisation(truth: Truth, answered: Answered) -> Iterator[Reading]:
    """By the mean and spread, or so that the ends become −1 and 1: not undone, or undone twice."""
    actions = truth.all_actions
    low, high = actions.min(axis=0), actions.max(axis=0)
    inner_low, inner_high = np.quantile(actions, 0.01, axis=0), np.quantile(actions, 0.99, axis=0)
    statistics = {
        "mean and spread": (actions.mean(axis=0), actions.std(axis=0)),
        "smallest and largest value": ((low + high) / 2, (high - low) / 2),
        "1% and 99% quantile": ((inner_low + inner_high) / 2, (inner_high - inner_low) / 2),
    }
    every = list(range(len(truth.names)))
    for name, (middle, size) in statistics.items():
        for columns, which in ((every, ""), (truth.motion, ", but for the gripper")):
            moving = [column for column in columns if size[column] > 1e-9]
            if not moving or (which and not truth.gripper):
                continue
            if not truth.is_surely_absolute and not _is_far(middle[truth.motion], size[truth.motion]):
                # A policy may be as much faster or slower than its data.
                continue
            raw = answered.numbers.copy()
            raw[..., moving] = raw[..., moving] * size[moving] + middle[moving]
            twice = answered.numbers.copy()
            twice[..., moving] = (twice[..., moving] - middle[moving]) / size[moving]
            for numbers, words in ((raw, "are still normalised by"), (twice, "were un-normalised twice by")):
                yield Reading(
                    "normalisation statistics", f"its answers {words} the data set's {name}{which}",
                    replace(answered, numbers=numbers),
                )  # fmt: skip


def time_shifts(truth: Truth, answered: Answered) -> Iterator[Reading]:
    for early in range(1, min(answered.numbers.shape[1], MOST_EARLY + 1)):
        yield Reading(
            "horizon", f"its chunk begins in the past: the action after {_steps(early)} is that of the present step",
            replace(answered, numbers=answered.numbers[:, early:]), TIME_EXPLAINS, TIME_MUST_LEAVE,
        )  # fmt: skip
    for late in range(1, MOST_LATE + 1):
        shifted = replace(
            answered, motion_ahead=answered.motion_ahead + late, gripper_ahead=answered.gripper_ahead + late
        )
        sentence = f"its first action is what the data set does {_steps(late)} later"
        yield Reading("horizon", sentence, shifted, TIME_EXPLAINS, TIME_MUST_LEAVE)


def chunk_rates(truth: Truth, answered: Answered) -> Iterator[Reading]:
    """Chunks of more or fewer actions a second than the data set has."""
    count = answered.numbers.shape[1]
    if count < 4:
        return
    before = truth.at(-1)[:, None]
    for times in RATES:
        ends = answered.numbers[:, times - 1 :: times]
        if not truth.is_absolute:
            whole = answered.numbers[:, : times * (count // times)]
            sums = whole.reshape(len(whole), -1, times, whole.shape[2]).sum(axis=2)
            sums[..., truth.gripper] = ends[:, : sums.shape[1]][..., truth.gripper]
            ends = sums
        yield Reading("chunk rate", f"its chunk has {times} actions for each step of the data set",
                      replace(answered, numbers=ends), TIME_EXPLAINS, TIME_MUST_LEAVE)  # fmt: skip
        known = np.concatenate([before, answered.numbers], axis=1)
        at = np.arange(1, min(count * times, COMPARED) + 1) / times
        lower = np.minimum(np.floor(at).astype(int), count)
        share = (at - lower)[None, :, None]
        spread = known[:, lower] * (1 - share) + known[:, np.minimum(lower + 1, count)] * share
        held = answered.numbers[:, np.ceil(at).astype(int) - 1]
        if not truth.is_absolute:
            spread = held / times
        spread[..., truth.gripper] = held[..., truth.gripper]
        yield Reading("chunk rate", f"each action of its chunk is for {times} steps of the data set",
                      replace(answered, numbers=spread), TIME_EXPLAINS, TIME_MUST_LEAVE)  # fmt: skip


def fitted_scales(truth: Truth, answered: Answered) -> Iterator[Reading]:
    """A scale and an offset for each number, fitted on one half of the episodes and judged on the other."""
    rows = min(COMPARED, answered.numbers.shape[1])
    found = answered.numbers[:, :rows]
    wanted = np.stack([truth.at(k + answered.motion_ahead) for k in range(rows)], axis=1)
    halves = _halves(truth)
    if halves is None:
        return
    numbers, words = answered.numbers.copy(), []
    for column, name in enumerate(truth.names):
        x, y = found[..., column], wanted[..., column]
        is_pose = truth.is_surely_absolute and column in truth.motion
        guess = truth.at(-1)[:, None, column] if is_pose else np.nanmean(y)
        usual = math.sqrt(float(np.nanmean(np.square(y - guess))))
        whole = _line(x, y)
        if whole is None or usual < 1e-9:
            continue
        scale, offset = whole
        correction = math.sqrt(float(np.nanmean(np.square((scale - 1) * x + offset))))
        is_far = scale <= 0 or abs(math.log(scale)) > math.log(FAR_FITTED) or correction > usual
        parts = [_line(x[half], y[half]) for half in halves]
        if not is_far or any(part is None for part in parts):
            continue
        for half, part in zip(halves, parts[::-1], strict=True):
            assert part is not None
            numbers[half, :, column] = part[0] * numbers[half, :, column] + part[1]
        words.append(f"{name} = {scale:.3g} × its answer {offset:+.3g}")
    if words:
        more = f", and {len(words) - 4} more" if len(words) > 4 else ""
        yield Reading(
            "normalisation statistics", f"scale and offset are off: {', '.join(words[:4])}{more}",
            replace(answered, numbers=numbers), SCALED,
        )  # fmt: skip


Idea = Callable[[Truth, Answered], Iterator[Reading]]
READINGS: tuple[Idea, ...] = (
    gripper_ends, gripper_threshold, gripper_lag, rotation_forms, averaged_quaternions, units, normalisation,
    deltas, absolutes, delta_frames, time_shifts, chunk_rates,
)  # fmt: skip
# Fitted numbers can imitate other hypotheses: they are tried when no other is left.
FITTED: tuple[Idea, ...] = (fitted_scales,)


def readings(truth: Truth, answered: Answered, ideas: Sequence[Idea] = READINGS) -> Iterator[Reading]:
    """All that differ in their numbers."""
    seen = {_key(answered)}
    for idea in ideas:
        for reading in idea(truth, answered):
            if (key := _key(reading.answered)) not in seen:
                seen.add(key)
                yield reading


def _key(answered: Answered) -> tuple[object, ...]:
    rounded = answered.numbers.round(5) + 0.0
    return answered.motion_ahead, answered.gripper_ahead, rounded.shape, rounded.tobytes()


def _ends(truth: Truth, column: int) -> tuple[float, float]:
    low, high = np.quantile(truth.all_actions[:, column], [0.01, 0.99])
    return float(low), float(high)


def _is_far(middle: Array, size: Array) -> bool:
    moving = size > 1e-9
    ratios = np.abs(np.log(size[moving]))
    return bool((ratios > math.log(FAR_SCALE)).any() or (np.abs(middle[moving]) > size[moving]).any())


def _steps(count: int) -> str:
    return "1 step" if count == 1 else f"{count} steps"


def _halves(truth: Truth) -> list[Array] | None:
    """Rows of every other episode; of a single one, its first and its second half."""
    _, order = np.unique(truth.episodes, return_inverse=True)
    is_odd = order % 2 == 1 if order.max() > 0 else np.arange(len(order)) >= len(order) / 2
    halves = [np.flatnonzero(~is_odd), np.flatnonzero(is_odd)]
    return halves if all(len(half) >= 5 for half in halves) else None  # type: ignore[return-value]


def _line(x: Array, y: Array) -> tuple[float, float] | None:
    """Scale and offset from x to y by least squares; None where they hardly go together."""
    known = np.isfinite(x) & np.isfinite(y)
    if known.sum() < 5 or x[known].std() < 1e-12 or y[known].std() < 1e-12:
        return None
    scale, offset = np.polyfit(x[known], y[known], 1)
    together = float(np.corrcoef(x[known], y[known])[0, 1]) ** 2
    return (float(scale), float(offset)) if together >= COMPETENT else None
