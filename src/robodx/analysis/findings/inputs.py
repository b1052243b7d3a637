"""A light look at what a policy uses: situations that it solves, with one of its inputs taken away."""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from robodx.analysis.null_inputs import NULL_INPUTS, input_name
from robodx.records.values import read_applied, spelled

SUITE = "diagnosis"
SAYS = {
    "words": "without words", "which words": "with the words of another task",
    "order of words": "with its words in another order", "robot state": "with a robot state that never changes",
    "all cameras": "without pictures",
}  # fmt: skip


@dataclass(frozen=True)
class InputSeen:
    """Of situations that are solved with all inputs, how many are solved without this one."""

    # As "which words", "all cameras".
    input: str
    solved: int
    tried: int

    @property
    def says(self) -> str:
        return f"{SAYS.get(self.input, f'without the {self.input}')} {self.solved} of {self.tried}"


def with_missing_input(episodes: pl.DataFrame) -> pl.DataFrame:
    """With the column `missing_input`: what was taken away beyond what is done in all of them, if that is an input."""
    applied = [read_applied(row) for row in episodes["perturbations"].to_list()]
    common = set(applied[0]).intersection(*applied) if applied else set()
    missing = [
        next((input_name(name, spelled(value)) for name, value in each if name in NULL_INPUTS), None)
        for each in ([one for one in every if one not in common] for every in applied)
    ]
    return episodes.with_columns(missing_input=pl.Series(missing, dtype=pl.String))


def inputs_seen(episodes: pl.DataFrame) -> tuple[InputSeen, ...]:
    """Each input that a diagnosis took away in situations that it solved; the suite `null_inputs` says more."""
    ended = with_missing_input(episodes).filter((pl.col("suite") == SUITE) & (pl.col("outcome") != "error"))
    least = pl.col("perturbations").list.len()
    solved = ended.filter((least == least.min()) & pl.col("missing_input").is_null() & pl.col("success"))["pair_id"]
    tried = ended.filter(pl.col("missing_input").is_not_null() & pl.col("pair_id").is_in(solved.implode()))
    counted = tried.group_by("missing_input").agg(pl.col("success").sum(), pl.len()).sort("missing_input")
    return tuple(InputSeen(name, won, of) for name, won, of in counted.iter_rows())
