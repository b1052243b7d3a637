"""The stages that follow from an instruction's meaning, for tasks that need no finer ones."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from robodx.language.meaning import Meaning
from robodx.language.reference import Looks, Reference, looks_of, resolve
from robodx.registry import Registry
from robodx.scoring.conditions import All, Condition
from robodx.scoring.contact import Grasped
from robodx.scoring.parts import grasped_in
from robodx.scoring.relations import Lifted
from robodx.sim.geometry import Pose
from robodx.sim.scene import Scene, Thing

LIFT_M = 0.04
# A switch counts as pressed at this share of its travel.
PRESSED_SHARE = 0.7

Stages = tuple[Condition, ...]
# From a target, what it is put in relation to, and the scene.
StagesOf = Callable[[str, tuple[str, ...], Scene], Stages]
# By verb and relation: "pick", "put in".
STAGES: Registry[StagesOf] = Registry("stages", "verbs")


def stages_for(meaning: Meaning, scene: Scene) -> Stages:
    """For a scene as it is before anything moves; where descriptions speak of places, things must have theirs."""
    seen = looks(scene)

    def name(reference: Reference) -> str:
        return resolve(reference, seen)

    clauses = meaning.decided(seen)
    if len(clauses) < len(meaning.clauses):
        raise ValueError("a prohibition has no stages: write `never` out")
    stages: list[Condition] = []
    for clause in clauses:
        if clause.act not in STAGES:
            raise ValueError(f"no stages follow from {clause.act}: write them out")
        others = tuple(name(reference) for reference in clause.place.of) if clause.place else ()
        found = STAGES[clause.act](name(clause.target), others, scene)
        if clause.hand is not None:
            found = tuple(_with_hand(stage, clause.hand) for stage in found)
            if found and not any(grasped_in(stage) for stage in found):
                raise ValueError(f"no stage of {clause.act} tells with which hand it was done: write them out")
        stages.extend(found)
    return tuple(stages)


def _with_hand(condition: Condition, hand: str) -> Condition:
    """With every grasp in it, of which no hand is said, one of this hand."""
    if isinstance(condition, Grasped):
        return condition if condition.hand is not None else replace(condition, hand=hand)
    if isinstance(condition, All):
        return All(tuple(_with_hand(part, hand) for part in condition.parts))
    return condition


def looks(scene: Scene) -> dict[str, Looks]:
    """How a scene's things look at first; of what has only a region, the place is not known."""
    return {thing.name: _looks(thing) for thing in scene if not thing.is_parked}


def _looks(thing: Thing) -> Looks:
    pose = thing.placement if isinstance(thing.placement, Pose) else Pose()
    return looks_of(thing, pose.position, thing.reach(pose.quaternion), thing.colour)


def lifted(scene: Scene, name: str, by_m: float = LIFT_M) -> Lifted:
    """From where it stands at first, be it on another thing; what has only a region will stand on the table."""
    thing = scene.thing(name)
    if not isinstance(thing.placement, Pose):
        return Lifted(name, by_m)
    return Lifted(name, by_m + thing.pose.position[2] - thing.reach(thing.pose.quaternion)[2])
