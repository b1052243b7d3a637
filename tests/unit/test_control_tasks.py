"""Control tasks say one thing and show what is easy to see; where it lies and how it is turned cannot be guessed."""

from __future__ import annotations

import math
from collections import Counter

import numpy as np
import pytest

from robodx.experts.grasps import yaw_of
from robodx.sim.scene import Scene
from robodx.tasks.base import TASKS, Task
from robodx.tasks.perception import VIVID

SEEDS = 24
CONTROL = [task for task in TASKS.entries() if task.family == "control"]
# The hand's reach, and what all cameras see.
REACH = ((-0.25, 0.12), (-0.27, 0.27))

every = pytest.mark.parametrize("task", CONTROL, ids=lambda task: task.id)


def scenes(task: Task) -> list[Scene]:
    return [task.situation(seed).scene for seed in range(SEEDS)]


@every
def test_a_control_task_says_one_thing(task: Task) -> None:
    assert len({task.situation(seed).instruction.text for seed in range(SEEDS)}) == 1


@every
def test_everything_lies_somewhere_else_and_otherwise_turned_and_within_reach(task: Task) -> None:
    for name in (thing.name for thing in task.situation(0).scene):
        things = [scene.thing(name) for scene in scenes(task)]
        places = np.array([thing.pose.position[:2] for thing in things])
        # Evenly spread over eight centimetres, it would deviate by 2.3.
        assert (places.std(axis=0) > 0.022).all(), name
        assert all(low < value < high for place in places for value, (low, high) in zip(place, REACH, strict=True))
        is_round = things[0].kind in ("disc", "sphere")
        assert is_round or np.std([yaw_of(thing.pose) for thing in things]) > 0.2, name


@every
def test_what_is_not_named_by_its_colour_wears_any_and_never_its_goal_s(task: Task) -> None:
    for scene in scenes(task):
        worn = [thing.colour for thing in scene]
        assert len(set(worn)) == len(worn) and set(worn) <= set(VIVID)
    unnamed = [thing.name for thing in task.situation(0).scene if thing.colour not in thing.name]
    for name in unnamed:
        assert len({scene.thing(name).colour for scene in scenes(task)}) >= 3, name


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("stack_cube", "cube"),
        ("place_sphere_two_bins", "bin"),
        ("stack_three", "cube"),
        ("place_sphere_three_bins", "bin"),
        ("stack_four", "cube"),
    ],
)
def test_each_order_from_left_to_right_is_as_frequent(name: str, kind: str) -> None:
    orders: Counter[tuple[str, ...]] = Counter()
    for scene in scenes(TASKS[f"control/{name}"]):
        alike = [thing for thing in scene if thing.kind == kind]
        orders[tuple(thing.colour for thing in sorted(alike, key=lambda thing: -thing.pose.position[1]))] += 1
    assert set(orders.values()) == {SEEDS // math.factorial(len(alike))}
