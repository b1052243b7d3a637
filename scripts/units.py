"""Work of scripts in units: done in parallel with its progress shown, and resumed from a file of finished results."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from multiprocessing import get_context
from pathlib import Path
from typing import Any, TypeVar

from rich.console import Console

from robodx.running.threads import pin
from robodx.terminal.console import eta_bar

Unit = TypeVar("Unit")
Result = TypeVar("Result")
TELL_EVERY_S = 30.0


def at_work(units: Sequence[Unit], work: Callable[[Unit], Result], workers: int) -> Iterator[Result]:
    console = Console(stderr=True)
    told_s = started_s = time.monotonic()
    # Here, for a worker imports numpy with the script before it could do so itself.
    pin()
    # Each starts afresh: what a simulator holds is not to be copied.
    with get_context("spawn").Pool(workers) as pool, eta_bar(console) as bar:
        job = bar.add_task("units", total=len(units))
        for count, result in enumerate(pool.imap_unordered(work, units, chunksize=1), 1):
            bar.update(job, completed=count)
            now_s = time.monotonic()
            if not console.is_terminal and now_s - told_s > TELL_EVERY_S:
                told_s, left_s = now_s, (now_s - started_s) / count * (len(units) - count)
                print(f"{count} of {len(units)} units, {left_s / 60:.0f} minutes left", file=sys.stderr)
            yield result


def keep(path: Path, units: Iterable[Sequence[Mapping[str, Any]]]) -> None:
    """A line for each result. Those of a unit are written as a whole: one that is there is done."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a") as file:
        if file.tell() and not path.read_text().endswith("\n"):
            # The last line of a run that was killed.
            file.write("\n")
        for rows in units:
            file.write("".join(json.dumps(row) + "\n" for row in rows))
            file.flush()


def kept(path: Path) -> list[dict[str, Any]]:
    lines = path.read_text().splitlines() if path.exists() else []
    return [json.loads(line) for line in lines if line.endswith("}")]
