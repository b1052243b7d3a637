"""Scales the scene's lights."""

from __future__ import annotations

from dataclasses import replace

from robodx.perturbations.base import Perturbation, perturbation
from robodx.sim.scene import Scene


@perturbation("brightness", kind="scene", levels={"dim": 0.5, "bright": 1.5}, is_ordered=False)
class Brightness(Perturbation):
    """Scales all lights, including ambient light, by this factor."""

    def scene(self, scene: Scene) -> Scene:
        lights = tuple(replace(light, brightness=self.severity * light.brightness) for light in scene.lights)
        return replace(scene, lights=lights, arena=replace(scene.arena, ambient=self.severity * scene.arena.ambient))
