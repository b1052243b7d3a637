"""Failures whose cause is known, since they were scripted, are told by it; and faults of successes are seen."""

from __future__ import annotations

import pytest

from robodx.running.reference import beside_expert
from robodx.running.trial import Trial
from robodx.tasks.base import TASKS
from tests.failures.expected import Failure, Success, missing, perform
from tests.failures.scripts import FAILURES, SUCCESSES


@pytest.mark.parametrize("failure", FAILURES, ids=lambda failure: failure.name)
def test_a_scripted_failure_is_told_by_its_cause(failure: Failure) -> None:
    episode = perform(failure).episode
    assert not missing(failure, episode), "the script does not do what it says"
    evidence = episode.failure_evidence
    assert evidence is not None and evidence.says and 0 <= evidence.step <= episode.steps
    assert episode.failure_kind in failure.kinds, evidence
    assert not failure.types or episode.failure_type in failure.types, evidence


@pytest.mark.parametrize("success", SUCCESSES, ids=lambda success: success.name)
def test_faults_of_a_scripted_success_are_flagged(success: Success) -> None:
    finished = perform(success)
    assert not missing(success, finished.episode), "the script does not do what it says"
    trial = Trial(success.task, TASKS[success.task].version, finished.episode.policy, success.seed)
    (measured,) = beside_expert([finished._replace()], [trial])
    assert set(measured.episode.quality_flags) == success.flags
    assert measured.episode.failure_kind is None and measured.episode.failure_evidence is None
