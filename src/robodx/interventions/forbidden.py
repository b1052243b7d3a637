"""Forbids what was asked for."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from robodx.interventions.asking import USUAL_LIMIT_S, reworded
from robodx.interventions.base import NotApplicable, intervention
from robodx.interventions.changing import heard
from robodx.interventions.wording import manner_of
from robodx.language.meaning import Clause, Meaning
from robodx.scoring.conditions import Condition
from robodx.scoring.stages import Stage
from robodx.tasks.base import Situation

# It must not be done until so long before the time is over: a slow policy that does it all the same is not cut off.
BEFORE_END_S = 0.5


@intervention(
    "forbidden",
    factor="words",
    values={"do not": {}},
    entails=(
        "requires *", "word *", "words", "verb", "phrasing", "clauses", "acts", "act", "grasps", "places", "target_*",
        "goal_*", "things_of_target_kind", "distractors", "expert_*",
    ),
    placebo=reworded,
)  # fmt: skip
def forbidden(situation: Situation, value: str, rng: np.random.Generator) -> Situation:
    """Says "do not" before the one thing that is asked for: then it must be left undone as long as there is time."""
    heard(situation)
    (first, *more), said = situation.instruction.meaning.clauses, situation.instruction
    if more or situation.events or not isinstance(first, Clause) or first.plain.is_negated or first.once_lit:
        raise NotApplicable("only one plain thing to do is forbidden in plain words")
    done = Stage.of(situation.stages[-1])
    undone: Condition = ~_any(done.alternatives)
    return replace(
        situation,
        instruction=manner_of(said).say(Meaning((replace(first, is_negated=True),))),
        stages=(undone.held_for((situation.time_limit_s or USUAL_LIMIT_S) - BEFORE_END_S),),
        never=(_any(done.alternatives),),
    )


def _any(conditions: tuple[Condition, ...]) -> Condition:
    first, *others = conditions
    for other in others:
        first = first | other
    return first
