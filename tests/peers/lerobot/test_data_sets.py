"""LeRobot's own code reads the data sets that RoboDx writes, converts them, and trains a policy on them."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from lerobot.datasets import lerobot_dataset
from lerobot.datasets.aggregate import aggregate_datasets
from lerobot.datasets.compute_stats import aggregate_stats, get_feature_stats
from lerobot.datasets.lerobot_dataset import LeRobotDataset
from lerobot.datasets.v30.convert_dataset_v21_to_v30 import convert_dataset

from robodx.datasets.formats.base import FORMATS, open_data
from robodx.datasets.schema import DataSet, Demonstration, Features, Images, InMemory, Pictures
from robodx.policy_contract import make_policy
from robodx.records.trial import Trial
from robodx.robots.panda import PANDA
from robodx.running.rollout import rollout
from robodx.wires.drafting import draft
from robodx.wires.remote import RemotePolicy

SIZE = 64
HOME = np.array([*PANDA.arm.home, 0.5], np.float32)
CAMERAS = ("front", "wrist")
# The other decoder needs FFmpeg's libraries on the machine.
DECODER = "pyav"
SOURCE = "someone/some"


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What Hugging Face keeps of tables that it has read."""
    monkeypatch.setattr("datasets.config.HF_DATASETS_CACHE", tmp_path / "cache")
    monkeypatch.setenv("HF_DATASETS_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")


def pictures(count: int, tint: int) -> Images:
    """Smooth, and another each: a picture of another step or episode is far away."""
    y, x = np.mgrid[:SIZE, :SIZE]
    moved = [np.stack([x * 2 + 9 * step, y * 2, np.full_like(x, tint + 5 * step)], axis=-1) for step in range(count)]
    images: Images = np.clip(np.stack(moved), 0, 255).astype(np.uint8)
    return images


def episode(number: int, steps: int) -> Demonstration:
    rng = np.random.default_rng(number)
    state = HOME + rng.normal(0, 0.1, (steps, len(HOME)))
    half = steps // 2
    return Demonstration(
        (*["lift the red cube"] * half, *[f"no, the other one {number % 2}"] * (steps - half)),
        {name: Pictures.of(pictures(steps, 40 * (2 * number + place))) for place, name in enumerate(CAMERAS)},
        {"joint_positions": state[:, :7].astype(np.float32), "gripper_opening": state[:, 7:].astype(np.float32)},
        (HOME + rng.normal(0, 0.1, (steps, len(HOME)))).astype(np.float32),
        np.arange(steps) >= steps - 2,
        {"task": "control/stack_cube", "seed": 1_000_000 + number, "weight": 0.5, "is_teleoperated": False},
    )


@pytest.fixture(scope="module")
def made() -> DataSet:
    joints = tuple(f"joint{number}" for number in range(1, 8))
    features = Features(
        20.0,
        {name: (SIZE, SIZE) for name in CAMERAS},
        {"joint_positions": joints, "gripper_opening": ("gripper",)},
        (*joints, "gripper"),
        "panda",
        {"space": "joint"},
    )
    return InMemory(features, [episode(number, steps) for number, steps in enumerate((9, 14, 5))])


def written(name: str, made: DataSet, folder: Path) -> Path:
    write = FORMATS[name].write
    assert write is not None
    folder.mkdir(parents=True)
    write(folder, made.features, (made[index] for index in range(len(made))))
    return folder


def loaded(folder: Path, **options: Any) -> LeRobotDataset:
    return LeRobotDataset(SOURCE, root=folder, video_backend=DECODER, **options)


def assert_same(found: LeRobotDataset, made: DataSet) -> None:
    assert found.num_episodes == len(made)
    assert found.num_frames == sum(len(made[index]) for index in range(len(made)))
    row = 0
    for number in range(len(made)):
        wanted = made[number]
        images = {name: wanted.images[name].all() for name in CAMERAS}
        for step in range(len(wanted)):
            item = found[row]
            assert (item["episode_index"].item(), item["frame_index"].item(), item["index"].item()) == (
                number,
                step,
                row,
            )
            assert item["timestamp"].item() == pytest.approx(step / 20)
            assert item["task"] == wanted.instructions[step]
            assert wanted.success is not None and bool(item["next.success"]) == wanted.success[step]
            state = np.concatenate([wanted.state["joint_positions"][step], wanted.state["gripper_opening"][step]])
            np.testing.assert_array_equal(item["observation.state"].numpy(), state)
            np.testing.assert_array_equal(item["action"].numpy(), wanted.action[step])
            for name in CAMERAS:
                seen = item[f"observation.images.{name}"].numpy().transpose(1, 2, 0) * 255
                assert np.abs(seen - images[name][step]).mean() < 3
            row += 1


