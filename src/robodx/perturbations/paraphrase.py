"""Says the same thing in other words."""

from __future__ import annotations

from robodx.language.meaning import Instruction
from robodx.language.phrasing import phrase, phrasing_count
from robodx.perturbations.base import Perturbation, perturbation


@perturbation("paraphrase", kind="language", levels={"test": 1.0}, is_ordered=False)
class Paraphrase(Perturbation):
    """Rephrases the instruction with a phrasing of the test split, drawn per trial; its meaning stays."""

    def instruction(self, instruction: Instruction) -> Instruction:
        index = int(self.draws.rng().integers(phrasing_count(instruction.meaning, "test")))
        return phrase(instruction.meaning, "test", index)
