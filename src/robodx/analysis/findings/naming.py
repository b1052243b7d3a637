"""What a candidate is called: its kind, what it is about, a sentence, and what to run to know more."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from typing import NamedTuple

from robodx.analysis.estimates import Estimate
from robodx.analysis.findings.base import FindingKind
from robodx.analysis.findings.conditions import Mask
from robodx.analysis.findings.gerunds import doing
from robodx.analysis.findings.manners import MOTOR, Manner
from robodx.analysis.findings.search import Candidate
from robodx.analysis.findings.thresholds import THRESHOLDS, Thresholds

CHANGES = {"moving things": "moving things", "sudden": "sudden changes", "signal": "signals"}


class Name(NamedTuple):
    kind: FindingKind
    subject: str


def named(candidate: Candidate, manners: list[Manner], thresholds: Thresholds = THRESHOLDS) -> Name:
    """By the condition where that says what is lacking, else by what mostly happens in it."""
    sort, path = candidate.condition.sort, candidate.condition.path
    if sort == "stress":
        return Name("failure cliff", path)
    if sort == "clock":
        return Name("latency-bound", "")
    if sort == "value":
        return Name("visual bias", path)
    shown = candidate.shows
    main, *rest = path.split("/") if sort == "need" else ("", "")
    if main == "change":
        is_told = rest == ["words"]
        return Name("updates ignored", "") if is_told else Name("change ignored", CHANGES.get("".join(rest), ""))
    if main == "language" and rest:
        return Name("language sub-skill", rest[0])
    if main == "layout":
        return Name("memorised layout", "")
    if main == "distractors":
        return Name("distracted", "")
    if main == "choice":
        return Name("instruction ignored", "")
    is_choice = candidate.manner.sort in ("mistaken", "wrong thing")
    # Where one skill fails, that hands then meet things is what comes of it.
    told = [manner for manner in manners if main != "motor" or is_choice or manner.name in MOTOR]
    # And what shows in all that is done names only itself.
    told = [manner for manner in told if manner.sort != "flag" or manner is candidate.manner]
    # A group of tasks that fails in various ways is named for itself.
    is_group = sort in ("family", "tier", "task") and not candidate.manner.is_telling
    if not is_group and (name := _by_manner(told, shown, thresholds.mostly)) is not None:
        return name
    if main == "motor" and rest:
        return Name("reference confusion", "") if is_choice else Name("motor weakness", rest[0])
    if sort == "all" and candidate.manner.sort == "wrong thing":
        return Name("instruction ignored", "")
    return Name("weak capability", path if path != "everything" else "")


def _by_manner(manners: list[Manner], shown: Mask, mostly: float) -> Name | None:
    """What most of them have in common; of several, what the most have."""
    shares = [(int((manner.has & shown).sum()), manner) for manner in manners]
    for shown_by, manner in sorted(shares, key=lambda pair: -pair[0]):
        if shown_by < mostly * shown.sum():
            break
        if manner.sort == "mistaken":
            return Name("reference confusion", manner.name)
        if manner.sort == "type" and manner.name in MOTOR:
            return Name("motor weakness", manner.name)
        if manner.name in ("instability", "control instability"):
            return Name("unstable control", "")
        if manner.name in ("collision", "safety"):
            return Name("unsafe contact", "")
    return None


SAYS: dict[str, str] = {
    "failure cliff": "It breaks under {subject}",
    "latency-bound": "It is too slow where the world does not wait",
    "visual bias": "It does worse where the thing has the {subject}",
    "updates ignored": "It does not follow a new instruction while it acts",
    "change ignored": "It does not cope with {subject}",
    "language sub-skill": "It does not understand {subject}",
    "memorised layout": "It does worse where the layout varies, as if it had learnt where things lie",
    "distracted": "It is distracted by things that nobody spoke of",
    "instruction ignored": "It takes things whatever the words say",
    "reference confusion": "It confuses things that differ in {subject}",
    "motor weakness": "It is weak at {subject}",
    "unstable control": "Its control is unstable",
    "unsafe contact": "It presses too hard on table or things",
    "weak capability": "It is weak in {subject}",
}
ELSE = {
    "change ignored": "changes while it acts",
    "weak capability": "most of what it is asked",
    "reference confusion": "various ways",
}
SUBJECTS = {
    "negation": "negations", "condition": "conditions", "order": "orders of steps", "ordinal": "ordinals",
    "relation": "relations between things", "signal": "signals", "synonym": "synonyms",
}  # fmt: skip


def statement(name: Name, candidate: Candidate, inside: Estimate, outside: Estimate) -> str:
    """A sentence with its numbers."""
    condition = candidate.condition
    subject = name.subject or ELSE.get(name.kind, "")
    if name.kind == "language sub-skill":
        subject = SUBJECTS.get(subject, subject)
    if name.kind == "motor weakness" and subject not in MOTOR:
        subject = doing(subject)
    if name.kind == "failure cliff":
        subject = subject.replace("/", " at level ")
    if name.kind == "visual bias":
        subject = subject.replace("=", " ")
    where = f"{'all' if condition.sort == 'all' else 'the'} {condition.says}"
    rest = "" if not outside.n else f", and in {_percent(outside)} of the others"
    return f"{SAYS[name.kind].format(subject=subject)}: {candidate.manner.says} in {_percent(inside)} of {where}{rest}."


def next_test(name: Name, tasks: Sequence[str], who: str) -> str:
    """A command that would tell more, fit to be pasted into a shell; `who` are the options that name the policy."""
    some = " ".join(shlex.quote(task) for task in tasks[:3])
    stressor = name.subject.split("/")[0]
    if name.kind == "failure cliff" and stressor != "combined":
        return f"robodx cliff {shlex.quote(tasks[0])} {who} --stressor {shlex.quote(stressor)}"
    if name.kind == "latency-bound":
        return f"robodx run {some} {who} --clock realtime:measured --seeds 25"
    return f"robodx run {some} {who} --seeds 50"


def _percent(rate: Estimate) -> str:
    return "none" if rate.value is None else f"{rate.value:.0%}"
