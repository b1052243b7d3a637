"""Checkpoints as policies, in this process and behind the script: both do what LeRobot's own code does with them."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from lerobot.configs.types import FeatureType, PolicyFeature
from lerobot.envs.utils import preprocess_observation
from lerobot.policies.act.modeling_act import ACTPolicy
from lerobot.policies.diffusion.configuration_diffusion import DiffusionConfig
from lerobot.policies.diffusion.modeling_diffusion import DiffusionPolicy
from lerobot.policies.factory import make_pre_post_processors
from lerobot.policies.tdmpc.configuration_tdmpc import TDMPCConfig
from numpy.typing import NDArray

from robodx.errors import UserError
from robodx.policy_contract import make_policy
from robodx.records.trial import Trial
from robodx.running.rollout import rollout
from robodx.wires.base import Wire, WireError
from robodx.wires.drafting import draft
from robodx.wires.protocols import lerobot
from robodx.wires.protocols.lerobot import InProcess, Launched, open_checkpoint
from robodx.wires.remote import RemotePolicy

TASK = "control/stack_cube"
DIM = 8
CAMERAS = ("front", "wrist")
ROBODX = Path(sys.executable).with_name("robodx")


@pytest.fixture(scope="module", autouse=True)
def one_thread() -> Iterator[None]:
    """As the command line has it, and the script: else sums would differ in their last bits."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


