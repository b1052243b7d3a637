"""The one way into code that is not RoboDx's own: whatever it raises, and the end of the process, become an error."""

from __future__ import annotations

import atexit
import os
import signal
import sys
import sysconfig
import threading
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import wraps
from pathlib import Path
from types import FrameType, GeneratorType, TracebackType
from typing import ParamSpec, TypeVar

from robodx.errors import Leave, Stop, UserError
from robodx.output import print_aside, shortened

P = ParamSpec("P")
T = TypeVar("T")

LONGEST_MESSAGE = 600
AGAIN_S = 0.02
# How long threads that a user's code left running may take to end once all else is done.
LAST_THREADS_S = 2.0
_OWN = str(Path(__file__).parent)
# Those in brackets are made up by Python: its importer's, and what a dataclass generates.
_LIBRARIES = (sysconfig.get_path("stdlib"), "<")

really_exit = os._exit
_interruptions = 0


class UsersCodeError(UserError):
    """A user's code raised, or would have ended the process; the message says whose code, what and where."""


class _Ended(BaseException):
    """In place of the end of the process: nobody catches it by mistake."""


class TimeLimit(BaseException):
    """A user's code took longer than it may; nobody catches it by mistake."""


class _Running(threading.local):
    """Whose code this thread is in, and the process in which it was entered: a fork has the thread's copy."""

    who: str | None = None
    process = 0


_running = _Running()


class contained:
    """Around a user's code in an episode: what is no Exception becomes one, which ends no more than that episode.

    Exceptions come through as they are, with their traceback. Ctrl-C comes through, whatever the code makes of it.
    """

    def __init__(self, who: str) -> None:
        self._who = who

    def __enter__(self) -> None:
        self._before, self._interruptions = (_running.who, _running.process), _interruptions
        _running.who, _running.process = self._who, os.getpid()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        _running.who, _running.process = self._before
        is_main = threading.current_thread() is threading.main_thread()
        if is_main and _interruptions > self._interruptions:
            if not isinstance(error, KeyboardInterrupt):
                raise KeyboardInterrupt
        elif isinstance(error, KeyboardInterrupt):
            if signal.getsignal(signal.SIGINT) in (interrupt, signal.SIG_IGN):
                raise UsersCodeError(told(self._who, error)) from error
        elif error is not None and not isinstance(error, Exception | Stop | Leave | TimeLimit):
            raise UsersCodeError(told(self._who, error)) from error


@contextmanager
def calling(who: str, code: object = None) -> Iterator[None]:
    """Around a user's code outside of episodes: all that it raises becomes one line.

    What RoboDx's own `code` raises is a defect of ours, and keeps its traceback.
    """
    try:
        with contained(who):
            yield
    except Stop:
        raise
    except UserError as error:
        place = None if is_own(code) or isinstance(error, UsersCodeError) else users_place(error)
        if place is None:
            raise
        raise UsersCodeError(f"{error} ({place})") from error
    except Exception as error:
        if is_own(code):
            raise
        raise UsersCodeError(told(who, error)) from error


def guarded(who: str, function: Callable[P, T]) -> Callable[P, T]:
    """A registered function that can be called without more ado; RoboDx's own is left as it is."""
    if is_own(function):
        return function

    @wraps(function)
    def called(*args: P.args, **kwargs: P.kwargs) -> T:
        with calling(who, function):
            made = function(*args, **kwargs)
            # What a generator does, it does when it is asked for more: here, where it is told.
            return list(made) if isinstance(made, GeneratorType) else made  # type: ignore[return-value]

    return called


def is_own(code: object) -> bool:
    """Whether a function, a class or an object is of this package."""
    module = getattr(code, "__module__", None) or ""
    return code is not None and f"{module}.".startswith("robodx.")


def told(who: str, error: BaseException) -> str:
    """One line: who did what, and where in his own code."""
    place = _place(error)
    return f"{who} {_did(error)}{f' ({place})' if place else ''}"


def _did(error: BaseException) -> str:
    if isinstance(error, _Ended):
        return f"called {error}"
    try:
        text = " ".join((repr(error.code) if isinstance(error, SystemExit) else str(error)).split())
    except Exception:
        text = "its message cannot be read"
    text = shortened(text, LONGEST_MESSAGE)
    if isinstance(error, SystemExit):
        return f"called sys.exit({text})"
    nobody = ", though nobody pressed Ctrl-C" if isinstance(error, KeyboardInterrupt) else ""
    return f"raised {type(error).__name__}{f': {text}' if text else ''}{nobody}"


