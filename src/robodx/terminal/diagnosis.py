"""A diagnosis as a person reads it: the findings, what they rest on, and what to run next."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from robodx.analysis.findings.base import CAUTION, HELD, Diagnosis, Finding
from robodx.output import print_text, visible
from robodx.terminal.comparison import points
from robodx.terminal.console import counted, print_json, wrapped


def print_diagnoses(found: Sequence[Diagnosis], *, as_json: bool) -> None:
    """One for each policy."""
    if as_json:
        print_json([one.as_dict() for one in found])
        return
    for index, one in enumerate(found):
        print_text(*([""] if index else []), *lines(one), sep="\n")


def lines(diagnosis: Diagnosis) -> Iterator[str]:
    """Findings that held on fresh seeds with their evidence, and what is only suspected with how to know more."""
    by_episode = f"by episode: {diagnosis.solved} of {diagnosis.judged} solved"
    yield from wrapped(
        f"{visible(diagnosis.policy)} succeeds in {diagnosis.success} of its trials, the mean over tasks (n = "
        f"{diagnosis.success.n}; {by_episode}). RoboDx searched {counted(diagnosis.screened, 'episode')} for "
        f"weaknesses, then tested them on {counted(diagnosis.confirmed_on, 'other episode')}."
    )
    if not diagnosis.is_whole:
        yield "The run is not finished, so no finding is tested on fresh seeds yet. The same command continues it."
    yield ""
    confirmed = [one for one in diagnosis.findings if one.certainty == "confirmed"]
    suspected = [one for one in diagnosis.findings if one.certainty == "suspected"]
    if not confirmed:
        yield from wrapped(f"No weakness {HELD}." if suspected else diagnosis.headline)
    else:
        yield f"{HELD.capitalize()}:"
    for number, finding in enumerate(confirmed, start=1):
        yield from _lines(number, finding)
    if suspected:
        yield ""
        yield "Suspected, but not shown on fresh seeds:"
        for finding in suspected:
            yield from wrapped(visible(f"   {finding.name}. {finding.statement}"), indent="   ")
            yield visible(f"   next: {finding.next_test}")
    if confirmed:
        yield ""
        yield from wrapped(f"{CAUTION} See docs/diagnosis.md.")


def _lines(number: int, finding: Finding) -> Iterator[str]:
    yield from wrapped(visible(f"{number}. {finding.name}. {finding.statement}"), indent="   ")
    p = "" if finding.p is None else f", p {'< 0.001' if finding.p < 0.001 else f'= {finding.p:.3f}'}"
    effect = f"difference {points(finding.effect)} points" if finding.outside.n else f"rate {finding.effect}"
    yield visible(f"   {effect}{p}; examples: episodes {', '.join(finding.examples[:3])}")
    if finding.because is not None:
        yield from wrapped(visible(f"   why: {finding.because}"), indent="        ")
    yield visible(f"   next: {finding.next_test}")
