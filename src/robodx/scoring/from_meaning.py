"""The stages that follow from an instruction's meaning, for tasks that need no finer ones."""

from __future__ import annotations

from collections.abc import Callable

from robodx.language.meaning import Meaning
from robodx.language.reference import Looks, Reference, looks_of, resolve
from robodx.scoring.conditions import Condition
from robodx.scoring.contact import Grasped, JointBeyond, settled
from robodx.scoring.orientation import Inserted, Standing
from robodx.scoring.relations import FLANKS, Beside, Between, CentredOn, Flank, Flanking, In, Lifted, On
from robodx.sim.geometry import Pose
from robodx.sim.scene import Scene, Thing

LIFT_M = 0.04
# A switch counts as pressed at this share of its travel.
PRESSED_SHARE = 0.7
# And a thing as inserted at this share of how deep a hand can bring it.
INSERTED_SHARE = 0.75
# How near its grasp a held thing may come to what it is inserted into.
FINGERS_M = 0.025

Stages = tuple[Condition, ...]
# From a target, what it is put in relation to, and the scene.
StagesOf = Callable[[str, tuple[str, ...], Scene], Stages]


def hole_for(thing: Thing, other: Thing) -> str:
    """The frame of the hole that a thing goes into: its own kind's where there are several."""
    own = f"{thing.kind} hole"
    return own if own in dict(other.frames) else "hole"


def insertion_depth_m(thing: Thing, other: Thing) -> float:
    """How deep a hand can bring a thing's `tip`: nearly through the other, and the fingers do not meet it."""
    tip, grasp = thing.frame("tip"), thing.frame("grasp")
    inwards = other.frame(hole_for(thing, other)).axis("x")
    half_thickness = sum(half * abs(share) for half, share in zip(other.half_extents, inwards, strict=True))
    ahead = sum((t - g) * a for t, g, a in zip(tip.position, grasp.position, tip.axis("x"), strict=True))
    return min(0.9 * 2 * half_thickness, ahead - FINGERS_M)


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
        key = (clause.action, clause.place.relation if clause.place else None)
        if key not in _STAGES:
            raise ValueError(f"no stages follow from {key[0]} {key[1] or ''}: write them out")
        others = tuple(name(reference) for reference in clause.place.of) if clause.place else ()
        stages.extend(_STAGES[key](name(clause.target), others, scene))
    return tuple(stages)


def looks(scene: Scene) -> dict[str, Looks]:
    """How a scene's things look at first; of what has only a region, the place is not known."""
    return {thing.name: _looks(thing) for thing in scene if not thing.is_parked}


def _looks(thing: Thing) -> Looks:
    pose = thing.placement if isinstance(thing.placement, Pose) else Pose()
    return looks_of(thing, pose.position, thing.reach(pose.quaternion), thing.colour)


def _pick(target: str, others: tuple[str, ...], scene: Scene) -> Stages:
    return (Grasped(target), Grasped(target) & Lifted(target, LIFT_M))


def _put_on(target: str, others: tuple[str, ...], scene: Scene) -> Stages:
    resting = settled(target)
    for other in others:
        resting = On(target, other) & resting
    return (Grasped(target), resting)


def _put_in(target: str, others: tuple[str, ...], scene: Scene) -> Stages:
    return (Grasped(target), In(target, others[0]) & settled(target))


def _put_beside(target: str, others: tuple[str, ...], scene: Scene) -> Stages:
    return (Grasped(target), Beside(target, others[0]) & settled(target))


def _put_between(target: str, others: tuple[str, ...], scene: Scene) -> Stages:
    first, second = others
    return (Grasped(target), Between(target, first, second) & settled(target))


def _put_at(side: Flank) -> StagesOf:
    def stages(target: str, others: tuple[str, ...], scene: Scene) -> Stages:
        return (Grasped(target), Flanking(target, others[0], side) & settled(target))

    return stages


def _push_onto(target: str, others: tuple[str, ...], scene: Scene) -> Stages:
    radius = scene.thing(others[0]).half_extents[0]
    return (settled(target) & CentredOn(target, others[0], radius),)


def _insert(target: str, others: tuple[str, ...], scene: Scene) -> Stages:
    thing, other = scene.thing(target), scene.thing(others[0])
    depth = INSERTED_SHARE * insertion_depth_m(thing, other)
    inserted = Inserted(target, other.name, depth, hole=hole_for(thing, other))
    return (Grasped(target), settled(target) & inserted)


def _press(target: str, others: tuple[str, ...], scene: Scene) -> Stages:
    part = scene.thing(target).parts[0]
    return (JointBeyond(f"{target}/{part.name}", PRESSED_SHARE * part.range[1]),)


def _stand(target: str, others: tuple[str, ...], scene: Scene) -> Stages:
    return (Grasped(target), settled(target) & Standing(target))


def _release(target: str, others: tuple[str, ...], scene: Scene) -> Stages:
    return (Grasped(target), settled(target))


_STAGES: dict[tuple[str, str | None], StagesOf] = {
    ("pick", None): _pick,
    ("put", "on"): _put_on,
    ("put", "in"): _put_in,
    ("put", "beside"): _put_beside,
    ("put", "between"): _put_between,
    **{("put", side): _put_at(side) for side in FLANKS},
    ("push", "onto"): _push_onto,
    ("insert", "into"): _insert,
    ("press", None): _press,
    ("stand", None): _stand,
    ("release", None): _release,
}
