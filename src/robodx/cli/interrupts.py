"""Ctrl-C and a polite kill: what is finished is kept, and said to be."""

from __future__ import annotations

import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import typer


@contextmanager
def keeping(folder: Path) -> Iterator[None]:
    """Stop on Ctrl-C, and say what is kept."""
    stop_on_signals()
    try:
        yield
    except KeyboardInterrupt:
        kept = f"What was finished is in {folder}; the same command goes on from there."
        print(f"\nStopped. {kept if folder.exists() else 'Nothing had begun.'}", file=sys.stderr)
        raise typer.Exit(130) from None


def tell_of_finishing(begun: int) -> None:
    """At once, for what has begun takes minutes."""
    them = "the one that has" if begun == 1 else f"the {begun} that have"
    print(f"\nFinishing {them} begun; Ctrl-C again stops at once.", file=sys.stderr, flush=True)


def stop_on_signals() -> None:
    """Ctrl-C and a polite kill both stop a run, which keeps what is finished.

    Set anew, because importing polars leaves SIGINT restarting the very calls in which a run waits.
    """
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.default_int_handler)
