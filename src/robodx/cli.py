"""The command line: parse, call, print."""

from __future__ import annotations

import os
import signal
import sys
from contextlib import contextmanager, redirect_stdout
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from robodx import catalogue
from robodx.errors import Stop, UserError
from robodx.running.threads import pin
from robodx.terminal.console import counting_bar, print_json, print_table, progress_bar
from robodx.wires.base import WireError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from robodx.running.cluster import Cluster

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Finds out what a robot manipulation policy can do, when it breaks, and why.\n\n"
    "Begin with: robodx list tasks, robodx show control/stack_cube -o stack.mp4, "
    "robodx run control --policy expert --seeds 5 --workers 2",
)

Json = Annotated[bool, typer.Option("--json", help="Print JSON for a program instead of text for a person.")]
Plugins = Annotated[
    list[str], typer.Option("--plugin", metavar="FILE|MODULE", help="Your own file or module with tasks, policies, …")
]
Preset = Annotated[
    str | None,
    typer.Option("--preset", metavar="NAME|FILE.toml", help="A server's conventions; see: robodx list presets."),
]
Margin = Annotated[
    float, typer.Option(help="A difference of success rates within ± this is none that matters: 0.1 is ten points.")
]
Films = Annotated[
    int, typer.Option("--films", help="Film so many episodes of each finding first, where they are not yet.", min=0)
]
Run = Annotated[Path, typer.Argument(metavar="RUN", help="A run folder.")]


@app.callback()
def robodx(
    version: Annotated[bool, typer.Option("--version", help="Print the version and exit.", is_eager=True)] = False,
) -> None:
    if version:
        from robodx import __version__

        print(__version__)
        raise typer.Exit


@app.command("list")
def list_(
    kind: Annotated[str, typer.Argument(metavar="|".join(catalogue.KINDS), help="What to list.")],
    as_json: Json = False,
    plugin: Plugins = [],  # noqa: B006  (typer reads the default)
) -> None:
    """List what there is, with a line on each."""
    _load(plugin)
    rows = catalogue.rows(kind)
    if as_json:
        print_json(rows)
    else:
        print_table(rows)


@app.command()
def show(
    task: Annotated[str, typer.Argument(help="A task's id, as in control/stack_cube.")],
    seed: Annotated[int, typer.Option(help="Which situation.", min=0)] = 0,
    camera: Annotated[str, typer.Option(help="A camera's name, several with commas, or all.")] = "front,wrist",
    out: Annotated[
        Path | None, typer.Option("-o", "--out", help="x.png for the start, x.mp4 for the expert solving it.")
    ] = None,
    size: Annotated[int, typer.Option(help="Pixels of a picture's side.", min=32, max=2048)] = 480,
    quality: Annotated[str, typer.Option(help="Rendering quality: fast, standard or high.")] = "standard",
    as_json: Json = False,
    plugin: Plugins = [],  # noqa: B006
) -> None:
    """Show a task: its words, its stages, and a picture or a video of it."""
    _load(plugin)
    from robodx.running.show import describe, draw

    card = describe(task, seed)
    if out is not None:
        draw(task, seed, camera, out, size=size, quality=quality)
        card["picture"] = str(out)
    if as_json:
        print_json(card)
        return
    print(f"{card['task']}, seed {seed}: {card['summary']}")
    print(f'  instruction  "{card["instruction"]}"')
    for index, stage in enumerate(card["stages"], start=1):
        print(f"  stage {index}      {stage}")
    for name, (x, y, z) in card["things"].items():
        print(f"  {name:24} x {x:+.3f}  y {y:+.3f}  z {z:+.3f}")
    print(f"Wrote {out}" if out else "Add -o x.png for a picture, -o x.mp4 to see the expert solve it.")


