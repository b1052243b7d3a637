"""A diagnosis as a person reads it: the findings, what they rest on, and what to run next."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from robodx.analysis.findings.base import Diagnosis, Finding
from robodx.terminal.comparison import points
from robodx.terminal.console import counted, print_json, visible, wrapped


def print_diagnoses(found: Sequence[Diagnosis], *, as_json: bool) -> None:
    """One for each policy."""
    if as_json:
        print_json([one.as_dict() for one in found])
        return
    for index, one in enumerate(found):
        print(*([""] if index else []), *lines(one), sep="\n")


def lines(diagnosis: Diagnosis) -> Iterator[str]:
    """Confirmed findings with their evidence, and what is only suspected with how to know more."""
    yield from wrapped(
        f"{visible(diagnosis.policy)} succeeds in {diagnosis.success} of its trials, the mean over tasks (n = "
        f"{diagnosis.success.n}; by episode: {diagnosis.solved} of {diagnosis.judged} solved). RoboDx searched {counted(diagnosis.screened, 'episode')} for weaknesses, then tested "
        f"them on {counted(diagnosis.confirmed_on, 'other episode')}."
    )
    if not diagnosis.is_whole:
        yield "The run is not finished, so no finding is confirmed yet. The same command continues it."
    yield ""
    confirmed = [one for one in diagnosis.findings if one.certainty == "confirmed"]
    suspected = [one for one in diagnosis.findings if one.certainty == "suspected"]
    if not confirmed:
        yield from wrapped("No weakness is confirmed." if suspected else diagnosis.headline)
    for number, finding in enumerate(confirmed, start=1):
        yield from _lines(number, finding)
    if suspected:
        yield ""
        yield "Suspected, but not confirmed on other seeds:"
        for finding in suspected:
            yield from wrapped(visible(f"   {finding.name}. {finding.statement}"), indent="   ")
            yield visible(f"   next: {finding.next_test}")


def _lines(number: int, finding: Finding) -> Iterator[str]:
    yield from wrapped(visible(f"{number}. {finding.name}. {finding.statement}"), indent="   ")
    p = "" if finding.p is None else f", p {'< 0.001' if finding.p < 0.001 else f'= {finding.p:.3f}'}"
    effect = f"difference {points(finding.effect)} points" if finding.outside.n else f"rate {finding.effect}"
    yield visible(f"   {effect}{p}; examples: episodes {', '.join(finding.examples[:3])}")
    if finding.because is not None:
        yield from wrapped(visible(f"   why: {finding.because}"), indent="        ")
    yield visible(f"   next: {finding.next_test}")
