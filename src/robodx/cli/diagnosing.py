"""Commands that diagnose: findings, causes, and the validation of the diagnosis itself."""

from __future__ import annotations

import shlex
import sys
from contextlib import closing, redirect_stdout
from pathlib import Path
from typing import Annotated

import typer

from robodx.cli.app import app
from robodx.cli.completing import policy_names
from robodx.cli.films import film_examples
from robodx.cli.interrupts import keeping, tell_of_finishing
from robodx.cli.options import (
    Films,
    FirstSeed,
    Json,
    PlainFilms,
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
from robodx.cli.run_files import PrintConfig, config_option, is_printed_alone, printed, read_run_file
from robodx.errors import UserError
from robodx.output import print_aside, print_text
from robodx.records.trial import DEFAULT_ROBOT
from robodx.running.limits import LAST_FIRST_SET, MOST_BATCH, MOST_CASES, MOST_SEEDS
from robodx.terminal.console import print_json, progress_bar

DiagnoseConfig = Annotated[Path | None, config_option(lambda: diagnose)]


@app.command(rich_help_panel="Diagnose")
def diagnose(
    argument: Annotated[
        str | None,
        typer.Argument(
            metavar="POLICY", help="Policy to evaluate; see: robodx list policies.", autocompletion=policy_names
        ),
    ] = None,
    policy: Annotated[str | None, typer.Option(help="The same, as an option.", autocompletion=policy_names)] = None,
    preset: Preset = None,
    name: Annotated[str | None, typer.Option(help="Name of the policy in the record.")] = None,
    out: RunFolder = None,
    seeds: Annotated[
        int,
        typer.Option(
            help="Situations per task in the screening, beside 110 generated ones for each; causes are then decided "
            "on fresh situations, with up to as many times the usual number of pairs.",
            min=1,
            max=MOST_SEEDS,
        ),
    ] = 1,
    first_seed: FirstSeed = 0,
    workers: Workers = 1,
    batch: Annotated[int, typer.Option(help="Episodes that a worker runs at a time.", min=1, max=MOST_BATCH)] = 1,
    films: Films = 2,
    plain_films: PlainFilms = False,
    quality: Quality = "fast",
    robot: Robot = DEFAULT_ROBOT,
    as_json: Json = False,
    plugin: Plugins = [],  # noqa: B006
    config: DiagnoseConfig = None,
    print_config: PrintConfig = False,
) -> None:
    """Find out what is wrong with a policy, and because of what.

    Screens all tasks and generated situations, then runs pairs of trials in which one thing is changed, until it is
    decided what causes the failures: about 200 to 500 episodes in all. Prints the causes and writes RUN/report.html.
    The commands report, view, why and findings read the same folder. Ctrl-C keeps what is done; the same command
    resumes.
    """
    options = {**locals(), "policy": argument or policy}
    if is_printed_alone(config, print_config=print_config):
        print_text(printed(options, diagnose))
        return
    policy = _one_policy(argument, policy, config)
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
    # A larger one, as findings advise where they are undecided, does not meet the smaller one in its folder.
    kind = "diagnosis" if seeds == 1 else f"diagnosis-{seeds}-seeds"
    folder = out or Path("runs") / default_name([kind], request.label)
    if print_config:
        print_text(printed({**options, "out": folder}, diagnose))
        return
    first = f"Into {folder}, 200 to 500 episodes in rounds, each counted by itself. Workers: {workers}."
    with keeping(folder):
        with progress_bar(first=first) as progress, redirect_stdout(sys.stderr):
            execute_run(request, folder, Execution(workers=workers), observers=[progress], tell=print_aside)
        print_text("Drawing films of what was found …" if films else "Reading …", file=sys.stderr)
        material = film_examples(gather([folder]), films, is_plain=plain_films)
    print_diagnoses(material.diagnoses, as_json=as_json)
    page = write_report(material, folder / FILE_NAME)
    run = shlex.quote(str(folder))
    print_text(f"Report: {page}. Next: robodx why {run}, robodx view {run}", file=sys.stderr)


def _one_policy(argument: str | None, option: str | None, config: Path | None) -> str:
    """Whichever way it is given; what is typed wins over a file."""
    is_typed = config is None or read_run_file(config, diagnose).get("policy") != option
    if argument and option and argument != option and is_typed:
        raise UserError(f'two policies are given, "{argument}" and --policy "{option}": choose one')
    if not (argument or option):
        raise UserError("no policy to diagnose: robodx diagnose POLICY; see: robodx list policies")
    return argument or option or ""


@app.command(rich_help_panel="Diagnose")
def findings(
    runs: Annotated[list[Path], typer.Argument(metavar="RUN...", help="Run folders.")],
    as_json: Json = False,
    plugin: Plugins = [],  # noqa: B006
) -> None:
    """Print what goes with the failures in finished runs, and what causes them if the run has pairs.

    Runs of robodx diagnose have pairs of trials in which one thing was changed. Other runs only show what goes with
    what; the command that would decide is printed with it.
    """
    load_plugins(plugin)
    from robodx.analysis.findings.diagnose import diagnose_runs
    from robodx.terminal.diagnosis import print_diagnoses

    print_diagnoses(diagnose_runs(runs), as_json=as_json)


@app.command(rich_help_panel="Diagnose")
def why(
    run: Run,
    episodes: Annotated[
        int, typer.Option(help="Largest number of failed trials to run again.", min=1, max=10_000)
    ] = 40,
    only: Annotated[list[str], typer.Option(metavar="SUBSTITUTION", help="Only this substitution; repeatable.")] = [],  # noqa: B006
    policy: Annotated[
        str | None, typer.Option(help="Policy to evaluate, if RUN records only a --name, or its address changed.")
    ] = None,
    preset: Preset = None,
    out: Annotated[Path | None, typer.Option(help="Folder for these trials; default: RUN/why.")] = None,
    workers: Workers = 1,
    as_json: Json = False,
    plugin: Plugins = [],  # noqa: B006
) -> None:
    """Find out why a policy fails: repeat failed trials with one component at a time made perfect.

    The table says how many failed trials each substitution alone recovers, and how many it adds to the others at least
    and at most, whatever their order. Failed trials are taken from the tasks by turns; more --episodes adds only new
    trials. RUN/report.html, if there is one, is made again with what was found. Ctrl-C keeps finished trials; the same
    command resumes.
    """
    load_plugins(plugin)
    from robodx.records.table import is_finished
    from robodx.report.page import remake
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
            tell=print_aside,
        )
    if not is_finished(run):
        print_text(f"{run} is not finished: only the failures recorded so far are repeated.", file=sys.stderr)
    print_causes(str(run), causes, failed_trials(run), as_json=as_json)
    # The page reads RUN/why, and no other folder.
    with keeping(run / "why"):
        if out is None and (said := remake(run)):
            print_text(said, file=sys.stderr)


