"""Data sets are written beside where they are to be, and moved there when they are whole; nothing is overwritten."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable
from pathlib import Path

from robodx.datasets.formats.base import FORMATS, writable
from robodx.datasets.schema import Demonstration, Features
from robodx.errors import UserError


def check_target(target: Path, format_name: str) -> None:
    """What can be refused before anything is read or simulated."""
    if FORMATS[format_name].write is None:
        raise UserError(f"data sets of format {format_name} are only read; written are: {', '.join(writable())}")
    if target.exists() or target.is_symlink():
        raise UserError(f"{target} is there already: choose another place, or remove it")
    if not target.absolute().parent.is_dir():
        raise UserError(f"there is no folder {target.parent} to write {target.name} to")


def write_data(target: Path, format_name: str, features: Features, demonstrations: Iterable[Demonstration]) -> None:
    """Stream episodes into a new data set. If that fails or is interrupted, nothing is left behind."""
    check_target(target, format_name)
    write = FORMATS[format_name].write
    assert write is not None
    # The name ends as the target's does: formats may go by it.
    part = target.with_name(f".part-{os.getpid()}-{target.name}")
    try:
        write(part, features, demonstrations)
        check_target(target, format_name)
        part.rename(target)
    finally:
        if part.is_dir():
            shutil.rmtree(part)
        else:
            part.unlink(missing_ok=True)
