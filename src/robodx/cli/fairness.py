"""The command that checks whether the tasks of a set can be seen at all, before the set is used."""

from __future__ import annotations

import os
import sys
from contextlib import redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from robodx.cli.app import app
from robodx.cli.interrupts import keeping
from robodx.cli.options import FirstSeed, Json, Plugins, Quality, Robot, finite, load_plugins
from robodx.errors import UserError
from robodx.output import print_aside, print_text
from robodx.records.trial import DEFAULT_ROBOT
from robodx.running.limits import MOST_SEEDS
from robodx.terminal.console import print_json, tracked

if TYPE_CHECKING:
    from robodx.chat_completions import Endpoint

KEY = "ROBODX_JUDGE_KEY"
ALL = "all"


@app.command(rich_help_panel="Run")
def fairness(
    out: Annotated[Path, typer.Option(help="Folder to write to; the same command goes on there.")],
    selectors: Annotated[
        list[str],
        typer.Argument(
            metavar="SELECTOR…",
            help="A suite's instances (SUITE or SUITE/FACTOR), or a task with all that changes its looks (TASK), or "
            'with one intervention ("TASK:target colour").',
        ),
    ] = [],  # noqa: B006
    camera: Annotated[str, typer.Option(help="The policy's scene cameras, separated by commas.")] = "front",
    seeds: Annotated[int, typer.Option(help="Situations of each task.", min=1, max=MOST_SEEDS)] = 1,
    first_seed: FirstSeed = 0,
    sample: Annotated[
        str,
        typer.Option(
            metavar="N|all", help="Pictures of each factor for people and the judge, beside all that do not pass."
        ),
    ] = "24",
    judge: Annotated[
        str | None,
        typer.Option(
            metavar="URL",
            help="Have a vision-language model judge the pictures: any API that speaks chat completions, such as "
            f"http://localhost:8000/v1. Its key, if it needs one, is read from {KEY}.",
        ),
    ] = None,
    model: Annotated[str | None, typer.Option(metavar="NAME", help="The judge's model.")] = None,
    judge_timeout: Annotated[
        float, typer.Option(metavar="SECONDS", help="How long a verdict may take.", min=0.1, max=3600, callback=finite)
    ] = 60.0,
    robot: Robot = DEFAULT_ROBOT,
    quality: Quality = "fast",
    as_json: Json = False,
    plugin: Plugins = [],  # noqa: B006
) -> None:
    """Check that what a set asks for can be seen: exit status 1 if under 95% of a factor's instances pass.

    Each instance is rendered: the thing to be moved and the place where it goes must be in the picture, large enough,
    not hidden, told apart from what is around them, and the thing must show two faces. Pictures of those that do not
    pass, and of some that do, are laid out for people to accept or reject in robodx view; a vision-language model
    can judge them too. Ctrl-C keeps what is done. All three verdicts are in instances.parquet.
    """
    load_plugins(plugin)
    from robodx.analysis.fairness import by_factor
    from robodx.fairness.instances import selected
    from robodx.fairness.validating import Look, validate
    from robodx.terminal.fairness import as_dict, lines

    judge_at = _endpoint(judge, model, judge_timeout)
    look = Look(_cameras(camera), robot, quality, _size(sample))
    asked = selected(selectors, range(first_seed, first_seed + seeds))
    if not asked:
        raise UserError("nothing is selected: there are no instances to check")
    with keeping(out, "Finished checks and judgements"), redirect_stdout(sys.stderr):
        found = validate(asked, out, look, judge_at=judge_at, tell=print_aside, tracked=tracked)
    if as_json:
        print_json(as_dict(found, out))
    else:
        print_text(*lines(found, out), sep="\n")
    if not all(one.is_fair for one in by_factor(found)):
        raise typer.Exit(1)


def _endpoint(url: str | None, model: str | None, timeout_s: float) -> Endpoint | None:
    from robodx.chat_completions import Endpoint

    if url is None:
        if model is not None:
            raise UserError("--model is the judge's: say with --judge URL where it is")
        return None
    if not model:
        raise UserError("which model is to judge? Name one with --model")
    return Endpoint(url, model, os.environ.get(KEY) or None, timeout_s, KEY)


def _cameras(words: str) -> tuple[str, ...]:
    cameras = tuple(dict.fromkeys(word.strip() for word in words.split(",") if word.strip()))
    if not cameras:
        raise UserError("--camera names no camera")
    return cameras


def _size(text: str) -> int | None:
    if text == ALL:
        return None
    if not (text.isascii() and text.isdecimal() and len(text) < 10):
        raise UserError(f'--sample is a number or "{ALL}", not "{text[:40]}"')
    return int(text)
