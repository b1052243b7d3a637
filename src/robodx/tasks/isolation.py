"""The isolation check: the easy perception tasks, each entangled with one other factor, what is to be seen unchanged.

Each of these tasks is its plain partner of the same seed with something added. If perception is isolated in the plain
task, a policy that solves it fails here by the factor that was added.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import product

from robodx.language.meaning import Clause, Exists, If, Meaning, put, touch
from robodx.language.phrasing import phrase, say
from robodx.language.reference import Reference, resolve, the
from robodx.scoring.events import Move, at
from robodx.scoring.from_meaning import looks, stages_for
from robodx.sim.objects import bin_, bowl
from robodx.sim.scene import Thing
from robodx.streams import Streams, Variation
from robodx.tasks.base import EVALUATION_ONLY, Situation, Task, task
from robodx.tasks.perception import BACK, SLOTS, VIVID, touch_bigger_sphere, touch_red_sphere, touch_sphere
from robodx.tasks.robustness import in_unseen_room, with_distractors

Entangle = Callable[[Streams, Situation], Situation]

# Things glide this far to the left or to the right, while a hand is on its way to them.
GLIDE_M = 0.08
GLIDE_STEPS = 16
GLIDE_PERIOD_S = 0.05
GLIDE_START_S = (0.3, 1.0)
DISTRACTORS = 2
# Half a slot backward, and half a slot to the left or to the right: to between all places of the plain tasks.
SHIFT_M = (0.08, 0.08)


def target_of(plain: Situation) -> Reference:
    (clause,) = plain.instruction.meaning.clauses
    assert isinstance(clause, Clause)
    return clause.target


def right_and_wrong(plain: Situation) -> tuple[str, list[str]]:
    """The thing that is asked for, and the others."""
    right = resolve(target_of(plain), looks(plain.scene))
    return right, [thing.name for thing in plain.scene if thing.name != right]


def with_control(streams: Streams, plain: Situation) -> Situation:
    """It must be grasped and placed in a bin."""
    scene = replace(plain.scene, things=(*plain.scene.things, bin_("white").at(*BACK)))
    instruction = say(put(target_of(plain), "in", "white bin"))
    stages = (*plain.stages, *stages_for(instruction.meaning, scene))
    return replace(plain, scene=scene, instruction=instruction, stages=stages)


def with_language(streams: Streams, plain: Situation) -> Situation:
    """The instruction uses a negation or a condition."""
    rng = streams.rng("instruction")
    right, wrong = right_and_wrong(plain)
    # These things' names are what they look like.
    meant, other = touch(target_of(plain)), touch(wrong[rng.integers(len(wrong))])
    kind, worn = plain.scene.thing(right).kind, [thing.colour for thing in plain.scene]
    absent = str(rng.choice([colour for colour in VIVID if colour not in worn]))
    present = plain.scene.thing(right).colour
    parts: tuple[Clause | If, ...] = (
        touch(negation(meant.target, [plain.scene.thing(name) for name in wrong])),
        # What is meant is told first as often as last.
        If(Exists(Reference(kind, present)), meant, other),
        If(Exists(Reference(kind, present), 0, 0), other, meant),
        If(Exists(Reference(kind, absent)), other, meant),
        If(Exists(Reference(kind, absent), 0, 0), meant, other),
    )
    return replace(plain, instruction=phrase(Meaning((parts[streams.turn("instruction", len(parts))],)), "train", 0))


def negation(target: Reference, wrong: list[Thing]) -> Reference:
    """The target by what the wrong things are in the one respect that tells them apart, and it is not."""
    if target.colour is not None:
        return Reference(target.kind, but=tuple(Reference(colour=thing.colour) for thing in wrong))
    if target.rank is not None:
        return Reference(target.kind, but=tuple(the(thing.name) for thing in wrong))
    return Reference(but=tuple(Reference(kind) for kind in dict.fromkeys(thing.kind for thing in wrong)))


def with_spatial(streams: Streams, plain: Situation) -> Situation:
    """Each object lies in a bowl."""
    things: list[Thing] = []
    for number, thing in enumerate(plain.scene, start=1):
        x, y, _ = thing.pose.position
        holder = bowl("white", floor_radius_m=0.036, rim_radius_m=0.05, height_m=0.026).at(x, y)
        _, _, floor_z = (holder.pose @ holder.frame("cell")).position
        things += [thing.posed(thing.pose.shifted(dz=floor_z)), holder.named(f"bowl {number}")]
    return replace(plain, scene=replace(plain.scene, things=tuple(things)))


def with_dynamic(streams: Streams, plain: Situation) -> Situation:
    """All objects glide aside while the hand approaches."""
    rng = streams.rng("timing")
    start_s, side = rng.uniform(*GLIDE_START_S), rng.choice((-1, 1))
    by = (0.0, float(side) * GLIDE_M / GLIDE_STEPS, 0.0)
    glide = (
        at(start_s + step * GLIDE_PERIOD_S, Move(thing.name, by))
        for step in range(GLIDE_STEPS)
        for thing in plain.scene
    )
    return replace(plain, events=tuple(glide))


def with_novel(streams: Streams, plain: Situation) -> Situation:
    """The room, the places and two distractors are unseen."""
    rng = streams.rng("layout", "distractors")
    dx, dy = SHIFT_M[0], float(rng.choice((-1, 1))) * SHIFT_M[1]
    things = tuple(thing.posed(thing.pose.shifted(dx, dy)) for thing in plain.scene)
    taken = {min(SLOTS, key=lambda slot: math.dist(slot, thing.pose.position[:2])) for thing in plain.scene}
    free = rng.permutation([slot for slot in SLOTS if slot not in taken])[:DISTRACTORS].tolist()
    places = [(x + dx, y + dy, rng.uniform(-math.pi, math.pi)) for x, y in free]
    moved = replace(plain, scene=replace(plain.scene, things=things))
    return in_unseen_room(with_distractors(moved, streams, *places), streams)


@dataclass(frozen=True)
class Factor:
    """What is added to a plain task, what varies besides, and how many more things there are to take hold of."""

    entangle: Entangle
    varies: tuple[Variation, ...] = ()
    more_things: int = 0


PLAIN = (touch_bigger_sphere, touch_red_sphere, touch_sphere)
FACTORS = {
    "control": Factor(with_control),
    "language": Factor(with_language, ("instruction",)),
    "spatial": Factor(with_spatial),
    "dynamic": Factor(with_dynamic, ("timing",)),
    "novel": Factor(with_novel, (), DISTRACTORS),
}


def entangled(plain: Task, name: str, factor: Factor) -> Task:
    def situate(streams: Streams) -> Situation:
        return factor.entangle(streams, plain.situate(streams))

    situate.__name__ = f"{plain.id.partition('/')[2]}_with_{name}"
    situate.__doc__ = f"{plain.summary} {factor.entangle.__doc__}"
    register = task(
        family="isolation",
        varies=(*plain.varies, *factor.varies),
        tags=("isolation", EVALUATION_ONLY),
        chance=1 / (1 / plain.chance + factor.more_things),
        version=2,
        draws_as=plain.id,
    )
    return register(situate)


for _plain, (_name, _factor) in product(PLAIN, FACTORS.items()):
    entangled(_plain, _name, _factor)
