"""The libraries of the optional extra `data`, imported when a format needs them."""

from __future__ import annotations

import importlib
from typing import Any

from robodx.errors import UserError


def needed(module: str) -> Any:
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise UserError(f"data sets of this format need {module} ({error}): pip install 'robodx[data]'") from error
