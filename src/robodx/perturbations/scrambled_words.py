"""The same words in another order: does the policy read a sentence, or only which words are in it?"""

from __future__ import annotations

import re

from robodx.language.meaning import Instruction, Meaning
from robodx.perturbations.base import NullWords, perturbation


@perturbation("scrambled_words", kind="language", levels={"on": 1.0}, is_ordered=False, most=1.0)
class ScrambledWords(NullWords):
    """The words of the instruction in a random order; the goal stays. A privileged policy is asked for nothing."""

    def instruction(self, instruction: Instruction) -> Instruction:
        words = re.sub(r"[.,;:?!]", "", instruction.text).split()
        if len({word.lower() for word in words}) < 2:
            return instruction
        words[0] = words[0][0].lower() + words[0][1:]
        rng = self.draws.rng(instruction.text)
        scrambled = words
        while scrambled == words:
            scrambled = [words[place] for place in rng.permutation(len(words))]
        text = " ".join(scrambled)
        return Instruction(f"{text[0].upper()}{text[1:]}.", Meaning(()))
