"""Demonstrations in RLDS: ours come back bit for bit, and sets of Open X are read as their files describe them."""

from __future__ import annotations

import json
import struct
import sys
import zlib
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import av
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from robodx.datasets.formats.base import FORMATS, UnreadableData, open_data, writable
from robodx.datasets.rlds import tf_examples, tfrecords, writing
from robodx.datasets.rlds.tf_examples import Values
from robodx.datasets.rlds.writing import write
from robodx.datasets.schema import Demonstration
from robodx.datasets.stills import from_bytes, to_png
from robodx.errors import UserError
from tests.sample_data import FEATURES, METADATA, assert_holds, demonstration, write_and_die

SHARD = "robodx-train.tfrecord-00000-of-00001"
# What TensorFlow 2.21 makes of {"b": [b"hi", b""], "f": [0.5, -2.0], "i": [0, 1, 300, -1], "n": nothing}.
TENSORFLOWS = bytes.fromhex(
    "0a420a0d0a016212080a060a0268690a000a110a0166120c120a0a080000003f000000c0"
    "0a170a016912121a100a0e0001ac02ffffffffffffffffff010a050a016e1200"
)


def crc32c(data: bytes) -> int:
    """Bit by bit, by its definition."""
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


def masked(data: bytes) -> int:
    crc = crc32c(data)
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) % 2**32


def records(path: Path) -> list[bytes]:
    """The file's, all checksums checked."""
    content, found = path.read_bytes(), []
    while content:
        (length,) = struct.unpack("<Q", content[:8])
        data = content[12 : 12 + length]
        assert struct.unpack("<I", content[8:12]) == (masked(content[:8]),)
        assert struct.unpack("<I", content[12 + length : 16 + length]) == (masked(data),)
        found.append(data)
        content = content[16 + length :]
    return found


@pytest.fixture
def ours(tmp_path: Path) -> Path:
    path = tmp_path / "ours"
    write(path, FEATURES, [demonstration(0), demonstration(1, steps=6)])
    return path


def test_ours_come_back_as_they_were(tmp_path: Path) -> None:
    wanted = [
        demonstration(0),
        demonstration(1, steps=5, says=["take it"] * 3 + ["put it — dort"] * 2, seed=-1, disturbance_m=0.1),
    ]
    write(tmp_path / "data", FEATURES, iter(wanted))
    assert_holds(open_data(str(tmp_path / "data")), wanted)
    assert "rlds" in writable()


def test_unknown_success_is_neither_written_nor_made_up(tmp_path: Path) -> None:
    wanted = [demonstration(0, is_success_known=False)]
    write(tmp_path / "data", FEATURES, wanted)
    data = open_data(str(tmp_path / "data"))
    assert_holds(data, wanted)
    assert data[0].is_solved is None
    example = tf_examples.decode(records(tmp_path / "data" / SHARD)[0])
    assert {"steps/success", "steps/reward", "steps/is_terminal"}.isdisjoint(example)


def test_files_and_records_are_as_tfds_has_them(ours: Path) -> None:
    assert sorted(path.name for path in ours.iterdir()) == [
        "dataset_info.json",
        "features.json",
        "metadata.json",
        SHARD,
    ]
    wanted = demonstration(1, steps=6)
    found = records(ours / SHARD)
    info = json.loads((ours / "dataset_info.json").read_text())
    assert info["splits"][0]["shardLengths"] == ["2"]
    assert info["splits"][0]["numBytes"] == str(sum(map(len, found)))
    example = {name: list(values) for name, values in tf_examples.decode(found[1]).items()}
    assert example["steps/action"] == wanted.action.ravel().tolist()
    assert example["steps/observation/state"] == np.hstack(list(wanted.state.values())).ravel().tolist()
    assert example["steps/language_instruction"] == [b"put the cup away"] * 6
    assert example["steps/is_first"] == [1, 0, 0, 0, 0, 0]
    assert example["steps/is_last"] == example["steps/is_terminal"] == [0, 0, 0, 0, 0, 1]
    assert example["steps/reward"] == example["steps/success"] == [0, 0, 0, 0, 1, 1]
    assert example["steps/discount"] == [1] * 6
    assert example["episode_metadata/task"] == [b"spatial/place_between"]
    assert example["episode_metadata/seed"] == [METADATA["seed"]]
    assert example["episode_metadata/disturbance_m"] == [struct.pack("<d", 0.006)]
    assert [bytes(picture)[:4] for picture in example["steps/observation/front"]] == [b"\x89PNG"] * 6


