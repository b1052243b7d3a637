"""LeRobot data sets: what is written is read again, files are as LeRobot specifies, those of others are read."""

from __future__ import annotations

import json
import shutil
import weakref
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import av
import numpy as np
import polars as pl
import pytest
from av.video.stream import VideoStream
from numpy.typing import NDArray

from robodx.datasets import videos
from robodx.datasets.formats import lerobot
from robodx.datasets.formats.base import FORMATS, UnreadableData, episodes, open_data
from robodx.datasets.lerobot import growing
from robodx.datasets.schema import DataSet, Demonstration, Features, Images, InMemory, Pictures, Video
from robodx.errors import UserError

BOTH = ("lerobot", "lerobot-v2.1")
FEATURES = Features(
    20.0,
    {"front": (32, 32), "wrist": (32, 48)},
    {"joint_positions": ("joint1", "joint2"), "gripper_opening": ("gripper",)},
    ("joint1", "joint2", "gripper"),
    "panda",
    {"space": "joint", "units": {"joint1": "rad"}},
)


def moving(steps: int, tint: int, height: int = 32, width: int = 32) -> Images:
    """Smooth, and another each: a picture of another step or episode is far away."""
    y, x = np.mgrid[:height, :width]
    images = [np.stack([x * 3 + 11 * step, y * 4, np.full_like(x, tint + 6 * step)], -1) for step in range(steps)]
    found: Images = np.clip(np.stack(images), 0, 255).astype(np.uint8)
    return found


def episode(number: int, steps: int, features: Features = FEATURES, **metadata: Any) -> Demonstration:
    rng = np.random.default_rng(number)
    half = steps // 2
    return Demonstration(
        (*["lift the cube"] * half, *[f"no, the {('red', 'blue')[number % 2]} one"] * (steps - half)),
        {
            name: Pictures.of(moving(steps, 60 * number + 20 * place, *size))
            for place, (name, size) in enumerate(features.cameras.items())
        },
        {name: rng.normal(size=(steps, len(names))).astype(np.float32) for name, names in features.state.items()},
        rng.normal(size=(steps, len(features.action))).astype(np.float32),
        np.arange(steps) >= steps - 2,
        {"task": f"control/stack_{number}", "seed": 1_000_000 + number, "is_teleoperated": number == 1, **metadata},
    )


MADE = InMemory(FEATURES, [episode(0, 5), episode(1, 12, speed=0.5), episode(2, 7, speed=2, length="a word")])


