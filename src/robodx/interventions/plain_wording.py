"""Says what is meant as plainly as can be."""

from __future__ import annotations

import numpy as np

from robodx.interventions.base import NotApplicable, intervention
from robodx.interventions.changing import heard
from robodx.interventions.cues import IN_CUES_OF_ALL
from robodx.interventions.wording import keeping, manner_of, refuse_if_changing, told
from robodx.language.plain_wording import plainly
from robodx.records.features import NO, REQUIRES
from robodx.scoring.from_meaning import looks
from robodx.situations.features import features_of
from robodx.tasks.base import Situation

PLAIN = {f"{REQUIRES}language/{path}": NO for path in ("negation", "condition", "relation", "synonym")}


def _placebo(situation: Situation, rng: np.random.Generator) -> Situation:
    return keeping(situation, (), tuple(PLAIN), rng)


@intervention(
    "plain wording",
    factor="words",
    values={"plain": PLAIN},
    entails=IN_CUES_OF_ALL,
    placebo=_placebo,
)
def plain_wording(situation: Situation, value: str, rng: np.random.Generator) -> Situation:
    """Decides conditions, leaves out what is forbidden or excluded, and names each thing by its own looks."""
    refuse_if_changing(situation)
    if features_of(situation).keys().isdisjoint(PLAIN):
        raise NotApplicable("it is said plainly already")
    plain = plainly(heard(situation), looks(situation.scene))
    if plain is None:
        raise NotApplicable("some thing has no plain description of its own")
    return told(situation, [manner_of(situation.instruction).say(plain.meaning), plain], PLAIN, rng)
