"""What things look like and where they lie: which of them are confused, avoided, or looked for out of habit."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import polars as pl

from robodx.analysis.findings.kinds.base import FindingKind, register
from robodx.analysis.findings.search import Candidate
from robodx.analysis.findings.strata import Stratum

# What a target is that is to be taken: a policy may have a bias against a value of these.
VALUES = ("colour", "kind")


def _values(episodes: pl.DataFrame) -> Iterator[Stratum]:
    """A target's value, held against other values in the same tasks: tasks differ in more than this."""
    base, tasks = episodes["is_base"].to_numpy(), episodes["task"].to_numpy()
    for factor in VALUES:
        worn = episodes["target"].struct.field(factor).to_numpy()
        for value in sorted({str(each) for each in worn if each is not None}):
            has = base & (worn == value)
            both = base & np.isin(tasks, np.intersect1d(tasks[has], tasks[base & ~has]))
            says = f"trials whose target has the {factor} {value}"
            yield Stratum("value", f"{factor}={value}", says, both & has, both & ~has, everywhere=has, paired_by="task")


def _wrong_choice(candidate: Candidate) -> str | None:
    """A wrong choice is no motor weakness, whatever was to be done."""
    is_motor = candidate.stratum.requirement[:1] == ("motor",) and len(candidate.stratum.requirement) > 1
    return "" if is_motor and candidate.failure_mode.is_choice else None


register(
    FindingKind(
        name="visual bias",
        sentence="It does worse when the target has the {subject}",
        strata=_values,
        by_stratum=lambda candidate: candidate.stratum.path if candidate.stratum.sort == "value" else None,
        in_words=lambda subject: subject.replace("=", " "),
    )
)

register(
    FindingKind(
        name="memorised layout",
        sentence="It does worse when the layout varies, as if it had memorised where objects are",
        by_stratum=lambda candidate: "" if candidate.stratum.requirement[:1] == ("layout",) else None,
    )
)

register(
    FindingKind(
        name="distracted",
        sentence="It is distracted by objects that the instruction does not mention",
        by_stratum=lambda candidate: "" if candidate.stratum.requirement[:1] == ("distractors",) else None,
    )
)

register(
    FindingKind(
        name="reference confusion",
        sentence="It confuses objects that differ in {subject}",
        by_failure_mode=lambda mode: mode.name if mode.sort == "mistaken" else None,
        otherwise=_wrong_choice,
        in_words=lambda subject: subject or "several attributes",
    )
)
