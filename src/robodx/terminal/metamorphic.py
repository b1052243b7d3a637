"""How often a policy violates each metamorphic relation, as a person reads it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from robodx.analysis.findings.inconsistencies import is_judged, is_shown
from robodx.analysis.metamorphic.levels import FEWEST_REPEATS, LEVELS, Level
from robodx.analysis.metamorphic.rates import TOLERATED, MetamorphicTable, Overlap, Tolerance, Violations
from robodx.analysis.metamorphic.words import label
from robodx.analysis.statistics.agreement import kappa_text
from robodx.analysis.statistics.estimates import MAX_ERROR_SHARE
from robodx.analysis.wording import PER_ROW
from robodx.output import visible
from robodx.terminal.comparison import p_value, points
from robodx.terminal.console import counted, table_lines, wrapped

SAYS = {
    "frechet": "Fréchet distance", "dtw": "dynamic time warping (mean distance)", "hausdorff": "Hausdorff distance",
    "endpoint": "the distance of endpoints",
}  # fmt: skip
EQUIVALENT = "consistency"
# What a relation expects, of one and of several; and what its violations are held against.
BEYOND_NOISE = (
    ("expects an equivalent path", "expect an equivalent path"),
    f", by more than {100 * TOLERATED:.0f} points beyond its own noise",
)
BEYOND_TOLERATED = (
    ("expects another path", "expect another path"),
    f", in more than {100 * TOLERATED:.0f}% of situations",
)


def lines(table: MetamorphicTable | None) -> Iterator[str]:
    """A row for each relation over all tasks, and what the success oracle says of them; single tasks are in JSON."""
    if table is None:
        return
    for policy in table.policies:
        told = table.level_told(policy)
        rates = {level: {one.relation: one for one in table.of(policy, level)} for level in LEVELS}
        yield visible(f"Violations of metamorphic relations by {policy}, by {SAYS[table.distance]}, in situations:")
        yield from table_lines([_of_relation(one, rates) for one in table.of(policy, told)])
        yield ""
        yield from wrapped(_tolerances(table.tolerances_of(policy), told))
        yield ""
        yield visible(f"Follow-ups of {policy} that the success oracle and the relation ({told} level) flag, in pairs:")
        medians = {one.relation: one.percentiles_m[2] for one in table.spreads if one.policy == policy}
        yield from table_lines([_of_overlap(one, medians) for one in table.overlaps_of(policy, told)])
        yield ""
    yield from wrapped(
        "strict, medium, low: tolerances of the paper (0.1, 0.2, 0.3 m); calibrated: the policy's own, by how far "
        "repeats (MR0) of the same trial are apart; difference: how much more often than MR0 on the same sources, in "
        "points, with its 95% interval; p: exact, Holm-adjusted over the relations, of no difference to MR0, and for "
        "relations that ask the path to vary of no more than 5%. n, difference and p are of the calibrated level, or "
        f"where a task has none of the strict one. {PER_ROW} Agreement and Cohen's kappa: of situations."
    )
    yield ""


def conclusions(table: MetamorphicTable | None) -> Iterator[str]:
    """What it comes to, by the rule that findings follow; these sentences end the output."""
    if table is None:
        return
    for policy in table.policies:
        judged = [one for level in LEVELS for one in table.of(policy, level) if is_judged(one)]
        tested = [one for one in judged if one.p_holm is not None]
        yield from _tested(policy, [one for one in tested if one.pattern == EQUIVALENT], *BEYOND_NOISE)
        yield from _tested(policy, [one for one in tested if one.pattern != EQUIVALENT], *BEYOND_TOLERATED)
        strict = {one.relation: one for one in table.of(policy, LEVELS[0])}
        yield from _without_verdict(policy, [one for one in judged if one not in tested], strict)


def _tested(policy: str, tested: Sequence[Violations], asks: tuple[str, str], beyond: str) -> Iterator[str]:
    """Of relations that are held against the same: those that are broken, and those that are not shown to be."""
    broken = sorted(filter(is_shown, tested), key=lambda one: -(one.rate.value or 0.0))
    kept = [one for one in tested if one not in broken]
    if tested:
        count = f"{len(broken) or 'none'} of {counted(len(tested), 'relation')} that {asks[len(tested) > 1]}"
        yield f"{policy} breaks {count}{beyond}{': ' * bool(broken)}{_rates(broken)}."
    if kept:
        yield f"Not shown to break: {_rates(kept)}."


def _without_verdict(policy: str, rest: Sequence[Violations], strict: Mapping[str, Violations]) -> Iterator[str]:
    """Each reason with the relations that it is true of."""
    reasons: dict[str, list[Violations]] = {}
    for one in rest:
        reasons.setdefault(_reason(one, strict[one.relation]), []).append(one)
    for reason, each in reasons.items():
        known = [found for one in each if (found := strict[one.relation]).rate.value is not None]
        told = f" At the strict level {policy} violates {_rates(known)}." if known else ""
        yield f"No verdict on {counted(len(each), 'relation')}, because {reason}.{told}"


def _reason(one: Violations, strict: Violations) -> str:
    if one.errors > MAX_ERROR_SHARE * (strict.pairs + one.errors):
        what = "an episode ended in an error or has no trajectory"
        return f"in {one.errors} of {counted(strict.pairs + one.errors, 'pair')} of {label(one.relation)} {what}"
    if one.rate.value is None:
        return f"fewer than {FEWEST_REPEATS} situations of a task were repeated"
    return "none of the situations in which they can be judged was repeated (MR0)"


def _rates(some: Sequence[Violations]) -> str:
    each = (f"{label(one.relation)} in {one.rate} of {counted(one.rate.n, 'situation')}{_open(one)}" for one in some)
    return ", ".join(each)


def _open(one: Violations) -> str:
    """Why it is not shown although its interval exceeds what is tolerated."""
    found = one.difference if one.pattern == EQUIVALENT else one.rate
    if not is_judged(one) or is_shown(one) or one.p_holm is None or found.low is None or found.low <= TOLERATED:
        return ""
    return f" (p = {one.p_holm:.2g} after correction over the relations)"


def _of_relation(one: Violations, rates: Mapping[Level, Mapping[str, Violations]]) -> dict[str, Any]:
    each = {level: rates[level][one.relation].rate for level in LEVELS}
    return {
        "relation": label(one.relation),
        **{level: None if found.value is None else str(found) for level, found in each.items()},
        "difference": None if one.difference.value is None else points(one.difference),
        "p": None if one.p_holm is None else p_value(one.p_holm), "n": one.rate.n,
        "errors": one.errors or None,
    }  # fmt: skip


def _of_overlap(one: Overlap, medians: Mapping[str, float]) -> dict[str, Any]:
    median = medians.get(one.relation)
    return {
        "relation": label(one.relation), "oracle only": one.oracle_only, "both": one.both,
        "relation only": one.relation_only, "neither": one.neither, "agreement": str(one.agreement),
        "kappa": None if one.kappa.value is None else kappa_text(one.kappa),
        "median distance": None if median is None else f"{100 * median:.1f} cm",
    }  # fmt: skip


def _tolerances(found: list[Tolerance], told: str) -> str:
    known = [f"{visible(one.task)} {100 * one.delta_m:.1f} cm" for one in found if one.delta_m is not None]
    few = [f"{visible(one.task)} ({one.situations})" for one in found if one.delta_m is None]
    parts = [f"Calibrated tolerances: {', '.join(known)}."] if known else []
    if few:
        parts.append(
            f"Too few situations were repeated (MR0) to calibrate, {FEWEST_REPEATS} are needed: {', '.join(few)}. So "
            f"n, difference and p are of the {told} level"
            + (", and what is calibrated is of the other tasks alone." if known else ".")
        )
    return " ".join(parts)
