"""The record of one executed trial: a flat row of the table of episodes."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

import polars as pl

from robodx.records.values import Applied

# Marks a field that is no None by default, and that tables of older versions may lack all the same.
LATER = "later"

Outcome = Literal["success", "failure", "timeout", "error"]
# The type of every failure of the kind "reference", and what a person is told of it in place of how it ended.
WRONG_OBJECT = "wrong object"


@dataclass(frozen=True)
class Happening:
    """An entry of the world's log, as stored."""

    step: int
    time_s: float
    kind: str
    object: str
    other: str
    value: float


@dataclass(frozen=True)
class InstructionUpdate:
    """The text that reached the policy from this step on."""

    step: int
    text: str


@dataclass(frozen=True)
class Evidence:
    """By what a failure was told: the step, the thing and the condition it hangs on, in a sentence."""

    step: int
    object: str
    condition: str
    says: str


@dataclass(frozen=True)
class Target:
    """The thing that is to be handled first, as it was at first."""

    name: str
    kind: str
    colour: str
    size_m: float
    x_m: float
    y_m: float


@dataclass(frozen=True)
class Mistake:
    """An attribute in which the chosen thing is not what was asked for."""

    attribute: str
    asked: str
    chosen: str


@dataclass(frozen=True)
class Quantity:
    """A number by name: what a plugin measured of an episode, or an attribute of its situation."""

    name: str
    value: float


@dataclass(frozen=True)
class Label:
    """A text by name: an attribute of a situation that has no order."""

    name: str
    value: str


@dataclass(frozen=True)
class Attributes:
    """What a situation is like at its beginning, by name; what it does not have, as a goal, is not among them.

    Two lists and not a column each: whoever searches over all attributes treats those of a kind alike, and an attribute
    that is added later changes no table.
    """

    texts: tuple[Label, ...] = ()
    numbers: tuple[Quantity, ...] = ()

    @property
    def values(self) -> dict[str, str | float]:
        return {text.name: text.value for text in self.texts} | {one.name: one.value for one in self.numbers}


def _later() -> Any:
    return field(default=(), metadata={LATER: True})


@dataclass(frozen=True)
class Episode:
    """One row of a run. Numbers that were not measured are None, never zero."""

    trial_id: str
    pair_id: str
    suite: str
    task: str
    task_version: int
    family: str
    tier: str | None
    tags: tuple[str, ...]
    robot: str
    policy: str
    seed: Annotated[int, pl.Int64()]
    repeat: int
    perturbations: tuple[Applied, ...]
    clock: str
    attempt: int
    wall_s: float
    outcome: Outcome
    success: bool = False
    error: str | None = None
    failure_kind: str | None = None
    failure_type: str | None = None
    failure_evidence: Evidence | None = None
    # Faults of how it was done, whether or not it was done in the end.
    quality_flags: tuple[str, ...] = _later()
    # What perfect skill without understanding scores in this task.
    chance: float | None = None
    # The motor act by whose success its own can be normalised.
    primitive: str | None = None
    progress: float | None = None
    stages: int | None = None
    stages_reached: int | None = None
    stage_steps: tuple[int, ...] = ()
    steps: int = 0
    instructions: tuple[InstructionUpdate, ...] = ()
    events: tuple[Happening, ...] = ()
    first_touched: str | None = None
    # What it takes, as paths; see situations/requirements.py.
    requirements: tuple[str, ...] = _later()
    target: Target | None = None
    # See situations/attributes.py.
    attributes: Attributes | None = None
    mistaken: tuple[Mistake, ...] = _later()
    trajectory_hash: str | None = None
    duration_s: float | None = None
    path_length_m: float | None = None
    # Of the path, to the expert's in the same situation; None where the expert did not succeed.
    length_ratio: float | None = None
    mean_squared_jerk: float | None = None
    sparc: float | None = None
    stability: float | None = None
    slips: int | None = None
    drops: int | None = None
    collisions: int | None = None
    peak_collision_n: float | None = None
    limit_steps: int | None = None
    joint_limit_s: float | None = None
    # How often the policy was asked, and how often what it saw, or when it was heard, was perturbed.
    queries: int | None = None
    perturbed_queries: int | None = None
    # Steps in which something else was executed than the policy asked for.
    perturbed_steps: int | None = None
    calls_per_s: float | None = None
    actions_per_s: float | None = None
    inference_ms_p50: float | None = None
    inference_ms_p95: float | None = None
    inference_ms_p99: float | None = None
    # Those that plugins record, see analysis/metrics/quantities.py.
    quantities: tuple[Quantity, ...] = _later()
    # What of the situation was set to another level.
    interventions: tuple[Applied, ...] = _later()

    def __post_init__(self) -> None:
        """A table with such a number could not be read again: it ends the trial in an error instead."""
        logged = (("an event", event.value) for event in self.events)
        counted = ((one.name, one.value) for one in (self.attributes or Attributes()).numbers)
        for name, value in (*vars(self).items(), *logged, *counted):
            if isinstance(value, float) and not math.isfinite(value):
                raise ValueError(f"{name} of this episode is {value}, not a finite number")
