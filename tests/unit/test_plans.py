"""Plans when what is seen cannot be."""

from __future__ import annotations

import pytest

from robodx.experts import base
from robodx.policy_contract import make_policy
from robodx.records.trial import Trial
from robodx.running.rollout import rollout


def test_two_things_that_seem_to_lie_on_each_other_cannot_be_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(base, "is_related", lambda upper, relation, lower: True)
    (finished,) = rollout([Trial("control/stack_cube", 1, "expert", 0)], make_policy("expert"))
    assert finished.episode.outcome == "timeout" and finished.episode.failure_type == "incomplete execution"
