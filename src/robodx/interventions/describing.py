"""Descriptions of one thing in a scene: by its looks, its size, its place, by others, and by what it is not."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import permutations
from typing import Literal

from robodx.language.lexicon import EVERYDAY, KINDS, ORDINALS
from robodx.language.reference import Looks, Rank, Reference, Seen, Spatial, Superlative, Unresolved, Where
from robodx.language.reference import candidates as fitting
from robodx.language.verbs import Phrasings
from robodx.sim.colours import PALETTE
from robodx.sim.scene import STAND

# What is told by place differs by so much from all that it might be taken for; what is told by size, by this share.
CLEAR_M = 0.03
CLEAR_SHARE = 0.1
# More than these are not excluded in one breath.
MOST_EXCLUDED = 2
Way = Literal["left", "right", "nearest", "farthest"]
# Along y and along x: from where it is far along it, and from where it is not.
WAYS: tuple[tuple[int, tuple[Way, Way]], ...] = ((1, ("left", "right")), (0, ("farthest", "nearest")))
FIRST: dict[Way, Superlative] = {"left": "leftmost", "right": "rightmost"}
MOST: tuple[Superlative, Superlative] = ("smallest", "biggest")
BESIDE: tuple[tuple[Spatial, int, int], ...] = (
    ("left of", 1, 1), ("right of", 1, -1), ("in front of", 0, -1), ("behind", 0, 1),
)  # fmt: skip


def picks(reference: Reference, name: str, seen: Seen) -> bool:
    try:
        return fitting(reference, seen) == [name]
    except Unresolved:
        return False


def by_looks(name: str, seen: Seen) -> Iterator[Reference]:
    """By its own looks: from what anybody would say to what says little or much."""
    looks = seen[name]
    for base in _bases(looks):
        yield from (each for each in _with_looks(base, looks, seen) if picks(each, name, seen))
    yield from _by_size(name, seen)


def by_place(name: str, seen: Seen) -> Iterator[Reference]:
    """By its rank among things of its kind, or among all; where it is clear which is meant."""
    for base in _crowds(name, seen):
        others = [seen[other] for other in fitting(base, seen) if other != name]
        for axis, ways in WAYS:
            here = seen[name].position[axis]
            if any(abs(here - other.position[axis]) < CLEAR_M for other in others):
                continue
            before = sum(other.position[axis] > here for other in others)
            if axis == 0 and before != sum(_away(other) > _away(seen[name]) for other in others):
                continue
            for way, n in zip(ways, (before + 1, len(others) + 1 - before), strict=True):
                yield from (replace(base, rank=rank) for rank in _ranks(way, n))
            if axis == 1 and 2 * before == len(others):
                yield replace(base, rank=Rank("middle"))


def by_relation(name: str, seen: Seen) -> Iterator[Reference]:
    """By another thing that is told by its own looks."""
    here = seen[name].position
    for anchor, of in _anchors(name, seen):
        for base in (*_crowds(name, seen), Reference(_kind(seen[name]))):
            there = [each for each in fitting(base, seen) if each not in (name, anchor)]
            for relation, axis, sign in BESIDE:
                reference = replace(base, where=(Where(relation, of),))
                off = [sign * (seen[each].position[axis] - seen[anchor].position[axis]) for each in there]
                is_clear = sign * (here[axis] - seen[anchor].position[axis]) >= CLEAR_M
                if is_clear and all(each <= -CLEAR_M for each in off):
                    yield reference
            away = [math.dist(seen[each].position[:2], seen[anchor].position[:2]) for each in there]
            own = math.dist(here[:2], seen[anchor].position[:2])
            if away and own <= min(away) - CLEAR_M:
                yield replace(base, rank=Rank("closest to", of=of))
            if away and own >= max(away) + CLEAR_M:
                yield replace(base, rank=Rank("farthest from", of=of))


def by_negation(name: str, seen: Seen) -> Iterator[Reference]:
    """ "The cube that is neither red nor blue", "the red object that is not a cube"."""
    looks = seen[name]
    for base in (Reference(_kind(looks)), *([Reference(colour=looks.colour)] if looks.colour in PALETTE else [])):
        others = [seen[each] for each in fitting(base, seen) if each != name]
        for field in ("colour", "kind"):
            values = list(dict.fromkeys(getattr(other, field) for other in others))
            known = PALETTE if field == "colour" else KINDS
            if 0 < len(values) <= MOST_EXCLUDED and all(value in known for value in values):
                for order in permutations(values):
                    reference = replace(base, but=tuple(Reference(**{field: value}) for value in order))
                    if picks(reference, name, seen):
                        yield reference


def by_exclusion(name: str, seen: Seen) -> Iterator[Reference]:
    """ "The cube other than the red cube and the blue cube"."""
    base = Reference(_kind(seen[name]))
    others = [each for each in fitting(base, seen) if each != name]
    if 0 < len(others) <= MOST_EXCLUDED:
        named = {other: shortest(other, seen) for other in others}
        for order in permutations(others):
            but = tuple(reference for other in order if (reference := named[other]) is not None)
            reference = replace(base, but=but)
            if len(but) == len(others) and picks(reference, name, seen):
                yield reference


def synonyms(reference: Reference, seen: Seen, verb: Phrasings) -> Iterator[Reference]:
    """With an everyday word in place of another, which nothing else there is called, and which is no verb said here."""
    words = replace(reference, said=None).words
    taken = {word for looks in seen.values() for word in looks.kind.split()}
    taken |= set(" ".join((*verb.train, *verb.test)).split())
    for own in (reference.kind, reference.colour, reference.size):
        for word in EVERYDAY.get(own or "", ()):
            if not taken & set(word.split()) and f" {own} " in f" {words} ":
                said = f" {words} ".replace(f" {own} ", f" {word} ", 1).strip()
                yield replace(reference, said=said)


def in_words_of(reference: Reference, old: Reference) -> Reference:
    """With the synonyms that another description has for the same kind, colour or size."""
    said = f" {reference.words} "
    for own in filter(None, (old.kind, old.colour, old.size)):
        for word in EVERYDAY.get(own, ()):
            if f" {word} " in f" {old.said or ''} ":
                said = said.replace(f" {own} ", f" {word} ", 1)
    return reference if said.strip() == reference.words else replace(reference, said=said.strip())


def shortest(name: str, seen: Seen) -> Reference | None:
    """By kind and colour, or by kind alone where it has no colour that there is a word for."""
    looks = seen[name]
    named = Reference(_kind(looks), looks.colour if looks.colour in PALETTE else None)
    return named if named.kind and picks(named, name, seen) else None


def _away(looks: Looks) -> float:
    """From the robot as the crow flies: what is nearest along the table must be nearest so too."""
    return math.dist(looks.position[:2], STAND)


def _kind(looks: Looks) -> str | None:
    return looks.kind if looks.kind in KINDS else None


def _bases(looks: Looks) -> list[Reference]:
    kind, colour = _kind(looks), looks.colour if looks.colour in PALETTE else None
    found = [Reference(kind, colour), Reference(kind), Reference(colour=colour)]
    return list(dict.fromkeys(each for each in found if each != Reference()))


def _crowds(name: str, seen: Seen) -> list[Reference]:
    """Descriptions by looks that fit others too: of its kind and colour, of its kind, of all."""
    bases = (*(base for base in _bases(seen[name]) if base.kind is not None), Reference())
    return [base for base in bases if len(fitting(base, seen)) > 1]


def _with_looks(base: Reference, looks: Looks, seen: Seen) -> Iterator[Reference]:
    yield base
    # Nobody calls a thing plain where nothing has stripes.
    if base.kind is not None and any(other.is_striped for other in seen.values() if other.kind == looks.kind):
        yield replace(base, is_striped=looks.is_striped)
    if looks.bands and base.kind is not None:
        yield replace(base, bands=looks.bands)


def _by_size(name: str, seen: Seen) -> Iterator[Reference]:
    """Among things of its kind, or of its kind and colour, that clearly differ from it."""
    own = seen[name].size_m
    for base in (each for each in _bases(seen[name]) if each.kind is not None):
        sizes = [seen[other].size_m for other in fitting(base, seen) if other != name]
        is_big = bool(sizes) and all(own >= (1 + CLEAR_SHARE) * size for size in sizes)
        is_small = bool(sizes) and all((1 + CLEAR_SHARE) * own <= size for size in sizes)
        if is_big or is_small:
            rank = Rank("bigger" if is_big else "smaller") if len(sizes) == 1 else Rank(MOST[is_big])
            described = (
                replace(base, rank=rank),
                replace(base, size="big" if is_big else "small"),
            )
            yield from (each for each in described if picks(each, name, seen))


def _ranks(way: Way, n: int) -> Iterator[Rank]:
    """ "Furthest to your left", "first from your left", "second nearest to you"."""
    if n <= len(ORDINALS):
        if n == 1 and way in FIRST:
            yield Rank(FIRST[way])
        yield Rank(way, n)


def _anchors(name: str, seen: Seen) -> Sequence[tuple[str, Reference]]:
    """Other things, the nearest first: who points at something points at what is near it."""
    x, y, _ = seen[name].position
    away = {each: math.dist(seen[each].position[:2], (x, y)) for each in seen if each != name}
    others = sorted(away, key=lambda each: away[each])
    return [(other, reference) for other in others[:3] if (reference := shortest(other, seen)) is not None]
