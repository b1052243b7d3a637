"""A diagnosis as a person reads it: the findings, what they rest on, and what to run next."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from robodx.analysis.findings.base import Diagnosis, Finding
from robodx.analysis.findings.diagnose import diagnose_runs
from robodx.terminal.console import print_json, wrapped


def print_diagnosis(runs: Sequence[Path], *, as_json: bool) -> None:
    """Of each policy in these runs; runs of one policy are put together."""
    found = diagnose_runs(runs)
    if as_json:
        print_json([one.as_dict() for one in found])
        return
    for index, one in enumerate(found):
        print(*([""] if index else []), *lines(one), sep="\n")


def lines(diagnosis: Diagnosis) -> Iterator[str]:
    """Confirmed findings with their evidence; what is only suspected in a line each."""
    yield from wrapped(
        f"{diagnosis.policy}: {diagnosis.success} of its trials succeed (n = {diagnosis.success.n}); looked for "
        f"weaknesses in {diagnosis.screened} episodes and put them to the test in {diagnosis.confirmed_on} others."
    )
    yield ""
    confirmed = [one for one in diagnosis.findings if one.certainty == "confirmed"]
    suspected = [one for one in diagnosis.findings if one.certainty == "suspected"]
    if not confirmed:
        yield from wrapped(diagnosis.headline)
    for number, finding in enumerate(confirmed, start=1):
        yield from _lines(number, finding)
    if suspected:
        yield ""
        yield "Suspected, not confirmed on other seeds:"
        for finding in suspected:
            yield from wrapped(f"  {finding.name}: {finding.statement}", indent="    ")


def _lines(number: int, finding: Finding) -> Iterator[str]:
    yield from wrapped(f"{number}. {finding.name}. {finding.statement}", indent="   ")
    p = "" if finding.p is None else f", p {'< 0.001' if finding.p < 0.001 else f'= {finding.p:.3f}'}"
    yield f"   difference {finding.effect}{p}; {finding.condition}; episodes {', '.join(finding.examples[:3])}"
    if finding.because is not None:
        yield from wrapped(f"   why: {finding.because}", indent="        ")
    yield f"   next: {finding.next_test}"
