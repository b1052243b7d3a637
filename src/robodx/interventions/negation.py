"""Says what a thing is not, or which not to take, in place of a plain name; or the other way round."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np

from robodx.interventions.base import NotApplicable, intervention
from robodx.interventions.changing import bystanders, heard
from robodx.interventions.cues import IN_CUES_OF_ALL
from robodx.interventions.describing import by_exclusion, by_negation, shortest
from robodx.interventions.telling import told_otherwise
from robodx.interventions.wording import keeping, manner_of, redescribed, refuse_if_changing, told
from robodx.language.meaning import Clause, If, Instruction, Meaning
from robodx.language.reference import Reference, Seen
from robodx.records.features import NO, REQUIRES, YES
from robodx.scoring.from_meaning import lifted, looks
from robodx.scoring.parts import walk
from robodx.tasks.base import Situation

ATTRIBUTE = f"{REQUIRES}language/negation"
VALUES = {"none": NO, "that is not": YES, "other than": YES, "do not": YES}
WAYS: dict[str, Callable[[str, Seen], Iterator[Reference]]] = {"that is not": by_negation, "other than": by_exclusion}


def _placebo(situation: Situation, rng: np.random.Generator) -> Situation:
    refuse_if_changing(situation)
    what, seen = heard(situation), looks(situation.scene)
    target = what.clauses[0].target
    # The other order of what is excluded.
    ways = by_negation(what.names[target], seen) if target.but else ()
    return keeping(situation, redescribed(situation, target, ways), (ATTRIBUTE,), rng)


@intervention(
    "negation",
    factor="words",
    values={value: {ATTRIBUTE: level} for value, level in VALUES.items()},
    entails=IN_CUES_OF_ALL,
    placebo=_placebo,
)
def negation(situation: Situation, value: str, rng: np.random.Generator) -> Situation:
    """Says what the target is not, or what not to take, in place of a plain name; or names things plainly."""
    refuse_if_changing(situation)
    if value == "none":
        return told(situation, _positive(situation), {ATTRIBUTE: NO}, rng)
    if value == "do not":
        return _forbidding(situation, rng)
    what, seen = heard(situation), looks(situation.scene)
    target = what.clauses[0].target
    if target.but:
        raise NotApplicable("the target is told by what it is not already")
    if any(clause.place and len(clause.place.of) > 1 and target in clause.place.of for clause in what.clauses):
        raise NotApplicable("among several goals it would not be clear what is excluded")
    new = WAYS[value](what.names[target], seen)
    return told(situation, redescribed(situation, target, new), {ATTRIBUTE: YES}, rng)


def _positive(situation: Situation) -> Iterator[Instruction]:
    """Without prohibitions, and all that was told by what it is not told by what it is."""
    what, parts = heard(situation), situation.instruction.meaning.clauses
    asked = {clause.action for clause in what.clauses}
    kept: list[Clause | If] = []
    for part in parts:
        plain = part if isinstance(part, If) else part.plain
        if isinstance(plain, Clause) and plain.is_negated:
            # To take another thing is wrong in any case; what else is forbidden would still count, and not be said.
            if plain.action not in (*asked, "pick"):
                raise NotApplicable(f"that one must not {plain.action} something would be left unsaid")
            continue
        kept.append(plain)
    told_by_not = [reference for reference in what.names if reference.but]
    stated = {each for part in kept if isinstance(part, Clause) for each in part.references}
    meaning = Meaning(tuple(kept)) if stated.issuperset(told_by_not) else Meaning(what.clauses)
    if told_by_not or meaning != situation.instruction.meaning:
        yield from told_otherwise(situation, meaning, told_by_not, lambda reference: bool(reference.but))


def _forbidding(situation: Situation, rng: np.random.Generator) -> Situation:
    """With a prohibition of something that nobody should take anyway."""
    said, seen = situation.instruction, looks(situation.scene)
    first = heard(situation).clauses[0]
    if any(isinstance(part, If) or part.plain.is_negated or part.is_negated for part in said.meaning.clauses):
        raise NotApplicable("who adds a prohibition to a condition or to another is hard to follow")
    # One of its kind if there is one: that might be taken for it.
    others = sorted(bystanders(situation), key=lambda thing: thing.kind != first.target.kind)
    action = first.action if first.place is None and not situation.scene.thing(_name(situation)).is_fixed else "pick"
    forbidden = {reference: thing.name for thing in others if (reference := shortest(thing.name, seen)) is not None}
    manner = manner_of(said)
    ways = {
        manner.say(Meaning((*said.meaning.clauses, Clause(action, reference, is_negated=True)))): name
        for reference, name in forbidden.items()
    }
    after = told(situation, ways, {ATTRIBUTE: YES}, rng)
    name = ways[after.instruction]
    if any(isinstance(part, str) and part == name for part in walk(after.never)):
        return after
    return replace(after, never=(*after.never, lifted(after.scene, name)))


def _name(situation: Situation) -> str:
    what = heard(situation)
    return what.names[what.clauses[0].target]
