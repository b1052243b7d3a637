"""Says a meaning in words: a canonical sentence, and other phrasings of it for training and for testing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from robodx.language.meaning import Clause, Instruction, Meaning, Reference

Split = Literal["train", "test"]


@dataclass(frozen=True)
class Phrasings:
    """Templates over {target} and {place}; the first of `train` is the canonical one."""

    train: tuple[str, ...]
    test: tuple[str, ...]


# By action and relation. No two of a row share both their main verb and their clause order.
PHRASINGS: dict[tuple[str, str | None], Phrasings] = {
    ("pick", None): Phrasings(
        ("pick up {target}", "lift {target} off the table", "grab {target} and raise it"),
        ("take {target} from the table", "hoist {target} into the air", "get a hold of {target} and lift it"),
    ),
    ("put", "in"): Phrasings(
        ("put {target} in {place}", "place {target} inside {place}", "drop {target} into {place}"),
        ("into {place}, set {target}", "transfer {target} to {place}", "move {target} so that it rests in {place}"),
    ),
    ("put", "on"): Phrasings(
        ("put {target} on top of {place}", "stack {target} on {place}", "set {target} down onto {place}"),
        ("on top of {place}, place {target}", "rest {target} upon {place}", "move {target} onto {place}"),
    ),
    ("put", "beside"): Phrasings(
        ("put {target} right beside {place}", "place {target} directly next to {place}", "set {target} by {place}"),
        ("directly beside {place}, lay {target}", "move {target} right up to {place}", "bring {target} beside {place}"),
    ),
    ("push", "onto"): Phrasings(
        ("push {target} onto {place}", "slide {target} over to {place}", "shove {target} into the area of {place}"),
        ("onto {place}, nudge {target}", "move {target} along the table to {place}", "drive {target} over {place}"),
    ),
    ("insert", "into"): Phrasings(
        ("insert {target} into {place}", "push {target} all the way into {place}", "fit {target} in {place}"),
        ("into {place}, slide {target}", "plug {target} into {place}", "drive {target} home in {place}"),
    ),
    ("press", None): Phrasings(
        ("press {target}", "push {target} down", "hit {target}"),
        ("depress {target}", "give {target} a push", "activate {target} by pressing it"),
    ),
}  # fmt: skip


def say(*clauses: Clause) -> Instruction:
    """The canonical instruction for these clauses, done in order."""
    return phrase(Meaning(clauses), "train", 0)


def phrase(meaning: Meaning, split: Split, index: int) -> Instruction:
    """The same meaning in the split's `index`-th phrasing, counted around."""
    sentences = [_say_clause(clause, split, index) for clause in meaning.clauses]
    text = ", then ".join(sentences)
    return Instruction(f"{text[0].upper()}{text[1:]}.", meaning)


def phrasing_count(meaning: Meaning, split: Split) -> int:
    return min(len(getattr(_phrasings(clause), split)) for clause in meaning.clauses)


def _phrasings(clause: Clause) -> Phrasings:
    return PHRASINGS[clause.action, clause.place.relation if clause.place else None]


def _say_clause(clause: Clause, split: Split, index: int) -> str:
    templates: tuple[str, ...] = getattr(_phrasings(clause), split)
    place = _list(clause.place.of) if clause.place else ""
    template = templates[index % len(templates)]
    if clause.is_negated:
        # Before the verb, which follows the comma where the place is named first.
        front, comma, main = template.rpartition(", ")
        template = f"{front}{comma}do not {main}"
    return template.format(target=f"the {clause.target.words}", place=place)


def _list(references: tuple[Reference, ...]) -> str:
    return " and ".join(f"the {reference.words}" for reference in references)
