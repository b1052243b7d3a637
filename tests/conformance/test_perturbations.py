"""Every registered perturbation: level 0 bypasses it, and its draws touch nothing but itself."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from robodx.perturbations.base import PERTURBATIONS, STRESS_LEVELS
from robodx.policy_contract import CameraRequest, PolicySpec, make_policy
from robodx.records.episode import Episode
from robodx.records.trial import Trial
from robodx.records.values import Applied
from robodx.running.environment import Environment
from robodx.running.rollout import rollout

TASK = "primitive/pick_cube"
LEVELS = [(name, level) for name in PERTURBATIONS for level in PERTURBATIONS[name].levels]
# As tabled, variants of these, and those from deployment.
STRESSORS = {
    "noise", "colour_shift", "resolution", "frame_drop", "light_flicker", "rolling_shutter", "actuator_latency",
    "packet_loss", "frame_drop_all", "action_repeat", "motion_blur", "occluding_blob", "camera_disconnect",
    "stale_frames", "exposure_drift",
    "gripper_backlash", "encoder_bias", "calibration_offset", "payload", "friction", "inference_pauses",
}  # fmt: skip

SUBSTITUTIONS = {"plain_words", "lone_target", "expert_grasps", "expert_starts", "expert_ends"}
NULL_INPUTS = {"blank_words", "scrambled_words", "other_words", "camera_blank", "frozen_state"}


def trial(*applied: Applied, seed: int = 3) -> Trial:
    return Trial(TASK, 2, "expert", seed, perturbations=applied)


def run(one: Trial) -> Episode:
    return next(iter(rollout([one], make_policy("expert")))).episode


@cache
def clean_episode() -> Episode:
    return run(trial())


def test_the_stressors_are_there_and_graded() -> None:
    stressors = {entry.name for entry in PERTURBATIONS.entries() if entry.is_stressor}
    assert stressors == STRESSORS
    for name in stressors:
        entry = PERTURBATIONS[name]
        severities = list(entry.severities.values())
        assert tuple(entry.severities) == STRESS_LEVELS and entry.kind in ("sensor", "execution")
        assert 0 < severities[0] < severities[1] < severities[2] <= entry.most
        # A search for the cliff needs an end, where there is a cliff to look for.
        assert entry.most < float("inf") or not entry.is_ordered
        # What in the world does this, as a sentence.
        assert entry.anchor.endswith(".") and len(entry.anchor) > 40
        assert entry.unit


def test_substitutions_are_none_of_the_stressors_and_have_no_cliff() -> None:
    substitutions = [entry for entry in PERTURBATIONS.entries() if entry.kind == "substitution"]
    assert {entry.name for entry in substitutions} == SUBSTITUTIONS
    assert not any(entry.is_stressor or entry.is_ordered or entry.cls.is_wrappable for entry in substitutions)


def test_null_inputs_are_none_of_the_stressors_and_have_no_cliff() -> None:
    assert not any(PERTURBATIONS[name].is_stressor or PERTURBATIONS[name].is_ordered for name in NULL_INPUTS)


@pytest.mark.parametrize("name", list(PERTURBATIONS))
def test_severity_zero_is_the_clean_trial(name: str) -> None:
    clean, bypassed = clean_episode(), run(trial((name, 0.0)))
    assert clean.trajectory_hash == bypassed.trajectory_hash
    assert clean.instructions == bypassed.instructions
    assert (bypassed.perturbed_queries, bypassed.perturbed_steps) == (0, 0)


@pytest.mark.parametrize(("name", "level"), LEVELS)
def test_the_initial_state_is_shared_with_the_clean_trial(name: str, level: str) -> None:
    spec = PolicySpec(cameras=cameras(name, level))
    clean, stressed = (Environment(t, spec) for t in (trial(), trial((name, PERTURBATIONS[name].levels[level]))))
    # To the bit, but for what weighs more: it settles in other roundings.
    tolerance_m = 1e-15 if name == "payload" else 0.0
    assert np.abs(clean.simulation.data.qpos - stressed.simulation.data.qpos).max() <= tolerance_m
    assert clean.trial.pair_id == stressed.trial.pair_id and clean.trial.id != stressed.trial.id
    assert clean.trial.policy_seed == stressed.trial.policy_seed


@pytest.mark.parametrize("name", list(PERTURBATIONS))
def test_the_same_perturbed_trial_is_the_same_again(name: str) -> None:
    level = list(PERTURBATIONS[name].levels)[-1]
    assert outcome(name, level) == outcome.__wrapped__(name, level)


@pytest.mark.parametrize(("name", "level"), LEVELS)
def test_observations_keep_shape_and_type(name: str, level: str) -> None:
    spec = PolicySpec(cameras=cameras(name, level, 64, 96, depth=True, segmentation=True))
    clean, stressed = (
        Environment(t, spec).observe() for t in (trial(), trial((name, PERTURBATIONS[name].levels[level])))
    )
    for part in ("images", "depth", "segmentation", "state"):
        one, other = ({k: (v.shape, v.dtype) for k, v in getattr(o, part).items()} for o in (clean, stressed))
        assert one == other


# Words may be plain already, a target alone, and an expert is no better than another.
@pytest.mark.parametrize(("name", "level"), [each for each in LEVELS if PERTURBATIONS[each[0]].kind != "substitution"])
def test_a_level_changes_something(name: str, level: str) -> None:
    assert outcome(name, level) != clean_outcome(PERTURBATIONS[name].kind, cameras(name, level))


def cameras(name: str, level: str, height: int = 48, width: int = 48, **parts: bool) -> tuple[CameraRequest, ...]:
    """The one that the level is about, or else the front one."""
    is_named = name == "camera_blank" and level != "all"
    return (CameraRequest(level if is_named else "front", height, width, **parts),)


@cache
def outcome(name: str, level: str) -> tuple[object, ...]:
    """What comes of the expert's commands; or what a policy that sees and reads could notice, as the expert does not.

    In five seconds every fault that comes and goes has been there.
    """
    applied = trial((name, PERTURBATIONS[name].levels[level]))
    return _outcome(applied, PERTURBATIONS[name].kind, cameras(name, level))


# The same clean trial is held against many.
clean_outcome = cache(lambda kind, shown: _outcome(trial(), kind, shown))


def _outcome(one: Trial, kind: str, shown: tuple[CameraRequest, ...]) -> tuple[object, ...]:
    if kind != "execution":
        return _noticed(one, shown)
    episode = run(one)
    return (episode.trajectory_hash, episode.perturbed_steps, episode.perturbed_queries)


def _noticed(one: Trial, shown: tuple[CameraRequest, ...]) -> tuple[object, ...]:
    environment = Environment(one, PolicySpec(cameras=shown, action_space="joint", hz=10.0))
    home = np.append(environment.simulation.command.joints, np.float32(0.5))
    seen = []
    for step in range(50):
        observation = environment.observe()
        seen += [image.tobytes() for image in observation.images.values()]
        seen += [numbers.tobytes() for numbers in observation.state.values()]
        environment.accept((home + np.eye(8)[0] * 0.02 * step)[None], 0.0)
        environment.step()
    environment.close()
    return (environment.instruction_updates[0].text, *seen)
