"""All things that one observation shows, by themselves: without what was seen before, or is held."""

from __future__ import annotations

from collections.abc import Mapping

from robodx.language.reference import Looks, looks_of
from robodx.policy_contract import Calibration, Observation
from robodx.sight.cloud import TOWARDS_LAMP, Eye, look, showing
from robodx.sight.episode import opening_of, picture_of, pose_of
from robodx.sight.hand import without_hand
from robodx.sight.lamp import towards_lamp
from robodx.sight.segment import patches
from robodx.sight.things import sightings


def looks_seen(cameras: Mapping[str, Calibration], observation: Observation) -> dict[str, Looks]:
    """How each thing looks, under a name of its own; none where no camera shows anything."""
    base = pose_of(observation.state["base_pose"])
    pictures = {name: picture_of(observation, name) for name in cameras}
    eyes = showing(
        {name: Eye.of(camera, base, *pictures[name].shape[:2]) for name, camera in cameras.items()}, pictures
    )
    if not eyes:
        return {}
    shown = (eyes, observation.images, observation.depth)
    lamp = towards_lamp(*shown, base)
    points = look(*shown, TOWARDS_LAMP if lamp is None else lamp)
    tool = base @ pose_of(observation.state["ee_pose"])
    found = sightings(patches(without_hand(points, tool, opening_of(observation))))
    return {
        f"object {index}": looks_of(
            one.thing, one.pose.position, one.thing.reach(one.pose.quaternion), one.thing.colour
        )
        for index, one in enumerate(found, start=1)
    }
