"""The sentences of the first screen: what a policy can do, when it breaks, why, and what to fix next."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from robodx.analysis.bias.words import label as factor_label
from robodx.analysis.failure_summary import error_bounds
from robodx.analysis.findings.base import FAILS_ALIKE, Finding
from robodx.analysis.findings.remedies import advice_on
from robodx.analysis.statistics.estimates import Estimate
from robodx.records.episode import WRONG_OBJECT
from robodx.report.blocks import Missing
from robodx.report.breaking import breaks
from robodx.report.line import Line
from robodx.report.material import Subject
from robodx.report.sections.capability import Ability, abilities
from robodx.report.sections.causes import causes_in, first_sentence
from robodx.report.words import counted, listed, percent, rate

MOST = 3
MOST_UNEXPLAINED = 0.5
NOTHING_SHOWN = (
    "No cause was shown, and nothing goes with its failures more than chance gives among so many attributes."
)


@dataclass(frozen=True)
class Answer:
    question: str
    lines: Sequence[Line]


def answers(subject: Subject, anchor_of: Callable[[Finding], str] = lambda finding: "") -> Iterator[Answer]:
    """`anchor_of` says where on the page a finding is."""
    yield Answer("What can it do?", list(_abilities(subject)))
    yield Answer("When does it break?", list(breaks(subject)))
    yield Answer("Why?", list(_why(subject)))
    yield Answer("What to fix next?", list(_next(subject, anchor_of)))


def _abilities(subject: Subject) -> Iterator[Line]:
    success, base = subject.success, subject.base
    if base.is_empty():
        told = _by_factor(subject)
        yield Line(told or "Unknown: no episode was run without stress.")
        return
    if success.value is None:
        low, high = error_bounds(base) or (0.0, 1.0)
        wording = f"between {percent(low)} and {percent(high)} of {counted(len(base), 'episode')}"
        yield Line(f"Unknown: too many episodes ended in errors. Its success is {wording}.")
        return
    (first,) = subject.summary.headlines()
    tasks = f"the mean over {counted(first.tasks, 'task')}" if first.tasks > 1 else "of one task"
    without = ", without stress or real time" if first.is_part else ""
    yield Line(f"It solves {rate(success)}, {tasks}{without} (n = {success.n:,}). {first.by_episode}")
    found = [one for one in abilities(subject) if one.success.value is not None]
    families = sorted(
        (one for one in found if one.tier is None), key=lambda one: one.success.value or 0.0, reverse=True
    )
    if len(families) > 1:
        best, worst = families[0], families[-1]
        strong = [one for one in families if _is_below(success, one.success)]
        weak = [one for one in families if _is_below(one.success, success)]
        outstanding = [f"Its strongest family is {_wording(one)}{_beyond(best, one, 'higher')}." for one in strong[:1]]
        outstanding += [f"Its weakest family is {_wording(one)}{_beyond(worst, one, 'lower')}." for one in weak[-1:]]
        if outstanding:
            yield Line(" ".join(outstanding))
        else:
            yield Line(f"No family stands out: the lowest is {_wording(worst)}, the highest {_wording(best)}.")


def _by_factor(subject: Subject) -> str:
    """Of a run of the suite `bias`, in which something is set in every trial."""
    factors = [] if subject.summary.bias is None else subject.summary.bias.of(subject.policy)
    known = [f"{factor_label(one.factor)} {rate(one.success)}" for one in factors if one.success.value is not None]
    return (
        f"It was run with one visual factor set at a time. Success over the values: {listed(known)}." if known else ""
    )


def _is_below(lower: Estimate, higher: Estimate) -> bool:
    """Whether their intervals lie apart; one that has none says nothing."""
    return lower.high is not None and higher.low is not None and lower.high < higher.low


def _beyond(extreme: Ability, named: Ability, where: str) -> str:
    """The family with a value still further out, of which there are too few episodes to tell it from the mean."""
    if extreme.success.value == named.success.value:
        return ""
    few = f"{counted(extreme.success.n, 'situation')} {'is' if extreme.success.n == 1 else 'are'} too few to be sure"
    return f" ({extreme.family} is {where}, with {rate(extreme.success)}, but {few})"


def _wording(one: Ability) -> str:
    return f"{one.family}, with {rate(one.success)} success"


def _why(subject: Subject) -> Iterator[Line]:
    diagnosis = subject.diagnosis
    if diagnosis is not None:
        yield from (Line(one.statement) for one in diagnosis.decided[:2])
        yield from _unexplained(diagnosis.decided)
        if not diagnosis.decided:
            is_chance = diagnosis.findings and all(one.certainty == "suspected" for one in diagnosis.findings)
            first = diagnosis.findings[0].statement if is_chance else ""
            yield Line(f"{NOTHING_SHOWN} {first}" if is_chance else diagnosis.headline)
        for symptom in diagnosis.symptoms[:1]:
            yield Line(f"A symptom, and no cause: {symptom.name}. {symptom.statement}")
    for wording in first_sentence(subject):
        yield Line(wording.text, wording.command if isinstance(wording, Missing) else "")
    kinds = [kind for failures in subject.summary.failures()[:1] for kind in failures.kinds]
    for kind in kinds[:1]:
        total = sum(share.count for share in kinds)
        verb = "is" if kind.count == 1 else "are"
        label = f"{kind.label} ({WRONG_OBJECT})" if kind.label == "reference" else kind.label
        yield Line(f"{kind.count:,} of {counted(total, 'failure')} ({rate(kind.share)}) {verb} of the kind {label}.")


def _unexplained(decided: Sequence[Finding]) -> Iterator[Line]:
    """A cause that was shown is not the cause of most."""
    taken_away = [one.share for one in decided if one.undo is not None]
    if taken_away and (rest := 1 - sum(taken_away)) > MOST_UNEXPLAINED:
        what = "this" if len(decided) == 1 else "these"
        yield Line(f"But about {percent(rest)} of the failures seen are not recovered by taking {what} away.")


def _next(subject: Subject, anchor_of: Callable[[Finding], str]) -> Iterator[Line]:
    diagnosis = subject.diagnosis
    findings = () if diagnosis is None else diagnosis.findings
    # What has no remedy may be chance, or its own pairs speak against mending it.
    found = [one for one in findings if one.advice][:MOST]
    yield from (_to_do(number, one, anchor_of(one)) for number, one in enumerate(found, start=1))
    yield from _on_components(subject)
    if findings and not found:
        who = subject.asked_by.removeprefix("--policy ")
        nothing = "Nothing is shown yet" if not diagnosis or not diagnosis.decided else "No remedy is shown yet"
        yield Line(f"{nothing}. More situations may show it:", f"robodx diagnose {who} --seeds 10")
    elif not found and (diagnosis is None or (diagnosis.success.value or 0.0) < FAILS_ALIKE):
        yield Line(
            "No single requirement explains its failures. First make it solve the easiest tasks:",
            f"robodx run control/easy {subject.asked_by}",
        )
    elif not found:
        yield Line(
            "These episodes show no weakness. More episodes could show smaller ones:",
            f"robodx run capability {subject.asked_by} --seeds 50",
        )


def _to_do(number: int, one: Finding, anchor: str) -> Line:
    """What to work on, or what to decide first; the finding has the numbers."""
    if not one.is_decided:
        told = f"{number}. It is not decided whether it fails because {one.when}."
    else:
        share = f" Taking it away recovers about {percent(one.share)} of the failures seen, beyond the placebo."
        told = f"{number}. That it fails when {one.when} ({one.certainty_says}).{share if one.undo is not None else ''}"
    return Line(told, one.next_test, one.advice, anchor, "Next test" if one.is_decided else "To decide it")


def _on_components(subject: Subject) -> Iterator[Line]:
    """Of the components that `robodx why` names, if it could."""
    found = causes_in(subject)
    if found is None or not found.is_shown:
        return
    names = list(dict.fromkeys(one.component for one in found.leading))
    told = "Failed trials that were run again point to"
    if len(names) == 1:
        yield Line(f"{told} {names[0]}.", advice=advice_on(names[0]), anchor="causes")
    elif names:
        yield Line(f"{told} {' or '.join(names)}, or to several of these.", anchor="causes")
