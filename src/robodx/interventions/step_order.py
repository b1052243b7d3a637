"""Asks for the same acts in the opposite order."""

from __future__ import annotations

from itertools import combinations, pairwise

import numpy as np

from robodx.interventions.asking import Asked, asked, asking, frees_hand, is_ordering, reworded, said
from robodx.interventions.base import NotApplicable, intervention
from robodx.language.meaning import Clause
from robodx.scoring.conditions import Condition
from robodx.scoring.from_meaning import lifted
from robodx.tasks.base import Situation


def _placebo(situation: Situation, rng: np.random.Generator) -> Situation:
    if len(asked(situation).parts) < 2:
        raise NotApplicable("there is only one act")
    return reworded(situation, rng)


@intervention(
    "order of steps",
    factor="doing",
    # Which act comes first is told by `act` and by what there is of its target and goal.
    values={"reversed": {}},
    entails=("act", "verb", "phrasing", "words", "target_*", "goal_*", "things_of_target_kind", "word *", "requires *"),
    placebo=_placebo,
)
def order_of_steps(situation: Situation, value: str, rng: np.random.Generator) -> Situation:
    """Asks for the same acts in the opposite order, where none depends on another."""
    now = asked(situation)
    if len(now.parts) < 2:
        raise NotApplicable("there is only one act")
    for first, second in combinations(now.what.clauses, 2):
        if not _is_independent(now, first, second):
            raise NotApplicable("one act depends on another")
    clauses, stages = now.what.clauses[::-1], now.stages[::-1]
    never = [one for one in situation.never if not is_ordering(one)]
    if len(never) < len(situation.never):
        # What was too early before is so in the other order.
        for (_, before), (clause, _) in pairwise(zip(clauses, stages, strict=True)):
            name, done = now.names(clause)[0], before[-1]
            if isinstance(done, Condition) and not situation.scene.thing(name).is_fixed:
                never.append(lifted(situation.scene, name) & ~done.latched())
    return asking(situation, said(situation, now.parts[::-1]), stages, never=tuple(never))


def _is_independent(now: Asked, first: Clause, second: Clause) -> bool:
    """Neither goes to what the other moves, and the hand is free between them."""
    (target, *goals), (other, *others) = now.names(first), now.names(second)
    if not (frees_hand(first) and frees_hand(second)) or "release" in (first.action, second.action):
        return False
    return target not in others and other not in goals
