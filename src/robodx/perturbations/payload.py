"""Things that weigh more than they look."""

from __future__ import annotations

from dataclasses import replace

from robodx.perturbations.base import Perturbation, perturbation
from robodx.sim.scene import Scene


# Things weigh 40 to 100 g. A full cup, a full bottle, and as much as a Panda is sold to carry: its fingers hold 4 kg.
@perturbation("payload", kind="execution", levels={"v1": 0.5, "v2": 1.5, "v3": 3.0}, most=10.0)
class Payload(Perturbation):
    """Adds this many kilograms to every loose object."""

    def scene(self, scene: Scene) -> Scene:
        things = (thing if thing.is_fixed else replace(thing, mass_kg=thing.mass_kg + self.severity) for thing in scene)
        return replace(scene, things=tuple(things))
