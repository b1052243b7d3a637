"""Lets the robot stand still for some seconds before anything is executed."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from robodx.interventions.asking import USUAL_LIMIT_S
from robodx.interventions.base import NotApplicable, intervention
from robodx.interventions.happening import later
from robodx.tasks.base import Situation

# Longer than most single acts take: what comes late in an episode comes early after it.
WAIT_S = 6.0
HARDLY_S = 0.1


def _waiting(situation: Situation, wait_s: float, is_asked: bool) -> Situation:
    if situation.wait_s:
        raise NotApplicable("the robot waits already")
    return replace(
        situation,
        wait_s=wait_s,
        is_asked_while_waiting=is_asked,
        time_limit_s=(situation.time_limit_s or USUAL_LIMIT_S) + wait_s,
        # What happens by itself happens as long after the robot may begin.
        events=later(situation.events, wait_s),
    )


def _placebo(situation: Situation, rng: np.random.Generator) -> Situation:
    return _waiting(situation, HARDLY_S, bool(rng.integers(2)))


@intervention(
    "wait first",
    factor="doing",
    values={
        # What is done after it comes as late as in a long episode: the expert's duration says so once it has run.
        "asked": {"waits": "asked", "expert_duration_s": "8 or more"},
        "not asked": {"waits": "not asked"},
    },
    entails=("first_event",),
    placebo=_placebo,
)
def wait_first(situation: Situation, value: str, rng: np.random.Generator) -> Situation:
    """Nothing is executed for 6 s: the policy is asked and its commands are held, or its episode begins afterwards."""
    return _waiting(situation, WAIT_S, value == "asked")
