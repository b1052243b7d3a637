"""Text for a terminal, which nothing that it is made of steers: no error of a server, and no name of a file."""

from __future__ import annotations

import sys
import unicodedata
from typing import TextIO


def visible(text: str, kept: str = "") -> str:
    """With control characters spelled out, but for those that are kept."""
    if text.isprintable():
        return text
    return "".join(one if one in kept else _spelled(one) for one in text)


def shortened(text: str, most: int) -> str:
    """A text of at most so many letters; the end of a longer one is left out."""
    return text if len(text) <= most else f"{text[: most - 1]}…"


def print_text(*texts: object, sep: str = " ", file: TextIO | None = None, flush: bool = False) -> None:
    """As `print`, which no other module calls."""
    print(visible(sep.join(map(str, texts)), kept="\n\t"), file=file, flush=flush)


def print_aside(text: str) -> None:
    """What is no part of a command's answer."""
    print_text(text, file=sys.stderr, flush=True)


def _spelled(one: str) -> str:
    # Controls, marks that turn the direction of a text, and halves of characters, which no stream can encode.
    if unicodedata.category(one) not in ("Cc", "Cf", "Cs"):
        return one
    return f"\\u{ord(one):04x}" if ord(one) < 0x10000 else f"\\U{ord(one):08x}"
