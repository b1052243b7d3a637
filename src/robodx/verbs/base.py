"""A verb in all its parts: how it is said and read, the stages that it means, the expert's plan, and its gerund.

Each part is registered where it is used: `language`, `scoring`, `experts` and `analysis` know nothing of this folder.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from robodx.analysis.findings.gerunds import GERUNDS
from robodx.experts.base import PLANS, Plan
from robodx.language.meaning import DIRECTIONS, Relation
from robodx.language.verbs import PHRASINGS, Phrasings, act
from robodx.scoring.from_meaning import STAGES, StagesOf


@dataclass(frozen=True)
class Sense:
    """A verb with one relation, or with none: "put in", "pick".

    Templates are over {target}, and {place} or, of a direction, {distance}. No two share both their main verb and their
    clause order.
    """

    # The first is the canonical one. `test` is for policies to meet only when they are evaluated.
    train: tuple[str, ...]
    test: tuple[str, ...]
    relation: Relation | None = None
    # Understood as well, but never said.
    read: tuple[str, ...] = ()
    # The verb that it forbids, which is then the one to be done or not.
    negates: str | None = None
    # Without them a task writes its own.
    stages: StagesOf | None = None
    plan: Plan | None = None

    def __post_init__(self) -> None:
        if not (self.train and self.test):
            raise ValueError("a verb needs a phrasing to train with and one to test with")
        about = () if self.relation is None else ("distance",) if self.relation in DIRECTIONS else ("place",)
        for template in (*self.train, *self.test, *self.read):
            if sorted(re.findall(r"\{(\w*)\}", template)) != sorted(("target", *about)):
                raise ValueError(f'"{template}" has to name {" and ".join(("{target}", *map("{{{}}}".format, about)))}')


def verb(name: str, *senses: Sense, gerund: str | None) -> None:
    """Register a verb; without a gerund it is one that is never done, or a further sense of one that has it."""
    if not name.isalpha():
        raise ValueError(f'a verb is named by one word, not "{name}"')
    for sense in senses:
        what = act(name, sense.relation)
        PHRASINGS.add(what, Phrasings(sense.train, sense.test, sense.read, sense.negates))
        if sense.stages is not None:
            STAGES.add(what, sense.stages)
        if sense.plan is not None:
            PLANS.add(what, sense.plan)
    if gerund is not None:
        GERUNDS.add(name, gerund)
