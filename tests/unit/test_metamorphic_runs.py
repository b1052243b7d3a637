"""Runs of the metamorphic suite: planted inconsistencies violate their relation, and what is consistent does not."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

from robodx.analysis.metamorphic.levels import with_verdicts
from robodx.records.pairs import read_pairs
from robodx.running.environment import USUAL_SEED
from robodx.running.request import Request
from robodx.running.run import run


def judged(policy: str, selectors: tuple[str, ...], folder: Path, seeds: int = 3, first_seed: int = 0) -> pl.DataFrame:
    run(Request(selectors, policy, seeds, first_seed=first_seed), folder)
    pairs = read_pairs(folder)
    assert pairs is not None
    return with_verdicts(pairs)


def rates(found: pl.DataFrame) -> dict[str, float]:
    """Of violations at the strict level: with fewer than 19 repeats none is calibrated."""
    return dict(found.group_by("relation").agg(pl.col("violates_strict").mean()).iter_rows())


@pytest.mark.parametrize(
    ("fault", "relation", "task", "first_seed", "seeds"),
    [
        # Where only what is named lies on the table, its source succeeds.
        ("distractible", "MR2", "put_on", 0, 2),
        ("ignores_negation", "MR4", "pick_up", 0, 1),
        # A memory of one layout serves on that layout: there the source succeeds.
        ("memorised_layout", "MR5", "put_on", USUAL_SEED, 1),
    ],
)
def test_a_planted_inconsistency_violates_its_relation(
    fault: str, relation: str, task: str, first_seed: int, seeds: int, tmp_path: Path
) -> None:
    selectors = tuple(f"metamorphic/{name}/{task}" for name in (relation, "MR1"))
    found = rates(judged(f"fault:{fault}", selectors, tmp_path / "run", seeds, first_seed))
    assert found == {"MR0": 0.0, "MR1": 0.0, relation: 1.0}


def test_the_expert_violates_none(tmp_path: Path) -> None:
    found = judged("expert", ("metamorphic/put_in",), tmp_path / "run", seeds=1)
    assert set(found["relation"]) == {"MR0", "MR1", "MR2", "MR4", "MR5", "MR6", "MR7", "MR9", "MR10", "MR11"}
    assert not found["violates_strict"].any()
    # What should stay the same does so to the millimetre, but for what is mirrored or moved with all the table.
    exact = found.filter(pl.col("relation").is_in(["MR0", "MR1", "MR2", "MR7", "MR9"]))
    assert exact["frechet_m"].max() < 0.001  # type: ignore[operator]
    assert found["frechet_by_hand"].list.len().unique().to_list() == [1]


@pytest.mark.thorough
def test_a_policy_that_takes_right_for_left_is_no_mirror_of_itself(tmp_path: Path) -> None:
    plugin = Path(__file__).parent.parent.parent / "scripts" / "inconsistent_policies.py"
    # In a process of its own: what a plugin registers stays.
    words = ["run", "metamorphic/MR6/pick_up", "--policy", "fault:hears_only_left", "--plugin", str(plugin)]
    command = [sys.executable, "-c", "from robodx.cli import main; main()", *words, "--seeds", "6", "--out", "run"]
    subprocess.run(command, cwd=tmp_path, check=True, capture_output=True, timeout=240)
    pairs = read_pairs(tmp_path / "run")
    assert pairs is not None
    mirrored = pairs.filter(pl.col("relation") == "MR6")
    # Those that were told "left" succeed, and are told "right" in the mirror; only the middle of three is so from both.
    wrong = mirrored.filter("is_flagged")
    assert len(wrong) > len(mirrored) / 2 and (wrong["frechet_m"] > 0.1).all()


def test_a_run_that_is_given_again_measures_nothing_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = judged("expert", ("metamorphic/MR5/pick_up",), tmp_path / "run", seeds=1)
    monkeypatch.setattr("robodx.analysis.metamorphic.measuring._measured", None)
    again = judged("expert", ("metamorphic/MR5/pick_up",), tmp_path / "run", seeds=1)
    assert again.equals(first)
    # Who lost the file has it written again, from the trajectories.
    monkeypatch.undo()
    (tmp_path / "run" / "pairs.parquet").unlink()
    assert judged("expert", ("metamorphic/MR5/pick_up",), tmp_path / "run", seeds=1).equals(first)
