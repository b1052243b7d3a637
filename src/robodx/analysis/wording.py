"""Lists, counts and long names as sentences and tables write them, whatever the form these take."""

from __future__ import annotations

from collections.abc import Sequence


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
