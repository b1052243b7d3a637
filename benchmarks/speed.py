"""How fast RoboDx runs: against a bare MuJoCo loop on the same model, against robosuite's Lift, and over workers.

All of it is measured in one invocation and in turns, because absolute numbers of a shared machine are worth little:
the ratios are what is reported. `make bench` runs it; JSON goes to .cache/bench.json.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path

from robodx.running.run import Execution
from robodx.running.threads import pin

pin()

# ruff: noqa: E402  (threads are pinned before numpy is imported)
from robodx.policies.replay import ReplayPolicy
from robodx.policy_contract import CameraRequest, Policy, PolicySpec
from robodx.records.trial import Trial
from robodx.records.versions import versions
from robodx.registry import load_plugin
from robodx.running.environment import Environment
from robodx.running.request import Request
from robodx.running.run import run
from robodx.running.workers import Job, execute
from robodx.sim import gl
from robodx.sim.render import Renderer
from robodx.tasks.base import TASKS

# Only now: importing robodx has chosen the GL backend that MuJoCo reads on import.
import mujoco  # isort: skip
import numpy as np  # isort: skip
from numpy.typing import NDArray  # isort: skip

TASK = "control/stack_cube"
CAMERAS = ("front", "wrist")
SIZES = (None, 128, 224)
# Of robosuite: as it ships, and without shadows and multisampling like our quality `fast`.
SETTINGS = ("shipped", "matched")
ROOT = Path(__file__).parent.parent
CACHE = ROOT / ".cache"
PEER = Path(__file__).parent / "peers"


@dataclass(frozen=True)
class Goal:
    """A ratio that was promised."""

    name: str
    ratio: float
    at_least: float

    def __str__(self) -> str:
        verdict = "ok" if self.ratio >= self.at_least else "MISSED"
        return f"{self.name:58} {self.ratio:7.2f}   goal {self.at_least:5.2f}   {verdict}"


def spec_for(size: int | None) -> PolicySpec:
    cameras = () if size is None else tuple(CameraRequest(name, size, size) for name in CAMERAS)
    return PolicySpec(action_space="joint", cameras=cameras, state=(), uses_language=False)


def trial(seed: int = 0) -> Trial:
    return Trial(TASK, TASKS[TASK].version, "replay", seed)


def ours(policy: Policy, size: int | None) -> float:
    """Seconds a control step of one episode: observation, policy, controller, physics, stages, record."""
    environment = Environment(trial(), spec_for(size))
    policy.reset([environment.start()])
    if size is not None:
        environment.observe()  # opens the renderer, which belongs to the reset
    start = time.perf_counter()
    while not environment.is_done:
        if environment.needs_chunk:
            asked = time.perf_counter()
            (chunk,) = policy.act([environment.observe()])
            environment.accept(chunk, time.perf_counter() - asked)
        environment.step()
    environment.trajectory()
    seconds = time.perf_counter() - start
    environment.close()
    return seconds / environment.simulation.step_count


def bare(commands: NDArray[np.float32], size: int | None) -> float:
    """Seconds a control step of the same motion with nothing but the controls, mj_step and the renderer."""
    environment = Environment(trial(), spec_for(size))
    simulation, arm = environment.simulation, environment.robot.arm
    model, data = simulation.model, simulation.data
    renderer = None if size is None else Renderer(simulation, largest=(size, size))
    before = simulation.command.joints
    start = time.perf_counter()
    for command in commands:
        if renderer is not None:
            for camera in CAMERAS:
                renderer.rgb(camera, size or 0, size or 0)
        velocity = (command[:-1] - before) / 0.05
        data.act[:] = before + arm.lead_s * velocity
        data.ctrl[:-1] = velocity
        data.ctrl[-1] = command[-1] * arm.gripper.finger_travel_m
        before = command[:-1]
        mujoco.mj_step(model, data, nstep=25)
    seconds = time.perf_counter() - start
    if renderer is not None:
        renderer.close()
    return seconds / len(commands)


def in_turns(first: Callable[[], float], second: Callable[[], float], seconds: float) -> tuple[float, float]:
    """The median of each, measured alternately for about this long."""
    first(), second()  # warm up
    a: list[float] = []
    b: list[float] = []
    end = time.perf_counter() + seconds
    while time.perf_counter() < end or len(a) < 5:
        a.append(first())
        b.append(second())
    return statistics.median(a), statistics.median(b)


def reset_seconds(n: int = 40) -> float:
    """Median time from a trial to its first observation with two 128×128 cameras, in quality fast."""
    times = []
    for seed in range(n):
        start = time.perf_counter()
        environment = Environment(trial(seed), spec_for(128), quality="fast")
        environment.observe()
        times.append(time.perf_counter() - start)
        environment.close()
    return statistics.median(times)


def worker_speedup(recorded: Path, episodes: int = 100) -> float:
    """Episodes a second, with two cameras, of two workers over one; start-up is excluded."""
    plugin = str(Path(__file__).with_name("camera_replay.py").resolve())
    load_plugin(plugin)
    job = Job(f"camera_replay:{recorded}", plugins=(plugin,))
    rates = []
    for workers in (1, 2):
        trials = [replace(trial(index % 25), suite=str(index)) for index in range(episodes)]
        ends = []
        for episode in execute(trials, job, workers=workers):
            if episode.outcome != "success":
                raise RuntimeError(f"the replay failed: {episode.error}")
            ends.append(time.perf_counter())
        # The first few come while a worker is still starting, the last few while one has nothing left to do.
        rates.append((len(ends) - 20) / (ends[-10] - ends[9]))
    return rates[1] / rates[0]


def robosuite(seconds: float) -> dict[str, float]:
    """Steps a second of robosuite's Lift, in an environment of its own that is made on first use."""
    home = CACHE / "robosuite"
    python, stamp = home / "bin" / "python", home / ".stamp"
    requirements = PEER / "robosuite-requirements.txt"
    if not stamp.exists() or stamp.read_text() != requirements.read_text():
        print(f"Making an environment for robosuite in {home} (about 1.3 GB) …", file=sys.stderr)
        subprocess.run([sys.executable, "-m", "venv", "--clear", home], check=True)
        subprocess.run([python, "-m", "pip", "install", "--quiet", "-r", requirements], check=True)
        stamp.write_text(requirements.read_text())
    command = [str(python), str(PEER / "robosuite_lift.py"), "--seconds", str(seconds)]
    print("Measuring robosuite …", file=sys.stderr)
    reply = subprocess.run(command, check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    cases = json.loads(reply.stdout)["cases"]
    return {f"{case['size']}/{case['settings']}": float(case["steps_per_s"]) for case in cases}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=6.0, help="how long each case is measured")
    parser.add_argument("--no-peer", action="store_true", help="leave robosuite out")
    parser.add_argument("--strict", action="store_true", help="exit with 1 if a goal is missed")
    arguments = parser.parse_args()
    CACHE.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        recorded = Path(folder) / "recorded"
        run(Request((TASK,), "expert", 25), recorded, Execution(workers=1))
        policy = ReplayPolicy(str(recorded))
        policy.reset([Environment(trial(), spec_for(None)).start()])
        commands = policy.recorded(trial().id)
        rates = {}
        for size in SIZES:
            mine, raw = in_turns(partial(ours, policy, size), partial(bare, commands, size), arguments.seconds)
            rates[str(size)] = {"ours": 1 / mine, "bare": 1 / raw}
        reset_ms = 1000 * reset_seconds()
        speedup = worker_speedup(recorded)
    peer = {} if arguments.no_peer else robosuite(arguments.seconds)
    goals = [
        *(Goal(f"{label(key)}: of the bare loop", rate["ours"] / rate["bare"], 0.85) for key, rate in rates.items()),
        Goal("2 workers over 1, two cameras at 128", speedup, 1.8),
        Goal("reset with two cameras at 128: times within 15 ms", 15 / reset_ms, 1.0),
    ]
    if peer:
        goals += [
            Goal("two cameras at 128: over robosuite as shipped", rates["128"]["ours"] / peer["128/shipped"], 20),
            Goal("two cameras at 128: over robosuite, matched settings", rates["128"]["ours"] / peer["128/matched"], 6),
            Goal("state only: over robosuite", rates["None"]["ours"] / peer["None/shipped"], 4),
        ]
    print(f"{'control steps a second':28} {'ours':>8} {'bare':>8} {'shipped':>8} {'matched':>8}")
    for key, rate in rates.items():
        peers = [f"{peer[case]:8.1f}" if (case := f"{key}/{kind}") in peer else " " * 8 for kind in SETTINGS]
        print(f"{label(key):28} {rate['ours']:8.1f} {rate['bare']:8.1f} {' '.join(peers)}")
    print(f"reset {reset_ms:.1f} ms\n")
    print("\n".join(str(goal) for goal in goals))
    facts = versions(gl_renderer=gl.renderer_name())
    results = {"steps_per_s": rates, "robosuite_steps_per_s": peer, "reset_ms": reset_ms, "worker_speedup": speedup}
    report = {**results, "goals": [asdict(goal) for goal in goals], "versions": facts}
    (CACHE / "bench.json").write_text(json.dumps(report, indent=2))
    print(f"\nWrote {CACHE / 'bench.json'}")
    if arguments.strict and any(goal.ratio < goal.at_least for goal in goals):
        sys.exit(1)


def label(key: str) -> str:
    return "state only" if key == "None" else f"two cameras at {key}"


if __name__ == "__main__":
    main()
