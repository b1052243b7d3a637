"""The features of a situation before anything is run: what a recorded episode of it will say, but for the expert's."""

from __future__ import annotations

from collections.abc import Sequence

from robodx.policy_contract import CameraRequest
from robodx.records.features import features
from robodx.scoring.events import NewInstruction
from robodx.sim.scene import CAMERAS
from robodx.situations.attributes import attributes
from robodx.situations.requirements import requirements
from robodx.tasks.base import Situation

# For all policies alike, whichever of these each is shown: of those that are not, no change can cost it anything.
STANDING = tuple(CameraRequest(camera.name) for camera in CAMERAS)


def features_of(
    situation: Situation, varies: Sequence[str] = (), cameras: Sequence[CameraRequest] = ()
) -> dict[str, str]:
    """For a policy that is shown the pictures of these cameras."""
    later = [e.effect.instruction.meaning for e in situation.events if isinstance(e.effect, NewInstruction)]
    meanings = [situation.instruction.meaning, *later]
    required = requirements(meanings, situation.scene, situation.events, varies)
    found = attributes(situation.instruction, situation.scene, cameras, situation.events, situation.waits)
    return features(found.values, required, situation.instruction.text)
