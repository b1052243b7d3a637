"""What an episode is measured by: the expert's path in the same situation, and when it could know of new words."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from robodx.analysis.episode_facts import EpisodeFacts
from robodx.errors import UserError
from robodx.policy_contract import ActionChunk, EpisodeStart, Observation, PolicySpec, make_policy
from robodx.records.trial import Trial
from robodx.running import rollout as rollouts
from robodx.running.episode_facts import facts_of
from robodx.running.reference import reference_trial
from robodx.running.request import Request
from robodx.running.rollout import rollout
from robodx.running.run import run

TASK = "primitive/press_switch"


def test_paths_of_a_run_are_measured_by_the_experts_in_the_same_situation(tmp_path: Path) -> None:
    episodes = run(Request((TASK,), "random", 2), tmp_path / "run")
    trials = [Trial(TASK, 2, "expert", seed) for seed in episodes["seed"]]
    experts = [finished.episode for finished in rollout(trials, make_policy("expert"))]
    expected = [expert.path_length_m for expert in experts]
    assert expected[0] != expected[1]
    ratios = [length / path for length, path in zip(episodes["path_length_m"], expected, strict=True)]
    assert episodes["length_ratio"].to_list() == pytest.approx(ratios)
    assert all(
        ("detour" in flags) == (ratio > 2) for flags, ratio in zip(episodes["quality_flags"], ratios, strict=True)
    )
    # What the expert needs there is an attribute of the situation.
    recorded = [{one["name"]: one["value"] for one in row["numbers"]} for row in episodes["attributes"].to_list()]
    assert [numbers["expert_duration_s"] for numbers in recorded] == [expert.duration_s for expert in experts]
    assert [numbers["expert_path_m"] for numbers in recorded] == expected
    assert [numbers["expert_grasps"] for numbers in recorded] == [0, 0]


def test_the_experts_own_clean_episode_is_its_own_measure(tmp_path: Path) -> None:
    episodes = run(Request((TASK,), "expert", 1), tmp_path / "run")
    assert episodes["length_ratio"].to_list() == [1.0]
    with pytest.raises(UserError, match="name of a RoboDx policy"):
        Request((TASK,), "random", 1, name="expert")


def test_the_reference_keeps_the_scene_and_nothing_else() -> None:
    stressed = Trial(
        TASK, 2, "vision", 3, repeat=2, clock="realtime:0.1", perturbations=(("brightness", 0.5), ("noise", 10))
    )
    reference = reference_trial(stressed)
    assert (reference.policy, reference.seed, reference.repeat, reference.clock) == ("expert", 3, 0, "lockstep")
    assert reference.perturbations == (("brightness", 0.5),)


class Sixteen:
    """Stands still, sixteen steps at a time."""

    spec = PolicySpec(action_space="ee_delta")

    def reset(self, starts: Sequence[EpisodeStart]) -> None: ...

    def act(self, observations: Sequence[Observation]) -> Sequence[ActionChunk]:
        return [np.tile(np.array([0, 0, 0, 0, 0, 0, 1], dtype=np.float32), (16, 1)) for _ in observations]

    def finish(self, ids: Sequence[str]) -> None: ...


def test_new_words_are_known_from_the_query_on_that_carried_them(monkeypatch: pytest.MonkeyPatch) -> None:
    heard: list[EpisodeFacts] = []

    def listen(*arguments: object) -> EpisodeFacts:
        heard.append(facts_of(*arguments))  # type: ignore[arg-type]
        return heard[-1]

    monkeypatch.setattr(rollouts, "facts_of", listen)
    (finished,) = rollout([Trial("adaptability/pick_other_cube", 1, "sixteen", 0)], Sixteen())
    assert finished.episode.instructions[-1].step == 10
    assert [facts.informed_step for facts in heard] == [16]
    evidence = finished.episode.failure_evidence
    assert evidence is not None and "informed at step 16" in evidence.says