def test_the_same_demonstrations_give_the_same_bytes(ours: Path, tmp_path: Path) -> None:
    write(tmp_path / "again", FEATURES, [demonstration(0), demonstration(1, steps=6)])
    for path in ours.iterdir():
        assert (tmp_path / "again" / path.name).read_bytes() == path.read_bytes()


def test_many_demonstrations_fill_several_shards(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wanted = [demonstration(index) for index in range(5)]
    monkeypatch.setattr(writing, "SHARD_BYTES", 8000)
    write(tmp_path / "data", FEATURES, wanted)
    shards = sorted(path.name for path in tmp_path.glob("data/*tfrecord*"))
    assert 1 < len(shards) < 5
    assert shards[-1].endswith(f"-{len(shards) - 1:05d}-of-{len(shards):05d}")
    assert_holds(open_data(str(tmp_path / "data")), wanted)


def test_a_killed_write_leaves_no_data_set(tmp_path: Path) -> None:
    write_and_die("rlds", tmp_path / "data")
    assert [path.name for path in (tmp_path / "data").iterdir()] == ["00000.part"]
    with pytest.raises(UnreadableData, match="no data set of a known format"):
        open_data(str(tmp_path / "data"))
    with pytest.raises(UnreadableData, match=r"dataset_info\.json"):
        open_data(f"rlds:{tmp_path / 'data'}")


def test_a_failed_write_leaves_no_shards(tmp_path: Path) -> None:
    def some() -> Iterator[Demonstration]:
        yield demonstration(0)
        raise RuntimeError("the simulator")

    with pytest.raises(RuntimeError, match="the simulator"):
        write(tmp_path / "data", FEATURES, some())
    with pytest.raises(UserError, match="no demonstrations"):
        write(tmp_path / "data", FEATURES, [])
    assert list((tmp_path / "data").iterdir()) == []


def test_what_rlds_cannot_hold_is_refused(ours: Path, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="episode 1 differs from the first in steps/"):
        write(tmp_path / "a", FEATURES, [demonstration(0), demonstration(1, is_success_known=False)])
    with pytest.raises(UserError, match="episode 1 differs from the first in episode_metadata/note"):
        write(tmp_path / "b", FEATURES, [demonstration(0), demonstration(1, note="odd")])
    with pytest.raises(UserError, match=r"metadata plan = .* no place"):
        write(tmp_path / "c", FEATURES, [demonstration(0, plan=["a"])])
    with pytest.raises(UserError, match="holds a data set already"):
        write(ours, FEATURES, [demonstration(0)])


# --- sets of others ---


def leaf(kind: str, **content: Any) -> dict[str, Any]:
    names = {"tensor": "tensor_feature.Tensor", "image": "image_feature.Image", "text": "text_feature.Text"}
    if "shape" in content:
        content["shape"] = {"dimensions": [str(size) for size in content["shape"]]} if content["shape"] else {}
    return {"pythonClassName": f"tensorflow_datasets.core.features.{names[kind]}", kind: content}


def tensor(*shape: int, dtype: str = "float32", encoding: str = "none") -> dict[str, Any]:
    return leaf("tensor", shape=shape, dtype=dtype, encoding=encoding)


def together(**features: dict[str, Any]) -> dict[str, Any]:
    name = "tensorflow_datasets.core.features.features_dict.FeaturesDict"
    return {"pythonClassName": name, "featuresDict": {"features": features}}


def steps_of(feature: dict[str, Any], kind: str = "dataset_feature.Dataset") -> dict[str, Any]:
    sequence = {"feature": feature, "length": "-1"}
    return {"pythonClassName": f"tensorflow_datasets.core.features.{kind}", "sequence": sequence}


def jpeg(image: NDArray[np.uint8]) -> bytes:
    codec = av.CodecContext.create("mjpeg", "w")
    assert isinstance(codec, av.VideoCodecContext)
    codec.height, codec.width, _ = image.shape
    codec.pix_fmt, codec.time_base = "yuvj444p", Fraction(1, 1)
    frame = av.VideoFrame.from_ndarray(image, format="rgb24").reformat(format="yuvj444p")
    return b"".join(bytes(packet) for packet in [*codec.encode(frame), *codec.encode(None)])


GREY = np.full((6, 8, 3), 100, np.uint8)


def open_x(folder: Path, **changes: Values) -> Path:
    """Two episodes of two steps, features as those of RT-1's set, in the splits train and val."""
    steps = together(
        observation=together(
            image=leaf("image", shape=(6, 8, 3), dtype="uint8", encodingFormat="jpeg"),
            wrist=leaf("image", shape=(-1, -1, 3), dtype="uint8"),
            depth=leaf("image", shape=(6, 8, 1), dtype="uint16", encodingFormat="png"),
            natural_language_instruction=tensor(dtype="string"),
            natural_language_embedding=tensor(512),
            gripper_closed=tensor(1),
            height_to_bottom=tensor(dtype="float64", encoding="zlib"),
            orientation_box=tensor(2, 3),
        ),
        action=together(
            base_displacement_vector=tensor(2),
            gripper_closedness_action=tensor(1),
            rotation_delta=tensor(3),
            terminate_episode=tensor(3, dtype="int32"),
            world_vector=tensor(3),
            aux=tensor(1),
        ),
        path=steps_of(tensor(dtype="int32"), "sequence_feature.Sequence"),
        reward=tensor(),
        is_first=tensor(dtype="bool"),
        is_last=tensor(dtype="bool"),
        is_terminal=tensor(dtype="bool"),
    )
    described = together(
        steps=steps_of(steps), episode_metadata=together(file_path=leaf("text"), n=tensor(dtype="int32"))
    )
    folder.mkdir(exist_ok=True)
    (folder / "features.json").write_text(json.dumps(described))
    splits = [{"name": name, "numBytes": "1", "shardLengths": ["1"]} for name in ("train", "val")]
    info = {"name": "fractal", "version": "0.1.0", "fileFormat": "tfrecord", "splits": splits}
    (folder / "dataset_info.json").write_text(json.dumps(info))
    seen, acted = "steps/observation/", "steps/action/"
    example: dict[str, Values] = {
        seen + "image": [jpeg(GREY), jpeg(GREY)],
        seen + "wrist": [to_png(GREY[:4]), to_png(GREY[:4])],
        seen + "depth": [b"", b""],
        seen + "natural_language_instruction": [b"pick the can"] * 2,
        seen + "natural_language_embedding": np.zeros(1024, np.float32),
        seen + "gripper_closed": np.array([0, 1], np.float32),
        seen + "height_to_bottom": [zlib.compress(struct.pack("<d", height)) for height in (0.5, 0.25)],
        seen + "orientation_box": np.zeros(12, np.float32),
        acted + "base_displacement_vector": np.array([70, 71, 170, 171], np.float32),
        acted + "gripper_closedness_action": np.array([60, 160], np.float32),
        acted + "rotation_delta": np.array([30, 31, 32, 130, 131, 132], np.float32),
        acted + "terminate_episode": np.array([0, 1, 0, 1, 0, 0]),
        acted + "world_vector": np.array([0, 1, 2, 100, 101, 102], np.float32),
        acted + "aux": np.array([90, 190], np.float32),
        "steps/path/ragged_flat_values": np.array([1, 2, 3]),
        "steps/path/ragged_row_lengths_0": np.array([1, 2]),
        "steps/reward": np.array([0, 1], np.float32),
        "steps/is_first": np.array([1, 0]),
        "steps/is_last": np.array([0, 1]),
        "steps/is_terminal": np.array([0, 1]),
        "episode_metadata/file_path": [b"a/b.pkl"],
        "episode_metadata/n": np.array([-7]),
    }
    for split in ("train", "val"):
        data = tf_examples.encode(example | {name.replace("__", "/"): values for name, values in changes.items()})
        length = struct.pack("<Q", len(data))
        framed = length + struct.pack("<I", masked(length)) + data + struct.pack("<I", masked(data))
        (folder / f"fractal-{split}.tfrecord-00000-of-00001").write_bytes(framed)
    return folder


def test_sets_of_open_x_are_read_as_they_describe_themselves(tmp_path: Path) -> None:
    data = open_data(str(open_x(tmp_path / "set")))
    assert data.features.cameras == {"image": (6, 8), "wrist": (4, 8)}
    assert data.features.state == {"gripper_closed": ("gripper_closed_0",), "height_to_bottom": ("height_to_bottom_0",)}
    assert (data.features.hz, data.features.robot) == (None, "unknown")
    about = data.features.about
    assert (about["name"], about["version"]) == ("fractal", "0.1.0")
    assert about["missing"] == ["hz", "success"]
    assert about["ignored"] == [
        "steps/action/terminate_episode",
        "steps/observation/depth",
        "steps/observation/natural_language_embedding",
        "steps/observation/orientation_box",
        "steps/path",
        "steps/reward",
    ]
    assert len(data) == 2
    last = data[1]
    assert last.instructions == ("pick the can",) * 2
    assert last.state["height_to_bottom"].tolist() == [[0.5], [0.25]]
    assert last.metadata == {"file_path": "a/b.pkl", "n": -7, "split": "val"}
    assert last.success is None
    assert np.abs(last.images["image"].read([1]).astype(int) - 100).max() <= 1
    np.testing.assert_array_equal(last.images["wrist"].all(), [GREY[:4], GREY[:4]])


def test_parts_of_an_action_come_in_the_declared_order(tmp_path: Path) -> None:
    data = open_data(str(open_x(tmp_path / "set")))
    assert data.features.about["action_parts"] == [
        "world_vector",
        "rotation_delta",
        "gripper_closedness_action",
        "base_displacement_vector",
        "aux",
    ]
    assert data.features.action[0] == "world_vector_0"
    assert data.features.action[-1] == "aux_0"
    assert data[0].action.tolist() == [
        [0, 1, 2, 30, 31, 32, 60, 70, 71, 90],
        [100, 101, 102, 130, 131, 132, 160, 170, 171, 190],
    ]


# --- damage ---


def test_a_damaged_shard_is_refused_by_its_name(ours: Path) -> None:
    shard = ours / SHARD
    whole = shard.read_bytes()
    in_the_middle = bytearray(whole)
    in_the_middle[len(whole) // 2] ^= 1
    for content in (whole[:-3], whole[:5], b"", bytes(in_the_middle), b"x" + whole[1:], whole + whole[:9], whole * 2):
        shard.write_bytes(content)
        data = open_data(str(ours))
        with pytest.raises(UnreadableData, match=SHARD):
            _ = [data[index] for index in range(len(data))]
    shard.unlink()
    with pytest.raises(UnreadableData, match=f"{SHARD} is missing"):
        open_data(str(ours))


@pytest.mark.parametrize("name", ["dataset_info.json", "features.json"])
@pytest.mark.parametrize("content", ["{", "[]", "{}", '{"featuresDict": {}, "splits": [{}], "name": "x"}'])
def test_a_broken_description_is_refused_by_its_name(name: str, content: str, ours: Path) -> None:
    (ours / name).write_text(content)
    with pytest.raises(UnreadableData, match=name):
        open_data(str(ours))


def test_a_description_without_what_ours_speaks_of_is_refused(ours: Path) -> None:
    text = (ours / "features.json").read_text()
    (ours / "features.json").write_text(text.replace('"state"', '"stale"'))
    with pytest.raises(UnreadableData, match=r"features\.json has no steps/observation/state"):
        open_data(str(ours))


@pytest.mark.parametrize(
    "changes",
    [
        {"steps__observation__gripper_closed": np.zeros(3, np.float32)},
        {"steps__action__world_vector": np.zeros(7, np.float32)},
        {"steps__observation__natural_language_instruction": [b"pick"]},
        {"steps__observation__image": [jpeg(GREY)]},
        {"steps__observation__height_to_bottom": [b"no zlib", b""]},
        {"episode_metadata__n": np.empty(0, np.int64)},
    ],
)
def test_an_episode_that_is_not_as_described_is_refused(changes: dict[str, Values], tmp_path: Path) -> None:
    data = open_data(str(open_x(tmp_path / "set", **changes)))
    with pytest.raises(UnreadableData, match=r"fractal-train\.tfrecord-00000-of-00001"):
        data[0]


@pytest.mark.parametrize("picture", [b"", b"GIF", b"\x89PNG and nothing", to_png(GREY[:3])])
def test_a_picture_that_is_none_or_of_another_size_is_refused(picture: bytes, tmp_path: Path) -> None:
    data = open_data(str(open_x(tmp_path / "set", steps__observation__image=[jpeg(GREY), picture])))
    assert data[0].images["image"].read([0]).shape == (1, 6, 8, 3)
    with pytest.raises(UnreadableData, match="fractal-train"):
        data[0].images["image"].read([1])


def test_without_crc32c_it_says_what_to_install(ours: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data = FORMATS["rlds"].read(ours)
    monkeypatch.setitem(sys.modules, "google_crc32c", None)
    with pytest.raises(UserError, match=r"google_crc32c.*pip install 'robodx\[data\]'"):
        data[0]
    with pytest.raises(UserError, match=r"pip install 'robodx\[data\]'"):
        write(tmp_path / "new", FEATURES, [demonstration(0)])


# --- the parts ---


def test_messages_are_tensorflows_bytes() -> None:
    example: dict[str, Values] = {
        "i": np.array([0, 1, 300, -1]),
        "f": np.array([0.5, -2], np.float32),
        "b": [b"hi", b""],
    }
    assert tf_examples.encode(example) == TENSORFLOWS.replace(bytes.fromhex("0a050a016e1200"), b"").replace(
        b"\x0a\x42", b"\x0a\x3b", 1
    )
    found = {name: list(values) for name, values in tf_examples.decode(TENSORFLOWS).items()}
    assert found == {"b": [b"hi", b""], "f": [0.5, -2.0], "i": [0, 1, 300, -1], "n": []}


def test_numbers_that_are_not_packed_are_read_too() -> None:
    floats = bytes.fromhex("12 0a 0d 0000003f 0d 000000c0")
    integers = bytes.fromhex("1a 0d 08 05 08 ffffffffffffffffff01")
    for feature, wanted in ((floats, [0.5, -2.0]), (integers, [5, -1])):
        entry = b"\x0a\x01x\x12" + bytes([len(feature)]) + feature
        message = b"\x0a" + bytes([len(entry)]) + entry
        found = tf_examples.decode(b"\x0a" + bytes([len(message)]) + message)
        assert list(found["x"]) == wanted


@settings(max_examples=30)
@given(
    st.dictionaries(
        st.text(max_size=3),
        st.one_of(
            st.lists(st.binary(max_size=200), max_size=3),
            st.lists(st.integers(-(2**63), 2**63 - 1), max_size=9).map(lambda values: np.array(values, np.int64)),
            st.lists(st.floats(width=32, allow_nan=False), max_size=9).map(lambda values: np.array(values, np.float32)),
        ),
        max_size=3,
    )
)
def test_messages_come_back_as_they_were(example: dict[str, Values]) -> None:
    found = tf_examples.decode(tf_examples.encode(example))
    assert {name: list(values) for name, values in found.items()} == {
        name: list(values) for name, values in example.items()
    }


def test_a_message_that_ends_early_is_refused() -> None:
    for end in range(1, len(TENSORFLOWS)):
        with pytest.raises(ValueError):
            tf_examples.decode(TENSORFLOWS[:end])


def test_checksums_are_those_of_the_definition() -> None:
    assert crc32c(b"123456789") == 0xE3069283  # the value that the definition gives for checking
    for data in (b"", b"123456789", bytes(range(256))):
        assert tfrecords.checksum(data) == masked(data)


def test_pictures_in_png_lose_nothing() -> None:
    image = np.random.default_rng(0).integers(0, 256, (7, 13, 3), dtype=np.uint8)
    np.testing.assert_array_equal(from_bytes(to_png(image)), image)
    np.testing.assert_array_equal(from_bytes(to_png(image[:, ::-1])), image[:, ::-1])
