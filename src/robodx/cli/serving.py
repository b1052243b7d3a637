"""Policies over wires: offered to others, and checked before they are used."""

from __future__ import annotations

import sys
from contextlib import redirect_stdout
from pathlib import Path
from typing import Annotated

import typer

from robodx.cli.app import app
from robodx.cli.interrupts import stop_on_signals
from robodx.cli.options import Json, Plugins, Preset, Robot, load_plugins
from robodx.terminal.console import counting_bar, print_json


@app.command(rich_help_panel="Connect")
def serve(
    policy: Annotated[str, typer.Argument(help="Policy to evaluate; see: robodx list policies.")],
    protocol: Annotated[str, typer.Option(help="What clients speak; see: robodx list protocols.")] = "openpi",
    host: Annotated[str, typer.Option(help="Which interface; 0.0.0.0 for all of them.")] = "127.0.0.1",
    port: Annotated[int | None, typer.Option(help="0 takes any free one.", min=0, max=65535)] = None,
    preset: Preset = None,
    plugin: Plugins = [],  # noqa: B006
) -> None:
    """Serve a policy to other harnesses, or to RoboDx elsewhere, until Ctrl-C.

    Without a preset it speaks RoboDx's own conventions, which RoboDx's clients learn by themselves.
    """
    load_plugins(plugin)
    from robodx.policy_contract import opened
    from robodx.wires.preset import Preset as Conventions
    from robodx.wires.protocols.base import serve as serve_policy

    def tell(open_port: int, used: Conventions) -> None:
        address = f"{protocol}://{f'[{host}]' if ':' in host else host}:{open_port}"
        print(f"Serving {policy} at {address} with preset {used.name}. Try: robodx check {address}", flush=True)

    stop_on_signals()
    with opened(policy) as acting:
        serve_policy(acting, protocol, tell, host=host, port=port, preset=preset)


@app.command(rich_help_panel="Connect")
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
    robot: Robot = "panda",
    as_json: Json = False,
    plugin: Plugins = [],  # noqa: B006
) -> None:
    """Say whether a policy's conventions fit, before it is run: both sides, a few steps, what kind of policy it is.

    A flipped gripper or picture is in no server's description: --probe shows it frames of the expert's demonstrations
    and compares what it would do. Exits with 1 if something is wrong.
    """
    load_plugins(plugin)
    from robodx.compatibility.checking import check as check_policy
    from robodx.compatibility.probe import probe as probe_policy
    from robodx.compatibility.probe import refuse_to_probe
    from robodx.policy_contract import opened
    from robodx.wires.drafting import draft

    stop_on_signals()
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
