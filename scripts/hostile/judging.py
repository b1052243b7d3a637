"""What is expected of a case, and what is wrong with the way in which it ended."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent

TRACEBACK = "Traceback (most recent call last)"
# A traceback of the user's own code may be shown to him. With one of these in it, it is ours.
OUR_FRAMES = re.compile(r'File "(?:[^"]*/robodx/[^"]*|<string>)", line \d+')
# What else Python and Rust print past everything that catches errors.
UNCAUGHT = re.compile(
    r"^(?:Exception ignored in|Exception in thread|thread '.*' .*panicked at|Fatal Python error)", re.M
)
# Characters with which text takes hold of a terminal; lines and tabs do not.
CONTROLS = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")

# Python, FFmpeg and Polars say so, and RoboDx of what it read.
NO_MEMORY = re.compile(r"not enough memory|MemoryError|Cannot allocate|memory allocation of \d")

PIPE = "|"


@dataclass(frozen=True)
class Case:
    """A command line, and how it must end."""

    part: str
    name: str
    words: tuple[str, ...]
    exits: frozenset[int] = frozenset({0, 1, 2})
    # The output must have this in it, in small or large letters.
    says: str = ""
    # Ends by itself if this is None. Otherwise it is a server, which is sent Ctrl-C when it has said this.
    serves: str | None = None
    deadline_s: float = 60.0
    # What it prints goes into this file instead, or into a pipe that nobody reads.
    into: str | None = None
    cwd: Path = field(default_factory=Path.cwd)
    env: Mapping[str, str] = field(default_factory=dict)
    # Of memory; more is a defect, whatever it says then.
    most_bytes: int | None = None
    # What it prints is one line: an error.
    is_one_line: bool = False

    @property
    def line(self) -> str:
        """To type it again."""
        settings = "".join(f"{name}={spelled(value)} " for name, value in self.env.items())
        into = {None: "", PIPE: " | true"}.get(self.into, f" > {self.into}")
        limit = f"ulimit -d {self.most_bytes // 1024}; " if self.most_bytes else ""
        return f"cd {self.cwd}; {limit}{settings}robodx {' '.join(map(spelled, self.words))}{into}"


@dataclass(frozen=True)
class Ending:
    """How a process ended; no code means that it did not, and was killed at its deadline."""

    code: int | None
    said: str
    seconds: float = 0.0
    # Processes that it started and that were still there some seconds later.
    left_behind: int = 0


@dataclass(frozen=True)
class Defect:
    kind: str
    detail: str


@dataclass(frozen=True)
class Result:
    """What came of a case; `count` is of messages where a case is many of them."""

    part: str
    name: str
    line: str
    defects: tuple[Defect, ...]
    seconds: float = 0.0
    count: int = 1
    said: str = ""
    note: str = ""


def defects_of(case: Case, ending: Ending) -> list[Defect]:
    """All that is wrong; nothing if it ended as expected."""
    found = list(_wrong_words(ending.said))
    if ending.code is None:
        found.append(Defect("hang", f"still running after {case.deadline_s:g} s"))
    elif ending.code not in case.exits and not (case.serves and ending.code in (0, 130)):
        wanted = " or ".join(map(str, sorted(case.exits)))
        found.append(Defect("exit code", f"{ending.code}, not {wanted}"))
    if not ending.said.strip() and case.into != PIPE:
        found.append(Defect("silent", f"it ended with {ending.code} without a word"))
    if ending.said.strip() and case.says and case.says.lower() not in ending.said.lower():
        found.append(Defect("unclear", f'it does not say "{case.says}"'))
    if case.is_one_line and len(ending.said.strip().splitlines()) > 1:
        found.append(Defect("long", f"it says more than one line: {ending.said[:200]!r}"))
    if case.most_bytes and NO_MEMORY.search(ending.said):
        found.append(Defect("memory", f"it takes more than {case.most_bytes / 2**20:,.0f} MiB"))
    if ending.left_behind:
        found.append(Defect("left behind", f"{ending.left_behind} processes outlived it"))
    return found


def _wrong_words(said: str) -> list[Defect]:
    found = []
    # Those of the user's own code, without a frame of ours, are what he needs.
    for text in said.split(TRACEBACK)[1:]:
        if ours := OUR_FRAMES.findall(_frames(text)):
            found.append(Defect("traceback", f"{ours[-1]}: {_last_line(_frames(text))}"))
            break
    if uncaught := UNCAUGHT.search(said):
        found.append(Defect("traceback", said[uncaught.start() :].splitlines()[0][:200]))
    if control := CONTROLS.search(said):
        around = said[max(control.start() - 40, 0) : control.end() + 40]
        found.append(Defect("escape code", repr(around)))
    return found


def _frames(text: str) -> str:
    """Of what follows the heading of a traceback: its frames, and the line that names the error."""
    lines = text.splitlines()[1:]
    for index, line in enumerate(lines):
        if line and not line[0].isspace():
            return "\n".join(lines[: index + 1])
    return "\n".join(lines)


def _last_line(text: str) -> str:
    line = next((line[:160] for line in reversed(text.splitlines()) if line.strip()), "")
    return CONTROLS.sub("?", line)


def spelled(word: str) -> str:
    """As bash reads it, with what is not printable spelled out."""
    text = os.fsencode(word).decode("utf-8", "backslashreplace")
    if not text.isprintable():
        return "$" + repr(text).replace('"', '\\"') if "'" not in text else "$'" + repr(text)[1:-1] + "'"
    return shlex.quote(text if len(text) < 200 else f"{text[:20]}…({len(text)} letters)")