@app.command()
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
    out: Annotated[Path | None, typer.Option(help="The run folder; the same command resumes it.")] = None,
    seeds: Annotated[
        int | None,
        typer.Option(
            help="Situations a task: seeds 0 … N-1. Unless given 25, with --until-width 2000 at most, with "
            "--until-decided those of RUN.",
            min=1,
            max=100_000,
        ),
    ] = None,
    first_seed: Annotated[int, typer.Option(help="The first of the seeds, for other situations.", min=0)] = 0,
    repeats: Annotated[int, typer.Option(help="Repeats a situation, with other randomness of the policy.", min=1)] = 1,
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
    quality: Annotated[str, typer.Option(help="Rendering quality of the policy's cameras.")] = "fast",
    robot: Annotated[str, typer.Option(help="The embodiment.")] = "panda",
    as_json: Json = False,
    plugin: Plugins = [],  # noqa: B006
) -> None:
    """Run a policy on tasks and record every episode.

    A run into an existing folder resumes it if the same is asked for, and is refused otherwise. Ctrl-C keeps what is
    finished.
    """
    _load(plugin)
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
        plugins=_located(plugin),
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
    folder = out or Path("runs") / _default_name(selectors, request.label)
    if video:
        gl.context()
    with _keeping(folder):
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


@app.command()
def diagnose(
    policy: Annotated[str, typer.Argument(help="Who acts; see: robodx list policies.")],
    preset: Preset = None,
    name: Annotated[str | None, typer.Option(help="What to call the policy in the record.")] = None,
    out: Annotated[Path | None, typer.Option(help="The run folder; the same command resumes it.")] = None,
    seeds: Annotated[
        int, typer.Option(help="Situations a task to look for weaknesses in; they are confirmed on others.", min=1)
    ] = 3,
    first_seed: Annotated[int, typer.Option(help="The first of the seeds, for other situations.", min=0)] = 0,
    workers: Annotated[int, typer.Option(help="Processes.", min=1)] = 1,
    batch: Annotated[int, typer.Option(help="As for robodx run.", min=1)] = 1,
    films: Films = 2,
    quality: Annotated[str, typer.Option(help="Rendering quality of the policy's cameras.")] = "fast",
    robot: Annotated[str, typer.Option(help="The embodiment.")] = "panda",
    as_json: Json = False,
    plugin: Plugins = [],  # noqa: B006
) -> None:
    """Find out what is wrong with a policy: try everything a little, then confirm on fresh seeds what looked weak.

    Prints the findings and writes the page; robodx report, view, why and findings then work on its folder.
    """
    _load(plugin)
    from robodx.report.page import write_report
    from robodx.running.run import Request
    from robodx.running.run import run as execute_run
    from robodx.terminal.diagnosis import print_diagnosis

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
        plugins=_located(plugin),
    )
    folder = out or Path("runs") / _default_name(["diagnosis"], request.label)
    with _keeping(folder):
        with progress_bar() as progress, redirect_stdout(sys.stderr):
            execute_run(request, folder, workers=workers, progress=progress)
        _film_examples([folder], films)
    print_diagnosis([folder], as_json=as_json)
    page = write_report([folder], folder / "report.html")
    print(f"The page is {page}. Next: robodx why {folder}, robodx view {folder}", file=sys.stderr)


@app.command()
def findings(
    runs: Annotated[list[Path], typer.Argument(metavar="RUN...", help="Run folders.")],
    as_json: Json = False,
) -> None:
    """Print what the episodes of runs say is wrong: screened on some seeds, confirmed on others, ranked.

    Of a run of robodx diagnose the confirming seeds are those it asked for; of another every other seed.
    """
    from robodx.terminal.diagnosis import print_diagnosis

    print_diagnosis(runs, as_json=as_json)


