"""Where success falls to half of the clean rate: an adaptive psychometric procedure that also says when it does not.

After QUEST+ (Watson 2017): a posterior on a grid, and the next severity is the one that is expected to leave the least
uncertainty about the cliff. The curve is clean · (floor + (1 − floor) · F) with a log-logistic F, one at severity 0 and
zero in the end; at the cliff success is half of the clean rate. Cliff, slope, floor and clean rate are estimated
together, and "no cliff up to the maximum" is one of the hypotheses.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from robodx.analysis.statistics.estimates import CONFIDENCE, TESTABLE, Estimate

Floats = NDArray[np.float64]

# Of the cliff's own severity: an interval of ±10% is as good as anyone needs.
NARROW = 0.2
# How sure one must be to stop early and say "no cliff" or "not testable".
SURE = 0.95
# With fewer, a lucky beginning would pass for "no cliff" too often.
MINIMUM = 24

# Half of the clean rate is what is looked for: one step ahead, too little seems to be learnt from clean episodes.
CLEAN_SHARE = 0.25

SEVERITIES = 24
POSITIONS = 48
# Up to four times the maximum: a curve that begins to fall is not yet a cliff.
POSITIONS_BEYOND = 10
# The last is a step.
SLOPES = (1.4, 2.5, 5.0, 10.0, math.inf)
# With their prior: some policies solve a share of the situations whatever the stress. Without the second, intervals
# cover too rarely where there is such a share.
FLOORS = {0.0: 0.75, 0.3: 0.25}
CLEAN_RATES = 20

_QUANTILES = (0.5 - CONFIDENCE / 2, 0.5, 0.5 + CONFIDENCE / 2)


@dataclass(frozen=True)
class Cliff:
    """The severity at which success is half of the clean rate: its median and 95% credible interval.

    `severity`, `low` and `high` are None where they lie beyond the maximum. `p_no_cliff` is the probability that
    success is above half of the clean rate up to the maximum, `p_untestable` that the clean rate is under 20%. With
    `is_narrow` the interval is as narrow as anyone needs, or holds no severity that could be asked for.
    """

    severity: float | None
    low: float | None
    high: float | None
    is_narrow: bool
    p_no_cliff: float
    p_untestable: float
    clean: Estimate
    maximum: float
    n: int

    @property
    def is_testable(self) -> bool:
        """Whether half of the clean rate means something."""
        return self.p_untestable <= 0.5

    @property
    def is_found(self) -> bool:
        """Whether all of the interval lies within the severities that were asked for."""
        return self.is_testable and self.high is not None

    @property
    def is_absent(self) -> bool:
        """Whether there is no cliff up to the maximum."""
        return self.is_testable and self.p_no_cliff > SURE

    @property
    def verdict(self) -> str:
        """In a word or two."""
        if not self.is_testable:
            return "not testable"
        return "cliff" if self.is_found else "no cliff" if self.is_absent else "undecided"

    @property
    def is_settled(self) -> bool:
        """Whether more episodes would be a waste."""
        return self.p_untestable > SURE or (self.n >= MINIMUM and (self.is_narrow or self.p_no_cliff > SURE))


def severities(maximum: float, count: int = SEVERITIES) -> tuple[float, ...]:
    """Zero, and severities up to the maximum that lie closer together where they are small."""
    steps = np.arange(1, count) / count
    return (0.0, *(float(f"{maximum * step * step:.3g}") for step in steps), float(maximum))


def count(asked: Sequence[float], outcomes: Iterable[tuple[float, bool]]) -> tuple[Floats, Floats]:
    """Successes and failures at each of the severities."""
    place = {severity: index for index, severity in enumerate(asked)}
    counts = np.zeros((2, len(asked)))
    for severity, is_success in outcomes:
        counts[0 if is_success else 1, place[severity]] += 1
    return counts[0], counts[1]


@dataclass(frozen=True)
class Psychometric:
    """The procedure for one set of severities, of which 0 is the first and the maximum the last.

    All it needs to know are counts: successes and failures at each severity, (severities,) or (batch, severities). So
    it can be asked again at any time, and the order of episodes says nothing.
    """

    severities: tuple[float, ...]

    def __post_init__(self) -> None:
        if len(self.severities) < 3 or self.severities[0] != 0 or list(self.severities) != sorted(set(self.severities)):
            raise ValueError(f"severities must rise from 0 over at least two others, not {self.severities}")

    @property
    def maximum(self) -> float:
        return self.severities[-1]

    @cached_property
    def edges(self) -> Floats:
        """Between the positions of the cliff that are told apart, as square roots in units of the maximum.

        In the root, even steps lie between even steps and even ratios of severity, which may be of either kind. What
        can be asked for is always an edge: of a step between two severities, all that lies between them is as likely.
        """
        roots = np.sqrt(np.array(self.severities) / self.maximum)
        each = math.ceil(POSITIONS / (len(roots) - 1))
        within = [np.linspace(low, high, each, endpoint=False) for low, high in itertools.pairwise(roots)]
        return np.concatenate([*within, np.linspace(1, 2, POSITIONS_BEYOND + 1)])

    @cached_property
    def success(self) -> Floats:
        """The probability of success under each hypothesis, (cliff, shape, clean, severity)."""
        cliffs = np.append(((self.edges[1:] + self.edges[:-1]) / 2) ** 2, np.inf)
        slopes, floors = (axis.ravel()[:, None] for axis in np.meshgrid(SLOPES, list(FLOORS), indexing="ij"))
        # Even in the angle, which is Jeffreys' prior of a rate.
        clean = np.sin(np.pi / 2 * (np.arange(CLEAN_RATES) + 0.5) / CLEAN_RATES) ** 2
        ratios = np.array(self.severities) / self.maximum / cliffs[:, None, None]
        falls = 1 / (1 + 0.5 / (0.5 - floors) * ratios**slopes)
        return np.asarray((floors + (1 - floors) * falls)[:, :, None, :] * clean[:, None])

    @cached_property
    def prior(self) -> Floats:
        """Even chances of a cliff and of none, and of the latter even chances of one farther on and of none at all."""
        cliffs = np.append(np.diff(self.edges) * np.where(self.edges[1:] <= 1, 0.5, 0.25), 0.25)
        shapes = np.tile(list(FLOORS.values()), len(SLOPES)) / len(SLOPES)
        return np.asarray(cliffs[:, None, None] * shapes[:, None] * np.full(CLEAN_RATES, 1 / CLEAN_RATES))

    def posterior(self, successes: Floats, failures: Floats) -> Floats:
        """The probability of each hypothesis, (..., cliff, shape, clean)."""
        won, lost, prior = self._logarithms
        log = successes @ won + failures @ lost + prior
        weights = np.exp(log - log.max(axis=-1, keepdims=True))
        weights /= weights.sum(axis=-1, keepdims=True)
        return np.asarray(weights.reshape(*log.shape[:-1], *self.prior.shape))

    def wave(self, successes: Floats, failures: Floats, size: int) -> NDArray[np.intp]:
        """The next severities to ask for, by index, (..., size): chosen together, without outcomes in between.

        The first wave looks at the whole range, and twice at its ends. After that a share is clean, and each severity
        is chosen as if those before it had come out as foreseen, with fractions of a success.
        """
        if not (successes + failures).any():
            first = np.round(np.clip(np.linspace(-0.2, 1.2, size), 0, 1) * (len(self.severities) - 1))
            return np.broadcast_to(first.astype(np.intp), (*successes.shape[:-1], size))
        chosen = []
        for at in range(size):
            best, foreseen = self._best(self.posterior(successes, failures))
            if at < round(CLEAN_SHARE * size):
                best = np.zeros_like(best)
            picked = np.eye(len(self.severities))[best]
            successes, failures = successes + picked * foreseen, failures + picked * (1 - foreseen)
            chosen.append(best)
        return np.stack(chosen, axis=-1)

    def read(self, successes: Floats, failures: Floats) -> Cliff:
        """What is known of the cliff by now."""
        posterior = self.posterior(successes, failures)
        places = self.quantiles(posterior[None])
        low, median, high = (float(at) if math.isfinite(at) else None for at in places[:, 0])
        rates = np.sin(np.linspace(0, np.pi / 2, CLEAN_RATES + 1)) ** 2
        cumulative = np.append(0.0, np.cumsum(posterior.sum(axis=(0, 1))))
        clean_low, _, clean_high = (float(rate) for rate in np.interp(_QUANTILES, cumulative, rates))
        # As the curve has it without stress.
        clean = float(self.curve(successes, failures)[0])
        n = int((successes + failures).sum())
        return Cliff(
            severity=median,
            low=low,
            high=high,
            is_narrow=bool(self.is_narrow(places)[0]),
            p_no_cliff=float(self.p_no_cliff(posterior)),
            p_untestable=float(np.interp(TESTABLE, rates, cumulative)),
            clean=Estimate(clean, clean_low, clean_high, n),
            maximum=self.maximum,
            n=n,
        )

    def quantiles(self, posteriors: Floats) -> Floats:
        """Low, median and high of the cliff of each posterior, (3, batch); beyond the maximum they are infinite.

        Low and high are edges of positions: a step is only known to lie between two severities, ends included.
        """
        cells = posteriors.sum(axis=(-2, -1))[:, : self._within]
        cumulative = np.concatenate([np.zeros((len(cells), 1)), np.cumsum(cells, axis=1)], axis=1)
        edges = self.edges[: self._within + 1]
        below, half, above = _QUANTILES
        low = np.where(cumulative[:, -1] <= below, np.inf, edges[(cumulative[:, 1:-1] <= below).sum(axis=1)])
        high = np.append(edges, np.inf)[(cumulative < above).sum(axis=1)]
        median = np.array([np.interp(half, row, edges, right=np.inf) for row in cumulative])
        return np.asarray(self.maximum * np.stack([low, median, high]) ** 2)

    def is_narrow(self, quantiles: Floats) -> NDArray[np.bool_]:
        """Whether no more is to be learnt of each cliff, from its low, median and high, (3, batch)."""
        low, median, high = quantiles
        # The ends are severities themselves, but for their last bits.
        asked = np.array(self.severities)
        within = (low[:, None] * (1 + 1e-9) < asked) & (asked < high[:, None] * (1 - 1e-9))
        is_small = high <= np.where(np.isfinite(median), low + NARROW * median, 0)
        return np.asarray(np.isfinite(high) & (is_small | ~within.any(axis=-1)))

    def p_no_cliff(self, posterior: Floats) -> Floats:
        return np.asarray(posterior[..., self._within :, :, :].sum(axis=(-3, -2, -1)))

    def curve(self, successes: Floats, failures: Floats) -> Floats:
        """The success that the posterior foresees at each severity."""
        return np.asarray(np.tensordot(self.posterior(successes, failures), self.success, axes=3))

    @property
    def _within(self) -> int:
        """How many positions lie up to the maximum."""
        return len(self.edges) - 1 - POSITIONS_BEYOND

    @cached_property
    def _logarithms(self) -> tuple[Floats, Floats, Floats]:
        rates = self.success.reshape(-1, len(self.severities)).T  # (severity, hypothesis)
        # After a step success is impossible: all but, for a sum.
        return np.log(np.maximum(rates, 1e-12)), np.log1p(-rates), np.log(self.prior).ravel()

    def _best(self, posterior: Floats) -> tuple[NDArray[np.intp], Floats]:
        """The severity that leaves the least expected entropy of the cliff, and the foreseen success at each."""
        batch, (cliffs, *rest, places) = posterior.shape[:-3], self.success.shape
        flat = posterior.reshape(-1, cliffs, math.prod(rest)).swapaxes(0, 1)  # (cliff, batch, rest)
        won = flat @ self.success.reshape(cliffs, -1, places)  # (cliff, batch, severity)
        lost = np.maximum(flat.sum(axis=-1)[..., None] - won, 0)
        # Rounded, so that the last bit of a sum never decides between equals.
        expected = np.round(self._entropy(won) + self._entropy(lost), 9)
        return np.argmin(expected, axis=-1).reshape(batch), won.sum(axis=0).reshape(*batch, places)

    def _entropy(self, weights: Floats) -> Floats:
        """The entropy of the cliff after an outcome times the outcome's probability, from joint weights, (cliff, ...).

        Where beyond the maximum a cliff lies is of no interest: all of it is one hypothesis.
        """
        from scipy.special import xlogy  # type: ignore[import-untyped]

        lumped = np.concatenate([weights[: self._within], weights[self._within :].sum(axis=0, keepdims=True)])
        total = lumped.sum(axis=0)
        return np.asarray(xlogy(total, total) - xlogy(lumped, lumped).sum(axis=0))
