"""Which films a page carries within itself, and which it links to."""

from __future__ import annotations

import base64
import os
import struct
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal
from urllib.parse import quote

from robodx.errors import UserError
from robodx.report.words import plain

Mode = Literal["embed", "link", "none"]
MODES: tuple[Mode, ...] = ("embed", "link", "none")


# Of a film that does not tell.
USUAL_ASPECT = 1.0


@dataclass(frozen=True)
class Film:
    """Where a player finds it: within the page, or as a file relative to the page."""

    source: str
    is_embedded: bool
    # Its width by its height: its room is kept before it is loaded, so that nothing jumps.
    aspect: float = USUAL_ASPECT


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
            content = path.read_bytes()
            source = f"data:video/mp4;base64,{base64.b64encode(content).decode()}"
            found[trial] = Film(source, True, aspect_of(content))
        elif page is not None:
            relative = os.path.relpath(path.resolve(), page.resolve().parent)
            found[trial] = Film(quote(os.fsencode(relative)), False, aspect_of(path.read_bytes()))
    return found


def aspect_of(content: bytes) -> float:
    """The width of a film by its height, as the header of its track says; the usual one of what is no film."""
    at = content.find(b"tkhd")
    # The header ends with its size, in fixed-point numbers; its second version has longer times before that.
    end = at + 4 + (96 if content[at + 4 : at + 5] == b"\1" else 84)
    if at < 0 or len(content) < end:
        return USUAL_ASPECT
    width, height = struct.unpack(">II", content[end - 8 : end])
    return width / height if height and 0.2 < width / height < 5 else USUAL_ASPECT


def wording(found: dict[str, Film]) -> str:
    embedded = sum(film.is_embedded for film in found.values())
    linked = len(found) - embedded
    parts = [f"{embedded} embedded in the page" if embedded else "", f"{linked} linked" if linked else ""]
    return plain(" and ".join(part for part in parts if part))
