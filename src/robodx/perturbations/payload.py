"""Things that weigh more than they look."""

from __future__ import annotations

from dataclasses import replace

from robodx.perturbations.base import Perturbation, perturbation
from robodx.sim.scene import Scene


@perturbation(
    "payload",
    kind="execution",
    levels={"v1": 0.5, "v2": 2.0, "v3": 4.0},
    unit="kg",
    most=10.0,
    anchor="Kilograms. 0.5: a full cup; 2: a large bottle; 4: a third more than a Panda is rated for (3 kg).",
)
class Payload(Perturbation):
    """Adds this many kilograms to every loose object."""

    def scene(self, scene: Scene) -> Scene:
        things = (thing if thing.is_fixed else replace(thing, mass_kg=thing.mass_kg + self.severity) for thing in scene)
        return replace(scene, things=tuple(things))
