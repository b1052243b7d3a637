"""The tables of `robodx list`, as wide as the terminal: what a row says last is wrapped, what it says before is cut."""

from __future__ import annotations

import shutil
import textwrap
from collections.abc import Mapping, Sequence
from itertools import zip_longest
from typing import Any, NamedTuple

from robodx.output import shortened, visible
from robodx.terminal.console import WIDTH

GAP = "  "
# What a row says last stands below the rest where it would have less room than this, or they less than that.
ROOM = 32
LEAST = 14
NARROWEST = 40
INDENT = "    "


class Listing(NamedTuple):
    lines: list[str]
    is_cut: bool


def as_wide_as_the_terminal(text: str) -> list[str]:
    return _wrapped(text, _width())


def listing(rows: Sequence[Mapping[str, Any]], *, cut: bool) -> Listing:
    """Columns that hold nothing are left out; names are whole; cells that are too long are cut, else wrapped."""
    width = _width()
    names = [name for name in (rows[0] if rows else {}) if any(row[name] is not None for row in rows)]
    if not names:
        return Listing([], False)
    texts = [{name: name for name in names}]
    texts += [{name: "" if row[name] is None else visible(str(row[name])) for name in names} for row in rows]
    longest = {name: max(len(text[name]) for text in texts) for name in names}
    *before, last = names
    room = min(ROOM, longest[last])
    widths = _fitted(longest, before, width - room - len(GAP), LEAST)
    is_beside = widths is not None
    widths = widths or _fitted(longest, before, width, 1)
    if widths is None:
        return Listing(_below_each_other(texts[1:], width), False)
    room = width - sum(widths.values()) - len(GAP) * len(before)
    lines = []
    for text in texts:
        cells = [[shortened(text[name], size)] if cut else _wrapped(text[name], size) for name, size in widths.items()]
        columns = [*widths.values()]
        if is_beside:
            cells, columns = [*cells, _wrapped(text[last], room)], [*columns, room]
        for parts in zip_longest(*cells, fillvalue=""):
            lines.append(GAP.join(part.ljust(size) for part, size in zip(parts, columns, strict=True)).rstrip())
        if not is_beside:
            lines += [f"{INDENT}{part}" for part in _wrapped(text[last], width - len(INDENT))]
    return Listing(lines, cut and any(longest[name] > size for name, size in widths.items()))


def _below_each_other(texts: Sequence[Mapping[str, str]], width: int) -> list[str]:
    """Where there is no room for columns."""
    lines = []
    for text in texts:
        (_, first), *others = text.items()
        lines += _wrapped(first, width)
        for name, told in others:
            lines += [f"{INDENT}{part}" for part in _wrapped(f"{name}: {told}", width - len(INDENT)) if told]
    return lines


def _width() -> int:
    return max(NARROWEST, shutil.get_terminal_size((WIDTH, 0)).columns)


def _fitted(longest: Mapping[str, int], names: Sequence[str], width: int, least: int) -> dict[str, int] | None:
    """How wide each is to be, all of them as wide as can be; the first is a name, which is not cut."""
    for most in range(max(least, *longest.values()), least - 1, -1):
        found = {
            name: longest[name] if name == names[0] else min(longest[name], max(most, len(name))) for name in names
        }
        if sum(found.values()) + len(GAP) * (len(found) - 1) <= width:
            return found
    return None


def _wrapped(text: str, width: int) -> list[str]:
    return textwrap.wrap(text, width, break_on_hyphens=False) or [""]
