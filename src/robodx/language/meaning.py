"""What an instruction means: a small frozen structure of things to do, in order, and under which conditions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Literal, get_args

from robodx.language.reference import Reference, Seen, Unresolved, candidates, resolve, the
from robodx.language.verbs import Phrasings, act, phrasings
from robodx.registry import UnknownName, unknown

Direction = Literal["left", "right", "forward", "back"]
Relation = Literal[
    "on", "in", "onto", "into", "beside", "near", "between", "left of", "right of", "in front of", "behind",
    "left", "right", "forward", "back",
]  # fmt: skip
DIRECTIONS: tuple[Direction, ...] = get_args(Direction)


@dataclass(frozen=True)
class Place:
    """Where something is to go: a relation to one or more things, or a direction and how far."""

    relation: Relation
    of: tuple[Reference, ...] = ()
    distance_m: float | None = None
    # What else might have been asked for here: what one who does not understand chooses among.
    among: tuple[Relation, ...] = field(default=(), compare=False)

    def __post_init__(self) -> None:
        if self.relation not in get_args(Relation):
            raise UnknownName(unknown("relation", self.relation, get_args(Relation)))
        is_direction = self.relation in DIRECTIONS
        if is_direction != (self.distance_m is not None):
            raise ValueError(f'"{self.relation}" {"needs a" if is_direction else "takes no"} distance')
        needed = 0 if is_direction else 2 if self.relation == "between" else 1
        if len(self.of) != needed and not (self.relation == "on" and self.of):
            raise ValueError(f'"{self.relation}" is said of {needed}, not of {len(self.of)}')


@dataclass(frozen=True)
class Clause:
    """One thing to do, or not to do; with `once_lit` only when that thing's lamp is lit."""

    action: str
    target: Reference
    place: Place | None = None
    is_negated: bool = False
    once_lit: Reference | None = None
    # With which hand, where it is said: one of the robot's, as "left".
    hand: str | None = None

    @property
    def references(self) -> tuple[Reference, ...]:
        signal = () if self.once_lit is None else (self.once_lit,)
        return (self.target, *(self.place.of if self.place else ()), *signal)

    @property
    def act(self) -> str:
        """The verb and its relation, as "put in"."""
        return act(self.action, self.place.relation if self.place else None)

    @property
    def phrasings(self) -> Phrasings:
        return phrasings(self.action, self.place.relation if self.place else None)

    @property
    def plain(self) -> Clause:
        """To leave a thing is not to pick it up, and not to leave it is to pick it up."""
        negates = self.phrasings.negates
        return self if negates is None else replace(self, action=negates, is_negated=not self.is_negated)


def are_apart(a: Clause | If, b: Clause | If) -> bool:
    """Whether two hands can do both at once, as it is said: each names its own, and they speak of no thing together."""
    if isinstance(a, If) or isinstance(b, If) or a.hand is None or b.hand is None:
        return False
    return a.hand != b.hand and not set(a.references) & set(b.references)


@dataclass(frozen=True)
class Exists:
    """That there are so many things of a description."""

    reference: Reference
    at_least: int = 1
    at_most: int | None = None

    def __post_init__(self) -> None:
        if self.at_most is not None and self.at_most < self.at_least:
            raise ValueError(f"there cannot be at least {self.at_least} and at most {self.at_most} of something")

    def holds(self, seen: Seen) -> bool:
        try:
            count = len(candidates(self.reference, seen))
        except Unresolved:
            # A description by way of something that is not there fits nothing.
            count = 0
        return count >= self.at_least and (self.at_most is None or count <= self.at_most)


@dataclass(frozen=True)
class If:
    """One of two things to do, by what there is when the instruction is given."""

    fact: Exists
    then: Clause
    otherwise: Clause


