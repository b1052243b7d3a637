"""The rollout of a batch: one half is stepped while the policy infers for the other, and nothing else changes."""

from __future__ import annotations

import signal
import threading
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from robodx.policy_contract import (
    ActionChunk,
    CameraRequest,
    EpisodeStart,
    Observation,
    Policy,
    PolicySpec,
    make_policy,
)
from robodx.records.episode import Episode
from robodx.records.schema import TIMINGS
from robodx.records.trial import Trial
from robodx.running.environment import Environment
from robodx.running.policy_channel import PATIENCE_S
from robodx.running.rollout import rollout
from robodx.tasks.base import TASKS

# Far longer than any of it takes: a test that would hang fails instead.
LONG_S = 30.0
HOLD = np.array([[0, 0, 0, 0, 0, 0, 1]], dtype=np.float32)
PERTURBED = (("frame_drop", 0.3), ("packet_loss", 0.2))
NAN = np.full_like(HOLD, np.nan)


class Scripted:
    """Holds still, and after as many steps as its script says it sends nonsense, which ends the episode."""

    def __init__(self, steps: Callable[[int], int] = lambda seed: 6, chunk: int = 1, **spec: object) -> None:
        self.spec = PolicySpec(**({"state": ()} | spec))  # type: ignore[arg-type]
        self.steps, self.chunk = steps, chunk
        self.seeds: dict[str, int] = {}
        self.calls: list[tuple[str, int]] = []

    def reset(self, starts: Sequence[EpisodeStart]) -> None:
        self.calls.append(("reset", len(starts)))
        self.seeds |= {start.episode_id: start.situation_seed for start in starts}

    def act(self, observations: Sequence[Observation]) -> Sequence[ActionChunk]:
        self.calls.append(("act", len(observations)))
        return [
            NAN if o.step >= self.steps(self.seeds[o.episode_id]) else np.repeat(HOLD, self.chunk, axis=0)
            for o in observations
        ]

    def finish(self, ids: Sequence[str]) -> None:
        self.calls.append(("finish", len(ids)))
        for episode_id in ids:
            del self.seeds[episode_id]


class Wanderer:
    """Chunks of which a part is executed, and that depend on all that is seen and on the policy's own randomness."""

    spec = PolicySpec(cameras=(CameraRequest("front", 24, 32),), state=("ee_pose",), replan=3)

    def __init__(self) -> None:
        self.rngs: dict[str, np.random.Generator] = {}

    def reset(self, starts: Sequence[EpisodeStart]) -> None:
        self.rngs |= {start.episode_id: np.random.default_rng(start.policy_seed) for start in starts}

    def act(self, observations: Sequence[Observation]) -> Sequence[ActionChunk]:
        return [self._act(observation) for observation in observations]

    def _act(self, observation: Observation) -> ActionChunk:
        chunk = self.rngs[observation.episode_id].uniform(-0.03, 0.03, (4, 7))
        chunk[:, 0] += 0.01 * observation.images["front"].mean() / 255 - 0.05 * observation.state["ee_pose"][0]
        chunk[:, 6] = observation.step % 2
        # An end of its own for each.
        return NAN if observation.step > 12 and chunk[0, 1] > 0.02 else chunk.astype(np.float32)

    def finish(self, ids: Sequence[str]) -> None:
        for episode_id in ids:
            del self.rngs[episode_id]


def trial(seed: int = 0, task: str = "primitive/pick_cube") -> Trial:
    return Trial(task, TASKS[task].version, "scripted", seed)


def threads() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name == "robodx-policy"]


def rows(trials: Sequence[Trial], policy: Policy, batch: int) -> dict[str, Episode]:
    """Without what is measured in seconds of the real world."""
    episodes = [finished.episode for finished in rollout(trials, policy, batch=batch)]
    timeless: dict[str, Any] = dict.fromkeys(TIMINGS, 0.0)
    return {e.trial_id: replace(e, **timeless) for e in episodes}


AtEach = Callable[[str, Callable[[Environment], object]], None]