def test_lerobot_reads_what_was_written(made: DataSet, tmp_path: Path) -> None:
    found = loaded(written("lerobot", made, tmp_path / "data"))
    assert_same(found, made)
    assert found.meta.robot_type == "panda" and found.fps == 20
    assert list(found.meta.tasks.index) == ["lift the red cube", "no, the other one 0", "no, the other one 1"]
    assert found.meta.get_task_index("no, the other one 1") == 2
    assert found.meta.episodes[1]["seed"] == 1_000_001
    assert found.meta.episodes[1]["tasks"] == ["lift the red cube", "no, the other one 1"]


def test_lerobot_cuts_chunks_at_the_ends_of_episodes(made: DataSet, tmp_path: Path) -> None:
    deltas = {"action": [step / 20 for step in range(4)], "observation.images.front": [-0.05, 0.0]}
    found = loaded(written("lerobot", made, tmp_path / "data"), delta_timestamps=deltas)
    item = found[9]
    np.testing.assert_array_equal(item["action"].numpy(), made[1].action[:4])
    # Before the first step there is only the first.
    assert item["observation.images.front_is_pad"].tolist() == [True, False]
    front = made[1].images["front"].all()
    for seen in item["observation.images.front"].numpy():
        assert np.abs(seen.transpose(1, 2, 0) * 255 - front[0]).mean() < 3
    item = found[9 + 14 - 2]
    assert item["action_is_pad"].tolist() == [False, False, True, True]
    np.testing.assert_array_equal(item["action"].numpy()[:2], made[1].action[-2:])
    np.testing.assert_array_equal(item["action"].numpy()[2:], made[1].action[[-1, -1]])


def test_lerobot_reads_some_episodes_only(made: DataSet, tmp_path: Path) -> None:
    found = loaded(written("lerobot", made, tmp_path / "data"), episodes=[2])
    assert len(found) == 5
    np.testing.assert_array_equal(found[0]["action"].numpy(), made[2].action[0])
    seen = found[3]["observation.images.wrist"].numpy().transpose(1, 2, 0) * 255
    assert np.abs(seen - made[2].images["wrist"].all()[3]).mean() < 3


def test_the_statistics_are_lerobot_s_own(made: DataSet, tmp_path: Path) -> None:
    found = loaded(written("lerobot", made, tmp_path / "data")).meta.stats
    table = pl.read_parquet(tmp_path / "data" / "meta" / "episodes" / "chunk-000" / "file-000.parquet")
    theirs = []
    for number in range(len(made)):
        # As LeRobot computes them of an episode that it records.
        here = get_feature_stats(made[number].action, axis=0, keepdims=False)
        theirs.append({"action": here})
        for name, value in here.items():
            # In single precision, and its quantiles are read off a histogram.
            atol = 0.1 if name.startswith("q") else 1e-4
            np.testing.assert_allclose(table[f"stats/action/{name}"][number].to_list(), value, atol=atol)
    for name, value in aggregate_stats(theirs)["action"].items():
        if not name.startswith("q"):
            np.testing.assert_allclose(found["action"][name], value, atol=1e-4)
    front = np.concatenate([made[number].images["front"].all() for number in range(len(made))]) / 255
    stats = found["observation.images.front"]
    np.testing.assert_allclose(stats["mean"], front.mean(axis=(0, 1, 2))[:, None, None], atol=1e-6)
    np.testing.assert_allclose(stats["std"], front.std(axis=(0, 1, 2))[:, None, None], atol=1e-6)
    np.testing.assert_allclose(stats["q90"][0, 0, 0], np.quantile(front[..., 0], 0.9), atol=1 / 255)
    assert stats["count"].tolist() == [28]


def test_lerobot_converts_the_older_format(made: DataSet, tmp_path: Path) -> None:
    written("lerobot-v2.1", made, tmp_path / "someone" / "old")
    convert_dataset("someone/old", root=tmp_path, push_to_hub=False)
    converted = tmp_path / "someone" / "old"
    assert (tmp_path / "someone" / "old_old" / "meta" / "modality.json").is_file()
    assert_same(loaded(converted), made)
    # And what LeRobot has made of it is read here, with the names that it does not know.
    again = open_data(str(converted))
    assert again.features == made.features
    for number in range(len(made)):
        for name in ("joint_positions", "gripper_opening"):
            np.testing.assert_array_equal(again[number].state[name], made[number].state[name])
        assert again[number].instructions == made[number].instructions
        assert again[number].metadata == made[number].metadata
        seen = again[number].images["front"].all().astype(int)
        assert np.abs(seen - made[number].images["front"].all()).mean() < 3


