"""What a section is, and how one joins the report: a decorated function in a file of this folder or in a plugin."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from robodx.errors import UserError
from robodx.registry import Registry
from robodx.report.blocks import Block
from robodx.report.material import Material
from robodx.users_code import calling

# What the page itself has an anchor for.
TAKEN = ("content",)


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
    # Shown when it is asked for, and on paper.
    is_folded: bool = False


Maker = Callable[[Material], Content | None]


@dataclass(frozen=True)
class Entry:
    name: str
    title: str
    order: int
    make: Maker = field(repr=False)
    is_folded: bool = False


SECTIONS: Registry[Entry] = Registry("section", "report.sections")


def section(*, order: int, title: str, folded: bool = False) -> Callable[[Maker], Maker]:
    """Register the decorated function under its own name; it gives None where the section had better be left out.

    The name is the section's anchor in the page and its key in the JSON. Those of the same order go by name. One that
    is `folded` shows its title until it is asked for: details that most readers do without.
    """

    def register(make: Maker) -> Maker:
        name = make.__name__
        if not isinstance(order, int | float):
            raise UserError(f"the order of the section {name} is a number, not {order!r}: {_place(make)}")
        if name in TAKEN:
            raise UserError(f'a section cannot be named "{name}", which is an anchor of the page: {_place(make)}')
        try:
            SECTIONS.add(name, Entry(name, title, order, make, folded))
        except ValueError:
            places = f"{_place(SECTIONS[name].make)} and {_place(make)}"
            raise UserError(f'two sections are named "{name}": {places}. Give one of them another name.') from None
        return make

    return register


def made(material: Material) -> list[Section]:
    """All sections that have something to say, in their order."""
    found = []
    for entry in sorted(SECTIONS.entries(), key=lambda entry: entry.order):
        with calling(f"the section {entry.name}", entry.make):
            content = entry.make(material)
        if not isinstance(content, Content | None):
            raise UserError(f"the section {entry.name} gave {content!r}: it must be Content or None")
        if content is not None and content.blocks:
            found.append(Section(entry.name, entry.title, content, entry.is_folded))
    return found


def _place(make: Maker) -> str:
    """Where a function is written."""
    return f"{inspect.getsourcefile(make)}:{inspect.getsourcelines(make)[1]}"
