"""The policy with eyes: it goes by its pictures and its words alone, and needs no simulator to do so."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from robodx.errors import UserError
from robodx.policies.base import ActionChunk, EpisodeStart, Observation
from robodx.policies.remote import connect
from robodx.policies.vision import CAMERAS, VisionPolicy
from robodx.running.environment import Environment
from robodx.running.rollout import rollout
from robodx.running.trial import Trial
from robodx.tasks.base import TASKS
from robodx.wires.calibrations import write_cameras
from robodx.wires.local import Local
from robodx.wires.serving import Endpoint

STACK = "control/stack_cube"


def trial(task: str, seed: int = 0) -> Trial:
    return Trial(task, TASKS[task].version, "vision", seed)


@pytest.fixture
def environment() -> Iterator[Environment]:
    made = Environment(trial(STACK), VisionPolicy.spec)
    yield made
    made.close()


def watched(environment: Environment, queries: int) -> tuple[EpisodeStart, list[Observation], list[ActionChunk]]:
    """What vision is shown at its first queries, and what it answers."""
    policy, start = VisionPolicy(), environment.start()
    policy.reset([start])
    observations: list[Observation] = []
    chunks: list[ActionChunk] = []
    while len(chunks) < queries:
        if environment.needs_chunk:
            observations.append(environment.observe())
            (chunk,) = policy.act(observations[-1:])
            chunks.append(chunk)
            environment.accept(chunk, 0.0)
        environment.step()
    return start, observations, chunks


def test_it_is_shown_only_what_any_policy_is_shown(environment: Environment) -> None:
    spec = VisionPolicy.spec
    assert not spec.is_privileged
    assert not any(camera.segmentation for camera in spec.cameras)
    start, (observation,), _ = watched(environment, 1)
    assert start.privileged is None
    assert observation.privileged is None
    assert observation.segmentation == {}


def test_it_runs_where_the_simulator_cannot_be_imported(environment: Environment, tmp_path: Path) -> None:
    start, observations, chunks = watched(environment, 3)
    for index, one in enumerate(observations):
        arrays: dict[str, Any] = {f"state {name}": value for name, value in one.state.items()}
        arrays |= {f"image {name}": value for name, value in one.images.items()}
        arrays |= {f"depth {name}": value for name, value in one.depth.items()}
        np.savez(tmp_path / f"{index}.npz", **arrays)
    told = {
        "instruction": start.instruction,
        "cameras": write_cameras(start.cameras),
        "times": [(one.step, one.time_s) for one in observations],
    }
    (tmp_path / "told.json").write_text(json.dumps(told))
    subprocess.run([sys.executable, "-c", ELSEWHERE, str(tmp_path)], check=True, timeout=60)
    elsewhere = np.load(tmp_path / "actions.npz")
    for index, chunk in enumerate(chunks):
        np.testing.assert_array_equal(elsewhere[str(index)], chunk)


ELSEWHERE = """
import json, sys
from pathlib import Path
sys.modules["mujoco"] = None
import numpy as np
from robodx.policies.base import EpisodeStart, Observation
from robodx.policies.vision import VisionPolicy
from robodx.wires.calibrations import read_cameras

folder = Path(sys.argv[1])
told = json.loads((folder / "told.json").read_text())
policy = VisionPolicy()
policy.reset([EpisodeStart("x", 0, "", "", 0, 0, told["instruction"], read_cameras(told["cameras"]))])
answers = {}
for index, (step, time_s) in enumerate(told["times"]):
    arrays = np.load(folder / f"{index}.npz")
    kinds = {"state": {}, "image": {}, "depth": {}}
    for key in arrays.files:
        kind, _, name = key.partition(" ")
        kinds[kind][name] = arrays[key]
    shown = Observation("x", step, time_s, told["instruction"], kinds["state"], kinds["image"], kinds["depth"])
    (answers[str(index)],) = policy.act([shown])
