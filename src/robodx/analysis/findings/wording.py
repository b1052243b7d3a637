"""Conditions in words, to be read after "when": "the target lies on the right", "the instruction has a negation"."""

from __future__ import annotations

import re

from robodx.analysis.findings.conditions import Condition
from robodx.records.features import BOUNDS, NO, REQUIRES, WORD, order

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
    "colour": "is {}", "kind": "is a {}", "side": "lies on the {}", "depth": "lies {}",
    "cue": "is told by its {}", "size_m": "has a size {}", "turn_deg": "is turned by an angle {}",
    "pattern": "is {}",
}  # fmt: skip
OF_TRIAL = {
    "act": "the act is “{}”", "verb": "the instruction says “{}”", "phrasing": "the phrasing is of the {} set",
    "words": "the instruction has a length {}", "family": "the task is of the family {}",
    "task": "the task is {}", "tier": "the task is of the tier {}",
    "expert_duration_s": "the trial takes the expert a time {}", "light_colour": "the light is {}",
    "light_brightness": "the light has a brightness {}", "light_from": "the light comes from the {} side",
    "camera_offset_m": "a camera is moved by a distance {}", "stress": "there is {}",
}  # fmt: skip
UNITS = {"size_m": " m", "turn_deg": " degrees", "words": " words", "expert_duration_s": " s", "camera_offset_m": " m"}
# What is counted: of one, and of several.
COUNTED = {
    "clauses": ("the instruction has {} clause", "the instruction has {} clauses"),
    "acts": ("there is {} act", "there are {} acts"),
    "things": ("there is {} object", "there are {} objects"),
    "loose_things": ("there is {} loose object", "there are {} loose objects"),
    "things_of_target_kind": ("there is {} object of the target's kind", "there are {} objects of the target's kind"),
    "distractors": ("there is {} distractor", "there are {} distractors"),
    "grasps": ("{} grasp is needed", "{} grasps are needed"),
    "expert_grasps": ("the expert needs {} grasp", "the expert needs {} grasps"),
}
# Those of which only some levels are told in this way.
AT_LEVEL = {
    "side=middle": "lies in the middle between left and right", "depth=middle": "lies at a middle distance",
    "depth=near": "lies near the robot", "depth=far": "lies far from the robot", "cue=ordinal": "is told by an ordinal",
    "cue=relation": "is told by its relation to another",
    "cue=none": "has nothing to be told from", "edge=yes": "lies near the edge of the table",
    "edge=no": "does not lie near the edge of the table",
    "first_event=none": "nothing happens by itself", "first_event=early": "something happens early",
    "first_event=late": "something happens late", "first_event=as it acts": "something happens as it acts",
    "places=yes": "an object must be set down", "places=no": "no object must be set down",
    "room_familiar=yes": "the room is a familiar one", "room_familiar=no": "the room is not a familiar one",
    "clock=realtime": "the simulation does not wait",
}  # fmt: skip
# At the end of a name: what a number is in.
UNIT = re.compile(r"_(m|deg|s)$")
# By whose name one would take them for the things themselves.
NUMBERS = {name: f"number of {name.replace('_', ' ')}" for name in ("words", *COUNTED)}
ROLES = {"target": "the target", "goal": "the goal"}


def when(condition: Condition) -> str:
    """To be read after "when"."""
    attribute, levels = condition.attribute, levels_in_words(condition)
    if condition.requirement is not None or condition.is_word:
        says = _said(condition)
        return says if condition.levels != (NO,) else f"it is not so that {says}"
    role, _, part = attribute.partition("_")
    if role in ROLES:
        says = AT_LEVEL.get(f"{part}={levels}") or OF_THING.get(part, f"has the {part.replace('_', ' ')} {{}}")
        return f"{ROLES[role]} {says.format(_measured(part, attribute, levels))}"
    if (known := AT_LEVEL.get(f"{attribute}={levels}")) is not None:
        return known
    if attribute in COUNTED:
        one, several = COUNTED[attribute]
        return (one if levels in ("1", "at most 1") else several).format("no" if levels == "0" else levels)
    of_trial = OF_TRIAL.get(attribute, f"the {attribute.removeprefix('room_').replace('_', ' ')} is {{}}")
    return of_trial.format(_measured(attribute, attribute, levels))


def _said(condition: Condition) -> str:
    path = condition.requirement
    if path is None:
        return f"the instruction says “{condition.attribute.removeprefix(WORD)}”"
    main, _, rest = path.partition("/")
    if main == "motor" and rest:
        return f"one of the acts is “{rest}”"
    return HAS.get(path.split("/")[-1], f"the trial requires {path}")


def _measured(part: str, attribute: str, levels: str) -> str:
    """After a noun: "below 0.036 m", "of 8 s or more"; of stress "noise at level v2"."""
    if part == "stress":
        return levels.replace("/", " at level ")
    if attribute not in BOUNDS:
        return levels
    number, more = levels.removesuffix(" or more"), levels.endswith(" or more")
    told = f"{number}{UNITS.get(part, '')}{' or more' if more else ''}"
    return told if number.startswith("below") else f"of {told}"


def attribute_in_words(name: str) -> str:
    """As "goal colour", "the word “red”", "what is required of perception"."""
    if name.startswith(WORD):
        return f"the word “{name.removeprefix(WORD)}”"
    if name.startswith(REQUIRES):
        return f"what is required of {name.removeprefix(REQUIRES)}"
    return NUMBERS.get(name) or UNIT.sub("", name).replace("_", " ")


def levels_in_words(condition: Condition) -> str:
    """As "2 or more", of the levels 2 and 3 or more; others joined by "or"."""
    ordered, levels = order(condition.attribute), condition.levels
    if len(levels) > 1 and ordered:
        if levels[-1] == ordered[-1]:
            return f"{levels[0].split(' to ')[0]} or more"
        if levels[0] == ordered[0]:
            last = levels[-1].split(" to ")[-1]
            return f"below {last}" if condition.attribute in BOUNDS else f"at most {last}"
    return levels[0] if len(levels) == 1 else f"{', '.join(levels[:-1])} or {levels[-1]}"
