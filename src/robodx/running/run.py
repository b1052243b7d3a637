"""A run from start to end: what was asked becomes trials, the missing ones are executed, and videos are drawn."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import polars as pl

from robodx.analysis.asking import label
from robodx.analysis.verdicts import MARGIN
from robodx.errors import Stop, UserError
from robodx.perturbations.base import PERTURBATIONS
from robodx.policy_contract import POLICIES, PolicySpec, opened
from robodx.records.clock import Clock
from robodx.records.design import Planned, design_table, trials_of
from robodx.records.episode import Episode
from robodx.records.folder import RunFolder, digest
from robodx.records.schema import SCHEMA
from robodx.records.trial import Trial
from robodx.records.values import Applied
from robodx.records.versions import machine, versions
from robodx.registry import UnknownName, fingerprint, unknown
from robodx.running import stopping
from robodx.running.bounds import LAST_FIRST_SEED, MOST_REPEATS, MOST_SEEDS
from robodx.running.crew import MAX_ATTEMPTS
from robodx.running.environment import check_fit
from robodx.running.policy_process import policy_process
from robodx.running.workers import Job, execute
from robodx.sim import gl
from robodx.sim.build import IMPEDANCE_RATIO, PHYSICS_STEP_S
from robodx.sim.render import QUALITIES, RENDERING_VERSION
from robodx.sim.robot import ROBOTS
from robodx.suites.base import Plan, ask, find_suite
from robodx.tasks.base import NEEDS_LANGUAGE, TASKS
from robodx.wires.remote import Declared, RemotePolicy, declared

if TYPE_CHECKING:
    from robodx.running.cluster import Cluster

# A server that was restarted, a worker that was killed: most errors do not come twice.
RETRIES = 2
LONGEST_STREAK = 10


@dataclass(frozen=True)
class Request:
    """What decides the episodes of a run."""

    selectors: tuple[str, ...]
    # How the policy is made; what it is called in the record is `label`.
    policy: str
    seeds: int
    # The first of them: other seeds than those of another run are fresh situations.
    first_seed: int = 0
    repeats: int = 1
    robot: str = "panda"
    perturbations: tuple[Applied, ...] = ()
    clock: str = "lockstep"
    quality: str = "fast"
    batch: int = 1
    plugins: tuple[str, ...] = ()
    # A server's conventions, by name or TOML file.
    preset: str | None = None
    # A name of the user's for the policy: then a resumed run may reach it at another address.
    name: str | None = None
    # "K/N": only the K-th of N parts, each about as large, for N machines to share a run.
    shard: str | None = None
    # Go on with further seeds until every task's success rate is known to this width; `seeds` is then the most.
    until_width: float | None = None
    # A run to be compared with; and whether to stop when that is decided, `held` meaning within this margin.
    against: str | None = None
    until_decided: bool = False
    margin: float = MARGIN

    def __post_init__(self) -> None:
        for name, value, least, most in (
            ("seeds", self.seeds, 1, MOST_SEEDS),
            ("first_seed", self.first_seed, 0, LAST_FIRST_SEED),
            ("repeats", self.repeats, 1, MOST_REPEATS),
        ):
            if not least <= value <= most:
                raise UserError(f"{name} is {value}: it must be {least} to {most}")
        stopping.check(self)
        if self.shard is not None:
            part, _, parts = self.shard.partition("/")
            if not (part.isdecimal() and parts.isdecimal() and 1 <= int(part) <= int(parts)):
                raise UserError(f'No shard "{self.shard}": write K/N, the K-th of N, as in 2/4')
        if self.name in POLICIES and self.name != self.policy:
            raise UserError(f'"{self.name}" is the name of a policy of RoboDx: call yours something else')

    @property
    def label(self) -> str:
        """The policy's name in trials and records."""
        return label(self.policy, self.preset, self.name)

    @property
    def is_adaptive(self) -> bool:
        """Whether what is seen decides how many trials there are."""
        return self.until_width is not None or self.until_decided

    def part_of(self, trials: list[Trial]) -> list[Trial]:
        """This shard's trials: every N-th in the order of their ids, so that the parts never overlap."""
        if self.shard is None:
            return trials
        part, _, parts = self.shard.partition("/")
        mine = set(sorted(trial.id for trial in trials)[int(part) - 1 :: int(parts)])
        return [trial for trial in trials if trial.id in mine]


class Progress(Protocol):
    """Called before each round, with None, and after each episode."""

    def __call__(self, episode: Episode | None, *, done: int, total: int, solved: int) -> None: ...


def _ignore(episode: Episode | None, *, done: int, total: int, solved: int) -> None: ...