np.savez(folder / "actions.npz", **answers)
"""


def test_the_same_pictures_give_the_same_actions_whatever_the_task_is_called(environment: Environment) -> None:
    start, observations, chunks = watched(environment, 4)
    other = VisionPolicy()
    other.reset([replace(start, episode_id="other", task="another/task", situation_seed=99, policy_seed=7)])
    for observation, chunk in zip(observations, chunks, strict=True):
        (again,) = other.act([replace(observation, episode_id="other")])
        np.testing.assert_array_equal(again, chunk)


def test_other_pictures_give_other_actions(environment: Environment) -> None:
    start, (observation,), (chunk,) = watched(environment, 1)
    blind = VisionPolicy()
    blind.reset([start])
    dark = {name: np.zeros_like(image) for name, image in observation.images.items()}
    (stays,) = blind.act([replace(observation, images=dark)])
    assert not np.array_equal(stays[-1], chunk[-1])
    np.testing.assert_array_equal(stays, np.repeat(stays[:1], len(stays), axis=0))


@pytest.mark.parametrize("seed", range(6))
def test_bad_pictures_never_stop_it(environment: Environment, seed: int) -> None:
    """Noise, holes in the depth, blots: it may be wrong about what is there, but it answers."""
    rng = np.random.default_rng(seed)
    start, (observation,), _ = watched(environment, 1)
    troubled = VisionPolicy()
    troubled.reset([start])
    noise_m, noise, hole = 10.0 ** rng.uniform(-4, -1.5), rng.uniform(0, 80), rng.uniform(0, 0.5)

    def worse(step: int) -> Observation:
        images, depth = {}, {}
        for name, image in observation.images.items():
            noisy = image + rng.normal(0, noise, image.shape)
            images[name] = noisy.clip(0, 255).astype(np.uint8)
            far = observation.depth[name] + rng.normal(0, noise_m, observation.depth[name].shape)
            depth[name] = np.where(rng.random(far.shape) < hole, rng.choice([0.0, np.nan]), far).astype(np.float32)
        return replace(observation, images=images, depth=depth, step=step, time_s=step / 20)

    for step in (0, 4, 8):
        (chunk,) = troubled.act([worse(step)])
        assert np.isfinite(chunk).all()


def test_what_it_does_not_understand_leaves_it_standing(environment: Environment) -> None:
    start, (observation,), _ = watched(environment, 1)
    puzzled = VisionPolicy()
    puzzled.reset([start])
    (chunk,) = puzzled.act([replace(observation, instruction="Frobnicate the gizmo with due care.")])
    np.testing.assert_array_equal(chunk, np.repeat(chunk[:1], len(chunk), axis=0))
    np.testing.assert_allclose(chunk[0, :7], observation.state["ee_pose"], atol=1e-6)


def test_without_calibration_it_says_what_is_missing(environment: Environment) -> None:
    start = environment.start()
    only_front = {name: camera for name, camera in start.cameras.items() if name == "front"}
    with pytest.raises(UserError, match=", ".join(CAMERAS[1:])):
        VisionPolicy().reset([replace(start, cameras=only_front)])


def test_served_to_a_client_that_tells_no_calibration_it_says_so(environment: Environment) -> None:
    endpoint = Endpoint(VisionPolicy())
    request = dict(endpoint.preset.request(environment.observe(), environment.start()))
    told = dict(request["robodx"])
    del told["cameras"]
    with pytest.raises(UserError, match="no calibration of front, left, right"):
        endpoint.answer("session", {**request, "robodx": told})


@pytest.mark.parametrize("task", [STACK, "control/place_sphere"])
def test_it_solves_easy_control(task: str) -> None:
    ((episode, _),) = rollout([trial(task)], VisionPolicy())
    assert episode.success
    assert episode.collisions == 0


def test_behind_a_wire_it_does_the_same() -> None:
    """Calibration, depth and colours travel unchanged."""
    ((here, _),) = rollout([trial(STACK)], VisionPolicy())
    ((there, _),) = rollout([trial(STACK)], connect(Local(VisionPolicy()), "local", None))
    assert there.error is None
    assert here.trajectory_hash == there.trajectory_hash