@app.command()
def validate(
    out: Annotated[Path, typer.Option(help="Where episodes are kept; the same command goes on from there.")] = Path(
        "runs/validation"
    ),
    fault: Annotated[list[str], typer.Option(help="Only this fault; may be given several times.")] = [],  # noqa: B006
    sets: Annotated[int, typer.Option(help="Disjoint sets of seeds for each fault.", min=1)] = 5,
    healthy: Annotated[int, typer.Option(help="Runs of policies without a fault.", min=0)] = 60,
    pairs: Annotated[int, typer.Option(help="Pairs of faults.", min=0)] = 40,
    first_set: Annotated[int, typer.Option(help="The first set of seeds.", min=0)] = 1,
    workers: Annotated[int, typer.Option(help="Processes.", min=1)] = 1,
    as_json: Json = False,
) -> None:
    """Prove the diagnosis: policies with planted faults go through it, and the finding must name the fault.

    Prints planted × found, how often the top finding is right and how often healthy policies raise a false alarm.
    All of it takes more than an hour on two cores. Ctrl-C keeps what is finished. Exits with 1 if a goal is missed.
    """
    from robodx.running.validation import design
    from robodx.running.validation import validate as run_cases
    from robodx.terminal.validation import as_dict, is_reached, lines, validation_bar

    cases = design(sets=sets, healthy=healthy, pairs=pairs, only=fault, first_set=first_set)
    verdicts = []
    with _keeping(out), validation_bar(len(cases)) as tell:
        for verdict in run_cases(cases, out, workers=workers):
            verdicts.append(verdict)
            tell(verdict)
    if as_json:
        print_json(as_dict(verdicts))
    else:
        print(*lines(verdicts), sep="\n")
    if not is_reached(verdicts):
        raise typer.Exit(1)


@app.command()
def why(
    run: Run,
    episodes: Annotated[int, typer.Option(help="At most so many failed trials are run again.", min=1, max=10_000)] = 40,
    only: Annotated[
        list[str], typer.Option(metavar="SUBSTITUTION", help="Only this one; may be given several times.")
    ] = [],  # noqa: B006
    policy: Annotated[
        str | None, typer.Option(help="Who acts, where RUN does not say how its policy is made, or it moved.")
    ] = None,
    preset: Preset = None,
    out: Annotated[Path | None, typer.Option(help="Where the trials are kept; unless given RUN/why.")] = None,
    workers: Annotated[int, typer.Option(help="Processes.", min=1)] = 1,
    as_json: Json = False,
    plugin: Plugins = [],  # noqa: B006
) -> None:
    """Say why a policy fails: run failed trials again, with one component at a time made perfect.

    What plain words recover is a problem of language, what a lone target recovers one of perception, and so on. Ctrl-C
    keeps what is finished; the same command goes on.
    """
    _load(plugin)
    from robodx.running.why import why as ask
    from robodx.terminal.why import print_causes

    with _keeping(out or run / "why"), progress_bar() as progress, redirect_stdout(sys.stderr):
        causes = ask(
            run,
            out=out,
            episodes=episodes,
            only=only,
            policy=policy,
            preset=preset,
            plugins=_located(plugin),
            workers=workers,
            progress=progress,
        )
    print_causes(str(run), causes, as_json=as_json)


