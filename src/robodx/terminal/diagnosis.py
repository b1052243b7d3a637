"""A diagnosis as a person reads it: causes with their pairs, what only goes with failures, symptoms, and what next."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from robodx.analysis.findings.base import CAUTION, Diagnosis, Finding, PairEvidence
from robodx.analysis.findings.panel import harder
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
    if diagnosis.is_all_set:
        yield from wrapped(
            f"{visible(diagnosis.policy)}, {counted(diagnosis.episodes, 'episode')}. {diagnosis.headline}"
        )
        yield from _symptoms(diagnosis)
        return
    yield from wrapped(
        f"{visible(diagnosis.policy)} solves {diagnosis.success}, the mean over tasks (n = "
        f"{diagnosis.success.n}). {visible(diagnosis.by_episode)} {diagnosis.searched_says}"
    )
    if not diagnosis.is_whole:
        yield "The run is not finished, so more may be decided. The same command continues it."
    yield ""
    causes = diagnosis.decided
    others = [one for one in diagnosis.findings if not one.is_decided]
    if causes:
        yield "Causes (undo: the factor is taken away; put in: brought about; both compared with a placebo):"
    elif not others:
        yield from wrapped(diagnosis.headline)
    else:
        yield from wrapped(diagnosis.no_cause_says)
    for number, finding in enumerate(causes, start=1):
        yield from _cause(number, finding)
    if others:
        yield ""
        yield "Not decided:"
        for finding in others:
            yield from _other(finding)
    yield from _symptoms(diagnosis)
    if diagnosis.inputs:
        yield ""
        yield from wrapped(visible(diagnosis.inputs_say))
    if diagnosis.excluded:
        yield ""
        for sentence in diagnosis.ruled_out:
            yield from wrapped(visible(sentence))
    if causes:
        yield ""
        yield from wrapped(f"{CAUTION} See docs/diagnosis.md.")


def _symptoms(diagnosis: Diagnosis) -> Iterator[str]:
    if diagnosis.symptoms:
        yield ""
        yield "Symptoms (what can be seen, and not why):"
        for symptom in diagnosis.symptoms:
            yield from wrapped(visible(f"   {symptom.name}. {symptom.statement}"), indent="   ")
            if symptom.advice:
                yield from wrapped(visible(f"   advice, untested: {symptom.advice}"), indent="   ")


def _cause(number: int, finding: Finding) -> Iterator[str]:
    yield from wrapped(visible(f"{number}. {finding.name}. {finding.statement}"), indent="   ")
    for says, evidence in (("undo", finding.undo), ("put in", finding.put_in)):
        if evidence is not None:
            yield visible(f"   {says:7} {_pairs(evidence)}")
    if finding.undo is not None:
        yield f"   share   taking it away recovers about {finding.share:.0%} of the failures seen, beyond the placebo"
    if harder(finding.panel):
        yield from wrapped(f"   {harder(finding.panel)}", indent="   ")
    if finding.pair is not None:
        yield f"   look at: episodes {finding.pair[0]} (fails) and {finding.pair[1]} (succeeds)"
    if finding.because is not None:
        yield from wrapped(visible(f"   why: {finding.because}"), indent="        ")
    if finding.advice:
        yield from wrapped(visible(f"   advice, untested: {finding.advice}"), indent="   ")
    yield visible(f"   next: {finding.next_test}")


def _pairs(evidence: PairEvidence) -> str:
    is_open = f" (not conclusive: {evidence.why_open})" if evidence.why_open else ""
    return (
        f"{counted(evidence.pairs, 'pair')}: success {points(evidence.gain)} points beyond the placebo, by "
        f"{', '.join(evidence.interventions)}{is_open}"
    )


def _other(finding: Finding) -> Iterator[str]:
    says = finding.certainty_says[0].upper() + finding.certainty_says[1:]
    yield from wrapped(visible(f"   {says}: {finding.name}. {finding.statement}"), indent="   ")
    if finding.rivals:
        yield from wrapped(visible(f"   It may as well be that {', or that '.join(finding.rivals)}."), indent="   ")
    if finding.advice:
        yield from wrapped(visible(f"   advice, untested: {finding.advice}"), indent="   ")
    yield visible(f"   next: {finding.next_test}")
