"""Symptoms: how it is done or fails, wherever; what can be seen, and not why."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import polars as pl

from robodx.analysis.findings.base import Finding, Symptom
from robodx.analysis.findings.conditions import Condition, Mask
from robodx.analysis.findings.decisions import Tally
from robodx.analysis.findings.failure_modes import FailureMode
from robodx.analysis.findings.naming import symptom
from robodx.analysis.findings.subject import Subject
from robodx.analysis.statistics.estimates import wilson

EXAMPLES = 5
# A symptom that shows in fewer episodes than a policy without weaknesses has by accident is not told.
LEAST_SYMPTOM = 0.1
# And of failures where none of the causes holds, a way in which fewer than this share fail.
OFTEN = 0.3


def symptoms_of(subject: Subject, findings: Sequence[Finding]) -> Iterator[Symptom]:
    """How it is done, wherever; and how most fail where none of the causes holds, if most do."""
    failed = subject.screened.failed
    for mode in subject.modes:
        count = int(mode.has.sum())
        if mode.sort == "flag" and mode.is_telling and count > LEAST_SYMPTOM * len(failed):
            yield _symptom(subject, mode, mode.has, len(failed), "episodes")
    conditions = [
        (Condition(one.attribute, one.levels), Condition.parse(one.given) if one.given else None)
        for one in findings
        if one.is_decided
    ]
    explained = [subject.concerned(Tally(condition, 1, given=given)) for condition, given in conditions]
    rest = failed & ~np.any([np.zeros_like(failed), *explained], axis=0)
    if rest.sum() < max(2, LEAST_SYMPTOM * len(failed)):
        return
    what = "failures where none of the causes holds" if explained else "failures"
    told = [(int((mode.has & rest).sum()), mode) for mode in subject.types]
    for count, mode in sorted(told, key=lambda each: -each[0]):
        if count >= OFTEN * rest.sum():
            yield _symptom(subject, mode, mode.has & rest, int(rest.sum()), what)


def _symptom(subject: Subject, mode: FailureMode, has: Mask, of: int, what: str) -> Symptom:
    name, count = symptom(mode), int(has.sum())
    title = f"{name.kind.name}: {name.subject}" if name.subject else name.kind.name
    examples = subject.table.filter(pl.Series(has)).unique("task", keep="first", maintain_order=True)["trial_id"]
    says = mode.says[0].upper() + mode.says[1:]
    return Symptom(title, f"{says} in {count} of {of} {what}.", wilson(count, of), tuple(examples[:EXAMPLES]))
