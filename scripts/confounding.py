"""How far each recorded attribute of situations predicts each other, by suite and by family; `make confounding`.

A policy that fails on what is blue cannot be told from one that fails on the right where blue things always lie on the
right. Situations are drawn and not simulated; what the expert needs comes from a few runs of it. The exit status is 1
where a pair is above the bound and no reason is listed.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from fnmatch import fnmatchcase
from itertools import permutations
from multiprocessing import Pool

import numpy as np
import polars as pl
from numpy.typing import NDArray

from robodx.policy_contract import CameraRequest, make_policy
from robodx.records.schema import SCHEMA
from robodx.records.trial import Trial
from robodx.running.reference import ExpertReference
from robodx.running.rollout import rollout
from robodx.running.threads import pin
from robodx.situations.attributes import attributes
from robodx.suites.base import SuiteRequest, ask
from robodx.tasks.base import TASKS
from robodx.terminal.console import print_json, print_table

SEEDS = 200
# With five, one pair of a family was above the bound by accident: 45 situations are too few.
EXPERT_SEEDS = 20
# Of the uncertainty about one attribute, the share that another may take away.
BOUND = 0.3
# What nearly all situations share predicts nothing, and whatever predicts it predicts a few situations.
NEARLY_ALL = 0.95
# Of a pair that few situations have both of, nothing is said.
FEWEST = 0.25
# In a family of two or three tasks all that differs differs together; they count in the suite.
FEWEST_TASKS = 4
SHUFFLES = 4
ROUNDING = 1e-9
SUITES = ("capability", "isolation", "stress")
CAMERAS = (CameraRequest("front"), CameraRequest("wrist"))

Row = Mapping[str, str | float]
# Each level of an attribute by a number.
Codes = NDArray[np.int64]
MISSING = -1

# Numbers of which the table has a word as well.
SAID_IN_WORDS = ("target_x_m", "target_y_m", "goal_x_m", "goal_y_m")


@dataclass(frozen=True)
class Pair:
    """How much of the uncertainty about `predicted` is gone when one is told `known`, from 0 to 1."""

    group: str
    known: str
    predicted: str
    share: float
    situations: int


@dataclass(frozen=True)
class Reason:
    """Why attributes predict others, with patterns of the names of both, either way round, and of where it holds."""

    these: tuple[str, ...]
    those: tuple[str, ...]
    because: str
    where: str = "*"

    def covers(self, pair: Pair) -> bool:
        names = (pair.known, pair.predicted)
        return fnmatchcase(pair.group, self.where) and any(
            _fits(one, self.these) and _fits(other, self.those) for one, other in (names, names[::-1])
        )


def _fits(name: str, patterns: tuple[str, ...]) -> bool:
    return any(fnmatchcase(name, pattern) for pattern in patterns)


QUESTION = (
    "act", "acts", "clauses", "distractors", "expert_*", "first_event", "grasps", "loose_things", "phrasing", "places",
    "*_cue", "things", "things_of_target_kind", "verb", "waits", "words",
)  # fmt: skip
BODY = ("*_kind", "*_size_m", "*_turn_deg")
COLOUR = ("target_colour", "goal_colour")
ROOM = ("light_*", "room_*")
# What no reason is for: colours and kinds of targets with their places, colours with rooms, and places with rooms.
REASONS = (
    Reason(
        QUESTION,
        QUESTION,
        "What is asked, in which words, among how many things and at what cost is the question: each task has its own.",
    ),
    Reason(QUESTION, BODY, "Things are made for what is done with them: a peg is inserted, a switch is pressed."),
    Reason(BODY[1:], BODY, "Each kind has its size, and turns only as far as it can be grasped."),
    Reason(
        ("target_kind",),
        ("goal_kind",),
        "A peg goes into a hole, a plug into a socket, a ball onto a disc. The carriers cross kinds and containers.",
    ),
    Reason(
        COLOUR,
        (*QUESTION, *BODY),
        "Where words name colours, these are the task's own (red on green); a switch or a white peg has one colour.",
    ),
    Reason(COLOUR, COLOUR, "Of the carriers of stress, one has a goal that is named by its colour.", where="stress"),
    Reason(
        ("goal_side", "goal_depth", "goal_edge"),
        (*QUESTION, *BODY),
        "What others go into stands where the hand reaches over it, and a hole where it is reached from the front.",
    ),
    Reason(
        ("target_side",),
        ("target_depth",),
        "No cube of a trio has the same rank from the left as from near, so that words for one do not fit the other.",
        where="capability/language",
    ),
    Reason(
        ("target_edge", "goal_edge"),
        ("*_side", "*_depth"),
        "All three are words for one place: perception's near row, too, lies at the edge.",
    ),
    Reason(("expert_*",), ("*_side", "*_depth", "*_edge"), "The way is longer to what lies farther away."),
    Reason(ROOM, ROOM, "A room is one design: table, floor, wall and light come together."),
    Reason(
        ROOM, QUESTION, "Language stands in one room: its first picture is the same for all words.", where="capability"
    ),
    Reason(
        ROOM,
        (*QUESTION, *BODY),
        "Unseen rooms are of the hard tier, whose tasks differ from those of the others.",
        where="capability/robustness",
    ),
    Reason(
        ("room_familiar",),
        (*BODY, *COLOUR),
        "Only the hard tier of robustness has unseen rooms, and its few tasks have kinds and colours of their own.",
        where="capability*",
    ),
    Reason(
        ("target_pattern",),
        (*QUESTION, *BODY, *COLOUR),
        "Only what is told by its stripes is striped, in a few tasks; in the factorial anything may be.",
        where="capability/*",
    ),
    Reason(
        (*ROOM, "target_depth"),
        (*QUESTION, "room_familiar"),
        "The factor `novel` is an unseen room with distractors in it, in which all things lie half a row further back.",
        where="isolation",
    ),
)


def predicts(known: Codes, predicted: Codes) -> float:
    """The uncertainty coefficient (Theil's U) beyond what the same values share when they are shuffled.

    1 where the one tells the other, 0 where it tells no more than by accident, however many levels there are.
    """
    rng = np.random.default_rng(0)
    told = _told(known, predicted)
    by_accident = float(np.mean([_told(rng.permutation(known), predicted) for _ in range(SHUFFLES)]))
    left = _entropy(predicted) - by_accident
    return float(np.clip((told - by_accident) / left, 0.0, 1.0)) if left > ROUNDING else 0.0


def _told(known: Codes, predicted: Codes) -> float:
    """The mutual information of the two."""
    return _entropy(known) + _entropy(predicted) - _entropy(known * (predicted.max() + 1) + predicted)


def _entropy(codes: Codes) -> float:
    counts = np.bincount(codes)
    shares = counts[counts > 0] / len(codes)
    return float(-(shares * np.log(shares)).sum())


def levels(values: Sequence[str | float | None]) -> Codes:
    """Numbers in thirds, unless there are only three of them; texts as they are."""
    numbers = [value for value in values if isinstance(value, float)]
    if len(set(numbers)) > 3:
        low, high = np.quantile(numbers, (1 / 3, 2 / 3))
        values = [value if value is None else f"{value > low} {value > high}" for value in values]
    codes = {value: code for code, value in enumerate(dict.fromkeys(value for value in values if value is not None))}
    return np.array([MISSING if value is None else codes[value] for value in values], dtype=np.int64)


def pairs(group: str, rows: Sequence[Row]) -> Iterator[Pair]:
    """Every attribute by every other, over the situations that have both."""
    names = [name for name in dict.fromkeys(name for row in rows for name in row) if name not in SAID_IN_WORDS]
    columns = {name: levels([row.get(name) for row in rows]) for name in names}
    for known, predicted in permutations(names, 2):
        has_both = (columns[known] != MISSING) & (columns[predicted] != MISSING)
        a, b = columns[known][has_both], columns[predicted][has_both]
        if len(a) >= max(1, FEWEST * len(rows)) and _varies(a) and _varies(b):
            yield Pair(group, known, predicted, predicts(a, b), len(a))


def _varies(codes: Codes) -> bool:
    return bool(np.bincount(codes).max() <= NEARLY_ALL * len(codes))


def unexplained(found: Iterable[Pair], bound: float = BOUND) -> list[Pair]:
    return [pair for pair in found if pair.share > bound and not any(reason.covers(pair) for reason in REASONS)]


def groups() -> dict[str, list[str]]:
    """Tasks by suite, by family of the capability suite, and by each family that is in no suite."""
    found = {suite: tasks_of(suite) for suite in SUITES}
    in_suites = {task for tasks in found.values() for task in tasks}
    for task in TASKS.entries():
        if "capability" in task.tags:
            found.setdefault(f"capability/{task.family}", []).append(task.id)
        elif task.id not in in_suites:
            found.setdefault(task.family, []).append(task.id)
    return {name: tasks for name, tasks in found.items() if len(tasks) >= FEWEST_TASKS}


def tasks_of(suite: str) -> list[str]:
    nothing_yet = pl.DataFrame(schema=SCHEMA)
    return list(dict.fromkeys(one.trial.task for one in ask(suite, nothing_yet, SuiteRequest("expert", 1))))


def drawn(task: str, seeds: int) -> list[Row]:
    situations = (TASKS[task].placed(seed) for seed in range(seeds))
    return [attributes(one.instruction, one.scene, CAMERAS).values for one in situations]


def performed(task: str, seeds: int) -> list[Row]:
    """The same with what the expert needs."""
    trials = [Trial(task, TASKS[task].version, "expert", seed) for seed in range(seeds)]
    episodes = (finished.episode for finished in rollout(trials, make_policy("expert"), observers=[ExpertReference()]))
    return [episode.attributes.values for episode in episodes if episode.attributes is not None]


def main() -> int:
    pin()
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=SEEDS, help="situations of each task")
    parser.add_argument("--expert-seeds", type=int, default=EXPERT_SEEDS, help="of these the expert runs so many")
    parser.add_argument("--without-expert", action="store_true", help="leave out what the expert needs")
    parser.add_argument("--bound", type=float, default=BOUND)
    parser.add_argument("--top", type=int, default=10, help="pairs to show of each group")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--json", action="store_true", help="all pairs, for programs")
    options = parser.parse_args()
    by_group = groups()
    tasks = list(dict.fromkeys(task for one in by_group.values() for task in one))
    with Pool(options.workers) as pool:
        rows = dict(zip(tasks, pool.starmap(drawn, [(task, options.seeds) for task in tasks]), strict=True))
        runs: dict[str, list[Row]] = {}
        if not options.without_expert:
            jobs = [(task, options.expert_seeds) for task in tasks]
            runs = dict(zip(tasks, pool.starmap(performed, jobs, chunksize=1), strict=True))
    found = [pair for group, names in by_group.items() for pair in _of_group(group, names, rows, runs)]
    found.sort(key=lambda pair: -pair.share)
    too_high = unexplained(found, options.bound)
    if options.json:
        print_json(
            {
                "bound": options.bound,
                "pairs": [{**asdict(pair), "is_unexplained": pair in too_high} for pair in found],
                "reasons": [asdict(reason) for reason in REASONS],
            }
        )
    else:
        _tell(by_group, found, set(too_high), options.top)
        print("\n".join(["", "Reasons:", *(f"{n}. {reason.because}" for n, reason in enumerate(REASONS, 1)), ""]))
        print(f"{len(found)} pairs, {len(too_high)} above {options.bound:g} without a reason.")
    return int(bool(too_high))


def _of_group(
    group: str, tasks: Sequence[str], rows: Mapping[str, list[Row]], runs: Mapping[str, list[Row]]
) -> Iterator[Pair]:
    yield from pairs(group, [row for task in tasks for row in rows[task]])
    with_expert = [row for task in tasks for row in runs.get(task, [])]
    yield from (pair for pair in pairs(group, with_expert) if "expert_" in pair.known or "expert_" in pair.predicted)


def _tell(by_group: Mapping[str, list[str]], found: Sequence[Pair], too_high: set[Pair], top: int) -> None:
    """The highest pairs of each group, those without a reason first and all of them; reasons by their number."""
    for group, tasks in by_group.items():
        shown = [pair for pair in found if pair.group == group]
        shown = sorted(shown, key=lambda pair: (pair not in too_high, -pair.share))
        print(f"\n{group}: {len(tasks)} tasks, {len(shown)} pairs, {len(too_high & set(shown))} without a reason")
        print_table(
            [
                {
                    "this": pair.known,
                    "predicts": pair.predicted,
                    "by": f"{pair.share:.2f}",
                    "situations": str(pair.situations),
                    "reason": next((str(n) for n, one in enumerate(REASONS, 1) if one.covers(pair)), None),
                }
                for pair in shown[: max(top, len(too_high & set(shown)))]
            ]
        )


if __name__ == "__main__":
    sys.exit(main())
