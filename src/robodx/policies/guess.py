"""The expert without understanding: it acts perfectly on things picked at random."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from robodx.experts.expert import resolve_all
from robodx.language.meaning import Meaning, Reference
from robodx.policies.base import EpisodeStart, policy
from robodx.policies.expert import ExpertPolicy, Resolve
from robodx.sim.world import World


@policy("guess")
class GuessPolicy(ExpertPolicy):
    """The expert on random candidate objects: what success takes no understanding."""

    def resolver(self, start: EpisodeStart) -> Resolve:
        # One guess for each thing that is meant: it is not made anew at every step.
        guesses: dict[tuple[tuple[Reference, str], ...], dict[Reference, str]] = {}
        rng = np.random.Generator(np.random.PCG64(start.policy_seed))

        def guess(meaning: Meaning, world: World) -> Mapping[Reference, str]:
            meant = resolve_all(meaning, world)
            key = tuple(meant.items())
            if key not in guesses:
                guesses[key] = shuffled(meant, world, rng)
            return guesses[key]

        return guess


def shuffled(names: Mapping[Reference, str], world: World, rng: np.random.Generator) -> dict[Reference, str]:
    """Each reference gets another thing of the same mobility (loose, or fixed to the table), no two the same."""
    guessed: dict[Reference, str] = {}
    for is_fixed in (False, True):
        asked = [reference for reference, name in names.items() if world.thing(name).is_fixed == is_fixed]
        pool = [name for name, thing in world.things.items() if thing.is_fixed == is_fixed and world.is_present(name)]
        for reference, index in zip(asked, rng.permutation(len(pool)), strict=False):
            guessed[reference] = pool[index]
    return guessed
