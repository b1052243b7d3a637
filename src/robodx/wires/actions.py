"""Actions in the numbers that policy servers answer with, there and back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from robodx.policy_contract import ActionChunk
from robodx.spaces import ActionSpace, DeltaFrame, DeltaFrom, InvalidAction
from robodx.wires.quoting import quote
from robodx.wires.rotations import ROTATIONS


@dataclass(frozen=True)
class Actions:
    """What a server's numbers mean: for each arm its motion, then its gripper."""

    space: ActionSpace = "ee_delta"
    # The keys of a reply, joined in this order, with their widths; 0: whatever comes.
    keys: Mapping[str, int] = field(default_factory=lambda: {"actions": 0})
    # Metres and radians that a 1 stands for; degrees are 0.0174533.
    scale_m: float = 1.0
    scale_rad: float = 1.0
    # "" is the space's own: a rotation vector for steps, a wxyz quaternion for poses.
    rotation: str = ""
    delta_frame: DeltaFrame = "base"
    delta_from: DeltaFrom = "commanded"
    gripper_open: float = 1.0
    gripper_closed: float = 0.0
    # Whether anything past the middle means wholly open or closed.
    gripper_is_binary: bool = False

    def read(self, numbers: NDArray[np.float32], arms: int) -> ActionChunk:
        """RoboDx's actions from the server's (n, width)."""
        if numbers.shape[1] % arms:
            raise InvalidAction(f"an action of {numbers.shape[1]} numbers for {arms} arms")
        if arms == 1:
            return self._read_arm(numbers)
        return np.concatenate([self._read_arm(block) for block in np.split(numbers, arms, axis=1)], axis=1)

    def write(self, chunk: ActionChunk, arms: int) -> NDArray[np.float32]:
        """The server's numbers from RoboDx's actions."""
        if arms == 1:
            return self._write_arm(chunk)
        return np.concatenate([self._write_arm(block) for block in np.split(chunk, arms, axis=1)], axis=1)

    @property
    def rotation_form(self) -> str:
        return self.rotation or {"ee_pose": "quaternion_wxyz"}.get(self.space, "rotation_vector")

    def _read_arm(self, block: NDArray[np.float32]) -> NDArray[np.float32]:
        motion, gripper = block[:, :-1], block[:, -1:]
        opening = (gripper - np.float32(self.gripper_closed)) / np.float32(self.gripper_open - self.gripper_closed)
        if self.gripper_is_binary:
            opening = (opening >= 0.5).astype(np.float32)
        if not self.space.startswith("ee_"):
            return np.concatenate([motion * np.float32(self.scale_rad), opening], axis=1)
        form = ROTATIONS[self.rotation_form]
        if motion.shape[1] != 3 + form.width:
            raise InvalidAction(
                f"an action of {motion.shape[1] + 1} numbers an arm, but {self.space} with {self.rotation_form} "
                f"takes {4 + form.width}: {quote(block[0].tolist())}"
            )
        turns = motion[:, 3:] * np.float32(self.scale_rad) if form.is_angles else motion[:, 3:]
        own = "quaternion_wxyz" if self.space == "ee_pose" else "rotation_vector"
        if self.rotation_form != own:
            try:
                quaternions = [form.read(row) for row in turns.tolist()]
            except ValueError as error:
                raise InvalidAction(str(error)) from error
            turns = np.array([ROTATIONS[own].write(q) for q in quaternions], dtype=np.float32)
        return np.concatenate([motion[:, :3] * np.float32(self.scale_m), turns, opening], axis=1)

    def _write_arm(self, block: NDArray[np.float32]) -> NDArray[np.float32]:
        motion, opening = block[:, :-1], block[:, -1:]
        gripper = self.gripper_closed + opening * np.float32(self.gripper_open - self.gripper_closed)
        if not self.space.startswith("ee_"):
            return np.concatenate([motion / np.float32(self.scale_rad), gripper], axis=1, dtype=np.float32)
        form, turns = ROTATIONS[self.rotation_form], motion[:, 3:]
        own = "quaternion_wxyz" if self.space == "ee_pose" else "rotation_vector"
        if self.rotation_form != own:
            turns = np.array([form.write(ROTATIONS[own].read(row)) for row in turns.tolist()], dtype=np.float32)
        if form.is_angles:
            turns = turns / np.float32(self.scale_rad)
        return np.concatenate([motion[:, :3] / np.float32(self.scale_m), turns, gripper], axis=1, dtype=np.float32)