@pytest.fixture
def at_each(monkeypatch: pytest.MonkeyPatch) -> AtEach:
    """`at_each("step", watch)`: `watch(environment)` is called before each such call."""

    def at_each(method: str, watch: Callable[[Environment], object]) -> None:
        original = getattr(Environment, method)

        def watched(environment: Environment, *arguments: object, **named: object) -> object:
            watch(environment)
            return original(environment, *arguments, **named)

        monkeypatch.setattr(Environment, method, watched)

    return at_each


class Meetings:
    """Lets an answer be taken only when the policy is at work on the other of two episodes, if that one stands in line.

    So what could happen at the same time does, whatever the machine does meanwhile.
    """

    def __init__(self, at_each: AtEach) -> None:
        self.change = threading.Condition()
        self.asking: set[str] = set()
        self.begun: set[str] = set()
        self.met: list[bool] = []
        at_each("observe", self._observe)
        at_each("accept", self._accept)

    def begin(self, episode_id: str) -> None:
        """For the policy to say."""
        with self.change:
            self.begun.add(episode_id)
            self.change.notify_all()

    def _observe(self, environment: Environment) -> None:
        with self.change:
            self.asking.add(environment.trial.id)
            self.begun.discard(environment.trial.id)

    def _accept(self, environment: Environment) -> None:
        with self.change:
            self.asking.discard(environment.trial.id)
            if self.asking:
                self.met.append(self.change.wait_for(lambda: self.asking <= self.begun, LONG_S))


@pytest.mark.parametrize("name", ["expert", "wanderer"])
def test_episodes_are_the_same_at_any_batch(name: str) -> None:
    trials = [
        *(trial(seed) for seed in range(4)),
        *(trial(seed, "control/stack_cube") for seed in range(3)),
        *(replace(trial(seed), perturbations=PERTURBED, clock="realtime:0.1") for seed in range(3)),
    ]
    make: Callable[[], Policy] = Wanderer if name == "wanderer" else lambda: make_policy("expert")
    alone = rows(trials, make(), 1)
    assert len({episode.steps for episode in alone.values()}) > 3
    assert not any(episode.outcome == "error" for episode in alone.values())
    for batch in (2, 5, 16):
        assert rows(trials, make(), batch) == alone


def test_one_half_is_stepped_while_the_policy_infers_for_the_other(at_each: AtEach) -> None:
    meetings = Meetings(at_each)
    change = meetings.change
    moved: Counter[str] = Counter()
    inferring: set[str] = set()
    overlaps: list[set[str]] = []

    class Waits(Scripted):
        """Has no answer for one before the other has done something with its own."""

        last: str | None = None

        def act(self, observations: Sequence[Observation]) -> Sequence[ActionChunk]:
            (asked,) = (observation.episode_id for observation in observations)
            inferring.add(asked)
            meetings.begin(asked)
            if self.calls[-1][0] == "act" and self.last not in (asked, None):
                with change:
                    waits.append(change.wait_for(lambda: moved[str(self.last)] >= answers[str(self.last)], LONG_S))
            self.last = asked
            answers[asked] += 1
            inferring.remove(asked)
            return super().act(observations)

    answers: Counter[str] = Counter()
    waits: list[bool] = []

    def move(environment: Environment) -> None:
        with change:
            overlaps.append(inferring - {environment.trial.id})
            assert environment.trial.id not in inferring
            moved[environment.trial.id] += 1
            change.notify_all()

    at_each("step", move)
    at_each("close", move)
    episodes = rows([trial(0), trial(1)], Waits(), 2)
    assert [episode.steps for episode in episodes.values()] == [6, 6]
    assert meetings.met and all(meetings.met) and waits and all(waits)
    assert any(overlaps)


