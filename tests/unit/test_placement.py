"""Things are put inside their regions, apart from each other, by their stream alone."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest

from robodx.experts.grasps import yaw_of
from robodx.sim.objects import bin_, cube, sphere
from robodx.sim.placement import NoRoom, needs_layout, place
from robodx.sim.scene import Region, Scene, tabletop
from robodx.streams import Streams

REGION = Region(x=(-0.2, 0.1), y=(-0.25, 0.2), yaw_rad=(-0.5, 0.3), gap_m=0.03)
CROWD = tabletop(
    cube("red").within(REGION),
    bin_("blue").at(0.0, 0.0),
    sphere("yellow").within(REGION),
    cube("green").within(REGION),
)


def placed(scene: Scene, seed: int) -> Scene:
    return place(scene, Streams(seed).rng("layout"))


def test_placed_things_lie_in_their_region_on_the_table() -> None:
    for seed in range(50):
        for thing in placed(CROWD, seed):
            if thing.name == "blue bin":
                continue
            x, y, z = thing.pose.position
            assert REGION.x[0] <= x <= REGION.x[1] and REGION.y[0] <= y <= REGION.y[1]
            assert z == thing.half_extents[2]
            assert REGION.yaw_rad[0] - 1e-9 <= yaw_of(thing.pose) <= REGION.yaw_rad[1] + 1e-9


def test_placed_things_keep_their_gap() -> None:
    for seed in range(50):
        for a, b in itertools.combinations(placed(CROWD, seed), 2):
            distance = math.dist(a.pose.position[:2], b.pose.position[:2])
            assert distance >= a.radius_m + b.radius_m + REGION.gap_m


def test_draws_use_the_whole_region() -> None:
    scene = tabletop(cube("red").within(REGION))
    xs, ys, _ = np.transpose([placed(scene, seed).thing("red cube").pose.position for seed in range(200)])
    for values, (lower, upper) in ((xs, REGION.x), (ys, REGION.y)):
        assert values.min() < lower + 0.1 * (upper - lower) and values.max() > upper - 0.1 * (upper - lower)


def test_fixed_poses_and_the_order_of_things_stay() -> None:
    after = placed(CROWD, 1)
    assert after.thing("blue bin") == CROWD.thing("blue bin")
    assert [thing.name for thing in after] == [thing.name for thing in CROWD]
    assert replace(after, things=CROWD.things) == CROWD


def test_same_stream_gives_the_same_layout_and_another_seed_another() -> None:
    assert placed(CROWD, 7) == placed(CROWD, 7) != placed(CROWD, 8)


def test_layout_is_needed_only_where_there_is_a_region() -> None:
    assert needs_layout(CROWD)
    assert not needs_layout(placed(CROWD, 0))
    assert not needs_layout(tabletop())


def test_parked_things_take_no_room() -> None:
    spot = Region(x=(0.0, 0.0), y=(0.0, 0.0))
    scene = tabletop(cube("green").at(0.0, 0.0).parked(), cube("red").within(spot))
    assert placed(scene, 0).thing("red cube").pose.position == (0.0, 0.0, 0.02)


def test_no_room_names_the_thing_and_what_is_in_the_way() -> None:
    spot = Region(x=(0.0, 0.01), y=(0.0, 0.01))
    with pytest.raises(NoRoom, match=r'"red cube" in x \(0.0, 0.01\).* 0.02 m from green cube'):
        placed(tabletop(cube("green").at(0.0, 0.0), cube("red").within(spot)), 0)


def test_pose_of_an_unplaced_thing_says_that_it_is_a_region() -> None:
    with pytest.raises(ValueError, match=r'"red cube" is not placed yet'):
        _ = CROWD.thing("red cube").pose
