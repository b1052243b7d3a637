"""Visual biases: values of a visual factor with which a policy succeeds less often, in pairs that differ in it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import polars as pl

from robodx.analysis.bias.cells import Grid, grids
from robodx.analysis.bias.effects import Effect, signed_effects
from robodx.analysis.bias.tables import stream
from robodx.analysis.bias.words import baseline_label, label, with_baseline, with_value
from robodx.analysis.findings.base import Symptom
from robodx.analysis.findings.failure_modes import FailureMode
from robodx.analysis.findings.naming import symptom
from robodx.analysis.findings.remedies import advice_on_factor
from robodx.analysis.statistics.estimates import MAX_ERROR_SHARE, Estimate, wilson

ALPHA = 0.05
# What the interval of an effect must exclude, in either direction.
LEAST_EFFECT = 0.05
# Further values that are told by name.
NAMED = 5
NO_ONE = np.zeros(0, dtype=np.bool_)


def visual_biases(episodes: pl.DataFrame) -> Iterator[Symptom]:
    """Of one policy's episodes: one for each factor and direction, that of the largest effect first."""
    found: list[tuple[float, Symptom]] = []
    for grid in grids(episodes):
        if len(grid.factors) == 1 and grid.errors <= MAX_ERROR_SHARE * grid.episodes:
            effects = signed_effects(grid, stream(0, grid, "signed effects"))
            for sign in (-1, 1):
                shown = [one for one in effects if is_shown(one) and sign * _value(one) > 0]
                if shown:
                    shown.sort(key=lambda one: -abs(_value(one)))
                    found.append((abs(_value(shown[0])), _symptom(grid, shown, len(effects))))
    yield from (one for _, one in sorted(found, key=lambda each: -each[0]))


def is_shown(one: Effect) -> bool:
    """Whether an effect is surely there, and larger than 5 points by its whole interval."""
    low, high = one.difference.low, one.difference.high
    if one.p_holm is None or one.p_holm >= ALPHA or low is None or high is None:
        return False
    return high < -LEAST_EFFECT or low > LEAST_EFFECT


def _symptom(grid: Grid, shown: Sequence[Effect], tested: int) -> Symptom:
    (factor,), (baseline,), first, rest = grid.factors, grid.baselines, shown[0], shown[1:]
    is_less = _value(first) < 0
    pairs = first.difference.n
    # What is worse: the value, or the baseline that all these are better than.
    worse = first.value if is_less else baseline_label(factor, baseline)
    name = symptom(FailureMode("value", f"{label(factor)} {worse}", NO_ONE, "it fails"))
    solved = f"in {first.solved:g} of {pairs} pairs instead of {first.solved_at_baseline:g}"
    numbers = f"{_points(first.difference)} points, {_p(first)} after Holm over {tested} values"
    says = (
        f"It succeeds {'less' if is_less else 'more'} often with {with_value(factor, first.value)} than with "
        f"{with_baseline(factor, baseline)}: {solved} ({numbers}). The two of a pair have the same context and robot "
        f"start, and differ in {label(factor)} alone."
    )
    failed = pairs - (first.solved if is_less else first.solved_at_baseline)
    title, rate = f"{name.kind.name}: {name.subject}", wilson(failed, pairs)
    return Symptom(title, says + _further(rest), rate, first.examples, advice_on_factor(factor))


def _further(rest: Sequence[Effect]) -> str:
    if not rest:
        return ""
    named = [f"{one.value} ({_signed(_value(one))})" for one in rest[:NAMED]]
    more = [f"{len(rest) - NAMED} more"] if len(rest) > NAMED else []
    return f" So it does with {', '.join([*named, *more])}, in points."


def _value(one: Effect) -> float:
    return one.difference.value or 0.0


def _points(found: Estimate) -> str:
    value, low, high = (_signed(each or 0.0) for each in (found.value, found.low, found.high))
    return f"{value} [{low}, {high}]"


def _signed(share: float) -> str:
    return f"{100 * share:+.0f}".replace("-", "−")


def _p(one: Effect) -> str:
    assert one.p_holm is not None
    return "p < 0.001" if one.p_holm < 0.001 else f"p = {one.p_holm:.2g}"
