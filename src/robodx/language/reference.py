"""Descriptions of things, and which thing is meant among those that can be seen.

What is known of a thing here is what can be told by looking at it: the simulator's world and a policy's pictures give
the same `Looks`, so that one grammar serves both.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol, get_args

from robodx.language.lexicon import KINDS, ORDINALS, SIZES, article
from robodx.registry import UnknownName, require, unknown
from robodx.sim.colours import PALETTE
from robodx.sim.geometry import Vector, turned
from robodx.sim.scene import Thing

Side = Literal["left", "right"]
Comparative = Literal["bigger", "smaller"]
Superlative = Literal["leftmost", "rightmost", "nearest", "farthest", "highest", "middle", "biggest", "smallest", "odd"]
Measure = Literal["closest to", "farthest from", "that fits"]
Spatial = Literal["inside", "outside", "on", "under", "beside", "left of", "right of", "in front of", "behind"]

# Ranks that one thing has, and no other comes second in.
ALONE = ("middle", "odd", "that fits", *get_args(Comparative))

# Sizes nearer to each other than this share are the same size.
SAME_SIZE = 0.04
# A slot fits what is nearly as wide as it is; the share of its width that may be missing.
SNUG = 0.1
# Faces nearer than this are beside each other; lower and upper faces nearer than this touch.
BESIDE_M = 0.05
TOUCHING_M = 0.012
# Nearer than this to level with another, a thing is on neither side of it: one in a stack is not behind the others.
LEVEL_M = 0.01


@dataclass(frozen=True)
class Looks:
    """What can be told of a thing by looking at it."""

    kind: str
    colour: str | None = None
    position: Vector = (0.0, 0.0, 0.0)
    # Its own, however it lies.
    half_extents: Vector = (0.02, 0.02, 0.02)
    # Along the world's axes, as it lies.
    reach: Vector = (0.02, 0.02, 0.02)
    # Of what can hold things, half the width between its walls.
    cavity_half: tuple[float, float] | None = None
    # Colours of its bands in order, along its own axis.
    bands: tuple[str, ...] = ()
    is_striped: bool = False
    # Its position along the robot's own axes, ahead, to its left and up, where these are not the world's.
    ahead: Vector | None = None

    @property
    def faced(self) -> Vector:
        """Its position along the robot's own axes: ahead, to its left, up."""
        return self.position if self.ahead is None else self.ahead

    @property
    def size_m(self) -> float:
        return max(self.half_extents)


Seen = Mapping[str, Looks]


class Visible(Protocol):
    """Where things are and what colour they wear, by name, as of now: the simulator's world, or what eyes make out."""

    @property
    def things(self) -> Mapping[str, Thing]: ...
    # Which way the robot looks: its turn about the vertical.
    @property
    def heading_rad(self) -> float: ...
    def position(self, name: str) -> Vector: ...
    def reach(self, name: str) -> Vector: ...
    def colour(self, name: str) -> str: ...
    def is_present(self, name: str) -> bool: ...


@dataclass(frozen=True)
class Where:
    """What a thing is in relation to another, as part of its description: "the cube inside the bowl"."""

    relation: Spatial
    of: Reference

    def __post_init__(self) -> None:
        require("relation", self.relation, get_args(Spatial))


@dataclass(frozen=True)
class Rank:
    """Which of several: "the leftmost", "the second from the left", "the closest to the bowl"."""

    by: Side | Superlative | Comparative | Measure
    n: int = 1
    of: Reference | None = None

    def __post_init__(self) -> None:
        if (self.of is not None) != (self.by in get_args(Measure)):
            raise ValueError(f'"{self.by}" {"needs" if self.of is None else "takes no"} thing to measure from')
        if not 1 <= self.n <= len(ORDINALS):
            raise ValueError(f"there is no word for number {self.n} of several")
        if self.n > 1 and self.by in ALONE:
            raise ValueError(f'"{self.by}" is said of one: there is no {ORDINALS[self.n - 1]}')


