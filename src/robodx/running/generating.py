"""Data sets of expert demonstrations: trials on training seeds through the one run loop, written in any format."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

from robodx.datasets.cards import EXPERT, Card, card_path
from robodx.datasets.formats.base import FORMATS
from robodx.datasets.schema import Demonstration, Features
from robodx.datasets.writing import check_target, write_data
from robodx.errors import UserError
from robodx.policies.demonstrator import cameras_of
from robodx.records import files
from robodx.records.design import Planned
from robodx.records.folder import locked
from robodx.records.schema import SCHEMA
from robodx.records.trial import DEFAULT_ROBOT, Trial
from robodx.records.values import Applied
from robodx.records.versions import versions
from robodx.running.demonstration_writer import STATE, DemonstrationWriter, read_demonstration
from robodx.running.demonstrations import refuse_evaluation_only
from robodx.running.loop import RunObserver
from robodx.running.request import Request
from robodx.running.run import Execution, run
from robodx.sim.robot import ROBOTS, Robot
from robodx.streams import FIRST_TRAINING_SEED
from robodx.suites.base import GROWING, SuiteRequest, ask, find_suite
from robodx.tasks.base import EVALUATION_ONLY, TASKS

# Demonstrations a task of the two sets by name, of all tasks that are not kept for evaluation.
SETS = {"alpha": 100, "beta": 10}
EXPERT_HZ = 20
# Of the folder beside a data set that holds what is not finished.
UNFINISHED = ".unfinished"
POSE = ("x", "y", "z", "qw", "qx", "qy", "qz")


@dataclass(frozen=True)
class Generation:
    """What decides the numbers and pictures of a data set."""

    selectors: tuple[str, ...]
    # Situations a task, from the first seed on; None takes the number of the set by name.
    episodes: int | None = None
    first_seed: int = FIRST_TRAINING_SEED
    cameras: str = "front@128,wrist@128"
    hz: int = EXPERT_HZ
    # Of the offsets that every second episode is disturbed by, their standard deviation in metres; 0 for none.
    disturb_m: float = 0.0
    # Whether half of the episodes, disturbed or not, are in rooms drawn at random.
    has_random_rooms: bool = False
    robot: str = DEFAULT_ROBOT
    quality: str = "fast"
    plugins: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.first_seed < FIRST_TRAINING_SEED:
            raise UserError(
                f"demonstrations are of training seeds, from {FIRST_TRAINING_SEED} on, not of {self.first_seed}: "
                "on all others policies are tested"
            )
        if self.hz < 1 or EXPERT_HZ % self.hz:
            rates = [str(rate) for rate in range(1, EXPERT_HZ + 1) if EXPERT_HZ % rate == 0]
            raise UserError(f"a rate of {self.hz} Hz: the expert acts at {EXPERT_HZ}, so it is {', '.join(rates)}")
        if odd := [one.name for one in cameras_of(self.cameras) if one.height % 2]:
            raise UserError(f"pictures of {', '.join(odd)} have an odd side: videos need an even one")
        if self.episodes is None and len({SETS.get(one) for one in self.selectors} - {None}) != 1:
            raise UserError(f"how many episodes a task? Give --episodes, or one of the sets {', '.join(SETS)}")

    @property
    def tasks(self) -> list[str]:
        found: dict[str, None] = {}
        for selector in self.selectors:
            if selector in SETS:
                found |= dict.fromkeys(task.id for task in TASKS.entries() if EVALUATION_ONLY not in task.tags)
                continue
            suite, within = find_suite(selector)
            if suite in GROWING:
                raise UserError(f"the suite {suite} chooses its trials by outcomes: name tasks, families or tiers")
            asked = ask(suite, pl.DataFrame(schema=SCHEMA), SuiteRequest("expert", 1, within=within))
            found |= dict.fromkeys(one.trial.task for one in asked)
        refuse_evaluation_only(list(found))
        return list(found)

    @property
    def policy(self) -> str:
        return f"demonstrator:{self.cameras}"

    @property
    def each(self) -> int:
        return self.episodes or next(SETS[one] for one in self.selectors if one in SETS)

    def trials(self) -> list[Trial]:
        """Task by task; of two seeds the second is disturbed, of four the last two are in random rooms."""
        return [
            Trial(task, TASKS[task].version, self.policy, seed, self.robot, perturbations=self._perturbations(seed))
            for task in self.tasks
            for seed in range(self.first_seed, self.first_seed + self.each)
        ]

    def _perturbations(self, seed: int) -> tuple[Applied, ...]:
        disturbed: tuple[Applied, ...] = (("disturbance", self.disturb_m),) if self.disturb_m and seed % 2 else ()
        elsewhere: tuple[Applied, ...] = (("random_room", 1.0),) if self.has_random_rooms and seed // 2 % 2 else ()
        return disturbed + elsewhere


@dataclass(frozen=True)
class Generated:
    """What came of it."""

    data: Path
    card: Path
    episodes: int
    frames: int
    # Where the expert failed, or the task could not be run, by task; these are left out.
    failed: dict[str, int]


class Recorded(NamedTuple):
    """All episodes of a data set that is to be written, in a folder beside it."""

    asked: Generation
    out: Path
    format_name: str
    writer: DemonstrationWriter
    good: list[Trial]
    failed: dict[str, int]
    # What its card says of all of it, and of who made it.
    about: dict[str, Any]
    by: str = EXPERT
    # What is told of an episode besides task and seed, by trial.
    noted: Mapping[str, Mapping[str, Any]] = {}


def record(
    asked: Generation,
    out: Path,
    format_name: str,
    execution: Execution | None = None,
    *,
    observers: Sequence[RunObserver] = (),
    tell: Callable[[str], None] = lambda line: None,
) -> Recorded:
    """Run what is missing; the same call goes on where one was cut off."""
    if execution is not None and execution.cluster is not None:
        raise UserError("demonstrations are written where they are made: not on a cluster")
    out = out.absolute()
    check_target(out, format_name)
    refuse_groups(ROBOTS[asked.robot])
    trials = asked.trials()
    scratch = unfinished(out)
    remember(scratch, {**asdict(asked), "format": format_name})
    writer = writer_in(scratch, asked, format_name)
    request = Request(
        tuple(asked.tasks),
        asked.policy,
        asked.each,
        first_seed=asked.first_seed,
        robot=asked.robot,
        quality=asked.quality,
        plugins=asked.plugins,
    )
    planned = [Planned(trial) for trial in trials]
    with locked(scratch):
        table = run(
            request, scratch / "run", execution,
            observers=observers, episode_observers=[writer], planned=planned, tell=tell,
        )  # fmt: skip
    errors = table.filter(pl.col("outcome") == "error")
    if len(errors):
        said = "".join((errors["error"][0] or "").strip().splitlines()[-1:])
        raise UserError(
            f"{len(errors)} of {len(trials)} episodes ended in an error, such as {errors['task'][0]} seed "
            f"{errors['seed'][0]}: {said}. The others are kept in {scratch}; the same command tries these again."
        )
    solved = set(table.filter("success")["trial_id"])
    if not solved:
        raise UserError(f"the expert solved none of {len(trials)} situations, so there is nothing to write")
    failed = Counter(trial.task for trial in trials if trial.id not in solved)
    good = [trial for trial in trials if trial.id in solved]
    return Recorded(asked, out, format_name, writer, good, dict(failed), about_of(asked, "robodx generate"))


def writer_in(scratch: Path, asked: Generation, format_name: str) -> DemonstrationWriter:
    """Keeps solved episodes in the folder of what is not finished."""
    kept = scratch / "demonstrations"
    kept.mkdir(exist_ok=True)
    return DemonstrationWriter(kept, EXPERT_HZ // asked.hz, asked.hz, FORMATS[format_name].pictured)


def write(
    recorded: Recorded,
    *,
    licence: str = "apache-2.0",
    tracked: Callable[[Iterator[Demonstration], int], Iterator[Demonstration]] = lambda found, total: found,
) -> Generated:
    """The data set and its card; what it was made from is removed when both are whole."""
    asked, out, good = recorded.asked, recorded.out, recorded.good
    robot = ROBOTS[asked.robot]
    features = Features(
        hz=float(asked.hz),
        cameras={one.name: (one.height, one.width) for one in cameras_of(asked.cameras)},
        state={STATE: state_names(robot)},
        action=action_names(robot),
        robot=asked.robot,
        about=recorded.about,
    )
    frames: Counter[str] = Counter()

    def demonstrations() -> Iterator[Demonstration]:
        for trial in good:
            told = {**_metadata(trial), **recorded.noted.get(trial.id, {})}
            found = read_demonstration(recorded.writer, trial, list(features.cameras), told)
            frames[trial.task] += len(found)
            yield found

    def card() -> str:
        counted = Counter(trial.task for trial in good)
        found = Card(
            out.name, features, dict(counted), dict(frames), recorded.failed, recorded.format_name, licence, recorded.by
        )  # fmt: skip
        return found.text()

    with locked(unfinished(out)):
        write_data(out, recorded.format_name, features, tracked(demonstrations(), len(good)), card)
        shutil.rmtree(unfinished(out))
    return Generated(out, card_path(out), len(good), frames.total(), recorded.failed)


def unfinished(out: Path) -> Path:
    return out.with_name(out.name + UNFINISHED)


def refuse_groups(robot: Robot) -> None:
    """The columns of data sets are named for arms alone."""
    if len(robot.groups) != len(robot.arms):
        raise UserError(f"data sets are written of robots that have arms alone, and {robot.name} has {robot.said}")


def state_names(robot: Robot) -> tuple[str, ...]:
    """Tool poses in the base, openings, joints: in the order in which learned policies take them."""
    hands = _hands(robot)
    poses = [f"{hand}{name}" for hand in hands for name in POSE]
    joints = [f"{hand}joint_{place + 1}" for hand, arm in zip(hands, robot.arms, strict=True)
              for place in range(len(arm.joints))]  # fmt: skip
    return (*poses, *(f"{hand}opening" for hand in hands), *joints)


def action_names(robot: Robot) -> tuple[str, ...]:
    return tuple(f"{hand}{name}" for hand in _hands(robot) for name in (*POSE, "opening"))


def _hands(robot: Robot) -> list[str]:
    """What names of numbers begin with, where there are several hands."""
    return [""] if len(robot.arms) == 1 else [f"{hand}_" for hand in robot.hands]


def _metadata(trial: Trial) -> dict[str, Any]:
    changed = dict(trial.perturbations)
    return {
        "task": trial.task,
        "task_version": trial.task_version,
        "seed": trial.seed,
        "disturb_m": changed.get("disturbance", 0.0),
        "has_random_room": "random_room" in changed,
    }


def about_of(asked: Generation, made_by: str) -> dict[str, Any]:
    return {
        "made_by": made_by,
        "robodx": versions(gl_renderer=None)["robodx"],
        "action_space": "ee_pose: where the tool is to be at the end of the step, and how far the hand is open",
        "frame": "the robot's base: x away from the robot, y to its left, z up; quaternions wxyz",
        "units": "metres, radians; opening 0 (closed) to 1 (open)",
        "first_seed": asked.first_seed,
        "seeds_per_task": asked.each,
        "disturb_m": asked.disturb_m,
        "has_random_rooms": asked.has_random_rooms,
        "quality": asked.quality,
    }


def remember(scratch: Path, command: Mapping[str, Any]) -> None:
    """What is not finished is gone on with only by the same command."""
    wanted = json.loads(json.dumps(command))
    note = scratch / "generation.json"
    if not note.exists():
        scratch.mkdir(parents=True, exist_ok=True)
        files.write(note, json.dumps(wanted, indent=2).encode())
        return
    there = read_note(note)
    if differing := [name for name in {**there, **wanted} if there.get(name) != wanted.get(name)]:
        name = differing[0]
        raise UserError(
            f"{scratch} holds unfinished demonstrations of another command ({name} was {there.get(name)!r}, now "
            f"{wanted.get(name)!r}): give that command again, another --out, or remove the folder"
        )


def read_note(path: Path) -> dict[str, Any]:
    """What a file in the folder of what is not finished says."""
    try:
        said = json.loads(path.read_text())
        if not isinstance(said, dict):
            raise ValueError("it is no table of keys and values")
    except (OSError, ValueError, RecursionError) as error:
        raise damaged(path, error) from error
    return said


def damaged(path: Path, error: Exception) -> UserError:
    return UserError(f"{path} is damaged ({error}): restore it, or remove {path.parent} and begin anew")
