"""Patches to things: what kind of thing each is, how big, and how it lies.

Only standard things are known, as a person knows them: what else stands there is a "block". Loose things are measured;
fixtures are taken for the standard ones of their kind, turned and placed as seen.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby

import numpy as np

from robodx.sight.multi_colour import multi_colour, with_peg_heads
from robodx.sight.segment import Patch
from robodx.sight.sighting import Sighting
from robodx.sight.single_colour import single_colour


def sightings(patches: Sequence[Patch]) -> list[Sighting]:
    """Everything that is made out; what touches is first taken together, then apart."""
    by_blob = sorted(patches, key=lambda patch: patch.blob)
    return [one for _, group in groupby(by_blob, key=lambda patch: patch.blob) for one in _if_any(list(group))]


def _if_any(patches: list[Patch]) -> list[Sighting]:
    """Points that nothing can be fitted to, as noise makes them, are no thing."""
    try:
        return list(_of_blob(patches))
    except (LookupError, ValueError, np.linalg.LinAlgError):
        return []


def _of_blob(patches: list[Patch]) -> Iterator[Sighting]:
    whole = multi_colour(patches) if len(patches) > 1 else None
    if whole is not None:
        yield whole
        return
    for patch in with_peg_heads(patches):
        yield from single_colour(patch.points, patch.colour)
