"""How well an episode moved: path, smoothness, steadiness, slips, time at the joints' limits. Plain array functions."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

# SPARC: the spectrum up to this frequency, as far as it is above this share of its peak, of a signal so finely padded.
SPARC_CUTOFF_HZ = 10.0
SPARC_AMPLITUDE = 0.05
SPARC_PADDING = 4
# The rate of the paper's robots: at it, stability is of the change from one command to the next.
STABILITY_HZ = 20.0
# A reversal counts from this change of the joint targets on: smaller ones are rounding, or a hand that holds still.
SHAKE_RAD = 0.005
# Twice a second for so long; the expert, where it follows what moves, does so five times at most.
SHAKES = 8
SHAKING_S = 4.0
# This near the end of its range, as a share of it, a joint is at its limit.
AT_LIMIT_SHARE = 0.005


def path_length_m(tools: Array) -> float:
    """Of the tools (n + 1, arms, 3), all arms together."""
    return float(np.linalg.norm(np.diff(tools, axis=0), axis=2).sum())


def mean_squared_jerk(tools: Array, times_s: Array) -> float | None:
    """Of the tools (n + 1, arms, 3) at times (n + 1,), in (m/s³)²; None for episodes too short to have one.

    Steps need not be equally long: at 30 or 60 Hz they are not, in whole physics steps.
    """
    if len(tools) < 4:
        return None
    for _ in range(3):
        tools = np.diff(tools, axis=0) / np.diff(times_s)[:, None, None]
        times_s = (times_s[1:] + times_s[:-1]) / 2
    return float(np.square(tools).sum(axis=2).mean())


def sparc(tools: Array, period_s: float) -> float | None:
    """Spectral arc length of the tools' speed: 0 would be perfectly smooth, and the more negative the less smooth.

    It does not depend on how far or how fast a motion goes. With several arms, that of the least smooth one.
    """
    speeds = np.linalg.norm(np.diff(tools, axis=0), axis=2) / period_s  # (n, arms)
    moving = [speed for speed in speeds.T if len(speed) > 1 and speed.max() > 0]
    return min((_arc_length(speed, period_s) for speed in moving), default=None)


def _arc_length(speed: Array, period_s: float) -> float:
    size = 2 ** (int(np.ceil(np.log2(len(speed)))) + SPARC_PADDING)
    spectrum = np.abs(np.fft.rfft(speed, size))
    frequencies = np.fft.rfftfreq(size, period_s)
    spectrum = spectrum[frequencies <= SPARC_CUTOFF_HZ] / spectrum.max()
    frequencies = frequencies[frequencies <= SPARC_CUTOFF_HZ]
    last = int(np.flatnonzero(spectrum >= SPARC_AMPLITUDE)[-1])
    spectrum, frequencies = spectrum[: last + 1], frequencies[: last + 1]
    if last == 0:
        return 0.0
    return -float(np.hypot(np.diff(frequencies) / frequencies[-1], np.diff(spectrum)).sum())


def stability(joints: Array, period_s: float) -> float | None:
    """exp(−mean speed of the joint targets (n, joints), in radians per 1/20 s): 1 is at rest, whatever the rate."""
    if len(joints) < 2:
        return None
    changes = np.linalg.norm(np.diff(joints, axis=0), axis=1)
    return float(np.exp(-changes.mean() / (period_s * STABILITY_HZ)))


def reversals(joints: Array) -> NDArray[np.intp]:
    """The steps in which the joint targets (n, joints) turn back on the way they came."""
    ways = np.diff(joints, axis=0)
    lengths = np.linalg.norm(ways, axis=1)
    (moving,) = np.nonzero(lengths > SHAKE_RAD)
    ways, lengths = ways[moving], lengths[moving]
    is_back = (ways[1:] * ways[:-1]).sum(axis=1) < -0.5 * lengths[1:] * lengths[:-1]
    return np.asarray(moving[1:][is_back] + 1, dtype=np.intp)


def is_shaking(joints: Array, period_s: float) -> bool:
    """Whether they turned back as often as `SHAKES` times within `SHAKING_S`: a grasp turns back once."""
    steps = reversals(joints)
    if len(steps) < SHAKES:
        return False
    return bool((steps[SHAKES - 1 :] - steps[: len(steps) - SHAKES + 1]).min() * period_s < SHAKING_S)


def joint_limit_s(joints: Array, lower: Sequence[float], upper: Sequence[float], period_s: float) -> float:
    """How long any of the measured joints (n + 1, joints) stood at an end of its range."""
    low, high = np.array(lower), np.array(upper)
    margin = AT_LIMIT_SHARE * (high - low)
    is_at_limit = ((joints < low + margin) | (joints > high - margin)).any(axis=1)
    return period_s * int(is_at_limit.sum())
