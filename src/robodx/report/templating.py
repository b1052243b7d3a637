"""The templates: whatever is put into one is shown as text, unless it is markup of our own."""

from __future__ import annotations

import re
from functools import cache
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from robodx.report import words

_INTERVAL = re.compile(r"\[(\S+), (\S+)\]")
_JOINTS = re.compile(r"(?<=[/_=])(?=\w)")


def fill(template: str, **values: Any) -> Markup:
    """A template of the folder `templates` with its values."""
    return Markup(_environment().get_template(template).render(**values))


def breakable(text: str) -> Markup:
    """A name may go on in the next line after a slash, an underscore or an equals sign, and an interval may not."""
    whole = _INTERVAL.sub("[\\1,\u00a0\\2]", words.plain(text))
    return Markup("<wbr>").join(_JOINTS.split(whole))


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("robodx.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_shown,
    )
    environment.filters |= {
        "short": words.short, "rate": words.rate, "points": words.points, "percent": words.percent,
        "breakable": breakable,
    }  # fmt: skip
    return environment


def _shown(value: object) -> object:
    return words.plain(value) if type(value) is str else value
