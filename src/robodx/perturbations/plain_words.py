"""Says what is meant as plainly as can be: language made perfect."""

from __future__ import annotations

from robodx.language.meaning import Instruction
from robodx.language.plain_wording import plainly, understood
from robodx.language.reference import looks_now
from robodx.perturbations.base import perturbation
from robodx.perturbations.substitution import Substitution


@perturbation("plain_words", kind="substitution", levels={"on": 1.0}, is_ordered=False, most=1.0)
class PlainWords(Substitution):
    """Gives the instruction in plain words: conditions and exclusions resolved, objects named by appearance."""

    def instruction(self, instruction: Instruction) -> Instruction:
        seen = looks_now(self.world)
        what = understood(instruction.meaning, seen)
        plain = what and plainly(what, seen)
        return instruction if plain is None or plain == instruction else plain