def test_a_policy_is_called_by_one_thread_and_the_simulator_stays_in_the_callers(
    at_each: AtEach,
) -> None:
    callers: set[threading.Thread] = set()
    simulators: set[threading.Thread] = set()
    lock = threading.Lock()
    collisions: list[str] = []

    class Watched(Scripted):
        def __getattribute__(self, name: str) -> object:
            attribute = super().__getattribute__(name)
            if name not in ("reset", "act", "finish"):
                return attribute

            def watched(argument: object) -> object:
                callers.add(threading.current_thread())
                if not lock.acquire(blocking=False):
                    collisions.append(name)
                    return attribute(argument)
                try:
                    return attribute(argument)
                finally:
                    lock.release()

            return watched

    for method in ("__init__", "observe", "accept", "step", "close"):
        at_each(method, lambda environment: simulators.add(threading.current_thread()))
    trials = [trial(seed) for seed in range(9)]
    list(rollout(trials, Watched(lambda seed: 4 + seed), batch=4))
    assert not collisions
    (caller,) = callers
    assert caller is not threading.main_thread() and not caller.is_alive()
    assert simulators == {threading.current_thread()}
    callers.clear()
    list(rollout(trials, Watched(lambda seed: 4 + seed), batch=1))
    assert callers == {threading.current_thread()}, "a batch of one needs no thread"


@pytest.mark.parametrize("thrown", [ValueError("not this one"), SystemExit(3)])
@pytest.mark.parametrize("method", ["reset", "act", "finish"])
def test_one_that_fails_errs_alone(method: str, thrown: BaseException) -> None:
    bad = trial(seed=3).id

    class Picky(Scripted):
        def reset(self, starts: Sequence[EpisodeStart]) -> None:
            super().reset(starts)
            self.check("reset", [start.episode_id for start in starts])

        def act(self, observations: Sequence[Observation]) -> Sequence[ActionChunk]:
            if any(observation.step >= 2 for observation in observations):
                self.check("act", [observation.episode_id for observation in observations])
            return super().act(observations)

        def finish(self, ids: Sequence[str]) -> None:
            super().finish(ids)
            self.check("finish", ids)

        def check(self, called: str, ids: Sequence[str]) -> None:
            if called == method and bad in ids:
                raise thrown

    trials = [trial(seed) for seed in range(8)]
    healthy = rows(trials, Scripted(), 1)
    episodes = rows(trials, Picky(), 6)
    assert episodes[bad].outcome == "error"
    assert repr(thrown.args[0]).strip("'") in (episodes[bad].error or "")
    assert "in check" in (episodes[bad].error or ""), "the traceback shows where"
    assert {**episodes, bad: healthy[bad]} == healthy


@pytest.mark.parametrize("batch", [2, 4, 8])
def test_a_policy_with_a_memory_is_not_asked_twice_for_a_step(batch: int) -> None:
    """Some rows of a call that fails have been worked out before the one that raises."""

    class Moody(Wanderer):
        def _act(self, observation: Observation) -> ActionChunk:
            chunk = super()._act(observation)
            if observation.episode_id == bad and observation.step >= 3:
                raise ValueError("not this one")
            return chunk

    bad = trial(seed=3).id
    trials = [trial(seed) for seed in range(8)]
    alone, together = rows(trials, Moody(), 1), rows(trials, Moody(), batch)
    assert alone[bad].outcome == together[bad].outcome == "error"
    alone.pop(bad), together.pop(bad)
    assert together == alone


def test_slots_are_refilled_at_once_and_calls_keep_their_size() -> None:
    lengths = [3, 17, 8, 5, 29, 4, 11, 6, 14, 2, 7, 23, 9, 3, 12, 5]
    policy = Scripted(lambda seed: lengths[seed])
    episodes = rows([trial(seed) for seed in range(len(lengths))], policy, 6)
    assert {episode.seed: episode.steps for episode in episodes.values()} == dict(enumerate(lengths))
    live = most = 0
    for kind, _ in policy.calls:
        live += {"reset": 1, "act": 0, "finish": -1}[kind]
        most = max(most, live)
    assert (live, most) == (0, 6)
    last_reset = max(index for index, (kind, _) in enumerate(policy.calls) if kind == "reset")
    sizes = [size for kind, size in policy.calls[:last_reset] if kind == "act"]
    assert len(sizes) > 10 and set(sizes) == {3}, "as long as trials wait, every call is for half of the slots"


