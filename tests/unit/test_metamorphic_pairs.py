"""The pairs of the suite metamorphic: what path is expected of a follow-up, how far it is off, and what is kept."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from numpy.typing import NDArray

from robodx.analysis.metamorphic import measuring
from robodx.analysis.metamorphic.distances import Distances, distances
from robodx.analysis.metamorphic.measuring import compared, measured, write_measured
from robodx.records.pairs import FILE, SCHEMA, read_pairs, write_pairs
from robodx.records.table import load
from robodx.records.trajectory_files import trajectory_file
from tests.metamorphic import MadeRun, line, trajectory

REACH = line((0.0, 0.0, 0.4), (0.4, 0.2, 0.1), (0.4, 0.2, 0.3))
STAY = np.zeros(3)


def moved(path: NDArray[np.float64], x: float, y: float, z: float) -> NDArray[np.float64]:
    found: NDArray[np.float64] = path + np.array([x, y, z])
    return found


def row_of(table: pl.DataFrame, relation: str) -> dict[str, object]:
    (row,) = table.filter(pl.col("relation") == relation).to_dicts()
    return row


@pytest.fixture
def made(tmp_path: Path) -> MadeRun:
    """A source with a repeat 1 cm off and a follow-up 20 cm off."""
    run = MadeRun(tmp_path / "run")
    source = run.source(3, REACH)
    run.follow_up(source, "MR0", moved(REACH, 0.0, 0.0, 0.01))
    run.follow_up(source, "MR2", moved(REACH, 0.0, 0.2, 0.0), success=False, failure_type="grasp stability")
    run.write()
    return run


def count_distances(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many paths are held against each other from now on, one entry each."""
    calls: list[int] = []

    def counting(a: NDArray[np.float64], b: NDArray[np.float64]) -> Distances:
        calls.append(len(a))
        return distances(a, b)

    monkeypatch.setattr(measuring, "distances", counting)
    return calls


def test_a_pair_says_how_far_it_is_off_and_what_the_oracle_says(made: MadeRun) -> None:
    found = measured(made.folder, load(made.folder))
    assert found.schema == SCHEMA and found["relation"].to_list() == ["MR0", "MR2"]
    again, changed = row_of(found, "MR0"), row_of(found, "MR2")
    assert again["frechet_m"] == pytest.approx(0.01) and changed["frechet_m"] == pytest.approx(0.2)
    assert changed["frechet_by_hand"] == pytest.approx([0.2]) and changed["endpoint_m"] == pytest.approx(0.2)
    assert (again["is_flagged"], again["failure_type"]) == (False, None)
    assert (changed["is_flagged"], changed["failure_type"]) == (True, "grasp stability")
    assert (changed["seed"], changed["repeat"], changed["pattern"], changed["moved_m"]) == (3, 0, "consistency", None)
    assert changed["source_success"] is True and changed["follow_up_success"] is False
    assert changed["source_hash"] == again["source_hash"] != changed["follow_up_hash"]


def test_an_error_and_a_missing_trajectory_have_no_distance(made: MadeRun) -> None:
    source = made.source(4, REACH)
    made.follow_up(source, "MR1", None)
    kept = made.follow_up(source, "MR3", REACH)
    made.write()
    trajectory_file(made.folder, kept.id).unlink()
    found = measured(made.folder, load(made.folder))
    erred, missing = row_of(found, "MR1"), row_of(found, "MR3")
    assert erred["frechet_m"] is None and erred["frechet_by_hand"] is None
    assert (erred["follow_up_success"], erred["is_flagged"], erred["failure_type"]) == (None, None, None)
    assert missing["frechet_m"] is None and missing["is_flagged"] is False


def damage(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:100])


def swap(path: Path) -> None:
    trajectory(REACH * 2).save(path)


@pytest.mark.parametrize("spoil", [damage, swap])
def test_a_trajectory_that_is_not_the_recorded_one_is_not_measured(
    made: MadeRun, spoil: Callable[[Path], None]
) -> None:
    changed = row_of(measured(made.folder, load(made.folder)), "MR2")
    spoil(trajectory_file(made.folder, str(changed["trial_id"])))
    found = measured(made.folder, load(made.folder))
    assert row_of(found, "MR2")["frechet_m"] is None and row_of(found, "MR0")["frechet_m"] is not None


