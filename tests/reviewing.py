"""A small run with pairs of source and follow-up trials, written by hand, for tests of reviews."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from robodx.records.film_name import film_name
from robodx.records.pairs import SCHEMA
from robodx.video.mp4 import write_mp4
from tests.viewing import HZ, episode, write_run

TASKS = ("carrier/pick_up", "carrier/put_on")
RELATIONS = ("MR1", "MR3", "MR5")


def trial_id(number: int) -> str:
    """Films are told apart by its first letters."""
    return f"{number:06x}{number:010x}"


def pair(number: int, **said: Any) -> dict[str, Any]:
    """A violated pair of the trials `number` and `1000 + number`, that the oracle flags if the number is even."""
    is_flagged = said.get("is_flagged", number % 2 == 0)
    return {
        "policy": "guess", "task": TASKS[number % 2], "seed": number, "repeat": 0,
        "relation": RELATIONS[number % 3], "pattern": "relocation" if number % 3 == 2 else "consistency",
        "source_id": trial_id(number), "trial_id": trial_id(1000 + number),
        "moved_m": 0.1 if number % 3 == 2 else None, "frechet_m": 0.35, "dtw_m": 0.2, "hausdorff_m": 0.3,
        "endpoint_m": 0.1, "frechet_by_hand": [0.35], "source_success": True, "follow_up_success": not is_flagged,
        "is_flagged": is_flagged, "failure_type": "grasp stability" if is_flagged else None,
        "source_hash": "a", "follow_up_hash": "b",
    } | said  # fmt: skip


def pairs_table(rows: list[dict[str, Any]]) -> pl.DataFrame:
    return pl.DataFrame(rows, schema=SCHEMA)


def paired_run(folder: Path, rows: list[dict[str, Any]], *, films: int = 0) -> Path:
    """A run folder with the episodes of these pairs and their table; of the first so many pairs with films."""
    episodes = []
    for row in rows:
        said = {"task": row["task"], "seed": row["seed"]}
        episodes.append(episode(row["seed"], trial_id=row["source_id"], success=True, **said))
        changed = {"instructions": [{"step": 0, "text": "Grab the red cube."}]} if row["relation"] == "MR1" else {}
        is_solved = row["follow_up_success"]
        outcome = "success" if is_solved else "failure"
        episodes.append(
            episode(row["seed"], trial_id=row["trial_id"], success=is_solved, outcome=outcome, **said, **changed)
        )
    write_run(folder, episodes)
    pairs_table(rows).write_parquet(folder / "pairs.parquet")
    (folder / "videos").mkdir()
    for row in episodes[: 2 * films]:
        write_film(folder, row)
    return folder


def write_film(folder: Path, row: dict[str, Any], steps: int = 40) -> None:
    shades = np.linspace(40, 215, steps + 1).astype(np.uint8)
    tint = np.array([1.0, 0.7, 0.4]) if row["success"] else np.array([0.4, 0.7, 1.0])
    pictures = (np.full((32, 64, 3), shade * tint, dtype=np.uint8) for shade in shades)
    write_mp4(folder / "videos" / film_name(row), pictures, HZ)
