"""No words: does the policy use its instruction at all?"""

from __future__ import annotations

from robodx.language.meaning import Instruction, Meaning
from robodx.perturbations.base import NullWords, perturbation


@perturbation("blank_words", kind="language", levels={"on": 1.0}, is_ordered=False, most=1.0)
class BlankWords(NullWords):
    """The instruction is an empty text; the goal stays. A privileged policy is asked for nothing."""

    def instruction(self, instruction: Instruction) -> Instruction:
        return Instruction("", Meaning(()))