@dataclass(frozen=True)
class Meaning:
    """What is to be done, in order."""

    clauses: tuple[Clause | If, ...]

    def decided(self, seen: Seen) -> tuple[Clause, ...]:
        """What is to be done in what is seen: conditionals settled, and none of it what is forbidden."""
        chosen = [
            ((part.then if part.fact.holds(seen) else part.otherwise) if isinstance(part, If) else part).plain
            for part in self.clauses
        ]
        forbidden = [clause for clause in chosen if clause.is_negated]
        return tuple(_allowed(clause, forbidden) for clause in chosen if not clause.is_negated)


def _allowed(clause: Clause, forbidden: list[Clause]) -> Clause:
    """With none of what must not be used for it: "a cube, but none that is not red" leaves the red one.

    A rank has chosen one thing already, and no other takes its place.
    """
    not_with = tuple(no.target for no in forbidden if _forbids(no, clause))
    if not not_with or clause.target.rank is not None:
        return clause
    return replace(clause, target=replace(clause.target, but=(*clause.target.but, *not_with)))


def _forbids(no: Clause, clause: Clause) -> bool:
    """Whether it forbids to do this with some targets: with any hand, or with this one."""
    hand = clause.hand if no.hand is None else no.hand
    return replace(no, target=clause.target, is_negated=False, hand=hand) == clause


Names = Mapping[Reference, str]


def resolve_all(clauses: tuple[Clause, ...], seen: Seen, before: Names | None = None) -> dict[Reference, str]:
    """Which thing each description means.

    What was meant `before` is still meant while it looks as described: who lifts the leftmost cube has not changed
    which cube was spoken of, but a cube that changed its colour is no longer the red one.
    """
    names: dict[Reference, str] = {}
    for clause in clauses:
        for reference in clause.references:
            known = (before or {}).get(reference)
            is_known = known is not None and known in seen and reference.looks_like(seen[known])
            names[reference] = known if is_known and known is not None else resolve(reference, seen)
    return names


@dataclass(frozen=True)
class Instruction:
    """The words a policy sees, and what they mean."""

    text: str
    meaning: Meaning
    # Where a task has its own sentences for it: all that are for training, and those to test with. Else its verbs'.
    train: tuple[str, ...] = field(default=(), compare=False)
    test: tuple[str, ...] = field(default=(), compare=False)


Words = str | Reference


def _read(words: Words) -> Reference:
    return the(words) if isinstance(words, str) else words


def do(action: str, target: Words, relation: Relation | None = None, *of: Words) -> Clause:
    """With any verb there is, also one of yours."""
    place = None if relation is None else Place(relation, tuple(_read(words) for words in of))
    return Clause(action, _read(target), place)


def pick(target: Words) -> Clause:
    return Clause("pick", _read(target))


def touch(target: Words) -> Clause:
    return Clause("touch", _read(target))


def put(target: Words, relation: Relation, *of: Words, among: tuple[Relation, ...] = ()) -> Clause:
    return Clause("put", _read(target), Place(relation, tuple(_read(words) for words in of), among=among))


def move(target: Words, direction: Direction, distance_m: float) -> Clause:
    """By so much along the table, from where it is."""
    return Clause("move", _read(target), Place(direction, distance_m=distance_m, among=DIRECTIONS))


def push(target: Words, onto: Words) -> Clause:
    return Clause("push", _read(target), Place("onto", (_read(onto),)))


def roll(target: Words, onto: Words) -> Clause:
    return Clause("roll", _read(target), Place("onto", (_read(onto),)))


def insert(target: Words, into: Words) -> Clause:
    return Clause("insert", _read(target), Place("into", (_read(into),)))


def press(target: Words) -> Clause:
    return Clause("press", _read(target))


def stand(target: Words) -> Clause:
    """Upright on its end."""
    return Clause("stand", _read(target))


def release(target: Words) -> Clause:
    return Clause("release", _read(target))


def with_hand(hand: str, clause: Clause) -> Clause:
    return replace(clause, hand=hand)


def once_lit(lamp: Words, clause: Clause) -> Clause:
    return replace(clause, once_lit=_read(lamp))