@pytest.fixture(scope="module")
def ensembling(checkpoint: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same ACT with temporal ensembling, as one switches it on for evaluation."""
    return changed(
        checkpoint, tmp_path_factory.mktemp("ensembling") / "act", temporal_ensemble_coeff=0.01, n_action_steps=1
    )


@pytest.fixture(scope="module")
def diffusion(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny Diffusion Policy of random weights, which sees the last two observations."""
    folder = tmp_path_factory.mktemp("diffusion") / "diffusion"
    torch.manual_seed(0)
    config = DiffusionConfig(
        input_features={
            **{f"observation.images.{name}": PolicyFeature(FeatureType.VISUAL, (3, 64, 64)) for name in CAMERAS},
            "observation.state": PolicyFeature(FeatureType.STATE, (DIM,)),
        },
        output_features={"action": PolicyFeature(FeatureType.ACTION, (DIM,))},
        device="cpu",
        push_to_hub=False,
        n_obs_steps=2,
        horizon=8,
        n_action_steps=4,
        pretrained_backbone_weights=None,
        crop_shape=None,
        spatial_softmax_num_keypoints=4,
        down_dims=(16, 32),
        diffusion_step_embed_dim=16,
        num_train_timesteps=10,
        num_inference_steps=2,
    )
    wide = {"min": torch.full((DIM,), -3.0), "max": torch.full((DIM,), 3.0)}
    pixels = {"mean": torch.full((3, 1, 1), 0.5), "std": torch.full((3, 1, 1), 0.25)}
    statistics = {f"observation.images.{name}": pixels for name in CAMERAS}
    for part in (
        DiffusionPolicy(config),
        *make_pre_post_processors(config, dataset_stats={**statistics, "observation.state": wide, "action": wide}),
    ):
        part.save_pretrained(folder)
    return folder


@pytest.fixture
def preset(checkpoint: Path, tmp_path: Path) -> str:
    return drafted(checkpoint, tmp_path / "act.toml")


@pytest.fixture
def by_script(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(lerobot.PYTHON, sys.executable)


def drafted(checkpoint: Path, file: Path) -> str:
    """As `robodx check --write-preset` leaves it: the conventions of these checkpoints are those that it guesses."""
    draft(f"lerobot:{checkpoint}", None, file)
    # Fewer steps, in the same time of the task's.
    file.write_text(file.read_text().replace("hz = 20.0", "hz = 5.0"))
    return str(file)


def changed(checkpoint: Path, copy: Path, **fields: Any) -> Path:
    shutil.copytree(checkpoint, copy)
    config = json.loads((copy / "config.json").read_text())
    (copy / "config.json").write_text(json.dumps({**config, **fields}))
    return copy


def loaded(checkpoint: Path) -> Wire:
    """Already: networks are made with random weights before they are read, which moves the process's noise on."""
    wire = open_checkpoint(str(checkpoint))
    wire.describe()
    return wire


def seen(seed: int) -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    return {
        **{f"observation.images.{name}": rng.integers(0, 255, (64, 64, 3), np.uint8) for name in CAMERAS},
        "observation.state": rng.uniform(-1, 1, DIM).astype(np.float32),
    }


def with_episode(request: Mapping[str, Any], episode: str, step: int, **more: Any) -> dict[str, Any]:
    return {**request, "robodx": {"episode_id": episode, "step": step, **more}}


def actions(wire: Wire, requests: Sequence[Mapping[str, Any]]) -> list[NDArray[np.float32]]:
    replies = wire.ask([(f"episode {index}", request) for index, request in enumerate(requests)])
    found = []
    for reply in replies:
        if isinstance(reply, WireError):
            raise reply
        found.append(reply["action"])
    return found


class Reference:
    """LeRobot's own loop over one episode: its conversion of observations, its queue, its processors."""

    def __init__(self, kind: Any, folder: Path) -> None:
        self.policy = kind.from_pretrained(folder)
        self.policy.reset()
        self.prepare, self.finish = make_pre_post_processors(self.policy.config, pretrained_path=str(folder))

    def __call__(self, request: Mapping[str, Any]) -> NDArray[np.float32]:
        pixels = {name: request[f"observation.images.{name}"][None] for name in CAMERAS}
        observation = preprocess_observation({"pixels": pixels, "agent_pos": request["observation.state"][None]})
        with torch.inference_mode():
            action = self.finish(self.policy.select_action(self.prepare(observation)))
        numbers: NDArray[np.float32] = action.numpy()[0]
        return numbers


# Against LeRobot's own.


def test_a_chunk_is_what_lerobot_would_execute_one_by_one(checkpoint: Path) -> None:
    wire, reference = open_checkpoint(str(checkpoint)), Reference(ACTPolicy, checkpoint)
    assert isinstance(wire, InProcess)
    for first in (0, 8):
        (chunk,) = actions(wire, [seen(first)])
        # LeRobot looks at the first of eight observations only.
        np.testing.assert_array_equal(chunk, [reference(seen(first + step)) for step in range(8)])


def test_a_batch_gives_each_row_its_own(checkpoint: Path) -> None:
    wire = open_checkpoint(str(checkpoint))
    requests = [seen(seed) for seed in range(3)]
    alone = [actions(wire, [request])[0] for request in requests]
    together = actions(wire, requests)
    assert not np.allclose(alone[0], alone[1], atol=1e-3)
    # Sums in another order: the same but for the last bits.
    np.testing.assert_allclose(together, alone, atol=1e-5)


def test_temporal_ensembling_is_lerobot_s_own_in_every_episode_of_a_batch(ensembling: Path) -> None:
    wire = open_checkpoint(str(ensembling))
    first, second = Reference(ACTPolicy, ensembling), Reference(ACTPolicy, ensembling)
    for step in range(12):
        requests = [with_episode(seen(step), "a", step)]
        expected = [first(seen(step))]
        # The other begins later.
        if step >= 3:
            requests.append(with_episode(seen(100 + step), "b", step - 3))
            expected.append(second(seen(100 + step)))
        found = actions(wire, requests)
        assert all(chunk.shape == (1, DIM) for chunk in found)
        np.testing.assert_allclose([chunk[0] for chunk in found], expected, atol=1e-5)


def test_a_policy_that_looks_back_sees_what_lerobot_shows_it(diffusion: Path) -> None:
    """Two episodes in turn: histories and planned actions are kept apart."""
    wire = loaded(diffusion)
    references = {name: Reference(DiffusionPolicy, diffusion) for name in ("a", "b")}
    for step in range(10):
        for offset, (name, reference) in enumerate(references.items()):
            request = seen(1000 * offset + step)
            # Without a seed of the trial's, the noise is the process's own.
            torch.manual_seed(step)
            (chunk,) = actions(wire, [with_episode(request, name, step)])
            torch.manual_seed(step)
            np.testing.assert_array_equal(chunk, [reference(request)])


def test_noise_is_the_trial_s_own(diffusion: Path) -> None:
    wire = loaded(diffusion)

    def plan(policy_seed: int) -> list[NDArray[np.float32]]:
        return [
            actions(wire, [with_episode(seen(step), "episode", step, policy_seed=policy_seed)])[0].copy()
            for step in range(6)
        ]

    before = torch.random.get_rng_state()
    once = plan(1)
    assert torch.equal(torch.random.get_rng_state(), before)
    np.testing.assert_array_equal(plan(1), once)
    assert not np.array_equal(plan(2), once)


def test_a_policy_that_looks_back_refuses_gaps(diffusion: Path) -> None:
    wire = open_checkpoint(str(diffusion))
    actions(wire, [with_episode(seen(0), "a", 0)])
    for request, words in (
        (with_episode(seen(0), "a", 2), "must be asked at every step from 0: this is step 2, last at step 0"),
        (with_episode(seen(0), "b", 1), "this is step 1, never"),
        (seen(0), "must be told the episode and the step under robodx"),
    ):
        with pytest.raises(WireError, match=words):
            actions(wire, [request])
    # What was refused changed nothing; and an episode may begin again.
    actions(wire, [with_episode(seen(1), "a", 1)])
    actions(wire, [with_episode(seen(0), "a", 0)])


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"observation.state": np.zeros(7, np.float32)}, r"observation.state must be an array of shape \(8,\)"),
        ({"observation.images.front": None}, "observation.images.front must be an array of shape .* but is None"),
        ({"observation.images.wrist": np.zeros((64, 64, 3), np.float32)}, "wrist must be of type uint8"),
        ({"observation.images.wrist": np.zeros((3, 64, 64), np.uint8)}, r"of shape \(3, 64, 64\)"),
    ],
)
def test_a_bad_request_is_an_error_of_its_own(checkpoint: Path, change: Mapping[str, Any], words: str) -> None:
    wire = open_checkpoint(str(checkpoint))
    good, bad, other = wire.ask([("a", seen(0)), ("b", {**seen(1), **change}), ("c", seen(2))])
    with pytest.raises(WireError, match=words):
        raise bad if isinstance(bad, WireError) else AssertionError(bad)
    assert not isinstance(good, WireError) and not isinstance(other, WireError)


