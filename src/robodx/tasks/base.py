"""What a task is: static facts in its decorator, and a function that lays out the situation of one seed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal, get_args

import numpy as np

from robodx.errors import UserError
from robodx.language.meaning import Instruction
from robodx.language.phrasing import wordings
from robodx.registry import Registry, UnknownName, unknown
from robodx.scoring.conditions import Condition
from robodx.scoring.events import Event, NewInstruction
from robodx.scoring.stages import Stage
from robodx.sim.placement import needs_layout, place
from robodx.sim.rooms import FAMILIAR_ROOMS
from robodx.sim.scene import LIGHTS, Arena, Scene
from robodx.streams import FIRST_TRAINING_SEED, VARIATIONS, Streams, Variation
from robodx.users_code import calling

Tier = Literal["easy", "medium", "hard"]
# The tag of tasks that are kept from training: there are no demonstrations of them.
EVALUATION_ONLY = "evaluation_only"
# The tag of tasks that only the words tell what to do in, though all seeds have the same.
NEEDS_LANGUAGE = "needs_language"
# A time limit: one step of the slowest policy, and an hour.
SHORTEST_S, LONGEST_S = 0.2, 3600.0
# A robot that stands still for less has not waited: what a policy thinks before its first action takes as long.
WAITING_S = 0.5
# The largest that the table of episodes holds.
LAST_VERSION = 2**31 - 1


@dataclass(frozen=True)
class Situation:
    """What one seed of a task looks like: scene, words, what counts, and what will happen."""

    scene: Scene
    instruction: Instruction
    stages: tuple[Stage | Condition, ...]
    never: tuple[Condition, ...] = ()
    events: tuple[Event, ...] = ()
    # Where it is not that of the task: a situation may ask for more than others of its task.
    time_limit_s: float | None = None
    # So long the robot stands still at first: the policy is asked and its commands are not executed, or it is not
    # asked, and its episode begins when the time is over.
    wait_s: float = 0.0
    is_asked_while_waiting: bool = True

    def __post_init__(self) -> None:
        for part, kind in (("scene", Scene), ("instruction", Instruction)):
            given = getattr(self, part)
            if not isinstance(given, kind):
                raise TypeError(f"the {part} of a situation must be of RoboDx's {kind.__name__}, not {given!r}")
        if not self.stages:
            raise ValueError("a situation needs at least one stage")
        if self.time_limit_s is not None and not SHORTEST_S <= self.time_limit_s <= LONGEST_S:
            raise ValueError(f"a time limit must be {SHORTEST_S:g} to {LONGEST_S:g} seconds, not {self.time_limit_s}")
        if not 0 <= self.wait_s <= LONGEST_S:
            raise ValueError(f"a wait must be 0 to {LONGEST_S:g} seconds, not {self.wait_s}")
        for stage in self.stages:
            if not isinstance(stage, Stage | Condition):
                raise TypeError(f"a stage of a situation must be a Stage or a Condition, not {stage!r}")

    @property
    def waits(self) -> str:
        """Whether the robot waits at first, and if so whether the policy is asked meanwhile."""
        if self.wait_s < WAITING_S:
            return "no"
        return "asked" if self.is_asked_while_waiting else "not asked"


@dataclass(frozen=True)
class Task:
    """A registered task. `varies` names the random streams that its situations may draw from."""

    id: str
    situate: Callable[[Streams], Situation]
    family: str
    tier: Tier | None
    varies: tuple[Variation, ...]
    tags: tuple[str, ...]
    time_limit_s: float
    chance: float
    version: int
    primitive: str | None
    summary: str
    # The task whose draws are its own as well: at the same seed the same things lie at the same places.
    draws_as: str | None = None

    def check_version(self, version: int) -> None:
        """Of another version a trial would be another task's."""
        if version != self.version:
            raise UserError(f"{self.id} is at version {self.version}, but the trial is of {version}")

    def streams(self, seed: int) -> Streams:
        return Streams.of(seed, self.varies, self.draws_as or self.id)

    def situation(self, seed: int) -> Situation:
        """What this seed looks like, with only the declared streams open.

        What is said at a seed for training is in one of the training phrasings, at others as the task says it.
        """
        streams = self.streams(seed)
        with calling(f"the task {self.id}", self.situate):
            made = self.situate(streams)
        if not isinstance(made, Situation):
            raise UserError(f"the task {self.id} returned a {type(made).__name__}: it must return a Situation")
        if "arena" in self.varies:
            made = _in_familiar_room(made, streams)
        return made if seed < FIRST_TRAINING_SEED else _in_training_words(made, streams.rng("phrasing"))

    def placed(self, seed: int) -> Situation:
        """The same with each thing that has a region at a place in it."""
        situation = self.situation(seed)
        if not needs_layout(situation.scene):
            return situation
        rng = self.streams(seed).rng("layout", "placement")
        return replace(situation, scene=place(situation.scene, rng))


