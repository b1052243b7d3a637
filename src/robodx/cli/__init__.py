"""The command line: parse, call, print."""

from __future__ import annotations

import atexit
import signal
import sys
from pathlib import Path


def main() -> None:
    """The `robodx` command: a user's mistake prints one line, a bug of ours prints its traceback."""
    # Before anything else is imported, which takes a while: Ctrl-C and SIGTERM are no errors then either.
    from robodx.users_code import end_despite_threads, exits_noticed, interrupt

    for number in (signal.SIGINT, signal.SIGTERM):
        if signal.getsignal(number) in (signal.default_int_handler, signal.SIG_DFL):
            signal.signal(number, interrupt)
            # Python takes its handlers away before it ends: one that comes then must not turn success into failure.
            atexit.register(signal.signal, number, signal.SIG_IGN)
    try:
        from robodx.running.threads import pin

        pin()
        # `python:my_policy:make` and `--plugin my_module` may be in the current folder, as with python -m.
        sys.path.append(str(Path.cwd()))
        with exits_noticed():
            _run()
    except KeyboardInterrupt:
        sys.stderr.write("\nStopped.\n")
        end_despite_threads(130)
        sys.exit(130)
    except SystemExit as end:
        end_despite_threads(end.code if isinstance(end.code, int) else int(end.code is not None))
        raise
    except BaseException:
        end_despite_threads(1)
        raise
    end_despite_threads(0)


def _run() -> None:
    from robodx.cli.commands import app
    from robodx.errors import Stop, UserError
    from robodx.output import print_text
    from robodx.wires.base import WireError

    try:
        # Whatever started it: a shell that asks what to complete asks by this name.
        app(prog_name="robodx")
    except (UserError, Stop, WireError, OSError) as error:
        print_text(f"robodx: {error}", file=sys.stderr)
        sys.exit(2)
