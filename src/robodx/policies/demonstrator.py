"""The expert, who is shown what a learned policy would be shown: who demonstrates for data sets."""

from __future__ import annotations

import re
from dataclasses import replace

from robodx.errors import UserError
from robodx.learned.acting import STATE
from robodx.policies.expert import ExpertPolicy
from robodx.policy_contract import CameraRequest, policy

CAMERA = re.compile(r"([a-z_]+)@([0-9]{1,5})")


@policy("demonstrator", takes="CAMERA@SIZE,…")
class Demonstrator(ExpertPolicy):
    """The expert, shown pictures too, for `robodx generate`: demonstrator:front@128,wrist@128."""

    def __init__(self, cameras: str) -> None:
        super().__init__()
        self.spec = replace(type(self).spec, cameras=cameras_of(cameras), state=STATE)


def cameras_of(words: str) -> tuple[CameraRequest, ...]:
    """Of "front@128,wrist@96"."""
    found = []
    for word in words.split(","):
        match = CAMERA.fullmatch(word.strip())
        if match is None:
            raise UserError(f'"{word}" is no camera with a size in pixels, such as front@128')
        try:
            found.append(CameraRequest(match[1], int(match[2]), int(match[2])))
        except ValueError as error:
            raise UserError(f'"{word}": {error}') from error
    names = [one.name for one in found]
    if len(set(names)) < len(names):
        raise UserError(f'the camera "{max(names, key=names.count)}" is asked for twice')
    return tuple(found)
