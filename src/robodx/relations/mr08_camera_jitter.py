"""MR8: cameras that were knocked."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from robodx.interventions.camera_jitter import MILLIMETRES
from robodx.records.values import Applied
from robodx.relations.base import Source, in_any_order, relation


@relation("MR8", "camera jitter", pattern="consistency", changes=("cameras",))
def camera_jitter(source: Source, rng: np.random.Generator) -> Iterable[tuple[Applied, ...]]:
    """Each standing camera is 2 to 6 mm elsewhere. The path should stay the same."""
    return in_any_order([("camera jitter", f"{size} mm") for size in MILLIMETRES], rng)
