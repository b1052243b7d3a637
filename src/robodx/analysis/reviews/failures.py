"""The failure review: pairs of a source and a follow-up trial that the oracle or a relation accuses."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np
import polars as pl

from robodx.analysis.metamorphic.words import expectation
from robodx.analysis.reviews.sampling import MARGIN, draw, population
from robodx.analysis.reviews.taxonomy import LABELS, automatic_label
from robodx.records.design import rows_of
from robodx.records.pairs import ROW
from robodx.records.review import DEFAULT_NAME, Film, Item, Review
from robodx.records.values import as_option, read_applied

TITLE = "Review failures"
QUESTION = "What went wrong in the follow-up?"


def item_id() -> pl.Expr:
    """What an item of a pair is called, as a column of the pairs table."""
    return pl.concat_str(*ROW, separator=".").alias("item")


def failure_review(
    pairs: pl.DataFrame,
    episodes: pl.DataFrame,
    rng: np.random.Generator,
    *,
    level: str,
    margin: float = MARGIN,
    name: str = DEFAULT_NAME,
) -> Review:
    """Of pairs with `is_violated` at the level, and the episodes of the run with their design."""
    sample = draw(pairs, rng, margin).with_columns(item_id())
    trials = {*sample["source_id"], *sample["trial_id"]}
    shown = episodes.filter(pl.col("trial_id").is_in(list(trials)))
    rows = {row["trial_id"]: row for row in shown.iter_rows(named=True)}
    factors = {(row["source_id"], row["trial_id"]): row["factors"] for row in rows_of(shown).iter_rows(named=True)}
    items = tuple(
        _item(pair, rows, factors.get((pair["source_id"], pair["trial_id"]), ()))
        for pair in sample.iter_rows(named=True)
    )
    drawn: dict[str, str | int | float] = {
        "level": level, "margin": margin, "population": len(population(pairs)), "pairs": len(pairs),
    }  # fmt: skip
    return Review(name, TITLE, QUESTION, LABELS, items, drawn)


def _item(pair: Mapping[str, Any], rows: Mapping[str, Mapping[str, Any]], factors: Iterable[Mapping[str, Any]]) -> Item:
    source, follow_up = rows.get(pair["source_id"]), rows.get(pair["trial_id"])
    changes = [*_differences(source or {}, follow_up or {}), *_moves(factors)]
    facts = [
        ("relation", expectation(pair["relation"], pair["pattern"])),
        ("what differs", "; ".join(changes)),
        ("task", pair["task"]),
    ]
    return Item(
        pair["item"],
        (Film("source", pair["source_id"], _said(source)), Film("follow-up", pair["trial_id"], _said(follow_up))),
        tuple((name, text) for name, text in facts if text),
        pair["drawn_from"],
        automatic_label(pair["is_flagged"], pair["failure_type"]),
    )


def _said(row: Mapping[str, Any] | None) -> str:
    return " → ".join(one["text"] for one in (row or {}).get("instructions") or () if one["text"])


def _differences(source: Mapping[str, Any], follow_up: Mapping[str, Any]) -> Iterator[str]:
    """What the follow-up was given that the source was not."""
    if _said(source) != _said(follow_up):
        yield "the instruction"
    for column in ("interventions", "perturbations"):
        before = read_applied(source.get(column))
        yield from (as_option(*one) for one in read_applied(follow_up.get(column)) if one not in before)
    if source.get("repeat") != follow_up.get("repeat"):
        yield "the policy's own randomness"


def _moves(factors: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    metres = {one["name"]: one["number"] for one in factors}
    x, y = metres.get("moved_x"), metres.get("moved_y")
    if x is not None and y is not None:
        # The robot looks along x, and y is to its left.
        away = f"{100 * abs(x):.0f} cm {'away from' if x > 0 else 'towards'} the robot"
        yield f"moved {away} and {100 * abs(y):.0f} cm to its {'left' if y > 0 else 'right'}"
