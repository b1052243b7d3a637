"""Mistakes that options alone do not show: addresses, presets, settings of the environment, and damaged runs."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from dataclasses import replace

from hostile.damage import COMMANDS, DAMAGES, damage
from hostile.judging import PIPE, Case
from hostile.places import ESCAPES, HUGE, TASK, Places

PART = "invocations"
FINE, REFUSED, ANY = frozenset({0}), frozenset({1, 2}), frozenset({0, 1, 2})
# The shell's code of a process that ended because nobody read what it wrote is also a decent end.
UNREAD = frozenset({0, 1, 2, 141})
# How many commands are tried with each damaged run.
DAMAGED = 2
# An address at which nobody listens, and is not waited for.
NOBODY = "//127.0.0.1:1?connect=0.2"

WORDS: tuple[tuple[frozenset[int], str], ...] = (
    (ANY, ""),
    (FINE, "--help"),
    (FINE, "--version"),
    (REFUSED, "no_such_command"),
    (REFUSED, "--no-such-option"),
    (REFUSED, "run"),
    (REFUSED, "run {task}"),
    (REFUSED, "run {task} --policy"),
    (REFUSED, "run {task} {task} --policy still --seeds 1 --seeds 2 --out run"),
    (REFUSED, "run nothing --policy still --seeds 1 --out {new}"),
    (REFUSED, "run stress/nothing --policy still --seeds 1 --out {new}"),
    (REFUSED, "run cliff/noise --policy still --seeds 1 --out {new}"),
    (REFUSED, "run {task} --policy expert --seeds 2 --out run"),
    (REFUSED, "run {task} --policy still --seeds 1 --out ."),
    (REFUSED, "run {task} --policy still --seeds 1 --out run/run.json"),
    (REFUSED, "run {task} --policy still --seeds 1 --out {new} --against nowhere"),
    (REFUSED, "run {task} --policy still --seeds 1 --out {new} --until-decided"),
    (REFUSED, "run {task} --policy still --seeds 1 --out {new} --policy-actors 2"),
    (ANY, "run {task} --policy still --seeds 1 --out {new} --retries {huge}"),
    (ANY, "run {task} --policy still --seeds 1 --out {new} --batch {huge}"),
    (ANY, "run {task} --policy still --seeds 1 --out {new} --video {huge}"),
    (ANY, "run {task} --policy still --seeds 1 --out {new} --workers {huge}"),
    (ANY, "run {task} --policy still --seeds 1 --out {new} --shuffle {huge}"),
    (REFUSED, "run capability --policy still --seeds 100000 --repeats {huge} --out {new}"),
    (REFUSED, "run {task} --policy still --first-seed 2147483648 --seeds 100001 --out {new}"),
    (REFUSED, "validate --fault colour_blind --sets {huge} --healthy 0 --weak-sets 0 --pairs 0 --out {new}"),
    (REFUSED, "validate --fault colour_blind --sets 1 --healthy {huge} --weak-sets 0 --pairs 0 --out {new}"),
    (REFUSED, "validate --fault colour_blind --sets 1 --healthy 0 --weak-sets {huge} --pairs 0 --out {new}"),
    (REFUSED, "validate --fault colour_blind --sets 1 --healthy 0 --weak-sets 0 --pairs {huge} --out {new}"),
    (REFUSED, "validate --fault colour_blind --sets 1 --healthy 0 --weak-sets 0 --pairs 0 --first-set {huge}"),
    (REFUSED, "run bias/colour/quick/quick --policy still --out {new}"),
    (REFUSED, "run control/easy/easy --policy still --out {new}"),
    (REFUSED, "run --config /dev/zero"),
    (REFUSED, "generate {task} --episodes 1 --cameras front@7777 --out {new}"),
    (REFUSED, "generate {task} --episodes 1 --format hdf5 --out {new}"),
    (REFUSED, "check demonstrator:front@0"),
    (REFUSED, "check replay:run"),
    (REFUSED, "show {task} -o page.txt"),
    (REFUSED, "show {task} -o locked/x.png"),
    (REFUSED, "show {task} -o a_file/x.png"),
    (REFUSED, "show {task} --camera front,,nothing -o x.png"),
    (REFUSED, "report run -o ."),
    (REFUSED, "report run -o run/run.json"),
    (REFUSED, "report run --latex -o run/episodes/all.parquet"),
    (REFUSED, "export run --to csv -o run --force"),
    (REFUSED, "report run run/nothing"),
    (ANY, "report run run run -o thrice.html"),
    (REFUSED, "report run --json --markdown"),
    (ANY, "merge run --out run"),
    (ANY, "merge run run --out {new}"),
    (REFUSED, "merge --out {new}"),
    (REFUSED, "summary run --by nothing"),
    (REFUSED, "diff run"),
    (REFUSED, "why nowhere"),
    (REFUSED, "why run --policy expert --only nothing --out {new}"),
    (REFUSED, "serve expert --port 0"),
    (REFUSED, "serve still --port 0 --host 999.1.1.1"),
    (REFUSED, "serve still --port 0 --host {long}"),
    (REFUSED, "serve still --port 0 --host 192.0.2.1"),
    (REFUSED, "view run --port 0 --host {long}"),
    (REFUSED, "view run --port 0 --host 999.1.1.1"),
    (REFUSED, "check still --write-preset locked/x.toml"),
    (REFUSED, "check still --write-preset x.txt"),
    (REFUSED, "serve still --port 0 --preset aloha"),
    (REFUSED, "doctor --require nothing"),
)

POLICIES = (
    "",
    ":",
    "::",
    "python",
    "python:",
    "python::",
    "python:..:x",
    "python:.:x",
    "python:os",
    "python:os:_exit",
    "python:sys:exit",
    "python:os:no_such",
    "python:json:loads",
    "python:builtins:print",
    "python:os:path",
    "python:a b:c",
    "python:os:environ",
    "python:builtins:NotImplemented",
    "python:builtins:KeyboardInterrupt",
    "python:é:è",
    "still:argument",
    "replay",
    "replay:nowhere",
    "replay:a_file",
    "replay:locked",
    "fault:nothing",
    "fault:",
    "lerobot:nowhere",
    "lerobot:a_file",
    "lerobot:",
    "openpi:",
    "openpi://",
    "openpi://:8000",
    "openpi://host:99999",
    "openpi://host:-1",
    "openpi://[::1",
    "openpi://user:password@host",
    "openpi://127.0.0.1:1?timeout=nan",
    "openpi://127.0.0.1:1?connect=-1",
    "openpi://127.0.0.1:1?no=option",
    f"openpi:{NOBODY}",
    f"gr00t:{NOBODY}",
    f"vla-eval:{NOBODY}",
    f"openvla+http:{NOBODY}",
    f"openpi://{'a' * 300}:1?connect=0.2",
    f"gr00t://{'a' * 300}:1?connect=0.2",
    f"vla-eval://{'a.' * 300}:1?connect=0.2",
    f"openvla+http://{'a' * 300}:1?connect=0.2",
    "openpi://\x1b[31m:1?connect=0.2",
    "openpi://é:1?connect=0.2",
    "openpi://a..b:1?connect=0.2",
    "gr00t://a b:1?connect=0.2",
    "openvla+http://127.0.0.1:1/%0d%0aX?connect=0.2",
)

OPTIONS: tuple[tuple[str, tuple[str, ...]], ...] = (
    (
        "--perturb",
        ("noise", "noise=", "noise=nan", "noise=1e400", "noise=-1", "=", "=1", "noise=v2=v3", "noise=\x1b[31m"),
    ),
    ("--clock", ("realtime", "realtime:", "realtime:nan", "realtime:-1", "realtime:1e9", "realtime:inf", "lockstep:1")),
    ("--shard", ("0/0", "3/2", "a/b", f"{HUGE}/1", "1/", "-1/2", "1/2/3", "\uff11/\uff12")),
    ("--until-width", ("0", "-1", "2", "nan", "1e-300")),
    ("--robot", ("panda\n", "PANDA ")),
)

PRESETS: Mapping[str, str | bytes] = {
    "garbage": b"\x00\xff\xfe\x80" * 30,
    "empty": "",
    "no_toml": "hz = = 3",
    "nan_rate": "hz = nan",
    "huge_rate": f"hz = {HUGE}",
    "text_rate": 'hz = "fast"',
    "wide_picture": '[images."x"]\ncamera = "front"\nheight = 99999999\nwidth = 1',
    "negative_picture": '[images."x"]\ncamera = "front"\nheight = -1\nwidth = 1',
    "escapes": '"\\u001b[31m" = 1',
    "list_actions": "actions = [1, 2]",
    "wide_actions": '[actions]\nspace = "ee_delta"\nkeys = { actions = 99999999999 }',
    "nan_scale": '[actions]\nspace = "ee_delta"\nkeys = { actions = 7 }\nscale_m = nan',
    "state_number": "[state]\nx = 3",
    "deep": "a = " + "[" * 5000 + "]" * 5000,
}

ENVIRONMENTS: tuple[tuple[str, dict[str, str], frozenset[int]], ...] = (
    ("list tasks", {"PYTHONIOENCODING": "ascii"}, FINE),
    ("list presets", {"PYTHONIOENCODING": "latin-1"}, FINE),
    ("summary run", {"PYTHONIOENCODING": "ascii"}, FINE),
    ("list tasks", {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}, FINE),
    ("list tasks", {"COLUMNS": "0"}, FINE),
    ("summary run", {"COLUMNS": "1"}, FINE),
    ("run --help", {"COLUMNS": "-5"}, FINE),
    ("summary run", {"COLUMNS": "wide"}, FINE),
    ("summary run", {"TERM": "", "FORCE_COLOR": ""}, FINE),
    ("doctor", {"MUJOCO_GL": "nothing"}, ANY),
    ("show {task} -o gl.png", {"MUJOCO_GL": "nothing"}, ANY),
    ("summary run", {"HOME": "/proc/nope", "TMPDIR": "/proc/nope"}, FINE),
    ("run {task} --policy still --seeds 1 --workers 2 --out {new}", {"TMPDIR": "/proc/nope"}, ANY),
    (f"check openpi:{NOBODY}", {"ROBODX_API_KEY": "a\nb"}, REFUSED),
    (f"check vla-eval:{NOBODY}", {"ROBODX_API_KEY": "\udcff"}, REFUSED),
    (f"check gr00t:{NOBODY}", {"ROBODX_API_KEY": ESCAPES}, REFUSED),
)


def mistakes(places: Places, rng: random.Random) -> Iterator[Case]:
    for exits, words in WORDS:
        yield _case(places, words, exits)
    for name in POLICIES:
        yield Case(PART, f"check {name[:40]!r}", ("check", name), REFUSED, cwd=places.folder)
    for name in ("python:..:x", "python:os:_exit", "python:sys:exit", "openpi://é:1?connect=0.2"):
        line = ("run", TASK, "--policy", name, "--seeds", "1", "--workers", "2", "--out", places.fresh())
        yield Case(PART, f"run --policy {name}", line, REFUSED, cwd=places.folder)
    for option, values in OPTIONS:
        for value in values:
            line = ("run", TASK, "--policy", "still", "--seeds", "1", "--out", places.fresh(), option, value)
            yield Case(PART, f"run {option} {value!r}", line, REFUSED, cwd=places.folder)
    yield from _presets(places)
    for words, env, exits in ENVIRONMENTS:
        yield _case(places, words, exits, env)
    for words in ("list tasks", "list tasks --json", "summary run", "report run --markdown", "show {task}", "doctor"):
        yield replace(_case(places, words, REFUSED), name=f"{words} on a full disk", into="/dev/full")
        yield replace(_case(places, words, UNREAD), name=f"{words} that nobody reads", into=PIPE)
    yield from _damaged(places, rng)


def _case(places: Places, line: str, exits: frozenset[int], env: Mapping[str, str] | None = None) -> Case:
    fields = {"task": TASK, "huge": HUGE, "long": "a" * 300}
    words = tuple(word.format(**fields, new=places.fresh()) for word in line.split())
    label = " ".join([*(f"{name}={value!r}" for name, value in (env or {}).items()), line or "(no words)"])
    return Case(
        PART, label, words, exits, cwd=places.folder, env=env or {}, serves="Serving" if "serve" in words else None
    )


def _presets(places: Places) -> Iterator[Case]:
    for name, content in PRESETS.items():
        path = places.folder / f"{name}.toml"
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        words = ("check", f"openpi:{NOBODY}", "--preset", path.name)
        yield Case(PART, f"a preset: {name}", words, REFUSED, cwd=places.folder)


def _damaged(places: Places, rng: random.Random) -> Iterator[Case]:
    for one in DAMAGES:
        if one.needs_rights and not places.has_locked:
            continue
        for index in sorted(rng.sample(range(COMMANDS), DAMAGED)):
            run = damage(one, places, index)
            words, exits = list(one.commands(run))[index]
            yield Case(PART, f"{one.name}: {words[0]}", words, exits, cwd=places.folder)
