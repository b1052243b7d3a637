"""A trial: everything that determines an episode, by name, so that it can be stored, hashed and run anywhere."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from typing import Any

from robodx.errors import UserError
from robodx.records.clock import Clock
from robodx.records.values import Applied, read_applied, settled
from robodx.streams import Streams

# The robot of those who name none.
DEFAULT_ROBOT = "panda"


@dataclass(frozen=True)
class Trial:
    """`seed` is the situation, `repeat` the policy's own randomness in it."""

    task: str
    task_version: int
    policy: str
    seed: int
    robot: str = DEFAULT_ROBOT
    repeat: int = 0
    perturbations: tuple[Applied, ...] = ()
    suite: str = "tasks"
    clock: str = "lockstep"
    # Of the situation, before anything else: one factor each, by name and what it is set to.
    interventions: tuple[Applied, ...] = ()

    def __post_init__(self) -> None:
        Clock.parse(self.clock)
        if self.seed < 0 or self.repeat < 0:
            raise ValueError(f"seed {self.seed}, repeat {self.repeat}: neither may be negative")
        for noun, applied in (("a perturbation", self.perturbations), ("an intervention", self.interventions)):
            names = [name for name, _ in applied]
            if len(set(names)) < len(names):
                raise UserError(f"{noun} is applied twice: {', '.join(names)}")
        # As the record will give it back: 1 and 1.0 are the same severity and the same trial.
        for field in ("perturbations", "interventions"):
            object.__setattr__(self, field, tuple((name, settled(value)) for name, value in getattr(self, field)))

    @classmethod
    def of_row(cls, row: Mapping[str, Any]) -> Trial:
        """As it was asked for, read back from a row of the table of episodes."""
        return cls(
            row["task"], row["task_version"], row["policy"], row["seed"], row["robot"], row["repeat"],
            read_applied(row["perturbations"]), row["suite"], row["clock"], read_applied(row.get("interventions")),
        )  # fmt: skip

    @cached_property
    def id(self) -> str:
        """Of what decides the episode. The suite is only who asked: what two suites ask for is run once.

        Frozen since version 0.1.0: a field that is added later is left out where it has its default.
        """
        decides = {name: value for name, value in asdict(self).items() if name not in ("suite", *self._unsaid)}
        return _digest(decides)

    @property
    def _unsaid(self) -> tuple[str, ...]:
        """Fields that version 0.1.0 did not have, where they say what was so then."""
        defaults = {name: field.default for name, field in type(self).__dataclass_fields__.items()}
        return tuple(name for name in defaults if name not in FIRST_FIELDS and getattr(self, name) == defaults[name])

    @cached_property
    def pair_id(self) -> str:
        """Shared by all trials that start from the same situation."""
        changed = [self.interventions] if self.interventions else []
        return _digest([self.task, self.task_version, self.robot, self.seed, *changed])

    @property
    def source(self) -> Trial:
        """The same without interventions."""
        return replace(self, interventions=())

    @property
    def streams(self) -> Streams:
        return Streams(self.seed)

    @property
    def policy_seed(self) -> int:
        # By task too: a policy's draws in one task are to say nothing of those in another.
        return int(self.streams.rng("policy", self.task, self.repeat).integers(2**31))


# Those of version 0.1.0, always part of a trial's id.
FIRST_FIELDS = ("task", "task_version", "policy", "seed", "robot", "repeat", "perturbations", "suite", "clock")


def _digest(content: object) -> str:
    text = json.dumps(content, sort_keys=True, separators=(",", ":"))
    return hashlib.blake2b(text.encode(), digest_size=8).hexdigest()
