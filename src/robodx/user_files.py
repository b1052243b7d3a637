"""Small files that people write: run files, presets, tables of faults."""

from __future__ import annotations

from pathlib import Path

from robodx.errors import UserError

LARGEST_BYTES = 1_000_000


def read_user_file(path: Path) -> str:
    """All of its text, from a file or a pipe; a device that never ends is refused as a file that is too large."""
    with path.open("rb") as file:
        content = file.read(LARGEST_BYTES + 1)
    if len(content) > LARGEST_BYTES:
        raise UserError(f"{path} is larger than {LARGEST_BYTES / 1e6:.0f} MB: it is not a file that people write")
    return content.decode()
