"""Files that are there only when they are complete."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

ENDING = ".part"


@contextlib.contextmanager
def new_file(path: Path) -> Iterator[Path]:
    """A place to write to; it becomes `path` when the block ends well. A killed write leaves only NAME.part."""
    part = path.with_name(path.name + ENDING)
    try:
        yield part
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)
