"""What was worked out so far, one line of JSON each, by a key: whoever is stopped goes on from there."""

from __future__ import annotations

import fcntl
import json
from pathlib import Path
from typing import Any

from robodx.errors import UserError
from robodx.records import files
from robodx.records.about import refused


class Ledger:
    """Only ever appended to. A line that was cut off when its writer was killed does not count, nor harm the next."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._known: dict[str, dict[str, Any]] = {}
        try:
            content = path.read_bytes()
        except FileNotFoundError:
            content = b""
        except OSError as error:
            raise refused(path, error) from error
        for line in content.split(b"\n"):
            try:
                entry = json.loads(line)
                self._known[entry.pop("key")] = entry
            except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
                continue

    def get(self, key: str) -> dict[str, Any] | None:
        return self._known.get(key)

    def entries(self) -> list[dict[str, Any]]:
        """In the order in which they were first added."""
        return list(self._known.values())

    def add(self, key: str, entry: dict[str, Any]) -> None:
        line = json.dumps({"key": key, **entry}, ensure_ascii=False).encode()
        try:
            with self._path.open("ab+", buffering=0) as file:
                fcntl.flock(file, fcntl.LOCK_EX)
                files.add_line(file.fileno(), line)
        except OSError as error:
            raise UserError(f"{self._path} cannot be written: {error.strerror or error}") from error
        self._known[key] = entry
