"""The table of episodes: how it is written, and how it is read from a run folder of any version."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

import polars as pl

from robodx.records.about import UnreadableRun, read_about, refused, stop_if_interrupted
from robodx.records.derived_design import designed
from robodx.records.design import ADVICE, FILE, read_design, with_design
from robodx.records.episode import WRONG_OBJECT, Episode
from robodx.records.schema import ALWAYS_SAID, APPLIED_COLUMNS, LATER_COLUMNS, ORDER, OUTCOMES, SCHEMA, SHARES
from robodx.records.value_columns import APPLIED_BEFORE, with_typed_values
from robodx.records.values import applied_record

# Of parts that were read: what told the file from another by that name, and its table.
KeptParts = dict[Path, tuple[tuple[int, ...], pl.DataFrame]]
# Columns that were called otherwise up to schema version 3.
EARLIER_NAMES = {"demands": "requirements"}


def to_table(episodes: Sequence[Episode]) -> pl.DataFrame:
    rows = [{field.name: _stored(getattr(episode, field.name)) for field in fields(episode)} for episode in episodes]
    for row, episode in zip(rows, episodes, strict=True):
        for column in APPLIED_COLUMNS:
            row[column] = [applied_record(one) for one in getattr(episode, column)]
    return pl.DataFrame(rows, schema=SCHEMA).sort(ORDER)


def _stored(value: Any) -> Any:
    """A field's value as polars takes it."""
    if isinstance(value, str):
        # Half characters, as in names of files that are no text, cannot be stored: they are spelled out.
        return value.encode("utf-8", "backslashreplace").decode()
    if isinstance(value, tuple):
        return [_stored(one) for one in value]
    if is_dataclass(value):
        return {field.name: _stored(getattr(value, field.name)) for field in fields(value)}
    return value


def load(run: Path | str, kept: KeptParts | None = None) -> pl.DataFrame:
    """The last attempt at each trial, in the order of suite, task and seed, with what each was for (`design`).

    Parts that are `kept` and lie there as they were are not read again.
    """
    about = read_about(run)
    return explained(_last_attempts(_read_parts(Path(run), {} if kept is None else kept)), Path(run), about)


def parts_of(run: Path) -> list[Path]:
    """The files that hold the episodes of a run, in the order in which they are read."""
    folder = run / "episodes"
    try:
        # Not by a pattern: that takes a folder which it may not read for an empty one.
        return sorted(folder / name for name in os.listdir(folder) if name.endswith(".parquet"))
    except OSError as error:
        raise refused(folder, error) from error


def explained(episodes: pl.DataFrame, run: Path, about: Mapping[str, Any]) -> pl.DataFrame:
    """Episodes of a run with its design table, or what an older version would have meant by them."""
    design = read_design(run)
    if design is None:
        return designed(episodes, about)
    # Rows are written before their trials run, so that what has none was not meant by this table.
    if missing := len(set(episodes["trial_id"]) - set(design["trial_id"])):
        raise UnreadableRun(f"{run / FILE} says nothing of {missing} of {len(episodes)} episodes. {ADVICE}")
    return with_design(episodes, design)


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
    return not any(path.name.startswith("part-") for path in parts_of(Path(run)))


def _last_attempts(parts: list[pl.DataFrame]) -> pl.DataFrame:
    table = pl.concat([pl.DataFrame(schema=SCHEMA), *parts])
    return table.sort("attempt", maintain_order=True).unique("trial_id", keep="last", maintain_order=True).sort(ORDER)


def _read_parts(run: Path, kept: KeptParts) -> list[pl.DataFrame]:
    """All of them; once more if others lie there by then, because a run that ends puts its parts together."""
    paths = parts_of(run)
    for gone in kept.keys() - set(paths):
        del kept[gone]
    try:
        return [_read_once(path, kept) for path in paths]
    except UnreadableRun:
        if (now := parts_of(run)) == paths:
            raise
        return [_read_once(path, kept) for path in now]


def _read_once(path: Path, kept: KeptParts) -> pl.DataFrame:
    try:
        found = path.stat()
    except OSError as error:
        raise refused(path, error) from error
    stamp = (found.st_ino, found.st_mtime_ns, found.st_size)
    if path not in kept or kept[path][0] != stamp:
        kept[path] = stamp, _read_part(path)
    return kept[path][1]


def _read_part(path: Path) -> pl.DataFrame:
    """A part with the columns of the schema and nothing in them that no episode can say."""
    try:
        # Polars would take a name for a pattern, and refuse one that is no text.
        part = _modern(pl.read_parquet(path.read_bytes()))
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
        stop_if_interrupted(error)
        raise UnreadableRun(f"{path} is damaged: its bytes are no table. Move it away to read the rest.") from error
    except pl.exceptions.PolarsError as error:
        raise UnreadableRun(f"{path} is damaged: {error}. Move it away to read the rest.") from error
    except OSError as error:
        raise refused(path, error) from error


def _modern(part: pl.DataFrame) -> pl.DataFrame:
    """With the columns as they are now, so that tables of all versions can be joined."""
    part = part.rename({old: new for old, new in EARLIER_NAMES.items() if {old, new} - {*part.columns} == {new}})
    if part.schema.get("perturbations") == pl.List(APPLIED_BEFORE):
        part = part.with_columns(with_typed_values("perturbations"))
    # Before there were interventions there was none: a comparison holds those episodes against later ones.
    if "interventions" not in part.columns:
        part = part.with_columns(interventions=pl.lit([], SCHEMA["interventions"]))
    # Up to version 0.1.0 a wrong object was recorded with the type of a wrong order.
    if part.schema.get("failure_kind") == part.schema.get("failure_type") == pl.String:
        is_reference = (pl.col("failure_kind") == "reference") & pl.col("failure_type").is_not_null()
        part = part.with_columns(
            failure_type=pl.when(is_reference).then(pl.lit(WRONG_OBJECT)).otherwise("failure_type")
        )
    return part


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
        elif odd := _odd_applied(column) if column.name in APPLIED_COLUMNS else _odd_inside(column):
            yield f"the column {column.name} has {odd} in it"
        elif column.name in SHARES and not column.drop_nulls().is_between(0, 1).all():
            yield f"the column {column.name} has numbers in it that are not within 0 to 1"
    if odd_outcomes := sorted(set(part["outcome"].drop_nulls()) - set(OUTCOMES)):
        yield f"the column outcome says {odd_outcomes[0]!r}, not one of {', '.join(OUTCOMES)}"


def _odd_applied(column: pl.Series) -> str | None:
    """Of perturbations just one of the values is given: a number, a word or named numbers."""
    applied = column.filter(column.list.len() > 0).explode().struct.unnest()
    values = [applied[name] for name in ("severity", "word", "numbers")]
    is_set = sum((value.is_not_null().cast(pl.Int8) for value in values), start=pl.zeros(len(applied), eager=True)) == 1
    if applied["name"].has_nulls() or not is_set.all():
        return "empty values"
    return next((odd for value in values if (odd := _odd_inside(value))), None)


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