@dataclass(frozen=True)
class Reference:
    """A description that picks out things; what it leaves open matches anything.

    Attributes first, then `where`, then `but` takes away, and among what is left `rank` chooses one.
    """

    kind: str | None = None
    colour: str | None = None
    size: str | None = None
    is_striped: bool | None = None
    bands: tuple[str, ...] = ()
    where: tuple[Where, ...] = ()
    but: tuple[Reference, ...] = ()
    rank: Rank | None = None
    # Other words for the same description: "crimson block".
    said: str | None = field(default=None, compare=False)

    def __post_init__(self) -> None:
        for noun, word, valid in (
            ("kind of object", self.kind, KINDS),
            ("colour", self.colour, PALETTE),
            ("size", self.size, SIZES),
        ):
            if word is not None and word not in valid:
                raise UnknownName(unknown(noun, word, valid))

    def looks_like(self, looks: Looks) -> bool:
        """Whether a thing's own looks fit, whatever is around it."""
        return (
            self.kind in (None, looks.kind)
            and self.colour in (None, looks.colour)
            and self.is_striped in (None, looks.is_striped)
            # A thing has no first end: its bands are the same read backwards.
            and self.bands in ((), looks.bands, looks.bands[::-1])
        )

    @property
    def words(self) -> str:
        """Without an article; "the" or "a" goes before it."""
        return self.said or _words(self)


class Unresolved(ValueError):
    """A reference that picks out nothing, or more than one thing where one is meant."""


def candidates(reference: Reference, seen: Seen) -> list[str]:
    """Everything that the description fits."""
    found = [name for name, looks in seen.items() if reference.looks_like(looks)]
    if reference.size is not None:
        found = _of_size(reference.size, {name: seen[name] for name in found})
    for where in reference.where:
        anchor = resolve(where.of, seen)
        found = [name for name in found if name != anchor and is_related(seen[name], where.relation, seen[anchor])]
    taken = {name for other in reference.but for name in candidates(other, seen)}
    found = [name for name in found if name not in taken]
    return [_ranked(reference.rank, found, seen)] if reference.rank and found else found


def resolve(reference: Reference, seen: Seen) -> str:
    """The one thing meant."""
    found = candidates(reference, seen)
    if len(found) != 1:
        there = ", ".join(seen)
        what = "nothing" if not found else " and ".join(found)
        raise Unresolved(f'"the {reference.words}" picks out {what} among: {there}')
    return found[0]


def the(words: str) -> Reference:
    """Read a short description: `the("red cube")`, `the("big sphere")`, `the("leftmost cube")`, `the("switch")`."""
    rest, found = words, {}
    ranks = (*get_args(Superlative), *get_args(Comparative))
    for field_name, valid in (("rank", ranks), ("size", SIZES), ("colour", PALETTE)):
        word = next((word for word in valid if rest.startswith(f"{word} ")), None)
        rest = rest.removeprefix(f"{word} ") if word else rest
        found[field_name] = word
    if rest not in KINDS:
        raise UnknownName(unknown("kind of object", rest, KINDS))
    rank = Rank(found["rank"]) if found["rank"] else None  # type: ignore[arg-type]
    return Reference(rest, found["colour"], found["size"], rank=rank)


def _of_size(size: str, seen: Seen) -> list[str]:
    """Big and small are said of things that differ: those nearer the largest, or the smallest, of what is meant."""
    if not seen:
        return []
    sizes = {name: looks.size_m for name, looks in seen.items()}
    least, most = min(sizes.values()), max(sizes.values())
    if most < (1 + SAME_SIZE) * least:
        return []
    return [name for name, value in sizes.items() if (value > (least + most) / 2) == (size == "big")]


