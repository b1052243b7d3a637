"""The robot's own hand, taken out of what is seen by its known shape."""

from __future__ import annotations

import numpy as np

from robodx.sight.cloud import Points
from robodx.sim.geometry import Pose

# The hand in the tool's frame: z points out of the fingers, which close along y.
HAND_HALF = (0.055, 0.125)
UNDERSIDE_M = 0.040
# Above, the camera's mount sticks out, and the arm comes in.
WRIST_M = 0.078
WRIST_RADIUS_M = 0.16
FINGER_X_M = 0.016
FINGER_DEEP_M = 0.030
FINGER_TRAVEL_M = 0.04
FINGERTIP_M = 0.013
MARGIN_M = 0.002


def without_hand(points: Points, tool: Pose, opening: float) -> Points:
    """Less what lies where the hand is known to be."""
    x, y, z = ((points.xyz - tool.position) @ tool.matrix).T
    is_hand = (z < -UNDERSIDE_M) & (np.abs(x) < HAND_HALF[0]) & (np.abs(y) < HAND_HALF[1])
    inner = opening * FINGER_TRAVEL_M - MARGIN_M
    is_finger = (np.abs(x) < FINGER_X_M) & (np.abs(y) > inner) & (np.abs(y) < inner + FINGER_DEEP_M) & (z < FINGERTIP_M)
    is_finger &= z > -WRIST_M
    is_arm = (z < -WRIST_M) & (np.hypot(x, y) < WRIST_RADIUS_M)
    return points.of(~(is_hand | is_finger | is_arm))
