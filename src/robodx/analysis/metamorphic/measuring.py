"""The pairs of the suite `metamorphic`, measured: the path expected of each follow-up beside the one that it took."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from robodx.analysis.metamorphic.distances import Distances, distances
from robodx.analysis.variants import of_suite
from robodx.records.pairs import DISTANCE_COLUMNS, ROW, SCHEMA, read_pairs, write_pairs
from robodx.records.trajectory import DAMAGED, Trajectory, stored_digest
from robodx.records.trajectory_files import trajectory_file

Floats = NDArray[np.float64]
Load = Callable[[Path, str, str | None], Trajectory | None]
SUITE = "metamorphic"
# The path that is expected of a follow-up.
FRAMES = ("same", "mirrored", "moved", "at rest")
# What the design says of a pair.
TEXTS = ("relation", "pattern", "frame")
NUMBERS = ("moved_x", "moved_y")
# A gripper that is commanded to open less than this is closing.
CLOSED = 0.5
# What is measured, and taken over where it was measured before.
MEASURED = (*DISTANCE_COLUMNS, "frechet_by_hand")
# No hand goes as far.
FARTHEST_M = 100.0
# Trajectories that are kept while their follow-ups are measured: these come one after the other.
KEPT = 8


def write_measured(run: Path, episodes: pl.DataFrame) -> pl.DataFrame:
    """As `measured`, and kept in the run folder, unless it is there already or there are no pairs."""
    table = measured(run, episodes)
    if len(table) and not _is_there(run, table):
        write_pairs(run, table)
    return table


def measured(run: Path, episodes: pl.DataFrame) -> pl.DataFrame:
    """A row for each pair whose two episodes are there, MR0 included, in the order of policy, task, seed and relation.

    Nothing is written. What was measured of the same two trajectories before is taken over from the run's
    pairs.parquet; the rest, such as all of merged shards, is worked out.
    """
    pairs = _pairs(episodes)
    before = _before(run) if len(pairs) else {}
    # A source has its follow-ups one after the other, so that it is loaded once.
    load: Load = lru_cache(KEPT)(_loaded)
    rows = []
    for pair in pairs.iter_rows(named=True):
        known = before.get(_key(pair))
        rows.append({**pair, **(known if known is not None else _measured(run, pair, load))})
    return pl.DataFrame(rows, schema=SCHEMA) if rows else pl.DataFrame(schema=SCHEMA)


def _pairs(episodes: pl.DataFrame) -> pl.DataFrame:
    """What is known without the trajectories, with the frame and the move."""
    asked = of_suite(episodes, SUITE).filter(pl.col("source_id").is_not_null())
    said = [{one["name"]: one for one in factors} for factors in asked["factors"].to_list()]
    success = pl.when(pl.col("outcome") != "error").then("success")
    follow_ups = asked.select(
        "policy", "task", "source_id", "trial_id", pl.col("seed").cast(pl.Int64), follow_up_success=success,
        failure_type=pl.when(~success).then("failure_type"), follow_up_hash="trajectory_hash",
    ).with_columns(
        *(pl.Series(name, [_value(one, name, "text") for one in said], pl.String) for name in TEXTS),
        *(pl.Series(name, [_value(one, name, "number") for one in said], pl.Float64) for name in NUMBERS),
    )  # fmt: skip
    sources = episodes.select(
        source_id="trial_id", repeat=pl.col("repeat").cast(pl.Int64), source_success=success,
        source_hash="trajectory_hash",
    ).unique("source_id")  # fmt: skip
    # A row that does not say what it should be is none of ours.
    return (
        follow_ups.drop_nulls(["relation", "pattern"])
        .join(sources, on="source_id")
        .with_columns(
            is_flagged=~pl.col("follow_up_success"),
            moved_m=(pl.col("moved_x").fill_null(0.0) ** 2 + pl.col("moved_y").fill_null(0.0) ** 2).sqrt(),
        )
        .with_columns(moved_m=pl.when(pl.col("moved_m") > 0).then("moved_m"))
        .sort("policy", "task", "seed", "repeat", "source_id", "relation", "trial_id")
        .unique(ROW, keep="first", maintain_order=True)
    )


def _value(factors: Mapping[str, Mapping[str, Any]], name: str, kind: str) -> Any:
    return factors.get(name, {}).get(kind)


def _key(pair: Mapping[str, Any]) -> tuple[Any, ...]:
    """The same only if the same two trajectories are held against each other in the same way."""
    moved = None if pair["moved_m"] is None else round(pair["moved_m"], 9)
    return *(pair[name] for name in (*ROW, "pattern", "frame", "source_hash", "follow_up_hash")), moved


def _before(run: Path) -> dict[tuple[Any, ...], dict[str, Any]]:
    """What the run's pairs.parquet has measured; what could not be measured then is tried again."""
    stored = read_pairs(run)
    if stored is None:
        return {}
    known = stored.drop_nulls([*MEASURED, "source_hash", "follow_up_hash"])
    # Nothing else is a distance, whoever wrote the file.
    rows = known.filter(pl.all_horizontal(pl.col(DISTANCE_COLUMNS).is_between(0.0, FARTHEST_M))).to_dicts()
    return {_key(row): {name: row[name] for name in MEASURED} for row in rows}


