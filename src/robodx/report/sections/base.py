"""What a section is, and how one joins the report: a decorated function in a file of this folder."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from robodx.report import sections
from robodx.report.blocks import Block
from robodx.report.material import Material


@dataclass(frozen=True)
class Content:
    """Blocks for a person, and the same numbers for a program."""

    blocks: Sequence[Block]
    data: Any = None


@dataclass(frozen=True)
class Section:
    """With its place in the page and its content."""

    name: str
    title: str
    content: Content


Maker = Callable[[Material], Content | None]


@dataclass(frozen=True)
class Entry:
    name: str
    title: str
    order: int
    make: Maker = field(repr=False)


_ENTRIES: dict[str, Entry] = {}


def section(*, order: int, title: str) -> Callable[[Maker], Maker]:
    """Register the decorated function under its own name; it gives None where the section had better be left out."""

    def register(make: Maker) -> Maker:
        _ENTRIES[make.__name__] = Entry(make.__name__, title, order, make)
        return make

    return register


def made(material: Material) -> list[Section]:
    """All sections that have something to say, in their order."""
    for module in pkgutil.iter_modules(sections.__path__):
        importlib.import_module(f"{sections.__name__}.{module.name}")
    found = []
    for entry in sorted(_ENTRIES.values(), key=lambda entry: entry.order):
        content = entry.make(material)
        if content is not None and content.blocks:
            found.append(Section(entry.name, entry.title, content))
    return found
