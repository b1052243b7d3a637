"""Kills every command that writes, at random moments; the same command again must end as if nothing had happened."""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import NamedTuple
from zipfile import BadZipFile

import numpy as np
import polars as pl

from hostile.judging import Case, Defect, Ending, Result, defects_of
from hostile.places import Places
from hostile.processes import call, end_group, lingering, processes_of, read_log, start

PART = "kills"
PATIENCE_S = 300.0
# The command had ended before it was struck.
TOO_LATE = "too late"
NO_WORKER = "no worker was there to be killed"
# Struck when some of what it writes was there already.
LATE = "after its first output"
OUTPUTS = (".parquet", ".npz", "/videos")
# A killed command has so long to end, its workers too.
ENDS_WITHIN_S = 25.0
PLUGIN = '''
"""A short task, a policy that moves slowly and fails, and one whose every episode ends early."""
import time
import numpy as np
from robodx import PolicySpec, Situation, policy, task
from robodx.language.meaning import put
from robodx.language.phrasing import say
from robodx.scoring.from_meaning import stages_for
from robodx.sim.objects import cube, cylinder
from robodx.sim.scene import Region, tabletop

@task(family="hostile", varies=("robot", "layout"), chance=1 / 2, time_limit_s=2.0)
def short(streams):
    """Put the orange cube on the purple cylinder."""
    left, right = Region(x=(-0.2, 0.0), y=(0.05, 0.2)), Region(x=(-0.2, 0.0), y=(-0.2, -0.05))
    scene = tabletop(cube("orange").within(left), cylinder("purple", radius_m=0.03).within(right))
    instruction = say(put("orange cube", "on", "purple cylinder"))
    return Situation(scene, instruction, stages_for(instruction.meaning, scene))

@policy("wander")
class Wander:
    """Moves as the trial's seed says, and takes its time."""
    spec = PolicySpec(state=())
    later = 1.0
    def __init__(self):
        self.seeds = {}
    def reset(self, starts):
        self.seeds |= {start.episode_id: start.policy_seed for start in starts}
    def act(self, observations):
        time.sleep(0.05)
        return [self.chunk(one) for one in observations]
    def chunk(self, one):
        rng = np.random.default_rng([self.seeds[one.episode_id] % 2**32, one.step])
        chunk = rng.normal(0, 0.003, (20, 7)).astype(np.float32)
        return chunk if one.step == 0 else chunk * np.float32(self.later)
    def finish(self, ids):
        for one in ids:
            self.seeds.pop(one, None)

@policy("quitter")
class Quitter(Wander):
    """Gives up after its first chunk."""
    later = float("nan")
'''


class Blow(NamedTuple):
    """What is sent to whom, and the exit code that then is right; None is that of a call that nobody disturbs."""

    name: str
    number: signal.Signals
    code: int | None


DRIVER = (
    Blow("SIGKILL", signal.SIGKILL, -signal.SIGKILL),
    Blow("SIGTERM", signal.SIGTERM, 130),
    Blow("Ctrl-C", signal.SIGINT, 130),
)
WORKER = Blow("SIGKILL of a worker", signal.SIGKILL, None)


@dataclass(frozen=True)
class Scenario:
    """A command to be killed. It is killed some time after `begun` is there, a file that says how far it is."""

    name: str
    words: tuple[str, ...]
    begun: str
    times: int
    # Commands that make what it reads.
    before: tuple[tuple[str, ...], ...] = ()
    # The longest time between that file and the kill.
    spread_s: float = 2.0
    has_workers: bool = False
    # What it is struck with; by default all that it can be.
    blows: tuple[Blow, ...] = ()
    # Whether it promises to keep what it has and to say so when it is stopped; others may just end.
    is_resumed: bool = True
    # What must be there in the end, besides all runs.
    makes: tuple[str, ...] = ()

    @property
    def begun_is_output(self) -> bool:
        return any(part in self.begun for part in OUTPUTS)


