"""To leave a thing where it is: not to pick it up."""

from __future__ import annotations

from robodx.language.lexicon import EVERYDAY
from robodx.verbs.base import Sense, verb

verb(
    "leave",
    Sense(
        # Each of them asks for the thing when it is negated.
        ("leave {target} where it is", "let {target} stay where it is", "refrain from picking up {target}"),
        ("avoid grasping {target}", "abstain from taking {target}", "skip picking up {target}"),
        read=tuple(f"fail to {word} {{target}}" for word in ("pick up", *EVERYDAY["pick up"])),
        negates="pick",
    ),
    gerund=None,
)
