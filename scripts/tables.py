"""What the scripts that fill tables share: runs that are kept and resumed, and tables as Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import get_args

import polars as pl

from robodx.analysis.stress import StressTable
from robodx.analysis.summary import success_rate
from robodx.perturbations.base import STRESS_LEVELS
from robodx.records.design import Planned
from robodx.running.request import Request
from robodx.running.run import Execution, run
from robodx.tasks.base import Tier
from robodx.terminal.comparison import p_value, points
from robodx.terminal.console import progress_bar

TIERS = get_args(Tier)
# Never shown in training: not among the training families.
UNSEEN = "robustness"


def named(policy: str) -> tuple[str, str]:
    """What the run folder of a policy or of a file of weights is called, and what a request calls it."""
    path = Path(policy)
    return (path.stem, f"onnx:{path.resolve()}") if path.suffix == ".onnx" else (policy.replace(":", "."), policy)


def episodes_of(request: Request, folder: Path, workers: int, planned: list[Planned] | None = None) -> pl.DataFrame:
    """All episodes of a run; what is missing in its folder is run."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    with progress_bar() as progress:
        return run(request, folder, Execution(workers=workers), observers=[progress], planned=planned)


def markdown(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    every = [head, *rows]
    if odd := [row for row in every if len(row) != len(head)]:
        raise ValueError(f"{len(odd[0])} cells under {len(head)} headings: {odd[0]}")
    first, *others = (f"| {' | '.join(row)} |" for row in every)
    return "\n".join([first, "|" + "---|" * len(head), *others])


def cell(episodes: pl.DataFrame) -> str:
    """Success with its interval; empty where nothing was run."""
    return "" if episodes.is_empty() else str(success_rate(episodes))


def by_stressor(table: StressTable, policy: str) -> str:
    """Over all carriers: success under stress, and the fall on the same situations."""
    trends = {trend.stressor: trend for trend in table.trends}
    levels = [word for level in STRESS_LEVELS for word in (level, "fall")]
    rows = []
    for name, found in table.levels(policy).items():
        cells = {row.level: [str(row.stressed), points(row.difference)] for row in found}
        under = [text for level in STRESS_LEVELS for text in cells.get(level, ["", ""])]
        p = p_value(trends[name].p_holm) if name in trends else None
        clean = found[0].clean
        rows.append([f"`{name}`", found[0].kind, str(clean), str(clean.n), *under, p or "not ordered"])
    text = markdown(["stressor", "kind", "clean", "n", *levels, "p"], rows)
    weak = [f"`{one.task}` ({one.clean})" for one in table.not_testable]
    beside = table.not_applicable_says(policy)
    not_testable = f"Not testable, for it fails without stress: {', '.join(weak)}." if weak else ""
    return "\n\n".join(filter(None, (text, not_testable, beside)))