WANDER = ("run", "hostile/short", "--policy", "wander", "--plugin", "slow.py", "--out", "run")
SIXTY = (*WANDER, "--seeds", "60")
TWELVE = (*WANDER, "--seeds", "12")
TWO = ("--workers", "2")
PARTS = "run/episodes/part-*.parquet"
SCENARIOS = (
    Scenario("run", SIXTY, PARTS, 5),
    Scenario("run before anything is written", SIXTY, "run", 2, spread_s=1.0),
    Scenario("run with 2 workers", (*SIXTY, *TWO), PARTS, 7, has_workers=True),
    Scenario("run in batches", (*SIXTY, "--batch", "4"), PARTS, 4),
    Scenario("run with a policy process", (*SIXTY, *TWO, "--policy-process"), PARTS, 4, has_workers=True),
    Scenario("run in another order", (*SIXTY, *TWO, "--shuffle", "3"), PARTS, 2, has_workers=True),
    Scenario("run until the intervals are narrow", (*SIXTY, "--until-width", "0.2"), PARTS, 2),
    Scenario("run that films", (*TWELVE, "--video", "2"), "run/videos", 3),
    Scenario(
        "diagnose",
        ("diagnose", "quitter", "--plugin", "slow.py", "--seeds", "1", "--films", "0", "--out", "run", *TWO),
        PARTS,
        5,
        has_workers=True,
        makes=("run/report.html",),
    ),
    Scenario(
        "cliff",
        (
            "cliff",
            "primitive/press_switch",
            "--policy",
            "expert",
            "--stressor",
            "noise",
            "--episodes",
            "60",
            "--out",
            "run",
        ),
        "run/episodes/*.parquet",
        4,
    ),
    Scenario(
        "why", ("why", "run", "--plugin", "slow.py", *TWO), "run/why/trajectories/*.npz", 5, (TWELVE,), has_workers=True
    ),
    Scenario(
        "report",
        ("report", "run", "-o", "page.html"),
        "run/run.json",
        3,
        (TWELVE,),
        1.5,
        makes=("page.html",),
        is_resumed=False,
    ),
    Scenario(
        "report that films",
        ("report", "run", "--films", "2", "-o", "page.html"),
        "run/videos",
        2,
        (TWELVE,),
        makes=("page.html",),
        is_resumed=False,
    ),
    Scenario(
        "merge",
        ("merge", "one", "two", "--out", "run"),
        "run/trajectories/*.npz",
        5,
        tuple(
            (*TWELVE[:-4], "--out", out, "--seeds", "12", "--shard", shard)
            for out, shard in (("one", "1/2"), ("two", "2/2"))
        ),
        spread_s=0.1,
        is_resumed=False,
    ),
    Scenario(
        "show",
        ("show", "primitive/press_switch", "-o", "film.mp4"),
        ".*part*",
        2,
        makes=("film.mp4",),
        is_resumed=False,
    ),
    Scenario(
        "validate",
        (
            "validate",
            "--fault",
            "colour_blind",
            "--sets",
            "1",
            "--healthy",
            "0",
            "--weak-sets",
            "0",
            "--nulls",
            "0",
            "--pairs",
            "0",
            "--out",
            "all",
            *TWO,
        ),
        "all/.lock",
        2,
        spread_s=20.0,
        blows=DRIVER[:1],
    ),
)


@dataclass
class Undisturbed:
    """A scenario's end when nobody disturbs it, made when it is first asked for."""

    scenario: Scenario
    folder: Path
    code: int = -1
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def ready(self) -> Undisturbed:
        with self._lock:
            if self.code < 0:
                prepare(self.folder, self.scenario)
                shutil.copytree(self.folder, self.folder.with_name(f"{self.folder.name}.before"))
                self.code = _succeed(self.folder, self.scenario.words)
        return self

    def copy(self, folder: Path) -> None:
        """All that the command needs, in a new folder."""
        shutil.copytree(self.ready().folder.with_name(f"{self.folder.name}.before"), folder)


