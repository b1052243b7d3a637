"""`robodx run`: a policy on tasks, with every episode recorded."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from robodx.cli.app import app
from robodx.cli.completing import policy_names, selector_names
from robodx.cli.interrupts import keeping
from robodx.cli.options import (
    FirstSeed,
    Json,
    PlainFilms,
    Plugins,
    Preset,
    Quality,
    Robot,
    RunFolder,
    default_name,
    finite,
    load_plugins,
    located,
    takes,
)
from robodx.cli.run_files import PrintConfig, config_option, is_printed_alone, printed, read_run_file
from robodx.errors import UserError
from robodx.output import print_aside, print_text
from robodx.records.trial import DEFAULT_ROBOT
from robodx.running.limits import (
    LAST_SEED,
    MOST_BATCH,
    MOST_FILMS,
    MOST_GPUS,
    MOST_REPEATS,
    MOST_RETRIES,
    MOST_SEEDS,
    MOST_WORKERS,
)
from robodx.terminal.console import progress_bar

if TYPE_CHECKING:
    from robodx.records.values import Applied
    from robodx.running.cluster import Cluster
    from robodx.running.request import Request
    from robodx.running.run import Execution


RunConfig = Annotated[Path | None, config_option(lambda: RunOptions)]


@dataclass(frozen=True)
class RunOptions:
    """The options of `robodx run`, each a field."""

    selectors: Annotated[
        list[str],
        typer.Argument(
            help="Tasks, families, tiers or suites: control/stack_cube, control, control/easy, easy, "
            "capability/easy, stress/packet_loss, stress/sensor, cliff/noise/primitive/pick_cube …",
            autocompletion=selector_names,
        ),
    ] = None  # type: ignore[assignment]  # older versions of typer take no other default here; it is a list from then on
    policy: Annotated[
        str,
        typer.Option(
            help="Policy to evaluate; see: robodx list policies.", show_default=False, autocompletion=policy_names
        ),
    ] = ""
    preset: Preset = None
    name: Annotated[str | None, typer.Option(help="Name of the policy in the record; its address may then change.")] = (
        None
    )
    out: RunFolder = None
    seeds: Annotated[
        int | None,
        typer.Option(
            help="Situations per task: seeds 0 … N-1. Default: 25, of the suite bias 5; with --until-width at most "
            "2000; with --until-decided the seeds of RUN.",
            min=1,
            max=MOST_SEEDS,
        ),
    ] = None
    quick: Annotated[bool, typer.Option("--quick", help="Of the suite bias: a balanced tenth of its episodes.")] = False
    first_seed: FirstSeed = 0
    repeats: Annotated[
        int, typer.Option(help="Trials per situation, with different policy seeds.", min=1, max=MOST_REPEATS)
    ] = 1
    perturb: Annotated[list[str], typer.Option(metavar="NAME=LEVEL", help="Apply a perturbation; repeatable.")] = field(
        default_factory=list
    )
    clock: Annotated[
        str,
        typer.Option(
            help="lockstep: the world waits for the policy. realtime:SECONDS or realtime:measured: it does not."
        ),
    ] = "lockstep"
    workers: Annotated[
        int,
        typer.Option(help="Number of worker processes; with --ray, of environment actors.", min=1, max=MOST_WORKERS),
    ] = 1
    batch: Annotated[
        int,
        typer.Option(
            help="Episodes that a worker runs at a time; the policy infers for one half while the other is stepped.",
            min=1,
            max=MOST_BATCH,
        ),
    ] = 1
    policy_process: Annotated[
        bool,
        typer.Option("--policy-process", help="Load the policy once, in a separate process that all workers share."),
    ] = False
    ray: Annotated[
        str | None,
        typer.Option(
            metavar="auto|local|ADDRESS",
            help="Run on a Ray cluster: auto (a running one, else a new local one), local, HOST:PORT or ray://HOST:PORT.",
        ),
    ] = None
    policy_actors: Annotated[
        int,
        typer.Option(
            help="With --ray: load the policy in N actors, which the environments share.", min=0, max=MOST_WORKERS
        ),
    ] = 0
    policy_gpus: Annotated[
        float,
        typer.Option(
            help="With --ray: GPUs per policy actor; may be a fraction.", min=0, max=MOST_GPUS, callback=finite
        ),
    ] = 0.0
    retries: Annotated[
        int, typer.Option(help="How often to retry an episode that ended in an error.", min=0, max=MOST_RETRIES)
    ] = 2
    shuffle: Annotated[
        int | None, typer.Option(help="Run the trials in random order, with this seed.", min=0, max=LAST_SEED)
    ] = None
    shard: Annotated[
        str | None, typer.Option(metavar="K/N", help="Run only part K of N, for N machines; see: robodx merge.")
    ] = None
    until_width: Annotated[
        float | None,
        typer.Option(
            metavar="WIDTH",
            help="Add seeds until the interval of each task's success rate is this narrow, for example 0.1; "
            "--seeds is then the largest number per task (2000).",
            callback=finite,
        ),
    ] = None
    against: Annotated[
        Path | None, typer.Option(metavar="RUN", help="Compare with this run at the end, as robodx compare does.")
    ] = None
    until_decided: Annotated[
        bool,
        typer.Option(
            "--until-decided", help="With --against: run the trials of RUN in random order until there is a verdict."
        ),
    ] = False
    margin: Annotated[
        float | None,
        typer.Option(help="With --against: the margin, as for robodx compare.", show_default="0.1", callback=finite),
    ] = None
    video: Annotated[
        int, typer.Option(help="Film up to N successes and N failures per task.", min=0, max=MOST_FILMS)
    ] = 0
    plain_films: PlainFilms = False
    quality: Quality = "fast"
    robot: Robot = DEFAULT_ROBOT
    as_json: Json = False
    plugin: Plugins = field(default_factory=list)
    config: RunConfig = None
    print_config: PrintConfig = False

    def __post_init__(self) -> None:
        if not self.selectors:
            # Not all versions of typer take arguments from a file.
            told = {} if self.config is None else read_run_file(self.config, RunOptions)
            object.__setattr__(self, "selectors", told.get("selectors", []))
        if not self.selectors:
            raise UserError("nothing to run: name tasks, families or suites, as in robodx run control/easy")
        if not self.policy and not self.print_config:
            raise UserError("no policy to run: give --policy NAME; see: robodx list policies")
        if self.margin is not None and self.against is None:
            raise UserError(f"--margin {self.margin:g} needs a run to compare with: give --against RUN too")
        if self.name is not None and not (self.name.strip() and self.name.isprintable()):
            raise UserError(
                f"--name must be printable and not empty, because it is shown and stored; it is {self.name!r}"
            )
        if self.ray and self.policy_process:
            raise UserError("--policy-process works on this machine only: with --ray, use --policy-actors")

    def request(self) -> Request:
        """What decides the episodes."""
        from robodx.analysis.verdicts import MARGIN
        from robodx.running.request import Request
        from robodx.suites.base import quickened

        return Request(
            selectors=tuple(quickened(self.selectors) if self.quick else self.selectors),
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
        from robodx.suites.base import usual_seeds

        if self.seeds is not None:
            return self.seeds
        if self.until_decided and self.against is not None:
            return seeds_of(self.against)
        return usual_seeds(self.selectors) if self.until_width is None else 2000

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

    The same command into an existing folder resumes the run; any other is refused. Ctrl-C keeps finished episodes.
    Options can be kept in a run file: robodx run … --print-config > my.toml, and then robodx run --config my.toml.
    """
    if is_printed_alone(options.config, print_config=options.print_config):
        print_text(printed(vars(options), RunOptions))
        return
    load_plugins(options.plugin)
    from robodx.analysis.compare import compare as compare_runs
    from robodx.running.run import run as execute_run
    from robodx.sim import gl
    from robodx.terminal.summary import print_summary
    from robodx.video.filming import film

    request = options.request()
    folder = options.out or Path("runs") / default_name(options.selectors, request.label)
    if options.print_config:
        print_text(printed({**vars(options), "seeds": request.seeds, "out": folder}, RunOptions))
        return
    if options.video:
        gl.context()
    with keeping(folder):
        # What a policy prints goes to stderr: stdout holds only our result.
        with progress_bar() as progress, redirect_stdout(sys.stderr), options.execution() as execution:
            execute_run(request, folder, execution, observers=[progress], tell=print_aside)
        if options.video:
            for path in film(folder, options.video, is_plain=options.plain_films):
                print_text(f"Filmed {path}", file=sys.stderr)
    against = options.against
    comparison = None if against is None else compare_runs(against, folder, margin=request.margin)
    has_rate = print_summary(folder, as_json=options.as_json, comparison=comparison)
    print_aside(_next(folder, options.shard))
    if not has_rate:
        raise typer.Exit(1)


