"""The expert does the last stages."""

from __future__ import annotations

from typing import TYPE_CHECKING

from robodx.perturbations.base import perturbation
from robodx.perturbations.substitution import ExpertTakeover

if TYPE_CHECKING:
    from robodx.scoring.stages import Score
    from robodx.sim.world import World


@perturbation("expert_ends", kind="substitution", levels={"first": 1.0}, is_ordered=False)
class ExpertEnds(ExpertTakeover):
    """The policy acts until this many stages are reached; then the expert finishes."""

    def is_experts_turn(self, world: World, score: Score) -> bool:
        return score.reached >= self.severity
