"""Clocks: what a policy's thinking time does to the world."""

from __future__ import annotations

import time
from collections.abc import Sequence

import numpy as np
import pytest

from robodx.errors import UserError
from robodx.policy_contract import ActionChunk, EpisodeStart, Observation, PolicySpec, make_policy
from robodx.records.clock import Clock
from robodx.records.trajectory import Trajectory
from robodx.records.trial import Trial
from robodx.running.rollout import rollout

TASK = "primitive/pick_cube"


class Stepping:
    """Turns the first joint by 0.01 rad more with every action; chunks of 4, each answer after `seconds`."""

    spec = PolicySpec(action_space="joint", state=("joint_positions",), uses_language=False)

    def __init__(self, seconds: float = 0.0) -> None:
        self.seconds, self.asked = seconds, []  # type: tuple[float, list[int]]

    def reset(self, starts: Sequence[EpisodeStart]) -> None: ...

    def act(self, observations: Sequence[Observation]) -> Sequence[ActionChunk]:
        time.sleep(self.seconds)
        return [self._act(observation) for observation in observations]

    def _act(self, observation: Observation) -> ActionChunk:
        self.asked.append(observation.step)
        joints = np.repeat(np.append(observation.state["joint_positions"], 1.0)[None], 4, axis=0)
        joints[:, 0] += 0.01 * np.arange(1, 5)
        return joints.astype(np.float32)

    def finish(self, ids: Sequence[str]) -> None: ...


def run(clock: str, policy: Stepping) -> Trajectory:
    ((episode, trajectory),) = rollout([Trial(TASK, 2, "stepping", 0, clock=clock)], policy)
    assert trajectory is not None, episode.error
    return trajectory


def test_in_lockstep_the_world_waits() -> None:
    policy = Stepping(seconds=0.001)
    trajectory = run("lockstep", policy)
    assert policy.asked[:3] == [0, 4, 8]
    assert np.isfinite(trajectory.actions).all()


def test_in_real_time_the_last_command_holds_until_the_chunk_arrives() -> None:
    policy = Stepping()
    trajectory = run("realtime:0.1", policy)
    assert policy.asked[:3] == [0, 6, 12], "2 steps of thinking, 4 of acting"
    thinking = [bool(np.isnan(action).all()) for action in trajectory.actions[:12]]
    assert thinking == [True, True, False, False, False, False] * 2
    start = trajectory.qpos[0, :7]
    assert np.abs(trajectory.commands[:2, :7] - start).max() < 1e-3, "before the first action, the initial pose"
    assert np.array_equal(trajectory.commands[6], trajectory.commands[5])
    assert np.array_equal(trajectory.commands[7], trajectory.commands[5])
    assert trajectory.commands[8, 0] == trajectory.actions[8, 0], "a late chunk starts at its first action"


def test_no_latency_in_real_time_is_lockstep() -> None:
    assert run("realtime:0", Stepping()).digest() == run("lockstep", Stepping()).digest()


def test_a_declared_latency_is_reproducible_whatever_the_policy_takes() -> None:
    assert run("realtime:0.1", Stepping()).digest() == run("realtime:0.1", Stepping(seconds=0.002)).digest()


def test_a_measured_latency_is_what_the_calls_took() -> None:
    policy = Stepping(seconds=0.07)
    trajectory = run("realtime:measured", policy)
    assert (trajectory.inference_s >= 0.07).all()
    expected = np.ceil(trajectory.inference_s * 20 - 1e-9) + 4
    assert np.array_equal(np.diff(trajectory.query_steps), expected[:-1])


def test_every_query_is_recorded() -> None:
    policy = Stepping()
    trajectory = run("realtime:0.1", policy)
    assert trajectory.query_steps.tolist() == policy.asked
    assert len(trajectory.inference_s) == len(policy.asked)


@pytest.mark.parametrize("text", ["realtime", "realtime:", "realtime:-1", "realtime:nan", "realtime:99", "banana", ""])
def test_another_clock_is_refused(text: str) -> None:
    with pytest.raises(UserError, match="There are: lockstep, realtime:SECONDS"):
        Clock.parse(text)


def test_seconds_may_be_written_with_their_unit() -> None:
    assert Clock.parse("realtime:0.1s") == Clock.parse("realtime:0.1")
    assert Clock.parse("realtime:0.1").delay_steps(9.9, 20.0) == 2
    assert not Clock.parse("realtime:measured").is_reproducible


def test_the_expert_is_slowed_but_not_stopped_by_a_latency() -> None:
    episodes = {
        clock: next(iter(rollout([Trial(TASK, 2, "expert", 0, clock=clock)], make_policy("expert")))).episode
        for clock in ("lockstep", "realtime:0.1")
    }
    assert all(episode.success for episode in episodes.values())
    assert episodes["realtime:0.1"].steps > episodes["lockstep"].steps
