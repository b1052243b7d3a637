"""How far a policy's success depends on what should not matter, as a person reads it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from robodx.analysis.bias.cells import CROSSED
from robodx.analysis.bias.effects import Effect
from robodx.analysis.bias.interactions import Direction, Interaction
from robodx.analysis.bias.tables import BiasTable, FactorBias
from robodx.analysis.bias.words import baseline_label, interaction_says, label, tried_once
from robodx.analysis.statistics.estimates import Estimate
from robodx.analysis.wording import PER_ROW
from robodx.output import visible
from robodx.terminal.comparison import p_value, points
from robodx.terminal.console import counted, table_lines, wrapped

ALPHA = 0.05
# Of a factor; the rest is in the JSON.
MOST_EFFECTS = 6


def lines(table: BiasTable | None) -> Iterator[str]:
    """A row for each factor, the values that differ from the baseline, and interactions."""
    if table is None:
        return
    for policy in table.policies:
        factors = table.of(policy)
        if factors:
            yield visible(f"Visual bias of {policy}, by factor, with all else at its baseline:")
            yield from table_lines([_of_factor(one) for one in factors])
            yield from wrapped(once) if (once := tried_once(factors)) else ()
            yield ""
            yield from _effects(policy, factors)
        for one in table.interactions_of(policy):
            yield from _interaction(one)
    yield from wrapped(
        "CV: the bias coefficient, the mean over contexts of std / mean of success over the values, in %; by chance: "
        "what CV is where values do not matter, with as many repeats, and 95% of it; beyond: CV less that, in points; "
        "std: the plain standard deviation, for CV is large where a context is merely hard; p: that values do not "
        "matter, by permuting them within context and robot start, Holm-adjusted over the factors; n: pairs of context "
        f"and robot start. {PER_ROW}"
    )
    yield ""


def _of_factor(one: FactorBias) -> dict[str, Any]:
    return {
        "factor": label(one.factor), "values": one.values, "success": _known(one.success),
        "CV": _known(one.coefficient), "by chance": _known(one.floor),
        "beyond": None if one.beyond is None else _signed(one.beyond),
        "std": _known(one.spread), "p": p_value(one.p_holm), "n": one.blocks,
        "without success": one.left_out or None, "partial": one.partial or None, "errors": one.errors or None,
    }  # fmt: skip


def _effects(policy: str, factors: list[FactorBias]) -> Iterator[str]:
    compared = sum(len(one.effects) for one in factors)
    shown = {
        one.factor: [each for each in one.effects if each.p_holm is not None and each.p_holm < ALPHA] for one in factors
    }
    count = sum(map(len, shown.values()))
    if not compared:
        yield "The baseline was not run: no value can be held against it."
    elif not count:
        yield f"None of {counted(compared, 'value')} is shown to differ from the baseline of its factor."
    else:
        yield visible(f"Values with which {policy} succeeds more or less often than with the baseline, in pairs:")
        rows = []
        for one in factors:
            largest = sorted(shown[one.factor], key=lambda each: -abs(each.difference.value or 0.0))
            rows += [_of_effect(one, each) for each in largest[:MOST_EFFECTS]]
        yield from table_lines(rows)
        if count > len(rows):
            yield f"and {count - len(rows)} more, of {compared}; all are in --json"
    yield ""


def _of_effect(one: FactorBias, each: Effect) -> dict[str, Any]:
    return {
        "factor": label(one.factor), "value": each.value, "solved": f"{each.solved:g}",
        "baseline": f"{baseline_label(one.factor, one.baseline)}: {each.solved_at_baseline:g}",
        "difference": points(each.difference), "p": p_value(each.p_holm), "pairs": each.difference.n,
    }  # fmt: skip


def _interaction(one: Interaction) -> Iterator[str]:
    first, second = (label(name) for name in one.grid.split(CROSSED))
    tried = f"{counted(one.blocks, 'robot start')} in {counted(one.contexts, 'context')}"
    size = f"{one.levels[0]} × {one.levels[1]} values, {tried}"
    yield visible(f"Interaction of {first} and {second} in {one.policy} ({size}):")
    yield from table_lines([_of_direction(each) for each in one.directions])
    yield from wrapped(interaction_says(one))
    yield ""


def _of_direction(one: Direction) -> dict[str, Any]:
    return {
        "coefficient": f"IEC({label(one.of)}; {label(one.given)})",
        "CV": None if one.coefficient is None else f"{100 * one.coefficient:.0f}%", "value": _known(one.value),
        "without interaction": _known(one.null),
        "excess": None if one.excess.value is None else points(one.excess), "p": p_value(one.p_holm),
    }  # fmt: skip


def _known(found: Estimate) -> str | None:
    return None if found.value is None else str(found)


def _signed(value: float) -> str:
    return f"{100 * value:+.0f}".replace("-", "−") if round(100 * value) else "0"