def _in_familiar_room(situation: Situation, streams: Streams) -> Situation:
    """Any of them, unless the task has chosen a room of its own."""
    scene = situation.scene
    if (scene.arena, scene.lights) != (Arena(), LIGHTS):
        return situation
    room = FAMILIAR_ROOMS[int(streams.rng("arena").integers(len(FAMILIAR_ROOMS)))]
    return replace(situation, scene=room.around(scene))


def _in_training_words(situation: Situation, rng: np.random.Generator) -> Situation:
    def said(instruction: Instruction) -> Instruction:
        ways = wordings(instruction, "train")
        return ways[int(rng.integers(len(ways)))]

    def later(event: Event) -> Event:
        if not isinstance(event.effect, NewInstruction):
            return event
        return replace(event, effect=NewInstruction(said(event.effect.instruction)))

    return replace(
        situation, instruction=said(situation.instruction), events=tuple(later(event) for event in situation.events)
    )


Register = Callable[[Callable[[Streams], Situation]], Task]

TASKS: Registry[Task] = Registry("task", "tasks")


def task(
    *,
    family: str,
    varies: tuple[Variation, ...],
    tier: Tier | None = None,
    tags: tuple[str, ...] = (),
    time_limit_s: float = 20.0,
    chance: float,
    version: int = 1,
    primitive: str | None = None,
    draws_as: str | None = None,
) -> Register:
    """Register the decorated function as the task `family/function_name`; its docstring is the summary.

    `chance` is what perfect skill without understanding scores: 1 / 2 between two candidates, 1 where there is no
    choice. What is drawn at a seed is the task's own, unless it `draws_as` another: then the same situation, changed.
    """
    for word in varies:
        if word not in VARIATIONS:
            raise UnknownName(unknown("variation", word, VARIATIONS))
    if tier is not None and tier not in get_args(Tier):
        raise UnknownName(unknown("tier", tier, get_args(Tier)))
    if not 0 < chance <= 1:
        raise UserError(f"the chance of a task is above 0 and at most 1, not {chance:g}")
    given: object = tags
    if not (isinstance(given, tuple) and all(isinstance(tag, str) for tag in given)):
        raise UserError(f"the tags of a task are a tuple of texts, not {given!r}")
    if "/" in family:
        raise UserError(f'a family is one word, not "{family}"')

    def register(situate: Callable[[Streams], Situation]) -> Task:
        name = f"{family}/{situate.__name__}"
        if not SHORTEST_S <= time_limit_s <= LONGEST_S:
            valid = f"{SHORTEST_S:g} to {LONGEST_S:g} seconds"
            raise UserError(f"the time limit of the task {name} must be {valid}, not {time_limit_s:g}")
        if not 1 <= version <= LAST_VERSION:
            raise UserError(f"the version of the task {name} must be 1 to {LAST_VERSION}, not {version}")
        entry = Task(
            id=name,
            situate=situate,
            family=family,
            tier=tier,
            varies=varies,
            tags=tags,
            time_limit_s=time_limit_s,
            chance=chance,
            version=version,
            primitive=primitive,
            summary=next(iter((situate.__doc__ or "").strip().splitlines()), ""),
            draws_as=draws_as,
        )
        return TASKS.add(entry.id, entry)

    return register
