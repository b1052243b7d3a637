"""A policy on tasks, every episode recorded."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from robodx.cli.app import app
from robodx.cli.interrupts import keeping
from robodx.cli.options import (
    FirstSeed,
    Json,
    Plugins,
    Preset,
    Quality,
    Robot,
    RunFolder,
    default_name,
    load_plugins,
    located,
    takes,
)
from robodx.errors import UserError
from robodx.running.limits import MOST_REPEATS, MOST_SEEDS
from robodx.terminal.console import progress_bar

if TYPE_CHECKING:
    from robodx.records.values import Applied
    from robodx.running.cluster import Cluster
    from robodx.running.request import Request
    from robodx.running.run import Execution


@dataclass(frozen=True)
class RunOptions:
    """The options of `robodx run`, each a field."""

    selectors: Annotated[
        list[str],
        typer.Argument(
            help="Tasks, families or suites: control/stack_cube, control/easy, capability, stress/packet_loss, "
            "stress/sensor, cliff/noise/primitive/pick_cube …"
        ),
    ]
    policy: Annotated[str, typer.Option(help="Policy to evaluate; see: robodx list policies.")]
    preset: Preset = None
    name: Annotated[
        str | None, typer.Option(help="What to call the policy in the record; then its address may change.")
    ] = None
    out: RunFolder = None
    seeds: Annotated[
        int | None,
        typer.Option(
            help="Situations a task: seeds 0 … N-1. Unless given 25, with --until-width 2000 at most, with "
            "--until-decided those of RUN.",
            min=1,
            max=MOST_SEEDS,
        ),
    ] = None
    first_seed: FirstSeed = 0
    repeats: Annotated[
        int, typer.Option(help="Repeats a situation, with other randomness of the policy.", min=1, max=MOST_REPEATS)
    ] = 1
    perturb: Annotated[
        list[str], typer.Option(metavar="NAME=LEVEL", help="Apply a perturbation; may be given several times.")
    ] = field(default_factory=list)
    clock: Annotated[
        str, typer.Option(help="lockstep (the world waits), realtime:SECONDS (it does not) or realtime:measured.")
    ] = "lockstep"
    workers: Annotated[int, typer.Option(help="Processes, or with --ray environment actors.", min=1)] = 1
    batch: Annotated[
        int,
        typer.Option(
            help="Episodes a worker runs at a time; the policy is asked for half of them while the rest is stepped.",
            min=1,
        ),
    ] = 1
    policy_process: Annotated[
        bool,
        typer.Option("--policy-process", help="Build the policy once, in a process of its own that all workers ask."),
    ] = False
    ray: Annotated[
        str | None,
        typer.Option(
            metavar="auto|local|ADDRESS",
            help="Run on a Ray cluster: the one that runs (else one started here), or HOST:PORT, ray://HOST:PORT.",
        ),
    ] = None
    policy_actors: Annotated[
        int, typer.Option(help="With --ray: build the policy in N actors, which the environments share.", min=0)
    ] = 0
    policy_gpus: Annotated[
        float, typer.Option(help="With --ray: GPUs of each policy actor; may be a fraction.", min=0)
    ] = 0.0
    retries: Annotated[int, typer.Option(help="How often an episode that ended in an error is tried again.", min=0)] = 2
    shuffle: Annotated[int | None, typer.Option(help="Execute in a random order, from this seed.", min=0)] = None
    shard: Annotated[
        str | None, typer.Option(metavar="K/N", help="Only the K-th of N parts, for N machines; see: robodx merge.")
    ] = None
    until_width: Annotated[
        float | None,
        typer.Option(
            metavar="WIDTH",
            help="Go on with further seeds until each task's success rate is known to this width, as 0.1; "
            "--seeds is then the most that a task may get (2000).",
        ),
    ] = None
    against: Annotated[
        Path | None, typer.Option(metavar="RUN", help="Compare with this run at the end; see: robodx compare.")
    ] = None
    until_decided: Annotated[
        bool,
        typer.Option(
            "--until-decided", help="With --against: run RUN's trials in random order, until the verdict is clear."
        ),
    ] = False
    margin: Annotated[float | None, typer.Option(help="With --against: as for robodx compare.", show_default="0.1")] = (
        None
    )
    video: Annotated[int, typer.Option(help="Film up to N successes and N failures a task.", min=0)] = 0
    quality: Quality = "fast"
    robot: Robot = "panda"
    as_json: Json = False
    plugin: Plugins = field(default_factory=list)

    def __post_init__(self) -> None:
        if self.margin is not None and self.against is None:
            raise UserError(f"--margin {self.margin:g} is of a comparison: give --against RUN too")
        if self.name is not None and not (self.name.strip() and self.name.isprintable()):
            raise UserError(
                f"a policy's name is shown and stored: it must be printable and not empty, not {self.name!r}"
            )
        if self.ray and self.policy_process:
            raise UserError("--policy-process is of this machine: with --ray a policy lives in --policy-actors")

    def request(self) -> Request:
        """What decides the episodes."""
        from robodx.analysis.verdicts import MARGIN
        from robodx.running.request import Request

        return Request(
            selectors=tuple(self.selectors),
            policy=self.policy,
            preset=self.preset,
            name=self.name,
            seeds=self._seeds(),
            first_seed=self.first_seed,
            repeats=self.repeats,
            robot=self.robot,
            perturbations=_perturbations(self.perturb),
            clock=self.clock,
            quality=self.quality,
            batch=self.batch,
            plugins=located(self.plugin),
            shard=self.shard,
            until_width=self.until_width,
            against=None if self.against is None else str(self.against),
            until_decided=self.until_decided,
            margin=MARGIN if self.margin is None else self.margin,
        )

    def _seeds(self) -> int:
        from robodx.running.stopping import seeds_of

        if self.seeds is not None:
            return self.seeds
        if self.until_decided and self.against is not None:
            return seeds_of(self.against)
        return 25 if self.until_width is None else 2000

    @contextmanager
    def execution(self) -> Iterator[Execution]:
        """What carries it out."""
        from robodx.running.run import Execution

        with _cluster(self.ray, self.workers, self.policy_actors, self.policy_gpus) as cluster:
            yield Execution(self.workers, cluster, self.policy_process, self.retries, self.shuffle)


@app.command(rich_help_panel="Run")
@takes(RunOptions)
def run(options: RunOptions) -> None:
    """Run a policy on tasks and record every episode.

    A run into an existing folder resumes it if the same is asked for, and is refused otherwise. Ctrl-C keeps what is
    finished.
    """
    load_plugins(options.plugin)
    from robodx.analysis.compare import compare as compare_runs
    from robodx.running.run import run as execute_run
    from robodx.sim import gl
    from robodx.terminal.summary import print_summary
    from robodx.video.filming import film

    request = options.request()
    folder = options.out or Path("runs") / default_name(options.selectors, request.label)
    if options.video:
        gl.context()
    with keeping(folder):
        # What a policy prints is for a person to read, never part of the answer.
        with progress_bar() as progress, redirect_stdout(sys.stderr), options.execution() as execution:
            execute_run(request, folder, execution, observers=[progress])
        if options.video:
            for path in film(folder, options.video):
                print(f"Filmed {path}", file=sys.stderr)
    against = options.against
    comparison = None if against is None else compare_runs(against, folder, margin=request.margin)
    if not print_summary(folder, as_json=options.as_json, comparison=comparison):
        raise typer.Exit(1)


def _perturbations(words: list[str]) -> tuple[Applied, ...]:
    from robodx.perturbations.base import PERTURBATIONS

    applied = []
    for word in words:
        name, separator, level = word.partition("=")
        entry = PERTURBATIONS[name]
        if not separator:
            raise UserError(f'"{word}" names no level: write {name}=LEVEL with one of {", ".join(entry.levels)}')
        applied.append((name, entry.parse(level)))
    return tuple(applied)


@contextmanager
def _cluster(address: str | None, workers: int, policy_actors: int, policy_gpus: float) -> Iterator[Cluster | None]:
    if address is None:
        if policy_actors or policy_gpus:
            raise UserError("--policy-actors and --policy-gpus are of a Ray cluster: give --ray too")
        yield None
        return
    if policy_gpus and not policy_actors:
        raise UserError(f"--policy-gpus {policy_gpus:g} are of policy actors: give --policy-actors too")
    from robodx.running.cluster import connect

    with connect(address, workers=workers, policy_actors=policy_actors, policy_gpus=policy_gpus) as cluster:
        yield cluster
