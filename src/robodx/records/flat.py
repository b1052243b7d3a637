"""Episodes without lists and structs, as CSV, pandas and spreadsheets can hold them: one row an episode."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import polars as pl

from robodx.records.design import COLUMN as DESIGN
from robodx.records.logins import texts_without_logins
from robodx.records.schema import APPLIED_COLUMNS
from robodx.records.values import as_option, read_applied

# Between the words of a list.
BETWEEN = "; "
# What a spreadsheet would run as a formula; also in the wide letters of Chinese and Japanese keyboards.
FORMULA = r"^([=+\-@\t\r\n＝＋－＠])"  # noqa: RUF001

Row = Mapping[str, Any]


def flat(episodes: pl.DataFrame) -> pl.DataFrame:
    """Every column of `load` as plain ones, in the same order; docs/exports.md has their names.

    A struct becomes a column for each field (`target.kind`), values by name one for each name
    (`attributes.target_side`), words of a list one text; lists of structs are written as JSON.
    Logins in a policy's address are left out.
    """
    columns: dict[str, pl.Series] = {}
    for plain in (plain for column in episodes for plain in _plain(column)):
        name = plain.name
        # A plugin may call a text and a number alike.
        while name in columns:
            name += "#2"
        columns[name] = plain
    return texts_without_logins(pl.DataFrame(columns))


def to_csv(table: pl.DataFrame) -> str:
    """What a spreadsheet would run as a formula gets an apostrophe before it, which makes it a text."""
    safe = table.with_columns(pl.col(pl.String).str.replace(FORMULA, "'${1}"))
    return safe.rename({name: f"'{name}" for name in safe.columns if name[:1] in "=+-@\t\r\n"}).write_csv()


def to_parquet(table: pl.DataFrame) -> bytes:
    content = io.BytesIO()
    table.write_parquet(content)
    return content.getvalue()


def flat_design(rows: pl.DataFrame) -> pl.DataFrame:
    """The design table, with factors as JSON."""
    return rows.with_columns(_text(rows["factors"], lambda factors: _json(_factors(factors))))


def _plain(column: pl.Series) -> Iterator[pl.Series]:
    name, kind = column.name, column.dtype
    if name == "attributes":
        yield from _by_name(name, column.struct.field("texts"), pl.String())
        yield from _by_name(name, column.struct.field("numbers"), pl.Float64())
    elif name == "quantities":
        yield from _by_name(name, column, pl.Float64())
    elif name == DESIGN:
        yield from _purposes(column)
    elif name in APPLIED_COLUMNS:
        yield _text(column, lambda applied: BETWEEN.join(as_option(*one) for one in read_applied(applied)))
    elif isinstance(kind, pl.Struct):
        fields = column.struct.unnest()
        yield from (part for field in fields for part in _plain(field.alias(f"{name}.{field.name}")))
    elif isinstance(kind, pl.List):
        yield _text(column, _json if isinstance(kind.inner, pl.Struct) else _joined)
    else:
        yield column


def _by_name(prefix: str, column: pl.Series, kind: pl.DataType) -> Iterator[pl.Series]:
    """A column for each name that any episode has, in the order of their names."""
    rows = [{one["name"]: one["value"] for one in values or ()} for values in column.to_list()]
    for name in sorted({name for row in rows for name in row}):
        yield pl.Series(f"{prefix}.{name}", [row.get(name) for row in rows], dtype=kind)


def _purposes(column: pl.Series) -> Iterator[pl.Series]:
    """What a trial was for. Most have one purpose; of several the values stand beside each other, each once."""
    yield column.list.len().alias(f"{DESIGN}.purposes")
    for name in ("suite", "variant", "source_id", "level"):
        yield _text(column.alias(f"{DESIGN}.{name}"), partial(_each_once, name))
    yield _text(column, lambda purposes: _json([{**one, "factors": _factors(one["factors"])} for one in purposes]))


def _each_once(name: str, purposes: Sequence[Row]) -> str | None:
    return _joined(list(dict.fromkeys(one[name] for one in purposes if one[name] is not None))) or None


def _factors(factors: Sequence[Row]) -> dict[str, Any]:
    kinds = ("number", "text", "flag")
    return {one["name"]: next((one[kind] for kind in kinds if one[kind] is not None), None) for one in factors}


def _text(column: pl.Series, written: Callable[[Any], str | None]) -> pl.Series:
    texts = [None if value is None else written(value) for value in column.to_list()]
    return pl.Series(column.name, texts, dtype=pl.String())


def _joined(values: Sequence[Any]) -> str:
    return BETWEEN.join(map(str, values))


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
