"""Progress bars and tables for a person, and JSON for a program."""

from __future__ import annotations

import json
import textwrap
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

from robodx.output import print_text, visible

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    import rich.progress
    from rich.console import Console

    from robodx.running.loop import RunObserver

T = TypeVar("T")

# The rest are in the record, with their tracebacks.
SHOWN_ERRORS = 3
# Who reads a log is to see that it goes on.
SILENT_S = 30.0
WIDTH = 120


def eta_bar(console: Console) -> rich.progress.Progress:
    """A bar with what is done, the time it took and the time that is left; none where there is no terminal."""
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    return Progress(
        TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), TextColumn("left"),
        TimeRemainingColumn(), console=console, disable=not console.is_terminal,
    )  # fmt: skip


@contextmanager
def progress_bar(
    note: Callable[[], str] | None = None,
    *,
    first: str = "",
    most: int | None = None,
    clock: Callable[[], float] = time.monotonic,
) -> Iterator[RunObserver]:
    """A bar with an ETA on a terminal; a line now and then elsewhere.

    Nobody knows how many rounds follow, so from the second on each is counted by itself. `note` says before each round,
    and at the end, what is known by then; `first` is said when it begins, so when nothing was refused; `most` is how
    many episodes there can be, if rounds decide.
    """
    from rich.console import Console

    from robodx.records.episode import Episode

    console = Console(stderr=True)
    # Trials whose last attempt ended in an error, and those that had one.
    erred: set[str] = set()
    shown: set[str] = set()
    failed_attempts, is_started, noted, last_call = 0, False, "", (0, 0, 0)
    # Episodes of earlier rounds, and the number of this one.
    before, number = 0, 0
    told_s = clock()
    with eta_bar(console) as bar:
        job = bar.add_task("episodes", total=None)

        def progress(episode: Episode | None, *, done: int, total: int, solved: int) -> None:
            nonlocal failed_attempts, is_started, noted, last_call, before, number, told_s
            number += episode is None
            if episode is None and note is None and is_started and last_call == (done, total, solved):
                # Of a finished run all rounds are there already, and each would say so.
                return
            if episode is None and most is None and is_started:
                before = last_call[1]
                bar.reset(job)
            last_call = (done, total, solved)
            total = most or total
            if not is_started and first:
                print_line(console, first)
            if not is_started and done:
                print_line(console, f"Resuming: {done} of {total} episodes are already done.")
            is_started = True
            if episode is None and note is not None:
                noted = f", {note()}"
            if episode is not None:
                erred.discard(episode.trial_id)
            if episode is not None and episode.outcome == "error":
                erred.add(episode.trial_id)
                failed_attempts += 1
                if episode.trial_id not in shown and len(shown) < SHOWN_ERRORS:
                    shown.add(episode.trial_id)
                    last = "".join((episode.error or "").strip().splitlines()[-1:])
                    print_line(console, f"error in {episode.task} seed {episode.seed}: {last}")
            errors = f", {counted(len(erred), 'error')}" if erred else ""
            attempts = f", {counted(failed_attempts, 'attempt')} failed" if failed_attempts > len(erred) else ""
            tally = f"{solved} solved{f' of {done}' if before else ''}{errors}{attempts}{noted}"
            of_round = f"round {number}: " if before else ""
            bar.update(job, completed=done - before, total=total - before, description=f"{of_round}{tally}")
            is_told = done == total or (done - before) % 50 == 0 or (noted and episode is None)
            if (is_told or clock() - told_s >= SILENT_S) and not console.is_terminal:
                told_s = clock()
                print_line(console, f"{of_round}{done - before}/{total - before} episodes, {tally}")

        yield progress
        if note is not None:
            done, total, solved = last_call
            progress(None, done=done, total=total, solved=solved)


def print_line(console: Console, text: str) -> None:
    """Beside a bar, whose console it must be."""
    console.print(visible(text), markup=False, soft_wrap=True)


@contextmanager
def counting_bar(what: str, *, clock: Callable[[], float] = time.monotonic) -> Iterator[Callable[[int, int], None]]:
    """A bar for work whose total grows as it is found out; a line now and then where there is no terminal."""
    from rich.console import Console
    from rich.progress import Progress

    console = Console(stderr=True)
    log = _Log(console, clock)
    with Progress(console=console, transient=True, disable=not console.is_terminal) as bar:
        job = bar.add_task(what, total=None)

        def advance(done: int, total: int) -> None:
            bar.update(job, completed=done, total=total)
            log.say(f"{done} of {total} {what}")

        yield advance


def tracked(items: Iterable[T], total: int, what: str, *, clock: Callable[[], float] = time.monotonic) -> Iterator[T]:
    """The same, with a bar and an ETA on a terminal, and a line now and then elsewhere."""
    from rich.console import Console

    console = Console(stderr=True)
    log = _Log(console, clock)
    with eta_bar(console) as bar:
        for done, item in enumerate(bar.track(items, total=total, description=what)):
            log.say(f"{done} of {total} {what}")
            yield item


class _Log:
    """Shows who reads a log that the work goes on."""

    def __init__(self, console: Console, clock: Callable[[], float]) -> None:
        self._console, self._clock, self._told_s = console, clock, clock()

    def say(self, text: str) -> None:
        if not self._console.is_terminal and self._clock() - self._told_s >= SILENT_S:
            self._told_s = self._clock()
            print_line(self._console, text)


def print_table(rows: list[dict[str, Any]]) -> None:
    for line in table_lines(rows):
        print_text(line)


def table_lines(rows: list[dict[str, Any]]) -> list[str]:
    """Columns that hold nothing are left out."""
    names = [name for name in (rows[0] if rows else {}) if any(row[name] is not None for row in rows)]
    texts = [{name: "" if row[name] is None else visible(str(row[name])) for name in names} for row in rows]
    widths = {name: max(len(name), *(len(text[name]) for text in texts)) for name in names}
    return [
        "  ".join(text[name].ljust(widths[name]) for name in names).rstrip()
        for text in ({name: name for name in names}, *texts)
    ]


def wrapped(text: str, indent: str = "") -> list[str]:
    """Lines no wider than a terminal; those after the first are indented."""
    return textwrap.wrap(text, WIDTH, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)


def counted(number: int, what: str, plural: str = "s") -> str:
    """As "1 episode" or "2 episodes"."""
    return f"{number} {what}{'' if number == 1 else plural}"


def print_json(content: object) -> None:
    print_text(json.dumps(content, indent=2))
