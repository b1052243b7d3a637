"""What a scripted episode is: a script on one situation, what its record must show, and what must be said of it."""

from __future__ import annotations

from dataclasses import dataclass

from robodx.records.episode import Episode
from robodx.records.trial import Trial
from robodx.running.observers import Finished
from robodx.running.rollout import rollout
from robodx.tasks.base import TASKS
from tests.failures.acting import Script, Scripted

Labels = str | tuple[str, ...]

REFERENCE, CONSTRAINT, MOTOR = "reference", "constraint", "motor"
SAFETY, TIMEOUT, INVALID = "safety", "timeout", "invalid_action"
MISSED, LOST, MISPLACED = "grasp synthesis", "grasp stability", "placement and release"
COLLISION, DETOUR, UNSTABLE = "collision", "trajectory sub-optimality", "control instability"
WRONG_OBJECT = "wrong object"
INCOMPLETE, MISORDERED = "incomplete execution", "incorrect action sequence"
# The taxonomy has no word for it: any is as good.
UNJUDGED: tuple[str, ...] = ()


@dataclass(frozen=True)
class Failure:
    """A script on one situation of a task, with the labels it must get; a tuple where any of several is right.

    `shows` is what its record must hold to be what it says: events as "kind object", with a force where one is to be
    exceeded ("collision arena > 100"), or with "no" before it.
    """

    name: str
    task: str
    seed: int
    script: Script
    kind: Labels
    type: Labels
    shows: tuple[str, ...]
    why: str

    @property
    def kinds(self) -> tuple[str, ...]:
        return (self.kind,) if isinstance(self.kind, str) else self.kind

    @property
    def types(self) -> tuple[str, ...]:
        """Empty where the taxonomy has no word for it. It had none for a wrong object when these were written."""
        types = (self.type,) if isinstance(self.type, str) else self.type
        is_wrong_object = MISORDERED in types and REFERENCE in self.kinds
        kept = tuple(one for one in types if one != MISORDERED or self.kinds != (REFERENCE,))
        return (*kept, WRONG_OBJECT) if is_wrong_object else kept


@dataclass(frozen=True)
class Success:
    """A script that reaches its goal, and the flags that its quality must get."""

    name: str
    task: str
    seed: int
    script: Script
    flags: frozenset[str]
    shows: tuple[str, ...]
    why: str


def perform(scripted: Failure | Success) -> Finished:
    trial = Trial(scripted.task, TASKS[scripted.task].version, f"script:{scripted.name}", scripted.seed)
    (finished,) = rollout([trial], Scripted(scripted.script))
    return finished


def play(scripted: Failure | Success) -> Episode:
    return perform(scripted).episode


def missing(scripted: Failure | Success, episode: Episode) -> list[str]:
    """What the record should show and does not: the script did not go as it says."""
    wanted = ("success",) if isinstance(scripted, Success) else ("failure", "timeout")
    wrong = [] if episode.outcome in wanted else [f"{' or '.join(wanted)}, but it was {episode.outcome}"]
    return wrong + [claim for claim in scripted.shows if not _holds(claim, episode)]


def _holds(claim: str, episode: Episode) -> bool:
    is_denied = claim.startswith("no ")
    words, _, force = claim.removeprefix("no ").partition(" > ")
    kind, _, name = words.partition(" ")
    found = [
        event
        for event in episode.events
        if event.kind == kind and event.object.startswith(name) and event.value > float(force or -1)
    ]
    return bool(found) != is_denied
