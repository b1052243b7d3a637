"""What happens in the dynamic tasks: when, how fast, where, and what does not count."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

import numpy as np
import pytest

from robodx.experts.skills import Hand, Steps, Waypoint, pick, press
from robodx.policies.expert import to_action
from robodx.policy_contract import PolicySpec, make_policy
from robodx.records.trial import Trial
from robodx.running.environment import Environment
from robodx.running.rollout import rollout
from robodx.scoring.conditions import After
from robodx.scoring.events import Event, Roll, RunBelt, SwapColours, SwapPlaces, SwitchLamp
from robodx.sim.geometry import Pose
from robodx.sim.placement import place
from robodx.tasks.base import TASKS

SEEDS = range(50)
TASK_NAMES = [name for name in TASKS if TASKS[name].family == "dynamic"]


def trial(task: str, policy: str, seed: int) -> Trial:
    return Trial(f"dynamic/{task}", TASKS[f"dynamic/{task}"].version, policy, seed)


def events(task: str, seed: int) -> tuple[Event, ...]:
    return TASKS[f"dynamic/{task}"].situation(seed).events


def times_s(task: str, effect: type) -> list[float]:
    """Of every such effect, over all seeds, in their order."""
    return [
        event.when.seconds
        for seed in SEEDS
        for event in events(task, seed)
        if isinstance(event.when, After) and isinstance(event.effect, effect)
    ]


def speeds_m_s(task: str) -> list[float]:
    effects = [event.effect for seed in SEEDS for event in events(task, seed)]
    return [math.hypot(*effect.velocity_m_s) for effect in effects if isinstance(effect, Roll)]


def spans(values: list[float], low: float, high: float) -> bool:
    """Within the bounds, and making use of most of what lies between them."""
    return low <= min(values) and max(values) <= high and max(values) - min(values) > 0.7 * (high - low)


def environment(task: str, seed: int = 0) -> Environment:
    return Environment(trial(task, "still", seed), PolicySpec(action_space="ee_pose"))


def until(environment: Environment, steps: int, skill: Callable[[Hand], Steps] | None = None) -> None:
    """Wait for so many steps, then carry a skill out, as long as the episode lasts."""
    world = environment.world
    hand = Hand(world.tool(), world.opening(), 0.05, world.tool(), name=world.hands[0])

    def waypoints() -> Iterator[Waypoint]:
        for _ in range(steps):
            yield hand.stay()
        if skill is not None:
            yield from skill(hand)

    for waypoint in waypoints():
        if environment.is_done:
            return
        environment.accept(to_action(world.base, waypoint)[None], 0.0)
        environment.step()
        hand.tool, hand.opening = world.tool(), world.opening()


@pytest.mark.parametrize(("task", "effect"), [("colour_swap_pick", SwapColours), ("shape_swap_pick", SwapPlaces)])
def test_swaps_happen_at_step_10_to_20(task: str, effect: type) -> None:
    assert spans([20 * time_s for time_s in times_s(task, effect)], 10 - 1e-9, 20 + 1e-9)


@pytest.mark.parametrize("task", ["colour_swap_pick", "shape_swap_pick"])
def test_a_swap_is_with_any_of_five_others(task: str) -> None:
    effects = [event.effect for seed in SEEDS for event in TASKS[f"dynamic/{task}"].situation(seed).events]
    partners = [effect.second for effect in effects if isinstance(effect, SwapColours | SwapPlaces)]
    assert len(set(partners)) == 5 and max(partners.count(name) for name in partners) < len(SEEDS) / 3


@pytest.mark.parametrize("task", TASK_NAMES)
def test_things_start_apart_and_in_sight_anywhere_in_any_colour(task: str) -> None:
    """A ball must not start inside another thing, nor a thing out of the cameras' sight."""
    scenes = [place(TASKS[task].situation(seed).scene, np.random.default_rng(seed)) for seed in SEEDS]
    for scene in scenes:
        there = [thing for thing in scene if not thing.is_parked and thing.kind != "ramp"]
        for index, one in enumerate(there):
            x, y, _ = one.pose.position
            assert -0.26 < x < 0.2 and abs(y) < 0.32, one.name
            for other in there[:index]:
                gap = math.dist((x, y), other.pose.position[:2]) - one.radius_m - other.radius_m
                assert gap > 0 or {one.kind, other.kind} == {"sphere", "disc"}, (one.name, other.name)
    loose = next(thing.name for thing in scenes[0] if thing.name in ("cube", "cube 1", "switch", "sphere"))
    for axis in (0, 1):
        assert np.ptp([scene.thing(loose).pose.position[axis] for scene in scenes]) > 0.08
    worn = {shape.colour for scene in scenes for thing in scene for part in thing.parts for shape in part.shapes}
    assert len(worn | {thing.colour for scene in scenes for thing in scene}) >= 5


def test_light_turns_green_at_an_unknown_step() -> None:
    assert spans(times_s("catch_after_light", SwitchLamp), 1.5, 4.0)