def attempts(places: Places, rng: random.Random) -> Iterator[tuple[str, Callable[[], Result]]]:
    for number, scenario in enumerate(SCENARIOS):
        base = Undisturbed(scenario, places.folder / "kills" / str(number))
        blows = scenario.blows or ((*DRIVER, WORKER, WORKER) if scenario.has_workers else DRIVER)
        for index in range(scenario.times):
            blow, seed = blows[(number + index) % len(blows)], rng.random()
            folder = places.folder / "kills" / f"{number}.{index}"
            name = f"{scenario.name}: {blow.name}"
            yield name, partial(kill, base, folder, blow, random.Random(seed))


def prepare(folder: Path, scenario: Scenario) -> None:
    folder.mkdir(parents=True)
    (folder / "slow.py").write_text(PLUGIN)
    for words in scenario.before:
        _succeed(folder, words)


def _succeed(folder: Path, words: tuple[str, ...]) -> int:
    ending = call(Case(PART, "undisturbed", words, cwd=folder, deadline_s=PATIENCE_S))
    if ending.code not in (0, 1):
        raise RuntimeError(f"robodx {' '.join(words)} fails undisturbed, with {ending.code}:\n{ending.said}")
    return ending.code


def kill(base: Undisturbed, folder: Path, blow: Blow, rng: random.Random) -> Result:
    scenario, begun = base.scenario, time.monotonic()
    base.copy(folder)
    before = saved_episodes(folder)
    case = Case(PART, f"{scenario.name}: {blow.name}", scenario.words, cwd=folder, deadline_s=PATIENCE_S)
    ending, moment = _struck(case, scenario, blow, rng)
    # One that had ended before it was struck is as good as undisturbed.
    right = {base.code} if blow.code is None else {base.code, blow.code}
    if not scenario.is_resumed:
        right.add(-blow.number)
    found = [
        one
        for one in defects_of(replace(case, exits=frozenset(right)), ending)
        if blow.code is None or one.kind != "silent"
    ]
    saved = saved_episodes(folder)
    again = call(replace(case, exits=frozenset({base.code})))
    found += [replace(one, kind=f"{one.kind}, when called again") for one in
              defects_of(replace(case, exits=frozenset({base.code})), again)]  # fmt: skip
    found += lost(base.folder, folder, {**before, **saved}, scenario.makes)
    return Result(
        PART,
        case.name,
        f"{case.line}  # {blow.name} {moment}",
        tuple(found),
        time.monotonic() - begun,
        said=f"{ending.said}\n--- again ---\n{again.said}"[-4000:] if found else "",
        note=moment if moment in (TOO_LATE, NO_WORKER) else LATE if scenario.begun_is_output else "",
    )


def _struck(case: Case, scenario: Scenario, blow: Blow, rng: random.Random) -> tuple[Ending, str]:
    """How a command ended that was killed, and when that was."""
    with tempfile.TemporaryFile() as log:
        begun = time.monotonic()
        process = start(case.words, cwd=case.cwd, log=log.fileno())
        while (
            process.poll() is None and not any(case.cwd.glob(scenario.begun)) and time.monotonic() < begun + PATIENCE_S
        ):
            time.sleep(0.02)
        time.sleep(rng.uniform(0, scenario.spread_s))
        moment = f"after {time.monotonic() - begun:.2f} s"
        if process.poll() is not None:
            moment = TOO_LATE
        elif blow is WORKER and not _strike_worker(process, rng):
            moment = NO_WORKER
        elif blow is WORKER:
            pass
        elif blow.number is signal.SIGINT:
            # As a terminal does: to all of them.
            os.killpg(process.pid, blow.number)
        else:
            process.send_signal(blow.number)
        try:
            code: int | None = process.wait(PATIENCE_S if blow is WORKER else ENDS_WITHIN_S)
        except subprocess.TimeoutExpired:
            code = None
        left = 0 if code is None else len(lingering(process.pid, ENDS_WITHIN_S))
        end_group(process)
        return Ending(code, read_log(log.fileno()), time.monotonic() - begun, left), moment


