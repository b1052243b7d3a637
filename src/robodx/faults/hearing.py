"""Which thing a description is taken for that was heard wrongly: it may fit several things, or none."""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import replace

import numpy as np

from robodx.language.reference import Rank, Reference, Seen, Unresolved, candidates, is_related


def fitting(reference: Reference, seen: Seen, rng: np.random.Generator) -> list[str]:
    """What a description fits; where it is told by something that is open to doubt, one of those is taken."""
    plain = replace(reference, where=(), but=(), rank=None)
    found = candidates(plain, seen)
    for where in reference.where:
        anchor = one_of(fitting(where.of, seen, rng), rng)
        found = [name for name in found if name != anchor and is_related(seen[name], where.relation, seen[anchor])]
    taken = {name for other in reference.but for name in fitting(other, seen, rng)}
    found = [name for name in found if name not in taken]
    return _ranked(reference.rank, found, seen, rng) if reference.rank and found else found


def one_of(names: list[str], rng: np.random.Generator) -> str:
    if not names:
        raise Unresolved("nothing fits what was heard")
    return names[rng.integers(len(names))]


def choose(
    heard: Reference, seen: Seen, pool: Collection[str], taken: Collection[str], rng: np.random.Generator
) -> str:
    """One of the pool that fits and is not taken for something else; or else one that is such a thing at all."""
    try:
        found = fitting(heard, seen, rng)
    except Unresolved:
        found = []
    found = [name for name in found if name in pool]
    alike = [name for name in candidates(replace(heard, where=(), but=(), rank=None), seen) if name in pool]
    for names in (found, alike):
        if free := [name for name in names if name not in taken]:
            return one_of(free, rng)
    return one_of(found or alike, rng)


def _ranked(rank: Rank, found: list[str], seen: Seen, rng: np.random.Generator) -> list[str]:
    if rank.of is None:
        return candidates(Reference(rank=rank), {name: seen[name] for name in found})
    anchor = one_of(fitting(rank.of, seen, rng), rng)
    if rank.by == "that fits":
        return candidates(Reference(rank=rank), {name: seen[name] for name in (*found, anchor)})
    sign = -1 if rank.by == "farthest from" else 1
    place = seen[anchor].position[:2]
    others = [name for name in found if name != anchor]
    return sorted(others, key=lambda name: sign * math.dist(seen[name].position[:2], place))[rank.n - 1 : rank.n]
