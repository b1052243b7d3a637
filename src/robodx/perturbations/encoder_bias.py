"""Joint encoders that read off."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from robodx.perturbations.base import Perturbation, perturbation
from robodx.policy_contract import Observation
from robodx.sim.geometry import Array, Pose
from robodx.sim.robot import ROBOTS

if TYPE_CHECKING:
    from robodx.sim.simulation import Command

# How long the servos take to pull the arm from where it is to where the encoders would have it.
SETTLE_S = 0.5


@perturbation(
    "encoder_bias",
    kind="execution",
    levels={"v1": 0.01, "v2": 0.02, "v3": 0.04},
    unit="rad",
    most=0.5,
    anchor="Up to 0.6, 1.1 and 2.3° a joint: a zero taught by eye, a belt that jumped, a hobby servo's horn.",
)
class EncoderBias(Perturbation):
    """Adds a constant error of at most this many radians to each joint encoder, drawn per trial.

    The servos trust the encoders, so the arm stands at the command and the bias; the state says what the encoders say,
    the tool's pose in it follows from that by forward kinematics.
    """

    def begin(self) -> None:
        # Needs the simulator, which no perturbation of pictures or commands does.
        from robodx.robots.kinematics import Kinematics, places

        robot = ROBOTS[self.robot]
        self._kinematics = [(places(robot)[hand], Kinematics(self.robot, hand)) for hand in robot.hands]
        # Where the joints were told to be, for a policy that is shown its tools but not its joints.
        self._commanded = np.array(robot.home)
        drawn: Array = self.severity * self.draws.rng().uniform(-1.0, 1.0, self._commanded.shape)
        arms = [joint for arm in robot.arms for joint in arm.joints]
        self.bias_rad = np.where(np.isin(robot.joints, arms), drawn, 0.0)

    def action(self, command: Command, held: Command, step: int) -> Command:
        share = min(1.0, (step + 1) * self.period_s / SETTLE_S)
        joints = (command.joints + share * self.bias_rad).astype(np.float32)
        self._commanded = joints.astype(np.float64)
        return replace(command, joints=joints)

    def observation(self, observation: Observation) -> Observation:
        state = dict(observation.state)
        joints = np.asarray(state.get("joint_positions", self._commanded), dtype=np.float64)
        if "joint_positions" in state:
            state["joint_positions"] = (joints - self.bias_rad).astype(np.float32)
        if "ee_pose" in state:
            state["ee_pose"] = self._read(state["ee_pose"], joints)
        return replace(observation, state=state)

    def _read(self, tools: NDArray[np.float32], joints: Array) -> NDArray[np.float32]:
        """The tools' poses (7 an arm) as the encoders have them, from where they are."""
        read: list[float] = []
        encoded = joints - self.bias_rad
        for index, (place, kinematics) in enumerate(self._kinematics):
            actual = kinematics.tool_in_base(joints[place], kinematics.beneath(joints.tolist()))
            believed = kinematics.tool_in_base(encoded[place], kinematics.beneath(encoded.tolist()))
            tool = tools[7 * index : 7 * index + 7].tolist()
            shown = Pose.of(tool[:3], tool[3:]) @ (actual.inverse() @ believed)
            read += [*shown.position, *shown.quaternion]
        return np.array(read, dtype=np.float32)
