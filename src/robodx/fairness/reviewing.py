"""The pictures of a set as a review: what people are asked about them, and what they said."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from robodx.fairness.judge import VERDICTS
from robodx.records.annotations import Annotations
from robodx.records.review import Item, Label, Picture, Review, read_review, review_path, write_review

NAME = "fairness"
TITLE = "Judge pictures"
QUESTION = "Could a person do what is asked, with this picture alone?"
ACCEPT, REJECT, CANNOT_TELL = VERDICTS
LABELS = (
    Label(
        ACCEPT,
        help="What is to be moved and where it goes can both be seen, as solid things. Odd colours, light and views "
        "are intended.",
    ),
    Label(
        REJECT,
        help="One of them is missing, hidden, cut off, too small, flat, or cannot be told from what is around it; or "
        "it is done already.",
    ),
    Label(CANNOT_TELL, help="The picture is broken, or you do not know. It counts as not judged.", is_abstention=True),
)
OFFENDER, SAMPLE = "offender", "sampled instance"


class People(NamedTuple):
    """Of one picture: what more people said than anything else, and how many said what."""

    verdict: str | None
    accepted: int
    rejected: int


def fairness_review(rows: Sequence[Mapping[str, Any]], rng: np.random.Generator) -> Review:
    """Of rows of the table of instances that have a picture; instances that look the same are one item.

    In a random order: who judges one after the other must not know what the program says of the next.
    """
    shown = {row["item"]: row for row in reversed(rows) if row["picture"] is not None}
    items = [
        Item(
            key,
            # Who is to judge the picture must know what the robot is told, and not for what value it was made.
            facts=(("factor", row["factor"]),),
            drawn_from=SAMPLE if row["passes"] else OFFENDER,
            automatic=ACCEPT if row["passes"] else REJECT,
            pictures=(Picture(", ".join(row["cameras"]), row["picture"], row["instruction"]),),
        )
        for key, row in sorted(shown.items())
    ]
    order = rng.permutation(len(items))
    return Review(NAME, TITLE, QUESTION, LABELS, tuple(items[place] for place in order), {"instances": len(rows)})


def store(folder: Path, review: Review) -> None:
    """Unless it is there already: who labels it now keeps their place."""
    if not (review_path(folder, NAME).exists() and read_review(folder, NAME) == review):
        write_review(folder, review)


def said_by_people(said: Annotations) -> dict[str, People]:
    """By item."""
    counts: dict[str, Counter[str]] = {}
    for one in said.kept:
        counts.setdefault(one.item, Counter())[one.label] += 1
    return {item: _people(found) for item, found in counts.items()}


def _people(found: Counter[str]) -> People:
    accepted, rejected = found[ACCEPT], found[REJECT]
    if accepted == rejected:
        return People(None if accepted else CANNOT_TELL, accepted, rejected)
    return People(ACCEPT if accepted > rejected else REJECT, accepted, rejected)
