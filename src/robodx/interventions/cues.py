"""Telling one thing by another of its attributes, or by the same in another way."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from robodx.interventions.base import NotApplicable
from robodx.interventions.changing import heard
from robodx.interventions.describing import by_looks, by_place, by_relation
from robodx.interventions.wording import IN_WORDS, keeping, redescribed, refuse_if_changing, told
from robodx.language.discriminating_attributes import cue_of
from robodx.language.reference import Reference, Seen
from robodx.scoring.from_meaning import looks
from robodx.sim.scene import Scene
from robodx.situations.requirements import alike
from robodx.tasks.base import Situation

# A pattern must be there to tell by it: that is a matter of looks.
CUES = (
    "colour", "shape", "size", "place", "relation", "ordinal", "shape and place", "shape and relation",
    "shape and ordinal",
)  # fmt: skip
IN_CUES = (
    *IN_WORDS, "clauses", "distractors", "requires distractors", "requires language/*", "requires perception/*",
    "requires choice",
)  # fmt: skip
IN_CUES_OF_ALL = (*IN_CUES, "target_cue", "goal_cue")


def told_by(situation: Situation, role: str, level: str, rng: np.random.Generator) -> Situation:
    """The thing in this role told by what this level says, and by no more."""
    refuse_if_changing(situation)
    old, name = described(situation, role)
    seen = looks(situation.scene)
    if cue_in(situation.scene, old, seen) == level:
        raise NotApplicable(f"the {role} is told by {level} already")
    new = (each for each in descriptions(name, seen, level) if cue_in(situation.scene, each, seen) == level)
    return told(situation, redescribed(situation, old, new), {f"{role}_cue": level}, rng)


def told_by_the_same(
    situation: Situation, role: str, rng: np.random.Generator, attributes: Sequence[str] = ()
) -> Situation:
    """Told otherwise by the same; these attributes stay as well."""
    refuse_if_changing(situation)
    old, name = described(situation, role)
    seen = looks(situation.scene)
    level = cue_in(situation.scene, old, seen)
    new = (each for each in descriptions(name, seen, level) if cue_in(situation.scene, each, seen) == level)
    return keeping(situation, redescribed(situation, old, new), (f"{role}_cue", *attributes), rng)


def cue_in(scene: Scene, reference: Reference, seen: Seen) -> str:
    return cue_of(reference, seen, alike(scene, reference, seen))


def described(situation: Situation, role: str) -> tuple[Reference, str]:
    """How the first act's target or goal is told, and which thing it is."""
    what = heard(situation)
    clause = what.clauses[0]
    if role == "target":
        return clause.target, what.names[clause.target]
    if clause.place is None or not clause.place.of:
        raise NotApplicable("the first act has no goal that is a thing")
    return clause.place.of[0], what.names[clause.place.of[0]]


def descriptions(name: str, seen: Seen, level: str = "") -> Iterator[Reference]:
    """Of a thing, by looks or by place; what cannot have this cue is left out."""
    is_by_place = any(word in level for word in ("place", "ordinal"))
    if not is_by_place and "relation" not in level:
        yield from by_looks(name, seen)
    if is_by_place or not level:
        yield from by_place(name, seen)
    if "relation" in level or not level:
        yield from by_relation(name, seen)