def _strike_worker(process: subprocess.Popen[bytes], rng: random.Random) -> bool:
    """Whether there was one of the processes that simulate or infer; Python's own helper is none of them."""
    workers = [one for one in processes_of(process.pid) if one != process.pid and _is_worker(one)]
    if workers:
        os.kill(rng.choice(workers), signal.SIGKILL)
    return bool(workers)


def _is_worker(process: int) -> bool:
    try:
        return b"resource_tracker" not in Path(f"/proc/{process}/cmdline").read_bytes()
    except OSError:
        return False


class Saved(NamedTuple):
    """An episode on disk; the time that it took tells it from the same one run again."""

    trajectory_hash: str | None
    wall_s: float


def saved_episodes(folder: Path) -> dict[tuple[str, str], Saved]:
    """What the runs of a folder hold, read without RoboDx, by run and trial."""
    found = {}
    for table in sorted(folder.rglob("*.parquet")):
        # The design table says nothing of outcomes.
        if "outcome" not in pl.read_parquet_schema(table):
            continue
        rows = pl.read_parquet(table).filter(pl.col("outcome") != "error")
        run = str(table.parent.relative_to(folder)).removesuffix("episodes").removesuffix("/")
        for trial, trajectory_hash, wall_s in rows.select("trial_id", "trajectory_hash", "wall_s").rows():
            found[run, trial] = Saved(trajectory_hash, wall_s)
    return found


def lost(base: Path, folder: Path, saved: dict[tuple[str, str], Saved], makes: tuple[str, ...] = ()) -> list[Defect]:
    """What an undisturbed folder has and this one has not, or has otherwise; and what was there and is no more."""
    found: list[Defect] = []
    wanted, there = saved_episodes(base), saved_episodes(folder)
    if missing := [key for key in wanted if key not in there]:
        found.append(Defect("lost", f"{len(missing)} of {len(wanted)} episodes are missing: {missing[:3]}"))
    if more := [key for key in there if key not in wanted]:
        found.append(Defect("lost", f"{len(more)} episodes are there that no undisturbed run has: {more[:3]}"))
    if other := [key for key in wanted.keys() & there if wanted[key].trajectory_hash != there[key].trajectory_hash]:
        found.append(Defect("lost", f"{len(other)} episodes went otherwise: {other[:3]}"))
    if redone := [key for key, one in saved.items() if there.get(key) != one]:
        found.append(Defect("lost", f"{len(redone)} episodes that were saved are gone or were run again: {redone[:3]}"))
    for name in sorted(_names(base, "*.npz") ^ _names(folder, "*.npz"))[:3]:
        found.append(Defect("lost", f"{name} is in only one of the two folders"))
    for path in folder.rglob("trajectories/*.npz"):
        if not _reads(path):
            found.append(Defect("lost", f"{path.relative_to(folder)} cannot be read"))
    for name in makes:
        if not (folder / name).is_file() or not (folder / name).stat().st_size:
            found.append(Defect("lost", f"{name} was not made"))
    for run in sorted({run for run, _ in wanted if (base / run / "run.json").exists()}):
        same = Case(PART, "diff", ("diff", str(base / run), str(folder / run)), frozenset({0}), cwd=folder)
        ending = call(same)
        found += [replace(one, kind=f"{one.kind}, of diff") for one in defects_of(same, ending)]
    return found


def _names(folder: Path, pattern: str) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob(pattern)}


def _reads(path: Path) -> bool:
    try:
        with path.open("rb") as file, np.load(file) as arrays:
            return all(arrays[name].size >= 0 for name in arrays.files)
    except (OSError, ValueError, EOFError, KeyError, BadZipFile):
        return False