def _place(error: BaseException) -> str | None:
    """The innermost line of the user's own; without one, the innermost that is not RoboDx's."""
    others = [one for one in _frames(error) if not one[0].startswith(_OWN)]
    return users_place(error) or (f"{others[-1][0]}:{others[-1][1]}" if others else None)


def users_place(error: BaseException) -> str | None:
    """The innermost line of the user's own, as FILE:LINE; None if he has no part in it."""
    if isinstance(error, SyntaxError) and error.filename:
        return f"{error.filename}:{error.lineno}"
    theirs = [
        f"{name}:{line}"
        for name, line in _frames(error)
        if not name.startswith((_OWN, *_LIBRARIES)) and "site-packages" not in name
    ]
    return theirs[-1] if theirs else None


def _frames(error: BaseException) -> list[tuple[str, int]]:
    return [(frame.f_code.co_filename, line) for frame, line in traceback.walk_tb(error.__traceback__)]


@contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """TimeLimit is raised in what takes longer: in its own thread, to which what it holds may belong.

    Only in the main thread, where Python handles signals, and not within a call into C that does not look for them.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def late(number: int, frame: FrameType | None) -> None:
        raise TimeLimit

    before = signal.signal(signal.SIGALRM, late)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def interrupt(number: int, frame: FrameType | None) -> None:
    """The handler of Ctrl-C and SIGTERM: by it a person's is told from one that a user's code raises itself."""
    if _is_in_polars(frame):
        # Its Rust code panics on what is raised meanwhile, and prints that: the signal comes again when it is done.
        again = threading.Timer(AGAIN_S, os.kill, (os.getpid(), number))
        again.daemon = True
        again.start()
        return
    global _interruptions
    _interruptions += 1
    raise KeyboardInterrupt


def _is_in_polars(frame: FrameType | None) -> bool:
    while frame is not None:
        if frame.f_globals.get("__name__", "").partition(".")[0] == "polars":
            return True
        frame = frame.f_back
    return False


@contextmanager
def exits_noticed() -> Iterator[None]:
    """`notice_exits`, for the time of the block."""
    notice_exits()
    try:
        yield
    finally:
        os._exit = really_exit


def notice_exits() -> None:
    """From now on `os._exit` tells who calls it, and is no success.

    In a thread that runs a user's code it raises; in any other it prints a line and ends the process. What ends a
    process without Python, as C's `_exit` or a signal, is not noticed.
    """
    here = os.getpid()

    def noticed(status: int) -> None:
        if os.getpid() == _running.process and _running.who is not None:
            raise _Ended(f"os._exit({status})")
        if os.getpid() == here:
            caller = sys._getframe(1)
            place = f"{caller.f_code.co_filename}:{caller.f_lineno}"
            print_aside(f"robodx: the process was ended by os._exit({status}) ({place})")
        really_exit((status or 1) if os.getpid() == here else status)

    noticed.__qualname__ = "os._exit"
    os._exit = noticed  # type: ignore[assignment]


def end_despite_threads(status: int) -> None:
    """Let this process end although a user's code left threads running, for which Python would wait for ever.

    To be called last. Python itself ends the idle threads of a pool; what still runs after that is not waited for.
    """
    left = [one for one in threading.enumerate() if one is not threading.current_thread() and not one.daemon]
    if left:
        threading.Thread(target=_end, args=(status, left), daemon=True).start()


def _end(status: int, left: Sequence[threading.Thread]) -> None:
    end_s = time.monotonic() + LAST_THREADS_S
    for thread in left:
        thread.join(max(end_s - time.monotonic(), 0.0))
    if running := [thread.name for thread in left if thread.is_alive()]:
        try:
            print_aside(f"robodx: ends without waiting for threads that are still running: {', '.join(running)}")
            # Only the main thread may call it.
            atexit.unregister(signal.signal)
            atexit._run_exitfuncs()
            sys.stdout.flush()
        finally:
            # Whoever read what was printed may have gone.
            really_exit(status)
