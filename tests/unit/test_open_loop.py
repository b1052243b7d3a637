"""The blind plan: as good as the expert where nothing changes, and no better than blind where something does."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from robodx.policy_contract import make_policy
from robodx.records.episode import Episode
from robodx.records.trial import Trial
from robodx.running.environment import Environment
from robodx.running.rollout import rollout
from robodx.scoring.events import Roll, RunBelt
from robodx.sim.objects import cube, ramp, sphere, switch
from robodx.sim.simulation import Simulation
from robodx.sim.world import World
from robodx.tasks.base import TASKS


def episodes(task: str, policy: str, seeds: int) -> list[Episode]:
    return [
        episode
        for episode, _ in rollout(
            [Trial(task, TASKS[task].version, policy, s) for s in range(seeds)], make_policy(policy)
        )
    ]


@pytest.mark.parametrize("task", ["control/stack_cube", "control/push_cube", "control/insert_peg"])
def test_where_nothing_changes_the_blind_plan_is_what_the_expert_does(task: str) -> None:
    blind, expert = (episodes(task, policy, 3) for policy in ("open_loop", "expert"))
    assert all(episode.success for episode in blind)
    assert [episode.trajectory_hash for episode in blind] == [episode.trajectory_hash for episode in expert]


def test_the_blind_plan_goes_on_as_if_an_event_had_not_happened() -> None:
    policy = make_policy("open_loop")
    environment = Environment(Trial("dynamic/colour_swap_pick", 1, "open_loop", 0), policy.spec)
    policy.reset([environment.start()])
    (plan,) = policy.act([environment.observe()])
    assert not isinstance(plan, Exception)
    environment.accept(plan, 0.0)
    while not environment.is_done:
        environment.step()
    # It lifts what was red in the first frame, and that ends the episode.
    assert environment.world.log.count("event") == 1
    assert environment.world.held() == "middle cube" and environment.world.colour("middle cube") != "red"
    assert environment.score.broken is not None
    (rest,) = policy.act([environment.observe()])
    assert not isinstance(rest, Exception) and (rest == plan[-1:]).all()


def test_imagined_world_looks_the_same_and_stands_still(
    simulate: Callable[..., Simulation], wait: Callable[[Simulation, float], None]
) -> None:
    slope = ramp().at(0.0, 0.0)
    block = cube("red").posed(slope.pose @ slope.frame("top").shifted(dx=0.03, dz=0.012))
    simulation = simulate(
        slope, block, sphere("yellow").at(0.0, 0.2), switch().at(-0.1, -0.2), cube("pink").at(0, 0).parked()
    )
    RunBelt("ramp", 0.05).apply(simulation, lambda instruction: None)
    Roll("yellow sphere", (0.0, 0.1)).apply(simulation, lambda instruction: None)
    simulation.set_lamp("switch/lamp", True)
    simulation.set_colour("red cube", "blue")
    wait(simulation, 0.5)
    real, imagined = World(simulation), World(simulation.imagined())
    assert imagined.copy() == real.copy()
    assert imagined.colour("red cube") == "blue" and imagined.is_lit("switch/lamp")
    assert not imagined.is_present("pink cube")
    wait(imagined_simulation := real.imagined(), 1.0)
    after = World(imagined_simulation)
    for name in ("red cube", "yellow sphere"):
        assert after.position(name) == pytest.approx(real.position(name), abs=1e-3)
        assert real.speed(name).linear_m_s > 0.04
    assert real.copy() == imagined.copy(), "what is tried out in imagination does not happen"
