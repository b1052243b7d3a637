"""The adaptive search on known curves: its intervals cover, it says when there is no cliff, and it wastes little."""

from __future__ import annotations

import math

import numpy as np
import pytest
from cliff_coverage import Curve, curves, simulate

from robodx.analysis.statistics.psychometric import MINIMUM, Psychometric, count, severities

PROCEDURE = Psychometric(severities(1.0))
RUNS = 20


def counts(*outcomes: tuple[int, int, int]) -> tuple[np.ndarray, np.ndarray]:
    """From (place of the severity, successes, failures)."""
    won, lost = np.zeros(len(PROCEDURE.severities)), np.zeros(len(PROCEDURE.severities))
    for place, successes, failures in outcomes:
        won[place], lost[place] = successes, failures
    return won, lost


def test_severities_rise_from_zero_to_the_maximum_in_short_numbers() -> None:
    asked = severities(0.3)
    assert asked[0] == 0 and asked[-1] == 0.3 and len(asked) == 25
    assert all(float(f"{severity:.3g}") == severity for severity in asked)
    with pytest.raises(ValueError, match="rise from 0"):
        Psychometric((0.1, 0.2, 0.3))


def test_the_prior_is_even_on_whether_there_is_a_cliff() -> None:
    prior = PROCEDURE.posterior(*counts())
    assert prior.sum() == pytest.approx(1) and float(PROCEDURE.p_no_cliff(prior)) == pytest.approx(0.5)


def test_success_at_the_cliff_is_half_of_the_clean_rate_for_every_shape() -> None:
    # A cliff at the middle of two severities that are asked for: one procedure asks there, too.
    middle = float(((PROCEDURE.edges[20] + PROCEDURE.edges[21]) / 2) ** 2)
    rates = Psychometric((0.0, middle / 3, middle, 1.0))
    clean = rates.success[..., 0]
    place = int(np.argmin(np.abs(rates.edges - math.sqrt(middle))))
    below, above = rates.success[place - 1, ..., 2], rates.success[place, ..., 2]
    assert (below <= clean[place - 1] / 2 + 1e-12).all() and (above >= clean[place] / 2 - 1e-12).all()


def test_certainty_grows_where_it_must() -> None:
    absent = PROCEDURE.read(*counts((0, 10, 0), (24, 20, 0)))
    assert absent.is_absent and absent.is_settled and not absent.is_found and absent.low is None
    sharp = PROCEDURE.read(*counts((0, 10, 0), (14, 15, 0), (15, 0, 15)))
    assert sharp.is_found and sharp.is_settled and sharp.low is not None and sharp.high is not None
    assert (sharp.low, sharp.high) == pytest.approx(PROCEDURE.severities[14:16]), "all that is known of a step"
    hopeless = PROCEDURE.read(*counts((0, 0, 12), (10, 0, 4)))
    assert not hopeless.is_testable and not hopeless.is_found and hopeless.is_settled
    unknown = PROCEDURE.read(*counts())
    assert unknown.verdict == "undecided" and unknown.n == 0 and not unknown.is_settled


def test_it_stops_when_no_severity_is_left_between_the_ends() -> None:
    coarse = PROCEDURE.read(*counts((0, 10, 0), (4, 12, 0), (5, 0, 12)))
    assert coarse.severity is not None and coarse.low is not None and coarse.high is not None
    assert coarse.high - coarse.low > 0.2 * coarse.severity and coarse.is_settled


def test_the_clean_rate_comes_from_unstressed_episodes() -> None:
    clean = PROCEDURE.read(*counts((0, 60, 40))).clean
    assert clean.value == pytest.approx(0.6, abs=0.03) and clean.low is not None and clean.high is not None
    assert 0.46 < clean.low < 0.53 and 0.67 < clean.high < 0.73


def test_few_successes_are_no_reason_to_stop_early() -> None:
    lucky = PROCEDURE.read(*counts((0, 4, 0), (24, MINIMUM - 5, 0)))
    assert lucky.p_no_cliff > 0.95 and not lucky.is_settled


def test_a_wave_looks_at_the_whole_range_first_and_at_the_cliff_later() -> None:
    first = PROCEDURE.wave(*counts(), 8)
    assert first.tolist() == sorted(first) and first[1] == 0 and first[-2] == len(PROCEDURE.severities) - 1
    later = PROCEDURE.wave(*counts((0, 6, 0), (10, 6, 0), (18, 0, 6)), 8)
    assert later[:2].tolist() == [0, 0], "a quarter is clean"
    assert ((later[2:] > 8) & (later[2:] < 20)).all() and len(set(later.tolist())) > 2


def test_batches_are_the_same_searches_side_by_side() -> None:
    one, other = counts((0, 3, 1), (12, 2, 2)), counts((0, 5, 0), (24, 0, 3))
    both = PROCEDURE.wave(np.stack([one[0], other[0]]), np.stack([one[1], other[1]]), 4)
    assert both.tolist() == [PROCEDURE.wave(*one, 4).tolist(), PROCEDURE.wave(*other, 4).tolist()]


def test_counting_knows_the_severities() -> None:
    won, lost = count((0.0, 0.5, 1.0), [(0.5, True), (0.5, False), (1.0, False), (0.5, True)])
    assert won.tolist() == [0, 2, 0] and lost.tolist() == [0, 1, 1]


def test_intervals_cover_and_nothing_is_found_where_there_is_nothing() -> None:
    rng = np.random.default_rng(0)
    chosen: list[Curve] = list(curves())[::4]
    found = [(curve, simulate(curve, RUNS, 60, rng)) for curve in chosen]
    covered = np.array([result.covers(curve.cliff).mean() for curve, result in found])
    # The nominal 95%, less a point and a half, less three standard errors of this many searches.
    assert covered.mean() > 0.935 - 3 * math.sqrt(0.05 * 0.95 / (RUNS * len(chosen)))
    assert covered.min() >= 0.65
    nothing = [result.is_found.mean() for curve, result in found if math.isinf(curve.cliff)]
    assert len(nothing) >= 3 and np.mean(nothing) <= 0.06


@pytest.mark.parametrize(("family", "cliff"), [("logistic 6", 0.4), ("weibull 3", 0.75)])
def test_an_even_design_of_as_many_episodes_is_farther_off(family: str, cliff: float) -> None:
    rng = np.random.default_rng(1)
    curve = next(one for one in curves() if (one.family, one.clean, one.cliff) == (family, 1.0, cliff))
    found, even = simulate(curve, 60, 60, rng), simulate(curve, 60, 60, rng, is_adaptive=False)
    assert found.n.mean() <= even.n.mean()
    assert found.error(cliff) < 0.85 * even.error(cliff) and found.width.mean() < even.width.mean()
