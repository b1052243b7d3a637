"""What came of a review: how far everybody is, what they chose, and how well they agree, also with the program."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import polars as pl

from robodx.analysis.statistics.agreement import Agreement, agreement
from robodx.records.annotations import Annotations
from robodx.records.review import Review


@dataclass(frozen=True)
class Between:
    """Two annotators, on the items that both labelled."""

    first: str
    second: str
    labels: Agreement
    # Groups of labels; what has none is a group of its own.
    groups: Agreement


@dataclass(frozen=True)
class WithProgram:
    """What the program says, beside what most people chose of an item."""

    labels: Agreement
    groups: Agreement
    # Items that are left out: as many chose one label as another, or all abstained.
    undecided: int
    # (automatic, people, how many).
    confusion: tuple[tuple[str, str, int], ...]


@dataclass(frozen=True)
class Outcome:
    items: int
    # How many of them anybody labelled.
    labelled: int
    # By annotator.
    progress: dict[str, int]
    # By annotator, of each label that was chosen as the main one.
    counts: dict[str, dict[str, int]]
    between: tuple[Between, ...]
    # Of all items; and of those in which the program found something to name.
    with_program: WithProgram
    with_attribution: WithProgram
    problems: tuple[str, ...]


def outcome(review: Review, said: Annotations) -> Outcome:
    """Every annotator's last word on an item counts."""
    people = {name: {item: one.label for item, one in said.of(name).items()} for name in said.annotators()}
    grouped = {label.name for label in review.labels if label.group}
    automatic = {item.id: item.automatic for item in review.items if item.automatic is not None}
    return Outcome(
        items=len(review.items),
        labelled=len({one.item for one in said.kept}),
        progress={name: len(chosen) for name, chosen in people.items()},
        counts={name: dict(Counter(chosen.values())) for name, chosen in people.items()},
        between=tuple(_between(review, people, *two) for two in combinations(people, 2)),
        with_program=_with_program(review, people, automatic),
        with_attribution=_with_program(
            review, people, {item: label for item, label in automatic.items() if label in grouped}
        ),
        problems=tuple(said.problems),
    )


def annotation_table(review: Review, said: Annotations, pairs: pl.DataFrame | None = None) -> pl.DataFrame:
    """One row for each annotation, with what it is of; `pairs` has the column `item` and others to be added."""
    items = {item.id: item for item in review.items}
    rows = [
        {
            "item": one.item, "annotator": one.annotator, "label": one.label, "group": review.groups[one.label],
            "further": "; ".join(one.further), "text": one.text, "time": one.time, "version": one.version,
            "drawn_from": items[one.item].drawn_from, "automatic": items[one.item].automatic,
        }
        for one in said.kept
    ]  # fmt: skip
    names = (
        "item", "annotator", "label", "group", "further", "text", "time", "version", "drawn_from", "automatic",
    )  # fmt: skip
    table = pl.DataFrame(rows, schema=dict.fromkeys(names, pl.String))
    if pairs is None:
        return table
    return table.join(pairs.unique("item", keep="first"), on="item", how="left", maintain_order="left")


def _between(review: Review, people: dict[str, dict[str, str]], first: str, second: str) -> Between:
    shared = [item.id for item in review.items if item.id in people[first] and item.id in people[second]]
    a, b = ([people[name][item] for item in shared] for name in (first, second))
    return Between(first, second, agreement(a, b), _of_groups(review, a, b))


def _with_program(review: Review, people: dict[str, dict[str, str]], automatic: dict[str, str]) -> WithProgram:
    """By items and not by annotations: two people who look at the same films are not two observations."""
    chosen = {item: [labels[item] for labels in people.values() if item in labels] for item in automatic}
    abstentions = {label.name for label in review.labels if label.is_abstention}
    most = {
        item: _majority([one for one in labels if one not in abstentions]) for item, labels in chosen.items() if labels
    }
    judged = {item: label for item, label in most.items() if label is not None}
    a, b = [automatic[item] for item in judged], list(judged.values())
    confusion = sorted(((*cell, count) for cell, count in Counter(zip(a, b, strict=True)).items()))
    return WithProgram(agreement(a, b), _of_groups(review, a, b), len(most) - len(judged), tuple(confusion))


def _majority(labels: Sequence[str]) -> str | None:
    """What more people chose than anything else."""
    ranked = Counter(labels).most_common(2)
    is_tie = len(ranked) == 2 and ranked[0][1] == ranked[1][1]
    return None if not ranked or is_tie else ranked[0][0]


def _of_groups(review: Review, a: Sequence[str], b: Sequence[str]) -> Agreement:
    return agreement([review.groups[one] for one in a], [review.groups[one] for one in b])
