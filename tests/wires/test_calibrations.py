"""Calibration travels with the request, and is refused where it cannot be read."""

from __future__ import annotations

import math
from typing import Any

import pytest

from robodx.policy_contract import Calibration
from robodx.sim.geometry import Pose, about
from robodx.wires.calibrations import read_cameras, write_cameras

FRONT = Calibration(45.0, Pose((1.6, 0.0, 0.8), about("x", 0.3)))
WRIST = Calibration(60.0, Pose((0.05, 0.0, -0.1)), "tool")


def test_cameras_are_read_as_they_were_written() -> None:
    cameras = {"front": FRONT, "wrist": WRIST}
    assert read_cameras(write_cameras(cameras)) == cameras


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("frame", "world"),
        ("fovy_deg", "wide"),
        ("fovy_deg", "45"),
        ("fovy_deg", True),
        ("fovy_deg", 0.0),
        ("fovy_deg", 180.0),
        ("fovy_deg", math.nan),
        ("fovy_deg", 10**400),
        ("position", [1.0, 2.0]),
        ("position", [1.0, 2.0, math.inf]),
        ("position", "123"),
        ("position", [True, False, True]),
        ("quaternion_wxyz", None),
        ("quaternion_wxyz", [0.0, 0.0, 0.0, 0.0]),
        ("quaternion_wxyz", [2.0, 0.0, 0.0, 0.0]),
        ("quaternion_wxyz", [1.0, 0.0, 0.0, math.nan]),
        ("quaternion_wxyz", "1000"),
    ],
)
def test_what_is_no_calibration_is_refused_by_the_name_of_its_camera(key: str, value: Any) -> None:
    data = write_cameras({"front": FRONT, "wrist": WRIST})
    data["wrist"][key] = value
    with pytest.raises(ValueError, match="camera wrist"):
        read_cameras(data)


def test_a_calibration_that_lacks_something_says_what() -> None:
    with pytest.raises(ValueError, match="frame"):
        read_cameras({"front": {"fovy_deg": 45.0}})
    with pytest.raises(ValueError, match="must be a map"):
        read_cameras([FRONT])
