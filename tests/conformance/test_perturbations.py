"""Every registered perturbation: level 0 bypasses it, and its draws touch nothing but itself."""

from __future__ import annotations

import numpy as np
import pytest

from robodx.perturbations.base import PERTURBATIONS
from robodx.policies.base import CameraRequest, PolicySpec, make_policy
from robodx.running.environment import Environment
from robodx.running.rollout import rollout
from robodx.running.trial import Trial

TASK = "primitive/pick_cube"
LEVELS = [(name, level) for name in PERTURBATIONS for level in PERTURBATIONS[name].levels]


def trial(*applied: tuple[str, float], seed: int = 3) -> Trial:
    return Trial(TASK, 1, "expert", seed, perturbations=applied)


@pytest.mark.parametrize("name", list(PERTURBATIONS))
def test_severity_zero_is_the_clean_trial(name: str) -> None:
    policy = make_policy("expert")
    clean, bypassed = (next(iter(rollout([t], policy))).episode for t in (trial(), trial((name, 0.0))))
    assert clean.trajectory_hash == bypassed.trajectory_hash
    assert clean.instructions == bypassed.instructions


@pytest.mark.parametrize(("name", "level"), LEVELS)
def test_the_initial_state_is_shared_with_the_clean_trial(name: str, level: str) -> None:
    severity = PERTURBATIONS[name].levels[level]
    clean, stressed = (Environment(t, PolicySpec()) for t in (trial(), trial((name, severity))))
    assert np.array_equal(clean.simulation.data.qpos, stressed.simulation.data.qpos)
    assert clean.trial.pair_id == stressed.trial.pair_id and clean.trial.id != stressed.trial.id


@pytest.mark.parametrize(("name", "level"), LEVELS)
def test_the_same_perturbed_trial_gives_the_same_episode(name: str, level: str) -> None:
    perturbed = trial((name, PERTURBATIONS[name].levels[level]))
    first, second = (next(iter(rollout([perturbed], make_policy("expert")))).episode for _ in range(2))
    assert first.trajectory_hash is not None
    assert (first.trajectory_hash, first.instructions) == (second.trajectory_hash, second.instructions)


@pytest.mark.parametrize(("name", "level"), LEVELS)
def test_observations_keep_shape_and_type(name: str, level: str) -> None:
    spec = PolicySpec(cameras=(CameraRequest("front", 64, 96, depth=True, segmentation=True),))
    clean, stressed = (
        Environment(t, spec).observe() for t in (trial(), trial((name, PERTURBATIONS[name].levels[level])))
    )
    for one, other in ((clean.images, stressed.images), (clean.depth, stressed.depth)):
        assert {k: (v.shape, v.dtype) for k, v in one.items()} == {k: (v.shape, v.dtype) for k, v in other.items()}


@pytest.mark.parametrize(("name", "level"), LEVELS)
def test_a_level_changes_something(name: str, level: str) -> None:
    severity = PERTURBATIONS[name].levels[level]
    assert _signature(trial()) != _signature(trial((name, severity)))


def _signature(one: Trial) -> tuple[object, ...]:
    """What a policy could notice of a trial: the words, its pictures, and what came of its commands."""
    spec = PolicySpec(cameras=(CameraRequest("front", 48, 48),), action_space="joint")
    environment = Environment(one, spec)
    start = environment.simulation.command
    pictures = []
    for step in range(30):
        pictures.append(environment.observe().images["front"].tobytes())
        action = np.append(start.joints, np.float32(0.5))
        action[0] += 0.01 * step
        environment.accept(action[None], 0.0)
        environment.step()
    commands = environment.trajectory().commands.tobytes()
    environment.close()
    return (environment.told[0].text, tuple(pictures), commands)