def test_lerobot_joins_two_of_them(made: DataSet, tmp_path: Path) -> None:
    roots = [written("lerobot", made, tmp_path / name) for name in ("one", "two")]
    aggregate_datasets(["someone/one", "someone/two"], "someone/both", roots=roots, aggr_root=tmp_path / "both")
    assert_same(loaded(tmp_path / "both"), InMemory(made.features, [made[index % 3] for index in range(6)]))


def test_what_lerobot_records_is_read(tmp_path: Path) -> None:
    features = {
        "observation.images.top": {
            "dtype": "video",
            "shape": (SIZE, SIZE, 3),
            "names": ["height", "width", "channels"],
        },
        "observation.images.side": {
            "dtype": "image",
            "shape": (SIZE, SIZE, 3),
            "names": ["height", "width", "channels"],
        },
        "observation.state": {"dtype": "float32", "shape": (2,), "names": ["x", "y"]},
        "action": {"dtype": "float32", "shape": (2,), "names": ["x", "y"]},
    }
    recorded = LeRobotDataset.create(SOURCE, 10, features, root=tmp_path / "data", vcodec="h264")
    for number, steps in enumerate((7, 4)):
        for step, image in enumerate(pictures(steps, 100 * number)):
            numbers = np.array([number, step], np.float32)
            frame = {"observation.images.top": image, "observation.images.side": image, "task": f"task {number}"}
            recorded.add_frame({**frame, "observation.state": numbers, "action": -numbers})
        recorded.save_episode(parallel_encoding=False)
    recorded.finalize()
    found = open_data(str(tmp_path / "data"))
    assert found.features.state == {"state": ("x", "y")} and found.features.hz == 10
    assert found.features.about == {"missing": ["success"]}
    for number, steps in enumerate((7, 4)):
        here = found[number]
        assert here.instructions == (f"task {number}",) * steps
        np.testing.assert_array_equal(here.state["state"], [[number, step] for step in range(steps)])
        np.testing.assert_array_equal(here.action, [[-number, -step] for step in range(steps)])
        np.testing.assert_array_equal(here.images["side"].all(), pictures(steps, 100 * number))
        assert np.abs(here.images["top"].all().astype(int) - pictures(steps, 100 * number)).mean() < 6


def test_act_trains_on_it_and_comes_back_as_a_policy(made: DataSet, tmp_path: Path) -> None:
    folder, out = written("lerobot", made, tmp_path / "data"), tmp_path / "act"
    options = {
        "dataset.repo_id": SOURCE,
        "dataset.root": folder,
        "dataset.video_backend": DECODER,
        "policy.type": "act",
        "policy.device": "cpu",
        "policy.push_to_hub": "false",
        "policy.chunk_size": 8,
        "policy.n_action_steps": 8,
        # Nothing is downloaded, and little computed.
        "policy.pretrained_backbone_weights": "null",
        "policy.dim_model": 32,
        "policy.n_heads": 2,
        "policy.dim_feedforward": 64,
        "policy.n_encoder_layers": 1,
        "policy.n_vae_encoder_layers": 1,
        "policy.latent_dim": 8,
        "output_dir": out,
        "batch_size": 4,
        "num_workers": 0,
        "steps": 5,
        "log_freq": 1,
    }
    train = Path(sys.executable).with_name("lerobot-train")
    done = subprocess.run(
        [train, *(f"--{name}={value}" for name, value in options.items())],
        capture_output=True,
        text=True,
        env={**os.environ, "CUDA_VISIBLE_DEVICES": ""},
        timeout=600,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    checkpoint = out / "checkpoints" / "last" / "pretrained_model"
    preset = tmp_path / "act.toml"
    draft(f"lerobot:{checkpoint}", None, preset)
    preset.write_text(preset.read_text().replace("hz = 20.0", "hz = 5.0"))
    policy = make_policy(f"lerobot:{checkpoint}", str(preset))
    assert isinstance(policy, RemotePolicy)
    try:
        (finished,) = rollout([Trial("control/stack_cube", 2, "lerobot", 0)], policy)
    finally:
        policy.close()
    assert finished.episode.error is None


def test_the_version_is_the_one_that_lerobot_wants(made: DataSet, tmp_path: Path) -> None:
    folder = written("lerobot", made, tmp_path / "data")
    assert f'"codebase_version": "{lerobot_dataset.CODEBASE_VERSION}"' in (folder / "meta" / "info.json").read_text()
