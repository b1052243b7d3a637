"""MR1: another verb for the same act, with the words that go with it."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from robodx.interventions.changing import heard
from robodx.records.values import Applied
from robodx.relations.base import Source, in_any_order, relation
from robodx.situations.attributes import template_words


@relation("MR1", "synonym", pattern="consistency", changes=("words",))
def synonym(source: Source, rng: np.random.Generator) -> Iterable[tuple[Applied, ...]]:
    """The verb is replaced by a synonym: "lift" for "pick up", "place … inside" for "put … in". The path stays."""
    phrasings = heard(source.situation).clauses[0].phrasings
    # Everyday words and those of the training phrasings: what only a test says is another matter.
    verbs = dict.fromkeys(template_words(template)[0] for template in (*phrasings.train, *phrasings.read))
    return in_any_order([("verb", verb) for verb in verbs], rng)