def plan_round(request: Request, done: pl.DataFrame, spec: PolicySpec | None = None) -> list[Planned]:
    """What the request's suites ask for, given the completed rounds; a trial may be asked for by several.

    With a policy's spec, that alone which says something of such a policy.
    """
    planned: list[Planned] = []
    for selector in request.selectors:
        name, within = find_suite(selector)
        plan = Plan(
            policy=request.label,
            seeds=request.seeds,
            robot=request.robot,
            repeats=request.repeats,
            perturbations=request.perturbations,
            clock=request.clock,
            within=within,
            first_seed=request.first_seed,
        )
        planned += ask(name, done, plan)
    return [one for one in planned if spec is None or is_applicable(one.trial.task, spec)]


def first_round(request: Request, spec: PolicySpec) -> tuple[list[Planned], list[str]]:
    """What to begin with, and the tasks that are left out because they say nothing of such a policy."""
    wanted = plan_round(request, pl.DataFrame(schema=SCHEMA))
    planned = [one for one in wanted if is_applicable(one.trial.task, spec)]
    left_out = sorted({one.trial.task for one in wanted} - {one.trial.task for one in planned})
    if left_out and not planned:
        raise UserError(
            f"the policy {request.label} reads no instructions, which all of this needs: {', '.join(left_out)}"
        )
    return planned, left_out


def is_applicable(task: str, spec: PolicySpec) -> bool:
    """Where the instruction says which of several things to do, one who cannot read it is not tested."""
    entry = TASKS[task]
    return spec.uses_language or not ("instruction" in entry.varies or NEEDS_LANGUAGE in entry.tags)


def run(
    request: Request,
    out: Path,
    *,
    workers: int = 1,
    shuffle: int | None = None,
    retries: int = RETRIES,
    progress: Progress | None = None,
    cluster: Cluster | None = None,
    in_own_process: bool = False,
    planned: list[Planned] | None = None,
) -> pl.DataFrame:
    """Execute what is missing in the folder, and return the table of all its episodes.

    With `in_own_process` the policy is built once, in a process that all workers ask, else in each worker. Episodes
    that end in an error are tried again, up to `retries` times, when the others are done. `planned` are trials in
    place of those that the request's suites ask for.
    """
    if in_own_process and cluster is not None:
        raise UserError("a policy in a process of this machine cannot be asked from a cluster: use policy actors there")
    notify = progress or _ignore
    rule = stopping.rule(request)
    job = Job(request.policy, out / "trajectories", request.quality, request.batch, request.plugins, request.preset)
    with ExitStack() as stack:
        # Where the policy lives in actors of its own, it is not built here too.
        policy, told = None, cluster.declared(job) if cluster is not None else None
        if in_own_process:
            job, told = stack.enter_context(policy_process(job))
        elif told is None:
            policy = stack.enter_context(opened(job.policy, job.preset))
            told = declared(policy)
            if (workers > 1 or cluster is not None) and not isinstance(policy, RemotePolicy):
                # The workers build their own, and a model is large.
                stack.pop_all().close()
                policy = None
        wanted, beside = first_round(request, told.spec) if planned is None else (planned, [])
        trials = trials_of(wanted)
        check(request, told.spec, trials, workers)
        facts = {**_facts(told, trials), "not_applicable": beside, "is_named": request.name is not None}
        asked = _asked(request, facts, trials)
        if rule is not None:
            trials = rule(trials, pl.DataFrame(schema=SCHEMA))
        folder = stack.enter_context(RunFolder.open(out, asked, facts))
        done = folder.episodes()
        tried = dict(done.select("trial_id", "attempt").iter_rows())
        # Trials that erred in an earlier call are tried again.
        finished = set(done.filter(pl.col("outcome") != "error")["trial_id"])
        solved = int(done["success"].sum())
        total, known = 0, set[str]()
        while trials:
            known |= {trial.id for trial in trials}
            folder.note_design(design_table(one for one in wanted if one.trial.id in known))
            mine = request.part_of(trials)
            total += len(mine)
            notify(None, done=len(finished), total=max(total, len(finished)), solved=solved)
            missing = [trial for trial in mine if trial.id not in finished]
            if shuffle is not None:
                missing = [missing[index] for index in np.random.default_rng(shuffle).permutation(len(missing))]
            once = partial(execute, job=job, workers=workers, policy=policy, cluster=cluster)
            # A lost server takes along all that is under way: that alone is no reason to stop.
            streak = _Streak(LONGEST_STREAK + workers * request.batch)
            for episode in _persist(missing, once, retries):
                tried[episode.trial_id] = episode.attempt + tried.get(episode.trial_id, 0)
                folder.append(replace(episode, attempt=tried[episode.trial_id]))
                finished.add(episode.trial_id)
                solved += episode.success
                notify(episode, done=len(finished), total=max(total, len(finished)), solved=solved)
                streak.note(episode)
            folder.flush()
            # A suite sees whole rounds only, so that a killed run goes on as it would have.
            rounds = folder.episodes().filter(pl.col("trial_id").is_in(known))
            wanted = plan_round(request, rounds, told.spec) if planned is None else planned
            allowed = trials_of(wanted) if rule is None else rule(trials_of(wanted), rounds)
            trials = [trial for trial in allowed if trial.id not in known]
            if trials and request.shard is not None:
                folder.compact()
                raise UserError(
                    f"shard {request.shard} is done, but the suite goes on in rounds, which need the episodes of all: "
                    "join the shards with robodx merge, and give the same command without --shard for that folder"
                )
        folder.compact()
        return folder.episodes()


