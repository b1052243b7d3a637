"""Makes what is asked depend on what there is, or asks for it without a condition."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import numpy as np

from robodx.interventions.base import NotApplicable, intervention
from robodx.interventions.changing import bystanders, heard
from robodx.interventions.cues import IN_CUES_OF_ALL
from robodx.interventions.describing import shortest
from robodx.interventions.wording import keeping, manner_of, refuse_if_changing, told
from robodx.language.lexicon import NUMBERS
from robodx.language.meaning import Clause, Exists, If, Instruction, Meaning
from robodx.language.reference import Reference
from robodx.records.features import NO, REQUIRES, YES
from robodx.scoring.from_meaning import looks
from robodx.tasks.base import Situation

CONDITION = f"{REQUIRES}language/condition"
OTHERWISE = f"{REQUIRES}language/condition/otherwise"
# Colours that anybody knows, for things that are not there.
COLOURS = ("red", "green", "blue", "yellow", "orange", "purple", "pink", "black", "white")


def _placebo(situation: Situation, rng: np.random.Generator) -> Situation:
    """Another condition that holds just as much, or other words."""
    (part, *more) = situation.instruction.meaning.clauses
    ways: Iterator[Instruction] = iter(())
    if isinstance(part, If) and not more:
        holds = part.fact.holds(looks(situation.scene))
        manner = manner_of(situation.instruction)
        facts = [fact for fact in _facts(situation, holds) if fact != part.fact]
        ways = (manner.say(Meaning((If(fact, part.then, part.otherwise),))) for fact in facts)
    return keeping(situation, ways, (CONDITION, OTHERWISE), rng)


@intervention(
    "condition",
    factor="words",
    values={
        "none": {CONDITION: NO, OTHERWISE: NO},
        "holds": {CONDITION: YES, OTHERWISE: NO},
        "does not hold": {CONDITION: YES, OTHERWISE: YES},
    },
    entails=IN_CUES_OF_ALL,
    placebo=_placebo,
)
def condition(situation: Situation, value: str, rng: np.random.Generator) -> Situation:
    """Makes what is asked depend on a condition that holds or does not, so that the same is to be done; or on none."""
    refuse_if_changing(situation)
    parts = situation.instruction.meaning.clauses
    has_one = any(isinstance(part, If) for part in parts)
    if value == "none":
        if not has_one:
            raise NotApplicable("the instruction has no condition")
        return told(situation, _decided(situation), {CONDITION: NO, OTHERWISE: NO}, rng)
    if len(parts) > 1 or any(isinstance(part, Clause) and (part.is_negated or part.once_lit) for part in parts):
        raise NotApplicable("it would not be clear for what the condition is meant")
    holds = value == "holds"
    ways = _choices(situation, holds)
    return told(situation, ways, {CONDITION: YES, OTHERWISE: NO if holds else YES}, rng)


def _decided(situation: Situation) -> Iterator[Instruction]:
    """As it is said, with what is to be done in place of the choice."""
    seen = looks(situation.scene)
    parts = (
        (part.then if part.fact.holds(seen) else part.otherwise) if isinstance(part, If) else part
        for part in situation.instruction.meaning.clauses
    )
    yield manner_of(situation.instruction).say(Meaning(tuple(parts)))


def _choices(situation: Situation, holds: bool) -> Iterator[Instruction]:
    """Between what is asked for and the same with another thing."""
    clause, seen = heard(situation).clauses[0], looks(situation.scene)
    manner = manner_of(situation.instruction)
    kind = situation.scene.thing(heard(situation).names[clause.target]).kind
    beside = [shortest(thing.name, seen) for thing in bystanders(situation) if thing.kind == kind]
    there = [each for each in beside if each is not None and each != clause.target]
    for other, fact in product(there or _absent(situation)[:2], _facts(situation, holds)):
        if other in (fact.reference, clause.target):
            continue
        instead = Clause(clause.action, other, clause.place)
        then, otherwise = (clause, instead) if holds else (instead, clause)
        yield manner.say(Meaning((If(fact, then, otherwise),)))


def _facts(situation: Situation, holds: bool) -> Iterator[Exists]:
    """About how many there are of a kind, or whether there is a thing of some kind and colour."""
    what, seen = heard(situation), looks(situation.scene)
    if holds:
        named = set(what.names.values())
        beside = (shortest(name, seen) for name in seen if name not in named)
        yield from (Exists(each) for each in beside if each is not None)
    else:
        yield from (Exists(each) for each in _absent(situation)[2:4])
    kind = _kind(situation)
    count = sum(each.kind == kind for each in seen.values()) + (0 if holds else 1)
    if count < len(NUMBERS):
        yield Exists(Reference(kind), count, count)


def _absent(situation: Situation) -> list[Reference]:
    """Things of the target's kind in colours that nothing has."""
    worn = {each.colour for each in looks(situation.scene).values()}
    return [Reference(_kind(situation), colour) for colour in COLOURS if colour not in worn]


def _kind(situation: Situation) -> str:
    what = heard(situation)
    return situation.scene.thing(what.names[what.clauses[0].target]).kind