def _ranked(rank: Rank, names: Sequence[str], seen: Seen) -> str:
    if rank.by == "odd":
        middle = sorted(seen[name].size_m for name in names)[len(names) // 2]
        return max(names, key=lambda name: abs(seen[name].size_m - middle))
    if rank.by == "middle":
        return sorted(names, key=lambda name: seen[name].faced[1])[len(names) // 2]
    if rank.of is not None:
        anchor = resolve(rank.of, seen)
        names = [name for name in names if name != anchor]
        if rank.by == "that fits":
            return _fitting(names, seen, anchor)
        sign = -1 if rank.by == "farthest from" else 1
        distance = _distance_to(seen[anchor])
        return _nth(rank.n, sorted(names, key=lambda name: sign * distance(seen[name])))
    if rank.by in get_args(Comparative) and len(names) > 2:
        raise Unresolved(f'"{rank.by}" is said of two, not of {", ".join(names)}')
    return _nth(rank.n, sorted(names, key=lambda name: _ORDERS[rank.by](seen[name])))


def _nth(n: int, ordered: Sequence[str]) -> str:
    if n > len(ordered):
        raise Unresolved(f"there is no {ORDINALS[n - 1]} among {', '.join(ordered) or 'nothing'}")
    return ordered[n - 1]


def _distance_to(anchor: Looks) -> Callable[[Looks], float]:
    return lambda looks: math.dist(looks.position[:2], anchor.position[:2])


def _fitting(names: Sequence[str], seen: Seen, slot: str) -> str:
    """The one as wide as the slot: what is narrower goes in too, but does not fit it."""
    room = min(seen[slot].cavity_half or (0.0,))
    missing = {name: abs(min(seen[name].half_extents[:2]) - room) for name in names}
    nearest = min(names, key=lambda name: missing[name])
    if missing[nearest] > SNUG * room:
        raise Unresolved(f"nothing among {', '.join(names)} fits {slot}")
    return nearest


# The first in each order.
_ORDERS: dict[str, Callable[[Looks], float]] = {
    "left": lambda looks: -looks.faced[1],
    "right": lambda looks: looks.faced[1],
    "leftmost": lambda looks: -looks.faced[1],
    "rightmost": lambda looks: looks.faced[1],
    "nearest": lambda looks: looks.faced[0],
    "farthest": lambda looks: -looks.faced[0],
    "highest": lambda looks: -looks.position[2],
    "biggest": lambda looks: -looks.size_m,
    "smallest": lambda looks: looks.size_m,
    "bigger": lambda looks: -looks.size_m,
    "smaller": lambda looks: looks.size_m,
}


def is_related(a: Looks, relation: Spatial, b: Looks) -> bool:
    """Whether one thing is inside, on, behind … another."""
    return _HOLDS[relation](a, b)


def _gap(a: Looks, b: Looks) -> float:
    """Between the two as seen from above; negative where they overlap."""
    return max(abs(a.position[i] - b.position[i]) - a.reach[i] - b.reach[i] for i in (0, 1))


def _is_inside(a: Looks, b: Looks) -> bool:
    half_x, half_y = b.cavity_half or b.reach[:2]
    bottom, rim = a.position[2] - a.reach[2], b.position[2] + b.reach[2]
    return abs(a.position[0] - b.position[0]) < half_x and abs(a.position[1] - b.position[1]) < half_y and bottom < rim


def _is_on(a: Looks, b: Looks) -> bool:
    step = (a.position[2] - a.reach[2]) - (b.position[2] + b.reach[2])
    return _gap(a, b) < 0 and abs(step) < TOUCHING_M


def _is_beside(a: Looks, b: Looks) -> bool:
    return 0 <= _gap(a, b) < BESIDE_M and abs(a.position[2] - b.position[2]) < a.reach[2] + b.reach[2]


_HOLDS: dict[str, Callable[[Looks, Looks], bool]] = {
    "inside": _is_inside,
    "outside": lambda a, b: not _is_inside(a, b),
    "on": _is_on,
    "under": lambda a, b: _is_on(b, a),
    "beside": _is_beside,
    "left of": lambda a, b: a.faced[1] > b.faced[1] + LEVEL_M,
    "right of": lambda a, b: a.faced[1] < b.faced[1] - LEVEL_M,
    "in front of": lambda a, b: a.faced[0] < b.faced[0] - LEVEL_M,
    "behind": lambda a, b: a.faced[0] > b.faced[0] + LEVEL_M,
}

# How a relation is said after what it is said of, where not by its own name; of places it says whose left it is.
AFTER: dict[str, str] = {
    "left of": "further to your left than",
    "right of": "further to your right than",
    "in front of": "nearer to you than",
    "behind": "farther from you than",
    "that fits": "that exactly fits",
}
# And so of a rank among places.
FROM_YOU: dict[str, str] = {
    "leftmost": "furthest to your left",
    "rightmost": "furthest to your right",
    "nearest": "nearest to you",
    "farthest": "farthest from you",
}


def _words(reference: Reference) -> str:
    rank = reference.rank
    before: list[str] = []
    after: list[str] = []
    # Said by way of other things; joined by "and", for else the next would be said of the thing before it.
    related = [_relation(where.relation, where.of) for where in reference.where]
    if rank is not None:
        nth = f"{ORDINALS[rank.n - 1]} " if rank.n > 1 else ""
        if rank.of is not None:
            related.append(nth + _relation(rank.by, rank.of))
        elif rank.by in FROM_YOU:
            after.append(nth + FROM_YOU[rank.by])
        elif rank.by in get_args(Side):
            before.append(ORDINALS[rank.n - 1])
            after.append(f"from your {rank.by}")
        elif rank.by == "odd":
            after.append("that differs in size")
        else:
            before.append(nth + rank.by)
    if reference.bands:
        after.insert(0, f"with {listed(reference.bands)} bands in that order")
    if reference.but:
        related.append(_excluding(reference))
    striped = {True: "striped", False: "plain", None: None}[reference.is_striped]
    own = (reference.size, striped, reference.colour, reference.kind or "object")
    return " ".join(word for word in (*before, *own, *after, " and ".join(related)) if word)


def _relation(relation: str, anchor: Reference) -> str:
    return f"{AFTER.get(relation, relation)} the {anchor.words}"


def _excluding(reference: Reference) -> str:
    """ "that is neither red nor blue", "that is not a cube"; else "other than the red cube"."""
    plain = [_plainly(other) for other in reference.but]
    if None in plain:
        return f"other than {listed([f'the {other.words}' for other in reference.but])}"
    words = [word for word in plain if word]
    return f"that is not {words[0]}" if len(words) == 1 else f"that is neither {' nor '.join(words)}"


def _plainly(reference: Reference) -> str | None:
    """What is only a colour or only a kind, as it is said of a thing."""
    if reference.colour and reference == Reference(colour=reference.colour):
        return reference.colour
    if reference.kind and reference == Reference(reference.kind):
        return f"{article(reference.kind)} {reference.kind}"
    return None


def listed(words: Sequence[str]) -> str:
    """ "a", "a and b", "a, b and c"."""
    return " and ".join(part for part in (", ".join(words[:-1]), words[-1]) if part)


def looks_of(thing: Thing, position: Vector, reach: Vector, colour: str, heading_rad: float = 0.0) -> Looks:
    """How a thing looks that lies somewhere, reaches so far along the world's axes and wears a colour.

    `heading_rad` is where the robot looks to: left and right are its own.
    """
    ahead = turned(position, -heading_rad) if heading_rad else None
    return Looks(
        thing.kind, colour, position, thing.half_extents, reach, thing.cavity_half, thing.bands, thing.is_striped, ahead
    )


def looks_now(view: Visible) -> dict[str, Looks]:
    """How each thing that is there looks now."""
    return {
        name: looks_of(thing, view.position(name), view.reach(name), view.colour(name), view.heading_rad)
        for name, thing in view.things.items()
        if view.is_present(name)
    }
