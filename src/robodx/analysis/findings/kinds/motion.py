"""How hands do it: acts that are weak, what comes late, control that shakes, and contact that is too hard."""

from __future__ import annotations

from robodx.analysis.findings.conditions import Condition
from robodx.analysis.findings.failure_modes import MOTOR, FailureMode
from robodx.analysis.findings.gerunds import doing
from robodx.analysis.findings.kinds.base import FindingKind, register
from robodx.analysis.findings.wording import levels_in_words

UNSAFE = ("collision", "safety")
OF_DOING = ("act", "grasps", "expert_grasps", "places")
# What is done where it must be done at all.
DOING = {
    "grasps": "grasping", "expert_grasps": "grasping", "places": "setting objects down",
    "requires motor": "handling objects",
}  # fmt: skip


def _skill(condition: Condition, mode: FailureMode) -> str | None:
    main, _, rest = (condition.requirement or "").partition("/")
    is_of_doing = condition.attribute in OF_DOING or main == "motor"
    if not is_of_doing or mode.is_choice or {"0", "no"} & set(condition.levels) or _is_later(condition):
        return None
    # To collide in one act is to be weak at that.
    if mode.name in UNSAFE and condition.attribute != "act" and not rest:
        return None
    if rest or condition.attribute == "act":
        return rest or levels_in_words(condition)
    # How it fails names it where that is a skill of the hand; to stop or to fail is none.
    return mode.name if mode.name in MOTOR else f"{condition.attribute}={levels_in_words(condition)}"


def _is_later(condition: Condition) -> bool:
    return condition.attribute in ("grasps", "expert_grasps") and "1" not in condition.levels


register(
    FindingKind(
        name="motor weakness",
        sentence="It is weak at {subject}",
        by_condition=_skill,
        by_failure_mode=lambda mode: mode.name if mode.sort == "type" and mode.name in MOTOR else None,
        in_words=lambda subject: (
            subject if subject in MOTOR else DOING.get(subject.partition("=")[0]) or doing(subject)
        ),
    )
)

register(
    FindingKind(
        name="later grasps",
        by_condition=lambda condition, mode: levels_in_words(condition) if _is_later(condition) else None,
    )
)

register(
    FindingKind(
        name="late in the episode",
        by_condition=lambda condition, mode: (
            levels_in_words(condition) if condition.attribute in ("expert_duration_s", "waited", "wait_s") else None
        ),
    )
)

register(
    FindingKind(
        name="several acts",
        by_condition=lambda condition, mode: levels_in_words(condition) if condition.attribute == "acts" else None,
    )
)

register(
    FindingKind(
        name="unstable control",
        sentence="Its control is unstable",
        by_failure_mode=lambda mode: "" if mode.name in ("instability", "control instability") else None,
    )
)

register(
    FindingKind(
        name="unsafe contact",
        sentence="It hits the table or objects too hard",
        by_condition=lambda condition, mode: (
            "" if mode.name in UNSAFE and condition.attribute in OF_DOING and not _is_later(condition) else None
        ),
        by_failure_mode=lambda mode: "" if mode.name in UNSAFE else None,
    )
)