@app.command()
def cliff(
    task: Annotated[str, typer.Argument(help="A task's id, as in primitive/pick_cube.")],
    policy: Annotated[str, typer.Option(help="Who acts; see: robodx list policies.")],
    stressor: Annotated[str, typer.Option(help="What is made worse; see: robodx list perturbations.")],
    episodes: Annotated[int, typer.Option(help="At most so many; fewer if it is known sooner.", min=8, max=1000)] = 60,
    most: Annotated[
        str | None, typer.Option("--max", metavar="LEVEL", help="The largest severity to look at; else its last level.")
    ] = None,
    preset: Preset = None,
    out: Annotated[Path | None, typer.Option(help="The run folder; the same command resumes it.")] = None,
    clock: Annotated[str, typer.Option(help="As for robodx run.")] = "lockstep",
    workers: Annotated[int, typer.Option(help="Processes.", min=1)] = 1,
    quality: Annotated[str, typer.Option(help="Rendering quality of the policy's cameras.")] = "fast",
    robot: Annotated[str, typer.Option(help="The embodiment.")] = "panda",
    as_json: Json = False,
    plugin: Plugins = [],  # noqa: B006
) -> None:
    """Find the severity at which a policy's success falls to half of what it is without stress.

    It asks where it learns most, one situation an episode. Ctrl-C keeps what is finished; the same command goes on.
    """
    _load(plugin)
    from robodx.analysis.episodes import load
    from robodx.running.run import Request
    from robodx.running.run import run as execute_run
    from robodx.suites.base import Plan, find_suite
    from robodx.suites.cliff import Search
    from robodx.terminal.cliff import note, print_cliff

    selector = f"cliff/{stressor}{'' if most is None else f'={most}'}/{task}"
    request = Request(
        selectors=(selector,),
        policy=policy,
        preset=preset,
        seeds=episodes,
        robot=robot,
        clock=clock,
        quality=quality,
        plugins=_located(plugin),
    )
    search = Search.of(Plan(request.label, episodes, robot, clock=clock, within=find_suite(selector)[1]))
    folder = out or Path("runs") / _default_name([selector], request.label)
    _check_budget(folder, selector, episodes)
    with (
        _keeping(folder),
        progress_bar(lambda: note(search.read(load(folder))), most=episodes) as progress,
        redirect_stdout(sys.stderr),
    ):
        execute_run(request, folder, workers=workers, progress=progress)
    print_cliff(folder, search, as_json=as_json)


@app.command()
def serve(
    policy: Annotated[str, typer.Argument(help="Who acts; see: robodx list policies.")],
    protocol: Annotated[str, typer.Option(help="What clients speak: openpi, gr00t or vla-eval.")] = "openpi",
    host: Annotated[str, typer.Option(help="Which interface; 0.0.0.0 for all of them.")] = "127.0.0.1",
    port: Annotated[int | None, typer.Option(help="0 takes any free one.", min=0, max=65535)] = None,
    preset: Preset = None,
    plugin: Plugins = [],  # noqa: B006
) -> None:
    """Serve a policy to other harnesses, or to RoboDx elsewhere, until Ctrl-C.

    Without a preset it speaks RoboDx's own conventions, which RoboDx's clients learn by themselves.
    """
    _load(plugin)
    from robodx.policies.base import opened
    from robodx.wires.preset import Preset as Conventions
    from robodx.wires.serving import serve as serve_policy

    def tell(open_port: int, used: Conventions) -> None:
        address = f"{protocol}://{f'[{host}]' if ':' in host else host}:{open_port}"
        print(f"Serving {policy} at {address} with preset {used.name}. Try: robodx check {address}", flush=True)

    _stop_on_signals()
    with opened(policy) as acting:
        serve_policy(acting, protocol, tell, host=host, port=port, preset=preset)


