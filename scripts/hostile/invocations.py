"""Malformed invocations: every option of every command with values that it was not made for."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass

from hostile.commands import Command, Parameter, commands
from hostile.judging import Case
from hostile.mistakes import mistakes
from hostile.places import ESCAPES, HUGE, TASK, Places

PART = "invocations"
REFUSED, ANY = frozenset({1, 2}), frozenset({0, 1, 2})
# How many values of each option are tried, of those that are there.
VALUES = {"flag": 0, "whole number": 2, "number": 2, "path": 2, "text": 2}

# Parameters whose values are names of something, so that an unknown one must be refused.
NAMES = frozenset({
    "policy", "preset", "robot", "quality", "task", "stressor", "clock", "kind", "by", "videos", "metric", "only",
    "shard", "require", "protocol", "perturb", "selectors", "plugin", "most", "camera", "fault",
    "path", "source", "form",
})  # fmt: skip
# Paths to what must be there already.
SOURCES = frozenset({"run", "runs", "first", "second", "against", "folder"})


@dataclass(frozen=True)
class Value:
    text: str
    exits: frozenset[int]


def cases(places: Places, rng: random.Random) -> Iterator[Case]:
    for command in commands():
        yield Case(PART, f"{command.name} --help", (*command.name.split(), "--help"), frozenset({0}), cwd=places.folder)
        for parameter in command.parameters:
            values = list(_values(parameter, places))
            for value in rng.sample(values, min(VALUES[parameter.kind], len(values))):
                yield _case(command, parameter, value, places)
    yield from mistakes(places, rng)


def _case(command: Command, parameter: Parameter, value: Value, places: Places) -> Case:
    words = base(command, places, without=parameter)
    words += [value.text] if parameter.flag is None else [parameter.flag, value.text]
    if parameter.flag is None and value.text.startswith("-"):
        words.insert(-1, "--")
    return Case(
        PART, f"{command.name} {parameter.flag or parameter.name}={value.text[:40]!r}", (*command.name.split(), *words),
        value.exits, serves=SERVES.get(command.name), cwd=places.folder, deadline_s=90,
    )  # fmt: skip


# What makes a valid and short call of a command, by the names of its parameters; the rest keeps its default.
VALID: dict[str, dict[str, str]] = {
    "run": {"selectors": TASK, "policy": "still", "seeds": "1", "out": "new"},
    # This policy ends the run at its first action, for a diagnosis has no end that could be waited for here.
    "diagnose": {"policy": "stopping", "plugin": "stopping.py", "films": "0", "out": "new", "seeds": "1"},
    "cliff": {"task": TASK, "policy": "stopping", "plugin": "stopping.py", "stressor": "noise", "out": "new"},
    "why": {"run": "run", "plugin": "stopping.py", "policy": "stopping", "out": "new"},
    "validate": {
        "fault": "no_such_fault",
        "sets": "1",
        "healthy": "0",
        "weak_sets": "0",
        "nulls": "0",
        "pairs": "0",
        "out": "new",
    },
    "report": {"runs": "run", "out": "page.html"},
    "fairness": {"selectors": "bias/light_direction", "seeds": "1", "out": "new"},
    "merge": {"runs": "run", "out": "new"},
    "view": {"folder": "run", "port": "0"},
    "serve": {"policy": "still", "port": "0"},
    "check": {"policy": "still"},
    "show": {"task": TASK, "out": "scene.png"},
    "list": {"kind": "tasks"},
    "data convert": {"source": "a_file", "target": "new", "form": "lerobot"},
}
# Commands that go on for ever, and what they say when they are open.
SERVES = {"serve": "Serving", "view": "Viewing"}


def base(command: Command, places: Places, without: Parameter) -> list[str]:
    """A valid call of a command, but for one parameter."""
    valid = VALID.get(command.name, {})
    words: list[str] = []
    for one in command.parameters:
        text = valid.get(one.name)
        if text is None and one.is_required:
            text = {"path": "run", "whole number": "1", "number": "1"}.get(one.kind, "nothing")
        if text is None or one.name == without.name:
            continue
        if text == "new":
            text = places.fresh()
        words += [text] if one.flag is None else [one.flag, text]
    return words


def _values(parameter: Parameter, places: Places) -> Iterator[Value]:
    if parameter.kind == "whole number":
        yield from (Value(text, REFUSED) for text in ("abc", "1.5", "", "nan", "1e3", "0x10", ESCAPES, "9" * 5000))
        yield from (Value(text, ANY) for text in (HUGE, str(2**63), "\uff11\uff12"))
        yield Value("-1", ANY if parameter.least is None or parameter.least < 0 else REFUSED)
    elif parameter.kind == "number":
        yield from (Value(text, REFUSED) for text in ("abc", "", "nan", "-nan", "1,5", ESCAPES))
        yield from (Value(text, ANY) for text in ("inf", "1e400", "-inf", HUGE, "1e-320"))
        yield Value("-1", ANY if parameter.least is None or parameter.least < 0 else REFUSED)
    elif parameter.kind == "path":
        names = ("nowhere/at/all", ESCAPES, "\udcff\udcfe", "é💥/x")
        # What is to be read is of a name that no case before has written.
        is_source = parameter.name in SOURCES
        yield from (Value(f"{name} read", REFUSED) if is_source else Value(name, ANY) for name in names)
        yield from (Value(text, REFUSED if is_source else ANY) for text in ("", "."))
        yield from (Value(text, REFUSED) for text in ("a_file", "a_file/x", "/proc/nope/x", "x" * 300))
        # A folder cannot lie there, a page can be thrown away.
        yield Value("/dev/null", REFUSED if is_source else ANY)
        yield from (Value(text, REFUSED) for text in ("run/run.json", "run/episodes/x.html", "run/../run/.lock"))
        if places.has_locked:
            yield from (Value(text, REFUSED) for text in ("locked", "locked/x"))
    elif parameter.kind == "text":
        wrong = REFUSED if parameter.name in NAMES else ANY
        texts = ["no_such_thing", "", " ", ESCAPES, "x" * 300, "é💥", "../../etc/passwd", "a\nb", "\udcff", "%s{0}{x}"]
        texts += ["python:..:x", "a_file", "locked", "[bold]x[/nothing]", "\u202egnp.exe", ":", "=", "/", "*", "0"]
        yield from (Value(text, wrong) for text in texts)
