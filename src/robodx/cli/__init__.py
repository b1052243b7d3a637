"""The command line: parse, call, print."""

from __future__ import annotations

import signal
import sys
from pathlib import Path

from robodx.cli.app import app
from robodx.errors import Stop, UserError
from robodx.output import print_text
from robodx.running.threads import pin
from robodx.users_code import exits_noticed, interrupt
from robodx.wires.base import WireError

# In the order in which --help lists them.
# isort: off
from robodx.cli import diagnosing  # noqa: F401
from robodx.cli import running  # noqa: F401
from robodx.cli import cliff  # noqa: F401
from robodx.cli import reading  # noqa: F401
from robodx.cli import serving  # noqa: F401
from robodx.cli import browsing  # noqa: F401
# isort: on

__all__ = ["app", "main"]


def main() -> None:
    """The `robodx` command: a user's mistake prints one line, a bug of ours prints its traceback."""
    pin()
    # `python:my_policy:make` and `--plugin my_module` may be in the current folder, as with python -m.
    sys.path.append(str(Path.cwd()))
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, interrupt)
    try:
        with exits_noticed():
            app()
    except KeyboardInterrupt:
        sys.exit(130)
    except (UserError, Stop, WireError, OSError) as error:
        print_text(f"robodx: {error}", file=sys.stderr)
        sys.exit(2)