@app.command()
def check(
    policy: Annotated[str, typer.Argument(help="A policy's name or address, as for robodx run.")],
    preset: Preset = None,
    probe: Annotated[
        bool, typer.Option("--probe", help="Compare its actions with the expert's to find wrong conventions.")
    ] = False,
    write_preset: Annotated[
        Path | None, typer.Option(metavar="FILE.toml", help="Write the preset, drafted from what the server says.")
    ] = None,
    task: Annotated[str, typer.Option(help="Where the steps are made.")] = "control/stack_cube",
    robot: Annotated[str, typer.Option(help="The embodiment.")] = "panda",
    as_json: Json = False,
    plugin: Plugins = [],  # noqa: B006
) -> None:
    """Say whether a policy's conventions fit, before it is run: both sides, a few steps, what kind of policy it is.

    A flipped gripper or picture is in no server's description: --probe shows it frames of the expert's demonstrations
    and compares what it would do. Exits with 1 if something is wrong.
    """
    _load(plugin)
    from robodx.policies.base import opened
    from robodx.running.checking import check as check_policy
    from robodx.running.probe import probe as probe_policy
    from robodx.running.probe import refuse_to_probe
    from robodx.wires.drafting import draft

    _stop_on_signals()
    # What a policy prints is for a person to read, never part of the answer.
    answer = sys.stdout
    if write_preset is not None and not probe:
        source = draft(policy, preset, write_preset)
        if as_json:
            print_json({"preset": str(write_preset), "from": source})
        else:
            print(f"Wrote {write_preset} from {source}. Then: robodx check {policy} --preset {write_preset} --probe")
        return
    verdict = None
    with opened(policy, preset) as acting, redirect_stdout(sys.stderr):
        if probe:
            refuse_to_probe(acting.spec, robot)
        found = check_policy(policy, acting, task=task, robot=robot)
        if not as_json:
            print("\n".join(found.lines()), file=answer)
        if probe and not found.problems:
            with counting_bar("frames") as advance:
                verdict = probe_policy(acting, robot=robot, advance=advance)
    if write_preset is not None:
        if verdict is not None and verdict.is_competent:
            draft(policy, preset, write_preset, corrected=verdict.preset)
            print(f"Wrote {write_preset} from the probe's findings.", file=sys.stderr)
        else:
            print(f"{write_preset} is not written: the probe has nothing to say.", file=sys.stderr)
    if as_json:
        print_json({**found.as_json(), "probe": verdict.as_json() if verdict is not None else None})
    elif verdict is not None:
        print("\n".join(verdict.lines()))
    elif not found.problems:
        print("Whether a gripper or a picture is upside down no server says: --probe finds out.")
    if found.problems or (verdict is not None and verdict.is_wrong):
        raise typer.Exit(1)


@app.command()
def summary(
    run: Run,
    by: Annotated[
        str | None, typer.Option(metavar="task|family|tier|perturbation", help="This one table instead of the usual.")
    ] = None,
    metric: Annotated[
        list[str], typer.Option(help="Show this metric instead; may be given several times. See: robodx list metrics.")
    ] = [],  # noqa: B006
    motion: Annotated[bool, typer.Option("--motion", help="Also how it moves and how fast it answers.")] = False,
    failures: Annotated[bool, typer.Option("--failures", help="Also every failed episode, and what it shows.")] = False,
    as_json: Json = False,
    plugin: Plugins = [],  # noqa: B006
) -> None:
    """Print success with intervals by task, family, tier and perturbation, and how it fails. Errors count apart."""
    _load(plugin)
    from robodx.terminal.summary import print_summary

    print_summary(run, as_json=as_json, by=by, metrics=metric, motion=motion, failures=failures)


