"""Changing what is asked for, clause by clause: the words, what counts, and the time for it follow."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import fields, replace
from itertools import pairwise
from typing import NamedTuple, TypeVar

import numpy as np

from robodx.interventions.base import NotApplicable
from robodx.interventions.changing import bystanders, heard
from robodx.language.meaning import DIRECTIONS, Clause, If, Instruction, Meaning
from robodx.language.phrasing import Split, phrase, phrasing_count, wordings
from robodx.language.plain_wording import Understood, plain_name
from robodx.language.reference import Reference, candidates
from robodx.scoring.conditions import Condition, Latched
from robodx.scoring.contact import Grasped, Touched, TouchedFirst, TouchedOtherFirst, settled
from robodx.scoring.events import NewInstruction
from robodx.scoring.from_meaning import STAGES, lifted, looks
from robodx.scoring.parts import walk
from robodx.scoring.relations import CentredOn
from robodx.scoring.sides import Displaced
from robodx.scoring.stages import Stage
from robodx.sim.scene import Scene, Thing
from robodx.tasks.base import Situation

T = TypeVar("T")
Part = Clause | If
Stages = tuple[Stage | Condition, ...]
# What a further act is given: what a pick and place of a slow policy takes.
PER_ACT_S = 10.0
USUAL_LIMIT_S = 20.0
# As nobody says it: "pick up it".
AWKWARD = re.compile(r"\bup it\b")


class Asked(NamedTuple):
    """What is to be done here, in order: as it is said, as it is understood, and what counts for each."""

    parts: tuple[Part, ...]
    what: Understood
    stages: tuple[Stages, ...]

    def names(self, clause: Clause) -> tuple[str, ...]:
        return tuple(self.what.names[reference] for reference in clause.references)

    def reference(self, index: int) -> Reference:
        """How the target of an act is called."""
        part = self.parts[index]
        return part.target if isinstance(part, Clause) else self.what.clauses[index].target

    @property
    def target(self) -> str:
        """Of the first act."""
        return self.names(self.what.clauses[0])[0]

    @property
    def handled(self) -> set[str]:
        return {self.names(clause)[0] for clause in self.what.clauses}


def asked(situation: Situation) -> Asked:
    """Where nothing else is said later, and it is known which stages count for which act."""
    if any(isinstance(event.effect, NewInstruction) for event in situation.events):
        raise NotApplicable("what is asked for changes later")
    what, parts = heard(situation), tuple(part for part in _parts(situation) if not is_forbidding(part))
    if len(parts) == 1:
        if what.names[what.clauses[0].target] not in names_in(situation.stages):
            raise NotApplicable("what is meant comes to be another thing")
        return Asked(parts, what, (situation.stages,))
    counts = [len(stages_of(clause, what, situation.scene)) for clause in what.clauses]
    if sum(counts) != len(situation.stages):
        raise NotApplicable("it is not known which stages count for which act")
    ends = np.cumsum([0, *counts])
    slices = (situation.stages[start:end] for start, end in pairwise(ends))
    return Asked(parts, what, tuple(slices))


def _parts(situation: Situation) -> tuple[Part, ...]:
    return situation.instruction.meaning.clauses


def is_forbidding(part: Part) -> bool:
    return isinstance(part, Clause) and part.plain.is_negated


def forbidden_things(situation: Situation) -> set[str]:
    """Of which the words say what is not to be done with them."""
    seen = looks(situation.scene)
    found: set[str] = set()
    for part in _parts(situation):
        if isinstance(part, Clause) and is_forbidding(part):
            found.update(candidates(part.target, seen))
    return found


def not_needed(situation: Situation) -> list[Thing]:
    """Loose things that nobody speaks of, neither to be handled nor to be left alone."""
    forbidden = forbidden_things(situation)
    return [thing for thing in bystanders(situation) if thing.name not in forbidden]


def stages_of(clause: Clause, what: Understood, scene: Scene) -> Stages:
    """What counts for one act, by the names of the things."""
    name, *others = (what.names[reference] for reference in clause.references)
    return stages_for_act(clause, name, tuple(others), scene)


def stages_for_act(clause: Clause, name: str, others: tuple[str, ...], scene: Scene) -> Stages:
    if clause.act in STAGES:
        return STAGES[clause.act](name, others, scene)
    if clause.action == "touch":
        return (Touched(name),)
    if clause.action == "roll":
        return (Touched(name), settled(name) & CentredOn(name, others[0], scene.thing(others[0]).half_extents[0]))
    way = next((way for way in DIRECTIONS if clause.place and clause.place.relation == way), None)
    if clause.action == "move" and way and clause.place and clause.place.distance_m:
        x, y, _ = scene.thing(name).pose.position
        return (Grasped(name), settled(name) & Displaced(name, (x, y), way, clause.place.distance_m))
    raise NotApplicable(f"it is not known what counts as {clause.act}")


def frees_hand(clause: Clause) -> bool:
    """Whether the hand is empty when this is done."""
    return clause.action != "pick"


def named(situation: Situation, name: str) -> Reference:
    """The plainest words for a thing."""
    found = plain_name(name, looks(situation.scene))
    if found is None:
        raise NotApplicable(f"there are no words for the {name} alone")
    return found


# Words.


def said(situation: Situation, parts: Sequence[Part]) -> Instruction:
    """These in the phrasing that the situation is told in; in the plain one where it is told in words of its own.

    What was forbidden is so still.
    """
    parts = (*parts, *(part for part in _parts(situation) if is_forbidding(part)))
    split, index = phrasing_of(situation.instruction) or ("train", 0)
    ways = [phrase(Meaning(tuple(parts)), split, index + more) for more in range(3)]
    return next((one for one in ways if not AWKWARD.search(one.text)), ways[0])


def said_after(situation: Situation, further: Sequence[Clause]) -> Instruction:
    """What is said already, word for word, and then these."""
    told, parts = situation.instruction, (*_parts(situation), *further)
    if phrasing_of(told) is not None:
        return said(situation, [part for part in parts if not is_forbidding(part)])
    if any(map(is_forbidding, parts)):
        raise NotApplicable("what would come after a prohibition")
    # A sentence of the task's own goes on after a comma.
    last = [clause for clause in parts[: -len(further)] if isinstance(clause, Clause)][-1:]
    both = phrase(Meaning((*last, *further)), "train", 0).text
    _, _, tail = both.partition(", then ") if last else ("", "", f"{both[0].lower()}{both[1:]}")

    def longer(text: str) -> str:
        return f"{text.rstrip('.?!')}, then {tail.rstrip('.')}{'?' if text.endswith('?') else '.'}"

    own = {split: tuple(longer(text) for text in getattr(told, split)) for split in ("train", "test")}
    return Instruction(longer(told.text), Meaning(parts), **own)


def phrasing_of(instruction: Instruction) -> tuple[Split, int] | None:
    """Which of the verbs' phrasings it is told in, if any."""
    splits: tuple[Split, ...] = ("train", "test")
    for split in splits:
        for index in range(phrasing_count(instruction.meaning, split)):
            if phrase(instruction.meaning, split, index).text == instruction.text:
                return split, index
    return None


