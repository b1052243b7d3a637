"""What a person sees at the terminal: progress, tables, summaries; and JSON for a program."""

from __future__ import annotations

import json
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from robodx.analysis.compare import Comparison
    from robodx.running.run import Progress
    from robodx.suites.cliff import Search

# The rest are in the record, with their tracebacks.
SHOWN_ERRORS = 3


@contextmanager
def progress_bar(note: Callable[[], str] | None = None, *, most: int | None = None) -> Iterator[Progress]:
    """A bar with an ETA on a terminal; a line now and then elsewhere.

    `note` says before each round what is known by then; `most` is how many episodes there can be, if rounds decide.
    """
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
    errors, is_started, noted = 0, False, ""
    columns = (
        TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), TextColumn("left"),
        TimeRemainingColumn(),
    )  # fmt: skip
    with Progress(*columns, console=console, disable=not console.is_terminal) as bar:
        job = bar.add_task("episodes", total=None)

        def progress(episode: Episode | None, *, done: int, total: int, solved: int) -> None:
            nonlocal errors, is_started, noted
            total = most or total
            if not is_started and done:
                console.print(f"Resuming: {done} of {total} episodes are there already.")
            is_started = True
            if episode is None and note is not None:
                noted = f", {note()}"
            if episode is not None and episode.outcome == "error":
                errors += 1
                if errors <= SHOWN_ERRORS:
                    last = "".join((episode.error or "").strip().splitlines()[-1:])
                    console.print(f"error in {episode.task} seed {episode.seed}: {last}", markup=False, soft_wrap=True)
            tally = f"{solved} solved" + (f", {errors} errors" if errors else "") + noted
            bar.update(job, completed=done, total=total, description=tally)
            if not console.is_terminal and (done == total or done % 50 == 0 or (noted and episode is None)):
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


def print_summary(
    run: Path,
    *,
    as_json: bool,
    by: str | None = None,
    motion: bool = False,
    metrics: Sequence[str] = (),
    comparison: Comparison | None = None,
) -> bool:
    """Whether there are few enough errors for a rate. `by` and `motion` are for a person: JSON has everything."""
    from robodx import comparison_text
    from robodx.analysis.episodes import load, read_about
    from robodx.analysis.summary import Summary, grouping
    from robodx.summary_text import lines

    chosen = grouping(by)
    about = read_about(run)
    # Older runs do not say.
    summary, beside = Summary(load(run), about), about.get("not_applicable", [])
    if as_json:
        content = {"run": str(run), "stopped": summary.stopped, **summary.everything(chosen, metrics)}
        content["not_applicable"] = beside
        print_json(content if comparison is None else {**content, "comparison": comparison_text.as_dict(comparison)})
        return summary.success.value is not None
    for line in lines(summary, by=chosen, motion=motion, metrics=metrics):
        print(line)
    if beside:
        print(f"Not applicable, for the policy reads no instructions: {', '.join(beside)}.")
    if comparison is not None:
        print("", *comparison_text.lines(comparison), sep="\n")
    return summary.success.value is not None


def print_comparison(first: Path, second: Path, *, margin: float, as_json: bool) -> bool:
    """Whether the second run has not regressed."""
    from robodx import comparison_text
    from robodx.analysis.compare import compare

    found = compare(first, second, margin=margin)
    if as_json:
        print_json({"a": str(first), "b": str(second), **comparison_text.as_dict(found)})
    else:
        print(*comparison_text.lines(found), sep="\n")
    return found.overall.verdict is None or found.overall.verdict.word != "regressed"


def print_cliff(run: Path, search: Search, *, as_json: bool) -> None:
    """Where the cliff is, or why it cannot be said, and what came of each severity."""
    from robodx import cliff_text
    from robodx.analysis.episodes import load

    episodes = load(run)
    if as_json:
        print_json({"run": str(run), **cliff_text.as_dict(search, episodes)})
        return
    for line in cliff_text.lines(search, episodes):
        print(line)
    print(f"The episodes are in {run}.")


def cliff_note(run: Path, search: Search) -> str:
    """What is known of the cliff by now, in a few words."""
    from robodx import cliff_text
    from robodx.analysis.episodes import load

    return cliff_text.note(search.read(load(run)))


def print_table(rows: list[dict[str, Any]]) -> None:
    for line in table_lines(rows):
        print(line)


def table_lines(rows: list[dict[str, Any]]) -> list[str]:
    """Columns that hold nothing are left out."""
    names = [name for name in (rows[0] if rows else {}) if any(row[name] is not None for row in rows)]
    texts = [{name: "" if row[name] is None else str(row[name]) for name in names} for row in rows]
    widths = {name: max(len(name), *(len(text[name]) for text in texts)) for name in names}
    return [
        "  ".join(text[name].ljust(widths[name]) for name in names).rstrip()
        for text in ({name: name for name in names}, *texts)
    ]


def print_json(content: object) -> None:
    print(json.dumps(content, indent=2))
