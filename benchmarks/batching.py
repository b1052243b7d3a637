"""How well a batch of environments and a policy that takes time keep each other busy.

16 environments without cameras replay recorded commands; the policy takes 20 ms a call, whatever the call's size, and
answers with 1 or with 8 actions. All of it is measured in one invocation and in turns, in control steps a second:

- half batches: `rollout`, which steps one half while the policy infers for the other;
- policy alone: its calls back to back, if each were for half of the environments and every action were executed;
- environments alone: the same `rollout` with a policy that takes no time;
- lockstep: all environments asked in one call, then all stepped, for comparison.

The goal is 80% of the smaller of the two limits. A call that costs the same for 16 as for 8 favours lockstep where the
policy is the bottleneck: it makes half as many calls. So twice the environments, in calls of 16, are measured too.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from robodx.running.run import Execution
from robodx.running.threads import pin

pin()

# ruff: noqa: E402  (threads are pinned before numpy is imported)
from robodx.policies.replay import ReplayPolicy
from robodx.policy_contract import ActionChunk, EpisodeStart, Observation, Policy, PolicySpec
from robodx.records.trial import Trial
from robodx.running.environment import Environment
from robodx.running.request import Request
from robodx.running.rollout import rollout
from robodx.running.run import run
from robodx.tasks.base import TASKS

TASK = "control/stack_cube"
BATCH = 16
CALL_S = 0.020
CHUNKS = (1, 8)
# Of each environment: so that ending, building the next and refilling the slot are part of what is measured.
EPISODES = 2
GOAL = 0.8


# All commands of an episode, by the seed of its situation.
Recorded = Mapping[int, ActionChunk]


class TimedReplay:
    """Recorded commands, some of them an answer; every call takes as long as any other."""

    spec = PolicySpec(action_space="joint", state=(), uses_language=False)

    def __init__(self, recorded: Recorded, chunk: int, seconds: float) -> None:
        self._recorded, self._chunk, self._seconds = recorded, chunk, seconds
        self._commands: dict[str, ActionChunk] = {}
        self.calls: list[int] = []  # the size of each

    def reset(self, starts: Sequence[EpisodeStart]) -> None:
        self._commands |= {start.episode_id: self._recorded[start.situation_seed] for start in starts}

    def act(self, observations: Sequence[Observation]) -> Sequence[ActionChunk]:
        self.calls.append(len(observations))
        if self._seconds:
            time.sleep(self._seconds)
        return [
            self._commands[observation.episode_id][observation.step : observation.step + self._chunk]
            for observation in observations
        ]

    def finish(self, ids: Sequence[str]) -> None:
        for episode_id in ids:
            del self._commands[episode_id]


class Measured(NamedTuple):
    steps_per_s: float
    # Environments a call.
    call_size: float


class Case(NamedTuple):
    """One round with one length of chunk."""

    halves: Measured
    environments: Measured
    lockstep: Measured
    doubled: Measured
    # Control steps a second.
    policy: float

    @property
    def of_the_smaller_limit(self) -> float:
        return self.halves.steps_per_s / min(self.policy, self.environments.steps_per_s)


def trials(batch: int) -> list[Trial]:
    """Situations change fastest, so that the episodes of one time are not all of the same length."""
    version = TASKS[TASK].version
    return [Trial(TASK, version, "replay", index % BATCH, repeat=index // BATCH) for index in range(EPISODES * batch)]


def in_halves(policy: Policy, batch: int) -> Iterable[int]:
    for episode, _ in rollout(trials(batch), policy, batch=batch):
        if episode.outcome != "success":
            raise RuntimeError(f"the replay failed: {episode.error}")
        yield episode.steps


def in_lockstep(policy: Policy, batch: int) -> Iterable[int]:
    """The steps of each episode: the loop with neither threads nor halves."""
    waiting, live = trials(batch), list[Environment]()
    while waiting or live:
        while waiting and len(live) < batch:
            live.append(Environment(waiting.pop(0), policy.spec))
            policy.reset([live[-1].start()])
        asking = [environment for environment in live if environment.needs_chunk]
        if asking:
            asked_s = time.perf_counter()
            chunks = policy.act([environment.observe() for environment in asking])
            for environment, chunk in zip(asking, chunks, strict=True):
                environment.accept(chunk, time.perf_counter() - asked_s)
        for environment in live:
            environment.step()
        for environment in [one for one in live if one.is_done]:
            live.remove(environment)
            policy.finish([environment.trial.id])
            environment.trajectory().digest()
            environment.close()
            yield environment.simulation.step_count


def measure(execute: Callable[[Policy, int], Iterable[int]], policy: TimedReplay, batch: int) -> Measured:
    """From the first trial's start to the last one's end: filling and draining count."""
    policy.calls.clear()
    start = time.perf_counter()
    steps = sum(execute(policy, batch))
    return Measured(steps / (time.perf_counter() - start), statistics.mean(policy.calls))


def calls_per_s(policy: TimedReplay, calls: int = 25) -> float:
    """Back to back, with nothing in between."""
    start = time.perf_counter()
    for _ in range(calls):
        policy.act([])
    return calls / (time.perf_counter() - start)


def record(folder: Path) -> Recorded:
    """What the expert does in each situation."""
    run(Request((TASK,), "expert", BATCH), folder, Execution(workers=1))
    replay = ReplayPolicy(str(folder))
    starts = [Environment(trial, replay.spec).start() for trial in trials(BATCH)[:BATCH]]
    replay.reset(starts)
    return {start.situation_seed: replay.recorded(start.episode_id) for start in starts}


def compare(recorded: Recorded, chunk: int) -> Case:
    timed, instant = TimedReplay(recorded, chunk, CALL_S), TimedReplay(recorded, chunk, 0.0)
    return Case(
        halves=measure(in_halves, timed, BATCH),
        environments=measure(in_halves, instant, BATCH),
        lockstep=measure(in_lockstep, timed, BATCH),
        doubled=measure(in_halves, timed, 2 * BATCH),
        policy=calls_per_s(timed) * BATCH / 2 * chunk,
    )


ROWS: dict[str, Callable[[Case], float]] = {
    f"half batches of {BATCH}": lambda case: case.halves.steps_per_s,
    f"the policy alone, {BATCH // 2} environments a call": lambda case: case.policy,
    "the environments alone": lambda case: case.environments.steps_per_s,
    f"lockstep of {BATCH}": lambda case: case.lockstep.steps_per_s,
    f"half batches of {2 * BATCH}": lambda case: case.doubled.steps_per_s,
    f"environments a call: half batches of {BATCH}": lambda case: case.halves.call_size,
    f"environments a call: lockstep of {BATCH}": lambda case: case.lockstep.call_size,
    f"environments a call: half batches of {2 * BATCH}": lambda case: case.doubled.call_size,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5, help="how often all of it is measured; medians are shown")
    parser.add_argument("--strict", action="store_true", help="exit with 1 if a goal is missed")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        recorded = record(Path(folder) / "recorded")
    cases = {chunk: [compare(recorded, chunk) for _ in range(arguments.rounds)] for chunk in CHUNKS}
    print(f"{'control steps a second':44} " + " ".join(f"{f'chunks of {chunk}':>12}" for chunk in CHUNKS))
    for label, value in ROWS.items():
        print(f"{label:44} " + " ".join(f"{statistics.median(map(value, cases[chunk])):12.1f}" for chunk in CHUNKS))
    print()
    has_missed = False
    for chunk in CHUNKS:
        # Of each round by itself: what a shared machine has left changes from one to the next.
        ratio = statistics.median(case.of_the_smaller_limit for case in cases[chunk])
        has_missed |= ratio < GOAL
        verdict = "ok" if ratio >= GOAL else "MISSED"
        print(f"chunks of {chunk}: {ratio:.2f} of the smaller limit, goal {GOAL:.2f}: {verdict}")
    if arguments.strict and has_missed:
        sys.exit(1)


if __name__ == "__main__":
    main()
