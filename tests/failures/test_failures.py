"""Failures whose cause is known, since they were scripted, are told by it; and faults of successes are seen.

Attribution was written with `FAILURES` in sight. `HELD_OUT` came later, by someone who had not seen how it decides:
that set said how often it is right, 71 of 74 at first look, and is not to be tuned to.
"""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from robodx.records.episode import Episode
from robodx.records.trial import Trial
from robodx.running.reference import ExpertReference
from robodx.tasks.base import TASKS
from tests.failures import held_out
from tests.failures.expected import Failure, Success, missing, perform
from tests.failures.held_out import HELD_OUT
from tests.failures.scripts import FAILURES, SUCCESSES

# What is said in place of the cause. Of those of someone else:
MISTOLD = {
    # Turned less often than what counts as shaking, and told by what came of it.
    "twists to and fro": ("timeout", "incomplete execution"),
}
# Of those in sight:
MISTOLD_IN_SIGHT = {
    # Commands far beyond the joints' top speed are unsafe only where the hand itself gets too fast by them.
    "thrashes over the cube": ("timeout", "control instability"),
}


class Mistold(AssertionError):
    """Another cause was named."""


def _marks(failure: Failure) -> list[pytest.MarkDecorator]:
    is_mistold = failure.name in MISTOLD | MISTOLD_IN_SIGHT
    return [
        *([pytest.mark.thorough] if failure.name in FURTHER else []),
        *([pytest.mark.xfail(strict=True, raises=Mistold)] if is_mistold else []),
    ]


def _further(failures: Sequence[Failure]) -> set[str]:
    """Of each cause the second, the fourth and so on."""
    alike: dict[object, list[str]] = {}
    for one in failures:
        alike.setdefault((one.kinds, one.types), []).append(one.name)
    return {name for names in alike.values() for name in names[1::2]}


FURTHER = _further(FAILURES)


# Those of someone else, below, are played all of them.
@pytest.mark.parametrize(
    "failure",
    [pytest.param(one, marks=_marks(one)) for one in FAILURES],
    ids=lambda failure: failure.name,
)
def test_a_scripted_failure_is_told_by_its_cause(failure: Failure) -> None:
    _check(failure, perform(failure).episode)


@pytest.mark.parametrize(
    "failure",
    [pytest.param(one, marks=_marks(one)) for one in HELD_OUT],
    ids=lambda failure: failure.name,
)
def test_a_failure_scripted_by_someone_else_is_told_by_its_cause(failure: Failure) -> None:
    _check(failure, held_out.perform(failure).episode)


def test_nineteen_in_twenty_failures_of_someone_else_are_told_right() -> None:
    assert len(HELD_OUT) >= 40 and {one.name for one in HELD_OUT} >= set(MISTOLD)
    assert len(MISTOLD) <= 0.05 * len(HELD_OUT)


def _check(failure: Failure, episode: Episode) -> None:
    assert not missing(failure, episode), "the script does not do what it says"
    evidence = episode.failure_evidence
    assert evidence is not None and evidence.says and 0 <= evidence.step <= episode.steps
    attributed = (episode.failure_kind, episode.failure_type)
    if attributed[0] not in failure.kinds or (failure.types and attributed[1] not in failure.types):
        known = (MISTOLD | MISTOLD_IN_SIGHT).get(failure.name, attributed)
        assert attributed == known, f"told as {attributed}, for {evidence.says}"
        raise Mistold(f"told as {attributed}, for {evidence.says}")


@pytest.mark.parametrize("success", SUCCESSES, ids=lambda success: success.name)
def test_faults_of_a_scripted_success_are_flagged(success: Success) -> None:
    finished = perform(success)
    assert not missing(success, finished.episode), "the script does not do what it says"
    trial = Trial(success.task, TASKS[success.task].version, finished.episode.policy, success.seed)
    measured = ExpertReference().after_episode(trial, finished)
    assert set(measured.episode.quality_flags) == success.flags
    assert measured.episode.failure_kind is None and measured.episode.failure_evidence is None
