"""Atomic writing: files are written under a temporary name and then moved into place, lines are added whole."""

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Iterator
from pathlib import Path


@contextlib.contextmanager
def beside(path: Path) -> Iterator[Path]:
    """A place to write to; it becomes `path` when the block ends well, and is removed when it does not."""
    # Two processes may write the same file at once.
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        yield part
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)


def write(path: Path, content: bytes) -> None:
    with beside(path) as part:
        part.write_bytes(content)


def add_line(file: int, line: bytes) -> None:
    """A line at the end of an open file that no other process writes to now: on the disk, or the file is as it was.

    A last line that was cut off, when its writer was killed, is ended first: it damages no line but itself.
    """
    size = os.fstat(file).st_size
    is_cut = size > 0 and os.pread(file, 1, size - 1) != b"\n"
    content = (b"\n" if is_cut else b"") + line + b"\n"
    try:
        # On a full disk it writes as much as there is room for, and no error.
        if os.write(file, content) < len(content):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        os.fsync(file)
    except OSError:
        with contextlib.suppress(OSError):
            os.ftruncate(file, size)
        raise
