"""Plans: how things are taken, pushed and set down, and what happens when what is seen cannot be."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest

from robodx.experts import base, skills
from robodx.experts.base import PlanContext
from robodx.experts.grasps import from_above, nearest_turn, yaw_of
from robodx.experts.skills import Hand
from robodx.policy_contract import make_policy
from robodx.records.trial import Trial
from robodx.running.rollout import rollout
from robodx.sim.geometry import Pose
from robodx.sim.objects import charger, cube
from robodx.sim.simulation import Simulation
from robodx.sim.world import World


def test_two_things_that_seem_to_lie_on_each_other_cannot_be_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(base, "is_related", lambda upper, relation, lower: True)
    (finished,) = rollout([Trial("control/stack_cube", 2, "expert", 0)], make_policy("expert"))
    assert finished.episode.outcome == "timeout" and finished.episode.failure_type == "incomplete execution"


def hand_at(x: float, y: float, z: float, yaw_rad: float = 0.0) -> Hand:
    tool = from_above(x, y, z, yaw_rad)
    return Hand(tool, 1.0, 0.05, tool)


@pytest.mark.parametrize("yaw_rad", [-1.3, -0.8, 0.0, 0.8, 1.3])
def test_what_has_a_tip_is_taken_across_it(simulate: Callable[..., Simulation], yaw_rad: float) -> None:
    world = World(simulate(charger().at(0.0, 0.1, yaw_rad=yaw_rad)))
    grasp = PlanContext(world, hand_at(0.0, 0.0, 0.3), {}).grasp("charger")()
    assert yaw_of(grasp) == pytest.approx(yaw_rad, abs=1e-6)


@pytest.mark.parametrize("held_rad", [-0.7, 0.1, 0.7])
@pytest.mark.parametrize("other_rad", [-2.0, -0.6, 0.0, 0.6, 1.2])
def test_a_thing_is_set_down_square_to_another_and_the_hand_turns_no_further_than_it(
    simulate: Callable[..., Simulation], held_rad: float, other_rad: float
) -> None:
    world = World(simulate(cube("red").at(0.0, 0.1, yaw_rad=held_rad + math.pi / 2)))
    context = PlanContext(world, hand_at(0.0, 0.1, 0.02, held_rad), {})
    goal = base.resting(context, "red cube", 0.1, 0.0, 0.0, other_rad)
    assert nearest_turn(yaw_of(goal) - other_rad, math.pi / 2) == pytest.approx(0.0, abs=1e-6)
    turned_rad = yaw_of(goal @ world.pose("red cube").inverse() @ context.hand.tool)
    assert turned_rad == pytest.approx(nearest_turn(other_rad, math.pi / 2), abs=1e-6)


def test_a_hand_that_pushes_stays_behind_the_thing_and_stops_where_it_slips_away() -> None:
    hand, goal = hand_at(-0.05, 0.01, 0.02), Pose((0.3, 0.0, 0.02))
    place = [0.0, 0.0]

    def pushed() -> Pose:
        return Pose((place[0], place[1], 0.02))

    asides = []
    for waypoint in skills.push(hand, lambda: hand_at(-0.05, 0.01, 0.02).tool, pushed, lambda: goal, near_m=0.02):
        hand.tool = waypoint.tool
        x, y, _ = waypoint.tool.position
        asides.append(abs(y))
        place[0] = max(place[0], x + 0.04)
        if place[0] > 0.15:
            place[:] = [0.10, 0.05]  # beside the hand, and behind it
        assert len(asides) < 200, "it runs on beside the thing"
    assert min(asides) < 0.002
