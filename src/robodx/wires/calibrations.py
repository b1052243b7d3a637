"""Where cameras are said to stand, as plain data that travels with a request."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from robodx.policies.base import Calibration
from robodx.sim.geometry import Pose


def write_cameras(cameras: Mapping[str, Calibration]) -> dict[str, dict[str, Any]]:
    return {
        name: {
            "fovy_deg": camera.fovy_deg,
            "position": list(camera.pose.position),
            "quaternion_wxyz": list(camera.pose.quaternion),
            "frame": camera.frame,
        }
        for name, camera in cameras.items()
    }


def read_cameras(told: object) -> dict[str, Calibration]:
    """Raises ValueError for what is no calibration, and says which camera's it is."""
    if not isinstance(told, Mapping):
        raise ValueError(f"cameras must be a map, not {type(told).__name__}")
    return {str(name): _read_camera(str(name), camera) for name, camera in told.items()}


def _read_camera(name: str, told: object) -> Calibration:
    try:
        if not isinstance(told, Mapping):
            raise TypeError(f"{type(told).__name__} is no map")
        frame = told["frame"]
        if frame not in ("base", "tool"):
            raise ValueError(f"its frame must be base or tool, not {frame!r}")
        pose = Pose.of(told["position"], told["quaternion_wxyz"])
        return Calibration(float(told["fovy_deg"]), pose, frame)
    except (KeyError, TypeError, ValueError) as error:
        raise ValueError(f"the calibration of the camera {name} cannot be read: {error}") from error
