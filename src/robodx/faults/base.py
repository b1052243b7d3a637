"""What a planted fault is: hooks into what the expert hears, picks, sees and does, and the finding it must cause."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from robodx.errors import UserError
from robodx.experts.base import View
from robodx.experts.skills import Hand, Waypoint
from robodx.language.meaning import Clause, Meaning, Names
from robodx.language.reference import Reference
from robodx.policy_contract import EpisodeStart, Privileged
from robodx.registry import Registry, UnknownName, unknown
from robodx.streams import Streams

# The severity of faults that are there or not: in so many of the episodes it is there.
SHARE = "share of episodes"


class Fault:
    """One deficit in one episode. Each hook takes what the expert has and gives what is left of it."""

    # Whether it plans in the first frame and then acts without looking.
    plans_ahead = False
    # Whether any change of a trial redraws its luck, which otherwise is the same in all trials of a situation.
    is_redrawn = False

    def __init__(self, severity: float, rng: np.random.Generator, start: EpisodeStart, hand: Hand) -> None:
        self.severity, self.rng, self.start = severity, rng, start
        # Each of a robot's hands has the fault for itself.
        self.hand = hand

    @property
    def at_first(self) -> Privileged:
        """The world and the meaning with which the episode began; the world moves on."""
        assert self.start.privileged is not None, "faults are planted in what sees the simulator's state"
        return self.start.privileged

    @staticmethod
    def latency_s(severity: float) -> float:
        """How long it thinks for each reply."""
        return 0.0

    def meaning(self, meaning: Meaning) -> Meaning:
        """What it takes itself to be told, at every step."""
        return meaning

    def reference(self, reference: Reference) -> Reference:
        """How a description is heard; of what then fits equally well one is picked at random."""
        return reference

    def clauses(self, clauses: tuple[Clause, ...]) -> tuple[Clause, ...]:
        """What is to be done, conditions settled."""
        return clauses

    def names(self, names: Names, clauses: tuple[Clause, ...], view: View) -> Names:
        """Which things it acts on; `CannotBeDone` to leave them alone."""
        return names

    def sight(self, view: View) -> View:
        """What it sees of things at a step."""
        return view

    def belief(self, view: View, names: Names) -> View:
        """Where it believes the things to be that it acts on."""
        return view

    def waypoint(self, waypoint: Waypoint, view: View) -> Waypoint:
        """What its hand is told."""
        return waypoint

    def is_holding(self, view: View) -> bool:
        """Whether anything is in its hand."""
        return any(self.hand.name in view.holders(name) for name in view.things)


@dataclass(frozen=True)
class FaultEntry:
    """A fault by name; `expected` is the kind and the subject of the finding that it must cause, if any."""

    name: str
    make: Callable[[float, np.random.Generator, EpisodeStart, Hand], Fault]
    latency_s: Callable[[float], float]
    summary: str
    severity: float
    most: float
    unit: str
    expected: tuple[str, str] | None
    is_redrawn: bool = False


FAULTS: Registry[FaultEntry] = Registry("fault", "faults")


def fault(
    name: str,
    *,
    expected: tuple[str, str] | None,
    severity: float = 1.0,
    most: float = 1.0,
    unit: str = SHARE,
) -> Callable[[type[Fault]], type[Fault]]:
    """Register a fault with its default severity and the greatest that makes sense; its docstring is the summary."""

    def register(kind: type[Fault]) -> type[Fault]:
        summary = (kind.__doc__ or "").strip().splitlines()[0]
        FAULTS.add(
            name, FaultEntry(name, kind, kind.latency_s, summary, severity, most, unit, expected, kind.is_redrawn)
        )
        return kind

    return register


@dataclass(frozen=True)
class Planted:
    """A fault and how strong it is."""

    entry: FaultEntry
    severity: float

    def rng(self, start: EpisodeStart, *hand: str) -> np.random.Generator:
        """Its luck, which depends on no other fault's; of a second hand, on no other hand's."""
        # A trial's id says all that was changed in it.
        redrawn = (start.episode_id,) if self.entry.is_redrawn else ()
        return Streams(start.policy_seed).rng("fault", self.entry.name, *redrawn, *hand)

    def begin(self, start: EpisodeStart, hands: Mapping[str, Hand]) -> dict[str, Fault] | None:
        """For one episode, by hand; None where this episode is spared."""
        first = self.rng(start)
        if self.entry.unit == SHARE and first.random() >= self.severity:
            return None
        others = {name: self.rng(start, name) for name in list(hands)[1:]}
        return {
            name: self.entry.make(self.severity, others.get(name, first), start, hand) for name, hand in hands.items()
        }


def planted(text: str) -> tuple[Planted, ...]:
    """Read "colour_blind", "colour_blind=0.5" or "colour_blind+weak_grip=2"."""
    found: list[Planted] = []
    for part in text.split("+"):
        name, equals, number = (word.strip() for word in part.partition("="))
        if name not in FAULTS:
            raise UnknownName(unknown("fault", name, FAULTS))
        entry = FAULTS[name]
        if any(entry is other.entry for other in found):
            raise UserError(f'the fault "{name}" is planted twice in "{text}"')
        found.append(Planted(entry, _severity(entry, number) if equals else entry.severity))
    return tuple(found)


def _severity(entry: FaultEntry, number: str) -> float:
    try:
        severity = float(number)
    except ValueError:
        severity = math.nan
    if not 0 <= severity <= entry.most:
        raise UserError(
            f'the severity of "{entry.name}" is a number from 0 to {entry.most:g} ({entry.unit}), not "{number}"'
        )
    return severity
