"""The table of episodes: its schema, and how it is read back from a run folder."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from robodx.analysis.shapes import flaw
from robodx.errors import UserError

SCHEMA_VERSION = 3
# Of older versions, what they did not record is null.
READABLE_VERSIONS = (1, 2, 3)

# One row an episode. Written with every part: a part whose column is all null would otherwise break a scan over parts.
SCHEMA: dict[str, pl.DataType] = {
    "trial_id": pl.String(),
    "pair_id": pl.String(),
    "suite": pl.String(),
    "task": pl.String(),
    "task_version": pl.Int32(),
    "family": pl.String(),
    "tier": pl.String(),
    "tags": pl.List(pl.String()),
    "robot": pl.String(),
    "policy": pl.String(),
    "seed": pl.Int64(),
    "repeat": pl.Int32(),
    "perturbations": pl.List(pl.Struct({"name": pl.String(), "severity": pl.Float64()})),
    "clock": pl.String(),
    "outcome": pl.String(),
    "success": pl.Boolean(),
    "progress": pl.Float64(),
    "stages": pl.Int32(),
    "stages_reached": pl.Int32(),
    "stage_steps": pl.List(pl.Int32()),
    "steps": pl.Int32(),
    "instructions": pl.List(pl.Struct({"step": pl.Int32(), "text": pl.String()})),
    "events": pl.List(
        pl.Struct(
            {
                "step": pl.Int32(),
                "time_s": pl.Float64(),
                "kind": pl.String(),
                "object": pl.String(),
                "other": pl.String(),
                "value": pl.Float64(),
            }
        )
    ),
    "first_touched": pl.String(),
    "demands": pl.List(pl.String()),
    "target": pl.Struct(
        {
            "name": pl.String(),
            "kind": pl.String(),
            "colour": pl.String(),
            "size_m": pl.Float64(),
            "x_m": pl.Float64(),
            "y_m": pl.Float64(),
        }
    ),
    "mistaken": pl.List(pl.Struct({"attribute": pl.String(), "asked": pl.String(), "chosen": pl.String()})),
    "failure_kind": pl.String(),
    "failure_type": pl.String(),
    "failure_evidence": pl.Struct(
        {"step": pl.Int32(), "object": pl.String(), "condition": pl.String(), "says": pl.String()}
    ),
    "quality_flags": pl.List(pl.String()),
    "chance": pl.Float64(),
    "primitive": pl.String(),
    "error": pl.String(),
    "trajectory_hash": pl.String(),
    "attempt": pl.Int32(),
    "wall_s": pl.Float64(),
    "duration_s": pl.Float64(),
    "path_length_m": pl.Float64(),
    "length_ratio": pl.Float64(),
    "mean_squared_jerk": pl.Float64(),
    "sparc": pl.Float64(),
    "stability": pl.Float64(),
    "slips": pl.Int32(),
    "drops": pl.Int32(),
    "collisions": pl.Int32(),
    "peak_collision_n": pl.Float64(),
    "limit_steps": pl.Int32(),
    "joint_limit_s": pl.Float64(),
    "queries": pl.Int32(),
    "perturbed_queries": pl.Int32(),
    "perturbed_steps": pl.Int32(),
    "actions_per_s": pl.Float64(),
    "inference_ms_p50": pl.Float64(),
    "inference_ms_p95": pl.Float64(),
    "inference_ms_p99": pl.Float64(),
}

LATER_COLUMNS = {
    "failure_type", "failure_evidence", "quality_flags", "chance", "primitive", "length_ratio", "sparc", "slips",
    "joint_limit_s", "queries", "perturbed_queries", "perturbed_steps", "actions_per_s", "inference_ms_p99",
    "demands", "target", "mistaken",
}  # fmt: skip

# What every episode has, even one that was lost to an error.
ALWAYS_SAID = (
    "trial_id", "pair_id", "suite", "task", "task_version", "family", "tags", "robot", "policy", "seed", "repeat",
    "perturbations", "clock", "outcome", "success", "stage_steps", "steps", "instructions", "events", "attempt",
)  # fmt: skip

OUTCOMES = ("success", "failure", "timeout", "error")
SHARES = ("progress", "chance")

# What took how long: of two runs of the same trials these differ.
TIMINGS = ("wall_s", "actions_per_s", "inference_ms_p50", "inference_ms_p95", "inference_ms_p99")

# What makes two episodes of different runs the same trial, whoever acted.
KEY = ("task", "task_version", "robot", "seed", "repeat", "perturbations", "clock")
ORDER = ("suite", "task", "seed", "repeat", "trial_id")


class UnreadableRun(UserError):
    """A folder that is not a run, or a run that this version cannot read; the message names the file."""


def read_about(run: Path | str, needs: Sequence[str] = ()) -> dict[str, Any]:
    """The run's own description, run.json, each key in the shape that it must have and those in `needs` there."""
    path = Path(run) / "run.json"
    try:
        about: dict[str, Any] = json.loads(path.read_text())
    except (FileNotFoundError, NotADirectoryError):
        raise UnreadableRun(f"{run} is not a run folder: it has no run.json") from None
    # A number may have too many digits, lists may lie too deep in each other.
    except (ValueError, RecursionError, OSError) as error:
        raise UnreadableRun(f"{path} is damaged: {error}") from error
    if not isinstance(about, dict):
        raise UnreadableRun(f"{path} is damaged: it describes no run")
    version = about.get("schema_version")
    if version not in READABLE_VERSIONS:
        readable = " and ".join(map(str, READABLE_VERSIONS))
        raise UnreadableRun(f"{path} has schema version {version}; this robodx reads {readable}")
    if wrong := flaw(about, needs):
        raise UnreadableRun(f"{path} is damaged: {wrong}")
    return about


