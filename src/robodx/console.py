"""What a person sees at the terminal: progress, tables, summaries; and JSON for a program."""

from __future__ import annotations

import json
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from robodx.running.run import Progress

# The rest are in the record, with their tracebacks.
SHOWN_ERRORS = 3


@contextmanager
def progress_bar() -> Iterator[Progress]:
    """A bar with an ETA on a terminal; a line now and then elsewhere."""
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    from robodx.running.episode import Episode

    console = Console(stderr=True)
    errors, is_started = 0, False
    columns = (
        TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), TextColumn("left"),
        TimeRemainingColumn(),
    )  # fmt: skip
    with Progress(*columns, console=console, disable=not console.is_terminal) as bar:
        job = bar.add_task("episodes", total=None)

        def progress(episode: Episode | None, *, done: int, total: int, solved: int) -> None:
            nonlocal errors, is_started
            if not is_started and done:
                console.print(f"Resuming: {done} of {total} episodes are there already.")
            is_started = True
            if episode is not None and episode.outcome == "error":
                errors += 1
                if errors <= SHOWN_ERRORS:
                    last = "".join((episode.error or "").strip().splitlines()[-1:])
                    console.print(f"error in {episode.task} seed {episode.seed}: {last}", markup=False, soft_wrap=True)
            tally = f"{solved} solved" + (f", {errors} errors" if errors else "")
            bar.update(job, completed=done, total=total, description=tally)
            if not console.is_terminal and (done == total or done % 50 == 0):
                console.print(f"{done}/{total} episodes, {tally}")

        yield progress


@contextmanager
def counting_bar(what: str) -> Iterator[Callable[[int, int], None]]:
    """A bar for work whose total grows as it is found out."""
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as bar:
        job = bar.add_task(what, total=None)
        yield lambda done, total: bar.update(job, completed=done, total=total)


def print_summary(run: Path, *, as_json: bool) -> bool:
    """Whether there are few enough errors for a rate."""
    from robodx.analysis.episodes import load, read_about
    from robodx.analysis.summary import error_bounds, success_rate, summarise

    # Older runs do not say.
    episodes, beside = load(run), read_about(run).get("not_applicable", [])
    rows, overall = summarise(episodes), success_rate(episodes)
    if as_json:
        table = [asdict(row) for row in rows]
        print_json({"run": str(run), "rows": table, "all": asdict(overall), "not_applicable": beside})
        return overall.value is not None
    print_table(
        [
            {
                "policy": row.policy, "task": row.task, "tier": row.tier, "perturbed": row.perturbations or None,
                "success": str(row.success), "n": row.success.n,
                "progress": None if row.progress is None else f"{row.progress:.2f}",
                "steps": None if row.median_steps is None else f"{row.median_steps:.0f}",
                "errors": row.errors or None,
            }
            for row in rows
        ]
    )  # fmt: skip
    if overall.value is not None:
        print(f"{len(episodes)} episodes; success over all of them {overall}, n = {overall.n}.")
    elif bounds := error_bounds(episodes):
        low, high = bounds
        print(f"Too many errors for a rate: between {low:.0%} and {high:.0%} of {len(episodes)}, had they ended.")
    else:
        print("No episodes yet.")
    if beside:
        print(f"Not applicable, for the policy reads no instructions: {', '.join(beside)}.")
    print("success: rate with its 95% Wilson interval; n: episodes, those alike bit for bit counted once.")
    return overall.value is not None


def print_table(rows: list[dict[str, Any]]) -> None:
    """Columns that hold nothing are left out."""
    names = [name for name in (rows[0] if rows else {}) if any(row[name] is not None for row in rows)]
    texts = [{name: "" if row[name] is None else str(row[name]) for name in names} for row in rows]
    widths = {name: max(len(name), *(len(text[name]) for text in texts)) for name in names}
    for text in ({name: name for name in names}, *texts):
        print("  ".join(text[name].ljust(widths[name]) for name in names).rstrip())


def print_json(content: object) -> None:
    print(json.dumps(content, indent=2))
