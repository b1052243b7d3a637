"""The time at the start of an episode in which the robot stands still, and whether the policy is asked meanwhile."""

from __future__ import annotations

from typing import NamedTuple

from robodx.tasks.base import Situation


class Wait(NamedTuple):
    """A policy that is not asked begins when the wait is over: of the time before, it knows nothing."""

    steps: int
    unseen_steps: int
    unseen_s: float


def wait_of(situation: Situation, hz: float) -> Wait:
    steps = round(situation.wait_s * hz)
    return Wait(steps, 0, 0.0) if situation.is_asked_while_waiting else Wait(steps, steps, steps / hz)
