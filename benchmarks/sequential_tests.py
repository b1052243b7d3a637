"""How many pairs a test takes that may stop after any of them: ours beside STEP and fixed tests, on simulated policies.

`make sequential-tests` runs it and writes the tables into docs/statistics.md. STEP (Snyder et al., RSS 2025) is its
authors' own package, which RoboDx does not depend on: its licence is CC BY-NC 4.0, for non-commercial use. To have it:

    .venv/bin/uv pip install --no-deps --target .cache/step sequentialized-barnard-tests==0.0.9 \\
        statistical-comparison-core==0.2.1 statistical-comparison-helpers==0.1.1

Without it the tables are printed without its columns, and the docs keep theirs.
"""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from pages import DOCS, rewrite
from scipy.special import bdtr  # type: ignore[import-untyped]
from scipy.stats import binom  # type: ignore[import-untyped]

from robodx.analysis.statistics.sequential import DIFFERENCES, log_evidence
from robodx.analysis.statistics.sequential_pairs import MISSED, evidence_of_effect, evidence_of_none

try:
    from sequentialized_barnard_tests import Decision, Hypothesis, StepTest  # type: ignore[import-not-found]
except ImportError:
    StepTest = None

Bools = NDArray[np.bool_]
# Success of the first and of the second policy: equal ones first, which no test should tell apart.
EQUAL = ((0.1, 0.1), (0.5, 0.5), (0.9, 0.9))
UNEQUAL = ((0.0, 1.0), (0.1, 0.7), (0.5, 0.8), (0.1, 0.3), (0.3, 0.5))
# The share of situations in which both policies have the same luck.
SHARED = (0.0, 0.8)
# At how many runs at once memory stays small.
PART = 250
RATES_TRIED = np.linspace(0.005, 0.995, 100)


class Setting(NamedTuple):
    level: float
    horizon: int
    says: str


SETTINGS = (
    Setting(0.05, 200, "One question: level 5%, at most 200 pairs"),
    Setting(0.05 / 12, 50, "One of twelve candidates of a diagnosis: level 5% / 12, at most 50 pairs"),
)


class Paths(NamedTuple):
    """Outcomes of two policies in the same situations  # (runs, horizon)"""

    a: Bools
    b: Bools

    @property
    def differences(self) -> NDArray[np.float64]:
        return self.b.astype(np.float64) - self.a


class Outcome(NamedTuple):
    """The share of runs in which b was found better, and the pairs that were run on average."""

    found: float
    pairs: float

    def __str__(self) -> str:
        return f"{_percent(self.found)}, {self.pairs:.0f}"


class Verdicts(NamedTuple):
    effect: float
    none: float
    pairs: float

    def __str__(self) -> str:
        return f"{_percent(self.effect)}, {_percent(self.none)}, {self.pairs:.0f}"


def simulate(rates: tuple[float, float], shared: float, runs: int, horizon: int, rng: np.random.Generator) -> Paths:
    a = rng.random((runs, horizon))
    b = np.where(rng.random((runs, horizon)) < shared, a, rng.random((runs, horizon)))
    return Paths(a < rates[0], b < rates[1])


def first(crossed: Bools) -> NDArray[np.int64]:
    """The pair at which each run stops; one more than all where it does not."""
    return np.asarray(np.where(crossed.any(axis=1), crossed.argmax(axis=1) + 1, crossed.shape[1] + 1))


def stopping(stops: NDArray[np.int64], horizon: int) -> Outcome:
    return Outcome(float((stops <= horizon).mean()), float(np.minimum(stops, horizon).mean()))


def in_parts(log_capital: Callable[[NDArray[np.float64]], NDArray[np.float64]], paths: Paths, level: float) -> Bools:
    parts = [log_capital(paths.differences[start : start + PART]) for start in range(0, len(paths.a), PART)]
    return np.asarray(np.concatenate(parts) >= -math.log(level) - 1e-9)


def two_sided(differences: NDArray[np.float64]) -> NDArray[np.float64]:
    """Of `compare`: the log of the capital won against no difference, where b is ahead."""
    values = np.array([-1.0, 0.0, 1.0])
    counts = np.stack([(differences == value).cumsum(axis=1) for value in values], axis=-1)
    ahead = counts[..., 2] > counts[..., 0]
    return np.where(ahead, log_evidence(values, counts, 0.0, DIFFERENCES), -np.inf)


