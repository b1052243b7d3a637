"""Who logs in, and with what, is in a policy's address: nothing that is handed on shall tell."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import polars as pl

# Up to the last @ before the path: a password may have one.
_LOGIN = r"(://)[^\s/]+@"


def without_logins(text: str) -> str:
    """As "openpi://…@host:8000"."""
    return re.sub(_LOGIN, r"\1…@", text)


def texts_without_logins(table: pl.DataFrame) -> pl.DataFrame:
    """The same of every text of a table."""
    return table.with_columns(pl.col(pl.String).str.replace_all(_LOGIN, "${1}…@"))


def all_without_logins(value: Any) -> Any:
    """The same of every text of a JSON value."""
    if isinstance(value, str):
        return without_logins(value)
    if isinstance(value, Mapping):
        return {all_without_logins(key): all_without_logins(one) for key, one in value.items()}
    return [all_without_logins(one) for one in value] if isinstance(value, list) else value
