"""The stages that follow from an instruction's meaning, for tasks that need no finer ones."""

from __future__ import annotations

from collections.abc import Callable

from robodx.language.meaning import Attributes, Meaning, Reference, resolve
from robodx.scoring.conditions import Condition
from robodx.scoring.contact import Grasped, JointBeyond, Released, Static
from robodx.scoring.relations import Beside, CentredOn, In, Inserted, Lifted, On
from robodx.sim.scene import Scene

LIFT_M = 0.04
# A switch counts as pressed at this share of its travel.
PRESSED_SHARE = 0.7

Stages = tuple[Condition, ...]


def stages_for(meaning: Meaning, scene: Scene) -> Stages:
    objects = [(thing.name, Attributes(thing.kind, thing.colour, thing.size)) for thing in scene]

    def name(reference: Reference) -> str:
        return resolve(reference, objects)

    stages: list[Condition] = []
    for clause in meaning.clauses:
        if clause.is_negated:
            raise ValueError("a prohibition has no stages: write `never` out")
        key = (clause.action, clause.place.relation if clause.place else None)
        if key not in _STAGES:
            raise ValueError(f"no stages follow from {key[0]} {key[1] or ''}: write them out")
        others = tuple(name(reference) for reference in clause.place.of) if clause.place else ()
        stages.extend(_STAGES[key](name(clause.target), others, scene))
    return tuple(stages)


def _pick(target: str, others: tuple[str, ...], scene: Scene) -> Stages:
    return (Grasped(target), Grasped(target) & Lifted(target, LIFT_M))


def _put_on(target: str, others: tuple[str, ...], scene: Scene) -> Stages:
    resting: Condition = Released(target) & Static(target)
    for other in others:
        resting = On(target, other) & resting
    return (Grasped(target), resting)


def _put_in(target: str, others: tuple[str, ...], scene: Scene) -> Stages:
    return (Grasped(target), In(target, others[0]) & Released(target) & Static(target))


def _put_beside(target: str, others: tuple[str, ...], scene: Scene) -> Stages:
    return (Grasped(target), Beside(target, others[0]) & Released(target) & Static(target))


def _push_onto(target: str, others: tuple[str, ...], scene: Scene) -> Stages:
    radius = scene.thing(others[0]).half_extents[0]
    return (CentredOn(target, others[0], radius) & Static(target),)


def _insert(target: str, others: tuple[str, ...], scene: Scene) -> Stages:
    depth = 0.8 * 2 * scene.thing(others[0]).half_extents[0]
    return (Grasped(target), Inserted(target, others[0], depth) & Released(target))


def _press(target: str, others: tuple[str, ...], scene: Scene) -> Stages:
    part = scene.thing(target).parts[0]
    return (JointBeyond(f"{target}/{part.name}", PRESSED_SHARE * part.range[1]),)


_STAGES: dict[tuple[str, str | None], Callable[[str, tuple[str, ...], Scene], Stages]] = {
    ("pick", None): _pick,
    ("put", "on"): _put_on,
    ("put", "in"): _put_in,
    ("put", "beside"): _put_beside,
    ("push", "onto"): _push_onto,
    ("insert", "into"): _insert,
    ("press", None): _press,
}
