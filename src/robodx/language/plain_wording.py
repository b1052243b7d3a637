"""The plainest words for what an instruction means here: decided, resolved, and each thing named by its own looks."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple, get_args

from robodx.language.lexicon import KINDS, ORDINALS
from robodx.language.meaning import Clause, Instruction, Meaning, Names, resolve_all
from robodx.language.phrasing import say
from robodx.language.reference import (
    Comparative,
    Looks,
    Rank,
    Reference,
    Seen,
    Side,
    Superlative,
    Unresolved,
    candidates,
)
from robodx.sim.colours import PALETTE

# To tell which is bigger one must look, not read: such a description is plain.
BY_SIZE = ("biggest", "smallest", "odd", "that fits", *get_args(Comparative))


class Understood(NamedTuple):
    """What is to be done here, and which thing each description means."""

    clauses: tuple[Clause, ...]
    names: Names

    @property
    def acts(self) -> tuple[tuple[object, ...], ...]:
        """The same for two instructions that ask for the same of the same things, whatever they call them."""
        return tuple(
            (clause.action, clause.place and clause.place.relation, *(self.names[ref] for ref in clause.references))
            for clause in self.clauses
        )


def understood(meaning: Meaning, seen: Seen) -> Understood | None:
    """None where nothing is asked for, or the words do not tell of what."""
    try:
        clauses = meaning.decided(seen)
        return Understood(clauses, resolve_all(clauses, seen)) if clauses else None
    except Unresolved:
        return None


def plainly(what: Understood, seen: Seen) -> Instruction | None:
    """The canonical sentence for it, among what is seen; None where some thing has no description of its own."""
    plain: dict[Reference, Reference] = {}
    for reference, name in what.names.items():
        found = _plain(reference, name, seen)
        if found is None:
            return None
        plain[reference] = found
    return say(*(_renamed(clause, plain) for clause in what.clauses))


def plain_name(name: str, seen: Seen) -> Reference | None:
    """The first description by its own looks that fits this thing alone; else by its place, or None."""
    return next((each for each in _descriptions(seen[name], False) if _picks(each, name, seen)), None)


def _renamed(clause: Clause, plain: dict[Reference, Reference]) -> Clause:
    place = clause.place and replace(clause.place, of=tuple(plain[reference] for reference in clause.place.of))
    signal = clause.once_lit and plain[clause.once_lit]
    return replace(clause, target=plain[clause.target], place=place, once_lit=signal)


def _plain(reference: Reference, name: str, seen: Seen) -> Reference | None:
    """The description itself if it is plain already; else the first that fits this thing alone."""
    kept = replace(reference, said=None)
    is_plain = not reference.where and not reference.but and (reference.rank is None or reference.rank.by in BY_SIZE)
    tried = [kept] if is_plain else []
    further = _descriptions(seen[name], "left" in reference.words or "right" in reference.words)
    return next((each for each in (*tried, *further) if _picks(each, name, seen)), None)


def _descriptions(looks: Looks, is_by_side: bool) -> Iterator[Reference]:
    """From what anybody would say to what only tells a thing by its place, along the way that was not used before."""
    if looks.kind not in KINDS:
        return
    kind = Reference(looks.kind)
    named = replace(kind, colour=looks.colour) if looks.colour in PALETTE else kind
    yield named
    for own in (named, kind):
        for size in ("big", "small"):
            yield replace(own, size=size)
        yield replace(own, is_striped=looks.is_striped)
        for size in ("big", "small"):
            yield replace(own, size=size, is_striped=looks.is_striped)
    if looks.bands:
        yield replace(kind, bands=looks.bands)
    ways: tuple[Side | Superlative, ...] = ("nearest", "left") if is_by_side else ("left", "nearest")
    for way in ways:
        for n in range(1, len(ORDINALS) + 1):
            yield replace(named, rank=Rank(way, n))
            yield replace(kind, rank=Rank(way, n))


def _picks(reference: Reference, name: str, seen: Seen) -> bool:
    try:
        return candidates(reference, seen) == [name]
    except Unresolved:
        return False
