"""Two policies on the same tasks: how their success rates differ by task, tier and family, with a verdict each."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from robodx.analysis.pairing import Compared, Floats, Stratum, align
from robodx.analysis.statistics.estimates import CONFIDENCE, MAX_ERROR_SHARE, Estimate
from robodx.analysis.statistics.multiple import holm
from robodx.analysis.statistics.paired import agreeing, mcnemar_p, paired_bootstrap, tango
from robodx.analysis.statistics.permutation import swap_test
from robodx.analysis.statistics.resampling import bootstrap_macro_mean
from robodx.analysis.statistics.sequential import (
    DIFFERENCES,
    Stopped,
    difference_sequence,
    mean_over_tasks,
    p_from,
    p_of_no_difference,
    stopped_how,
    unpaired_sequence,
)
from robodx.analysis.verdicts import MARGIN, Verdict, check_margin, verdict
from robodx.errors import UserError
from robodx.records.about import read_about
from robodx.records.table import is_finished, load

Kind = Literal["task", "tier", "family", "all"]
KINDS: tuple[Kind, ...] = ("task", "tier", "family", "all")
# The bootstrap's and the swap test's own draws: the same runs give the same numbers.
SEED = 5


class Unlike(UserError):
    """Two runs that have nothing in common, or a run that is not of one policy."""


@dataclass(frozen=True)
class Row:
    """B less A on one task or on several, each of which counts the same.

    `n` is pairs of situations or, where these are others, situations of both. `adjusted_p` is Holm's, among the rows
    of this kind. With too many errors there is no difference and no verdict.
    """

    kind: Kind
    name: str
    n: int
    rate_a: Estimate
    rate_b: Estimate
    difference: Estimate
    p: float | None
    adjusted_p: float | None
    verdict: Verdict | None
    errors: int
    # Of a task alone: as "noise=v2", or "clean".
    variant: str | None = None


@dataclass(frozen=True)
class Comparison:
    """`stopped` is other than planned if a run's own outcomes ended it; then all intervals are always-valid ones."""

    policy_a: str
    policy_b: str
    margin: float
    is_paired: bool
    # How many trials are in both runs.
    shared: int
    stopped: Stopped
    rows: tuple[Row, ...]
    only_a: int
    only_b: int
    alike: int
    other_versions: tuple[str, ...]
    # Of run folders, these, and which of them did not come to an end.
    run_a: str | None = None
    run_b: str | None = None
    unfinished: tuple[str, ...] = ()

    @property
    def overall(self) -> Row:
        return self.rows[-1]

    @property
    def variants(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(row.variant for row in self.rows if row.variant is not None))


def compare(a: Path, b: Path, *, margin: float = MARGIN) -> Comparison:
    """Two run folders. A is what B is measured against."""
    tables = load(a), load(b)
    for run, table in zip((a, b), tables, strict=True):
        if table.is_empty():
            raise Unlike(f"{run} has no episodes yet")
    abouts = [read_about(run) for run in (a, b)]
    how = [stopped_how(about.get("request", {})) for about in abouts]
    stopped: Stopped = "apart" if "apart" in how else "together" if "together" in how else "planned"
    cards = {name: card for about in abouts for name, card in about.get("perturbations", {}).items()}
    found = compare_tables(*tables, margin=margin, stopped=stopped, cards=cards)
    unfinished = tuple(str(run) for run in (a, b) if not is_finished(run))
    return replace(found, run_a=str(a), run_b=str(b), unfinished=unfinished)


def compare_tables(
    a: pl.DataFrame,
    b: pl.DataFrame,
    *,
    margin: float = MARGIN,
    stopped: Stopped = "planned",
    cards: Mapping[str, Mapping[str, Any]] | None = None,
    kinds: Sequence[Kind] = KINDS,
) -> Comparison:
    """Two tables of episodes, one policy each; cards of perturbations, as in run.json, name their levels.

    Rows of other `kinds` are not worked out.
    """
    check_margin(margin)
    names = [table["policy"].unique().to_list() for table in (a, b)]
    if any(len(policies) != 1 for policies in names):
        raise Unlike(f"a comparison is of one policy with one other, not of {names[0]} with {names[1]}")
    compared = align(a, b, cards or {})
    if not compared.strata:
        reasons = "; ".join(filter(None, [compared.contrast, *compared.other_versions]))
        raise Unlike(f"the runs have nothing in common that could be compared{f': {reasons}' if reasons else ''}")
    rows = [row for kind in kinds for row in _rows(kind, compared, margin, stopped)]
    return Comparison(
        names[0][0], names[1][0], margin, compared.is_paired, compared.shared, stopped, tuple(rows),
        compared.only_a, compared.only_b, compared.alike, compared.other_versions,
    )  # fmt: skip


