"""How a generated situation is told: by which cue its target is told from the others, and in which sort of words."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from robodx.language.discriminating_attributes import cue_of
from robodx.language.lexicon import EVERYDAY
from robodx.language.meaning import Clause, Exists, If, Meaning
from robodx.language.reference import Rank, Reference, Side, Spatial, Superlative, Unresolved, Where, candidates
from robodx.language.verbs import Phrasings
from robodx.scoring.from_meaning import looks
from robodx.scoring.sides import FLANKS
from robodx.sim.scene import STAND, Scene, Thing
from robodx.tasks.carrier import ANY, COLOURS
from robodx.tasks.generated_acts import Rejected, one_of

# By how much a place, an order or a relation is clear.
CLEAR_M = 0.04
# Each way along the table: where it begins, in words of the first and of the others, and how far on a thing lies.
WAYS: tuple[tuple[Superlative, Side | Superlative, int, int], ...] = (
    ("leftmost", "left", 1, -1),
    ("rightmost", "right", 1, 1),
    ("nearest", "nearest", 0, 1),
    ("farthest", "farthest", 0, -1),
)


def named(thing: Thing) -> Reference:
    return Reference(thing.kind, thing.colour)


def described(rng: np.random.Generator, cue: str, target: Thing, rivals: Sequence[Thing], scene: Scene) -> Reference:
    """The target by its colour and kind, and by what tells it from its rivals."""
    own = named(target)
    match cue:
        case "none" | "colour" | "shape":
            return own
        case "pattern":
            return replace(own, is_striped=target.is_striped)
        case "size":
            return one_of(rng, _by_size(own, target, rivals))
        case "place" | "ordinal":
            ways = list(_by_rank(own, target, rivals, is_first=cue == "place"))
        case _:
            ways = list(_by_relation(own, target, rivals, scene))
    if not ways:
        raise Rejected("its place is not clear")
    return one_of(rng, ways)


def _by_size(own: Reference, target: Thing, rivals: Sequence[Thing]) -> list[Reference]:
    is_big = target.radius_m > rivals[0].radius_m
    ranks = (Rank("bigger"), Rank("smaller")) if len(rivals) == 1 else (Rank("biggest"), Rank("smallest"))
    return [replace(own, size="big" if is_big else "small"), replace(own, rank=ranks[not is_big])]


def _by_rank(own: Reference, target: Thing, rivals: Sequence[Thing], *, is_first: bool) -> list[Reference]:
    """First of all from somewhere, or a later one, where neighbours are clear of it."""
    found = []
    for first, later, axis, way in WAYS:
        here = way * target.pose.position[axis]
        off = [way * rival.pose.position[axis] - here for rival in rivals]
        before = sum(each < 0 for each in off)
        if min(map(abs, off)) < CLEAR_M or is_first != (before == 0):
            continue
        if axis == 0 and not _is_so_far(target, rivals, before):
            continue
        found.append(replace(own, rank=Rank(first) if is_first else Rank(later, before + 1)))
    return found


def _is_so_far(target: Thing, rivals: Sequence[Thing], before: int) -> bool:
    """Whether as many are nearer, or farther, as the crow flies."""
    away, *others = (math.dist(thing.pose.position[:2], STAND) for thing in (target, *rivals))
    return before in (sum(other < away for other in others), sum(other > away for other in others))


def _by_relation(own: Reference, target: Thing, rivals: Sequence[Thing], scene: Scene) -> list[Reference]:
    """By way of any other thing that is the only one of its colour and of its kind."""
    found = []
    for anchor in scene:
        alike = [thing for thing in scene if thing.kind == anchor.kind or thing.colour == anchor.colour]
        if len(alike) > 1 or anchor.name == target.name:
            continue
        centre, of = anchor.pose.position, named(anchor)
        for flank, (axis, way) in FLANKS.items():
            here, *others = (way * (thing.pose.position[axis] - centre[axis]) for thing in (target, *rivals))
            if here > CLEAR_M and max(others) < 0:
                relation: Spatial = flank
                found.append(replace(own, where=(Where(relation, of),)))
        here, *others = (math.dist(thing.pose.position[:2], centre[:2]) for thing in (target, *rivals))
        if here < min(others) - CLEAR_M:
            found.append(replace(own, rank=Rank("closest to", of=of)))
        elif here > max(others) + CLEAR_M:
            found.append(replace(own, rank=Rank("farthest from", of=of)))
    return found


def excluding(cue: str, target: Thing, rivals: Sequence[Thing]) -> Reference:
    """The target by the colours, or by the kinds, that it has not."""
    if cue == "colour":
        return Reference(target.kind, but=_each("colour", rivals))
    return Reference(colour=target.colour, but=_each("kind", rivals))


def _each(attribute: str, rivals: Sequence[Thing]) -> tuple[Reference, ...]:
    values = dict.fromkeys(getattr(rival, attribute) for rival in rivals)
    return tuple(Reference(**{attribute: value}) for value in values)


def in_other_words(rng: np.random.Generator, reference: Reference, verb: Phrasings) -> Reference:
    """With everyday words for its kind, its colour or its size, where there are any that the verb does not use."""
    said, spoken = reference.words, " ".join((*verb.train, *verb.test)).split()
    for word in filter(None, (reference.kind, reference.colour, reference.size)):
        if others := [other for other in EVERYDAY.get(word, ()) if other not in spoken]:
            said = re.sub(rf"\b{word}\b", one_of(rng, others), said, count=1)
    if said == reference.words:
        raise Rejected("there is no other word for it")
    return replace(reference, said=said)


def on_condition(
    rng: np.random.Generator, clause: Clause, target: Thing, others: Sequence[Thing], kinds: Sequence[str], scene: Scene
) -> If:
    """The clause or the same with another thing, by what there is: as often if so as otherwise, there as not there."""
    seen = looks(scene)
    instead = [thing for thing in others if thing.kind in kinds and len(candidates(named(thing), seen)) == 1]
    if not instead:
        raise Rejected("nothing else to do it with")
    other = replace(clause, target=named(one_of(rng, instead)))
    is_so, is_there = rng.random() < 0.5, rng.random() < 0.5
    present = [(thing.kind, thing.colour) for thing in scene]
    there = [(thing.kind, thing.colour) for thing in scene if thing.name != target.name]
    absent = [(kind, colour) for kind in ANY for colour in COLOURS if (kind, colour) not in present]
    reference = Reference(*one_of(rng, there if is_there else absent))
    fact = Exists(reference) if is_so == is_there else Exists(reference, 0, 0)
    return If(fact, clause, other) if is_so else If(fact, other, clause)


def beside_it(rng: np.random.Generator, others: Sequence[Thing], scene: Scene) -> Clause:
    """To leave another thing, which alone is called so, where it is; or not to pick it up."""
    seen = looks(scene)
    left = [thing for thing in others if not thing.is_fixed and len(candidates(named(thing), seen)) == 1]
    if not left:
        raise Rejected("nothing else to speak of")
    reference = named(one_of(rng, left))
    return Clause("leave", reference) if rng.random() < 0.5 else Clause("pick", reference, is_negated=True)


def check_told(meaning: Meaning, target: Thing, cue: str, scene: Scene) -> None:
    """That the words pick out what is meant, and that they do it by this cue."""
    seen = looks(scene)
    clauses = meaning.decided(seen)
    try:
        fitting = [candidates(reference, seen) for clause in clauses for reference in clause.references]
    except Unresolved:
        raise Rejected("a description fits nothing") from None
    if any(len(names) != 1 for names in fitting) or fitting[0] != [target.name]:
        raise Rejected("a description fits several")
    alike = {thing.name for thing in scene if thing.is_fixed == target.is_fixed}
    if cue_of(clauses[0].target, seen, alike) != cue:
        raise Rejected("it is told by another cue")
