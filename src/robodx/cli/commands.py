"""All commands, in the order in which --help lists them."""

from __future__ import annotations

from collections.abc import Iterator

import typer
from typer.models import CommandInfo

from robodx.cli.app import app
from robodx.cli.options import beside_records

# isort: off
from robodx.cli import diagnosing  # noqa: F401
from robodx.cli import running  # noqa: F401
from robodx.cli import cliff  # noqa: F401
from robodx.cli import fairness  # noqa: F401
from robodx.cli import reading  # noqa: F401
from robodx.cli import ranking  # noqa: F401
from robodx.cli import exporting  # noqa: F401
from robodx.cli import reviewing  # noqa: F401
from robodx.cli import generating  # noqa: F401
from robodx.cli import teleoperating  # noqa: F401
from robodx.cli import data  # noqa: F401
from robodx.cli import serving  # noqa: F401
from robodx.cli import browsing  # noqa: F401
# isort: on


def _within(group: typer.Typer) -> Iterator[CommandInfo]:
    yield from group.registered_commands
    for one in group.registered_groups:
        if one.typer_instance is not None:
            yield from _within(one.typer_instance)


for command in _within(app):
    assert command.callback is not None
    command.callback = beside_records(command.callback)

__all__ = ["app"]
