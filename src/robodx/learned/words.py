"""Instructions as numbers: a word each, for policies that were trained on a list of words."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

WORD = re.compile(r"[a-z]+|[0-9]+(?:\.[0-9]+)?|[^\sa-z0-9]")
# Numbers of no word, and of one that is not in the list.
PADDING, UNKNOWN = 0, 1
SPECIAL = ("<padding>", "<unknown>")


def words_of(text: str) -> list[str]:
    return WORD.findall(text.lower())


def vocabulary_of(texts: Iterable[str]) -> list[str]:
    """All words of these texts, after the two that stand for none and for any other."""
    return [*SPECIAL, *sorted({word for text in texts for word in words_of(text)})]


def numbered(text: str, vocabulary: Sequence[str], longest: int) -> list[int]:
    """As many numbers as asked for: longer texts lose their end, shorter ones are padded."""
    number = {word: index for index, word in enumerate(vocabulary)}
    known = [number.get(word, UNKNOWN) for word in words_of(text)][:longest]
    return [*known, *[PADDING] * (longest - len(known))]
