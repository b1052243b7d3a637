"""What things look like and where they lie: which of them are confused, avoided, or out of reach of a habit."""

from __future__ import annotations

import re
from collections.abc import Callable

from robodx.analysis.findings.conditions import Condition
from robodx.analysis.findings.failure_modes import FailureMode
from robodx.analysis.findings.kinds.base import FindingKind, register
from robodx.analysis.findings.wording import levels_in_words

CUES = ("colour", "size", "shape", "pattern", "place")


def _cue(condition: Condition, mode: FailureMode) -> str | None:
    if condition.attribute in ("target_cue", "goal_cue"):
        cues = {cue for level in condition.levels for cue in level.split(" and ")}
        return " and ".join(sorted(cues)) if cues != {"none"} else None
    main, _, rest = (condition.requirement or "").partition("/")
    return rest if main == "perception" and rest in CUES else None


def _named(pattern: str) -> Callable[[Condition, FailureMode], str | None]:
    names = re.compile(pattern)

    def rule(condition: Condition, mode: FailureMode) -> str | None:
        found = names.fullmatch(condition.attribute)
        if found is None:
            return None
        about = " ".join(re.sub("_(m|deg)$", "", part) for part in found.groups() if part)
        return f"{about.replace('_', ' ')}={levels_in_words(condition)}"

    return rule


register(
    FindingKind(
        name="reference confusion",
        sentence="It confuses objects that differ in {subject}",
        by_condition=_cue,
    )
)

register(
    FindingKind(
        name="visual bias",
        by_condition=_named(
            "(?:(target|goal)_)(colour|kind|size_m|turn_deg)|(light_.*|room_.*|camera_.*|picture|cameras)"
        ),
        # By the pairs of the suite `bias`, where it is seen and not why: a symptom.
        by_failure_mode=lambda mode: mode.name if mode.sort == "value" else None,
    )
)

register(
    FindingKind(
        name="place bias",
        by_condition=_named("(target|goal)_(side|depth|edge)"),
    )
)

register(
    FindingKind(
        name="distracted",
        sentence="It is distracted by objects that the instruction does not mention",
        by_condition=lambda condition, mode: (
            ""
            if condition.attribute in ("distractors", "requires distractors") and "0" not in condition.levels
            else None
        ),
        priority=0,
    )
)

register(
    FindingKind(
        name="company",
        by_condition=_named("(things|loose_things|things_of_target_kind|distractors)"),
        priority=-1,
    )
)
