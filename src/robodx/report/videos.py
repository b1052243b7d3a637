"""Which films a page carries within itself, and which it links to."""

from __future__ import annotations

import base64
import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal
from urllib.parse import quote

from robodx.errors import UserError
from robodx.report.words import plain

Mode = Literal["embed", "link", "none"]
MODES: tuple[Mode, ...] = ("embed", "link", "none")


@dataclass(frozen=True)
class Film:
    """Where a player finds it: within the page, or as a file relative to the page."""

    source: str
    is_embedded: bool


def mode(word: str) -> Mode:
    found = next((one for one in MODES if one == word), None)
    if found is None:
        raise UserError(f'there are no videos "{word}": choose {", ".join(MODES)}')
    return found


def films(paths: Iterable[tuple[str, Path]], how: Mode, *, page: Path | None, most_bytes: float) -> dict[str, Film]:
    """By trial id, in the order in which they are wanted: what does not fit into the page is linked."""
    found: dict[str, Film] = {}
    left = most_bytes
    for trial, path in paths if how != "none" else ():
        size = path.stat().st_size
        if how == "embed" and size <= left:
            left -= size
            content = base64.b64encode(path.read_bytes()).decode()
            found[trial] = Film(f"data:video/mp4;base64,{content}", True)
        elif page is not None:
            relative = os.path.relpath(path.resolve(), page.resolve().parent)
            found[trial] = Film(quote(os.fsencode(relative)), False)
    return found


def wording(found: dict[str, Film]) -> str:
    embedded = sum(film.is_embedded for film in found.values())
    linked = len(found) - embedded
    parts = [f"{embedded} embedded in the page" if embedded else "", f"{linked} linked" if linked else ""]
    return plain(" and ".join(part for part in parts if part))