@app.command()
def report(
    runs: Annotated[
        list[Path], typer.Argument(metavar="RUN...", help="Run folders: of one policy, or of several to be compared.")
    ],
    out: Annotated[
        Path | None, typer.Option("-o", "--out", help="The file; without, a page goes to RUN/report.html.")
    ] = None,
    title: Annotated[str | None, typer.Option(help="Instead of the policies' names.")] = None,
    videos: Annotated[
        str, typer.Option(metavar="embed|link|none", help="Within the page up to --embed-mb, or as files beside it.")
    ] = "embed",
    embed_mb: Annotated[float, typer.Option(help="How many megabytes of videos the page may carry.", min=0)] = 20.0,
    films: Films = 0,
    markdown: Annotated[
        bool, typer.Option("--markdown", help="Markdown instead, as for a pull request; printed unless -o is given.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Write the diagnosis as one page that needs nothing else: what a policy can do, when it breaks, why, what to fix.

    Runs of the same policy are one diagnosis; the first policy is what others are compared with.
    """
    from robodx.report.page import FILE_NAME, write, write_report
    from robodx.report.page import report as make_report
    from robodx.report.videos import mode

    if as_json and markdown:
        raise UserError("--json and --markdown are two forms of the same: choose one")
    _film_examples(runs, films)
    if as_json or markdown:
        found = make_report(runs, title=title, videos="none")
        text = found.json() if as_json else found.markdown()
        if out is None:
            print(text)
            return
        size = write(out, f"{text}\n")
    else:
        out = write_report(runs, out or runs[0] / FILE_NAME, title=title, videos=mode(videos), embed_mb=embed_mb)
        size = out.stat().st_size
    print(f"Wrote {out} ({size / 1e6:.1f} MB).")


@app.command()
def compare(
    first: Annotated[Path, typer.Argument(metavar="A", help="The run to be measured against.")],
    second: Annotated[Path, typer.Argument(metavar="B", help="The run to be judged.")],
    margin: Margin = 0.1,
    fail_on_regression: Annotated[
        bool, typer.Option("--fail-on-regression", help="Exit with 1 if B regressed over all.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Say whether policy B improved on policy A, regressed, held, or whether that is undecided, by task and over all.

    Trials that both runs have are compared in pairs. Held means that the difference was shown to be within the margin.
    """
    from robodx.terminal.comparison import print_comparison

    if not print_comparison(first, second, margin=margin, as_json=as_json) and fail_on_regression:
        raise typer.Exit(1)


@app.command()
def view(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="A run folder, or a folder of runs.")] = Path("runs"),
    host: Annotated[
        str, typer.Option(help="Which interface; any but this machine's own needs a token, which is then printed.")
    ] = "127.0.0.1",
    port: Annotated[
        int | None, typer.Option(help="0 takes any free one. Unless given 7860 or the next free.", min=0, max=65535)
    ] = None,
    no_browser: Annotated[bool, typer.Option("--no-browser", help="Only print the address.")] = False,
) -> None:
    """Look at episodes in a browser: filter, play and compare them, also while they are being made; until Ctrl-C."""
    import webbrowser

    from robodx.report.viewer.serving import view as serve_viewer

    has_screen = sys.platform in ("darwin", "win32") or not os.environ.keys().isdisjoint({"DISPLAY", "WAYLAND_DISPLAY"})

    def tell(address: str) -> None:
        print(f"Viewing {folder} at {address} (Ctrl-C ends it)", flush=True)
        if has_screen and not no_browser:
            webbrowser.open(address)

    _stop_on_signals()
    serve_viewer(folder, tell, host=host, port=port)


@app.command()
def merge(
    runs: Annotated[list[Path], typer.Argument(metavar="RUN...", help="The parts of one run.")],
    out: Annotated[Path, typer.Option(help="The folder of the whole.")],
    as_json: Json = False,
) -> None:
    """Put together a run that was split over machines with --shard."""
    from robodx.running.merge import merge as put_together
    from robodx.terminal.summary import print_summary

    put_together(runs, out)
    print_summary(out, as_json=as_json)


@app.command()
def diff(first: Run, second: Run, as_json: Json = False) -> None:
    """Compare two runs trial by trial, bit for bit. Exits with 1 if they differ."""
    from robodx.analysis.diff import diff as compare

    found = compare(first, second)
    if as_json:
        print_json({**asdict(found), "is_same": found.is_same})
    else:
        for line in found.versions:
            print(f"versions differ: {line}")
        for one in found.different:
            print(f"{one.task} seed {one.seed} repeat {one.repeat}: {one.first} / {one.second}")
        for count, where in ((found.only_first, first), (found.only_second, second)):
            if count:
                print(f"{count} trials only in {where}")
        print(f"{found.same} trajectories are the same, {len(found.different)} differ.")
    if not found.is_same:
        raise typer.Exit(1)


@app.command()
def doctor(
    require: Annotated[str | None, typer.Option(metavar="gl", help="Exit with 1 if this is missing.")] = None,
    as_json: Json = False,
) -> None:
    """Say what this machine has, and what to install if something is missing."""
    if require not in (None, "gl"):
        raise UserError(f'Nothing is called "{require}"; the doctor can require: gl')
    import platform

    from robodx.running.records import versions
    from robodx.sim import gl

    status = gl.status()
    facts = {**versions(gl_renderer=status.renderer), "gl_backend": status.backend, "cores": os.cpu_count()}
    if as_json:
        print_json({**facts, "platform": platform.platform(), "gl": asdict(status)})
    else:
        for name, value in facts.items():
            print(f"{name:12} {value}")
        print("Pictures can be rendered." if status.is_available else f"\n{status.advice}")
    if require == "gl" and not status.is_available:
        raise typer.Exit(1)


@contextmanager
def _keeping(folder: Path) -> Iterator[None]:
    """Stop on Ctrl-C, and say what is kept."""
    _stop_on_signals()
    try:
        yield
    except KeyboardInterrupt:
        kept = f"What was finished is in {folder}; the same command goes on from there."
        print(f"\nStopped. {kept if folder.exists() else 'Nothing had begun.'}", file=sys.stderr)
        raise typer.Exit(130) from None


def _film_examples(runs: list[Path], films: int) -> None:
    """Of each finding some episodes that show it; without OpenGL there are none, which is said."""
    if not films:
        return
    from robodx.analysis.findings.diagnose import diagnose_runs
    from robodx.running.filming import film_trials
    from robodx.sim import gl

    if not gl.status().is_available:
        print("No OpenGL here, so that nothing is filmed: see robodx doctor.", file=sys.stderr)
        return
    shown = {trial for one in diagnose_runs(runs) for finding in one.findings for trial in finding.examples[:films]}
    with counting_bar("films") as progress:
        done = 0
        for run in runs:
            for _ in film_trials(run, shown):
                done += 1
                progress(done, len(shown))


def _check_budget(folder: Path, selector: str, episodes: int) -> None:
    """A budget is part of what a search is; a conflict of it is told in the words of its option."""
    from robodx.analysis.episodes import read_about

    there = read_about(folder)["request"] if (folder / "run.json").exists() else {}
    if there.get("selectors") == [selector] and there["seeds"] != episodes:
        raise UserError(
            f"{folder} holds a search of --episodes {there['seeds']}, not of {episodes}: "
            "choose another folder with --out, or ask for the same"
        )


def _stop_on_signals() -> None:
    """Ctrl-C and a polite kill both stop a run, which keeps what is finished.

    Set anew, because importing polars leaves SIGINT restarting the very calls in which a run waits.
    """
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.default_int_handler)


