"""What came of checking a set of instances, as a person reads it."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import polars as pl

from robodx.analysis.fairness import PASS_RATE, Verdicts, by_factor, offenders
from robodx.terminal.console import counted, table_lines, wrapped

# Of a factor so many offenders are told one by one.
TOLD = 12


def lines(instances: pl.DataFrame, out: Path) -> Iterator[str]:
    found = by_factor(instances)
    yield from table_lines(
        [
            {
                "factor": one.factor,
                "instances": one.instances,
                "pass": one.passed,
                "pass rate": f"{one.pass_rate:.1%}" + ("" if one.is_fair else f"  below {PASS_RATE:.0%}"),
                "people accept": _share(one.people_accepted, one.people_judged),
                "judge accepts": _share(one.judge_accepted, one.judge_judged),
            }
            for one in found
        ]
    )
    for factor in (one.factor for one in found):
        failed = list(offenders(instances.filter(pl.col("factor") == factor)))
        if not failed:
            continue
        yield f"\n{factor}: {counted(len(failed), 'offender')}"
        for one in failed[:TOLD]:
            yield from wrapped(f"  {one.instance}: {'; '.join(one.reasons)}", "    ")
        if len(failed) > TOLD:
            yield f"  and {len(failed) - TOLD} more, in {out / 'instances.parquet'}"
    unfair = [one.factor for one in found if not one.is_fair]
    yield ""
    if unfair:
        yield from wrapped(f"The set is not fair: below {PASS_RATE:.0%} for {', '.join(unfair)}.")
    else:
        yield f"All factors pass: {counted(len(instances), 'instance')}, {PASS_RATE:.0%} or more of each."
    shown = instances.drop_nulls("picture")["item"].n_unique()
    yield f"Wrote {out}. {counted(shown, 'picture')} for people to judge: robodx view {shlex.quote(str(out))}"


def as_dict(instances: pl.DataFrame, out: Path) -> dict[str, Any]:
    """For a program."""
    found = by_factor(instances)
    return {
        "is_fair": all(one.is_fair for one in found),
        "least_pass_rate": PASS_RATE,
        "factors": [_factor(one) for one in found],
        "offenders": [asdict(one) for one in offenders(instances)],
        "out": str(out),
    }


def _factor(one: Verdicts) -> dict[str, Any]:
    return {**asdict(one), "pass_rate": one.pass_rate, "is_fair": one.is_fair}


def _share(accepted: int, judged: int) -> str | None:
    return f"{accepted} of {judged}" if judged else None
