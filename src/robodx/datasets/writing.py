"""Data sets are written beside where they are to be, and moved there when they are whole; nothing is overwritten."""

from __future__ import annotations

import glob
import os
import shutil
from collections.abc import Callable, Iterable
from pathlib import Path

from robodx.datasets.cards import card_path
from robodx.datasets.formats.base import FORMATS, writable
from robodx.datasets.schema import Demonstration, Features
from robodx.errors import UserError
from robodx.records import files


def check_target(target: Path, format_name: str) -> None:
    """What can be refused before anything is read or simulated."""
    entry = FORMATS[format_name]
    if entry.write is None:
        raise UserError(f"data sets of format {format_name} are only read; written are: {', '.join(writable())}")
    # Or it would not be found again.
    endings = (entry.suffix, *entry.other_suffixes)
    if entry.suffix and target.suffix.lower() not in endings:
        valid = " or ".join(endings)
        raise UserError(f"{target} is no name of a data set of format {format_name}: it must end in {valid}")
    if target.suffix.lower() == ".h5" and (beside := target.with_suffix(".json")).exists():
        raise UserError(
            f"{target} would be read as a data set of ManiSkill, because {beside} is beside it: "
            "let it end in .hdf5, or choose another name"
        )
    if target.exists() or target.is_symlink():
        raise UserError(f"{target} is there already: choose another place, or remove it")
    if not target.absolute().parent.is_dir():
        raise UserError(f"there is no folder {target.parent} to write {target.name} to")


def write_data(
    target: Path,
    format_name: str,
    features: Features,
    demonstrations: Iterable[Demonstration],
    card: Callable[[], str] | None = None,
) -> None:
    """Stream episodes into a new data set, with its card. If that fails or is interrupted, nothing is left behind.

    What a killed process left is removed by the next that writes there.
    """
    check_target(target, format_name)
    write = FORMATS[format_name].write
    assert write is not None
    for other in target.parent.glob(f".part-*-{glob.escape(target.name)}"):
        if not _is_alive(other.name.split("-")[1]):
            _remove(other)
    # The name ends as the target's does: formats may go by it.
    part = target.with_name(f".part-{os.getpid()}-{target.name}")
    try:
        write(part, features, demonstrations)
        check_target(target, format_name)
        if card is not None:
            # Of a folder in it; of a file beside where the file is to be.
            files.write(card_path(part if part.is_dir() else target), card().encode())
        part.rename(target)
    finally:
        _remove(part)


def _remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def _is_alive(process: str) -> bool:
    try:
        os.kill(int(process), 0)
    except (ProcessLookupError, ValueError):
        return False
    except PermissionError:
        pass
    return True
