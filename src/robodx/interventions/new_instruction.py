"""Says at first something else, or from the beginning what is asked for in the end."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from robodx.interventions.asking import Asked, asked, named, not_needed, reworded, said
from robodx.interventions.base import NotApplicable, intervention
from robodx.interventions.free_places import is_free_standing
from robodx.interventions.happening import is_new_instruction
from robodx.language.meaning import Clause
from robodx.scoring.events import NewInstruction, at
from robodx.scoring.from_meaning import stages_for
from robodx.tasks.base import Situation

# A hand that set out at once is on its way.
CHANGES_S = 0.5


@intervention(
    "new instruction",
    factor="time",
    values={"never": {"requires change/words": "no"}, "after 0.5 s": {"requires change/words": "yes"}},
    entails=("places", "act", "acts", "clauses", "grasps", "first_event", "verb", "phrasing", "words", "target_*",
        "goal_*", "things_of_target_kind", "distractors", "word *", "requires *",
    ),
    placebo=reworded,
)  # fmt: skip
def new_instruction(situation: Situation, value: str, rng: np.random.Generator) -> Situation:
    """Asks for another thing at first and after 0.5 s for what is asked for; or for that from the beginning."""
    if value == "never":
        return _from_the_beginning(situation)
    first = said(situation, (_other(situation, asked(situation), rng),))
    update = at(CHANGES_S, NewInstruction(situation.instruction))
    return replace(situation, instruction=first, events=(*situation.events, update))


def _from_the_beginning(situation: Situation) -> Situation:
    updates = [event for event in situation.events if is_new_instruction(event)]
    if not updates:
        raise NotApplicable("there is one instruction")
    last = updates[-1].effect
    assert isinstance(last, NewInstruction)
    try:
        # By what they say: heights that were known before things had their places differ in the last bits.
        meant = stages_for(last.instruction.meaning, situation.scene)
        is_all = [str(stage) for stage in meant] == [str(stage) for stage in situation.stages]
    except ValueError:
        is_all = False
    if not is_all:
        raise NotApplicable("what is asked for in the end is not all that counts")
    events = tuple(event for event in situation.events if event not in updates)
    return replace(situation, instruction=last.instruction, events=events)


def _other(situation: Situation, now: Asked, rng: np.random.Generator) -> Clause:
    """The same of another thing; where there is none, something else with the same."""
    clause = now.what.clauses[0]
    if not situation.scene.thing(now.target).is_fixed:
        others = [thing for thing in not_needed(situation) if is_free_standing(situation.scene, thing)]
        for index in rng.permutation(len(others)):
            return replace(clause, target=named(situation, others[index].name))
    return Clause("touch" if clause.action == "pick" else "pick", now.reference(0))
