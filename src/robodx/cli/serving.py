"""Commands for policy servers: serve a policy, and check its conventions before a run."""

from __future__ import annotations

import sys
from contextlib import redirect_stdout
from pathlib import Path
from typing import Annotated

import typer

from robodx.cli.app import app
from robodx.cli.completing import policy_names
from robodx.cli.interrupts import stop_on_signals
from robodx.cli.options import Json, Plugins, Preset, Robot, load_plugins
from robodx.errors import UserError
from robodx.output import print_text
from robodx.records.trial import DEFAULT_ROBOT
from robodx.terminal.console import counting_bar, print_json
from robodx.wires.base import check_host


@app.command(rich_help_panel="Connect")
def serve(
    policy: Annotated[
        str, typer.Argument(help="Policy to serve; see: robodx list policies.", autocompletion=policy_names)
    ],
    protocol: Annotated[str, typer.Option(help="Protocol of the clients; see: robodx list protocols.")] = "openpi",
    host: Annotated[str, typer.Option(help="Network interface; 0.0.0.0 for all.")] = "127.0.0.1",
    port: Annotated[
        int | None, typer.Option(help="Port; 0 takes any free one. Default: the protocol's port.", min=0, max=65535)
    ] = None,
    preset: Preset = None,
    plugin: Plugins = [],  # noqa: B006
) -> None:
    """Serve a policy to other harnesses, or to RoboDx on another machine, until Ctrl-C.

    Without a preset it uses RoboDx's own conventions, and RoboDx's clients need no preset either.
    """
    check_host(host)
    load_plugins(plugin)
    from robodx.policy_contract import opened
    from robodx.wires.preset import Preset as Conventions
    from robodx.wires.protocols.base import serve as serve_policy

    def tell(open_port: int, used: Conventions) -> None:
        address = f"{protocol}://{f'[{host}]' if ':' in host else host}:{open_port}"
        print_text(f"Serving {policy} at {address} with preset {used.name}. Try: robodx check {address}", flush=True)

    stop_on_signals()
    with opened(policy) as acting:
        serve_policy(acting, protocol, tell, host=host, port=port, preset=preset)


@app.command(rich_help_panel="Connect")
def check(
    policy: Annotated[
        str, typer.Argument(help="Name or address of the policy, as for robodx run.", autocompletion=policy_names)
    ],
    preset: Preset = None,
    probe: Annotated[
        bool, typer.Option("--probe", help="Compare its actions with the expert's, to find wrong conventions.")
    ] = False,
    data: Annotated[
        str | None,
        typer.Option(
            metavar="[FORMAT:]PATH",
            help="With --probe: compare with this data set, its own training data; see: robodx list formats.",
        ),
    ] = None,
    mapping: Annotated[
        str, typer.Option("--map", metavar="POLICY=DATA,…", help="With --data: front=top,state=ee_pose.")
    ] = "",
    write_preset: Annotated[
        Path | None,
        typer.Option(metavar="FILE.toml", help="Write a preset, drafted from the server's own description."),
    ] = None,
    task: Annotated[str, typer.Option(help="Task for the trial steps.")] = "control/stack_cube",
    robot: Robot = DEFAULT_ROBOT,
    as_json: Json = False,
    plugin: Plugins = [],  # noqa: B006
) -> None:
    """Check whether a policy's conventions fit before a run: print both sides, and run a few steps.

    No server reports a reversed gripper or a rotated picture. --probe finds out: it sends the policy frames of
    the expert's demonstrations and compares the actions. With --data it sends frames of your own data set, and
    no scene of RoboDx is needed. Exits with status 1 if something is wrong.
    """
    load_plugins(plugin)
    if data is not None or mapping:
        _probe_on_data(policy, preset, data, mapping, is_probe=probe, writes=write_preset is not None, as_json=as_json)
        return
    from robodx.compatibility.checking import check as check_policy
    from robodx.compatibility.probe import probe as probe_policy
    from robodx.compatibility.probe import refuse_to_probe
    from robodx.policy_contract import opened
    from robodx.wires.drafting import draft

    stop_on_signals()
    # What a policy prints goes to stderr: stdout holds only our result.
    answer = sys.stdout
    if write_preset is not None and not probe:
        source = draft(policy, preset, write_preset)
        if as_json:
            print_json({"preset": str(write_preset), "from": source})
        else:
            print_text(
                f"Wrote {write_preset} from {source}. Then: robodx check {policy} --preset {write_preset} --probe"
            )
        return
    verdict = None
    with opened(policy, preset) as acting, redirect_stdout(sys.stderr):
        if probe:
            refuse_to_probe(acting.spec, robot)
        found = check_policy(policy, acting, task=task, robot=robot)
        if not as_json:
            print_text("\n".join(found.lines()), file=answer)
        if probe and not found.problems:
            with counting_bar("demonstrations") as advance:
                verdict = probe_policy(acting, robot=robot, advance=advance)
    if write_preset is not None:
        if verdict is not None and verdict.is_competent:
            draft(policy, preset, write_preset, corrected=verdict.preset)
            print_text(f"Wrote {write_preset} from the probe's findings.", file=sys.stderr)
        else:
            print_text(f"{write_preset} is not written: the probe is inconclusive.", file=sys.stderr)
    if as_json:
        print_json({**found.as_json(), "probe": verdict.as_json() if verdict is not None else None})
    else:
        print_text(*(verdict.lines() if verdict is not None else ()), found.conclusion(verdict), sep="\n")
    if found.problems or (verdict is not None and verdict.is_wrong):
        raise typer.Exit(1)


def _probe_on_data(
    policy: str, preset: str | None, data: str | None, mapping: str, *, is_probe: bool, writes: bool, as_json: bool
) -> None:
    from robodx.compatibility.data_frames import parse_mapping
    from robodx.compatibility.data_probe import probe_on_data
    from robodx.datasets.formats.base import open_data
    from robodx.policy_contract import opened

    if data is None:
        raise UserError("--map says what of a data set the policy is shown: add --data [FORMAT:]PATH")
    if not is_probe:
        raise UserError(f"--data {data} is for the probe: add --probe")
    if writes:
        raise UserError("--write-preset writes what the probe finds in RoboDx's own scenes: leave out --data")
    names, demonstrations = parse_mapping(mapping), open_data(data)
    stop_on_signals()
    with opened(policy, preset) as acting, redirect_stdout(sys.stderr), counting_bar("frames") as advance:
        verdict = probe_on_data(acting, demonstrations, mapping=names, advance=advance)
    if as_json:
        print_json({"policy": policy, "data": data, "probe": verdict.as_json()})
    else:
        print_text("\n".join(verdict.lines()))
    if verdict.is_wrong:
        raise typer.Exit(1)
