"""Laws of conditions at random placements: progress agrees with holding, De Morgan, nearer is never worth less."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from robodx.scoring.conditions import Condition
from robodx.scoring.orientation import Aligned, Inserted, Tilted
from robodx.scoring.relations import (
    Above,
    Beside,
    Between,
    CentredOn,
    In,
    InsideRegion,
    Lifted,
    Near,
    On,
    footprint_gap,
)
from robodx.scoring.sides import Behind, InFrontOf, LeftOf, RightOf
from robodx.sim.geometry import Pose, about, multiply
from robodx.sim.objects import bin_, cube, hole_block, peg
from robodx.sim.simulation import Simulation
from robodx.sim.world import World

RED, GREEN = "red cube", "green cube"
RELATIONS: list[Condition] = [
    On(RED, GREEN),
    In(RED, "blue bin"),
    CentredOn(RED, GREEN, 0.03),
    Near(RED, GREEN),
    Beside(RED, GREEN),
    Beside(RED, GREEN, gap_m=0.05, offset_m=0.1),
    LeftOf(RED, GREEN),
    RightOf(RED, GREEN, 0.02),
    InFrontOf(RED, GREEN),
    Behind(RED, GREEN, 0.02),
    Above(RED, GREEN),
    Lifted(RED, 0.05),
    Between(RED, GREEN, "blue bin"),
    InsideRegion(RED, (-0.1, 0.1), (0.0, 0.1)),
    Tilted(RED, 0.2),
    Aligned(RED, GREEN, 0.2),
    Inserted("orange peg", "grey block with a hole", 0.02),
]
# How each falls off when the red cube is taken away from where it holds, straight in some direction.
APPROACHES: list[tuple[Condition, tuple[float, float, float]]] = [
    (On(RED, GREEN), (0.0, 0.0, 0.06)),
    (In(RED, "blue bin"), (0.2, 0.2, 0.024)),
    (CentredOn(RED, GREEN, 0.03), (0.0, 0.0, 0.1)),
    (Near(RED, GREEN), (0.0, 0.0, 0.02)),
    (Between(RED, GREEN, "blue bin"), (0.1, 0.1, 0.02)),
    (InsideRegion(RED, (-0.1, 0.1), (0.0, 0.1)), (0.0, 0.05, 0.02)),
]


def between(lower: float, upper: float) -> st.SearchStrategy[float]:
    """On a grid of 0.1 mm that misses every threshold: a hair beyond one, progress rounds to 1."""
    return st.integers(round(lower * 1e4), round(upper * 1e4)).map(lambda n: (n + 0.37) / 1e4)


across, up, angle = between(-0.4, 0.4), between(0.0, 0.3), between(-math.pi, math.pi)
near_across, near_up = between(-0.06, 0.06), between(0.01, 0.07)
turns = st.builds(lambda yaw, roll: multiply(about("z", yaw), about("x", roll)), angle, angle)
positions = st.tuples(across, across, up) | st.tuples(near_across, near_across, near_up)
poses = st.builds(Pose, positions, turns | st.just((1.0, 0.0, 0.0, 0.0)))


@pytest.fixture(scope="module")
def simulation(simulate: Callable[..., Simulation]) -> Simulation:
    return simulate(
        cube("red").at(-0.2, 0.2),
        cube("green").at(0.0, 0.0),
        peg("orange").at(-0.1, 0.3),
        bin_("blue").at(0.2, 0.2),
        hole_block("grey").at(0.2, -0.2),
    )


@pytest.fixture(scope="module")
def world(simulation: Simulation) -> World:
    return World(simulation)


@given(red=poses, peg_in_hole=poses)
def test_progress_is_a_share_and_whole_exactly_when_it_holds(
    simulation: Simulation, world: World, red: Pose, peg_in_hole: Pose
) -> None:
    simulation.set_pose(RED, red)
    simulation.set_pose("orange peg", world.frame("grey block with a hole", "hole") @ peg_in_hole)
    for relation in RELATIONS:
        progress = relation.progress(world)
        assert 0.0 <= progress <= 1.0, relation
        assert (progress == 1.0) == relation.holds(world), relation


@given(red=poses)
def test_de_morgan_and_double_negation(simulation: Simulation, world: World, red: Pose) -> None:
    simulation.set_pose(RED, red)
    for a, b in itertools.combinations(RELATIONS, 2):
        assert (~(a & b)).holds(world) == (~a | ~b).holds(world)
        assert (~(a | b)).holds(world) == (~a & ~b).holds(world)
    for a in RELATIONS:
        assert (~~a).holds(world) == a.holds(world) != (~a).holds(world)
        assert (a & ~a).holds(world) is False and (a | ~a).holds(world) is True


@given(heading=angle, steps=st.lists(st.floats(0.0, 0.5), min_size=2, max_size=8))
def test_progress_never_grows_with_the_distance(
    simulation: Simulation, world: World, heading: float, steps: list[float]
) -> None:
    for condition, (x, y, z) in APPROACHES:
        progress = []
        for distance in [0.0, *sorted(steps), 0.6]:
            place = Pose((x + distance * math.cos(heading), y + distance * math.sin(heading), z))
            simulation.set_pose(RED, place)
            progress.append(condition.progress(world))
        assert progress == sorted(progress, reverse=True), condition
        assert progress[0] == 1.0 > progress[-1], condition


@given(red=poses, left=across)
def test_left_excludes_right_and_front_excludes_behind(
    simulation: Simulation, world: World, red: Pose, left: float
) -> None:
    simulation.set_pose(RED, red)
    assert not (LeftOf(RED, GREEN) & RightOf(RED, GREEN)).holds(world)
    assert not (InFrontOf(RED, GREEN) & Behind(RED, GREEN)).holds(world)
    assert LeftOf(RED, GREEN, left).holds(world) == RightOf(GREEN, RED, left).holds(world)
    assert InFrontOf(RED, GREEN, left).holds(world) == Behind(GREEN, RED, left).holds(world)


@given(red=poses, gap=between(0.0, 0.2))
def test_what_is_beside_another_is_neither_in_it_nor_on_it(
    simulation: Simulation, world: World, red: Pose, gap: float
) -> None:
    simulation.set_pose(RED, red)
    beside = Beside(RED, GREEN, gap_m=gap, offset_m=0.4, height_tolerance_m=0.3)
    assert not beside.holds(world) or footprint_gap(world, RED, GREEN) >= -beside.overlap_m