def test_a_policy_may_write_every_reply_into_the_same_memory(at_each: AtEach) -> None:
    meetings = Meetings(at_each)

    class Frugal(Scripted):
        buffer = np.zeros((1, 7), dtype=np.float32)

        def act(self, observations: Sequence[Observation]) -> Sequence[ActionChunk]:
            ((self.buffer[:],), (observation,)) = super().act(observations), observations
            self.buffer[0, 6] = 0.2 if self.seeds[observation.episode_id] else 0.9
            meetings.begin(observation.episode_id)
            return [self.buffer]

    openings: dict[int, list[float]] = {}
    for episode, trajectory in rollout([trial(0), trial(1)], Frugal(), batch=2):
        assert trajectory is not None
        openings[episode.seed] = trajectory.actions[:, 6].tolist()
    assert meetings.met and all(meetings.met)
    assert openings == {0: [pytest.approx(0.9)] * 6, 1: [pytest.approx(0.2)] * 6}


class Hangs(Scripted):
    """Does not come back from its second call before it is let go."""

    def __init__(self, meanwhile: Callable[[], object] = lambda: None) -> None:
        super().__init__(chunk=400)
        self.meanwhile = meanwhile
        self.let_go, self.is_hanging = threading.Event(), False

    def act(self, observations: Sequence[Observation]) -> Sequence[ActionChunk]:
        if ("act", 1) in self.calls:
            self.is_hanging = True
            self.meanwhile()
            self.let_go.wait(LONG_S)
            self.is_hanging = False
        return super().act(observations)


def test_an_interrupt_is_not_held_up_by_a_policy_that_hangs(at_each: AtEach) -> None:
    main = threading.main_thread().ident
    assert main is not None
    begun: list[str] = []
    third_begins, is_over = threading.Event(), threading.Event()

    def note(environment: Environment) -> None:
        begun.append(environment.trial.id)
        if len(begun) == 3:
            third_begins.set()

    def interrupt() -> None:
        # By then the first episode's end stands in line.
        third_begins.wait(LONG_S)
        # Python drops what is raised while it frees something, so a person may have to press twice.
        while not is_over.is_set():
            signal.pthread_kill(main, signal.SIGINT)
            is_over.wait(5 * PATIENCE_S)

    at_each("start", note)
    policy = Hangs(interrupt)
    with pytest.raises(KeyboardInterrupt):
        list(rollout([trial(seed) for seed in range(4)], policy, batch=2))
    is_over.set()
    assert policy.is_hanging
    (thread,) = threads()
    assert thread.daemon, "nor may it hold up the end of the process"
    calls = len(policy.calls)
    policy.let_go.set()
    thread.join(LONG_S)
    assert not thread.is_alive() and len(policy.calls) == calls + 1, "what stood in line is not asked any more"


def test_what_a_policy_throws_to_end_the_run_ends_it() -> None:
    def stop() -> None:
        raise KeyboardInterrupt

    # Python's own handler, which cannot tell whose interrupt it is; the command line's can.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    with pytest.raises(KeyboardInterrupt):
        list(rollout([trial(seed) for seed in range(4)], Hangs(stop), batch=2))
    signal.signal(signal.SIGINT, before)
    assert not threads()


def test_closing_early_ends_the_thread_and_closes_the_environments(
    at_each: AtEach,
) -> None:
    closed: set[str] = set()
    at_each("close", lambda environment: closed.add(environment.trial.id))
    policy = Scripted(lambda seed: 2 if seed == 0 else 400)
    finished = rollout([trial(seed) for seed in range(4)], policy, batch=3)
    assert not threads(), "nothing runs before the first is asked for"
    first, _ = next(finished)
    assert first.seed == 0 and len(threads()) == 1
    finished.close()  # type: ignore[attr-defined]
    assert not threads()
    calls = len(policy.calls)
    assert closed - {trial(3).id} == {trial(seed).id for seed in range(3)}, "whether the last has begun is open"
    assert next(finished, None) is None and len(policy.calls) == calls


def test_a_time_of_inference_is_that_of_the_call_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    now = threading.local()

    def clock() -> float:
        """Runs on at every look; by itself in each thread, and elsewhere than in the caller's by one."""
        now.s = getattr(now, "s", 0.0) + (10.0 if threading.current_thread() is threading.main_thread() else 1.0)
        return float(now.s)

    monkeypatch.setattr("robodx.running.rollout.time.perf_counter", clock)
    for _, trajectory in rollout([trial(seed) for seed in range(5)], Scripted(), batch=4):
        assert trajectory is not None and set(trajectory.inference_s) == {1.0}
