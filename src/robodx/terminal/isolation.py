"""What each added factor costs a policy, as a person reads it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from robodx.analysis.isolation import Contrast
from robodx.analysis.wording import PER_ROW
from robodx.terminal.comparison import p_value, points
from robodx.terminal.console import table_lines, wrapped


def lines(contrasts: Sequence[Contrast]) -> Iterator[str]:
    """A row for each factor over all plain tasks; single tasks are in the JSON."""
    for policy in dict.fromkeys(one.policy for one in contrasts):
        mine = [one for one in contrasts if one.policy == policy and one.task is None]
        yield f"Perception tasks of {policy} with one factor added, on the same situations:"
        yield from table_lines(
            [
                {
                    "added": one.factor, "plain": str(one.plain), "with it": str(one.entangled),
                    "difference": points(one.difference), "p": p_value(one.p_holm), "n": one.plain.n,
                    "errors": one.errors or None,
                }
                for one in mine
                if one.is_testable
            ]
        )  # fmt: skip
        if weak := [one.factor for one in mine if not one.is_testable]:
            yield from wrapped(f"Not testable, because it fails the plain tasks: {', '.join(weak)}.")
        yield ""
    if contrasts:
        yield from wrapped(
            "plain, with it: success rates without and with the factor; difference: in points, with its 95% interval; "
            f"p: exact and paired, Holm-adjusted over the factors. {PER_ROW}"
        )
        yield ""
