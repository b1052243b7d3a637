"""Ctrl-C and SIGTERM: the run stops, keeps finished episodes and prints where they are."""

from __future__ import annotations

import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import typer

from robodx.output import print_text
from robodx.users_code import interrupt


@contextmanager
def keeping(folder: Path, what: str = "Finished episodes") -> Iterator[None]:
    """Stop on Ctrl-C, and print what was kept."""
    stop_on_signals()
    try:
        yield
    except KeyboardInterrupt:
        kept = f"{what} are in {folder}; the same command resumes there."
        print_text(f"\nStopped. {kept if folder.exists() else 'Nothing had started.'}", file=sys.stderr)
        raise typer.Exit(130) from None


def tell_of_finishing(begun: int) -> None:
    """Print at once, because finishing takes minutes."""
    cases = "1 case" if begun == 1 else f"{begun} cases"
    print_text(f"\nFinishing {cases} under way; Ctrl-C again stops at once.", file=sys.stderr, flush=True)


def stop_on_signals() -> None:
    """Ctrl-C and SIGTERM both stop a run, which keeps finished episodes.

    Set again here, because polars installs a SIGINT handler that restarts the system calls in which a run waits.
    """
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, interrupt)
