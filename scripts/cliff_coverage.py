"""Simulates the cliff search on many true curves: coverage, false findings, and how an even design compares."""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from robodx.analysis.statistics.psychometric import MINIMUM, SURE, Floats, Psychometric, severities
from robodx.suites.cliff import WAVE

# So many searches at a time, for the posterior of each has some 7,000 hypotheses.
BATCH = 50
CLEAN = (0.6, 1.0)
CLIFFS = (0.05, 0.15, 0.4, 0.75, 0.95)


@dataclass(frozen=True)
class Curve:
    """A policy that there might be; severities in units of the maximum. A cliff at infinity is none."""

    family: str
    clean: float
    cliff: float
    share: Callable[[Floats], Floats]


@dataclass(frozen=True)
class Found:
    """What many searches of one curve came to; quantiles beyond the maximum are infinite."""

    low: Floats
    median: Floats
    high: Floats
    p_no_cliff: Floats
    n: Floats

    def covers(self, cliff: float) -> Floats:
        if math.isinf(cliff):
            return np.isinf(self.high).astype(np.float64)
        return ((self.low <= cliff * (1 + 1e-9)) & (cliff * (1 - 1e-9) <= self.high)).astype(np.float64)

    @property
    def is_found(self) -> Floats:
        return np.isfinite(self.high).astype(np.float64)

    @property
    def width(self) -> Floats:
        return np.minimum(self.high, 1) - np.minimum(self.low, 1)

    def error(self, cliff: float) -> float:
        """The root mean squared error, where all beyond the maximum is the maximum."""
        return float(np.sqrt(np.mean((np.minimum(self.median, 1) - min(cliff, 1)) ** 2)))


def curves() -> Iterator[Curve]:
    """Within the family of the model, near it and far from it."""
    for clean in CLEAN:
        for cliff in CLIFFS:
            for slope in (2, 6):
                yield Curve(f"logistic {slope}", clean, cliff, _logistic(cliff, slope))
            for slope in (1, 3):
                yield Curve(f"weibull {slope}", clean, cliff, _weibull(cliff, slope))
            yield Curve("step", clean, cliff, _step(cliff))
        for cliff in (0.3, 0.6):
            yield Curve("linear", clean, cliff, _linear(cliff))
            for floor in (0.15, 0.3):
                yield Curve(f"floor {floor}", clean, cliff, _floored(cliff, 3, floor))
        for share in (_flat, _logistic(1.05, 3), _weibull(1.5, 2), _step(1.05), _floored_above, _slow):
            yield Curve("none", clean, math.inf, share)


def simulate(curve: Curve, runs: int, episodes: int, rng: np.random.Generator, *, is_adaptive: bool = True) -> Found:
    """Many searches of one curve, as `robodx cliff` would make them; or the same severities in turn, without a stop."""
    procedure = Psychometric(severities(1.0))
    rates = curve.clean * curve.share(np.array(procedure.severities))
    parts = [
        _simulate(procedure, rates, min(BATCH, runs - start), episodes, rng, is_adaptive)
        for start in range(0, runs, BATCH)
    ]
    return Found(*np.concatenate(parts, axis=1))


def _simulate(
    procedure: Psychometric, rates: Floats, runs: int, episodes: int, rng: np.random.Generator, is_adaptive: bool
) -> Floats:
    counts = np.zeros((2, runs, len(rates)))
    n, is_live = np.zeros(runs), np.ones(runs, dtype=bool)
    even = np.round(np.linspace(0, len(rates) - 1, episodes)).astype(np.intp)
    for start in range(0, episodes, WAVE):
        live, size = np.flatnonzero(is_live), min(WAVE, episodes - start)
        if is_adaptive:
            wave = procedure.wave(counts[0, live], counts[1, live], size)
        else:
            wave = np.broadcast_to(even[start : start + size], (len(live), size))
        for places in wave.T:
            is_lost = rng.random(len(live)) >= rates[places]
            counts[is_lost.astype(int), live, places] += 1
        n[live] += size
        posterior = procedure.posterior(counts[0], counts[1])
        quantiles, p_no_cliff = procedure.quantiles(posterior), procedure.p_no_cliff(posterior)
        if is_adaptive and start + size >= MINIMUM:
            is_live &= ~(procedure.is_narrow(quantiles) | (p_no_cliff > SURE))
        if not is_live.any():
            break
    return np.stack([*quantiles, p_no_cliff, n])


def _logistic(cliff: float, slope: float) -> Callable[[Floats], Floats]:
    return lambda severity: 1 / (1 + (severity / cliff) ** slope)


def _weibull(cliff: float, slope: float) -> Callable[[Floats], Floats]:
    return lambda severity: 2.0 ** -((severity / cliff) ** slope)


def _step(cliff: float) -> Callable[[Floats], Floats]:
    return lambda severity: (severity < cliff).astype(np.float64)


def _linear(cliff: float) -> Callable[[Floats], Floats]:
    return lambda severity: np.maximum(1 - severity / (2 * cliff), 0)


def _floored(cliff: float, slope: float, floor: float) -> Callable[[Floats], Floats]:
    return lambda severity: floor + (1 - floor) / (1 + 0.5 / (0.5 - floor) * (severity / cliff) ** slope)


def _flat(severity: Floats) -> Floats:
    return np.ones_like(severity)


def _floored_above(severity: Floats) -> Floats:
    """Falls early and stays above half."""
    return 0.6 + 0.4 * _logistic(0.3, 4)(severity)


def _slow(severity: Floats) -> Floats:
    return 1 - 0.4 * severity


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=300, help="searches of each curve")
    parser.add_argument("--episodes", type=int, default=60, help="of each search at most")
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args()
    rng = np.random.default_rng(asked.seed)
    rows: dict[str, list[list[float]]] = {}
    for curve in curves():
        found = simulate(curve, asked.runs, asked.episodes, rng)
        even, twice = (simulate(curve, asked.runs, times * asked.episodes, rng, is_adaptive=False) for times in (1, 2))
        row = [
            found.covers(curve.cliff).mean(), found.is_found.mean(), (found.p_no_cliff > SURE).mean(), found.n.mean(),
            *(number for one in (found, even, twice) for number in (one.width.mean(), one.error(curve.cliff))),
        ]  # fmt: skip
        kinds = ["no cliff"] if math.isinf(curve.cliff) else ["all cliffs", curve.family, f"cliff at {curve.cliff:g}"]
        for kind in ("all", *kinds, f"clean {curve.clean:g}"):
            rows.setdefault(kind, []).append([float(value) for value in row])
    names = ["curves", "n", "covered", "least", "found", "no cliff", "episodes", "width", "error"]
    names += [f"{what}, {times * asked.episodes} even" for times in (1, 2) for what in ("width", "error")]
    print(f"| {' | '.join(names)} |\n|{' --- |' * len(names)}")
    for kind, values in sorted(rows.items(), key=lambda item: (not item[0].startswith(("all", "no")), item[0])):
        covered, is_found, is_absent, n, *widths = np.mean(values, axis=0)
        cells = [f"{covered:.1%}", f"{min(value[0] for value in values):.1%}", f"{is_found:.0%}", f"{is_absent:.0%}"]
        cells += [f"{n:.0f}", *(f"{width:.3f}" for width in widths)]
        print(f"| {kind} | {len(values)} | {' | '.join(cells)} |")
    worst = max(value[1] for value in rows["no cliff"])
    print(f"\nFound where there is none: at most {worst:.1%} of {asked.runs} searches of a curve.")


if __name__ == "__main__":
    main()
