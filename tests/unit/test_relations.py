"""Each relation with a placement that fulfils it and one that just misses, on a real scene."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import NamedTuple

import pytest

from robodx.registry import UnknownName
from robodx.scoring.conditions import Condition
from robodx.scoring.orientation import Aligned, Inserted, Tilted
from robodx.scoring.relations import Above, Beside, Between, CentredOn, In, InsideRegion, Lifted, Near, On
from robodx.scoring.sides import Behind, Displaced, Flanking, InFrontOf, LeftOf, RightOf
from robodx.sim.geometry import Pose, about
from robodx.sim.objects import bin_, cube, cylinder, goal_disc, hole_block, peg, sphere
from robodx.sim.simulation import Simulation
from robodx.sim.world import World

Placement = Mapping[str, Pose]


class Bench(NamedTuple):
    simulation: Simulation
    world: World

    def put(self, placement: Placement) -> World:
        for name, pose in placement.items():
            self.simulation.set_pose(name, pose)
        return self.world


@pytest.fixture(scope="module")
def bench(simulate: Callable[..., Simulation]) -> Bench:
    simulation = simulate(
        cube("red").at(-0.2, 0.2),
        cube("green").at(0.0, 0.0),
        cube("blue").at(0.2, 0.0),
        sphere("yellow").at(-0.2, -0.2),
        cylinder("pink").at(-0.2, -0.1),
        peg("orange").at(-0.1, 0.3),
        bin_("blue").at(0.2, 0.2),
        hole_block("grey").at(0.2, -0.2),
    )
    return Bench(simulation, World(simulation))


def red(x: float, y: float, z: float = 0.02, turn: tuple[str, float] = ("z", 0.0)) -> Placement:
    return {"red cube": Pose((x, y, z), about(*turn))}


def ball(x: float, y: float, z: float, roll_rad: float = 0.8) -> Placement:
    """A sphere that has rolled."""
    return {"yellow sphere": Pose((x, y, z), about("x", roll_rad))}


ON, BESIDE = On("red cube", "green cube"), Beside("red cube", "green cube")
# A wide gap allows no deep overlap.
NEARLY_BESIDE = Beside("red cube", "green cube", gap_m=0.05, offset_m=0.1)
BETWEEN = Between("red cube", "green cube", "blue cube")
IN = In("yellow sphere", "blue bin")
# Its hole's mouth lies 30 mm in front of its centre.
HOLED = "grey block with a hole"
FLANKING = Flanking("red cube", "green cube", "left of")
MOVED = Displaced("red cube", (0.1, 0.2), "left", 0.1)
REGION = InsideRegion("red cube", x=(-0.1, 0.1), y=(0.0, 0.2))
# Condition, a placement in which it holds, placements that just miss. Green lies at the origin, blue at x = 0.2.
CASES: list[tuple[Condition, Placement, list[Placement]]] = [
    (ON, red(0.01, 0.01, 0.06), [red(0.01, 0.01, 0.066), red(0.01, 0.01, 0.054), red(0.036, 0.0, 0.06)]),
    (On("yellow sphere", "green cube"), ball(0, 0, 0.06), [ball(0, 0, 0.066)]),
    (IN, ball(0.2, 0.2, 0.024), [ball(0.256, 0.2, 0.024), ball(0.2, 0.144, 0.024), ball(0.2, 0.2, 0.037)]),
    (CentredOn("red cube", "blue cube", 0.03), red(0.2, 0.029, 0.3), [red(0.2, 0.031), red(0.222, 0.022)]),
    (CentredOn("red cube", HOLED, 0.005, frame="hole"), red(0.174, -0.2), [red(0.176, -0.2), red(0.2, -0.2)]),
    (Near("red cube", "green cube", 0.05), red(0.03, 0.039), [red(0.03, 0.041), red(0.03, 0.039, 0.05)]),
    (BESIDE, red(0.044, 0.009), [red(0.046, 0.0), red(0.044, 0.011), red(0.044, 0.0, 0.026)]),
    (BESIDE, red(-0.009, -0.044), [red(0.0, -0.046), red(-0.011, -0.044)]),
    (NEARLY_BESIDE, red(0.085, 0.09), [red(0.091, 0.0), red(0.034, 0.0), red(0.0, 0.0), red(0.044, 0.101)]),
    (LeftOf("red cube", "green cube"), red(0.3, 0.01), [red(0.3, -0.01), red(0.3, 0.0)]),
    (LeftOf("red cube", "green cube", margin_m=0.05), red(0.0, 0.051), [red(0.0, 0.049)]),
    (RightOf("red cube", "green cube"), red(0.3, -0.01), [red(0.3, 0.01)]),
    (InFrontOf("red cube", "green cube"), red(-0.01, 0.3), [red(0.01, 0.3)]),
    (Behind("red cube", "green cube"), red(0.01, 0.3), [red(-0.01, 0.3)]),
    (Above("red cube", "green cube"), red(0.019, 0.0, 0.3), [red(0.021, 0.0, 0.3), red(0.0, 0.0, 0.019)]),
    (Lifted("red cube", 0.04), red(0, 0.2, 0.061), [red(0, 0.2, 0.059), red(0, 0.2, 0.065, ("x", math.pi / 4))]),
    (Lifted("yellow sphere", 0.04), ball(0, 0.2, 0.061), [ball(0, 0.2, 0.059)]),
    (BETWEEN, red(0.1, 0.029), [red(0.1, 0.031), red(0.114, 0.0), red(0.0, 0.05)]),
    (REGION, red(0.099, 0.001), [red(0.101, 0.1), red(0.0, -0.001)]),
    (Tilted("red cube", 0.1), red(0, 0.2, 0.05, ("x", -0.09)), [red(0, 0.2, 0.05, ("y", 0.11))]),
    (Tilted("red cube", 0.1, axis="x"), red(0, 0.2, 0.05, ("y", -1.5)), [red(0, 0.2, 0.05, ("y", -1.45))]),
    (Aligned("red cube", "green cube", 0.1), red(0, 0.2, 0.02, ("z", 0.09)), [red(0, 0.2, 0.02, ("z", -0.11))]),
    (Aligned("red cube", "green cube", 0.1, "x", "y"), red(0, 0.2, 0.02, ("z", 1.5)), [red(0, 0.2, 0.02)]),
    (FLANKING, red(0.059, 0.06), [red(0.0, 0.039), red(0.0, 0.141), red(0.061, 0.06), red(0.0, -0.06)]),
    (Flanking("red cube", "green cube", "right of"), red(0.0, -0.06), [red(0.0, 0.06)]),
    (Flanking("red cube", "green cube", "in front of"), red(-0.06, 0.0), [red(0.06, 0.0)]),
    (Flanking("red cube", "green cube", "behind"), red(0.06, 0.0), [red(-0.06, 0.0)]),
    (MOVED, red(0.129, 0.271), [red(0.131, 0.3), red(0.1, 0.269), red(0.1, 0.331), red(0.1, 0.2)]),
]  # fmt: skip


def assert_progress_fits(condition: Condition, world: World) -> None:
    progress = condition.progress(world)
    assert 0.0 <= progress <= 1.0
    assert (progress == 1.0) == condition.holds(world)


@pytest.mark.parametrize(("condition", "fulfilling", "missing"), CASES, ids=[str(case[0]) for case in CASES])
def test_relation_holds_where_it_should_and_not_beside_it(
    bench: Bench, condition: Condition, fulfilling: Placement, missing: list[Placement]
) -> None:
    world = bench.put(fulfilling)
    assert condition.holds(world)
    assert_progress_fits(condition, world)
    for placement in missing:
        assert not condition.holds(bench.put(placement)), placement
        assert_progress_fits(condition, world)
        assert condition.progress(world) > 0.5, "a near miss is nearly there"


@pytest.mark.parametrize("condition", [case[0] for case in CASES[:18]], ids=str)
def test_far_away_is_worth_nothing(bench: Bench, condition: Condition) -> None:
    world = bench.put({**red(-0.6, -0.6, -1.0), **ball(-0.6, -0.6, -1.0)})
    if isinstance(condition, RightOf | InFrontOf):
        bench.put(red(0.6, 0.6, -1.0))
    assert condition.progress(world) <= 0.01


INSERTED = Inserted("orange peg", HOLED, 0.03)


@pytest.mark.parametrize(
    ("tip_in_hole", "holds"),
    [
        (Pose((0.031, 0.0, 0.0)), True),
        (Pose((0.029, 0.0, 0.0)), False),
        (Pose((-0.031, 0.0, 0.0)), False),
        (Pose((0.031, 0.003, 0.003)), True),
        (Pose((0.031, 0.004, -0.004)), False),
        (Pose((0.031, 0.0, 0.0), about("z", 0.19)), True),
        (Pose((0.031, 0.0, 0.0), about("z", 0.21)), False),
        (Pose((0.031, 0.0, 0.0), about("z", math.pi)), False),
    ],
)
def test_inserted_needs_depth_centring_and_direction(bench: Bench, tip_in_hole: Pose, holds: bool) -> None:
    hole = bench.world.frame(HOLED, "hole")
    tip_in_peg = bench.world.thing("orange peg").frame("tip")
    world = bench.put({"orange peg": hole @ tip_in_hole @ tip_in_peg.inverse()})
    assert INSERTED.holds(world) is holds
    assert_progress_fits(INSERTED, world)


def test_reach_is_that_of_the_thing_as_it_lies(bench: Bench) -> None:
    turned = Pose((0.0, 0.3, 0.1), about("z", math.pi / 4))
    lying = Pose((0.0, 0.3, 0.1), about("x", math.pi / 2))
    world = bench.put({"red cube": turned, "yellow sphere": turned, "pink cylinder": turned, "orange peg": lying})
    side = 0.02 * math.sqrt(2)
    assert world.reach("red cube") == pytest.approx((side, side, 0.02))
    assert world.reach("yellow sphere") == (0.02, 0.02, 0.02)
    assert world.reach("pink cylinder") == pytest.approx((0.02, 0.02, 0.025))
    assert bench.put({"pink cylinder": lying}).reach("pink cylinder") == pytest.approx((0.02, 0.025, 0.02))
    assert world.reach("orange peg") == pytest.approx((0.06, 0.015, 0.015))


def test_unknown_name_in_a_condition_suggests_the_nearest(bench: Bench) -> None:
    with pytest.raises(UnknownName, match=r'No object "red cub". Did you mean "red cube"'):
        On("red cub", "green cube").holds(bench.world)
    with pytest.raises(UnknownName, match=r'No object "gren cube"'):
        On("red cube", "gren cube").progress(bench.world)


@pytest.mark.parametrize(
    ("condition", "position"),
    [
        # 99 mm along the normal of a wall that stands 50 mm from the centre, inside the box around the turned bin.
        (In("red cube", "blue bin"), (0.05 + 0.07, 0.07, 0.02)),
        (Beside("red cube", "blue bin"), (0.05, 0.0, 0.024)),
        (Beside("red cube", "green disc"), (-0.2, 0.05, 0.02)),
        # Turned cubes whose faces are 17 mm apart, but whose boxes along the table's axes overlap.
        (On("red cube", "green cube"), (-0.1 + 0.04, 0.04, 0.06)),
    ],
)
def test_turned_things_are_judged_as_they_are_turned(
    condition: Condition, position: tuple[float, float, float], simulate: Callable[..., Simulation]
) -> None:
    turned = about("z", math.pi / 4)
    simulation = simulate(
        cube("red").at(-0.3, 0.3),
        cube("green").at(-0.1, 0.0, yaw_rad=math.pi / 4),
        bin_("blue").at(0.05, 0.0, yaw_rad=math.pi / 4),
        goal_disc("green").at(-0.2, 0.05),
    )
    simulation.set_pose("red cube", Pose(position, turned))
    world = World(simulation)
    assert not condition.holds(world) and condition.progress(world) < 1


def test_turned_things_can_be_on_in_and_beside_each_other(simulate: Callable[..., Simulation]) -> None:
    turned, diagonal = about("z", math.pi / 4), 0.041 / math.sqrt(2)
    simulation = simulate(
        cube("red").at(-0.3, 0.3),
        cube("green").at(-0.1, 0.0, yaw_rad=math.pi / 4),
        bin_("blue").at(0.05, 0.0, yaw_rad=math.pi / 4),
    )
    world = World(simulation)
    for condition, position in (
        (In("red cube", "blue bin"), (0.05 + 0.02, 0.02, 0.024)),
        (On("red cube", "green cube"), (-0.1 + 0.02, 0.0, 0.06)),
        (Beside("red cube", "green cube"), (-0.1 + diagonal, diagonal, 0.02)),
    ):
        simulation.set_pose("red cube", Pose(position, turned))
        assert condition.holds(world), condition


def test_a_square_peg_fits_whichever_way_it_is_rolled(bench: Bench) -> None:
    hole = bench.world.frame("grey block with a hole", "hole")
    tip = bench.world.thing("orange peg").frame("tip")
    for roll in (0.0, math.pi / 2):
        deep = hole @ Pose((0.03, 0, 0), about("x", roll)) @ tip.inverse()
        assert Inserted("orange peg", "grey block with a hole", 0.025).holds(bench.put({"orange peg": deep}))
