"""Mixtures: frames come by weight, the same every time, and data sets that do not go together are refused."""

from __future__ import annotations

import pickle
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from robodx.datasets.formats.base import UnreadableData
from robodx.datasets.frames import Drawn, InOrder, Place, lengths_of
from robodx.datasets.mixtures import Mixture, UnmixableData, open_mixture, parse_mixture
from robodx.datasets.schema import Features
from robodx.registry import UnknownName
from tests.demonstrations import FEATURES, format_registered, in_memory, stored


def drawn(mixture: Mixture | Drawn) -> list[Place]:
    return [mixture[index] for index in range(len(mixture))]


def test_frames_of_one_data_set_come_in_order_and_from_the_end() -> None:
    order = InOrder(np.array([2, 0, 1]))
    assert [order[index] for index in range(len(order))] == [(0, 0, 0), (0, 0, 1), (0, 2, 0)]
    assert order[-1] == (0, 2, 0)
    for index in (3, -4):
        with pytest.raises(IndexError, match=f"there is no frame {index} of 3"):
            order[index]


def test_every_frame_comes_exactly_as_often_as_its_weight_says() -> None:
    mixture = Mixture([(in_memory(3, 2), 2), (in_memory(4), 1)])
    counts = Counter(drawn(mixture))
    assert len(mixture) == 14 and len(counts) == 9
    assert {place: count for place, count in counts.items() if place.data == 0 and count != 2} == {}
    assert {place: count for place, count in counts.items() if place.data == 1 and count != 1} == {}
    assert mixture.shares == (10 / 14, 4 / 14)


def test_a_weight_below_one_takes_some_frames_and_others_in_other_epochs() -> None:
    mixture = Mixture([(in_memory(100), 0.25), (in_memory(30), 1)])
    first, *others = (
        {place for place in drawn(replace(mixture.order, epoch=epoch)) if place.data == 0} for epoch in range(8)
    )
    assert len(first) == 25
    assert len(first.union(*others)) > 50


def test_by_data_sets_the_weights_are_shares_however_large_each_is() -> None:
    mixture = Mixture([(in_memory(90), 1), (in_memory(5, 5), 3)], by="data sets")
    assert mixture.shares == pytest.approx((0.25, 0.75)) and len(mixture) == 100
    assert Counter(place.data for place in drawn(mixture)) == {0: 25, 1: 75}
    with pytest.raises(UnknownName, match='No way to weigh data sets "episodes"'):
        Mixture([(in_memory(3), 1)], by="episodes")  # type: ignore[arg-type]


def test_the_order_is_random_and_the_same_for_the_same_seed_and_epoch() -> None:
    parts = [(in_memory(20, 20), 1.0), (in_memory(20), 1.0)]
    order = drawn(Mixture(parts))
    assert order != sorted(order) and order == drawn(Mixture(parts))
    assert order != drawn(Mixture(parts, seed=1)) and sorted(order) == sorted(drawn(Mixture(parts, seed=1)))
    assert order != drawn(replace(Mixture(parts).order, epoch=1))
    # Nothing of the first half of a shuffled epoch says which data set comes in the second.
    assert 0.4 < np.mean([place.data == 0 for place in order[:30]]) < 0.9


def test_an_order_travels_to_other_processes_without_its_numbers() -> None:
    order = Drawn((np.array([50_000]),), (1.0,))
    assert order[0] is not None
    sent = pickle.dumps(order)
    assert len(sent) < 1000 and pickle.loads(sent)[7] == order[7]


@pytest.mark.parametrize("weight", [0, -1, float("nan"), float("inf")])
def test_a_weight_that_is_none_is_refused_with_the_name_of_its_data_set(weight: float) -> None:
    with pytest.raises(UnmixableData, match=rf"the weight of B is {weight:g}: it must be a number above 0"):
        Mixture([(in_memory(3), 1), (in_memory(3), weight)], ["A", "B"])


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"hz": 20.0}, "A and B cannot be mixed: hz is 10 and 20"),
        ({"hz": None}, "hz is 10 and not recorded"),
        ({"cameras": {"front": (8, 12)}}, "camera wrist is 8×8 and missing"),
        ({"cameras": {"front": (16, 12), "wrist": (8, 8)}}, "camera front is 8×12 and 16×12"),
        ({"state": {"joints": ("j1", "j2")}}, r"state gripper is \(opening\) and missing"),
        ({"state": {**FEATURES.state, "gripper": ("width",)}}, r"state gripper is \(opening\) and \(width\)"),
        ({"action": ("dx", "dz")}, r"the action is \(dx, dy\) and \(dx, dz\)"),
    ],
)
def test_data_sets_whose_steps_differ_are_refused_with_what_differs(changed: dict[str, Any], said: str) -> None:
    other: Features = replace(FEATURES, **changed)
    with pytest.raises(UnmixableData, match=said):
        Mixture([(in_memory(3), 1), (in_memory(3, features=other), 1)], ["A", "B"])


def test_robots_may_differ_and_what_is_said_of_one_is_not_said_of_all() -> None:
    other = replace(FEATURES, robot="ur5", about={"licence": "mine"})
    mixture = Mixture([(in_memory(3, features=other), 1), (in_memory(3), 1)])
    assert mixture.features.robot == "ur5 or panda" and mixture.features.about == {}


def test_a_mixture_of_nothing_is_refused() -> None:
    with pytest.raises(UnmixableData, match="at least one data set"):
        Mixture([])
    with pytest.raises(UnmixableData, match="data set 2 has no frames"):
        Mixture([(in_memory(1), 1), (in_memory(), 1)])


def test_a_mixture_is_spelled_with_paths_and_weights() -> None:
    assert parse_mixture("A.lerobot*2, hdf5:b/B.hdf5*0.5,C") == [("A.lerobot", 2), ("hdf5:b/B.hdf5", 0.5), ("C", 1)]
    for text, said in (
        ("A*2,", "has a part without a path; a mixture is spelled PATH"),
        ("A*two", 'the weight of A is "two"; a mixture is spelled PATH'),
        ("A*0", "the weight of A is 0"),
        ("A*nan", "the weight of A is nan"),
    ):
        with pytest.raises(UnmixableData, match=said):
            parse_mixture(text)


def test_a_spelled_mixture_is_opened_by_path(tmp_path: Path) -> None:
    with format_registered():
        first, second = stored(tmp_path / "a.tiny", 3), stored(tmp_path / "b.tiny", 2, 2)
        mixture = open_mixture(f"{first}*1,{second}*2")
        assert Counter(place.data for place in drawn(mixture)) == {0: 3, 1: 8}
        with pytest.raises(UnreadableData, match=r"there is no data set .*c\.tiny"):
            open_mixture(f"{first},{tmp_path / 'c.tiny'}")


def test_a_data_set_that_knows_the_lengths_of_its_episodes_is_not_read_for_them() -> None:
    class Knowing:
        features = FEATURES
        lengths = (4, 5)

        def __len__(self) -> int:
            return 2

        def __getitem__(self, index: int) -> Any:
            raise AssertionError("read")

    assert lengths_of(Knowing()).tolist() == [4, 5]
    assert lengths_of(in_memory(2, 3)).tolist() == [2, 3]