def test_what_was_measured_before_is_taken_over(made: MadeRun, monkeypatch: pytest.MonkeyPatch) -> None:
    first = write_measured(made.folder, load(made.folder))
    stored = read_pairs(made.folder)
    assert stored is not None and stored.equals(first)
    written_at = (made.folder / FILE).stat().st_mtime_ns
    calls = count_distances(monkeypatch)
    assert write_measured(made.folder, load(made.folder)).equals(first) and not calls
    assert (made.folder / FILE).stat().st_mtime_ns == written_at, "nothing changed, so nothing is written"
    made.follow_up(made.planned[0].trial, "MR7", REACH)
    made.write()
    grown = measured(made.folder, load(made.folder))
    assert len(calls) == 1 and grown["relation"].to_list() == ["MR0", "MR2", "MR7"]


def test_a_row_of_other_trajectories_is_measured_anew(made: MadeRun, monkeypatch: pytest.MonkeyPatch) -> None:
    first = measured(made.folder, load(made.folder))
    is_changed = pl.col("relation") == "MR2"
    wrong = first.with_columns(
        frechet_m=pl.lit(9.0),
        follow_up_hash=pl.when(is_changed).then(pl.lit("another")).otherwise("follow_up_hash"),
    )
    write_pairs(made.folder, wrong)
    calls = count_distances(monkeypatch)
    found = measured(made.folder, load(made.folder))
    assert len(calls) == 1 and row_of(found, "MR2")["frechet_m"] == pytest.approx(0.2)
    assert row_of(found, "MR0")["frechet_m"] == 9.0, "its hashes are right"


@pytest.mark.parametrize("odd", [float("nan"), float("inf"), -0.1])
def test_a_stored_number_that_is_no_distance_is_measured_anew(made: MadeRun, odd: float) -> None:
    first = measured(made.folder, load(made.folder))
    write_pairs(made.folder, first.with_columns(dtw_m=pl.lit(odd)))
    assert measured(made.folder, load(made.folder)).equals(first)


def test_reading_writes_nothing_and_a_damaged_file_is_as_none(made: MadeRun) -> None:
    first = measured(made.folder, load(made.folder))
    assert not (made.folder / FILE).exists()
    for content in (b"", b"PAR1 nothing PAR1"):
        (made.folder / FILE).write_bytes(content)
        assert read_pairs(made.folder) is None
        assert measured(made.folder, load(made.folder)).equals(first)
        assert (made.folder / FILE).read_bytes() == content
    first.drop("pattern").write_parquet(made.folder / FILE)
    assert read_pairs(made.folder) is None


def test_a_run_without_pairs_gets_no_file(tmp_path: Path) -> None:
    made = MadeRun(tmp_path / "run")
    made.source(0, REACH)
    made.write()
    assert write_measured(made.folder, load(made.folder)).is_empty() and not (made.folder / FILE).exists()


def test_a_pair_whose_source_is_not_there_is_none(made: MadeRun) -> None:
    there = made.episodes.filter(pl.col("trial_id") != made.planned[0].trial.id)
    assert measured(made.folder, there).is_empty()


def test_of_several_hands_the_farthest_counts(tmp_path: Path) -> None:
    made = MadeRun(tmp_path / "run")
    both = np.stack([REACH, moved(REACH, 0.0, 0.5, 0.0)], axis=1)
    source = made.source(0, both)
    off = both.copy()
    off[:, 0, 2] += 0.05
    off[:, 1, 2] += 0.15
    made.follow_up(source, "MR2", off)
    row = row_of(measured(made.folder, made.episodes), "MR2")
    assert row["frechet_by_hand"] == pytest.approx([0.05, 0.15]) and row["frechet_m"] == pytest.approx(0.15)


