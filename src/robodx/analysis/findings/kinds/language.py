"""What words ask for: a part of language, a word, a phrasing, or that they are minded at all."""

from __future__ import annotations

from robodx.analysis.findings.conditions import Condition
from robodx.analysis.findings.failure_modes import FailureMode
from robodx.analysis.findings.kinds.base import FindingKind, register
from robodx.analysis.findings.wording import levels_in_words
from robodx.records.features import WORD

OUT_OF_ORDER = ("incorrect action sequence", "wrong thing")


def _sub_skill(condition: Condition, mode: FailureMode) -> str | None:
    # Several acts have an order: who then acts against the instruction does not mind it.
    if condition.attribute == "acts" and "1" not in condition.levels and mode.name in OUT_OF_ORDER:
        return "order"
    main, *parts = (condition.requirement or "").split("/")
    return parts[0] if main == "language" and parts else None


def _wording(condition: Condition, mode: FailureMode) -> str | None:
    if condition.is_word:
        return f"word={condition.attribute.removeprefix(WORD)}"
    if condition.attribute in ("verb", "phrasing", "words", "clauses"):
        return f"{condition.attribute}={levels_in_words(condition)}"
    return "beyond plain names" if condition.requirement == "language" else None


register(
    FindingKind(
        name="language sub-skill",
        by_condition=_sub_skill,
    )
)

register(FindingKind(name="wording", by_condition=_wording))

register(
    FindingKind(
        name="instruction ignored",
        sentence="It chooses objects regardless of the instruction",
        by_condition=lambda condition, mode: "" if condition.attribute == "requires choice" else None,
    )
)
