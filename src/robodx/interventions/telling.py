"""Descriptions that take something of who reads them, or do not: the words left and right, a number, another thing."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import islice, product

import numpy as np

from robodx.interventions.base import Change, NotApplicable, Placebo
from robodx.interventions.changing import heard
from robodx.interventions.cues import cue_in, descriptions, told_by_the_same
from robodx.interventions.wording import exchanged, manner_of, redescribed, refuse_if_changing, told
from robodx.language.discriminating_attributes import needed
from robodx.language.meaning import Instruction, Meaning
from robodx.language.reference import Reference, Seen
from robodx.records.features import NO, REQUIRES, YES
from robodx.scoring.from_meaning import looks
from robodx.situations.requirements import alike, of_description
from robodx.tasks.base import Situation

Takes = Callable[[Reference], bool]
# Of each thing so many descriptions are tried, where several are to be told otherwise.
MOST_TRIED = 4


def requiring(path: str) -> tuple[dict[str, dict[str, str]], Change, Placebo]:
    """Values, change and placebo of an intervention that has descriptions that require this, or none."""
    attribute = f"{REQUIRES}{path}"

    def change(situation: Situation, value: str, rng: np.random.Generator) -> Situation:
        return (with_it if value == YES else without_it)(situation, path, rng)

    def placebo(situation: Situation, rng: np.random.Generator) -> Situation:
        return told_by_the_same(situation, "target", rng, (attribute,))

    return {level: {attribute: level} for level in (NO, YES)}, change, placebo


def with_it(situation: Situation, path: str, rng: np.random.Generator) -> Situation:
    """The first thing that can be told so is."""
    refuse_if_changing(situation)
    what, seen = heard(situation), looks(situation.scene)
    takes = _takes(situation, seen, path)
    if any(takes(reference) for clause in what.clauses for reference in clause.references):
        raise NotApplicable(f"the words require {path} already")
    for reference in what.clauses[0].references:
        new = (each for each in descriptions(what.names[reference], seen) if takes(each))
        try:
            return told(situation, redescribed(situation, reference, new), {f"{REQUIRES}{path}": YES}, rng)
        except NotApplicable:
            continue
    raise NotApplicable(f"nothing that is named can be told here by words that require {path}")


def without_it(situation: Situation, path: str, rng: np.random.Generator) -> Situation:
    """Everything that is told so is told otherwise."""
    refuse_if_changing(situation)
    what, seen = heard(situation), looks(situation.scene)
    takes = _takes(situation, seen, path)
    old = [reference for reference in what.names if takes(reference)]
    if not old:
        raise NotApplicable(f"no description requires {path}")
    return told(situation, _otherwise(situation, old, takes), {f"{REQUIRES}{path}": NO}, rng)


def _otherwise(situation: Situation, old: list[Reference], takes: Takes) -> Iterator[Instruction]:
    meaning, what = situation.instruction.meaning, heard(situation)
    # What follows from several parts is not said in any of them.
    if any(exchanged(meaning, {each: Reference()}) == meaning for each in old):
        meaning = Meaning(what.clauses)
    yield from told_otherwise(situation, meaning, old, takes)


def told_otherwise(
    situation: Situation, meaning: Meaning, old: Sequence[Reference], takes: Takes
) -> Iterator[Instruction]:
    """This meaning with other descriptions in place of these, none of which takes that."""
    what, scene, seen = heard(situation), situation.scene, looks(situation.scene)
    choices = []
    for reference in old:
        level = cue_in(scene, reference, seen)
        others = [each for each in descriptions(what.names[reference], seen) if not takes(each)]
        # What tells it as before comes first.
        choices.append(sorted(others, key=lambda each: cue_in(scene, each, seen) != level)[:MOST_TRIED])
    manner = manner_of(situation.instruction)
    for new in islice(product(*choices), 3 * MOST_TRIED):
        yield manner.say(exchanged(meaning, dict(zip(old, new, strict=True))))


def _takes(situation: Situation, seen: Seen, path: str) -> Takes:
    kind, _, attribute = path.partition("/")
    if kind == "perception":
        scene = situation.scene
        return lambda reference: attribute in needed(reference, seen, alike(scene, reference, seen))
    return lambda reference: path in of_description(reference)
