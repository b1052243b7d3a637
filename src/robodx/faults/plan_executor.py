"""The expert's way through an episode with faults in it, applied one after the other."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

import numpy as np

from robodx.experts.base import View
from robodx.experts.plan_executor import PlanExecutor, Understanding
from robodx.experts.skills import Waypoint
from robodx.faults.base import Fault
from robodx.faults.hearing import choose
from robodx.language.meaning import Clause, If, Meaning, Names, resolve_all
from robodx.language.reference import Reference, Seen
from robodx.sim.scene import Thing


class Mind(Understanding):
    """How an instruction is taken by one with faults; without any, as it is meant."""

    def __init__(self, faults: Sequence[Fault], things: Sequence[Thing], rng: np.random.Generator) -> None:
        self._faults, self._rng = faults, rng
        self._all = [thing.name for thing in things]
        self._loose = [thing.name for thing in things if not thing.is_fixed]
        self._last_meaning: Meaning | None = None
        self._heard = Meaning(())
        self._descriptions: dict[Reference, Reference] = {}
        # Those that did not even look as was heard: there was nothing better.
        self._makeshift: dict[Reference, str] = {}

    def meaning(self, meaning: Meaning) -> Meaning:
        if meaning != self._last_meaning:
            self._last_meaning = meaning
            for fault in self._faults:
                meaning = fault.meaning(meaning)
            self._heard = Meaning(tuple(self._with_fact(part) for part in meaning.clauses))
        return self._heard

    def clauses(self, clauses: tuple[Clause, ...]) -> tuple[Clause, ...]:
        for fault in self._faults:
            clauses = fault.clauses(clauses)
        return clauses

    def resolved(self, clauses: tuple[Clause, ...], known: Seen, before: Names | None) -> Names:
        references = list(dict.fromkeys(reference for clause in clauses for reference in clause.references))
        if all(self._description(reference) == reference for reference in references):
            return resolve_all(clauses, known, before)
        names: dict[Reference, str] = {}
        for reference in references:
            chosen = (before or {}).get(reference)
            if chosen is None or not self._is_still(reference, chosen, known):
                chosen = self._choose(reference, known, names.values())
            names[reference] = chosen
        return names

    def names(self, meant: Names, clauses: tuple[Clause, ...], view: View) -> Names:
        for fault in self._faults:
            meant = fault.names(meant, clauses, view)
        return meant

    def belief(self, view: View, names: Names) -> View:
        for fault in self._faults:
            view = fault.belief(view, names)
        return view

    def _with_fact(self, part: Clause | If) -> Clause | If:
        if isinstance(part, Clause):
            return part
        return replace(part, fact=replace(part.fact, reference=self._description(part.fact.reference)))

    def _description(self, reference: Reference) -> Reference:
        if reference not in self._descriptions:
            heard = reference
            for fault in self._faults:
                heard = fault.reference(heard)
            self._descriptions[reference] = heard
        return self._descriptions[reference]

    def _is_still(self, reference: Reference, chosen: str, known: Seen) -> bool:
        if chosen not in known:
            return False
        return self._makeshift.get(reference) == chosen or self._description(reference).looks_like(known[chosen])

    def _choose(self, reference: Reference, known: Seen, taken: Collection[str]) -> str:
        heard = self._description(reference)
        # Whatever was said is said of what can be handled.
        pool = self._loose if reference.kind is not None and heard.kind is None else self._all
        chosen = choose(heard, known, pool, taken, self._rng)
        if not heard.looks_like(known[chosen]):
            self._makeshift[reference] = chosen
        return chosen


class FaultyPlanExecutor(PlanExecutor):
    """A plan executor that sees things, and moves its hands, through faults."""

    _faults: Sequence[Mapping[str, Fault]] = ()

    def plant(self, faults: Sequence[Mapping[str, Fault]], things: Sequence[Thing], rng: np.random.Generator) -> None:
        """Each fault by hand; what is not of a hand is that of the first."""
        self._faults = faults
        self._understanding = Mind(self._minds, things, rng)

    @property
    def plans_ahead(self) -> bool:
        return any(fault.plans_ahead for fault in self._minds)

    @property
    def _minds(self) -> list[Fault]:
        return [next(iter(hands.values())) for hands in self._faults]

    def next(self, meaning: Meaning, view: View) -> dict[str, Waypoint]:
        shown = view
        for fault in self._minds:
            shown = fault.sight(shown)
        waypoints = super().next(meaning, shown)
        for hands in self._faults:
            waypoints = {name: hands[name].waypoint(waypoint, view) for name, waypoint in waypoints.items()}
        return waypoints