def _load(plugins: list[str]) -> None:
    from robodx.registry import load_plugin

    for plugin in plugins:
        load_plugin(plugin)


def _located(plugins: list[str]) -> tuple[str, ...]:
    """Files by their full path, for workers may stand elsewhere; modules by name."""
    return tuple(str(Path(name).resolve()) if name.endswith(".py") else name for name in plugins)


def _perturbations(words: list[str]) -> tuple[tuple[str, float], ...]:
    from robodx.perturbations.base import PERTURBATIONS

    applied = []
    for word in words:
        name, separator, level = word.partition("=")
        entry = PERTURBATIONS[name]
        if not separator:
            raise UserError(f'"{word}" names no level: write {name}=LEVEL with one of {", ".join(entry.levels)}')
        applied.append((name, entry.severity(level)))
    return tuple(applied)


def _default_name(selectors: list[str], policy: str) -> str:
    words = "+".join([*selectors, policy])
    return "".join(letter if letter.isalnum() or letter in "+-_." else "." for letter in words)[:120]


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


def main() -> None:
    """The `robodx` command: mistakes of the user's are told in a line, ours keep their traceback."""
    pin()
    # `python:my_policy:make` and `--plugin my_module` may lie where the user stands, as with python -m.
    sys.path.append(str(Path.cwd()))
    try:
        app()
    except KeyboardInterrupt:
        sys.exit(130)
    except (UserError, Stop, WireError, OSError) as error:
        print(f"robodx: {error}", file=sys.stderr)
        sys.exit(2)
