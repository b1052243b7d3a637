"""What a substitution is: a perturbation that makes one component perfect, to see whether that cures a failure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from robodx.perturbations.base import Perturbation

if TYPE_CHECKING:
    from robodx.scoring.stages import Score
    from robodx.sim.world import World


class Substitution(Perturbation):
    """Knows the world of its episode, so that words can be chosen by what is there when they are said."""

    def meet(self, world: World) -> None:
        self.world = world


class ExpertTakeover(Substitution):
    """The expert acts in the policy's place for a while; `running/expert_takeover.py` is that expert."""

    def is_experts_turn(self, world: World, score: Score) -> bool:
        """Asked at the start and after every step."""
        raise TypeError(f"{type(self).__name__} does not say when the expert acts")
