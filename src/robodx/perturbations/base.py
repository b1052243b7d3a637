"""What a perturbation is: a change of scene, instruction, observation or action, with levels and a random stream."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from robodx.errors import UserError
from robodx.language.meaning import Instruction
from robodx.policy_contract import Observation, PolicySpec
from robodx.records.trial import DEFAULT_ROBOT
from robodx.records.values import Value, parse_numbers, settled, spelled
from robodx.registry import Registry, UnknownName, require, unknown
from robodx.scoring.events import Event
from robodx.sim.scene import Scene
from robodx.streams import Streams

if TYPE_CHECKING:
    from robodx.sim.simulation import Command
    from robodx.sim.world import World
    from robodx.tasks.base import Situation

# A substitution makes one component perfect, to see what that cures; the others make something worse, or different.
Kind = Literal["scene", "language", "sensor", "execution", "substitution"]
# A perturbation with just these levels is a stressor, and part of the suite `stress`.
STRESS_LEVELS = ("v1", "v2", "v3")
# Of all numbers: what is larger could not be read from a record.
LARGEST = 1e12


@dataclass(frozen=True)
class Draws:
    """The random stream of one perturbation in one trial."""

    streams: Streams
    name: str

    def rng(self, *keys: str | int) -> np.random.Generator:
        return self.streams.rng(f"perturbation/{self.name}", *keys)


class Perturbation:
    """One running perturbation of one episode; it may keep state. A seam left alone passes things through.

    What passes a seam as the same object counts as untouched: that is how it is known which queries and commands of an
    episode were perturbed.
    """

    # Whether all that it does, it does to pictures or to commands as a whole: then any environment with them will do.
    is_wrappable = False
    # Whether what is asked for, and scored and recorded, stays what it was, whatever is said instead.
    keeps_goal = False

    def __init__(self, value: Value, draws: Draws, period_s: float, robot: str = DEFAULT_ROBOT) -> None:
        self.value = value
        # Of one that is set to a word or to named numbers there is no more or less.
        self.severity = value if isinstance(value, float) else 1.0
        self.draws = draws
        # The length of a control step: severities are in seconds, whatever a policy's rate.
        self.period_s = period_s
        self.robot = robot
        self.begin()

    def begin(self) -> None:
        """Set up what is kept through the episode."""

    @classmethod
    def check(cls, value: Value, spec: PolicySpec) -> None:
        """Refuse before a run, by a `UserError`, a policy on which this value makes no sense."""

    def plan(self, situation: Situation) -> None:
        """What the task has laid out, before any seam; for what depends on what will be asked for."""

    def meet(self, world: World) -> None:
        """The world as it begins, before the first instruction; for what depends on how things look by then."""

    def scene(self, scene: Scene) -> Scene:
        return scene

    def instruction(self, instruction: Instruction) -> Instruction:
        return instruction

    def observation(self, observation: Observation) -> Observation:
        return observation

    def reply(self, action: NDArray[np.float32], step: int) -> NDArray[np.float32]:
        """Which of the policy's actions (action_dim,) reaches the controller in this step, in its own action space."""
        return action

    def action(self, command: Command, held: Command, step: int) -> Command:
        """What is executed instead of `command`; `held` is what was executed last, at first the initial pose."""
        return command

    def pause_s(self, step: int) -> float:
        """How much longer than usual the reply to this step's query takes; meanwhile the last command holds."""
        return 0.0

    def events(self) -> tuple[Event, ...]:
        return ()


class NullWords(Perturbation):
    """Other words in place of the instruction, to see whether a policy uses them; what is asked for stays the same.

    A privileged policy reads meanings, and gets that of the words that are said.
    """

    keeps_goal = True


class SensorStress(Perturbation):
    """What happens to pictures, one at a time. Depth and segmentation are left alone unless they are dealt with too."""

    is_wrappable = True

    def image(self, image: NDArray[np.uint8], camera: str, step: int) -> NDArray[np.uint8]:
        return image

    def depth(self, depth: NDArray[np.float32], camera: str, step: int) -> NDArray[np.float32]:
        return depth

    def segmentation(self, ids: NDArray[np.int32], camera: str, step: int) -> NDArray[np.int32]:
        return ids

    def observation(self, observation: Observation) -> Observation:
        step = observation.step
        return replace(
            observation,
            images={camera: self.image(image, camera, step) for camera, image in observation.images.items()},
            depth={camera: self.depth(depth, camera, step) for camera, depth in observation.depth.items()},
            segmentation={
                camera: self.segmentation(ids, camera, step) for camera, ids in observation.segmentation.items()
            },
        )


