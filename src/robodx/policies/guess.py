"""The expert without understanding: it acts perfectly on things picked at random."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from robodx.experts.base import View
from robodx.experts.plan_executor import Understanding, group_of
from robodx.language.meaning import Clause, Names
from robodx.language.reference import Reference
from robodx.policies.expert import ExpertPolicy
from robodx.policy_contract import EpisodeStart, policy


@policy("guess")
class GuessPolicy(ExpertPolicy):
    """The expert on randomly chosen objects: the success that needs no understanding."""

    def understanding(self, start: EpisodeStart) -> Understanding:
        return Guessing(np.random.Generator(np.random.PCG64(start.policy_seed)))


class Guessing(Understanding):
    """Another thing for each that is meant, and another place where one of several was asked for."""

    def __init__(self, rng: np.random.Generator) -> None:
        self._rng = rng
        # One guess for each thing that is meant: it is not made anew at every step.
        self._guesses: dict[tuple[tuple[Reference, str], ...], dict[Reference, str]] = {}

    def clauses(self, clauses: tuple[Clause, ...]) -> tuple[Clause, ...]:
        return tuple(self._place(clause) for clause in clauses)

    def _place(self, clause: Clause) -> Clause:
        if clause.place is None or not clause.place.among:
            return clause
        guessed = clause.place.among[self._rng.integers(len(clause.place.among))]
        return replace(clause, place=replace(clause.place, relation=guessed))

    def names(self, meant: Names, clauses: tuple[Clause, ...], view: View) -> Names:
        key = tuple(meant.items())
        if key not in self._guesses:
            self._guesses[key] = shuffled(meant, view, self._rng)
        return self._guesses[key]


def shuffled(names: Mapping[Reference, str], view: View, rng: np.random.Generator) -> dict[Reference, str]:
    """Each thing that is meant becomes another: any loose one, or of what is fixed one of its kind; no two the same."""
    taken: dict[str, str] = {}
    for group in dict.fromkeys(group_of(view, name) for name in names.values()):
        asked = [name for name in dict.fromkeys(names.values()) if group_of(view, name) == group]
        pool = [name for name in view.things if group_of(view, name) == group and view.is_present(name)]
        taken |= {name: pool[index] for name, index in zip(asked, rng.permutation(len(pool)), strict=False)}
    return {reference: taken[name] for reference, name in names.items()}
