"""Where cameras are said to stand, as plain data that travels with a request."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from robodx.policy_contract import Calibration
from robodx.sim.geometry import Pose
from robodx.wires.quoting import quote

# As far as rounding to single precision, and a careless hand, may leave a quaternion's length from 1.
UNIT_TOLERANCE = 1e-3


def write_cameras(cameras: Mapping[str, Calibration]) -> dict[str, dict[str, Any]]:
    return {
        name: {
            "fovy_deg": camera.fovy_deg,
            "position": list(camera.pose.position),
            "quaternion_wxyz": list(camera.pose.quaternion),
            "frame": camera.frame,
            **({"hand": camera.hand} if camera.hand else {}),
        }
        for name, camera in cameras.items()
    }


def read_cameras(data: object) -> dict[str, Calibration]:
    """Raises ValueError for what is no calibration, and says which camera's it is."""
    if not isinstance(data, Mapping):
        raise ValueError(f"cameras must be a map, not {type(data).__name__}")
    return {str(name): _read_camera(str(name), camera) for name, camera in data.items()}


def _read_camera(name: str, data: object) -> Calibration:
    try:
        if not isinstance(data, Mapping):
            raise TypeError(f"{type(data).__name__} is no map")
        frame = data["frame"]
        if frame not in ("base", "tool"):
            raise ValueError(f"its frame must be base or tool, not {quote(frame)}")
        fovy_deg = _number(data["fovy_deg"])
        if not 0 < fovy_deg < 180:
            raise ValueError(f"its field of view must be between 0 and 180 degrees, not {fovy_deg}")
        quaternion = [_number(value) for value in data["quaternion_wxyz"]]
        length = math.hypot(*quaternion)
        if abs(length - 1) > UNIT_TOLERANCE:
            raise ValueError(f"its quaternion must be of length 1, not {length}")
        return Calibration(
            fovy_deg,
            Pose.of([_number(value) for value in data["position"]], quaternion),
            frame,
            str(data.get("hand", "")),
        )
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        raise ValueError(f"the calibration of the camera {name} cannot be read: {error}") from error


def _number(value: Any) -> float:
    """Numbers of any library are, but neither texts nor truths."""
    if isinstance(value, str | bytes | bool | np.bool_):
        raise TypeError(f"{quote(value)} is no number")
    number = float(value)
    if not math.isfinite(number):
        raise ValueError(f"{number} is no place or angle")
    return number
