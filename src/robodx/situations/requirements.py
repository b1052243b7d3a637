"""What a trial requires of a policy, derived from its instruction, scene and events, not from the task's name.

A requirement is a path: "language/negation", "perception/colour", "change/moving things". By these the diagnosis groups
episodes of different tasks.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from robodx.language.discriminating_attributes import needed, value
from robodx.language.meaning import Clause, If, Meaning
from robodx.language.reference import Reference, Seen, Unresolved, candidates, resolve
from robodx.records.episode import Mistake, Target
from robodx.scoring.events import Event, NewInstruction, Push, Roll, RunBelt, SwitchLamp
from robodx.scoring.from_meaning import looks
from robodx.sim.scene import Scene, Thing

MOVING = (Roll, RunBelt, Push)
LEFT_RIGHT = ("left", "right", "leftmost", "rightmost", "left of", "right of")
NEAR_FAR = ("nearest", "farthest", "in front of", "behind", "forward", "back")


def requirements(
    meanings: Sequence[Meaning], scene: Scene, events: Sequence[Event], varies: Sequence[str]
) -> tuple[str, ...]:
    """Of all that was said in one episode, in the scene as it was at first."""
    loose = [thing for thing in scene if not thing.is_fixed and not thing.is_parked]
    first, *later = (set(_of_words(meaning, scene)) for meaning in meanings)
    # What is told later is first of all to be heard: the skill that it takes is that of what was told at first.
    found = first | {path for paths in later for path in paths if not path.startswith("motor/")}
    found |= {path for event in events if (path := of_event(event, meanings))}
    if len(loose) > 1:
        found.add("choice")
    if distractors(meanings, scene):
        found.add("distractors")
    if "layout" in varies:
        found.add("layout")
    return tuple(sorted(found))


def distractors(meanings: Sequence[Meaning], scene: Scene) -> list[Thing]:
    """Loose things of a kind that nobody speaks of."""
    kinds = kinds_spoken_of(meanings)
    return [t for t in scene if None not in kinds and not t.is_fixed and not t.is_parked and t.kind not in kinds]


def kinds_spoken_of(meanings: Sequence[Meaning]) -> set[str | None]:
    """None where something is told without its kind."""
    spoken = [reference for meaning in meanings for clause in stated(meaning) for reference in _all_of(clause)]
    return {reference.kind for reference in spoken}


def _of_words(meaning: Meaning, scene: Scene) -> Iterator[str]:
    seen = looks(scene)
    if any(
        clause.is_negated or clause.plain.is_negated or any(reference.but for reference in _all_of(clause))
        for clause in stated(meaning)
    ):
        yield "language/negation"
    for part in meaning.clauses:
        if isinstance(part, If):
            yield "language/condition"
            if not part.fact.holds(seen):
                yield "language/condition/otherwise"
    clauses = meaning.decided(seen)
    if len(clauses) > 1:
        yield "language/order"
    for clause in clauses:
        place = clause.place.relation if clause.place else None
        # Which way it is moved is a matter of words.
        yield f"motor/{clause.act if clause.place and clause.place.of else clause.action}"
        if clause.once_lit is not None:
            yield "language/signal"
        if clause.place is not None and clause.place.among:
            yield "choice"
        yield from _of_directions({place} if place else set())
        for reference in clause.references:
            yield from of_description(reference)
            for attribute in needed(reference, seen, alike(scene, reference, seen)):
                yield f"perception/{attribute}"
                yield "choice"


def of_description(reference: Reference) -> Iterator[str]:
    """What one must know of language to tell which thing a description means."""
    for each in _told_by([reference]):
        rank = each.rank
        yield from _of_directions({where.relation for where in each.where} | ({rank.by} if rank else set()))
        if rank is not None and rank.n > 1:
            yield "language/ordinal"
        if each.said is not None:
            yield "language/synonym"
        if each.where or (rank is not None and rank.of is not None):
            yield "language/relation"


def _of_directions(words: Collection[str]) -> Iterator[str]:
    if not set(LEFT_RIGHT).isdisjoint(words):
        yield "language/left and right"
    if not set(NEAR_FAR).isdisjoint(words):
        yield "language/front and back"


def of_event(event: Event, meanings: Sequence[Meaning]) -> str | None:
    """What it requires; None where it answers what the robot does, as a lamp that nobody waits for."""
    effect = event.effect
    if isinstance(effect, NewInstruction):
        return "change/words"
    if isinstance(effect, SwitchLamp):
        is_awaited = any(clause.once_lit for meaning in meanings for clause in stated(meaning))
        return "change/signal" if is_awaited else None
    return "change/moving things" if isinstance(effect, MOVING) else "change/sudden"


def stated(meaning: Meaning) -> Iterator[Clause]:
    """All clauses, whether or not their condition holds."""
    for part in meaning.clauses:
        if isinstance(part, If):
            yield part.then
            yield part.otherwise
        else:
            yield part


def _all_of(clause: Clause) -> Iterator[Reference]:
    """The descriptions in a clause, and those by way of which they are told."""
    return _told_by(clause.references)


def _told_by(references: Iterable[Reference]) -> Iterator[Reference]:
    waiting = list(references)
    while waiting:
        reference = waiting.pop()
        yield reference
        waiting += [*(where.of for where in reference.where), *reference.but]
        if reference.rank is not None and reference.rank.of is not None:
            waiting.append(reference.rank.of)


def target(meaning: Meaning, scene: Scene) -> Target | None:
    """What is to be handled first; None where the words do not pick it out in the scene as it was at first."""
    seen = looks(scene)
    clauses = meaning.decided(seen)
    return meant(clauses[0].target, seen) if clauses else None


def meant(reference: Reference, seen: Seen) -> Target | None:
    """The one thing that a description picks out, if it does."""
    try:
        name = resolve(reference, seen)
    except Unresolved:
        return None
    look, (x, y, _) = seen[name], seen[name].position
    return Target(name, look.kind, look.colour or "", 2 * look.size_m, x, y)


def mistaken(meaning: Meaning, scene: Scene, chosen: str, right: frozenset[str]) -> tuple[Mistake, ...]:
    """In which of the attributes that tell it the thing that was asked for differs from the one that was chosen.

    `right` are the things that would have done; without a description of one of them nothing is said.
    """
    seen = looks(scene)
    for clause in meaning.decided(seen):
        for reference in clause.references:
            among = alike(scene, reference, seen)
            fitting = _fitting(reference, seen)
            if len(fitting) != 1 or fitting[0] not in right or chosen not in among or chosen in fitting:
                continue
            asked, other = seen[fitting[0]], seen[chosen]
            named = [
                (one, value(asked, one, other), value(other, one, asked)) for one in needed(reference, seen, among)
            ]
            return tuple(Mistake(*each) for each in named if each[1] != each[2])
    return ()


def as_coloured(scene: Scene, colours: Mapping[str, str]) -> Scene:
    """With the colours that things have come to wear."""
    return replace(scene, things=tuple(replace(thing, colour=colours[thing.name]) for thing in scene))


def alike(scene: Scene, reference: Reference, seen: Seen) -> set[str]:
    """What the thing might be taken for: what is loose among what is loose, what is fixed among what is fixed."""
    fitting = _fitting(reference, seen)
    is_fixed = any(scene.thing(name).is_fixed for name in fitting)
    return {thing.name for thing in scene if thing.is_fixed == is_fixed and not thing.is_parked}


def _fitting(reference: Reference, seen: Seen) -> list[str]:
    try:
        return candidates(reference, seen)
    except Unresolved:
        return []
