"""Names another thing of the scene, with which the same is to be done."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain

import numpy as np

from robodx.interventions.base import NotApplicable, intervention
from robodx.interventions.changing import bystanders, changed, heard
from robodx.interventions.cues import IN_CUES, described, descriptions, told_by_the_same
from robodx.interventions.describing import by_exclusion, by_negation
from robodx.interventions.wording import least_changed, redescribed, refuse_if_changing
from robodx.language.meaning import If
from robodx.language.reference import is_related
from robodx.scoring.from_meaning import looks
from robodx.sim.scene import Thing
from robodx.situations.attributes import depth_of, side_of
from robodx.tasks.base import Situation
from robodx.tasks.carrier import ANY, COLOURS, FLAT_BELOW, SHORT

# With which kinds each of these can be done, wherever the thing lies.
KINDS = {"pick": ANY, "touch": ANY, "put in": SHORT, "put on": FLAT_BELOW}
SETS = {
    **{side: {"target_side": side} for side in ("left", "middle", "right")},
    **{depth: {"target_depth": depth} for depth in ("near", "far")},
    **{colour: {"target_colour": colour} for colour in COLOURS},
    **{kind: {"target_kind": kind} for kind in ANY},
}
ATTRIBUTES = ("target_side", "target_depth", "target_colour", "target_kind")


def _placebo(situation: Situation, rng: np.random.Generator) -> Situation:
    """Another that is like it in all of these; where there is none, the same by other words."""
    try:
        return _named(situation, None, rng)
    except NotApplicable:
        return told_by_the_same(situation, "target", rng, ATTRIBUTES)


@intervention(
    "named thing",
    factor="words",
    values=SETS,
    entails=(*IN_CUES, "target_*", "goal_*", "things_of_target_kind"),
    placebo=_placebo,
    # Its placebo mostly names the same thing in other words: who misreads words fails the change alone.
    is_comparable=False,
)
def named_thing(situation: Situation, value: str, rng: np.random.Generator) -> Situation:
    """Names another thing of the same scene as the target: one on that side, that near, of that colour or kind."""
    return _named(situation, SETS[value], rng)


def _named(situation: Situation, levels: dict[str, str] | None, rng: np.random.Generator) -> Situation:
    refuse_if_changing(situation)
    _, name = described(situation, "target")
    if any(isinstance(part, If) for part in situation.instruction.meaning.clauses):
        raise NotApplicable("a condition may already name the other thing")
    was = _levels(situation.scene.thing(name))
    if levels is not None and levels.items() <= was.items():
        raise NotApplicable("the target is so already")
    wanted = was if levels is None else levels
    fits = [thing for thing in _others(situation, name) if wanted.items() <= _levels(thing).items()]
    if not fits:
        raise NotApplicable("there is no other such thing with which the same could be done")
    return least_changed(_instead(situation, fits), situation, lambda now, _: wanted.items() <= now.items(), rng)


def _levels(thing: Thing) -> dict[str, str]:
    x, y, _ = thing.pose.position
    return dict(zip(ATTRIBUTES, (side_of(y), depth_of(x), thing.colour, thing.kind), strict=True))


def _others(situation: Situation, name: str) -> Iterator[Thing]:
    """Loose things that nobody needs, on the table and free, of a kind with which it can be done."""
    clauses, seen = heard(situation).clauses, looks(situation.scene)
    acts = {clause.act for clause in clauses}
    if not acts <= KINDS.keys():
        raise NotApplicable(f"whether another thing is as easy to {clauses[0].act} is not known")
    for thing in bystanders(situation):
        touching = (
            is_related(seen[a], relation, seen[b])
            for other in seen if other != thing.name
            for a, b in ((thing.name, other), (other, thing.name))
            for relation in ("inside", "on")
        )  # fmt: skip
        if all(thing.kind in KINDS[act] for act in acts) and not any(touching):
            yield thing


def _instead(situation: Situation, things: list[Thing]) -> Iterator[Situation]:
    """Each told in the ways in which the target was told, as far as can be."""
    old, _ = described(situation, "target")
    seen = looks(situation.scene)
    for thing in things:
        by_not = chain(by_negation(thing.name, seen), by_exclusion(thing.name, seen)) if old.but else iter(())
        for said in redescribed(situation, old, chain(by_not, descriptions(thing.name, seen))):
            try:
                yield changed(situation, instruction=said)
            except NotApplicable:
                continue
