"""How far one attribute predicts another: 1 where it tells it, 0 where it does not, however many values it has."""

from __future__ import annotations

import numpy as np
import pytest
from confounding import Pair, Reason, drawn, groups, levels, pairs, predicts

RNG = np.random.Generator(np.random.PCG64(0))


def test_what_tells_another_predicts_it_wholly_and_the_other_way_only_in_part() -> None:
    fine = np.arange(1200) % 6
    coarse = fine // 2
    assert predicts(fine, coarse) == pytest.approx(1.0, abs=0.01)
    assert predicts(coarse, fine) == pytest.approx(np.log(3) / np.log(6), abs=0.01)


@pytest.mark.parametrize(("n", "many"), [(300, 12), (1000, 40), (60, 5), (50, 50)])
def test_what_is_independent_predicts_nothing_despite_many_values(n: int, many: int) -> None:
    shares = [predicts(*RNG.integers(many, size=(2, n))) for _ in range(20)]
    assert np.mean(shares) < 0.06


def test_what_does_not_vary_is_not_predicted_and_what_never_recurs_predicts_nothing() -> None:
    assert predicts(np.arange(10), np.arange(10) // 2) == 0.0
    assert predicts(np.arange(10), np.zeros(10, dtype=np.int64)) == 0.0


def test_numbers_are_taken_in_thirds_and_texts_as_they_are() -> None:
    thirds = levels([float(number) for number in range(9)])
    assert [thirds.tolist().count(level) for level in sorted(set(thirds))] == [3, 3, 3]
    assert levels([1.0, 2.0, 1.0, None]).tolist() == [0, 1, 0, -1]
    assert levels(["red", "blue", "red"]).tolist() == [0, 1, 0]


def test_a_pair_is_measured_where_both_are_known_and_not_where_nearly_all_are_alike() -> None:
    rows = [{"colour": "blue" if seed % 2 else "red", "side": "right" if seed % 2 else "left"} for seed in range(50)]
    rows += [{"colour": "blue", "room": "dark"} for _ in range(40)]
    found = {(pair.known, pair.predicted): pair for pair in pairs("mine", rows)}
    assert found.keys() == {("colour", "side"), ("side", "colour")}
    assert found["colour", "side"].share > 0.95 and found["colour", "side"].situations == 50


def test_a_reason_is_for_pairs_of_attributes_either_way_round_and_for_a_place() -> None:
    reason = Reason(("act", "*_cue"), ("*_kind",), "so it is", where="capability/*")
    assert reason.covers(Pair("capability/control", "goal_kind", "act", 1.0, 9))
    assert reason.covers(Pair("capability/control", "target_cue", "goal_kind", 1.0, 9))
    assert not reason.covers(Pair("capability/control", "act", "target_cue", 1.0, 9))
    assert not reason.covers(Pair("stress", "act", "goal_kind", 1.0, 9))


def test_suites_and_families_are_measured_on_situations_that_are_not_simulated() -> None:
    found = groups()
    assert {"capability", "isolation", "stress", "capability/language"} <= found.keys()
    rows = drawn(found["capability/language"][0], 3)
    assert len(rows) == 3 and all("target_side" in row for row in rows)