def reworded(situation: Situation, rng: np.random.Generator) -> Situation:
    """The same in other words of the same sort: those to train with, or those to test with."""
    told = situation.instruction
    ways = {split: wordings(told, split) for split in ("train", "test")}
    own = next((each for each in ways.values() if told.text in [one.text for one in each]), ways["train"])
    others = [one for one in own if one.text != told.text]
    if not others:
        raise NotApplicable("there are no other words of this sort for it")
    return replace(situation, instruction=others[int(rng.integers(len(others)))])


# What counts.


def asking(
    situation: Situation, instruction: Instruction, stages: Sequence[Stages], *, never: tuple[Condition, ...]
) -> Situation:
    """The situation with this asked for; further acts are given further time."""
    further = len(stages) - len(heard(situation).clauses)
    limit_s = (situation.time_limit_s or USUAL_LIMIT_S) + PER_ACT_S * max(further, 0)
    flat = tuple(stage for each in stages for stage in each)
    after = replace(situation, instruction=instruction, stages=flat, never=never, time_limit_s=limit_s)
    heard(after)
    return after


def kept_apart(situation: Situation, before: Asked, now: set[str]) -> tuple[Condition, ...]:
    """What must not happen, when fewer things are to be handled: those left out must stay where they are."""
    left_out = [name for name in before.handled if name not in now and not situation.scene.thing(name).is_fixed]
    return (*situation.never, *(lifted(situation.scene, name) for name in left_out if situation.never))


def without(never: Sequence[Condition], name: str) -> tuple[Condition, ...]:
    """What must not happen, when this thing may be handled first as well."""
    kept = (one for one in never if name not in names_in(one) and not isinstance(one, TouchedOtherFirst))
    return tuple(any_time(one) for one in kept)


def any_time(part: T) -> T:
    """Stages or conditions in which what had to be touched before anything else may be touched after it."""
    if isinstance(part, TouchedFirst):
        return Touched(part.thing)  # type: ignore[return-value]
    if isinstance(part, tuple):
        return tuple(any_time(one) for one in part)  # type: ignore[return-value]
    if isinstance(part, Stage | Condition):
        values = {field.name: getattr(part, field.name) for field in fields(part)}
        later = {name: any_time(value) for name, value in values.items()}
        return part if later == values else replace(part, **later)
    return part


def is_ordering(condition: Condition) -> bool:
    """Whether it forbids something until something else was done."""
    return any(isinstance(part, Latched) for part in walk(condition))


def names_in(condition: object) -> set[str]:
    return {text.split("/")[0] for text in walk(condition) if isinstance(text, str)}