def written(name: str, folder: Path, made: DataSet = MADE) -> Path:
    write = FORMATS[name].write
    assert write is not None
    folder.mkdir(parents=True)
    write(folder, made.features, episodes(made))
    return folder


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Once: those who change it take a copy."""
    return {name: written(name, tmp_path_factory.mktemp("stored") / name) for name in BOTH}


def copied(folder: Path, to: Path) -> Path:
    return Path(shutil.copytree(folder, to / "data"))


def assert_same(found: DataSet, made: DataSet = MADE, *, apart: float = 3.0) -> None:
    """Pictures but for what the codec loses."""
    assert len(found) == len(made)
    for here, wanted in zip(episodes(found), episodes(made), strict=True):
        assert here.instructions == wanted.instructions
        assert here.metadata == wanted.metadata
        np.testing.assert_array_equal(here.action, wanted.action)
        np.testing.assert_array_equal(here.success, wanted.success)
        assert list(here.state) == list(wanted.state) and list(here.images) == list(wanted.images)
        for name, values in wanted.state.items():
            np.testing.assert_array_equal(here.state[name], values)
            assert here.state[name].dtype == np.float32
        for name, pictures in wanted.images.items():
            assert np.abs(here.images[name].all().astype(int) - pictures.all()).mean() <= apart


def tables(folder: Path) -> dict[str, bytes]:
    return {
        str(file.relative_to(folder)): file.read_bytes()
        for file in sorted(folder.rglob("*"))
        if file.suffix in (".json", ".jsonl", ".parquet")
    }


def changed(file: Path, **fields: Any) -> None:
    file.write_text(json.dumps({**json.loads(file.read_text()), **fields}))


# What is written here.


@pytest.mark.parametrize("name", BOTH)
def test_what_is_written_is_read_again(name: str, stored: dict[str, Path]) -> None:
    found = open_data(str(stored[name]))
    assert found.features == FEATURES
    assert_same(found)


@pytest.mark.parametrize("name", BOTH)
@pytest.mark.parametrize(
    "features",
    [
        replace(FEATURES, state={}),
        replace(FEATURES, state={"state": ("x",)}, action=("speed",)),
        replace(FEATURES, cameras={}),
        replace(FEATURES, hz=12.5, robot="arm"),
    ],
)
def test_what_is_unusual_is_read_again(name: str, features: Features, tmp_path: Path) -> None:
    made = InMemory(features, [episode(0, 4, features), episode(1, 3, features)])
    found = open_data(str(written(name, tmp_path / "data", made)))
    assert found.features == features
    assert_same(found, made)


@pytest.mark.parametrize("name", BOTH)
def test_the_same_episodes_give_the_same_bytes(name: str, stored: dict[str, Path], tmp_path: Path) -> None:
    one, two = tables(stored[name]), tables(written(name, tmp_path / "data"))
    assert len(one) >= 5 and one == two


@pytest.mark.parametrize("name", BOTH)
def test_no_more_than_an_episode_is_kept_while_writing(name: str, tmp_path: Path) -> None:
    alive: set[int] = set()
    most = []

    def given() -> Iterator[Demonstration]:
        for number in range(5):
            made = episode(number, 4)
            alive.add(number)
            weakref.finalize(made, alive.discard, number)
            most.append(len(alive))
            yield made
            del made

    write = FORMATS[name].write
    assert write is not None
    write(tmp_path, FEATURES, given())
    # The writer still has the one before while the next is made.
    assert max(most) <= 2


@pytest.mark.parametrize("name", BOTH)
def test_an_interrupted_one_is_no_data_set(name: str, tmp_path: Path) -> None:
    def given() -> Iterator[Demonstration]:
        yield MADE[0]
        raise KeyboardInterrupt

    write = FORMATS[name].write
    assert write is not None
    with pytest.raises(KeyboardInterrupt):
        write(tmp_path, FEATURES, given())
    assert any(tmp_path.rglob("*.mp4")) and not list(tmp_path.rglob("*part*"))
    with pytest.raises(UnreadableData, match="is no data set of a known format"):
        open_data(str(tmp_path))
    with pytest.raises(UnreadableData, match=r"info\.json is missing"):
        open_data(f"{name}:{tmp_path}")


@pytest.mark.parametrize("name", BOTH)
@pytest.mark.parametrize(
    ("made", "words"),
    [
        ([], "no demonstrations to write"),
        ([replace(episode(0, 3), state={})], "episode 0 has widths of state"),
        (
            [episode(0, 3), replace(episode(1, 3), action=np.zeros((3, 2), np.float32))],
            "episode 1 has a width of act",
        ),
        ([replace(episode(0, 3), images={})], "episode 0 has cameras"),
        (
            [replace(episode(0, 3), images={name: Pictures.of(moving(3, 0)) for name in FEATURES.cameras})],
            r"are \(32, 32\) pixels \(height, width\), not \(32, 48\)",
        ),
        ([episode(0, 3, level="high"), episode(1, 3, level=2)], 'metadata "level" .* but is: number, str'),
        ([episode(0, 3, level=[1])], 'metadata "level" .* but is: list'),
    ],
)
def test_episodes_that_do_not_fit_are_refused(
    name: str, made: Sequence[Demonstration], words: str, tmp_path: Path
) -> None:
    with pytest.raises(UserError, match=words):
        written(name, tmp_path / "data", InMemory(FEATURES, made))


@pytest.mark.parametrize("name", BOTH)
@pytest.mark.parametrize(("cameras", "words"), [({"a/b": (32, 32)}, "a/b"), ({"odd": (32, 33)}, "odd")])
def test_cameras_that_lerobot_cannot_have_are_refused(
    name: str, cameras: dict[str, tuple[int, int]], words: str, tmp_path: Path
) -> None:
    with pytest.raises(UserError, match=words):
        written(name, tmp_path / "data", InMemory(replace(FEATURES, cameras=cameras), []))


# The files, literally.


def test_v3_is_laid_out_as_specified(stored: dict[str, Path]) -> None:
    folder = stored["lerobot"]
    assert sorted(str(file.relative_to(folder)) for file in folder.rglob("*") if file.is_file()) == [
        "data/chunk-000/file-000.parquet",
        "meta/episodes/chunk-000/file-000.parquet",
        "meta/info.json",
        "meta/stats.json",
        "meta/tasks.parquet",
        "videos/observation.images.front/chunk-000/file-000.mp4",
        "videos/observation.images.wrist/chunk-000/file-000.mp4",
    ]
    info = json.loads((folder / "meta/info.json").read_text())
    assert {name: value for name, value in info.items() if name not in ("features", "robodx")} == {
        "codebase_version": "v3.0",
        "robot_type": "panda",
        "total_episodes": 3,
        "total_frames": 24,
        "total_tasks": 3,
        "chunks_size": 1000,
        "data_files_size_in_mb": 100,
        "video_files_size_in_mb": 200,
        "fps": 20,
        "splits": {"train": "0:3"},
        "data_path": "data/chunk-{chunk_index:03d}/file-{file_index:03d}.parquet",
        "video_path": "videos/{video_key}/chunk-{chunk_index:03d}/file-{file_index:03d}.mp4",
    }
    assert type(info["fps"]) is int
    assert info["features"]["observation.images.wrist"] == {
        "dtype": "video",
        "shape": [32, 48, 3],
        "names": ["height", "width", "channels"],
        "info": {
            "video.height": 32,
            "video.width": 48,
            "video.codec": "h264",
            "video.pix_fmt": "yuv420p",
            "video.is_depth_map": False,
            "video.fps": 20,
            "video.channels": 3,
            "has_audio": False,
        },
    }
    assert info["features"]["observation.state"] == {
        "dtype": "float32",
        "shape": [3],
        "names": ["joint_positions.joint1", "joint_positions.joint2", "gripper_opening.gripper"],
    }
    assert info["features"]["next.success"] == {"dtype": "bool", "shape": [1], "names": None}
    assert info["features"]["timestamp"] == {"dtype": "float32", "shape": [1], "names": None}


def test_v3_has_a_row_a_step(stored: dict[str, Path]) -> None:
    folder = stored["lerobot"]
    rows = pl.read_parquet(folder / "data/chunk-000/file-000.parquet")
    assert rows.schema == {
        "observation.state": pl.Array(pl.Float32, 3),
        "action": pl.Array(pl.Float32, 3),
        "next.success": pl.Boolean(),
        "timestamp": pl.Float32(),
        "frame_index": pl.Int64(),
        "episode_index": pl.Int64(),
        "index": pl.Int64(),
        "task_index": pl.Int64(),
    }
    assert rows["index"].to_list() == list(range(24))
    assert rows["episode_index"].to_list() == [0] * 5 + [1] * 12 + [2] * 7
    assert rows["frame_index"].to_list() == [*range(5), *range(12), *range(7)]
    assert rows["task_index"].to_list() == [0, 0, 1, 1, 1, *[0] * 6, *[2] * 6, 0, 0, 0, 1, 1, 1, 1]
    np.testing.assert_array_equal(rows["timestamp"], (rows["frame_index"].to_numpy() / 20).astype(np.float32))
    tasks = pl.read_parquet(folder / "meta/tasks.parquet")
    assert tasks.to_dict(as_series=False) == {
        "task_index": [0, 1, 2],
        "task": ["lift the cube", "no, the red one", "no, the blue one"],
    }


def test_pandas_has_the_instructions_as_its_index(stored: dict[str, Path]) -> None:
    """Whoever reads by Arrow looks for pandas' notes in Arrow's schema if the file has one."""
    said = pl.read_parquet_metadata(stored["lerobot"] / "meta/tasks.parquet")
    assert "ARROW:schema" not in said
    assert json.loads(said["pandas"])["index_columns"] == ["task"]


def test_v3_says_where_episodes_are(stored: dict[str, Path]) -> None:
    table = pl.read_parquet(stored["lerobot"] / "meta/episodes/chunk-000/file-000.parquet")
    rows = table.select(name for name in table.columns if not name.startswith("stats/")).to_dicts()
    of = "videos/observation.images.front"
    assert rows[1] == {
        "episode_index": 1,
        "tasks": ["lift the cube", "no, the blue one"],
        "length": 12,
        "data/chunk_index": 0,
        "data/file_index": 0,
        "dataset_from_index": 5,
        "dataset_to_index": 17,
        f"{of}/chunk_index": 0,
        f"{of}/file_index": 0,
        f"{of}/from_timestamp": 0.25,
        f"{of}/to_timestamp": 0.85,
        **{f"{of.replace('front', 'wrist')}/{name}": 0 for name in ("chunk_index", "file_index")},
        f"{of.replace('front', 'wrist')}/from_timestamp": 0.25,
        f"{of.replace('front', 'wrist')}/to_timestamp": 0.85,
        "meta/episodes/chunk_index": 0,
        "meta/episodes/file_index": 0,
        "task": "control/stack_1",
        "seed": 1_000_001,
        "is_teleoperated": True,
        "speed": 0.5,
        "metadata/length": None,
    }


def test_statistics_are_of_all_steps_and_of_each_episode(stored: dict[str, Path]) -> None:
    folder = stored["lerobot"]
    found = json.loads((folder / "meta/stats.json").read_text())
    actions = np.concatenate([one.action for one in episodes(MADE)])
    np.testing.assert_allclose(found["action"]["mean"], actions.mean(0), rtol=1e-4)
    np.testing.assert_allclose(found["action"]["std"], actions.std(0), rtol=1e-4)
    np.testing.assert_array_equal(found["action"]["max"], actions.max(0))
    np.testing.assert_allclose(found["action"]["q90"], np.quantile(actions, 0.9, axis=0), rtol=1e-4)
    assert found["action"]["count"] == [24]
    assert found["index"]["min"] == [0] and found["index"]["max"] == [23]
    front = np.concatenate([one.images["front"].all() for one in episodes(MADE)]) / 255
    stats = {name: np.array(value) for name, value in found["observation.images.front"].items()}
    assert stats["mean"].shape == stats["q01"].shape == (3, 1, 1)
    np.testing.assert_allclose(stats["mean"].ravel(), front.mean((0, 1, 2)), atol=1e-9)
    np.testing.assert_allclose(stats["std"].ravel(), front.std((0, 1, 2)), atol=1e-9)
    np.testing.assert_allclose(stats["q10"].ravel(), np.quantile(front, 0.1, axis=(0, 1, 2)), atol=1 / 255)
    np.testing.assert_array_equal(stats["min"].ravel(), front.min((0, 1, 2)))
    np.testing.assert_array_equal(stats["max"].ravel(), front.max((0, 1, 2)))
    table = pl.read_parquet(folder / "meta/episodes/chunk-000/file-000.parquet")
    np.testing.assert_array_equal(table["stats/action/min"][1].to_numpy(), MADE[1].action.min(0))
    assert table["stats/observation.images.front/count"].to_list() == [[5], [12], [7]]


def test_videos_are_one_picture_a_period(stored: dict[str, Path]) -> None:
    with av.open(str(stored["lerobot"] / "videos/observation.images.front/chunk-000/file-000.mp4")) as f:
        stream = f.streams.video[0]
        assert stream.average_rate == Fraction(20) and stream.frames == 24
        base = stream.time_base
        assert base is not None
        packets = [packet for packet in f.demux(stream) if packet.size]
        assert [(packet.pts or 0) * base for packet in packets] == [Fraction(step, 20) for step in range(24)]
        # An episode begins with a key frame, so that it is read without the one before.
        assert all(packets[first].is_keyframe for first in (0, 5, 17))


def test_v21_is_laid_out_as_specified(stored: dict[str, Path]) -> None:
    folder = stored["lerobot-v2.1"]
    places = {str(file.relative_to(folder)) for file in folder.rglob("*") if file.is_file()}
    assert places == {
        *(f"data/chunk-000/episode_{number:06d}.parquet" for number in range(3)),
        *(f"videos/chunk-000/observation.images.front/episode_{number:06d}.mp4" for number in range(3)),
        *(f"videos/chunk-000/observation.images.wrist/episode_{number:06d}.mp4" for number in range(3)),
        *(f"meta/{name}" for name in ("info.json", "modality.json")),
        *(f"meta/{name}.jsonl" for name in ("episodes", "episodes_stats", "tasks")),
    }
    info = json.loads((folder / "meta/info.json").read_text())
    assert (info["codebase_version"], info["total_videos"], info["total_chunks"]) == ("v2.1", 6, 1)
    assert info["data_path"] == "data/chunk-{episode_chunk:03d}/episode_{episode_index:06d}.parquet"
    assert info["video_path"] == "videos/chunk-{episode_chunk:03d}/{video_key}/episode_{episode_index:06d}.mp4"
    lines = [json.loads(line) for line in (folder / "meta/episodes.jsonl").read_text().splitlines()]
    assert lines[0] == {
        "episode_index": 0,
        "tasks": ["lift the cube", "no, the red one"],
        "length": 5,
        "task": "control/stack_0",
        "seed": 1_000_000,
        "is_teleoperated": False,
        "speed": None,
        "metadata/length": None,
    }
    tasks = [json.loads(line) for line in (folder / "meta/tasks.jsonl").read_text().splitlines()]
    assert tasks[1] == {"task_index": 1, "task": "no, the red one"}
    stats = [json.loads(line) for line in (folder / "meta/episodes_stats.jsonl").read_text().splitlines()]
    assert stats[2]["episode_index"] == 2 and stats[2]["stats"]["action"]["count"] == [7]


def test_groot_is_told_the_parts(stored: dict[str, Path]) -> None:
    folder = stored["lerobot-v2.1"]
    assert json.loads((folder / "meta/modality.json").read_text()) == {
        "state": {"joint_positions": {"start": 0, "end": 2}, "gripper_opening": {"start": 2, "end": 3}},
        "action": {"arm": {"start": 0, "end": 2}, "gripper": {"start": 2, "end": 3}},
        "video": {name: {"original_key": f"observation.images.{name}"} for name in ("front", "wrist")},
        "annotation": {"human.task_description": {"original_key": "task_index"}},
    }


def test_full_files_are_followed_by_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lerobot, "DATA_FILE_MB", 1e-6)
    monkeypatch.setattr(lerobot, "VIDEO_FILE_MB", 1e-6)
    monkeypatch.setattr(growing, "FILES_IN_A_CHUNK", 2)
    folder = written("lerobot", tmp_path / "data")
    for kind, ending in (("data", "parquet"), ("videos/observation.images.front", "mp4"), ("meta/episodes", "parquet")):
        assert sorted(str(file.relative_to(folder / kind)) for file in (folder / kind).rglob("*.*")) == [
            f"chunk-000/file-000.{ending}",
            f"chunk-000/file-001.{ending}",
            f"chunk-001/file-000.{ending}",
        ]
    assert_same(open_data(str(folder)))


# Videos are copied.


@pytest.mark.parametrize("before", BOTH)
@pytest.mark.parametrize("after", BOTH)
def test_videos_are_copied_without_encoding_them(
    before: str, after: str, stored: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = open_data(str(stored[before]))
    monkeypatch.setattr(videos, "encode", lambda *_: pytest.fail("encoded again"))
    backwards = InMemory(source.features, [source[2], source[0], source[1]])
    assert_same(open_data(str(written(after, tmp_path / "copy", backwards))), backwards, apart=0.0)


def as_video(file: Path, images: Images, codec: str, **options: object) -> Pictures:
    with av.open(str(file), "w") as container:
        stream = container.add_stream(codec, rate=20)
        assert isinstance(stream, VideoStream)
        stream.height, stream.width, stream.pix_fmt, stream.options = 32, 32, "yuv420p", options
        for image in images:
            container.mux(stream.encode(av.VideoFrame.from_ndarray(image, format="rgb24")))
        container.mux(stream.encode())
    return videos.pictures(Video(file), len(images), 20.0)


def test_videos_that_cannot_follow_are_encoded_or_begin_a_file(tmp_path: Path) -> None:
    features = replace(FEATURES, cameras={"front": (32, 32)})
    images = [moving(9, 40 * number) for number in range(5)]
    given = [
        Pictures.of(images[0]),
        as_video(tmp_path / "mpeg4.mp4", images[1], "mpeg4", qmin="2", qmax="2"),
        as_video(tmp_path / "reordered.mp4", images[2], "libx264", crf="10", bf="2", g="9"),
        # Another header: a file of its own, but no encoding.
        as_video(tmp_path / "other.mp4", images[3], "libx264", crf="10", bf="0", g="3", preset="ultrafast"),
        Pictures.of(images[4]),
    ]
    made = [replace(episode(number, 9, features), images={"front": pictures}) for number, pictures in enumerate(given)]
    found = open_data(str(written("lerobot", tmp_path / "data", InMemory(features, made))))
    for number, here in enumerate(episodes(found)):
        assert np.abs(here.images["front"].all().astype(int) - images[number]).mean() < 4
    np.testing.assert_array_equal(found[3].images["front"].all(), given[3].all())
    places = [here.images["front"].video for here in episodes(found)]
    assert [place.path.name for place in places if place] == [f"file-00{index}.mp4" for index in (0, 0, 0, 1, 2)]


# Data sets of others.


def png(image: NDArray[np.uint8]) -> bytes:
    codec = av.CodecContext.create("png", "w")
    assert isinstance(codec, av.VideoCodecContext)
    codec.height, codec.width, codec.pix_fmt, codec.time_base = *image.shape[:2], "rgb24", Fraction(1, 20)
    frame = av.VideoFrame.from_ndarray(image, format="rgb24")
    return b"".join(bytes(packet) for packet in [*codec.encode(frame), *codec.encode()])


def columns(episode: int, steps: int, first: int, task: int) -> dict[str, Any]:
    return {
        "timestamp": [step / 10 for step in range(steps)],
        "frame_index": list(range(steps)),
        "episode_index": [episode] * steps,
        "index": list(range(first, first + steps)),
        "task_index": [task] * steps,
    }


def put(file: Path, table: pl.DataFrame | str) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    if isinstance(table, str):
        file.write_text(table)
    else:
        table.write_parquet(file)


def vector(width: int, names: object = None, dtype: str = "float32") -> dict[str, Any]:
    return {"dtype": dtype, "shape": [width], "names": names}


def info_of(version: str, episodes: int, features: Mapping[str, Any], **more: Any) -> str:
    plain = {name: vector(1, dtype="int64") for name in ("frame_index", "episode_index", "index", "task_index")}
    features = {**features, "timestamp": vector(1), **plain}
    known = {"codebase_version": version, "robot_type": None, "total_episodes": episodes, "fps": 10, "chunks_size": 2}
    return json.dumps({**known, "features": features, **more})


@pytest.fixture
def v3_of_others(tmp_path: Path) -> Path:
    """As recorded by LeRobot with pictures in the rows: unnamed index of tasks, several files, nothing of success."""
    folder = tmp_path / "others"
    features = {
        "observation.images.top": {"dtype": "image", "shape": [3, 6, 8], "names": ["channels", "height", "width"]},
        "observation.state": vector(2, {"motors": ["shoulder", "elbow"]}),
        "observation.effort": vector(1),
        "action": vector(2, {"delta_y": 1, "delta_x": 0}),
        "next.reward": vector(1),
        "observation.images.depth": {
            "dtype": "video",
            "shape": [6, 8, 3],
            "names": ["height", "width", "channels"],
            "info": {"video.is_depth_map": True},
        },
    }
    paths = {"data_path": lerobot.DATA, "video_path": None}
    put(folder / "meta/info.json", info_of("v3.0", 3, features, **paths))
    put(folder / "meta/tasks.parquet", pl.DataFrame({"task_index": [1, 0], "__index_level_0__": ["push", "pull"]}))
    for number, (steps, chunk, file) in enumerate([(3, 0, 0), (2, 0, 1), (4, 1, 0)]):
        rows = pl.DataFrame(
            {
                "observation.images.top": [
                    {"bytes": png(image), "path": f"frame-{step}.png"}
                    for step, image in enumerate(moving(steps, 50 * number, 6, 8))
                ],
                "observation.state": [[float(number), float(step)] for step in range(steps)],
                "observation.effort": [float(step) for step in range(steps)],
                "action": [[-float(number), -float(step)] for step in range(steps)],
                "next.reward": [0.0] * steps,
                **columns(number, steps, 0, number % 2),
            }
        )
        place = f"chunk-{chunk:03d}/file-{file:03d}.parquet"
        put(folder / "data" / place, rows)
        row: dict[str, list[Any]] = {
            "episode_index": [number],
            "length": [steps],
            "data/chunk_index": [chunk],
            "data/file_index": [file],
        }
        # Later ones say more.
        row |= {"operator": ["me"]} if number == 2 else {}
        put(folder / "meta/episodes" / place, pl.DataFrame({**row, "stats/action/min": [[0.0]]}))
    return folder


def test_v3_of_others_is_read(v3_of_others: Path) -> None:
    found = open_data(str(v3_of_others))
    assert found.features == Features(
        10.0,
        {"top": (6, 8)},
        {"state": ("shoulder", "elbow"), "effort": ("0",)},
        ("delta_x", "delta_y"),
        "unknown",
        {"missing": ["success"]},
    )
    last = found[2]
    assert last.instructions == ("pull",) * 4 and found[1].instruction == "push"
    np.testing.assert_array_equal(last.state["state"], [[2, 0], [2, 1], [2, 2], [2, 3]])
    np.testing.assert_array_equal(last.state["effort"], [[0], [1], [2], [3]])
    np.testing.assert_array_equal(last.action, [[-2, 0], [-2, -1], [-2, -2], [-2, -3]])
    np.testing.assert_array_equal(last.images["top"].read([3, 1]), moving(4, 100, 6, 8)[[3, 1]])
    assert last.success is None
    assert (found[0].metadata, last.metadata) == ({}, {"operator": "me"})


@pytest.mark.parametrize("name", BOTH)
def test_what_others_did_not_record_is_not_written(name: str, v3_of_others: Path, tmp_path: Path) -> None:
    source = open_data(str(v3_of_others))
    folder = written(name, tmp_path / "copy", source)
    assert "next.success" not in json.loads((folder / "meta/info.json").read_text())["features"]
    again = open_data(str(folder))
    assert again.features == source.features
    assert_same(again, source, apart=8.0)


@pytest.fixture
def v21_of_others(tmp_path: Path) -> Path:
    """As openpi's examples write it: names of their own, pictures in the rows, more than one chunk."""
    folder = tmp_path / "others"
    features = {
        "image": {"dtype": "image", "shape": [6, 8, 3], "names": ["height", "width", "channel"]},
        "state": vector(4, ["state"]),
        "actions": vector(2, ["actions"]),
    }
    paths = {
        "data_path": "data/chunk-{episode_chunk:03d}/episode_{episode_index:06d}.parquet",
        "video_path": "videos/chunk-{episode_chunk:03d}/{video_key}/episode_{episode_index:06d}.mp4",
    }
    put(folder / "meta/info.json", info_of("v2.1", 3, features, **paths))
    put(folder / "meta/tasks.jsonl", '{"task_index": 0, "task": "open it"}\n')
    lines = [{"episode_index": number, "tasks": ["open it"], "length": 3} for number in range(3)]
    put(folder / "meta/episodes.jsonl", "".join(json.dumps(line) + "\n" for line in lines))
    for number in range(3):
        rows = {
            "image": [{"bytes": png(image), "path": None} for image in moving(3, 50 * number, 6, 8)],
            "state": [[float(number), float(step), 7.0, 8.0] for step in range(3)],
            "actions": [[float(number), float(step)] for step in range(3)],
            **columns(number, 3, 3 * number, 0),
        }
        put(folder / f"data/chunk-{number // 2:03d}/episode_{number:06d}.parquet", pl.DataFrame(rows))
    return folder


