"""Takes away what the target could be mistaken for: perception made easy."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from robodx.language.meaning import Instruction, Meaning
from robodx.language.plain_wording import Understood, plainly, understood
from robodx.language.reference import looks_now
from robodx.perturbations.base import perturbation
from robodx.perturbations.substitution import Substitution
from robodx.scoring.events import NewInstruction
from robodx.scoring.from_meaning import looks
from robodx.scoring.parts import walk
from robodx.sim.scene import Scene

if TYPE_CHECKING:
    from robodx.tasks.base import Situation


@perturbation("lone_target", kind="substitution", levels={"on": 1.0}, is_ordered=False, most=1.0)
class LoneTarget(Substitution):
    """Removes loose objects that the task does not need; an instruction that no longer fits becomes plain."""

    def plan(self, situation: Situation) -> None:
        seen = looks(situation.scene)
        updates = [e.effect.instruction for e in situation.events if isinstance(e.effect, NewInstruction)]
        heard = {said.meaning: understood(said.meaning, seen) for said in (situation.instruction, *updates)}
        # What each instruction asks for, as long as all that could be meant is there.
        self._asked: dict[Meaning, Understood] = {meaning: what for meaning, what in heard.items() if what}
        spoken_of = {name for what in self._asked.values() for name in what.names.values()}
        happening = [e for e in situation.events if not isinstance(e.effect, NewInstruction)]
        # One that nobody understands at first may speak of anything.
        self._is_known = len(self._asked) == len(heard)
        # Every text in them, for names of things are among these.
        texts = [one for one in walk((situation.stages, happening)) if isinstance(one, str)]
        self._needed = spoken_of | {text.split("/")[0] for text in texts}

    def scene(self, scene: Scene) -> Scene:
        away = [
            thing
            for thing in scene
            if self._is_known and not thing.is_fixed and not thing.is_parked and thing.name not in self._needed
        ]
        if not away:
            return scene
        return replace(scene, things=tuple(thing.parked() if thing in away else thing for thing in scene))

    def instruction(self, instruction: Instruction) -> Instruction:
        asked, seen = self._asked.get(instruction.meaning), looks_now(self.world)
        left = understood(instruction.meaning, seen)
        if asked is None or (left is not None and left.acts == asked.acts):
            return instruction
        if not set(asked.names.values()) <= set(seen):
            return instruction
        return plainly(asked, seen) or instruction
