"""The expert takes hold of things for the policy, and of nothing that the policy did not go for."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from robodx.perturbations.base import perturbation
from robodx.perturbations.substitution import ExpertTakeover
from robodx.scoring.contact import Touched
from robodx.scoring.parts import grasped_in, leaves

if TYPE_CHECKING:
    from robodx.scoring.stages import Score
    from robodx.sim.world import World

# A hand this near a thing, and to no other nearer, has come for it: hands wait 80 mm above what they will take.
NEAR_M = 0.075
# Held for so long it is held: the first touch of both fingers is not yet a grip.
FIRM_S = 0.15


@perturbation("expert_grasps", kind="substitution", levels={"on": 1.0}, is_ordered=False, most=1.0)
class ExpertGrasps(ExpertTakeover):
    """When the policy has moved the hand to the target, the expert grasps it; the policy does everything else."""

    def begin(self) -> None:
        self._taking: str | None = None
        self._held_s = 0.0

    def is_experts_turn(self, world: World, score: Score) -> bool:
        if self._taking is None:
            self._taking = next((name for name in wanted(score) if _has_come_for(name, world)), None)
            self._held_s = 0.0
            return self._taking is not None
        self._held_s = self._held_s + self.period_s if world.is_grasped(self._taking) else 0.0
        if self._held_s >= FIRM_S:
            self._taking = None
        return self._taking is not None


def wanted(score: Score) -> Iterator[str]:
    """What the current stage wants grasped, or the next one if this one only wants it touched."""
    for stage in score.stages[score.reached : score.reached + 2]:
        yield from grasped_in(stage)
        if not all(isinstance(leaf, Touched) for leaf in leaves(stage)):
            return


def _has_come_for(name: str, world: World) -> bool:
    if world.is_grasped(name) or not world.is_present(name):
        return False
    loose = [other for other, thing in world.things.items() if not thing.is_fixed and world.is_present(other)]
    distances = {other: world.distance_to_hand(world.position(other)) for other in loose}
    return name in distances and distances[name] < NEAR_M and distances[name] == min(distances.values())