def test_v21_of_others_is_read(v21_of_others: Path) -> None:
    found = open_data(str(v21_of_others))
    assert found.features.cameras == {"image": (6, 8)}
    assert found.features.state == {"state": ("0", "1", "2", "3")} and found.features.action == ("0", "1")
    last = found[2]
    assert last.instructions == ("open it",) * 3
    np.testing.assert_array_equal(last.action, [[2, 0], [2, 1], [2, 2]])
    np.testing.assert_array_equal(last.images["image"].all(), moving(3, 100, 6, 8))


def test_groot_s_parts_of_a_state_are_read(v21_of_others: Path) -> None:
    groups = {"arm": {"start": 0, "end": 3, "original_key": "state"}}
    groups["gripper"] = {"start": 3, "end": 4, "original_key": "state"}
    put(v21_of_others / "meta/modality.json", json.dumps({"state": groups, "action": {}}))
    found = open_data(str(v21_of_others))
    assert found.features.state == {"arm": ("0", "1", "2"), "gripper": ("3",)}
    np.testing.assert_array_equal(found[1].state["arm"], [[1, 0, 7], [1, 1, 7], [1, 2, 7]])
    np.testing.assert_array_equal(found[1].state["gripper"], [[8], [8], [8]])


@pytest.mark.parametrize(
    ("group", "words"),
    [
        ({"start": 0, "end": 3}, r"arm is a part of observation\.state, which is no feature"),
        ({"start": 0, "end": 5, "original_key": "state"}, "arm is 0 to 5 of state, which has 4 numbers"),
        ({"start": 0}, "end"),
    ],
)
def test_parts_of_what_is_not_there_are_refused(group: dict[str, Any], words: str, v21_of_others: Path) -> None:
    put(v21_of_others / "meta/modality.json", json.dumps({"state": {"arm": group}}))
    with pytest.raises(UnreadableData, match=rf"modality\.json cannot be read: .*{words}"):
        open_data(str(v21_of_others))


