"""A run from start to end: a request becomes trials, and the missing ones are executed into its folder."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, chdir, closing
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from robodx.analysis.bias import scope
from robodx.analysis.metamorphic.measuring import write_measured
from robodx.errors import UserError
from robodx.perturbations.base import PERTURBATIONS
from robodx.policy_contract import Policy, PolicySpec, opened
from robodx.records.clock import Clock
from robodx.records.design import Planned
from robodx.records.folder import RunFolder, digest
from robodx.records.logins import without_logins
from robodx.records.trajectory_files import unsound_files
from robodx.records.trial import Trial
from robodx.registry import UnknownName, fingerprint, unknown
from robodx.running import stopping
from robodx.running.description import description_of
from robodx.running.fit import check_fit, check_hands
from robodx.running.limits import MOST_RETRIES, MOST_WORKERS, check_bounds
from robodx.running.loop import LONGEST_STREAK, RETRIES, Loop, RunObserver
from robodx.running.observers import EpisodeObserver, TrajectoryWriter
from robodx.running.policy_process import policy_process
from robodx.running.reference import ExpertReference
from robodx.running.request import Request
from robodx.running.rounds import Rounds
from robodx.running.workers import Job, KeptProcesses, execute
from robodx.sim import gl
from robodx.sim.render import QUALITIES
from robodx.sim.robot import ROBOTS
from robodx.streams import FIRST_TRAINING_SEED
from robodx.suites.base import QUICK
from robodx.tasks.base import TASKS
from robodx.wires.remote import Declared, RemotePolicy, declared

if TYPE_CHECKING:
    from robodx.running.cluster import Cluster

# To look at so many takes a second or more.
MANY_FILES = 2000


@dataclass(frozen=True)
class Execution:
    """How a run is carried out, none of which decides an episode."""

    # Processes, or environment actors of the cluster.
    workers: int = 1
    cluster: Cluster | None = None
    # Build the policy once, in a process that all workers ask, else in each worker.
    in_own_process: bool = False
    # How often an episode that ended in an error is tried again, when the others are done.
    retries: int = RETRIES
    # Execute in a random order, from this seed.
    shuffle: int | None = None

    def __post_init__(self) -> None:
        check_bounds("workers", self.workers, 1, MOST_WORKERS)
        check_bounds("retries", self.retries, 0, MOST_RETRIES)
        if self.in_own_process and self.cluster is not None:
            raise UserError("a policy process on this machine cannot serve a cluster: use policy actors")


def run(
    request: Request,
    out: Path,
    execution: Execution | None = None,
    *,
    observers: Sequence[RunObserver] = (),
    episode_observers: Sequence[EpisodeObserver] = (),
    planned: list[Planned] | None = None,
    tell: Callable[[str], None] = lambda line: None,
) -> pl.DataFrame:
    """Execute what is missing in the folder, and return the table of all its episodes.

    An episode whose trajectory file is missing or not what was recorded is missing too. `episode_observers` watch where
    episodes are run, beside those that every run has. `planned` are trials in place of those that the request's suites
    ask for. `tell` gets a line on what a person should know by the way.
    """
    execution = execution or Execution()
    # A policy may change the folder that relative paths begin at: while it runs, and not afterwards.
    out = out.absolute()
    rule = stopping.rule(request)
    with chdir(Path.cwd()), ExitStack() as stack:
        every = (ExpertReference(), TrajectoryWriter(out / "trajectories"), *episode_observers)
        job = Job(request.policy, every, request.quality, request.batch, request.plugins, request.preset)
        job, policy, declaration = _policy(job, execution, stack)
        rounds = Rounds(request, declaration.spec, rule, planned, out)
        check(request, declaration.spec, rounds.first, execution.workers)
        facts = {
            **description_of(declaration, rounds.first),
            "not_applicable": rounds.not_applicable,
            "is_named": request.name is not None,
            "given": _given(request),
        }
        folder = stack.enter_context(RunFolder.open(out, _asked(request, facts, rounds.first), facts))
        if planned is None and any(trial.seed >= FIRST_TRAINING_SEED for trial in rounds.first):
            tell(f"Seeds from {FIRST_TRAINING_SEED:,} on are for training; scores on them are no test.")
        if any(QUICK in selector.split("/") for selector in request.selectors):
            for line in scope.says(rounds.wanted):
                tell(line)
        recorded = folder.episodes()
        if len(recorded) >= MANY_FILES:
            tell(f"Looking at {len(recorded)} recorded trajectories …")
        kept = stack.enter_context(closing(KeptProcesses(job)))
        loop = Loop(
            partial(execute, job=job, workers=execution.workers, policy=policy, cluster=execution.cluster, kept=kept),
            observers,
            execution.retries,
            execution.shuffle,
            request.part_of,
            LONGEST_STREAK + execution.workers * request.batch,
            again=unsound_files(out, recorded),
            tell=tell,
        )
        for _ in loop.drive(rounds, folder):
            if request.shard is not None and rounds.next(folder.episodes()):
                folder.compact()
                raise UserError(
                    f"shard {request.shard} is done, but the next round of the suite needs the episodes of all shards: "
                    "join the shards with robodx merge, and give the same command without --shard for that folder"
                )
        folder.compact()
        episodes = folder.episodes()
        write_measured(out, episodes)
        return episodes


def _policy(job: Job, execution: Execution, stack: ExitStack) -> tuple[Job, Policy | None, Declared]:
    """How the workers reach the policy, the policy itself where it is asked from here, and what it declares."""
    if execution.in_own_process:
        out_of_process, declaration = stack.enter_context(policy_process(job))
        return out_of_process, None, declaration
    # Where the policy lives in actors of its own, it is not built here too.
    if execution.cluster is not None and (of_actors := execution.cluster.declared(job)) is not None:
        return job, None, of_actors
    policy = stack.enter_context(opened(job.policy, job.preset))
    declaration = declared(policy)
    if (execution.workers > 1 or execution.cluster is not None) and not isinstance(policy, RemotePolicy):
        # The workers build their own, and a model is large.
        stack.pop_all().close()
        return job, None, declaration
    return job, policy, declaration


def _given(request: Request) -> dict[str, Any]:
    """Where its files were and how its policy was made, for who wants to run it again; the request has the rest."""
    preset = request.preset
    is_file = preset is not None and preset.endswith(".toml")
    return {
        # A name of the user's does not say it, and a login is no one else's business.
        "policy": without_logins(request.policy),
        "preset": str(Path(preset).absolute()) if preset and is_file else preset,
        "plugins": list(request.plugins),
    }


def _asked(request: Request, facts: Mapping[str, Any], trials: list[Trial]) -> dict[str, Any]:
    """What must be the same for a run to be resumed."""
    return {
        **{name: value for name, value in asdict(request).items() if name != "name"},
        "policy": request.label,
        "preset": facts["preset"],
        # By what they hold, not by where they lie: the shards of a run are made on several machines.
        "plugins": [[Path(name).name, fingerprint(name)] for name in request.plugins],
        "policy_spec": facts["policy_spec"],
        # A file of weights may be written anew under its old name.
        "weights_digest": facts["weights_digest"],
        "tasks": {task: card["version"] for task, card in facts["tasks"].items()},
        "trials": digest(trial.id for trial in trials),
        # A comparison that only follows decides no episode.
        "against": request.against if request.until_decided else None,
        "margin": request.margin if request.until_decided else None,
        "against_episodes": stopping.reference_digest(request),
    }


def check(request: Request, spec: PolicySpec, trials: list[Trial], workers: int) -> None:
    """Everything that can be known to be wrong before the first step."""
    if not Clock.parse(request.clock).is_reproducible and (workers > 1 or request.batch > 1):
        raise UserError(
            f"the clock {request.clock} needs a policy that has the machine to itself, with one worker and a batch "
            f"of 1, not {workers} and {request.batch}"
        )
    for name, value in request.perturbations:
        entry = PERTURBATIONS[name]
        if value != 0:
            entry.cls.check(value, spec)
    robot = ROBOTS[request.robot]
    if request.quality not in QUALITIES:
        raise UnknownName(unknown("rendering quality", request.quality, QUALITIES))
    for task in {trial.task for trial in trials}:
        situation = TASKS[task].situation(0)
        check_fit(spec, robot, situation.scene)
        check_hands(situation.instruction.meaning, robot)
    if spec.cameras:
        gl.context()
