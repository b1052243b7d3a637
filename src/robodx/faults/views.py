"""A view through which another is seen, to be changed in one respect."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from robodx.experts.base import View
from robodx.sim.geometry import Pose, Vector
from robodx.sim.scene import Thing


class Through:
    """Shows what another view shows; one that overrides `pose` shows things elsewhere."""

    def __init__(self, view: View) -> None:
        self.view = view

    @property
    def things(self) -> Mapping[str, Thing]:
        return self.view.things

    def thing(self, name: str) -> Thing:
        return self.view.thing(name)

    def pose(self, name: str) -> Pose:
        return self.view.pose(name)

    def position(self, name: str) -> Vector:
        return self.pose(name).position

    def frame(self, name: str, frame: str) -> Pose:
        return self.pose(name) @ self.thing(name).frame(frame)

    def reach(self, name: str) -> Vector:
        return self.thing(name).reach(self.pose(name).quaternion)

    def velocity(self, name: str) -> Vector:
        return self.view.velocity(name)

    def colour(self, name: str) -> str:
        return self.view.colour(name)

    def is_present(self, name: str) -> bool:
        return self.view.is_present(name)

    @property
    def heading_rad(self) -> float:
        return self.view.heading_rad

    def is_grasped(self, name: str) -> bool:
        return self.view.is_grasped(name)

    def holders(self, name: str) -> Sequence[str]:
        return self.view.holders(name)

    def is_lit(self, lamp: str) -> bool:
        return self.view.is_lit(lamp)
