"""A clearer instruction: what is ambiguous by its category is told by what tells it from the others, and no more.

A refined text is only given if it reads back to the same meaning, of the same objects. What cannot be read, what the
words leave open, and what nothing tells apart is left as it was said.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Literal, NamedTuple, get_args

from robodx.grounding.scene import ANYTHING, ParsedScene, SceneObject
from robodx.language.discriminating_attributes import SIZE_RANKS
from robodx.language.lexicon import KINDS
from robodx.language.meaning import Clause, If, Meaning
from robodx.language.plain_wording import understood
from robodx.language.reading import NotUnderstood, read, read_reference
from robodx.language.reference import LEVEL_M, SAME_SIZE, Rank, Reference, Superlative, Unresolved, candidates

Attribute = Literal["colour", "state", "size", "position"]
# What is told first, if it tells anything.
PRIORITY: tuple[Attribute, ...] = get_args(Attribute)
# Ways along which a position is told, and the order in it: the least is the first.
WAYS: tuple[tuple[Superlative, int, int], ...] = (
    ("leftmost", 1, -1),
    ("rightmost", 1, 1),
    ("nearest", 0, 1),
    ("farthest", 0, -1),
)
_WORD_STARTS = re.compile(r"(?<![\w'-])(?=\w)")
_WORD_ENDS = re.compile(r"(?<=[\w)])(?=[\s,.;:!?]|$)")


class Refined(NamedTuple):
    """What to tell the policy; `text` is the one given where nothing is to be made clearer."""

    text: str
    # By which attributes, for each description that was made clearer.
    told_by: tuple[tuple[Attribute, ...], ...] = ()


class Clearer(NamedTuple):
    reference: Reference
    told_by: tuple[Attribute, ...]


def refined(text: str, scene: ParsedScene) -> Refined:
    """The text with each ambiguous description made clearer."""
    try:
        meaning = read(text)
    except NotUnderstood:
        return Refined(text)
    meant = understood(meaning, scene.seen)
    if meant is None:
        return Refined(text)
    found = Refined(text)
    for reference, id in meant.names.items():
        clearer = make_clearer(reference, scene.object(id), scene)
        if clearer is None:
            continue
        told = _substituted(found.text, reference, clearer.reference)
        if told != found.text and _means_the_same(told, found.text, reference, clearer.reference, scene):
            found = Refined(told, (*found.told_by, clearer.told_by))
    return found


def rivals_of(reference: Reference, own: SceneObject, scene: ParsedScene) -> list[SceneObject]:
    """Others of the category that is mentioned, which also have the colour and the pattern that are."""
    category = reference.kind or ANYTHING
    others = (each for each in scene.objects if each.id != own.id and category in each.categories)
    return [each for each in others if reference.looks_like(each.looks)]


def make_clearer(reference: Reference, own: SceneObject, scene: ParsedScene) -> Clearer | None:
    """The description with what tells its object from others of the category; None if it is clear, or cannot be."""
    is_by_measure = reference.rank is not None or reference.where or reference.but
    if is_by_measure and not scene.is_measured:
        return None
    rivals = rivals_of(reference, own, scene)
    if not rivals:
        return None
    added = [each for each in _discriminating(reference, own, rivals) if each not in _stated(reference)]
    if not added:
        return None
    named = reference.kind is None and own.name in KINDS
    bare = replace(reference, said=None, kind=own.name if named else reference.kind)
    for kept in _more_and_more(bare):
        clearer = _with(kept, added, own, rivals)
        if clearer is not None and _picks(clearer, own, scene):
            return Clearer(clearer, tuple(added))
    return None


def _stated(reference: Reference) -> set[Attribute]:
    """What is said already: it is not said in another way too."""
    by = reference.rank and reference.rank.by
    said: dict[Attribute, object] = {
        "colour": reference.colour,
        "size": reference.size or by in SIZE_RANKS,
        "position": reference.where or (by is not None and by not in SIZE_RANKS),
    }
    return {attribute for attribute, value in said.items() if value}


def _discriminating(reference: Reference, own: SceneObject, rivals: Sequence[SceneObject]) -> tuple[Attribute, ...]:
    """By priority, each attribute that rules out one of those who are left, until none is."""
    left = list(rivals)
    chosen: tuple[Attribute, ...] = ()
    for attribute in PRIORITY:
        kept = [rival for rival in left if not _differs(attribute, reference, own, rival, left)]
        if len(kept) < len(left):
            left, chosen = kept, (*chosen, attribute)
    return chosen


def _differs(
    attribute: Attribute, reference: Reference, own: SceneObject, rival: SceneObject, left: Sequence[SceneObject]
) -> bool:
    if attribute == "colour":
        return own.colour is not None and own.colour != rival.colour
    if attribute == "state":
        # There is no word for it but the noun, which cubes and boxes do not share.
        return reference.kind is None and own.name in KINDS and own.state != rival.state
    if attribute == "size":
        word = _size_word(own, left)
        return word is not None and word != _size_word(rival, [own, *left])
    return _way(own, left) is not None


def _size_word(own: SceneObject, others: Sequence[SceneObject]) -> str | None:
    """As `candidates` has it: big and small are said of those that differ, on either side of the middle."""
    sizes = [each.looks.size_m for each in (own, *others)]
    least, most = min(sizes), max(sizes)
    if most < (1 + SAME_SIZE) * least:
        return None
    return "big" if own.looks.size_m > (least + most) / 2 else "small"


def _way(own: SceneObject, rivals: Sequence[SceneObject]) -> Superlative | None:
    """Along which it is clearly the first."""
    for way, axis, sign in WAYS:
        if all(sign * own.looks.position[axis] < sign * each.looks.position[axis] - LEVEL_M for each in rivals):
            return way
    return None


def _more_and_more(reference: Reference) -> Iterator[Reference]:
    """First how it looks alone, then with what else was said.

    A long description is not clear; and of one red cube none is the small one.
    """
    looks = replace(reference, size=None, rank=None, where=(), but=())
    yield looks
    yield replace(looks, size=reference.size)
    yield replace(looks, rank=reference.rank)
    yield replace(looks, size=reference.size, rank=reference.rank)
    yield replace(reference, size=None)
    yield reference


def _with(
    reference: Reference, chosen: Sequence[Attribute], own: SceneObject, rivals: Sequence[SceneObject]
) -> Reference | None:
    """The description with these attributes too; None where one of them cannot be said."""
    for attribute in chosen:
        if attribute == "colour":
            reference = replace(reference, colour=own.colour)
        elif attribute == "size":
            word = _size_word(own, [each for each in rivals if reference.looks_like(each.looks)])
            if word is None:
                return None
            reference = replace(reference, size=word)
        elif attribute == "position":
            way = _way(own, [each for each in rivals if reference.looks_like(each.looks)])
            if way is None:
                return None
            reference = replace(reference, rank=Rank(way))
    return reference


def _picks(reference: Reference, own: SceneObject, scene: ParsedScene) -> bool:
    try:
        return candidates(reference, scene.seen) == [own.id]
    except Unresolved:
        return False


# Words.


def _substituted(text: str, reference: Reference, clearer: Reference) -> str:
    """The text with other words wherever it says a description; all else stays as it was said."""
    told, at = "", 0
    ends = [end.start() for end in _WORD_ENDS.finditer(text)]
    for start in (start.start() for start in _WORD_STARTS.finditer(text)):
        if start >= at:
            end = next((end for end in reversed(ends) if end > start and _reads_as(text[start:end], reference)), None)
            if end is not None:
                the = "The" if text[start].isupper() else "the"
                told, at = f"{told}{text[at:start]}{the} {clearer.words}", end
    return told + text[at:]


def _reads_as(words: str, reference: Reference) -> bool:
    try:
        return read_reference(words) == reference
    except ValueError:
        # Not understood, or nothing that can be meant: "the second middle cube".
        return False


def _means_the_same(told: str, before: str, reference: Reference, clearer: Reference, scene: ParsedScene) -> bool:
    """Whether all but the description is as before, and all that is asked for is asked of the same objects."""
    was = read(before)
    try:
        now = read(told)
    except NotUnderstood:
        return False
    if _renamed(now, {clearer: reference}) != was:
        return False
    meant_now, meant_before = understood(now, scene.seen), understood(was, scene.seen)
    return meant_now is not None and meant_before is not None and meant_now.acts == meant_before.acts


def _renamed(meaning: Meaning, names: Mapping[Reference, Reference]) -> Meaning:
    return Meaning(
        tuple(
            replace(part, then=_clause(part.then, names), otherwise=_clause(part.otherwise, names))
            if isinstance(part, If)
            else _clause(part, names)
            for part in meaning.clauses
        )
    )


def _clause(clause: Clause, names: Mapping[Reference, Reference]) -> Clause:
    place = clause.place and replace(clause.place, of=tuple(names.get(each, each) for each in clause.place.of))
    signal = clause.once_lit and names.get(clause.once_lit, clause.once_lit)
    return replace(clause, target=names.get(clause.target, clause.target), place=place, once_lit=signal)
