"""Atomic writing: files are written under a temporary name and then moved into place."""

from __future__ import annotations

import contextlib
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
