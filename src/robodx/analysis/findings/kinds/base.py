"""What a kind of finding is: which conditions it names, its sentence, its advice, and the next command to run."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, NamedTuple

import polars as pl

from robodx.analysis.findings.conditions import Condition, Mask
from robodx.analysis.findings.failure_modes import FailureMode
from robodx.registry import Registry
from robodx.users_code import guarded


class NextTest(NamedTuple):
    """What a command is made of that would tell more of a finding."""

    subject: str
    # Those in which it shows, the most failing first.
    tasks: Sequence[str]
    # The options that name the policy.
    policy: str

    def run(self, options: str = "--seeds 50") -> str:
        """More episodes of some of its tasks; fit to be pasted into a shell, as `options` must be."""
        return f"robodx run {' '.join(shlex.quote(task) for task in self.tasks[:3])} {self.policy} {options}"


class Own(NamedTuple):
    """A condition of a kind's own, that no recorded attribute tells: which episodes hold it, and its words."""

    condition: Condition
    # To be read after "when".
    says: str
    inside: Mask


@dataclass(frozen=True)
class FindingKind:
    """A kind of finding. Its two rules give the subject ("" where the kind says it all), or None: of another kind.

    All kinds are asked by condition and by how most of its failures fail. Of several that answer, the one with the
    highest priority names it, and of those the first by name.
    """

    name: str
    # What is wrong, before the numbers: "It does not tell objects apart by {subject}"; "" is "It fails when …".
    sentence: str = ""
    # Of a condition, and of how most of the failures in it fail.
    by_condition: Callable[[Condition, FailureMode], str | None] = lambda condition, mode: None
    # Of how it fails or how it is done, wherever: then it is a symptom.
    by_failure_mode: Callable[[FailureMode], str | None] = lambda mode: None
    # Those that ship have 0 or less: a narrower one needs more to be asked before them.
    priority: int = 0
    # The subject, as the sentence says it.
    in_words: Callable[[str], str] = str
    # None: of a cause a diagnosis on fresh seeds, of all else more episodes of its tasks.
    next_test: Callable[[NextTest], str] | None = None
    # What one might do about it; "": what the table of remedies says of its condition.
    advice: str = ""
    # What is looked for besides what is recorded of all situations. The episodes are one policy's.
    conditions: Callable[[pl.DataFrame], Iterable[Own]] = lambda episodes: ()
    failure_modes: Callable[[pl.DataFrame], Iterable[FailureMode]] = lambda episodes: ()

    def __post_init__(self) -> None:
        try:
            self.sentence.format(subject="")
        except (LookupError, ValueError) as error:
            raise ValueError(f'the sentence "{self.sentence}" may hold {{subject}} and no other braces') from error

    def says(self, subject: str) -> str:
        return self.sentence.format(subject=self.in_words(subject))


FINDING_KINDS: Registry[FindingKind] = Registry("kind of finding", "analysis.findings.kinds")


def register(kind: FindingKind) -> FindingKind:
    values: dict[str, Any] = {field.name: getattr(kind, field.name) for field in fields(kind)}
    who = f"the kind of finding {kind.name}"
    rules: Any = {name: guarded(who, value) for name, value in values.items() if callable(value)}
    return FINDING_KINDS.add(kind.name, replace(kind, **rules))


def by_priority() -> list[FindingKind]:
    return sorted(FINDING_KINDS.entries(), key=lambda kind: -kind.priority)