# Damaged ones.


def visit(folder: Path) -> None:
    for one in episodes(open_data(str(folder))):
        for pictures in one.images.values():
            pictures.all()


@pytest.mark.parametrize(
    ("name", "file"),
    [
        ("lerobot", "meta/info.json"),
        ("lerobot", "meta/tasks.parquet"),
        ("lerobot", "meta/episodes/chunk-000/file-000.parquet"),
        ("lerobot", "data/chunk-000/file-000.parquet"),
        ("lerobot", "videos/observation.images.front/chunk-000/file-000.mp4"),
        ("lerobot-v2.1", "meta/info.json"),
        ("lerobot-v2.1", "meta/tasks.jsonl"),
        ("lerobot-v2.1", "meta/episodes.jsonl"),
        ("lerobot-v2.1", "data/chunk-000/episode_000001.parquet"),
        ("lerobot-v2.1", "videos/chunk-000/observation.images.wrist/episode_000002.mp4"),
    ],
)
@pytest.mark.parametrize("damage", ["cut", "garbage", "missing"])
def test_a_damaged_file_is_named(name: str, file: str, damage: str, stored: dict[str, Path], tmp_path: Path) -> None:
    folder = copied(stored[name], tmp_path)
    content = (folder / file).read_bytes()
    if damage == "missing":
        (folder / file).unlink()
    else:
        (folder / file).write_bytes(content[: len(content) // 2] if damage == "cut" else b"[1, 2" * 40)
    is_hidden = damage == "missing" and file in ("meta/info.json", "meta/episodes.jsonl")
    with pytest.raises(UnreadableData) as caught:
        visit(folder)
    assert is_hidden or str(folder / file) in str(caught.value) or str((folder / file).parents[1]) in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"total_episodes": 4}, r"info\.json .*total_episodes is 4, but .* lists 3"),
        ({"fps": 0}, r"info\.json: fps is 0, not a rate"),
        ({"fps": "fast"}, r"info\.json cannot be read: .*fast"),
        ({"features": {}}, r'info\.json has no feature "action" or "actions"'),
        ({"features": []}, r"info\.json"),
        ({"features": {"action": {}}}, r"info\.json cannot be read: it has no dtype"),
    ],
)
@pytest.mark.parametrize("name", BOTH)
def test_an_info_that_cannot_be_true_is_refused(
    name: str, change: dict[str, Any], words: str, stored: dict[str, Path], tmp_path: Path
) -> None:
    folder = copied(stored[name], tmp_path)
    changed(folder / "meta/info.json", **change)
    with pytest.raises(UnreadableData, match=words):
        visit(folder)