@app.command(rich_help_panel="Diagnose")
def validate(
    out: Annotated[
        Path | None,
        typer.Option(
            help="Folder for the episodes; the same command resumes there. Default: one folder in runs/validation "
            "for each version of RoboDx's source."
        ),
    ] = None,
    fault: Annotated[list[str], typer.Option(help="Only this fault; repeatable.")] = [],  # noqa: B006
    sets: Annotated[int, typer.Option(help="Number of disjoint sets of seeds per fault.", min=1, max=MOST_CASES)] = 5,
    healthy: Annotated[
        int, typer.Option(help="Number of runs of policies without a fault.", min=0, max=MOST_CASES)
    ] = 60,
    weak_sets: Annotated[
        int, typer.Option(help="Sets of seeds per fault with 40% random failures added.", min=0, max=MOST_CASES)
    ] = 1,
    pairs: Annotated[int, typer.Option(help="Number of pairs of faults.", min=0, max=MOST_CASES)] = 30,
    nulls: Annotated[
        int, typer.Option(help="Number of policies of each kind that fail by luck alone.", min=0, max=MOST_CASES)
    ] = 20,
    held_out: Annotated[
        Path | None,
        typer.Option(
            help="Also faults by others: a CSV file with the columns name, factor, level beside a plugin of the same "
            "name, as scripts/held_out/second.csv and second.py."
        ),
    ] = None,
    held_out_sets: Annotated[int, typer.Option(help="Sets of seeds per held-out fault.", min=1, max=MOST_CASES)] = 2,
    first_set: Annotated[
        int | None,
        typer.Option(help="First set of seeds; default: that of the table in the docs.", min=0, max=LAST_FIRST_SET),
    ] = None,
    workers: Workers = 1,
    as_json: Json = False,
) -> None:
    """Validate the diagnosis: policies with planted faults go through it, and the top finding must name the fault.

    Prints a table of planted and found faults, the share of correct top findings, and the share of policies without a
    cause that get none. All of it takes some hours on two cores. Ctrl-C finishes the cases under way and keeps them.
    Exits with status 1 if a goal is missed.
    """
    from robodx.records.versions import versions
    from robodx.running.validation import FIRST_SET, design, plugin_of, read_held_out
    from robodx.running.validation import validate as run_cases
    from robodx.terminal.validation import as_dict, is_reached, lines, validation_bar

    first = FIRST_SET if first_set is None else first_set
    cases = design(
        sets=sets,
        weak_sets=weak_sets,
        healthy=healthy,
        pairs=pairs,
        nulls=nulls,
        held_out=read_held_out(held_out) if held_out else None,
        held_out_sets=held_out_sets,
        only=fault,
        first_set=first,
    )
    # Results of another version of the source say nothing about this one.
    folder = out or Path("runs/validation") / str(versions(gl_renderer=None)["source"])
    plugins = [plugin_of(held_out)] if held_out else []
    verdicts = []
    with (
        keeping(folder),
        validation_bar(len(cases)) as tell,
        closing(run_cases(cases, folder, workers=workers, stopping=tell_of_finishing, plugins=plugins)) as judged,
    ):
        for verdict in judged:
            verdicts.append(verdict)
            tell(verdict)
    if as_json:
        print_json(as_dict(verdicts))
    else:
        print_text(*lines(verdicts), sep="\n")
    if not is_reached(verdicts):
        raise typer.Exit(1)
