"""What is wrong with a policy and why, and whether the diagnosis can be believed."""

from __future__ import annotations

import shlex
import sys
from contextlib import closing, redirect_stdout
from pathlib import Path
from typing import Annotated

import typer

from robodx.cli.app import app
from robodx.cli.films import film_examples
from robodx.cli.interrupts import keeping, tell_of_finishing
from robodx.cli.options import (
    Films,
    FirstSeed,
    Json,
    Plugins,
    Preset,
    Quality,
    Robot,
    Run,
    RunFolder,
    Workers,
    default_name,
    load_plugins,
    located,
)
from robodx.running.limits import MOST_SEEDS
from robodx.terminal.console import print_json, progress_bar


@app.command(rich_help_panel="Diagnose")
def diagnose(
    policy: Annotated[str, typer.Argument(help="Policy to evaluate; see: robodx list policies.")],
    preset: Preset = None,
    name: Annotated[str | None, typer.Option(help="What to call the policy in the record.")] = None,
    out: RunFolder = None,
    seeds: Annotated[
        int,
        typer.Option(
            help="Situations a task to look for weaknesses in; they are confirmed on others.", min=1, max=MOST_SEEDS
        ),
    ] = 3,
    first_seed: FirstSeed = 0,
    workers: Workers = 1,
    batch: Annotated[int, typer.Option(help="As for robodx run.", min=1)] = 1,
    films: Films = 2,
    quality: Quality = "fast",
    robot: Robot = "panda",
    as_json: Json = False,
    plugin: Plugins = [],  # noqa: B006
) -> None:
    """Find out what is wrong with a policy: try everything a little, then confirm on fresh seeds what looked weak.

    Prints the findings and writes the page; robodx report, view, why and findings then work on its folder.
    """
    load_plugins(plugin)
    from robodx.report.material import gather
    from robodx.report.page import FILE_NAME, write_report
    from robodx.running.request import Request
    from robodx.running.run import Execution
    from robodx.running.run import run as execute_run
    from robodx.terminal.diagnosis import print_diagnoses

    request = Request(
        selectors=("diagnosis",),
        policy=policy,
        preset=preset,
        name=name,
        seeds=seeds,
        first_seed=first_seed,
        robot=robot,
        quality=quality,
        batch=batch,
        plugins=located(plugin),
    )
    folder = out or Path("runs") / default_name(["diagnosis"], request.label)
    with keeping(folder):
        with progress_bar() as progress, redirect_stdout(sys.stderr):
            execute_run(request, folder, Execution(workers=workers), observers=[progress])
        material = film_examples(gather([folder]), films)
    print_diagnoses(material.diagnoses, as_json=as_json)
    page = write_report(material, folder / FILE_NAME)
    run = shlex.quote(str(folder))
    print(f"The page is {page}. Next: robodx why {run}, robodx view {run}", file=sys.stderr)


@app.command(rich_help_panel="Diagnose")
def findings(
    runs: Annotated[list[Path], typer.Argument(metavar="RUN...", help="Run folders.")],
    as_json: Json = False,
    plugin: Plugins = [],  # noqa: B006
) -> None:
    """Print what the episodes of runs say is wrong: screened on some seeds, confirmed on others, ranked.

    Of a run of robodx diagnose the confirming seeds are those it asked for; of another every other seed.
    """
    load_plugins(plugin)
    from robodx.analysis.findings.diagnose import diagnose_runs
    from robodx.terminal.diagnosis import print_diagnoses

    print_diagnoses(diagnose_runs(runs), as_json=as_json)


@app.command(rich_help_panel="Diagnose")
def why(
    run: Run,
    episodes: Annotated[int, typer.Option(help="At most so many failed trials are run again.", min=1, max=10_000)] = 40,
    only: Annotated[
        list[str], typer.Option(metavar="SUBSTITUTION", help="Only this one; may be given several times.")
    ] = [],  # noqa: B006
    policy: Annotated[
        str | None, typer.Option(help="Policy to evaluate, where RUN does not say how its policy is made, or it moved.")
    ] = None,
    preset: Preset = None,
    out: Annotated[Path | None, typer.Option(help="Where the trials are kept; unless given RUN/why.")] = None,
    workers: Workers = 1,
    as_json: Json = False,
    plugin: Plugins = [],  # noqa: B006
) -> None:
    """Say why a policy fails: run failed trials again, with one component at a time made perfect.

    What plain words recover is a problem of language, what a lone target recovers one of perception, and so on. Ctrl-C
    keeps what is finished; the same command goes on, and one with more --episodes runs only the further ones.
    """
    load_plugins(plugin)
    from robodx.records.table import is_finished
    from robodx.running.why import failed_trials
    from robodx.running.why import why as ask
    from robodx.terminal.why import print_causes

    with keeping(out or run / "why"), progress_bar() as progress, redirect_stdout(sys.stderr):
        causes = ask(
            run,
            out=out,
            episodes=episodes,
            only=only,
            policy=policy,
            preset=preset,
            plugins=located(plugin),
            workers=workers,
            observers=[progress],
        )
    if not is_finished(run):
        print(f"{run} is not finished: what fails in the rest of it is not asked about.", file=sys.stderr)
    print_causes(str(run), causes, failed_trials(run), as_json=as_json)


@app.command(rich_help_panel="Diagnose")
def validate(
    out: Annotated[
        Path | None,
        typer.Option(
            help="Where episodes are kept; the same command goes on from there. Unless given, a folder in "
            "runs/validation for each version of RoboDx's source."
        ),
    ] = None,
    fault: Annotated[list[str], typer.Option(help="Only this fault; may be given several times.")] = [],  # noqa: B006
    sets: Annotated[int, typer.Option(help="Disjoint sets of seeds for each fault.", min=1)] = 5,
    healthy: Annotated[int, typer.Option(help="Runs of policies without a fault.", min=0)] = 60,
    weak_sets: Annotated[int, typer.Option(help="Sets for each fault beside 40% random failures.", min=0)] = 1,
    pairs: Annotated[int, typer.Option(help="Pairs of faults.", min=0)] = 30,
    first_set: Annotated[
        int | None, typer.Option(help="The first set of seeds; unless given, that of the table in the docs.", min=0)
    ] = None,
    workers: Workers = 1,
    as_json: Json = False,
) -> None:
    """Prove the diagnosis: policies with planted faults go through it, and the finding must name the fault.

    Prints planted × found, how often the top finding is right and how often healthy policies raise a false alarm.
    All of it takes more than an hour on two cores. Ctrl-C lets what has begun finish, and keeps it. Exits with 1 if a
    goal is missed.
    """
    from robodx.records.versions import versions
    from robodx.running.validation import FIRST_SET, design
    from robodx.running.validation import validate as run_cases
    from robodx.terminal.validation import as_dict, is_reached, lines, validation_bar

    first = FIRST_SET if first_set is None else first_set
    cases = design(sets=sets, weak_sets=weak_sets, healthy=healthy, pairs=pairs, only=fault, first_set=first)
    # What another source did says nothing of this one.
    folder = out or Path("runs/validation") / str(versions(gl_renderer=None)["source"])
    verdicts = []
    with (
        keeping(folder),
        validation_bar(len(cases)) as tell,
        closing(run_cases(cases, folder, workers=workers, stopping=tell_of_finishing)) as judged,
    ):
        for verdict in judged:
            verdicts.append(verdict)
            tell(verdict)
    if as_json:
        print_json(as_dict(verdicts))
    else:
        print(*lines(verdicts), sep="\n")
    if not is_reached(verdicts):
        raise typer.Exit(1)