def load(run: Path | str) -> pl.DataFrame:
    """The last attempt at each trial, in the order of suite, task and seed."""
    read_about(run)
    return _last_attempts([_read_part(path) for path in sorted((Path(run) / "episodes").glob("*.parquet"))])


def load_readable(parts: Iterable[Path]) -> tuple[pl.DataFrame, list[str]]:
    """As `load`, of those parts of a run that can be read, and a line on each that cannot."""
    frames, problems = [], []
    for path in parts:
        try:
            frames.append(_read_part(path))
        except UnreadableRun as error:
            problems.append(str(error))
    return _last_attempts(frames), problems


def is_finished(run: Path | str) -> bool:
    """Whether a run came to its end, when its parts are put together."""
    return not any((Path(run) / "episodes").glob("part-*.parquet"))


def _last_attempts(parts: list[pl.DataFrame]) -> pl.DataFrame:
    table = pl.concat([pl.DataFrame(schema=SCHEMA), *parts])
    return table.sort("attempt", maintain_order=True).unique("trial_id", keep="last", maintain_order=True).sort(ORDER)


def _read_part(path: Path) -> pl.DataFrame:
    """A part with the columns of the schema and nothing in them that no episode can say."""
    try:
        part = pl.read_parquet(path)
        unsaid = {name: pl.lit(None, kind).alias(name) for name, kind in SCHEMA.items() if name not in part.columns}
        if not unsaid.keys() <= LATER_COLUMNS:
            raise UnreadableRun(f"{path} lacks the columns {', '.join(unsaid.keys() - LATER_COLUMNS)}")
        part = part.with_columns(**unsaid).select(*SCHEMA)
        if not (wrong := list(_wrong_kinds(part))):
            part = part.cast(pl.Schema(SCHEMA))
            wrong = list(_wrong_values(part))
        if wrong:
            raise UnreadableRun(f"{path} is damaged: {'; '.join(wrong)}. Move it away to read the rest.")
        return part
    except pl.exceptions.PanicException as error:
        raise UnreadableRun(f"{path} is damaged: its bytes are no table. Move it away to read the rest.") from error
    except (pl.exceptions.PolarsError, OSError) as error:
        raise UnreadableRun(f"{path} is damaged: {error}. Move it away to read the rest.") from error
    except TypeError:
        # So polars refuses what it cannot spell.
        raise UnreadableRun(f"{path} cannot be read: its name is no text") from None


def _wrong_kinds(part: pl.DataFrame) -> Iterator[str]:
    """Columns of another type than theirs, unless each value of it is one of theirs too."""
    for name, kind in SCHEMA.items():
        found = part.schema[name]
        is_alike = (found.is_integer() and kind.is_integer()) or (found.is_float() and kind.is_float())
        if found not in (kind, pl.Null) and not is_alike:
            yield f"the column {name} is {found}, not {kind}"


def _wrong_values(part: pl.DataFrame) -> Iterator[str]:
    for column in part:
        if column.name in ALWAYS_SAID and column.has_nulls():
            yield f"the column {column.name} is empty in {column.null_count()} of {len(column)} episodes"
        elif odd := _odd_inside(column):
            yield f"the column {column.name} has {odd} in it"
        elif column.name in SHARES and not column.drop_nulls().is_between(0, 1).all():
            yield f"the column {column.name} has numbers in it that are not within 0 to 1"
    if odd_outcomes := sorted(set(part["outcome"].drop_nulls()) - set(OUTCOMES)):
        yield f"the column outcome says {odd_outcomes[0]!r}, not one of {', '.join(OUTCOMES)}"


def _odd_inside(column: pl.Series) -> str | None:
    """What no record has. The whole of a value may be null, but nothing inside a list or a struct."""
    said = column.drop_nulls()
    if said.dtype.is_float():
        return None if said.is_finite().all() else "numbers that are not finite"
    if said.dtype.is_integer():
        return "negative numbers" if (said < 0).any() else None
    if isinstance(said.dtype, pl.List):
        parts = [said.filter(said.list.len() > 0).explode()]
    elif isinstance(said.dtype, pl.Struct):
        parts = said.struct.unnest().get_columns()
    else:
        return None
    if any(part.has_nulls() for part in parts):
        return "empty values"
    return next((odd for part in parts if (odd := _odd_inside(part))), None)
