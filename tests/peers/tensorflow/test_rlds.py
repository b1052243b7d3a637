"""TensorFlow Datasets loads the RLDS that RoboDx writes, and RoboDx reads what TensorFlow Datasets writes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
import tensorflow_datasets as tfds

from robodx.datasets.formats.base import open_data
from robodx.datasets.rlds.writing import write
from robodx.datasets.schema import Demonstration, Features, Pictures

FEATURES = Features(
    hz=20.0,
    cameras={"front": (48, 64), "wrist": (32, 32)},
    state={"joint_positions": ("shoulder", "elbow"), "gripper_opening": ("gripper",)},
    action=("dx", "dy", "gripper"),
    robot="panda",
    about={"frame": "base"},
)


def smooth(rng: np.random.Generator, height: int, width: int) -> np.ndarray:
    """A picture that JPEG hardly changes."""
    rows, columns = np.mgrid[:height, :width]
    return np.stack([rows, columns, rows + columns], axis=-1).astype(np.uint8) + rng.integers(0, 99, dtype=np.uint8)


def demonstration(number: int, *, is_success_known: bool) -> Demonstration:
    rng = np.random.default_rng(number)
    steps = 3 + number
    return Demonstration(
        instructions=("take it",) * (steps - 1) + ("put it — dort",),
        images={
            camera: Pictures.of(rng.integers(0, 256, (steps, *size, 3), dtype=np.uint8))
            for camera, size in FEATURES.cameras.items()
        },
        state={name: rng.normal(size=(steps, len(it))).astype(np.float32) for name, it in FEATURES.state.items()},
        action=rng.normal(size=(steps, 3)).astype(np.float32),
        success=np.arange(steps) == steps - 1 if is_success_known else None,
        metadata={"task": "spatial/place", "seed": -number, "disturbance_m": 0.006, "is_teleoperated": False},
    )


@pytest.mark.parametrize("is_success_known", [True, False])
def test_tfds_loads_ours(is_success_known: bool, tmp_path: Path) -> None:
    wanted = [demonstration(number, is_success_known=is_success_known) for number in range(3)]
    write(tmp_path / "ours", FEATURES, wanted)
    builder = tfds.builder_from_directory(tmp_path / "ours")
    assert builder.info.metadata["robodx"]["hz"] == 20.0
    assert builder.info.splits["train"].num_examples == 3
    episodes = list(builder.as_dataset(split="train", shuffle_files=False))
    assert len(episodes) == 3
    for episode, each in zip(episodes, wanted, strict=True):
        found = {key: value.numpy() for key, value in episode["episode_metadata"].items()}
        assert found == {**each.metadata, "task": b"spatial/place"}
        steps = list(episode["steps"].as_numpy_iterator())
        assert [step["language_instruction"].decode() for step in steps] == list(each.instructions)
        np.testing.assert_array_equal([step["action"] for step in steps], each.action)
        state = np.hstack([each.state[name] for name in FEATURES.state])
        np.testing.assert_array_equal([step["observation"]["state"] for step in steps], state)
        for camera, pictures in each.images.items():
            np.testing.assert_array_equal([step["observation"][camera] for step in steps], pictures.all())
        assert [step["is_last"] for step in steps] == [False] * (len(each) - 1) + [True]
        if is_success_known:
            np.testing.assert_array_equal([step["success"] for step in steps], each.success)
            np.testing.assert_array_equal([step["reward"] for step in steps], each.success)
        else:
            assert {"success", "reward", "is_terminal"}.isdisjoint(steps[0])


def test_tensorflow_reads_our_records_and_messages(tmp_path: Path) -> None:
    wanted = demonstration(0, is_success_known=True)
    write(tmp_path / "ours", FEATURES, [wanted])
    (record,) = tf.data.TFRecordDataset(str(tmp_path / "ours" / "robodx-train.tfrecord-00000-of-00001"))
    example = tf.train.Example.FromString(record.numpy())
    # The same bytes as TensorFlow's own.
    assert example.SerializeToString(deterministic=True) == record.numpy()
    assert list(example.features.feature["steps/action"].float_list.value) == wanted.action.ravel().tolist()
    png = example.features.feature["steps/observation/front"].bytes_list.value[1]
    np.testing.assert_array_equal(tf.io.decode_png(png).numpy(), wanted.images["front"].read([1])[0])


class TheirSet(tfds.core.GeneratorBasedBuilder):  # type: ignore[misc]  # which has no types
    """As sets of Open X are made."""

    VERSION = tfds.core.Version("1.0.0")

    def _info(self) -> tfds.core.DatasetInfo:
        scalar, tensor, image = tfds.features.Scalar, tfds.features.Tensor, tfds.features.Image
        observation = {
            "image": image(shape=(48, 64, 3), dtype=np.uint8, encoding_format="jpeg"),
            "wrist_image": image(shape=(None, None, 3), dtype=np.uint8, encoding_format="png"),
            "depth": image(shape=(None, None, 1), dtype=np.float32, encoding_format="png"),
            "state": tensor(shape=(3,), dtype=np.float64, encoding="zlib"),
            "natural_language_instruction": tfds.features.Text(),
        }
        action = {
            "rotation_delta": tensor(shape=(3,), dtype=np.float32),
            "world_vector": tensor(shape=(3,), dtype=np.float32),
            "open_gripper": scalar(dtype=np.bool_),
        }
        steps = {"observation": observation, "action": action, "reward": scalar(dtype=np.float32)}
        steps |= {"flags": tfds.features.Sequence(np.int32), "is_last": scalar(dtype=np.bool_)}
        metadata = {"file_path": tfds.features.Text(), "success": scalar(dtype=np.bool_)}
        features = {"steps": tfds.features.Dataset(steps), "episode_metadata": metadata}
        return tfds.core.DatasetInfo(builder=self, features=tfds.features.FeaturesDict(features))

    def _split_generators(self, _: Any) -> dict[str, Iterator[tuple[int, dict[str, Any]]]]:
        return {"train": self._generate_examples(), "val": self._generate_examples()}

    def _generate_examples(self) -> Iterator[tuple[int, dict[str, Any]]]:
        for number in range(2):
            yield number, {"steps": their_steps(), "episode_metadata": {"file_path": "a.pkl", "success": True}}


def their_steps() -> list[dict[str, Any]]:
    rng = np.random.default_rng(0)
    return [
        {
            "observation": {
                "image": smooth(rng, 48, 64),
                "wrist_image": rng.integers(0, 256, (20, 30, 3), dtype=np.uint8),
                "depth": rng.random((4, 4, 1)).astype(np.float32),
                "state": rng.normal(size=3),
                "natural_language_instruction": "pick it up",
            },
            "action": {
                "rotation_delta": rng.normal(size=3).astype(np.float32),
                "world_vector": rng.normal(size=3).astype(np.float32),
                "open_gripper": index % 2 == 0,
            },
            "reward": float(index == 3),
            "flags": list(range(index)),
            "is_last": index == 3,
        }
        for index in range(4)
    ]


def test_we_read_what_tfds_writes(tmp_path: Path) -> None:
    TheirSet(data_dir=tmp_path).download_and_prepare()
    data = open_data(str(tmp_path / "their_set" / "1.0.0"))
    assert data.features.cameras == {"image": (48, 64), "wrist_image": (20, 30)}
    assert data.features.about["ignored"] == ["steps/flags", "steps/observation/depth", "steps/reward"]
    assert data.features.about["action_parts"] == ["world_vector", "rotation_delta", "open_gripper"]
    assert len(data) == 4
    episode, wanted = data[3], their_steps()
    assert episode.metadata == {"file_path": "a.pkl", "success": True, "split": "val"}
    assert episode.success is None
    assert episode.instruction == "pick it up"
    state = np.array([step["observation"]["state"] for step in wanted], dtype=np.float32)
    np.testing.assert_array_equal(episode.state["state"], state)
    parts = [[*step["action"]["world_vector"], *step["action"]["rotation_delta"]] for step in wanted]
    np.testing.assert_array_equal(episode.action[:, :6], parts)
    assert episode.action[:, 6].tolist() == [1, 0, 1, 0]
    wrist = np.array([step["observation"]["wrist_image"] for step in wanted])
    np.testing.assert_array_equal(episode.images["wrist_image"].all(), wrist)
    image = np.array([step["observation"]["image"] for step in wanted]).astype(int)
    assert np.abs(episode.images["image"].all() - image).mean() < 2
