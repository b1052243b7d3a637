"""What every builder shares."""

from __future__ import annotations

from robodx.sim.geometry import Pose

# Until a task says where it is to be.
UNPLACED = Pose()
