"""Files of data sets from elsewhere: whatever is wrong with one becomes one line that names it."""

from __future__ import annotations

import json
import os
import threading
import zlib
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

import av
import polars as pl

from robodx.datasets.bounds import JSON_BYTES, JSON_DEPTH, JSON_LINE_BYTES, in_words
from robodx.datasets.formats.base import UnreadableData

# What the libraries raise, and our own code that finds something else than it expects. Polars panics beside them.
WRONG = (
    OSError, ValueError, LookupError, TypeError, AttributeError, ArithmeticError, RuntimeError,
    av.error.FFmpegError, zlib.error, pl.exceptions.PolarsError, pl.exceptions.PanicException,
)  # fmt: skip


@contextmanager
def reading(file: Path) -> Iterator[None]:
    try:
        yield
    except UnreadableData:
        raise
    except FileNotFoundError:
        raise UnreadableData(f"{file} is missing") from None
    except MemoryError:
        raise UnreadableData(f"{file} cannot be read: there is not enough memory for it") from None
    except WRONG as error:
        raise UnreadableData(f"{file} cannot be read: {_said(error)}") from error


_stderr = threading.Lock()


def _renew() -> None:
    """In a process that was forked while another thread read: nobody there would ever let go of the lock."""
    global _stderr
    _stderr = threading.Lock()


os.register_at_fork(after_in_child=_renew)


@contextmanager
def quiet() -> Iterator[None]:
    """Polars prints where its Rust code panics, beside raising it; what else is printed meanwhile comes afterwards.

    Where there is no standard error, or no file in memory, nothing is done.
    """
    with _stderr, ExitStack() as files:
        is_possible = False
        with suppress(OSError, AttributeError):
            kept = files.enter_context(os.fdopen(os.dup(2), "wb", 0))
            printed = files.enter_context(os.fdopen(os.memfd_create("stderr"), "r+b", 0))
            os.dup2(printed.fileno(), 2)
            is_possible = True
        try:
            yield
        except pl.exceptions.PanicException:
            if is_possible:
                printed.truncate(0)
            raise
        finally:
            if is_possible:
                os.dup2(kept.fileno(), 2)
                kept.write(os.pread(printed.fileno(), os.fstat(printed.fileno()).st_size, 0))


def _said(error: BaseException) -> str:
    """A missing key is all that Python says; HDF5 has a sentence instead."""
    if isinstance(error, KeyError) and error.args:
        key = str(error.args[0])
        return key if " " in key else f"it has no {key}"
    return str(error).strip() or type(error).__name__


def read_json(file: Path) -> dict[str, Any]:
    """The object that a file holds."""
    with reading(file):
        if (size := file.stat().st_size) > JSON_BYTES:
            raise ValueError(f"it has {in_words(size)}, and a description at most {in_words(JSON_BYTES)}")
        return _object(parsed(file.read_text(encoding="utf-8")))


def read_lines(file: Path) -> Iterator[dict[str, Any]]:
    """The objects of a file that has one in each line."""
    with reading(file), file.open("rb") as lines:
        for line in iter(lambda: lines.readline(JSON_LINE_BYTES + 1), b""):
            if len(line) > JSON_LINE_BYTES:
                raise ValueError(f"a line of it is longer than {in_words(JSON_LINE_BYTES)}")
            if line.strip():
                yield _object(parsed(line.decode("utf-8")))


def parsed(text: str) -> Any:
    """JSON that is not nested too deep."""
    found = json.loads(text)
    level: list[Any] = [found] if isinstance(found, dict | list) else []
    for _ in range(JSON_DEPTH):
        if not level:
            return found
        level = [part for one in level for part in (one.values() if isinstance(one, dict) else one)]
        level = [part for part in level if isinstance(part, dict | list)]
    raise ValueError(f"it is nested more than {JSON_DEPTH} deep")


def _object(found: Any) -> dict[str, Any]:
    if not isinstance(found, dict):
        raise ValueError("it holds no JSON object")
    return found
