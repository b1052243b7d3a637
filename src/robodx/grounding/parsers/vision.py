"""The scene from RGB-D pictures: the classical perception of the policy `vision`, one look at a time."""

from __future__ import annotations

from dataclasses import replace

from robodx.errors import UserError
from robodx.grounding.parser import scene_parser
from robodx.grounding.scene import ParsedScene, parsed
from robodx.policy_contract import CameraRequest, EpisodeStart, Observation, PolicySpec

CAMERAS = ("front", "left", "right")
PIXELS = 256
STATE = ("ee_pose", "gripper_opening", "base_pose")


@scene_parser("vision")
class VisionParser:
    """by classical vision, from RGB-D pictures of three cameras, which it asks for."""

    def spec(self, own: PolicySpec) -> PolicySpec:
        """A picture that the policy is given stays as large as it is, for it must stay the same; depth goes with it."""
        mine = [replace(camera, depth=True) if camera.name in CAMERAS else camera for camera in own.cameras]
        given = {camera.name for camera in own.cameras}
        mine += [CameraRequest(name, PIXELS, PIXELS, depth=True) for name in CAMERAS if name not in given]
        state = (*own.state, *(part for part in STATE if part not in own.state))
        return replace(own, cameras=tuple(mine), state=state)

    def parse(self, start: EpisodeStart, observation: Observation) -> ParsedScene | None:
        # Here, because it loads scipy, which those who run another policy need not wait for.
        from robodx.sight.one_look import looks_seen

        missing = [name for name in CAMERAS if name not in start.cameras]
        if missing:
            raise UserError(f"sgl+vision needs calibrated cameras: there is no calibration of {', '.join(missing)}")
        seen = looks_seen({name: start.cameras[name] for name in CAMERAS}, observation)
        return parsed(seen) if seen else None


def suffices(spec: PolicySpec) -> bool:
    """Whether a policy is given all that the parser needs."""
    return set(CAMERAS) <= {camera.name for camera in spec.cameras if camera.depth}