def test_rows_that_do_not_fit_are_refused(stored: dict[str, Path], tmp_path: Path) -> None:
    folder = copied(stored["lerobot"], tmp_path)
    file = folder / "data/chunk-000/file-000.parquet"
    rows = pl.read_parquet(file)
    for table, words in (
        (rows.head(20), "episode 2 has 3 rows there, not 7"),
        (rows.drop("action"), "action"),
        (rows.with_columns(task_index=pl.lit(9, pl.Int64)), "task_index 9 is no task"),
        (rows.with_columns(action=pl.lit(None, pl.Array(pl.Float32, 3))), "values of action are missing"),
        (rows.with_columns(action=pl.lit(0.5, pl.Float32)), "action has 1 numbers, not 3"),
    ):
        table.write_parquet(file)
        with pytest.raises(UnreadableData, match=rf"file-000\.parquet cannot be read: .*{words}"):
            visit(folder)


def test_a_column_that_was_changed_since_is_read_as_it_is(stored: dict[str, Path], tmp_path: Path) -> None:
    """Such as by a tool that drops features: the names that only we keep no longer fit."""
    folder = copied(stored["lerobot-v2.1"], tmp_path)
    (folder / "meta/modality.json").unlink()
    info = json.loads((folder / "meta/info.json").read_text())
    info["features"] |= {"observation.state": vector(2, ["a", "b"]), "observation.load": vector(1, ["kg"])}
    changed(folder / "meta/info.json", features=info["features"], robodx={"state": {"state": ["a", "b", "c"]}})
    for file in (folder / "data").rglob("*.parquet"):
        rows = pl.read_parquet(file)
        state = pl.Series("observation.state", rows["observation.state"].to_numpy()[:, :2])
        rows.with_columns(state, pl.lit(0.5, pl.Float32).alias("observation.load")).write_parquet(file)
    found = open_data(str(folder))
    assert found.features.state == {"state": ("a", "b"), "load": ("kg",)}
    np.testing.assert_array_equal(found[0].state["state"], MADE[0].state["joint_positions"])
