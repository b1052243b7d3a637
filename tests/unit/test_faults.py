"""Planted faults: each fails where it should and nowhere else, draws for itself, and is named without doubt."""

from __future__ import annotations

from dataclasses import replace

import pytest

from robodx.errors import UserError
from robodx.faults.base import FAULTS, Planted, planted
from robodx.policy_contract import EpisodeStart, make_policy
from robodx.records.episode import Episode
from robodx.records.trial import Trial
from robodx.registry import UnknownName
from robodx.running.rollout import rollout
from robodx.running.validation import NULLS
from robodx.tasks.base import TASKS

PICK, DIRECT = "primitive/pick_cube", "language/direct"
# A fault, the task and seed in which it must fail, and one that it must still solve.
WHERE = {
    "colour_blind": ("perception/touch_red_sphere", 0, PICK, 0),
    "size_blind": ("perception/touch_cube_that_fits", 0, DIRECT, 0),
    "shape_blind": ("perception/touch_sphere", 1, DIRECT, 0),
    "mirrors_left_right": ("spatial/pick_leftmost", 0, DIRECT, 0),
    "ignores_negation": ("language/negation", 0, DIRECT, 0),
    "ignores_condition": ("language/conditional", 1, DIRECT, 0),
    "ignores_instruction": ("language/direct", 1, PICK, 0),
    "ignores_updates": ("adaptability/pick_other_cube", 0, DIRECT, 0),
    "frozen_plan": ("dynamic/colour_swap_pick", 0, DIRECT, 0),
    "wrong_order": ("spatial/build_tower", 0, DIRECT, 0),
    "imprecise": ("control/stack_three", 0, DIRECT, 0),
    "weak_grip": (PICK, 1, DIRECT, 0),
    "releases_early": ("control/stack_cube", 0, PICK, 0),
    "undershoots": (PICK, 0, None, 0),
    "stale_view": ("dynamic/pick_cube_ball_crossing", 0, DIRECT, 0),
    "distractible": ("perception/touch_red_t", 0, DIRECT, 0),
    "memorised_layout": ("perception/touch_red_sphere", 0, DIRECT, 2),
    "hates_colour": (DIRECT, 0, DIRECT, 1),
}


def episode(policy: str, task: str, seed: int = 0, clock: str = "lockstep") -> Episode:
    (finished,) = rollout([Trial(task, TASKS[task].version, policy, seed, clock=clock)], make_policy(policy))
    assert finished.episode.error is None, finished.episode.error
    return finished.episode


@pytest.mark.parametrize("name", list(WHERE))
def test_a_fault_fails_where_its_skill_is_needed_and_not_elsewhere(name: str) -> None:
    task, seed, control, control_seed = WHERE[name]
    assert not episode(f"fault:{name}", task, seed).success
    if control is not None:
        assert episode(f"fault:{name}", control, control_seed).success


@pytest.mark.parametrize("task", ["dynamic/colour_swap_pick", "language/conditional"])
def test_who_is_healthy_moves_as_the_expert_does(task: str) -> None:
    assert episode("fault:healthy", task).trajectory_hash == episode("expert", task).trajectory_hash
    assert episode("fault:colour_blind=0", task).trajectory_hash == episode("expert", task).trajectory_hash


def test_who_trembles_is_flagged_and_who_scrapes_collides() -> None:
    assert "instability" in episode("fault:jerky", PICK).quality_flags
    assert "collision" in episode("fault:unsafe", PICK).quality_flags


def test_what_slips_is_dropped_and_what_is_let_go_of_is_released() -> None:
    slipped, released = episode("fault:weak_grip", PICK, 1), episode("fault:releases_early", "control/stack_cube")
    assert (slipped.failure_type, released.failure_type) == ("grasp stability", "placement and release")
    assert slipped.drops and not released.drops


def test_a_slow_policy_is_recorded_as_slow_without_waiting() -> None:
    slow = episode("fault:slow", DIRECT)
    assert slow.inference_ms_p95 == pytest.approx(500.0) and slow.wall_s < 5
    assert not episode("fault:slow=2", "pursuit/pick_from_restless_belt", clock="realtime:measured").success


def test_a_noisy_policy_stops_in_some_episodes() -> None:
    stopped = [not episode("fault:noisy_healthy=0.5", "perception/touch_red_sphere", seed).success for seed in range(4)]
    assert 0 < sum(stopped) < 4
    assert not episode("fault:noisy_healthy=1", "perception/touch_red_sphere").success


def test_two_faults_are_both_there_and_draw_independently() -> None:
    both = "fault:colour_blind+weak_grip"
    assert episode(both, "perception/touch_red_sphere").failure_kind == "reference"
    assert episode(both, PICK, 1).failure_type == "grasp stability"
    assert not episode("fault:ignores_condition+ignores_updates", *WHERE["ignores_condition"][:2]).success
    alone = episode("fault:colour_blind", "perception/touch_red_sphere")
    with_noise = episode("fault:noisy_healthy=0+colour_blind", "perception/touch_red_sphere")
    assert alone.trajectory_hash == with_noise.trajectory_hash


@pytest.mark.parametrize("name", ["colour_blind", "frozen_plan+imprecise", "stale_view+jerky"])
def test_the_same_trial_is_the_same_episode_in_any_batch(name: str) -> None:
    policy = f"fault:{name}"
    trials = [Trial(DIRECT, TASKS[DIRECT].version, policy, seed) for seed in range(3)]
    alone = {e.trial_id: e.trajectory_hash for trial in trials[::-1] for e, _ in rollout([trial], make_policy(policy))}
    assert alone == {e.trial_id: e.trajectory_hash for e, _ in rollout(trials, make_policy(policy), batch=3)}


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("color_blind", 'Did you mean "colour_blind"'),
        ("colour_blind=much", 'from 0 to 1 (share of episodes), not "much"'),
        ("colour_blind=1.5", "from 0 to 1"),
        ("jerky=nan", 'not "nan"'),
        ("jerky+jerky=0.1", "planted twice"),
        ("colour_blind+", 'No fault ""'),
    ],
)
def test_a_wrong_name_or_severity_is_explained(text: str, says: str) -> None:
    with pytest.raises(UserError) as error:
        planted(text)
    assert says in str(error.value)


def test_an_unknown_fault_is_an_unknown_name() -> None:
    with pytest.raises(UnknownName):
        make_policy("fault:nonsense")


@pytest.mark.parametrize("name", list(FAULTS))
def test_every_fault_but_the_healthy_has_a_finding_to_cause_and_a_sensible_severity(name: str) -> None:
    entry = FAULTS[name]
    assert (entry.expected is None) == ("healthy" in name or entry.is_redrawn)
    assert 0 < entry.severity <= entry.most and entry.unit and len(entry.summary) > 10


@pytest.mark.parametrize("name", [*NULLS, "flaky"])
def test_a_null_can_differ_in_the_two_trials_of_a_pair(name: str) -> None:
    """Luck that is the same in both could never contradict the diagnosis."""
    (null,) = planted(f"{name}=1" if name != "flaky" else name)
    (healthy,) = planted("noisy_healthy")
    source = Trial("control/push_cube", 1, "a", 0)
    trials = [replace(source, interventions=(("target position", value),)) for value in ("left", "right", "placebo")]

    def draws(entry: Planted) -> set[float]:
        streams = (entry.rng(EpisodeStart(one.id, one.policy_seed, one.task, "panda", 0, 0, "Push.")) for one in trials)
        return {rng.random() for rng in streams}

    assert len(draws(null)) == len(trials) and len(draws(healthy)) == 1