def _next(folder: Path, shard: str | None) -> str:
    """Where the episodes are, and what to do with them."""
    run = shlex.quote(str(folder))
    following = f"robodx report {run}, robodx view {run}, robodx summary {run}"
    if shard is not None:
        following = "when all shards are done, robodx merge RUN... --out FOLDER"
    return f"Episodes: {folder}\nNext: {following}"


def _perturbations(words: list[str]) -> tuple[Applied, ...]:
    from robodx.perturbations.base import PERTURBATIONS

    applied = []
    for word in words:
        name, separator, level = word.partition("=")
        entry = PERTURBATIONS[name]
        if not separator:
            raise UserError(f'"{word}" has no level: write {name}=LEVEL with one of {", ".join(entry.levels)}')
        applied.append((name, entry.parse(level)))
    return tuple(applied)


@contextmanager
def _cluster(address: str | None, workers: int, policy_actors: int, policy_gpus: float) -> Iterator[Cluster | None]:
    if address is None:
        if policy_actors or policy_gpus:
            raise UserError("--policy-actors and --policy-gpus need a Ray cluster: give --ray too")
        yield None
        return
    if policy_gpus and not policy_actors:
        raise UserError(f"--policy-gpus {policy_gpus:g} needs policy actors: give --policy-actors too")
    from robodx.running.cluster import connect

    with connect(address, workers=workers, policy_actors=policy_actors, policy_gpus=policy_gpus) as cluster:
        yield cluster