def step(paths: Paths, setting: Setting, rng: np.random.Generator) -> NDArray[np.int64]:
    """Where STEP stops for b. It takes the outcomes of both policies to be independent."""
    test = StepTest(Hypothesis.P0LessThanP1, setting.horizon, setting.level)
    test.load_existing_policy()
    stops = np.full(len(paths.a), setting.horizon + 1)
    for run, (a, b) in enumerate(zip(paths.a.astype(int).tolist(), paths.b.astype(int).tolist(), strict=True)):
        test.reset()
        # It decides at random near its boundary.
        test.rng = rng
        for pair, outcomes in enumerate(zip(a, b, strict=True), 1):
            if test.step(*outcomes).decision == Decision.AcceptAlternative:
                stops[run] = pair
                break
    return stops


def mcnemar(paths: Paths, level: float) -> float:
    """Exact and one-sided, once, after all pairs."""
    gains, losses = ((paths.differences == sign).sum(axis=1) for sign in (1, -1))
    return float((bdtr(losses, gains + losses, 0.5) <= level).mean())


def barnard(paths: Paths, region: Bools) -> float:
    return float(region[paths.a.sum(axis=1), paths.b.sum(axis=1)].mean())


def barnard_region(n: int, level: float) -> Bools:
    """With which successes of a and b, of n each, Barnard's test finds b better, at the worst of 100 rates  # (a, b)"""
    a, b = np.meshgrid(np.arange(n + 1), np.arange(n + 1), indexing="ij")
    pooled = (a + b) / (2 * n)
    z = np.where(b == a, 0.0, (b - a) / np.sqrt(np.maximum(pooled * (1 - pooled), 1e-12) * 2 * n))
    order = np.argsort(-z, axis=None)
    risk = np.zeros((n + 1) ** 2)
    for rate in RATES_TRIED:
        one = binom.pmf(np.arange(n + 1), n, rate)
        risk = np.maximum(risk, np.outer(one, one).ravel()[order].cumsum())
    too_much = z.ravel()[order][np.argmax(risk > level)]
    return np.asarray(z > too_much + 1e-9)


def decisions(effect: NDArray[np.int64], none: NDArray[np.int64], horizon: int) -> Verdicts:
    """What `decide` says, by what came first."""
    shown = (effect <= none) & (effect <= horizon)
    excluded = (none < effect) & (none <= horizon)
    return Verdicts(shown.mean(), excluded.mean(), np.minimum(np.minimum(effect, none), horizon).mean())


def table(setting: Setting, runs: int, seed: int) -> list[str]:
    fixed = [f"{name}, all {setting.horizon}" for name in ("McNemar", "Barnard")]
    names = ["pairs, one-sided", "pairs, two-sided", "STEP", *fixed]
    lines = [
        f"**{setting.says}**",
        "",
        f"| rates | luck shared | {' | '.join(names)} | `decide`: effect, none, pairs |",
        "|---|---|" + "---|" * (len(names) + 1),
    ]
    region = barnard_region(setting.horizon, setting.level)
    for cell, (rates, shared) in enumerate((rates, shared) for rates in EQUAL + UNEQUAL for shared in SHARED):
        if rates == (0.0, 1.0) and shared:
            continue
        rng = np.random.default_rng([seed, setting.horizon, cell])
        paths = simulate(rates, shared, runs, setting.horizon, rng)
        effect = first(in_parts(evidence_of_effect, paths, setting.level))
        none = first(in_parts(evidence_of_none, paths, MISSED))
        cells = [
            stopping(effect, setting.horizon),
            stopping(first(in_parts(two_sided, paths, setting.level)), setting.horizon),
            "—" if StepTest is None else stopping(step(paths, setting, rng), setting.horizon),
            _percent(mcnemar(paths, setting.level)),
            _percent(barnard(paths, region)),
            decisions(effect, none, setting.horizon),
        ]
        of = f"{100 * rates[0]:.0f}% → {100 * rates[1]:.0f}%"
        lines.append(f"| {of} | {_percent(shared)} | {' | '.join(map(str, cells))} |")
        print(lines[-1], flush=True)
    return [*lines, ""]


def _percent(share: float) -> str:
    return f"{100 * share:.1f}%" if 0 < share < 0.1 else f"{100 * share:.0f}%"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=4000, help="simulated runs of each two policies")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    begin_s = time.perf_counter()
    lines = [line for setting in SETTINGS for line in table(setting, options.runs, options.seed)]
    minutes = (time.perf_counter() - begin_s) / 60
    if StepTest is None:
        print("STEP is not installed, so the docs keep their tables. The head of this file says how to have it.")
        return
    lines.append(f"{options.runs:,} simulated runs a row; {minutes:.1f} minutes on one core.")
    rewrite(DOCS / "statistics.md", "table of sequential tests", "\n".join(lines))


if __name__ == "__main__":
    main()
