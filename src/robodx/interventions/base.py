"""What an intervention is: one factor of a placed situation set to another level, with a placebo that sets nothing."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from typing import Literal, get_args

import numpy as np

from robodx.errors import UserError
from robodx.records.values import Applied, spelled
from robodx.registry import Registry, UnknownName, require, unknown
from robodx.streams import Streams
from robodx.tasks.base import TASKS, Situation
from robodx.users_code import calling

Factor = Literal["where", "looks", "company", "cue", "words", "doing", "time"]
FACTORS: tuple[Factor, ...] = get_args(Factor)
# The value that stands for the placebo: as much is changed, and the attribute keeps its level.
PLACEBO = "placebo"
# "left#2" is the second fresh realisation of "left": set to the same, drawn anew. "left" itself is number 0.
REPLICATE = "#"
MOST_DIGITS = 6

# Of recorded attributes, which level each has.
Levels = Mapping[str, str]
# From a placed situation to another; `NotApplicable` where it cannot be done there.
Change = Callable[[Situation, str, np.random.Generator], Situation]
Placebo = Callable[[Situation, np.random.Generator], Situation]


class NotApplicable(UserError):
    """This intervention makes no sense in this situation; the message says why."""


@dataclass(frozen=True)
class Intervention:
    """One factor of a situation, and what it can be set to."""

    name: str
    factor: Factor
    # What it can be set to, and the recorded attributes that this sets, with their levels.
    values: Mapping[str, Levels]
    # Attributes that may change along with them, as patterns: to move a target also changes how far the hand must go.
    entails: tuple[str, ...]
    change: Change
    # As big a change of the same sort that keeps the attributes: a marginal success may flip with any changed pixel.
    placebo: Placebo
    summary: str
    # Whether the placebo does to a policy all that the change does but for the factor: else no pair is made of them.
    is_comparable: bool = True

    @property
    def attributes(self) -> tuple[str, ...]:
        """All that it sets."""
        return tuple(dict.fromkeys(name for levels in self.values.values() for name in levels))

    def declares(self, attribute: str) -> bool:
        """Whether this attribute may change when it is applied."""
        declared = (*self.attributes, *self.entails)
        # What is required of language changes with what is required of a part of it.
        is_parent = any(name.startswith(f"{attribute}/") for name in declared)
        return is_parent or any(fnmatchcase(attribute, pattern) for pattern in declared)

    def apply(self, situation: Situation, value: str, rng: np.random.Generator) -> Situation:
        if value != PLACEBO:
            require(f"value of the intervention {self.name}", value, [*self.values, PLACEBO])
        changed: Situation | NotApplicable
        with calling(f"the intervention {self.name}", self.change):
            try:
                changed = self.placebo(situation, rng) if value == PLACEBO else self.change(situation, value, rng)
            except NotApplicable as no:
                # Not a mistake of a user's code.
                changed = no
        if isinstance(changed, NotApplicable):
            raise changed
        if not isinstance(changed, Situation):
            raise UserError(f"the intervention {self.name} returned a {type(changed).__name__}, not a Situation")
        if changed == situation:
            raise NotApplicable(f"{self.name}={value} changes nothing here")
        return changed


INTERVENTIONS: Registry[Intervention] = Registry("intervention", "interventions")


def intervention(
    name: str,
    *,
    factor: Factor,
    values: Mapping[str, Levels],
    placebo: Placebo,
    entails: tuple[str, ...] = (),
    is_comparable: bool = True,
) -> Callable[[Change], Change]:
    """Register the decorated function; its docstring's first line is the summary."""
    require("factor", factor, FACTORS)
    if PLACEBO in values:
        raise UserError(f'no value of the intervention {name} may be called "{PLACEBO}": that is its placebo')
    if wrong := [value for value in values if REPLICATE in value]:
        raise UserError(f'the value "{wrong[0]}" of the intervention {name} may not contain "{REPLICATE}"')

    def register(change: Change) -> Change:
        summary = next(iter((change.__doc__ or "").strip().splitlines()), "")
        entry = Intervention(name, factor, dict(values), entails, change, placebo, summary, is_comparable)
        INTERVENTIONS.add(name, entry)
        return change

    return register


def parse(text: str) -> Applied:
    """Read "target position=left" or, drawn anew, "target position=left#2"."""
    name, equals, whole = (part.strip() for part in text.partition("="))
    entry = INTERVENTIONS[name]
    value, _ = replicate_of(whole)
    if not equals or (value != PLACEBO and value not in entry.values):
        if others := [other.name for other in INTERVENTIONS.entries() if value in other.values]:
            use = " or ".join(f'"{other}={value}"' for other in others)
            raise UnknownName(f'No value of the intervention {name} "{value}". Use {use}.')
        raise UnknownName(unknown(f"value of the intervention {name}", value, [*entry.values, PLACEBO]))
    return name, whole


def replicate(value: str, number: int) -> str:
    """The realisation of a value or a placebo with this number; 0 is the value itself."""
    return f"{value}{REPLICATE}{number}" if number else value


def replicate_of(value: str) -> tuple[str, int]:
    """A value and the number of its realisation."""
    bare, mark, number = value.partition(REPLICATE)
    if mark and not (number.isascii() and number.isdecimal() and number[0] != "0" and len(number) <= MOST_DIGITS):
        raise UserError(
            f'"{value[:40]}" is no value of an intervention: after {REPLICATE} stands the number of its realisation, '
            f'from 1 to {10**MOST_DIGITS - 1}, as in "{bare[:20]}{REPLICATE}2"'
        )
    return bare, int(number or 0)


def intervened(situation: Situation, applied: Sequence[Applied], seed: int, task: str) -> Situation:
    """With each intervention in turn. Each realisation draws from its own stream, the same whatever it is set to."""
    if applied and situation.time_limit_s is None and task in TASKS:
        # One that asks for more gives more time.
        situation = replace(situation, time_limit_s=TASKS[task].time_limit_s)
    for name, value in applied:
        bare, number = replicate_of(spelled(value))
        rng = Streams(seed).rng(f"intervention/{name}", task, *([number] if number else []))
        situation = INTERVENTIONS[name].apply(situation, bare, rng)
    return situation
