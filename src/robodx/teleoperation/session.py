"""A session of teleoperation: one situation after the other, and what is decided about each is kept at once."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from functools import cached_property
from pathlib import Path

from robodx.datasets.writing import check_target
from robodx.errors import UserError
from robodx.records import files
from robodx.records.episode import Episode
from robodx.records.folder import locked
from robodx.records.trial import Trial
from robodx.running.demonstration_writer import DemonstrationWriter
from robodx.running.generating import (
    Generation,
    Recorded,
    about_of,
    damaged,
    read_note,
    remember,
    unfinished,
    writer_in,
)
from robodx.running.request import Request
from robodx.running.rollout import rollout
from robodx.running.run import check
from robodx.sim.robot import ROBOTS
from robodx.tasks.base import TASKS
from robodx.teleoperation.console import Console, Decision, Place
from robodx.teleoperation.driving import LiveView, TeleopPolicy

POLICY = "teleop"
COMMAND = "robodx teleop"
LONGEST_NAME = 80
OUTCOMES = ("saved", "left out", None)
# How fast world time may pass; faster than real time only where no person drives.
SLOWEST, FASTEST = 0.1, 10.0


class Stopped(KeyboardInterrupt):
    """The operator ended the session: as Ctrl-C does."""


@dataclass(frozen=True)
class Teleoperation:
    """What is asked for: the situations of one task, as `generate` has them, and who drives."""

    generation: Generation
    operator: str = ""
    # World seconds in a second.
    pace: float = 1.0

    def __post_init__(self) -> None:
        if not SLOWEST <= self.pace <= FASTEST:
            raise UserError(f"a pace of {self.pace:g}: it must be {SLOWEST:g} to {FASTEST:g} world seconds in a second")
        # It stands in a cell of the card's table.
        if len(self.operator) > LONGEST_NAME or not self.operator.isprintable() or "|" in self.operator:
            raise UserError(f"the operator's name is one line of at most {LONGEST_NAME} letters, without |")
        tasks = self.generation.tasks
        if len(tasks) != 1:
            raise UserError(f"{' '.join(self.generation.selectors)} is {len(tasks)} tasks: one is driven at a time")
        robot = ROBOTS[self.generation.robot]
        if len(robot.groups) != 1:
            raise UserError(f"{robot.name} has {robot.said}: only a robot of one arm is driven here")

    @cached_property
    def task(self) -> str:
        return self.generation.tasks[0]

    def trials(self) -> list[Trial]:
        asked = self.generation
        seeds = range(asked.first_seed, asked.first_seed + asked.each)
        return [Trial(self.task, TASKS[self.task].version, POLICY, seed, asked.robot) for seed in seeds]


@dataclass(frozen=True)
class Note:
    """What came of a situation so far; `outcome` is None while it is to be tried again."""

    outcome: str | None = None
    # Attempts that were begun and thrown away.
    discarded: int = 0

    def __post_init__(self) -> None:
        if self.outcome not in OUTCOMES or type(self.discarded) is not int:
            raise ValueError(f"{self.outcome!r:.40} after {self.discarded!r:.40} attempts is no note")


@dataclass
class Notes:
    """By trial, in a file that is written anew after each decision."""

    path: Path
    by_trial: dict[str, Note] = field(default_factory=dict)

    @classmethod
    def read(cls, path: Path) -> Notes:
        stored = read_note(path) if path.exists() else {}
        try:
            return cls(path, {trial: Note(**note) for trial, note in stored.items()})
        except (TypeError, ValueError) as error:
            raise damaged(path, error) from error

    def of(self, trial: Trial) -> Note:
        return self.by_trial.get(trial.id, Note())

    def set(self, trial: Trial, note: Note) -> None:
        self.by_trial[trial.id] = note
        told = {each: asdict(one) for each, one in self.by_trial.items()}
        files.write(self.path, json.dumps(told, indent=1).encode())

    def count(self, trials: list[Trial], outcome: str) -> int:
        return sum(self.of(trial).outcome == outcome for trial in trials)


@dataclass(frozen=True)
class Session:
    """What is needed from the first situation to the last."""

    asked: Teleoperation
    out: Path
    format_name: str
    console: Console
    policy: TeleopPolicy
    writer: DemonstrationWriter
    notes: Notes

    @classmethod
    def open(cls, asked: Teleoperation, out: Path, format_name: str, console: Console) -> Session:
        """Refuses what can be known to be wrong before anybody takes a seat."""
        out, wanted = out.absolute(), asked.generation
        check_target(out, format_name)
        policy = TeleopPolicy(console, wanted.cameras)
        request = Request(
            (asked.task,), POLICY, wanted.each, first_seed=wanted.first_seed, robot=wanted.robot, quality=wanted.quality
        )
        check(request, policy.spec, asked.trials(), workers=1)
        scratch = unfinished(out)
        # With fewer episodes the same command ends with what is there, with more it goes on.
        same = {name: value for name, value in asdict(wanted).items() if name != "episodes"}
        remember(scratch, {**same, "format": format_name, "made_by": COMMAND, "operator": asked.operator})
        notes = Notes.read(scratch / "teleoperation.json")
        return cls(asked, out, format_name, console, policy, writer_in(scratch, wanted, format_name), notes)

    @property
    def missing(self) -> list[Trial]:
        return [trial for trial in self.asked.trials() if self.notes.of(trial).outcome is None]

    def record(self, tell: Callable[[str], None] = lambda line: None) -> Recorded:
        """Drive what is missing. Ctrl-C, and the operator's stop, keep what was decided."""
        trials = self.asked.trials()
        live = LiveView(self.console, self.asked.pace)
        with locked(unfinished(self.out)):
            try:
                for trial in self.missing:
                    self._drive(trial, trials, live)
                    saved, left_out = (self.notes.count(trials, outcome) for outcome in ("saved", "left out"))
                    tell(f"{saved} saved, {left_out} left out, {len(trials) - saved - left_out} to go.")
            finally:
                live.close()
        good = [trial for trial in trials if self.notes.of(trial).outcome == "saved"]
        if not good:
            raise UserError(
                f"none of {len(trials)} situations was saved, so there is nothing to write: try others with "
                f"--first-seed, or remove {unfinished(self.out)} and begin anew"
            )
        return self._recorded(trials, good)

    def _drive(self, trial: Trial, trials: list[Trial], live: LiveView) -> None:
        """One situation, as often as the operator likes."""
        while (note := self.notes.of(trial)).outcome is None:
            self.console.begin(
                Place(
                    task=trial.task,
                    seed=trial.seed,
                    number=trials.index(trial) + 1,
                    of=len(trials),
                    saved=self.notes.count(trials, "saved"),
                    left_out=self.notes.count(trials, "left out"),
                    discarded=sum(self.notes.of(each).discarded for each in trials),
                )
            )
            decision = self._attempt(trial, live)
            if decision == "stop":
                raise Stopped
            outcomes: dict[Decision, str] = {"save": "saved", "skip": "left out"}
            thrown_away = decision == "retry"
            self.notes.set(trial, Note(outcomes.get(decision), note.discarded + thrown_away))

    def _attempt(self, trial: Trial, live: LiveView) -> Decision:
        observers = [self.writer, live]
        quality = self.asked.generation.quality
        ((episode, _),) = rollout([trial], self.policy, quality=quality, observers=observers)
        if self.policy.abandoned is not None:
            return self.policy.abandoned
        if episode.outcome == "error":
            said = "".join((episode.error or "").strip().splitlines()[-1:])
            raise UserError(f"{trial.task} seed {trial.seed} ended in an error: {said}. What was saved is kept.")
        self.console.finish(episode.success, _said_of(episode))
        return self.console.await_decision()

    def _recorded(self, trials: list[Trial], good: list[Trial]) -> Recorded:
        asked = self.asked
        discarded = {trial.id: self.notes.of(trial).discarded for trial in trials}
        about = {
            **about_of(asked.generation, COMMAND),
            "teleoperated": True,
            "operator": asked.operator or "not said",
            "pace": asked.pace,
            "discarded_attempts": sum(discarded.values()),
        }
        noted = {
            trial.id: {"teleoperated": True, "operator": asked.operator, "discarded_attempts": discarded[trial.id]}
            for trial in good
        }
        failed = {asked.task: len(trials) - len(good)} if len(good) < len(trials) else {}
        by = f"Demonstrations teleoperated by {asked.operator or 'a person'} in a browser"
        return Recorded(asked.generation, self.out, self.format_name, self.writer, good, failed, about, by, noted)


def _said_of(episode: Episode) -> str:
    if episode.success:
        return ""
    why = episode.failure_evidence.says if episode.failure_evidence is not None else ""
    ended = "The time is up" if episode.outcome == "timeout" else "It failed"
    return f"{ended}: {why}." if why else f"{ended}."