def _persist(
    trials: list[Trial], execute_once: Callable[[list[Trial]], Iterator[Episode]], retries: int
) -> Iterator[Episode]:
    """Episodes as they end; trials that erred come again, when the others are done."""
    for _ in range(retries + 1):
        erred = set()
        for episode in execute_once(trials):
            # A trial that killed one worker after the other has been tried enough.
            if episode.outcome == "error" and episode.attempt < MAX_ATTEMPTS:
                erred.add(episode.trial_id)
            yield episode
        trials = [trial for trial in trials if trial.id in erred]


@dataclass
class _Streak:
    """Errors in a row that read alike: then it is not the trials, and going on would cost hours for nothing."""

    longest: int
    text: str = ""
    length: int = 0

    def note(self, episode: Episode) -> None:
        text = "".join((episode.error or "").strip().splitlines()[-1:]) if episode.outcome == "error" else ""
        self.length = self.length + 1 if text and text == self.text else bool(text)
        self.text = text
        if self.length >= self.longest:
            raise Stop(
                f"{self.length} episodes in a row ended with the same error, and what is finished is kept: {text}"
            )


def _asked(request: Request, facts: Mapping[str, Any], trials: list[Trial]) -> dict[str, Any]:
    """What must be the same for a run to be resumed."""
    return {
        **{name: value for name, value in asdict(request).items() if name != "name"},
        "policy": request.label,
        "preset": facts["preset"],
        # By what they hold, not by where they lie: the shards of a run are made on several machines.
        "plugins": [[Path(name).name, fingerprint(name)] for name in request.plugins],
        "policy_spec": facts["policy_spec"],
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
            f"the clock {request.clock} measures a policy that has the machine to itself: "
            f"{workers} workers with batches of {request.batch} would measure each other"
        )
    for name, _ in request.perturbations:
        PERTURBATIONS[name]
    robot = ROBOTS[request.robot]
    if request.quality not in QUALITIES:
        raise UnknownName(unknown("rendering quality", request.quality, QUALITIES))
    for task in {trial.task for trial in trials}:
        check_fit(spec, robot, TASKS[task].situation(0).scene)
    if spec.cameras:
        gl.context()


def _facts(policy: Declared, trials: list[Trial]) -> dict[str, Any]:
    spec = policy.spec
    return {
        "policy_spec": asdict(spec),
        "preset": policy.preset,
        "is_reproducible": all(Clock.parse(trial.clock).is_reproducible for trial in trials),
        "physics": {"step_s": PHYSICS_STEP_S, "integrator": "implicitfast", "impratio": IMPEDANCE_RATIO},
        "versions": _versions(spec),
        "machine": machine(),
        "tasks": {task: _card(task) for task in sorted({trial.task for trial in trials})},
        # All of them: a suite may apply others in a later round.
        "perturbations": perturbation_cards(),
    }


def _versions(spec: PolicySpec) -> dict[str, str | None]:
    if not spec.cameras:
        return versions(gl_renderer=None)
    return versions(gl_renderer=gl.renderer_name(), rendering=RENDERING_VERSION)


def perturbation_cards() -> dict[str, dict[str, Any]]:
    """What a report needs to know of perturbations, by name."""
    return {
        entry.name: {"kind": entry.kind, "levels": dict(entry.levels), "is_ordered": entry.is_ordered}
        for entry in PERTURBATIONS.entries()
    }


def _card(task_id: str) -> dict[str, Any]:
    """What a report needs to know of a task, for it may not import the simulator."""
    task = TASKS[task_id]
    situation = task.situation(0)
    return {
        "version": task.version,
        "summary": task.summary,
        "instruction": situation.instruction.text,
        "stages": [str(stage) for stage in situation.stages],
        "never": [str(condition) for condition in situation.never],
        "varies": list(task.varies),
        "chance": task.chance,
        "primitive": task.primitive,
        "time_limit_s": task.time_limit_s,
        "tags": list(task.tags),
    }
