"""Lists, counts and long names as sentences and tables write them, whatever the form these take."""

from __future__ import annotations

from collections.abc import Sequence

from robodx.analysis.statistics.estimates import Estimate

# Beside every table that has both, once.
PER_ROW = "Intervals are per row; p-values are corrected across rows, so the two can disagree."


def counted(number: int, what: str, plural: str = "s") -> str:
    """As "1 episode" or "1,200 episodes"."""
    return f"{number:,} {what}{'' if number == 1 else plural}"


def listed(names: Sequence[str], last: str = "and", *, most: int | None = None) -> str:
    """As "a, b and c"; with `most` 4 as "a, b, c and 5 more"."""
    if most is not None and len(names) > most:
        names = [*names[: most - 1], f"{len(names) - most + 1} more"]
    return f"{', '.join(names[:-1])} {last} {names[-1]}" if len(names) > 1 else "".join(names)


def shortened(text: str, limit: int = 40) -> str:
    """Without its middle if it is long: names differ in their ends."""
    half = (limit - 1) // 2
    return text if len(text) <= limit else f"{text[:half]}…{text[-half:]}"


def above_chance(found: Estimate) -> str:
    """As "64% [20, 90]", of what chance leaves to be gained; of less than nothing only whether that is sure."""
    if found.value is None:
        return "—"
    if found.value < 0:
        return "below chance" if found.high is not None and found.high < 0 else "not above chance"
    if found.low is None or found.high is None:
        return f"{100 * found.value:.0f}%"
    low = "<0" if found.low < 0 else f"{100 * found.low:.0f}"
    return f"{100 * found.value:.0f}% [{low}, {100 * found.high:.0f}]"
