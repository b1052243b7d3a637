"""A policy on tasks, every episode recorded."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
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
)
from robodx.errors import UserError
from robodx.running.bounds import MOST_REPEATS, MOST_SEEDS
from robodx.terminal.console import progress_bar

if TYPE_CHECKING:
    from robodx.records.values import Applied
    from robodx.running.cluster import Cluster


@app.command(rich_help_panel="Run")
def run(
    selectors: Annotated[
        list[str],
        typer.Argument(
            help="Tasks, families or suites: control/stack_cube, control/easy, capability, stress/packet_loss, "
            "stress/sensor, cliff/noise/primitive/pick_cube …"
        ),
    ],
    policy: Annotated[str, typer.Option(help="Who acts; see: robodx list policies.")],
    preset: Preset = None,
    name: Annotated[
        str | None, typer.Option(help="What to call the policy in the record; then its address may change.")
    ] = None,
    out: RunFolder = None,
    seeds: Annotated[
        int | None,
        typer.Option(
            help="Situations a task: seeds 0 … N-1. Unless given 25, with --until-width 2000 at most, with "
            "--until-decided those of RUN.",
            min=1,
            max=MOST_SEEDS,
        ),
    ] = None,
    first_seed: FirstSeed = 0,
    repeats: Annotated[
        int, typer.Option(help="Repeats a situation, with other randomness of the policy.", min=1, max=MOST_REPEATS)
    ] = 1,
    perturb: Annotated[
        list[str], typer.Option(metavar="NAME=LEVEL", help="Apply a perturbation; may be given several times.")
    ] = [],  # noqa: B006
    clock: Annotated[
        str, typer.Option(help="lockstep (the world waits), realtime:SECONDS (it does not) or realtime:measured.")
    ] = "lockstep",
    workers: Annotated[int, typer.Option(help="Processes, or with --ray environment actors.", min=1)] = 1,
    batch: Annotated[
        int,
        typer.Option(
            help="Episodes a worker runs at a time; the policy is asked for half of them while the rest is stepped.",
            min=1,
        ),
    ] = 1,
    policy_process: Annotated[
        bool,
        typer.Option("--policy-process", help="Build the policy once, in a process of its own that all workers ask."),
    ] = False,
    ray: Annotated[
        str | None,
        typer.Option(
            metavar="auto|local|ADDRESS",
            help="Run on a Ray cluster: the one that runs (else one started here), or HOST:PORT, ray://HOST:PORT.",
        ),
    ] = None,
    policy_actors: Annotated[
        int, typer.Option(help="With --ray: build the policy in N actors, which the environments share.", min=0)
    ] = 0,
    policy_gpus: Annotated[
        float, typer.Option(help="With --ray: GPUs of each policy actor; may be a fraction.", min=0)
    ] = 0.0,
    retries: Annotated[
        int, typer.Option(help="How often an episode that ended in an error is tried again.", min=0)
    ] = 2,
    shuffle: Annotated[int | None, typer.Option(help="Execute in a random order, from this seed.", min=0)] = None,
    shard: Annotated[
        str | None, typer.Option(metavar="K/N", help="Only the K-th of N parts, for N machines; see: robodx merge.")
    ] = None,
    until_width: Annotated[
        float | None,
        typer.Option(
            metavar="WIDTH",
            help="Go on with further seeds until each task's success rate is known to this width, as 0.1; "
            "--seeds is then the most that a task may get (2000).",
        ),
    ] = None,
    against: Annotated[
        Path | None, typer.Option(metavar="RUN", help="Compare with this run at the end; see: robodx compare.")
    ] = None,
    until_decided: Annotated[
        bool,
        typer.Option(
            "--until-decided", help="With --against: run RUN's trials in random order, until the verdict is clear."
        ),
    ] = False,
    margin: Annotated[
        float | None, typer.Option(help="With --against: as for robodx compare.", show_default="0.1")
    ] = None,
    video: Annotated[int, typer.Option(help="Film up to N successes and N failures a task.", min=0)] = 0,
    quality: Quality = "fast",
    robot: Robot = "panda",
    as_json: Json = False,
    plugin: Plugins = [],  # noqa: B006
) -> None:
    """Run a policy on tasks and record every episode.

    A run into an existing folder resumes it if the same is asked for, and is refused otherwise. Ctrl-C keeps what is
    finished.
    """
    load_plugins(plugin)
    from robodx.analysis.compare import compare as compare_runs
    from robodx.analysis.verdicts import MARGIN
    from robodx.running.filming import film
    from robodx.running.run import Request
    from robodx.running.run import run as execute_run
    from robodx.running.stopping import seeds_of
    from robodx.sim import gl
    from robodx.terminal.summary import print_summary

    if margin is not None and against is None:
        raise UserError(f"--margin {margin:g} is of a comparison: give --against RUN too")
    margin = MARGIN if margin is None else margin
    if seeds is None:
        seeds = seeds_of(against) if until_decided and against is not None else 25 if until_width is None else 2000
    request = Request(
        selectors=tuple(selectors),
        policy=policy,
        preset=preset,
        name=name,
        seeds=seeds,
        first_seed=first_seed,
        repeats=repeats,
        robot=robot,
        perturbations=_perturbations(perturb),
        clock=clock,
        quality=quality,
        batch=batch,
        plugins=located(plugin),
        shard=shard,
        until_width=until_width,
        against=None if against is None else str(against),
        until_decided=until_decided,
        margin=margin,
    )
    if name is not None and not (name.strip() and name.isprintable()):
        raise UserError(f"a policy's name is shown and stored: it must be printable and not empty, not {name!r}")
    if ray and policy_process:
        raise UserError("--policy-process is of this machine: with --ray a policy lives in --policy-actors")
    folder = out or Path("runs") / default_name(selectors, request.label)
    if video:
        gl.context()
    with keeping(folder):
        # What a policy prints is for a person to read, never part of the answer.
        with (
            progress_bar() as progress,
            redirect_stdout(sys.stderr),
            _cluster(ray, workers, policy_actors, policy_gpus) as cluster,
        ):
            execute_run(
                request,
                folder,
                workers=workers,
                shuffle=shuffle,
                retries=retries,
                progress=progress,
                cluster=cluster,
                in_own_process=policy_process,
            )
        if video:
            for path in film(folder, video):
                print(f"Filmed {path}", file=sys.stderr)
    comparison = None if against is None else compare_runs(against, folder, margin=margin)
    if not print_summary(folder, as_json=as_json, comparison=comparison):
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
