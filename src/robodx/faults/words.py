"""Faults of understanding: what is not heard, or heard as something else."""

from __future__ import annotations

from dataclasses import replace

from robodx.experts.base import View
from robodx.experts.plan_executor import group_of
from robodx.faults.base import Fault, fault
from robodx.language.discriminating_attributes import omitting, rewritten, without
from robodx.language.meaning import Clause, If, Meaning, Names
from robodx.language.reference import Reference, Where

MIRRORED = {
    "left": "right", "leftmost": "rightmost", "left of": "right of",
    "right": "left", "rightmost": "leftmost", "right of": "left of",
}  # fmt: skip


@fault("colour_blind", expected=("reference confusion", "colour"))
class ColourBlind(Fault):
    """Ignores colours in descriptions."""

    def reference(self, reference: Reference) -> Reference:
        return omitting(reference, lambda description: replace(description, colour=None, bands=()))


@fault("size_blind", expected=("reference confusion", "size"))
class SizeBlind(Fault):
    """Ignores sizes in descriptions: big, bigger, odd or fitting."""

    def reference(self, reference: Reference) -> Reference:
        return without(reference, "size")


@fault("shape_blind", expected=("reference confusion", "shape"))
class ShapeBlind(Fault):
    """Ignores shapes in descriptions of loose objects; recognises fixed ones."""

    def reference(self, reference: Reference) -> Reference:
        fixed = {thing.kind for thing in self.at_first.world.things.values() if thing.is_fixed}
        return omitting(
            reference, lambda description: description if description.kind in fixed else replace(description, kind=None)
        )


@fault("mirrors_left_right", expected=("language sub-skill", "left and right"))
class MirrorsLeftRight(Fault):
    """Confuses left and right."""

    def reference(self, reference: Reference) -> Reference:
        return rewritten(reference, _mirrored)

    def clauses(self, clauses: tuple[Clause, ...]) -> tuple[Clause, ...]:
        return tuple(
            replace(clause, place=replace(clause.place, relation=MIRRORED[clause.place.relation]))  # type: ignore[arg-type]
            if clause.place and clause.place.relation in MIRRORED
            else clause
            for clause in clauses
        )


def _mirrored(description: Reference) -> Reference:
    where = tuple(Where(MIRRORED.get(each.relation, each.relation), each.of) for each in description.where)  # type: ignore[arg-type]
    rank = description.rank and replace(description.rank, by=MIRRORED.get(description.rank.by, description.rank.by))  # type: ignore[arg-type]
    return replace(description, where=where, rank=rank)


@fault("ignores_negation", expected=("language sub-skill", "negation"))
class IgnoresNegation(Fault):
    """Ignores negation: takes the object that is excluded or forbidden."""

    def meaning(self, meaning: Meaning) -> Meaning:
        asked = [part for part in meaning.clauses if isinstance(part, If) or not part.plain.is_negated]
        # What only narrows down what is asked for is dealt with as part of that description.
        ways = [(each.action, each.place) for part in asked if isinstance(part, Clause) for each in (part, part.plain)]
        forbidden = [
            replace(part, is_negated=False)
            for part in meaning.clauses
            if isinstance(part, Clause) and part.plain.is_negated and (part.action, part.place) not in ways
        ]
        return Meaning((*forbidden, *meaning.clauses))

    def reference(self, reference: Reference) -> Reference:
        if not reference.but:
            return reference
        said = reference.but[self.rng.integers(len(reference.but))]
        return replace(
            reference,
            kind=said.kind or reference.kind,
            colour=said.colour or reference.colour,
            size=said.size or reference.size,
            where=said.where or reference.where,
            rank=said.rank or reference.rank,
            but=said.but,
        )


@fault("ignores_condition", expected=("language sub-skill", "condition"))
class IgnoresCondition(Fault):
    """Ignores the condition: always does the first of the two actions."""

    def meaning(self, meaning: Meaning) -> Meaning:
        return Meaning(tuple(part.then if isinstance(part, If) else part for part in meaning.clauses))


@fault("wrong_order", expected=("language sub-skill", "order"))
class WrongOrder(Fault):
    """Does a sequence of actions in reverse order."""

    def clauses(self, clauses: tuple[Clause, ...]) -> tuple[Clause, ...]:
        return clauses[::-1]


@fault("ignores_updates", expected=("updates ignored", ""))
class IgnoresUpdates(Fault):
    """Keeps following the first instruction after it changes."""

    _first: Meaning | None = None

    def meaning(self, meaning: Meaning) -> Meaning:
        # As faults before this one have left it.
        self._first = self._first or meaning
        return self._first


@fault("ignores_instruction", expected=("instruction ignored", ""))
class IgnoresInstruction(Fault):
    """Ignores the instruction: always takes the first object and the first place."""

    def clauses(self, clauses: tuple[Clause, ...]) -> tuple[Clause, ...]:
        return tuple(
            replace(clause, place=replace(clause.place, relation=clause.place.among[0]))
            if clause.place and clause.place.among
            else clause
            for clause in clauses
        )

    def names(self, names: Names, clauses: tuple[Clause, ...], view: View) -> Names:
        pools: dict[str, list[str]] = {}
        for name in view.things:
            if view.is_present(name):
                pools.setdefault(group_of(view, name), []).append(name)
        taken = {name: pools[group_of(view, name)].pop(0) for name in dict.fromkeys(names.values())}
        return {reference: taken[name] for reference, name in names.items()}
