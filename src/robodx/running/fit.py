"""Whether a policy and an instruction fit the scene and the robot: what does not is refused, with the reason."""

from __future__ import annotations

from itertools import chain

from robodx.errors import UserError
from robodx.language.meaning import If, Meaning
from robodx.policy_contract import PolicySpec
from robodx.robots.control import action_width
from robodx.sim.robot import ActionPart, Robot
from robodx.sim.scene import Scene


class Unfit(UserError):
    """A policy's declared needs do not fit the scene or the robot; the message names both sides."""


def check_fit(spec: PolicySpec, robot: Robot, scene: Scene) -> None:
    """Refuse before the first step what could only go wrong later."""
    expected = action_width(spec.action_space, robot)
    if spec.action_width not in (None, expected):
        raise Unfit(
            f"the policy's {spec.action_space} actions have {spec.action_width} numbers, "
            f"but {robot.name} takes {expected} ({', '.join(_said(part) for part in robot.layout(spec.action_space))})"
        )
    cameras = [*(camera.name for camera in scene.cameras), *robot.cameras]
    missing = [request.name for request in spec.cameras if request.name not in cameras]
    if missing:
        raise Unfit(
            f"the policy asks for the camera{'s' if len(missing) > 1 else ''} {', '.join(missing)}, "
            f"but {robot.name} in this scene has: {', '.join(cameras)}"
        )


def check_hands(meaning: Meaning, robot: Robot) -> None:
    """Refuse what is asked of a hand that is not there."""
    choices = ((part.then, part.otherwise) if isinstance(part, If) else (part,) for part in meaning.clauses)
    asked = sorted({clause.hand for clause in chain(*choices) if clause.hand is not None})
    if not set(asked) <= set(robot.hands):
        raise Unfit(
            f"the instruction asks for the hand{'s'[: len(asked) > 1]} {' and '.join(asked)}, "
            f"but {robot.name} has: {', '.join(robot.hands)}"
        )


def _said(part: ActionPart) -> str:
    """As "gripper: pose 7"."""
    return f"{part.group.name}: {part.kind} {part.stop - part.start}"