def _rows(kind: Kind, compared: Compared, margin: float, stopped: Stopped) -> list[Row]:
    groups: dict[str, list[Stratum]] = {}
    for stratum in compared.strata:
        name = {"task": stratum.label, "tier": _tier(stratum), "family": stratum.family, "all": "all"}[kind]
        if name is not None:
            groups.setdefault(name, []).append(stratum)
    # One tier or family alone would say what the row of all says.
    if kind in ("tier", "family") and len(groups) == 1:
        return []
    found = [_row(kind, name, group, compared.is_paired, stopped) for name, group in groups.items()]
    adjusted = holm({row.name: row.p for row in found})
    return [
        replace(
            row,
            adjusted_p=adjusted[row.name],
            verdict=verdict(row.difference, adjusted[row.name], margin=margin, among=len(found)),
        )
        if row.difference.value is not None
        else row
        for row in found
    ]


def _tier(stratum: Stratum) -> str | None:
    return None if stratum.tier is None else f"{stratum.family}/{stratum.tier}"


def _row(kind: Kind, name: str, group: list[Stratum], is_paired: bool, stopped: Stopped) -> Row:
    strata = [stratum for stratum in group if len(stratum.a) and len(stratum.b)]
    n = sum(len(stratum.a) if is_paired else len(stratum.a) + len(stratum.b) for stratum in strata)
    trials, errors = sum(stratum.trials for stratum in group), sum(stratum.errors for stratum in group)
    rate_a, rate_b = (
        _rate([stratum.a for stratum in strata], stopped),
        _rate([stratum.b for stratum in strata], stopped),
    )
    variant = group[0].variant if kind == "task" else None
    row = Row(kind, name, n, rate_a, rate_b, Estimate(None, None, None, n), None, None, None, errors, variant)
    # Nor may a task be lost to errors altogether.
    if len(strata) < len(group) or errors / trials > MAX_ERROR_SHARE:
        return row
    if is_paired:
        found, p = _paired([stratum.differences for stratum in strata], stopped)
    else:
        found, p = _unpaired([(stratum.a, stratum.b) for stratum in strata], stopped)
    return replace(row, difference=agreeing(found, p), p=p)


def _rate(variants: list[Floats], stopped: Stopped, confidence: float = CONFIDENCE) -> Estimate:
    if stopped == "planned" and variants:
        rng = np.random.default_rng(SEED)
        return bootstrap_macro_mean(np.concatenate(variants), _labels(variants), rng, confidence=confidence)
    return mean_over_tasks(variants, stopped, confidence)


def _paired(parts: list[Floats], stopped: Stopped) -> tuple[Estimate, float | None]:
    every = np.concatenate(parts)
    if stopped == "together":
        return difference_sequence(every), p_of_no_difference(every)
    if stopped == "apart":
        interval = partial(mean_over_tasks, parts, stopped, within=DIFFERENCES)
        return interval(CONFIDENCE), p_from(interval)
    won, lost = int((every == 1).sum()), int((every == -1).sum())
    is_whole = won + lost == int((every != 0).sum())
    if is_whole and len(parts) == 1:
        return tango(lost, won, len(every)), mcnemar_p(lost, won)
    rng = np.random.default_rng(SEED)
    nothing, labels = np.zeros(len(every)), _labels(parts)
    difference = paired_bootstrap(nothing, every, labels, rng)
    sizes = np.array([len(part) for part in parts])
    if is_whole and (sizes == sizes[0]).all():
        return difference, mcnemar_p(lost, won)
    return difference, swap_test(nothing, every / sizes[labels], rng)


def _unpaired(variants: list[tuple[Floats, Floats]], stopped: Stopped) -> tuple[Estimate, float | None]:
    if stopped == "planned":
        interval: Callable[[float], Estimate] = partial(_apart, variants)
        if len(variants) == 1 and np.isin(np.concatenate(variants[0]), (0.0, 1.0)).all():
            # Newcombe's interval by itself would find too much where rates are near a half: up to 6.5% with 25 each.
            table = [[(variant == 1).sum(), (variant == 0).sum()] for variant in variants[0]]
            # Here, for it takes half a second to import.
            from scipy.stats import fisher_exact  # type: ignore[import-untyped]

            return interval(CONFIDENCE), float(fisher_exact(table).pvalue)
    else:
        of_a, of_b = (partial(mean_over_tasks, variant, stopped) for variant in zip(*variants, strict=True))
        interval = partial(unpaired_sequence, of_a, of_b)
    return interval(CONFIDENCE), p_from(interval)


def _apart(variants: list[tuple[Floats, Floats]], confidence: float) -> Estimate:
    """Newcombe's interval, of means over tasks: with one task it is the usual one."""
    a, b = (_rate(list(variant), "planned", confidence) for variant in zip(*variants, strict=True))
    assert a.value is not None and a.low is not None and a.high is not None
    assert b.value is not None and b.low is not None and b.high is not None
    value = b.value - a.value
    below, above = math.hypot(b.value - b.low, a.high - a.value), math.hypot(b.high - b.value, a.value - a.low)
    return Estimate(value, max(-1.0, value - below), min(1.0, value + above), a.n + b.n)


def _labels(parts: list[Floats]) -> NDArray[np.intp]:
    return np.repeat(np.arange(len(parts)), [len(part) for part in parts])
