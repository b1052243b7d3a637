"""Which episodes a page shows: those that findings name, then films, then failures; each policy gets its share."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import polars as pl

from robodx.analysis.null_inputs import lacks_input

# More would make a page that nobody scrolls through; the viewer shows all.
MOST = 48
EXAMPLES = 3
# It is failures that tell something.
SOLVED = 9


def chosen(
    episodes: Sequence[pl.DataFrame], examples: Sequence[Sequence[Sequence[str]]], films: Mapping[str, Path]
) -> list[str]:
    """Trial ids, the most telling first; `examples` are those of each finding of each policy."""
    queues = [_wanted(table, found, films) for table, found in zip(episodes, examples, strict=True)]
    in_turn = (trial for round_ in itertools.zip_longest(*queues) for trial in round_ if trial is not None)
    return list(itertools.islice(dict.fromkeys(in_turn), MOST))


def _wanted(episodes: pl.DataFrame, examples: Sequence[Sequence[str]], films: Mapping[str, Path]) -> Iterator[str]:
    there = set(episodes["trial_id"])
    # The first example of each finding, then the second of each.
    for turn in itertools.zip_longest(*(each[:EXAMPLES] for each in examples)):
        yield from (trial for trial in turn if trial in there)
    every = episodes.filter(pl.col("outcome").is_in(["failure", "timeout"]))
    # Without pictures or words nobody need succeed: these come last.
    failed, without = every.filter(~lacks_input()), every.filter(lacks_input())
    solved = episodes.filter(pl.col("outcome") == "success")
    yield from (trial for trial in _varied(failed) if trial in films)
    yield from itertools.islice((trial for trial in _varied(solved) if trial in films), SOLVED)
    yield from _varied(failed)
    yield from _varied(without)


def _varied(episodes: pl.DataFrame) -> Iterator[str]:
    """One of every task and kind of failure, then a second of each."""
    ranked = episodes.with_columns(place=pl.int_range(pl.len()).over("task", "failure_kind"))
    yield from ranked.sort("place", maintain_order=True)["trial_id"]
