"""Whether behaviour is consistent: sources, those that succeed, their follow-ups by relations, and repeats."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import lru_cache
from pathlib import Path

import numpy as np
import numpy.typing as npt
import polars as pl

from robodx.errors import UserError
from robodx.interventions.base import NotApplicable
from robodx.records.design import Planned
from robodx.records.pairs import REPEAT
from robodx.records.trajectory import DAMAGED, Trajectory
from robodx.records.trajectory_files import trajectory_file
from robodx.records.trial import Trial
from robodx.records.values import Factor
from robodx.registry import UnknownName, unknown
from robodx.relations.base import AND, RELATIONS, FollowUp, Relation, Source, every_relation, find_relation
from robodx.suites.base import SuiteRequest, suite
from robodx.tasks.base import TASKS

NAME = "metamorphic"
TASK_NAMES = ("pick_up", "move_near", "put_on", "put_in")
# Of every two repeats of a situation the first is a source and the second its repeat.
VARIANTS = 2
REPEATED: tuple[Factor, ...] = (("relation", REPEAT), ("pattern", "consistency"), ("frame", "same"))


@suite(NAME, grows=True)
def metamorphic(done: pl.DataFrame, request: SuiteRequest) -> Iterable[Planned]:
    """Follow-ups of successful trials by relations, beside repeats: `metamorphic/MR2`, `metamorphic/put_in`."""
    if request.folder is None:
        raise UserError("the suite metamorphic compares stored paths: run it into a folder, with robodx run")
    tasks, relations = _asked(request.within)
    relations = [each for each in relations if request.spec is None or each.reaches(request.spec)]
    if not relations:
        raise UnknownName("the policy is given nothing that these relations change: choose others")
    plain = request.trials([TASKS[f"carrier/{name}"] for name in tasks], NAME)
    plain = [replace(trial, repeat=VARIANTS * trial.repeat) for trial in plain]
    sources = {each.name: [_prepared(each, trial) for trial in plain] for each in relations}
    every = list({trial.id: trial for trials in sources.values() for trial in trials}.values())
    yield from (Planned(trial, "source") for trial in every)
    solved = set(done.filter(pl.col("success"))["trial_id"])
    passed = [trial for trial in every if trial.id in solved]
    yield from (Planned(replace(one, repeat=one.repeat + 1), "repeated", one, REPEATED, REPEAT) for one in passed)
    for each in relations:
        for trial in sources[each.name]:
            if trial.id in solved and (follow_up := _follow_up(each, trial, request.folder)) is not None:
                yield Planned(follow_up.trial, "follow-up", trial, each.factors(follow_up.moved), each.name)


def _asked(within: Sequence[str]) -> tuple[list[str], list[Relation]]:
    """Tasks and relations: all of them, or those that the words name, in any order."""
    tasks = [word for word in within if word in TASK_NAMES]
    named = [word for word in within if word not in TASK_NAMES]
    for word in named:
        for part in AND.split(word.strip()):
            if part not in RELATIONS:
                raise UnknownName(unknown("relation or task of the metamorphic suite", part, [*RELATIONS, *TASK_NAMES]))
    relations = [find_relation(word) for word in named] or every_relation()
    return tasks or list(TASK_NAMES), relations


# Of every round all is asked for again.
@lru_cache(maxsize=65536)
def _prepared(relation: Relation, trial: Trial) -> Trial:
    return relation.prepared(trial)


@lru_cache(maxsize=65536)
def _follow_up(relation: Relation, trial: Trial, folder: Path) -> FollowUp | None:
    path = None if relation.accepts is None else _path(trajectory_file(folder, trial.id))
    try:
        return relation.follow_up(Source.of(trial, path))
    except NotApplicable:
        return None


def _path(file: Path) -> npt.NDArray[np.float64] | None:
    """Where all hands went, one after the other; None where it was not stored."""
    try:
        tools = Trajectory.load(file).tool_in_world
    except DAMAGED:
        return None
    return np.asarray(tools[..., :3].reshape(-1, 3), np.float64)
