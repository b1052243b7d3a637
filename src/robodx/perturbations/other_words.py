"""Another task's words: does the policy follow them, or do what the scene suggests?"""

from __future__ import annotations

from typing import TYPE_CHECKING

from robodx.language.meaning import Instruction
from robodx.language.plain_wording import understood
from robodx.language.reference import looks_now
from robodx.perturbations.base import NullWords, perturbation
from robodx.tasks.base import TASKS

if TYPE_CHECKING:
    from robodx.sim.world import World

# Seeds of the task that lends its words: as many ways as it may be said in.
SEEDS = 1000


@perturbation("other_words", kind="language", levels={"on": 1.0}, is_ordered=False, most=1.0)
class OtherWords(NullWords):
    """The instruction of another task, drawn per trial; the goal stays. A privileged policy does the other thing.

    It stands still where the other words name what is not there. Words that ask for the same here are not drawn.
    """

    def meet(self, world: World) -> None:
        self._world = world

    def instruction(self, instruction: Instruction) -> Instruction:
        seen = looks_now(self._world)
        asked = understood(instruction.meaning, seen)
        rng = self.draws.rng(instruction.text)
        # A user's own tasks have no part in it: whoever runs the trial, it is the same.
        shipped = [task for task in TASKS.entries() if task.situate.__module__.startswith("robodx.tasks.")]
        for place in rng.permutation(len(shipped)):
            other: Instruction = shipped[place].situation(int(rng.integers(SEEDS))).instruction
            heard = understood(other.meaning, seen)
            is_same = heard is not None and asked is not None and heard.acts == asked.acts
            if other.text.lower() != instruction.text.lower() and not is_same:
                return other
        raise AssertionError("of all tasks none asks for anything else")
