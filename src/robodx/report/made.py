"""How a page was made, kept within it: so that it can be made again of the same runs, with the same options."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from html.parser import HTMLParser
from pathlib import Path

META = "robodx-made"
# It stands before the style; a page that has it later is none of ours.
LOOKED_AT = 40_000


@dataclass(frozen=True)
class Made:
    """The runs relative to the page, and what was asked for."""

    runs: tuple[str, ...]
    title: str | None
    videos: str
    embed_mb: float
    sections: tuple[str, ...]

    def text(self) -> str:
        return json.dumps(asdict(self))


def relative(runs: Sequence[Path], page: Path) -> tuple[str, ...]:
    """Where the runs lie, as seen from the page."""
    return tuple(os.path.relpath(run.resolve(), page.resolve().parent) for run in runs)


def read_made(page: Path) -> Made | None:
    """None if it does not say so, or says what no page of ours does."""
    # A page may be of somebody else: nested without end, numbers beyond all measure, declarations that are none.
    with suppress(OSError, ValueError, TypeError, KeyError, RecursionError, OverflowError, AssertionError):
        with page.open(encoding="utf-8", errors="replace") as file:
            parser = _Meta()
            parser.feed(file.read(LOOKED_AT))
        found = json.loads(parser.content or "")
        runs, title, sections = found["runs"], found["title"], found["sections"]
        is_ours = runs and all(isinstance(one, str) for one in (*runs, *sections, title or ""))
        return Made(tuple(runs), title, found["videos"], float(found["embed_mb"]), tuple(sections)) if is_ours else None
    return None


class _Meta(HTMLParser):
    """What one tag says."""

    content: str | None = None

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if tag == "meta" and given.get("name") == META and self.content is None:
            self.content = given.get("content")