def test_switch_is_lit_for_three_seconds() -> None:
    times = times_s("press_switch_in_time", SwitchLamp)
    assert spans(times[::2], 1.0, 16.0)
    assert [off - on for on, off in zip(times[::2], times[1::2], strict=True)] == pytest.approx([3.0] * len(SEEDS))


@pytest.mark.parametrize(
    ("task", "low", "high"),
    [
        ("place_rolling_sphere", 0.05, 0.10),
        ("catch_after_light", 0.05, 0.08),
        ("roll_ball_to_goal", 0.05, 0.08),
        ("pick_cube_ball_crossing", 0.5, 0.8),
    ],
)
def test_balls_roll_as_fast_as_declared(task: str, low: float, high: float) -> None:
    assert spans(speeds_m_s(task), low, high)


def test_rolling_ball_keeps_its_speed() -> None:
    rolling = environment("place_rolling_sphere")
    until(rolling, 20)
    before = rolling.world.speed("sphere").linear_m_s
    until(rolling, 40)
    assert rolling.world.speed("sphere").linear_m_s == pytest.approx(before, rel=0.05)
    assert before <= 0.10


def test_cube_creeps_down_a_slope_until_it_is_sheltered() -> None:
    effects = [event.effect for seed in SEEDS for event in events("pick_sliding_cube", seed)]
    assert spans([effect.speed_m_s for effect in effects if isinstance(effect, RunBelt)], 0.045, 0.055)
    sliding = environment("pick_sliding_cube")
    ((_, top),) = sliding.world.thing("ramp").frames
    _, _, downhill = top.axis("x")
    assert 15 <= math.degrees(-math.asin(downhill)) <= 20
    until(sliding, 20)
    before = sliding.world.position("cube")
    until(sliding, 40)
    after = sliding.world.position("cube")
    assert math.dist(before, after) / 2.0 == pytest.approx(0.05, abs=0.006)
    assert (before[2] - after[2]) / math.dist(before, after) == pytest.approx(-downhill, abs=0.01)
    until(sliding, 340)
    x, *_ = sliding.world.pose("ramp").inverse().apply(sliding.world.position("cube"))
    end = sliding.world.thing("ramp").half_extents[0]
    assert end - 0.07 < x < end, "it stays under the shelter"


def test_ball_knocks_the_cube_aside() -> None:
    for seed in range(3):
        bumped = environment("pick_cube_bumped", seed)
        start = bumped.world.position("cube")
        until(bumped, 60)
        assert math.dist(start, bumped.world.position("cube")) > 0.05


@pytest.mark.parametrize(
    ("delay_steps", "is_success", "is_broken"), [(-60, False, True), (0, True, False), (70, False, True)]
)
def test_switch_must_be_pressed_while_it_is_lit(delay_steps: int, is_success: bool, is_broken: bool) -> None:
    lights_s = times_s("press_switch_in_time", SwitchLamp)[::2]
    # Late enough to be pressed before, early enough to be pressed after.
    seed = lights_s.index(sorted(lights_s)[len(lights_s) // 2])
    pressing = environment("press_switch_in_time", seed)
    top = pressing.world.frame("switch", "button").position
    button = Pose(top, pressing.world.tool().quaternion)
    until(pressing, round(20 * lights_s[seed]) + delay_steps, lambda hand: press(hand, lambda: button, depth_m=0.008))
    assert (pressing.score.is_success, pressing.score.broken is not None) == (is_success, is_broken)


def test_being_hit_by_the_crossing_ball_is_a_failure() -> None:
    for episode, _ in rollout(
        [trial("pick_cube_ball_crossing", "open_loop", seed) for seed in range(3)], make_policy("open_loop")
    ):
        assert (episode.outcome, episode.first_touched) == ("failure", "sphere")


def test_taking_the_ball_before_the_light_is_a_failure() -> None:
    catching = environment("catch_after_light", 1)
    world, down = catching.world, catching.world.tool().quaternion
    until(catching, 0, lambda hand: pick(hand, lambda: Pose(world.position("sphere"), down), lift_to_m=0.1))
    assert world.log.first_touched == "sphere" and not world.is_lit("lamp/lamp")
    assert catching.score.broken is not None and catching.score.reached == 0


def test_ball_that_is_carried_to_its_goal_was_not_rolled() -> None:
    rolling = environment("roll_ball_to_goal")
    rolling.simulation.set_pose("sphere", rolling.world.pose("disc").shifted(dz=0.08))
    until(rolling, 1)
    assert rolling.score.broken is not None


@pytest.mark.parametrize("task", ["pick_sliding_cube", "place_rolling_sphere", "shape_swap_pick"])
def test_blind_plan_fails(task: str) -> None:
    trials = [trial(task, "open_loop", seed) for seed in range(3)]
    assert not any(episode.success for episode, _ in rollout(trials, make_policy("open_loop")))


def test_there_are_three_tasks_of_each_tier() -> None:
    tiers = [TASKS[name].tier for name in TASK_NAMES]
    assert {tier: tiers.count(tier) for tier in tiers} == {"easy": 3, "medium": 3, "hard": 3}
