"""By what a description tells its thing from others: what it would pick out if one attribute were not told."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import replace
from typing import Literal, get_args

from robodx.language.reference import Looks, Reference, Seen, Unresolved, candidates

Attribute = Literal["colour", "size", "shape", "pattern", "place"]
ATTRIBUTES: tuple[Attribute, ...] = get_args(Attribute)
Change = Callable[[Reference], Reference]
SIZE_RANKS = ("biggest", "smallest", "bigger", "smaller", "odd", "that fits")


def rewritten(reference: Reference, change: Change) -> Reference:
    """A description with a change in it and in those that it is told by."""
    rank = reference.rank
    if _is_by_itself(reference):
        return change(reference)
    inner = replace(
        reference,
        where=tuple(replace(where, of=rewritten(where.of, change)) for where in reference.where),
        but=tuple(rewritten(other, change) for other in reference.but),
        rank=rank if rank is None or rank.of is None else replace(rank, of=rewritten(rank.of, change)),
    )
    return change(inner)


def omitting(reference: Reference, change: Change) -> Reference:
    """A description without something of what was told, wherever; what was excluded by that is not excluded."""

    def is_other(stated: Reference) -> bool:
        return rewritten(stated, change) != stated

    if _is_by_itself(reference):
        return change(reference)
    kept = rewritten(reference, lambda stated: replace(stated, but=tuple(no for no in stated.but if not is_other(no))))
    return rewritten(kept, change)


def _is_by_itself(reference: Reference) -> bool:
    """Told by way of no other: that is most descriptions, and soon done."""
    return not (reference.where or reference.but or (reference.rank and reference.rank.of))


def without(reference: Reference, attribute: Attribute) -> Reference:
    return omitting(reference, _OMITTING[attribute])


def _without_rank(reference: Reference, is_of_size: bool) -> Reference:
    is_gone = reference.rank is not None and (reference.rank.by in SIZE_RANKS) == is_of_size
    return replace(reference, rank=None) if is_gone else reference


def _without_size(reference: Reference) -> Reference:
    return reference if reference.size is None else replace(reference, size=None)


def _without_where(reference: Reference) -> Reference:
    return replace(reference, where=()) if reference.where else reference


# What has nothing to omit comes back as it is: to make most descriptions again and again is most of the work.
_OMITTING: dict[Attribute, Change] = {
    "colour": lambda stated: stated if stated.colour is None else replace(stated, colour=None),
    "size": lambda stated: _without_size(_without_rank(stated, is_of_size=True)),
    "shape": lambda stated: stated if stated.kind is None else replace(stated, kind=None),
    "pattern": lambda stated: (
        replace(stated, is_striped=None, bands=()) if stated.bands or stated.is_striped is not None else stated
    ),
    "place": lambda stated: _without_where(_without_rank(stated, is_of_size=False)),
}


def needed(reference: Reference, seen: Seen, among: Collection[str]) -> tuple[Attribute, ...]:
    """The attributes without which the description would not pick out the same among these."""

    def fitting(description: Reference) -> set[str] | None:
        """None where it is told by way of what cannot be told itself."""
        try:
            return set(candidates(description, seen)).intersection(among)
        except Unresolved:
            return None

    meant = fitting(reference)
    return tuple(
        attribute
        for attribute in ATTRIBUTES
        if (stripped := without(reference, attribute)) != reference and fitting(stripped) != meant
    )


def cue_of(reference: Reference, seen: Seen, among: Collection[str]) -> str:
    """What tells it from the others among these; "none" where there is nothing to confuse it with."""
    rank = reference.rank
    by_place = "place"
    if reference.where or (rank is not None and rank.of is not None):
        by_place = "relation"
    elif rank is not None and rank.n > 1:
        by_place = "ordinal"
    cues = (by_place if cue == "place" else cue for cue in needed(reference, seen, among))
    return " and ".join(cues) or "none"


def value(looks: Looks, attribute: Attribute, other: Looks) -> str:
    """What a thing is in this respect, in a word; of sizes and places, beside another thing."""
    if attribute == "colour":
        return looks.colour or "no colour"
    if attribute == "shape":
        return looks.kind
    if attribute == "pattern":
        return " ".join(looks.bands) or ("striped" if looks.is_striped else "plain")
    if attribute == "size":
        return "bigger" if looks.size_m > other.size_m else "smaller" if looks.size_m < other.size_m else "as big"
    (x, y, z), (ox, oy, oz) = looks.position, other.position
    _, word = max(
        (abs(y - oy), "left" if y > oy else "right"),
        (abs(x - ox), "far" if x > ox else "near"),
        (abs(z - oz), "high" if z > oz else "low"),
    )
    return word