@dataclass(frozen=True)
class PerturbationEntry:
    """A registered perturbation with its named levels; severity 0 bypasses it altogether.

    Its levels say what it is set to: a number (then any other will do too), one of these words, or named numbers (then
    any others with these names).
    """

    name: str
    kind: Kind
    levels: Mapping[str, Value]
    cls: type[Perturbation]
    summary: str
    # Whether more of it is worse: else there is no trend and no cliff to look for.
    is_ordered: bool = True
    most: float = math.inf
    # Of one that is set to words: whether any other word will do too, as the name of a camera of yours.
    takes_any_word: bool = False
    # What camera, network or robot does this at its levels, in a sentence.
    anchor: str = ""
    # Of the numbers that it is set to, as it is read after one: "s", "of the frames".
    unit: str = ""

    def __post_init__(self) -> None:
        values = [settled(value) for value in self.levels.values()]
        if len({_form(value) for value in values}) != 1:
            raise ValueError(f"the levels of {self.name} must be all numbers, all words, or named alike: {values}")
        object.__setattr__(self, "levels", dict(zip(self.levels, values, strict=True)))
        for value in values:
            self._check(value)
        object.__setattr__(self, "is_ordered", self.is_ordered and isinstance(values[0], float))

    @property
    def is_stressor(self) -> bool:
        return tuple(self.levels) == STRESS_LEVELS

    def start(self, value: Value, draws: Draws, period_s: float, robot: str = DEFAULT_ROBOT) -> Perturbation:
        """For one episode of this robot, whose control steps are so long."""
        value = settled(value)
        self._check(value)
        return self.cls(value, draws, period_s, robot)

    def parse(self, text: str) -> Value:
        """What is meant by a level's name, a number, or named numbers as `x_m:0.02,y_m:0`."""
        if text in self.levels:
            return self.levels[text]
        value: Value = text
        if isinstance(self._example, float):
            with suppress(ValueError):
                value = float(text)
        elif isinstance(self._example, tuple):
            value = parse_numbers(text) or text
        self._check(value)
        return value

    def severity(self, text: str) -> float:
        """As `parse`, of one that is set to a number."""
        value = self.parse(text)
        if not isinstance(value, float):
            raise UserError(f"{self.name} is set to {spelled(value)}, which is not a number: it has no severity")
        return value

    @property
    def severities(self) -> dict[str, float]:
        """The levels of one that is set to a number; of others there are none."""
        return {level: value for level, value in self.levels.items() if isinstance(value, float)}

    @property
    def _example(self) -> Value:
        return next(iter(self.levels.values()))

    def _check(self, value: Value) -> None:
        if isinstance(value, float) and isinstance(self._example, float):
            most = min(self.most, LARGEST)
            if not 0 <= value <= most:
                raise UserError(f"a severity of {self.name} must be 0 to {most:g}, not {value:g}")
        elif isinstance(value, str):
            if value not in self.levels.values() and not (self.takes_any_word and isinstance(self._example, str)):
                raise UnknownName(unknown(f"level of {self.name}", value, self.levels))
        elif _form(value) != _form(self._example) or not _is_finite(value):
            raise UserError(f"{self.name} takes values such as {spelled(self._example)}, not {spelled(value)}")


def _is_finite(value: Value) -> bool:
    return not isinstance(value, tuple) or all(abs(number) <= LARGEST for _, number in value)


def _form(value: Value) -> object:
    """Alike for values of which one may stand in the other's place."""
    return tuple(name for name, _ in value) if isinstance(value, tuple) else type(value)


PERTURBATIONS: Registry[PerturbationEntry] = Registry("perturbation", "perturbations")


def perturbation(
    name: str,
    *,
    kind: Kind,
    levels: Mapping[str, Value],
    is_ordered: bool = True,
    most: float = math.inf,
    takes_any_word: bool = False,
    anchor: str = "",
    unit: str = "",
) -> Callable[[type[Perturbation]], type[Perturbation]]:
    """Register the decorated class; `most` is the largest severity that has a meaning, as 1 for a probability.

    `anchor` says what in the world does this at its levels; `unit` is read after a number: "s", "of the frames".
    """
    require("kind of perturbation", kind, get_args(Kind))

    def register(cls: type[Perturbation]) -> type[Perturbation]:
        summary = next(iter((cls.__doc__ or "").strip().splitlines()), "")
        PERTURBATIONS.add(
            name, PerturbationEntry(name, kind, levels, cls, summary, is_ordered, most, takes_any_word, anchor, unit)
        )
        return cls

    return register
