"""Conditions in words, to be read after "when": "the target lies on the right", "the instruction has a negation"."""

from __future__ import annotations

from robodx.analysis.findings.conditions import Condition
from robodx.records.features import WORD, order

# What a trial has, by the last part of what it requires.
HAS = {
    "choice": "there are several objects to choose from", "layout": "the layout varies",
    "distractors": "there are distractor objects", "change": "something changes during the episode",
    "sudden": "something changes suddenly", "signal": "there is a signal to wait for",
    "words": "a new instruction comes during the episode", "language": "the instruction is more than plain names",
    "negation": "the instruction has a negation", "condition": "the instruction has a condition",
    "otherwise": "the condition of the instruction is not met", "order": "steps have an order",
    "ordinal": "the instruction has an ordinal", "relation": "an object is told by its relation to another",
    "synonym": "the instruction has a synonym", "left and right": "the instruction says left or right",
    "front and back": "the instruction says front or back", "perception": "objects must be told apart by their looks",
    "colour": "an object is told by its colour", "size": "an object is told by its size",
    "shape": "an object is told by its shape", "place": "an object is told by its place",
    "pattern": "an object is told by its pattern", "moving things": "objects move", "motor": "something is to be done",
}  # fmt: skip
# By the attribute's name without whose it is; {} is the level.
OF_THING = {
    "colour": "is {}", "kind": "is a {}", "side": "lies on the {}", "depth": "lies {} on the table",
    "cue": "is told by its {}", "size_m": "has a size of {} m", "turn_deg": "is turned by {} degrees",
    "edge": "lies near the edge of the table: {}",
}  # fmt: skip
OF_TRIAL = {
    "act": "the act is to {}", "verb": "the instruction says “{}”", "phrasing": "the phrasing is of the {} set",
    "words": "the instruction has {} words", "clauses": "the instruction has {} clauses", "acts": "there are {} acts",
    "things": "there are {} objects", "loose_things": "there are {} loose objects",
    "things_of_target_kind": "there are {} objects of the target's kind", "distractors": "there are {} distractors",
    "expert_duration_s": "the trial takes long: {} s by the expert", "expert_grasps": "{} grasps are needed",
    "grasps": "{} grasps are needed", "family": "the task is of the family {}", "task": "the task is {}",
    "tier": "the task is {}", "stress": "there is {}", "clock": "the simulation does not wait",
    "places": "an object must be set down: {}", "waits": "the robot waits first: {}",
    "first_event": "something happens by itself: {}",
}  # fmt: skip
ROLES = {"target": "the target", "goal": "the goal"}
MIDDLE = {"side": "lies in the middle between left and right", "depth": "lies at a middle distance"}


def when(condition: Condition) -> str:
    """To be read after "when"."""
    attribute, levels = condition.attribute, levels_in_words(condition)
    if (path := condition.requirement) is not None:
        main, _, rest = path.partition("/")
        if main == "motor" and rest:
            return f"something is to be done by “{rest}”"
        return HAS.get(path.split("/")[-1], f"the trial requires {path}")
    if condition.is_word:
        return f"the instruction says “{attribute.removeprefix(WORD)}”"
    role, _, part = attribute.partition("_")
    if role in ROLES and part in OF_THING:
        says = MIDDLE.get(part) if levels == "middle" else None
        return f"{ROLES[role]} {says or OF_THING[part].format(levels)}"
    if attribute in OF_TRIAL:
        return OF_TRIAL[attribute].format(levels)
    return f"the {attribute.replace('_', ' ')} is {levels}"


def levels_in_words(condition: Condition) -> str:
    """As "2 or more", of the levels 2 and 3 or more; others joined by "or"."""
    ordered = order(condition.attribute)
    if len(condition.levels) > 1 and ordered:
        if condition.levels[-1] == ordered[-1]:
            return f"{condition.levels[0].split(' to ')[0]} or more"
        if condition.levels[0] == ordered[0]:
            return f"at most {condition.levels[-1].split(' to ')[-1]}"
    return " or ".join(condition.levels)
