"""What a policy does not use, as a person reads it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from robodx.analysis.null_inputs import MARGIN, InputUse
from robodx.analysis.wording import PER_ROW
from robodx.output import visible
from robodx.terminal.console import wrapped


def lines(uses: Sequence[InputUse]) -> Iterator[str]:
    """A sentence an input, under the tasks that it rests on."""
    for policy in dict.fromkeys(use.policy for use in uses):
        mine = [use for use in uses if use.policy == policy]
        yield f"What {visible(policy)} uses, one input at a time taken away:"
        for tasks in dict.fromkeys(use.loss.tasks for use in mine):
            if tasks:
                yield from wrapped(f"In {', '.join(map(visible, tasks))}:")
            for use in mine:
                if use.loss.tasks == tasks:
                    yield from wrapped(f"  {visible(use.says)}.", "      ")
        yield ""
    yield from wrapped(
        f"not needed: success changes by no more than {100 * MARGIN:.0f} points, by its whole 95% interval; used: it "
        "changes, with p < 0.05, Holm-adjusted over the inputs; n: situations. This is said of these tasks only. "
        f"{PER_ROW}"
    )
