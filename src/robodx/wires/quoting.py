"""Foreign values and errors in messages of bounded length, at a cost that does not grow with what came."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from robodx.output import shortened

# Of a value that is quoted, and of an error's text on one line.
MAX_QUOTE, MAX_LINE = 120, 500


def quote(data: object) -> str:
    """Enough of a foreign value to recognise it. However large the value is, no more of it is looked at."""
    if isinstance(data, bytes | bytearray | memoryview):
        start = bytes(data[:40])
        return f"{len(data)} bytes beginning {start!r}"
    text = ""
    for piece in _pieces(data):
        text += piece
        if len(text) > MAX_QUOTE:
            break
    return shortened(text, MAX_QUOTE)


def complaint(error: BaseException) -> str:
    """An error in a line of bounded length: its message may quote what came."""
    return shortened(f"{type(error).__name__}: {error}", MAX_LINE)


def _pieces(value: object) -> Iterator[str]:
    """What `repr` would give, bit by bit."""
    if isinstance(value, str | bytes):
        yield repr(value[:MAX_QUOTE])
    elif isinstance(value, Mapping):
        for index, (key, one) in enumerate(value.items()):
            yield ", " if index else "{"
            yield from _pieces(key)
            yield ": "
            yield from _pieces(one)
        yield "}" if value else "{}"
    elif isinstance(value, list | tuple):
        opening, closing = "[]" if isinstance(value, list) else "()"
        yield opening
        for index, one in enumerate(value):
            yield ", " if index else ""
            yield from _pieces(one)
        yield f",{closing}" if isinstance(value, tuple) and len(value) == 1 else closing
    else:
        yield repr(value)
