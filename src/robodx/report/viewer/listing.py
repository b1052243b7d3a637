"""A page of the list of episodes: filtered, sorted, and with the counts of what else could be chosen."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import polars as pl

from robodx.errors import UserError

FACETS = ("outcome", "kind", "variant", "family", "tier", "task", "policy", "film")
SORTS = {
    "task": ("task", "seed", "variant_rank", "repeat", "policy"),
    "seed": ("seed", "task", "variant_rank", "repeat", "policy"),
    "outcome": ("outcome", "kind", "task", "seed"),
    "variant": ("variant_rank", "variant", "task", "seed"),
    "policy": ("policy", "task", "seed", "variant_rank"),
    "progress": ("progress", "task", "seed"),
    "duration": ("duration_s", "task", "seed"),
    "path": ("path_length_m", "task", "seed"),
}
# Of a facet, as many values are told; the search finds the rest.
MOST_VALUES = 300
LONGEST_PAGE = 500
SHOWN = (
    "run", "trial_id", "pair_id", "task", "seed", "repeat", "policy", "variant", "outcome", "kind", "failure_type",
    "progress", "steps", "duration_s", "said", "film",
)  # fmt: skip


# Where there are no runs.
EMPTY_PAGE: Mapping[str, Any] = {
    "total": 0, "matching": 0, "solved": 0, "errors": 0, "offset": 0, "rows": [], "facets": {}, "places": [],
}  # fmt: skip


@dataclass(frozen=True)
class Query:
    """What is to be listed. Values of one facet are alternatives; words must all be there."""

    chosen: Mapping[str, Sequence[str]] = field(default_factory=dict)
    text: str = ""
    sort: str = "task"
    is_descending: bool = False
    offset: int = 0
    limit: int = 100
    # (run, trial_id) of episodes whose places in the list are wanted.
    located: Sequence[tuple[str, str]] = ()

    def __post_init__(self) -> None:
        if self.sort not in SORTS:
            raise UserError(f'No order "{self.sort}"; there are {", ".join(SORTS)}')


def matching(listing: pl.DataFrame, query: Query) -> pl.DataFrame:
    """The rows that are asked for, in their order."""
    return _ordered(_chosen(_with_words(listing, query), _tests(query)), query)


def page(listing: pl.DataFrame, query: Query) -> dict[str, Any]:
    """The rows from `offset` on, how many there are, and the facets."""
    tests = _tests(query)
    found = _with_words(listing, query)
    shown = _ordered(_chosen(found, tests), query)
    return {
        "total": len(listing),
        "matching": len(shown),
        "solved": int((shown["outcome"] == "success").sum()),
        "errors": int((shown["outcome"] == "error").sum()),
        "offset": query.offset,
        "rows": shown.slice(query.offset, min(query.limit, LONGEST_PAGE)).select(SHOWN).to_dicts(),
        "facets": {name: _facet(found, name, tests, query.chosen.get(name, ())) for name in FACETS},
        "places": [_place(shown, *one) for one in query.located],
    }


def _tests(query: Query) -> dict[str, pl.Expr]:
    return {name: pl.col(name).is_in(list(values)) for name, values in query.chosen.items() if values}


def _with_words(listing: pl.DataFrame, query: Query) -> pl.DataFrame:
    words = [pl.col("words").str.contains(word, literal=True) for word in query.text.lower().split()]
    return listing.filter(*words) if words else listing


def _chosen(found: pl.DataFrame, tests: Mapping[str, pl.Expr]) -> pl.DataFrame:
    return found.filter(*tests.values()) if tests else found


def _ordered(shown: pl.DataFrame, query: Query) -> pl.DataFrame:
    return shown.sort(
        *SORTS[query.sort], "trial_id", "run", descending=query.is_descending, nulls_last=True, maintain_order=True
    )


def _facet(
    found: pl.DataFrame, name: str, tests: Mapping[str, pl.Expr], chosen: Sequence[str]
) -> list[dict[str, str | int]]:
    """Each value with how many episodes there are, given what is chosen of the other facets."""
    others = [test for facet, test in tests.items() if facet != name]
    kept = (found.filter(*others) if others else found)[name].drop_nulls()
    counts: dict[str, int] = dict(kept.value_counts().iter_rows())
    # What is chosen stays to be seen, though nothing is left of it.
    values = sorted({*counts, *chosen})[:MOST_VALUES]
    return [{"value": value, "count": counts.get(value, 0)} for value in values]


def _place(shown: pl.DataFrame, run: str, trial_id: str) -> int | None:
    places = ((shown["run"] == run) & (shown["trial_id"] == trial_id)).arg_true()
    return int(places[0]) if len(places) else None
