"""Prints how often each interval covers the truth and how often each test cries wolf, over many designs.

Summed exactly over all outcomes where they can be listed, simulated elsewhere.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from functools import partial
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.stats import binom, multinomial  # type: ignore[import-untyped]

from robodx.analysis.statistics.estimates import Estimate, newcombe, wilson
from robodx.analysis.statistics.macro import macro_bounds
from robodx.analysis.statistics.multiple import holm
from robodx.analysis.statistics.paired import Retained, mcnemar_p, paired_bootstrap, retained, tango
from robodx.analysis.statistics.permutation import swap_test, tag_effects
from robodx.analysis.statistics.resampling import bootstrap_macro_mean
from robodx.analysis.statistics.trend import trend

Floats = npt.NDArray[np.float64]
ALPHA = 0.05
RATES = np.linspace(0.02, 0.98, 13)
FINE_RATES = np.linspace(0.02, 0.98, 49)
# A truth that is the bound itself counts as covered, rounding aside.
ROUNDING = 1e-9
RESAMPLES = 400
PERMUTATIONS = 199
# How alike the rates of tasks and situations are: the sum of the parameters of their beta distribution.
ALIKE = 3.0


class Level(NamedTuple):
    """Coverage or false positives of one design: on average over the rates, and at the worst of them."""

    what: str
    design: str
    average: float
    worst: float
    draws: int | None  # None: summed exactly


def coverages(draws: int, rng: np.random.Generator) -> Iterator[Level]:
    """The share of intervals at 95% that hold the truth. `draws` is the number of simulated runs for each rate."""
    for n in (5, 10, 25, 50, 100):
        yield _least("wilson", f"n {n}", _wilson_coverage(n))
    for n_a, n_b in ((5, 5), (10, 25), (25, 25), (50, 50)):
        yield _least("newcombe", f"n {n_a}, {n_b}", _newcombe_coverage(n_a, n_b))
    for n in (5, 10, 25, 50):
        for correlation in (0.0, 0.5, 0.9):
            yield _least("paired difference", f"n {n}, correlation {correlation}", _tango_coverage(n, correlation))
    for tasks, n in ((1, 5), (1, 25), (3, 5), (3, 25), (10, 5), (10, 25)):
        covered = np.array([_macro(p, tasks, n, draws, rng) for p in RATES])
        yield _least("macro rate", f"{tasks} tasks × {n}", covered, draws)
        for name, study in (("macro mean of progress", _progress), ("paired bootstrap", _paired)):
            covered = _simulate(partial(study, tasks=tasks, n=n, rng=rng), draws)
            yield _least(name, f"{tasks} tasks × {n}", covered, draws)
    for tasks, n in ((20, 5), (20, 25), (40, 5)):
        covered = _simulate(partial(_new_tasks, tasks=tasks, n=n, rng=rng), draws)
        yield _least("macro mean, new tasks", f"{tasks} tasks × {n}", covered, draws)
    for n, share in ((10, 0.0), (10, 0.3), (25, 0.0), (25, 0.3), (75, 0.0), (75, 0.3)):
        covered = _simulate(partial(_excess, n=n, share=share, rng=rng), draws)
        yield _least("excess loss", f"n {n}, stress loses {share}", covered, draws)


def false_positives(draws: int, rng: np.random.Generator) -> Iterator[Level]:
    """How often a test at 5% finds what is not there. `draws` is the number of simulated runs for each rate."""
    for n in (5, 10, 25, 50):
        yield _most("mcnemar", f"n {n}", _mcnemar_positives(n))
    studies: list[tuple[str, str, Callable[[float], float | None]]] = [
        *(("retention of a stochastic policy", f"n {n}", partial(_retention_p, n=n, rng=rng)) for n in (10, 25, 75)),
        *(("swaps of paired scores", f"n {n}", partial(_swap_p, n=n, rng=rng)) for n in (6, 25)),
        *(("trend", f"{n} situations", partial(_trend_p, n=n, missing=0.0, rng=rng)) for n in (3, 10, 75)),
        *(("trend", f"{n} situations, some missing", partial(_trend_p, n=n, missing=0.2, rng=rng)) for n in (10, 75)),
        *(("tag", f"{n} tasks", partial(_tag_p, tasks=n, rng=rng)) for n in (12, 40)),
        *(("tag, adjusted", f"{n} tasks", partial(_adjusted_tag_p, tasks=n, rng=rng)) for n in (12, 40)),
        ("holm", "10 tests", partial(_holm_p, rng=rng)),
    ]
    for what, design, study in studies:
        yield _most(what, design, _simulate(partial(_rejects, study=study), draws), draws)


def _least(what: str, design: str, covered: Floats, draws: int | None = None) -> Level:
    return Level(what, design, float(covered.mean()), float(covered.min()), draws)


def _most(what: str, design: str, positives: Floats, draws: int | None = None) -> Level:
    return Level(what, design, float(positives.mean()), float(positives.max()), draws)


def _simulate(study: Callable[[float], bool | None], draws: int) -> Floats:
    """The share of simulated runs in which the study holds, by rate; runs without data (None) do not count."""
    return np.array([np.nanmean(np.array([study(p) for _ in range(draws)], dtype=np.float64)) for p in RATES])


def _rejects(p: float, study: Callable[[float], float | None]) -> bool:
    found = study(p)
    return found is not None and found <= ALPHA


def _holds(estimate: Estimate, truth: float) -> bool:
    return (
        estimate.low is not None
        and estimate.high is not None
        and estimate.low - ROUNDING <= truth <= estimate.high + ROUNDING
    )


def _wilson_coverage(n: int) -> Floats:
    estimates = [wilson(k, n) for k in range(n + 1)]
    return np.array(
        [binom.pmf(np.arange(n + 1), n, p) @ np.array([_holds(e, p) for e in estimates]) for p in FINE_RATES]
    )


def _newcombe_coverage(n_a: int, n_b: int) -> Floats:
    estimates = [[newcombe(a, n_a, b, n_b) for b in range(n_b + 1)] for a in range(n_a + 1)]
    low = np.array([[e.low for e in row] for row in estimates], dtype=np.float64)
    high = np.array([[e.high for e in row] for row in estimates], dtype=np.float64)
    covered = []
    for p in RATES:
        for q in RATES:
            holds = (low - ROUNDING <= q - p) & (q - p <= high + ROUNDING)
            covered.append(binom.pmf(np.arange(n_a + 1), n_a, p) @ holds @ binom.pmf(np.arange(n_b + 1), n_b, q))
    return np.array(covered)


def _discordant_counts(n: int) -> npt.NDArray[np.int_]:
    return np.array([(a, b, n - a - b) for a in range(n + 1) for b in range(n + 1 - a)])


def _tango_coverage(n: int, correlation: float) -> Floats:
    counts = _discordant_counts(n)
    estimates = [tango(int(a), int(b), n) for a, b, _ in counts]
    low = np.array([e.low for e in estimates], dtype=np.float64)
    high = np.array([e.high for e in estimates], dtype=np.float64)
    covered = []
    for p in RATES:
        for q in RATES:
            both = min(p, q, p * q + correlation * np.sqrt(p * (1 - p) * q * (1 - q)))
            weights = multinomial.pmf(counts, n, [p - both, q - both, 1 - p - q + 2 * both])
            covered.append(weights @ ((low - ROUNDING <= q - p) & (q - p <= high + ROUNDING)))
    return np.array(covered)


def _mcnemar_positives(n: int) -> Floats:
    """Over the share of pairs that differ, either way as often."""
    counts = _discordant_counts(n)
    rejected = np.array([mcnemar_p(int(a), int(b)) <= ALPHA for a, b, _ in counts])
    return np.array([multinomial.pmf(counts, n, [d / 2, d / 2, 1 - d]) @ rejected for d in FINE_RATES])


def _varied(p: float, size: int | tuple[int, int], rng: np.random.Generator) -> Floats:
    """Success rates of tasks or situations around p, spread wide."""
    return rng.beta(ALIKE * p, ALIKE * (1 - p), size)


def _macro(p: float, tasks: int, n: int, draws: int, rng: np.random.Generator) -> float:
    rates = _varied(p, (draws, tasks), rng)
    rates[: draws // 2] = p  # half of the runs have tasks that are all alike
    low, high = macro_bounds(rng.binomial(n, rates).astype(np.float64), np.full(tasks, float(n)))
    truth = rates.mean(axis=1)
    return float(np.mean((low - ROUNDING <= truth) & (truth <= high + ROUNDING)))


def _progress(p: float, tasks: int, n: int, rng: np.random.Generator) -> bool:
    """Progress is one where the trial succeeds, else anything below a half."""
    rates = _varied(p, tasks, rng)
    values = np.where(rng.random((n, tasks)) < rates, 1.0, rng.random((n, tasks)) / 2)
    estimate = bootstrap_macro_mean(values.ravel(), np.tile(np.arange(tasks), n), rng, resamples=RESAMPLES)
    return _holds(estimate, float((rates + (1 - rates) / 4).mean()))


def _paired(p: float, tasks: int, n: int, rng: np.random.Generator) -> bool:
    rates = _varied(p, tasks, rng)
    stressed = rates * rng.choice([1.0, 0.8, 0.3])
    a, b = rng.random((n, tasks)) < rates, rng.random((n, tasks)) < stressed
    estimate = paired_bootstrap(a.ravel(), b.ravel(), np.tile(np.arange(tasks), n), rng, resamples=RESAMPLES)
    return _holds(estimate, float((stressed - rates).mean()))


def _new_tasks(p: float, tasks: int, n: int, rng: np.random.Generator) -> bool:
    won = rng.random((n, tasks)) < _varied(p, tasks, rng)
    strata = np.tile(np.arange(tasks), n)
    return _holds(bootstrap_macro_mean(won.ravel(), strata, rng, new_tasks=True, resamples=RESAMPLES), p)


def _retention(p: float, n: int, share: float, rng: np.random.Generator) -> Retained:
    """Of a stochastic policy whose chance of success varies by situation, of which stress takes a share."""
    chance = _varied(p, n, rng)
    return retained(rng.random(n) < chance, rng.random(n) < chance, rng.random(n) < chance * (1 - share))


def _excess(p: float, n: int, share: float, rng: np.random.Generator) -> bool | None:
    estimate = _retention(p, n, share, rng).excess_loss
    mean_square = p * p + p * (1 - p) / (1 + ALIKE)  # of the chances that `_varied` draws
    return _holds(estimate, share * mean_square / p) if estimate.n else None


def _retention_p(p: float, n: int, rng: np.random.Generator) -> float | None:
    return _retention(p, n, 0.0, rng).p


def _swap_p(p: float, n: int, rng: np.random.Generator) -> float | None:
    chance = _varied(p, n, rng)
    a, b = (np.where(rng.random(n) < chance, 1.0, rng.random(n) / 2) for _ in range(2))
    return swap_test(a, b, rng, PERMUTATIONS)


def _trend_p(p: float, n: int, missing: float, rng: np.random.Generator) -> float | None:
    outcomes = (rng.random((n, 4)) < _varied(p, n, rng)[:, None]).astype(np.float64)
    outcomes[rng.random(outcomes.shape) < missing] = np.nan
    return trend(outcomes, rng, PERMUTATIONS).p


def _tag_p(p: float, tasks: int, rng: np.random.Generator) -> float | None:
    """Tasks in two scenes, one of them harder and with more of the tag."""
    scenes = np.arange(tasks) % 2
    has = rng.random(tasks) < np.where(scenes, 0.7, 0.4)
    scores = rng.binomial(25, _varied(p, tasks, rng) * np.where(scenes, 0.6, 1.0)) / 25
    return tag_effects(scores, {"idle": has}, scenes, rng, PERMUTATIONS)["idle"].p


def _adjusted_tag_p(p: float, tasks: int, rng: np.random.Generator) -> float | None:
    """A tag that often comes with another one, which lowers the scores."""
    harmful = rng.random(tasks) < 0.5
    idle = np.where(rng.random(tasks) < 0.5, harmful, rng.random(tasks) < 0.5)
    scores = rng.binomial(25, _varied(p, tasks, rng) * np.where(harmful, 0.5, 1.0)) / 25
    tags = {"idle": idle, "harmful": harmful}
    return tag_effects(scores, tags, np.arange(tasks) % 2, rng, PERMUTATIONS)["idle"].adjusted_p


def _holm_p(p: float, rng: np.random.Generator) -> float | None:
    """The smallest of ten adjusted, of tests without an effect, whatever the rate."""
    adjusted = holm({str(i): float(raw) for i, raw in enumerate(rng.random(10))})
    return min(value for value in adjusted.values() if value is not None)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=int, default=1000, help="simulated runs for each design and rate")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    rng = np.random.default_rng(options.seed)
    for title, last, levels in (
        ("interval at 95%", "least", coverages(options.draws, rng)),
        ("test at 5%", "most", false_positives(options.draws, rng)),
    ):
        print(f"| {title} | design | average % | {last} % |\n|---|---|---|---|")
        for level in levels:
            exact = "" if level.draws else " (exact)"
            print(f"| {level.what}{exact} | {level.design} | {100 * level.average:.1f} | {100 * level.worst:.1f} |")
        print()


if __name__ == "__main__":
    main()