def _is_there(run: Path, table: pl.DataFrame) -> bool:
    stored = read_pairs(run)
    return stored is not None and stored.equals(table)


def _measured(run: Path, pair: Mapping[str, Any], load: Load) -> dict[str, Any]:
    source = load(run, pair["source_id"], pair["source_hash"])
    follow_up = load(run, pair["trial_id"], pair["follow_up_hash"])
    if source is None or follow_up is None or source.tool_in_world.shape[1] != follow_up.tool_in_world.shape[1]:
        return dict.fromkeys(MEASURED)
    move = np.array([pair["moved_x"] or 0.0, pair["moved_y"] or 0.0, 0.0])
    try:
        hands = [distances(*both) for both in compared(source, follow_up, pair["frame"] or "same", move)]
    except ValueError:
        # A simulation that went astray has no path, and of a frame that is not known nothing is expected.
        return dict.fromkeys(MEASURED)
    largest = Distances(*(max(each) for each in zip(*hands, strict=True)))
    return {
        **{name: getattr(largest, name.removesuffix("_m")) for name in DISTANCE_COLUMNS},
        "frechet_by_hand": [one.frechet for one in hands],
    }


def compared(source: Trajectory, follow_up: Trajectory, frame: str, move: Floats) -> list[tuple[Floats, Floats]]:
    """Of each hand of the follow-up the path (points, 3) that it should take, and the one that it took."""
    path, took = source.tool_in_world[:, :, :3], follow_up.tool_in_world[:, :, :3]
    hands = range(took.shape[1])
    if frame == "same":
        return [(path[:, hand], took[:, hand]) for hand in hands]
    if frame == "at rest":
        return [(took[:1, hand], took[:, hand]) for hand in hands]
    if frame not in FRAMES:
        raise ValueError(f'No frame "{frame}". There are: {", ".join(FRAMES)}')
    is_mirrored = frame == "mirrored"
    found = []
    for hand in hands:
        # In a mirror, what the left hand did is for the right one to do.
        other = hands[-1 - hand] if is_mirrored else hand
        should = path[:, other] * np.array([1.0, -1.0, 1.0]) if is_mirrored else path[:, other]
        begins = _first_closing(_opening(source, other)), _first_closing(_opening(follow_up, hand))
        if begins == (None, None):
            # A hand that has nothing to do with the scene does not move along with it.
            found.append((should, took[:, hand]))
            continue
        # The robot stands where it stood, and not in the mirror or where the scene is now: what a hand does there
        # begins where it first closes.
        found.append((should[begins[0] or 0 :] + move, took[begins[1] or 0 :, hand]))
    return found


def _opening(trajectory: Trajectory, tool: int) -> Floats | None:
    """What the opening of a hand was commanded to be (n,); None where the record does not say."""
    hands = () if trajectory.index is None else trajectory.index.hands
    column = next((hand.opening for hand in hands if hand.tool == tool), None)
    return None if column is None else np.asarray(trajectory.commands[:, column], dtype=np.float64)


def _first_closing(opening: Floats | None) -> int | None:
    """The state at which an open gripper is first told to close; one that begins closed does not close there."""
    if opening is None or len(opening) < 2:
        return None
    (steps,) = np.nonzero((opening[1:] < CLOSED) & (opening[:-1] >= CLOSED))
    return int(steps[0]) + 1 if len(steps) else None


def _loaded(run: Path, trial_id: str, digest: str | None) -> Trajectory | None:
    """None where there is none, or another episode's than the table speaks of."""
    if digest is None:
        return None
    path = trajectory_file(run, trial_id)
    try:
        return Trajectory.load(path) if stored_digest(path.read_bytes()) == digest else None
    except DAMAGED:
        return None