def test_a_mirrored_follow_up_goes_the_other_way_round_with_the_other_hand(tmp_path: Path) -> None:
    made = MadeRun(tmp_path / "run")
    both = np.stack([REACH, moved(REACH, 0.0, 0.5, 0.1)], axis=1)
    source = made.source(0, both)
    mirrored = both[:, ::-1] * [1.0, -1.0, 1.0]
    made.follow_up(source, "MR6", mirrored)
    made.follow_up(source, "MR2", mirrored)
    found = measured(made.folder, made.episodes)
    assert row_of(found, "MR6")["frechet_m"] == pytest.approx(0.0)
    assert float(str(row_of(found, "MR2")["frechet_m"])) > 0.3


def test_a_moved_path_is_compared_from_the_first_closing_on() -> None:
    source = trajectory(line((0.0, 0.0, 0.0), (0.4, 0.0, 0.0), (0.4, 0.0, 0.2), points=5), closes=4)
    longer = trajectory(line((0.0, 0.3, 0.0), (0.4, 0.1, 0.0), (0.4, 0.1, 0.2), points=9), closes=8)
    ((should, took),) = compared(source, longer, "moved", np.array([0.0, 0.1, 0.0]))
    assert should == pytest.approx(source.tool_in_world[4:, 0, :3] + [0.0, 0.1, 0.0])
    assert took == pytest.approx(longer.tool_in_world[8:, 0, :3])
    # One that never closes is held against it with all of its way.
    never = trajectory(longer.tool_in_world[:, 0, :3])
    ((should, took),) = compared(source, never, "moved", np.array([0.0, 0.1, 0.0]))
    assert len(should) == len(source.tool_in_world) - 4 and len(took) == len(never.tool_in_world)


def test_a_gripper_that_begins_closed_closes_only_once_it_was_open() -> None:
    source = trajectory(line((0.0, 0.0, 0.0), (0.8, 0.0, 0.0), points=9))
    source.commands[:2] = 0.0
    source.commands[6:] = 0.0
    ((should, _),) = compared(source, source, "moved", np.array([0.0, 0.1, 0.0]))
    assert len(should) == 3


def test_a_hand_that_never_closes_is_expected_where_it_was() -> None:
    idle = REACH * 0 + np.linspace(0.0, 0.01, len(REACH))[:, None]
    source = trajectory(np.stack([REACH, idle], axis=1), closes=20)
    source.commands[:, 1] = 1.0
    at_work, at_rest = compared(source, source, "moved", np.array([0.1, 0.0, 0.0]))
    assert at_rest[0] == pytest.approx(idle) and at_work[0][-1] == pytest.approx(REACH[-1] + [0.1, 0.0, 0.0])


def test_a_moved_follow_up_that_moves_along_is_not_off_and_says_how_far_it_was_moved(tmp_path: Path) -> None:
    made = MadeRun(tmp_path / "run")
    source = made.source(0, REACH, closes=20)
    # From the same start, and from the closing on all moved.
    shifted = REACH + np.minimum(1.0, np.arange(len(REACH)) / 20)[:, None] * [0.03, -0.04, 0.0]
    made.follow_up(source, "MR10", shifted, move=(0.03, -0.04), closes=20)
    made.follow_up(source, "MR5", moved(REACH, 0.07, -0.07, 0.0), move=(0.07, -0.07))
    found = measured(made.folder, made.episodes)
    assert row_of(found, "MR10")["frechet_m"] == pytest.approx(0.0)
    assert row_of(found, "MR10")["moved_m"] == pytest.approx(0.05)
    assert row_of(found, "MR5")["frechet_m"] == pytest.approx(0.07 * np.sqrt(2))
    assert row_of(found, "MR5")["moved_m"] == pytest.approx(0.07 * np.sqrt(2))


def test_of_what_is_to_rest_all_motion_counts(tmp_path: Path) -> None:
    made = MadeRun(tmp_path / "run")
    source = made.source(0, REACH)
    made.follow_up(source, "MR11", line((1.0, 0.0, 0.0), (1.0, 0.3, 0.0), (1.0, 0.0, 0.0)))
    row = row_of(measured(made.folder, made.episodes), "MR11")
    assert row["frechet_m"] == pytest.approx(0.3) and row["endpoint_m"] == pytest.approx(0.0)


def test_an_unknown_frame_is_named() -> None:
    with pytest.raises(ValueError, match='No frame "sideways"'):
        compared(trajectory(REACH), trajectory(REACH), "sideways", STAY)
