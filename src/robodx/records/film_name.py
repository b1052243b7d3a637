"""What the film of an episode is called: by this name it is written, and found again."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

# Names of files are made from records, which could lead elsewhere.
_LEADING = re.compile(r"[^\w.+=-]", re.ASCII)


def film_name(row: Mapping[str, Any]) -> str:
    """Of a row of the table of episodes."""
    task, outcome, trial = (_LEADING.sub(".", str(row[key])) for key in ("task", "outcome", "trial_id"))
    return f"{task}-seed{row['seed']}-{outcome}-{trial[:6]}.mp4"
