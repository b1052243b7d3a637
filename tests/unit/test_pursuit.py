"""How the cube of the pursuit tasks rides, and that a late hand loses it: the earlier, the faster it goes."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import numpy as np
import pytest

from robodx.experts.grasps import yaw_of
from robodx.policy_contract import PolicySpec, make_policy
from robodx.records.trial import Trial
from robodx.running.environment import Environment
from robodx.running.rollout import rollout
from robodx.scoring.conditions import After
from robodx.scoring.events import RunBelt
from robodx.sim.geometry import Array, Vector
from robodx.sim.scene import Scene
from robodx.tasks.base import TASKS
from robodx.tasks.perception import VIVID

SLOW, ALTERNATING, RESTLESS = (f"pursuit/pick_from_{name}_belt" for name in ("slow", "alternating", "restless"))
EVERY = pytest.mark.parametrize("task", [SLOW, ALTERNATING, RESTLESS])
SEEDS = range(50)


def runs(task: str, seed: int) -> list[tuple[float, float]]:
    """When the belt starts to run how fast."""
    found = []
    for event in TASKS[task].situation(seed).events:
        assert isinstance(event.when, After) and isinstance(event.effect, RunBelt)
        found.append((event.when.seconds, event.effect.speed_m_s))
    return found


def speeds_m_s(task: str) -> Array:
    return np.abs([speed for seed in SEEDS for _, speed in runs(task, seed)])


def states(task: str, seed: int) -> Iterator[Environment]:
    """Each step of an episode in which nobody touches the cube."""
    environment = Environment(Trial(task, TASKS[task].version, "still", seed), PolicySpec(action_space="joint"))
    hold = np.append(environment.simulation.command.joints, 1.0).astype(np.float32)[None]
    while not environment.is_done:
        environment.accept(hold, 0.0)
        environment.step()
        yield environment


def test_each_belt_is_faster_than_the_one_before() -> None:
    slow, alternating, restless = map(speeds_m_s, (SLOW, ALTERNATING, RESTLESS))
    assert slow.min() >= 0.02 and slow.max() < alternating.min()
    assert alternating.max() < restless.min() and restless.max() <= 0.14


def test_one_runs_evenly_one_to_and_fro_and_one_at_odd_times() -> None:
    for seed in SEEDS:
        assert len(runs(SLOW, seed)) == 1
        times, speeds = map(np.array, zip(*runs(ALTERNATING, seed), strict=True))
        assert np.ptp(np.diff(times)) < 1e-9 and np.all(speeds[1:] == -speeds[:-1])
        times, speeds = map(np.array, zip(*runs(RESTLESS, seed), strict=True))
        assert np.ptp(np.diff(times)) > 0.2 and np.ptp(np.abs(speeds)) > 0.02
        assert 0 < np.sum(np.sign(speeds[1:]) != np.sign(speeds[:-1])) < len(speeds) - 1, "neither never nor always"


def on_belt(scene: Scene, position: Vector) -> Vector:
    belt = scene.thing("conveyor")
    return (belt.pose @ belt.frame("belt")).inverse().apply(position)


@EVERY
def test_the_belt_runs_until_the_time_is_up_and_the_cube_stays_in_reach(task: str) -> None:
    for seed in SEEDS:
        scene = TASKS[task].situation(seed).scene
        start = on_belt(scene, scene.thing("cube").pose.position)[0]
        legs = [*runs(task, seed), (TASKS[task].time_limit_s, 0.0)]
        places = start + np.cumsum([speed * (end - begin) for (begin, speed), (end, _) in pairwise(legs)])
        assert np.abs([start, *places]).max() <= 0.27 + 1e-9


@EVERY
def test_the_cube_rides_as_the_belt_runs_and_neither_sinks_nor_tips(task: str) -> None:
    scene = TASKS[task].situation(0).scene
    start, off, _ = on_belt(scene, scene.thing("cube").pose.position)
    places, times = [], []
    for environment in states(task, 0):
        pose = environment.world.pose("cube")
        along, across, high = on_belt(scene, pose.position)
        places.append(along)
        times.append(environment.world.time_s)
        assert across == pytest.approx(off, abs=3e-4) and high == pytest.approx(0.02, abs=5e-4)
        assert pose.axis("z")[2] > 0.9999
    begins, speeds = map(np.array, zip(*runs(task, 0), strict=True))
    ends = np.append(begins[1:], np.inf)
    ridden = np.clip(np.array(times)[:, None], begins, ends) - begins
    assert places == pytest.approx(start + ridden @ speeds, abs=0.01)


@EVERY
def test_belts_and_cubes_are_anywhere_turned_and_of_any_colour(task: str) -> None:
    scenes = [TASKS[task].situation(seed).scene for seed in SEEDS]
    assert {scene.thing("cube").colour for scene in scenes} == set(VIVID)
    for name in ("conveyor", "cube"):
        assert np.ptp([scene.thing(name).pose.position[0] for scene in scenes]) > 0.1
        assert np.ptp([yaw_of(scene.thing(name).pose) for scene in scenes]) > 0.4
    assert np.ptp([scene.thing("cube").pose.position[1] for scene in scenes]) > 0.2


@EVERY
def test_a_blind_plan_misses_the_cube(task: str) -> None:
    trials = [Trial(task, TASKS[task].version, "open_loop", seed) for seed in range(2)]
    assert not any(episode.success for episode, _ in rollout(trials, make_policy("open_loop")))


@pytest.mark.parametrize(
    ("latency_s", "expected"), [(0.05, (True, True, True)), (0.15, (True, True, False)), (0.5, (False, False, False))]
)
def test_the_faster_the_cube_the_less_a_hand_may_be_late(latency_s: float, expected: tuple[bool, ...]) -> None:
    clock = f"realtime:{latency_s}"
    trials = [Trial(task, TASKS[task].version, "expert", 1, clock=clock) for task in (SLOW, ALTERNATING, RESTLESS)]
    found = [episode.success for episode, _ in rollout(trials, make_policy("expert"))]
    assert tuple(found) == expected
