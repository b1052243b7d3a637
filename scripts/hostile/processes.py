"""Runs RoboDx's command line in processes of its own, with a deadline and without rights that users do not have."""

from __future__ import annotations

import contextlib
import ctypes
import os
import resource
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

from hostile.judging import PIPE, Case, Ending, Result, defects_of

ROBODX = (sys.executable, "-c", "from robodx.cli import main; main()")
# Of linux/prctl.h and linux/capability.h.
PR_CAPBSET_DROP, CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH = 24, 1, 2
# No case needs as much; one that does must not take the machine with it.
MOST_BYTES = 8 * 2**30
LINGER_S = 5.0
# Of what a case prints, this much is looked at.
MOST_SAID = 2**20


def become_a_user() -> bool:
    """Take from our children what root may and users may not; whether a folder without rights is now closed to them."""
    resource.setrlimit(resource.RLIMIT_DATA, (MOST_BYTES, MOST_BYTES))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if os.getuid():
        return True
    libc = ctypes.CDLL(None)
    return not any(libc.prctl(PR_CAPBSET_DROP, right, 0, 0, 0) for right in (CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH))


def start(
    words: tuple[str, ...], *, cwd: Path, log: int, env: Mapping[str, str] | None = None, into: int | None = None
) -> subprocess.Popen[bytes]:
    """In a session of its own, so that all that it starts can be found and ended with it."""
    return subprocess.Popen(
        [*ROBODX, *words], cwd=cwd, stdin=subprocess.DEVNULL, stdout=log if into is None else into, stderr=log,
        start_new_session=True,
        env={**os.environ, "COLUMNS": "200", **(env or {})},
    )  # fmt: skip


def tried(case: Case) -> Result:
    """Run a case, and judge how it ended."""
    ending = call(case)
    found = tuple(defects_of(case, ending))
    return Result(case.part, case.name, case.line, found, ending.seconds, said=ending.said[-3000:] if found else "")


def call(case: Case) -> Ending:
    """Run a case to its end, or to its deadline."""
    with tempfile.TemporaryFile() as log, _elsewhere(case.into) as into:
        begun = time.monotonic()
        process = start(case.words, cwd=case.cwd, log=log.fileno(), env=case.env, into=into)
        if case.most_bytes is not None:
            resource.prlimit(process.pid, resource.RLIMIT_DATA, (case.most_bytes, case.most_bytes))
        try:
            if case.serves is not None:
                _stop_when_open(process, log.fileno(), case.serves, begun + case.deadline_s)
            code: int | None = process.wait(max(begun + case.deadline_s - time.monotonic(), 0.1))
        except subprocess.TimeoutExpired:
            code = None
        seconds = time.monotonic() - begun
        left = 0 if code is None else len(lingering(process.pid))
        end_group(process)
        return Ending(code, read_log(log.fileno()), seconds, left)


@contextlib.contextmanager
def _elsewhere(into: str | None) -> Iterator[int | None]:
    if into is None:
        yield None
        return
    if into == PIPE:
        end, file = os.pipe()
        os.close(end)
    else:
        file = os.open(into, os.O_WRONLY)
    try:
        yield file
    finally:
        os.close(file)


def read_log(file: int) -> str:
    return os.pread(file, MOST_SAID, 0).decode("utf-8", "replace")


def lingering(group: int, seconds: float = LINGER_S) -> list[int]:
    """Processes of the group that are still there after a while."""
    end = time.monotonic() + seconds
    while (there := processes_of(group)) and time.monotonic() < end:
        time.sleep(0.1)
    return there


def processes_of(group: int) -> list[int]:
    """All that were started in the session of this process and live."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            if int(fields[2]) == group and fields[0] != "Z":
                found.append(int(entry.name))
    return sorted(found)


def end_group(process: subprocess.Popen[bytes]) -> None:
    """Whatever is left of what was started here."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def _stop_when_open(process: subprocess.Popen[bytes], log: int, says: str, end: float) -> None:
    while process.poll() is None and time.monotonic() < end:
        if says in read_log(log):
            process.send_signal(signal.SIGINT)
            return
        time.sleep(0.1)
