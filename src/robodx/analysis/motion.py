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
# A reversal counts from this change of the joint targets on: smaller ones are rounding, or a hand that holds still.
SHAKE_RAD = 0.005
# This near the end of its range, as a share of it, a joint is at its limit.
AT_LIMIT_SHARE = 0.005


def path_length_m(tools: Array) -> float:
    """Of the tools (n + 1, arms, 3), all arms together."""
    return float(np.linalg.norm(np.diff(tools, axis=0), axis=2).sum())


def mean_squared_jerk(tools: Array, period_s: float) -> float | None:
    """Of the tools (n + 1, arms, 3), in (m/s³)²; None for episodes too short to have one."""
    if len(tools) < 4:
        return None
    return float(np.square(np.diff(tools, n=3, axis=0) / period_s**3).sum(axis=2).mean())


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


def stability(joints: Array) -> float | None:
    """exp(−mean change of the joint targets (n, joints) from step to step, in radians): 1 is at rest."""
    if len(joints) < 2:
        return None
    return float(np.exp(-np.linalg.norm(np.diff(joints, axis=0), axis=1).mean()))


def shaking_share(joints: Array) -> float:
    """The share of steps in which the joint targets (n, joints) turn back on the step before."""
    steps = np.diff(joints, axis=0)
    if len(steps) < 2:
        return 0.0
    sizes = np.linalg.norm(steps, axis=1)
    backwards = (steps[1:] * steps[:-1]).sum(axis=1) < -0.5 * sizes[1:] * sizes[:-1]
    return float((backwards & (np.minimum(sizes[1:], sizes[:-1]) > SHAKE_RAD)).mean())


def joint_limit_s(joints: Array, lower: Sequence[float], upper: Sequence[float], period_s: float) -> float:
    """How long any of the measured joints (n + 1, joints) stood at an end of its range."""
    low, high = np.array(lower), np.array(upper)
    margin = AT_LIMIT_SHARE * (high - low)
    is_at_limit = ((joints < low + margin) | (joints > high - margin)).any(axis=1)
    return period_s * int(is_at_limit.sum())
