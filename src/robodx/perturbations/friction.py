"""Things, table and fingers that are slippery."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from robodx.perturbations.base import Perturbation, perturbation
from robodx.scoring.events import Event, Instruct, at
from robodx.sim.scene import Scene

if TYPE_CHECKING:
    from robodx.sim.simulation import Simulation


@dataclass(frozen=True)
class Oil:
    """Everything keeps this share of its sliding friction."""

    share: float

    def apply(self, simulation: Simulation, instruct: Instruct) -> None:
        # Of all of them: a contact has the friction of the finger pad, or of the rougher of the two that touch.
        simulation.model.geom_friction[:, 0] *= self.share

    def __str__(self) -> str:
        return f"everything keeps {self.share:.2f} of its friction"


@perturbation(
    "friction",
    kind="execution",
    levels={"v1": 0.5, "v2": 0.8, "v3": 0.95},
    unit="of the friction",
    most=1.0,
    anchor="Rubber on plastic has a coefficient of about 1: half of that when dusty, a fifth when wet, a "
    "twentieth when oiled.",
)
class Friction(Perturbation):
    """Objects, table and fingers lose this share of their friction when the episode begins."""

    def scene(self, scene: Scene) -> Scene:
        # Another scene, though an event makes it so: before it things settle as in the clean trial.
        return replace(scene)

    def events(self) -> tuple[Event, ...]:
        return (at(0.0, Oil(1.0 - self.severity)),)