# As a policy.


def played(name: str, preset: str, *, seeds: int = 1, batch: int = 1) -> list[str]:
    policy = make_policy(name, preset)
    assert isinstance(policy, RemotePolicy)
    trials = [Trial(TASK, 2, "lerobot", seed) for seed in range(seeds)]
    try:
        finished = sorted(rollout(trials, policy, batch=batch), key=lambda one: one.episode.seed)
    finally:
        policy.close()
    assert [one.episode.error for one in finished] == [None] * seeds
    return [str(one.episode.trajectory_hash) for one in finished]


@pytest.mark.parametrize("kind", ["checkpoint", "diffusion"])
def test_in_process_and_through_the_script_the_same_bits_come(
    kind: str, tmp_path: Path, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = request.getfixturevalue(kind)
    preset = drafted(folder, tmp_path / "drafted.toml")
    here = played(f"lerobot:{folder}", preset)
    assert played(f"lerobot:{folder}", preset) == here
    monkeypatch.setenv(lerobot.PYTHON, sys.executable)
    assert isinstance(open_checkpoint(str(folder)), Launched)
    assert played(f"lerobot:{folder}?device=cpu", preset) == here
    assert not lerobot.RUNNING


@pytest.mark.usefixtures("by_script")
def test_several_episodes_share_the_script(checkpoint: Path, preset: str) -> None:
    """Its requests are answered one at a time: the batch changes nothing."""
    alone = played(f"lerobot:{checkpoint}", preset, seeds=3)
    assert len(set(alone)) == 3
    assert played(f"lerobot:{checkpoint}", preset, seeds=3, batch=3) == alone


@pytest.mark.parametrize("kind", ["checkpoint", "diffusion"])
def test_several_episodes_are_a_batch_in_process(kind: str, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    folder = request.getfixturevalue(kind)
    preset = drafted(folder, tmp_path / "drafted.toml")
    assert len(set(played(f"lerobot:{folder}", preset, seeds=3, batch=3))) == 3


def test_a_preset_that_does_not_fit_is_refused_before_the_first_step(checkpoint: Path, preset: str) -> None:
    file = Path(preset)
    file.write_text(file.read_text().replace("height = 64", "height = 48").replace("action = 8", "action = 7"))
    with pytest.raises(UserError, match=r"front is \(48, 64, 3\) .* wants \(64, 64, 3\); .*action is 7 wide .* but 8"):
        make_policy(f"lerobot:{checkpoint}", preset)


# Checkpoints that do not load.


def test_the_backbone_s_first_weights_are_not_fetched(
    checkpoint: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As every ACT trained with LeRobot's defaults says: the weights that it had before training."""
    monkeypatch.setattr("torch.hub.download_url_to_file", lambda url, *_, **__: pytest.fail(f"fetched {url}"))
    monkeypatch.setenv("TORCH_HOME", str(tmp_path / "torch"))
    copy = changed(checkpoint, tmp_path / "act", pretrained_backbone_weights="ResNet18_Weights.IMAGENET1K_V1")
    (chunk,) = actions(open_checkpoint(str(copy)), [seen(0)])
    np.testing.assert_array_equal(chunk, actions(open_checkpoint(str(checkpoint)), [seen(0)])[0])


@pytest.mark.skipif(torch.cuda.is_available(), reason="needs a machine without that device")
def test_a_device_that_is_not_there_is_refused(checkpoint: Path) -> None:
    with pytest.raises(UserError, match="there is no device cuda here"):
        open_checkpoint(f"{checkpoint}?device=cuda").describe()


def test_a_checkpoint_without_processors_is_refused(checkpoint: Path, tmp_path: Path) -> None:
    copy = changed(checkpoint, tmp_path / "act")
    (copy / "policy_preprocessor.json").unlink()
    with pytest.raises(UserError, match=r"has no policy_preprocessor\.json: .*migrate_policy_normalization"):
        open_checkpoint(str(copy)).describe()


def test_a_type_that_lerobot_does_not_know_is_refused(checkpoint: Path, tmp_path: Path) -> None:
    copy = changed(checkpoint, tmp_path / "act", type="oracle")
    with pytest.raises(UserError, match=f"the checkpoint {copy} does not load: "):
        open_checkpoint(str(copy)).describe()


def test_a_policy_that_is_no_function_of_what_it_sees_is_refused(tmp_path: Path) -> None:
    TDMPCConfig(device="cpu", push_to_hub=False).save_pretrained(tmp_path)
    for name in ("policy_preprocessor.json", "policy_postprocessor.json"):
        (tmp_path / name).write_text("{}")
    with pytest.raises(UserError, match="is of type tdmpc: it plans from its own last plan"):
        open_checkpoint(str(tmp_path)).describe()


@pytest.mark.usefixtures("by_script")
def test_the_script_says_why_a_checkpoint_does_not_load(checkpoint: Path, tmp_path: Path) -> None:
    copy = changed(checkpoint, tmp_path / "act", dim_model=48)
    with pytest.raises(UserError, match=r"did not start:\n(.*\n)*.*size mismatch"):
        open_checkpoint(str(copy)).describe()


# On the command line.


def robodx(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [ROBODX, *arguments], capture_output=True, text=True, env={**os.environ, **environment}, timeout=300
    )


def test_from_a_draft_to_a_run(checkpoint: Path, tmp_path: Path) -> None:
    name, preset = f"lerobot:{checkpoint}", str(tmp_path / "my.toml")
    refused = robodx("run", TASK, "--policy", name)
    assert refused.returncode == 2 and f"robodx check {name} --write-preset my.toml drafts" in refused.stderr
    written = robodx("check", name, "--write-preset", preset)
    assert written.returncode == 0, written.stderr
    Path(preset).write_text(Path(preset).read_text().replace("hz = 20.0", "hz = 5.0"))
    checked = robodx("check", name, "--preset", preset, "--json")
    assert checked.returncode == 0, checked.stderr
    assert json.loads(checked.stdout)["nature"] == "deterministic"
    here, there = str(tmp_path / "here"), str(tmp_path / "there")
    run = ("run", TASK, "--policy", name, "--preset", preset, "--seeds", "2", "--out")
    for out, workers, environment in ((here, "1", {}), (there, "2", {lerobot.PYTHON: sys.executable})):
        done = robodx(*run, out, "--workers", workers, **environment)
        assert done.returncode == 0, done.stderr
        # The driver's, and no other.
        assert done.stderr.count("Starting a server") == len(environment)
    compared = robodx("diff", here, there)
    assert "2 trajectories are the same, 0 differ" in compared.stdout
