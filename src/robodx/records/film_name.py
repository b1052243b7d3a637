"""What the film of an episode is called: by this name it is written, and found again."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

# Names of files are made from records, which could lead elsewhere.
_LEADING = re.compile(r"[^\w.+=-]", re.ASCII)
# Kept in films that say how an episode ended.
CAPTIONED = "robodx film with captions"
# What describes a film stands at its beginning: of 10,000 pictures, within so many bytes.
_DESCRIPTION = 1 << 20


def film_name(row: Mapping[str, Any]) -> str:
    """Of a row of the table of episodes."""
    task, outcome, trial = (_LEADING.sub(".", str(row[key])) for key in ("task", "outcome", "trial_id"))
    return f"{task}-seed{row['seed']}-{outcome}-{trial[:6]}.mp4"


def plain_film(folder: Path, row: Mapping[str, Any]) -> Path:
    """Where a film without captions is or belongs: beside one with them, which has the usual name then."""
    usual = folder / film_name(row)
    return usual.with_suffix(".plain.mp4") if is_captioned(usual) else usual


def is_captioned(film: Path) -> bool:
    """Whether a film says how its episode ended; one that cannot be read says nothing."""
    try:
        # What is no file, as a pipe, might never end.
        if not film.is_file():
            return False
        with film.open("rb") as file:
            return CAPTIONED.encode() in file.read(_DESCRIPTION)
    except OSError:
        return False
