"""What a perturbation is: a levelled change at one or more of four seams, with a random stream of its own."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from robodx.errors import UserError
from robodx.language.meaning import Instruction
from robodx.policies.base import Observation
from robodx.registry import Registry, UnknownName, unknown
from robodx.scoring.events import Event
from robodx.sim.scene import Scene
from robodx.streams import Streams

if TYPE_CHECKING:
    from robodx.sim.simulation import Command

Kind = Literal["scene", "language", "sensor", "execution"]


@dataclass(frozen=True)
class Draws:
    """The random stream of one perturbation in one trial."""

    streams: Streams
    name: str

    def rng(self, *keys: str | int) -> np.random.Generator:
        return self.streams.rng(f"perturbation/{self.name}", *keys)


class Perturbation:
    """One running perturbation of one episode; it may keep state. A seam left alone passes things through."""

    def __init__(self, severity: float, draws: Draws) -> None:
        self.severity = severity
        self.draws = draws

    def scene(self, scene: Scene) -> Scene:
        return scene

    def instruction(self, instruction: Instruction) -> Instruction:
        return instruction

    def observation(self, observation: Observation) -> Observation:
        return observation

    def action(self, command: Command, held: Command, step: int) -> Command:
        """What is executed instead of `command`; `held` is what was executed last, at first the initial pose."""
        return command

    def events(self) -> tuple[Event, ...]:
        return ()


@dataclass(frozen=True)
class PerturbationEntry:
    """A registered perturbation with its named levels; severity 0 bypasses it altogether."""

    name: str
    kind: Kind
    levels: Mapping[str, float]
    start: Callable[[float, Draws], Perturbation]
    summary: str

    def severity(self, level: str) -> float:
        """A level's name, or a number."""
        if level in self.levels:
            return self.levels[level]
        try:
            severity = float(level)
        except ValueError:
            raise UnknownName(unknown(f"level of {self.name}", level, self.levels)) from None
        if not 0 <= severity < math.inf:
            raise UserError(f"a severity of {self.name} must be a finite number of 0 or more, not {level}")
        return severity


PERTURBATIONS: Registry[PerturbationEntry] = Registry("perturbation", "perturbations")


def perturbation(
    name: str, *, kind: Kind, levels: Mapping[str, float]
) -> Callable[[type[Perturbation]], type[Perturbation]]:
    def register(cls: type[Perturbation]) -> type[Perturbation]:
        summary = (cls.__doc__ or "").strip().splitlines()[0]
        PERTURBATIONS.add(name, PerturbationEntry(name, kind, levels, cls, summary))
        return cls

    return register
