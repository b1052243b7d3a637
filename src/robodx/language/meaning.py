"""What an instruction means: a small frozen structure, and the references in it resolved on attributes."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, get_args

from robodx.registry import UnknownName, unknown
from robodx.sim.colours import PALETTE

Action = Literal["pick", "put", "push", "insert", "press"]
Relation = Literal["on", "in", "onto", "into", "beside"]

SIZES = ("big", "small")
KINDS = (
    "cube", "sphere", "cylinder", "triangular block", "T-block", "peg", "box with a hole", "bin", "charger",
    "receptacle", "disc", "switch",
)  # fmt: skip


@dataclass(frozen=True)
class Attributes:
    """What can be said of an object by looking at it; the same for one in the simulator and one in a picture."""

    kind: str
    colour: str | None = None
    size: str | None = None


@dataclass(frozen=True)
class Reference:
    """A description that picks out objects by their attributes; what it leaves open matches anything."""

    kind: str | None = None
    colour: str | None = None
    size: str | None = None

    def matches(self, attributes: Attributes) -> bool:
        return all(
            wanted is None or wanted == found
            for wanted, found in (
                (self.kind, attributes.kind),
                (self.colour, attributes.colour),
                (self.size, attributes.size),
            )
        )

    @property
    def words(self) -> str:
        return " ".join(word for word in (self.size, self.colour, self.kind or "object") if word)


class Unresolved(ValueError):
    """A reference that picks out nothing, or more than one object where one is meant."""


def candidates(reference: Reference, objects: Iterable[tuple[str, Attributes]]) -> list[str]:
    return [name for name, attributes in objects if reference.matches(attributes)]


def resolve(reference: Reference, objects: Iterable[tuple[str, Attributes]]) -> str:
    """The one object meant."""
    known = list(objects)
    found = candidates(reference, known)
    if len(found) != 1:
        there = ", ".join(name for name, _ in known)
        what = "nothing" if not found else " and ".join(found)
        raise Unresolved(f'"the {reference.words}" picks out {what} among: {there}')
    return found[0]


@dataclass(frozen=True)
class Place:
    """Where something is to go: a relation to one or more things."""

    relation: Relation
    of: tuple[Reference, ...]


@dataclass(frozen=True)
class Clause:
    """One thing to do."""

    action: Action
    target: Reference
    place: Place | None = None
    is_negated: bool = False


@dataclass(frozen=True)
class Meaning:
    """What is to be done, in order."""

    clauses: tuple[Clause, ...]

    @property
    def references(self) -> tuple[Reference, ...]:
        return tuple(
            reference
            for clause in self.clauses
            for reference in (clause.target, *(clause.place.of if clause.place else ()))
        )


@dataclass(frozen=True)
class Instruction:
    """The words a policy sees, and what they mean."""

    text: str
    meaning: Meaning


def the(words: str) -> Reference:
    """Read a description: `the("red cube")`, `the("big sphere")`, `the("switch")`."""
    rest = words
    size = next((word for word in SIZES if rest.startswith(f"{word} ")), None)
    rest = rest.removeprefix(f"{size} ") if size else rest
    colour = next((word for word in PALETTE if rest.startswith(f"{word} ")), None)
    rest = rest.removeprefix(f"{colour} ") if colour else rest
    if rest not in KINDS:
        raise UnknownName(unknown("kind of object", rest, KINDS))
    return Reference(rest, colour, size)


def pick(target: str) -> Clause:
    return Clause("pick", the(target))


def put(target: str, relation: Relation, *of: str) -> Clause:
    if relation not in get_args(Relation):
        raise UnknownName(unknown("relation", relation, get_args(Relation)))
    return Clause("put", the(target), Place(relation, tuple(the(words) for words in of)))


def push(target: str, onto: str) -> Clause:
    return Clause("push", the(target), Place("onto", (the(onto),)))


def insert(target: str, into: str) -> Clause:
    return Clause("insert", the(target), Place("into", (the(into),)))


def press(target: str) -> Clause:
    return Clause("press", the(target))
