"""Says the same thing in other words."""

from __future__ import annotations

from robodx.language.meaning import Instruction
from robodx.language.phrasing import Split, wordings
from robodx.perturbations.base import Perturbation, perturbation

LEVELS = {"train": 0.5, "test": 1.0}


@perturbation("paraphrase", kind="language", levels=LEVELS, is_ordered=False)
class Paraphrase(Perturbation):
    """Rephrases the instruction: another training phrasing, or one of the test split; its meaning stays."""

    def instruction(self, instruction: Instruction) -> Instruction:
        split: Split = "train" if self.severity == LEVELS["train"] else "test"
        others = [other for other in wordings(instruction, split) if other.text != instruction.text]
        return others[int(self.draws.rng().integers(len(others)))] if others else instruction
