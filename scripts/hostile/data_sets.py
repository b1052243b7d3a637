"""Data sets from elsewhere: small ones of every format, with descriptions and contents that nobody would write."""

from __future__ import annotations

import json
import os
import random
import struct
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import polars as pl

from hostile.judging import Case
from hostile.places import Places
from robodx.datasets.formats.base import FORMATS
from robodx.datasets.rlds import tf_examples, tfrecords
from robodx.datasets.schema import Demonstration, Features, Pictures

PART = "data sets"
REFUSED, ANY = frozenset({2}), frozenset({0, 2})
# A data set of some kilobytes must not take more.
MOST_BYTES = 3 * 2**29
DEADLINE_S = 60.0
RANDOM = 60
STEPS = 4
SUFFIXES = {"lerobot-v2.1": "", "lerobot": "", "rlds": "", "hdf5": ".hdf5", "maniskill": ".h5"}
FEATURES = Features(
    hz=10.0, cameras={"front": (32, 32)}, state={"joints": ("a", "b")}, action=("dx", "dy", "grip"), robot="panda"
)
INFO, SHARD = "meta/info.json", "robodx-train.tfrecord-00000-of-00001"
V21_ROWS, V3_ROWS = "data/chunk-000/episode_000000.parquet", "data/chunk-000/file-000.parquet"
V3_EPISODES = "meta/episodes/chunk-000/file-000.parquet"
V21_VIDEO = "videos/chunk-000/observation.images.front/episode_000000.mp4"

Do = Callable[[Path], object]
Json = dict[str, Any]


@dataclass(frozen=True)
class Attack:
    """What is done to a data set of a format, and a word of the one line in which it must be refused."""

    name: str
    format: str
    do: Do
    says: str
    # What is only found when pictures are looked at.
    is_filmed: bool = False


def make(format_name: str, place: Path) -> None:
    """A sound data set of two short episodes."""
    rng = np.random.default_rng(0)

    def demonstration(seed: int) -> Demonstration:
        pictures = Pictures.of(rng.integers(0, 256, (STEPS, 32, 32, 3), dtype=np.uint8))
        numbers = rng.normal(size=(STEPS, 5)).astype(np.float32)
        return Demonstration(
            ("lift it",) * STEPS, {"front": pictures}, {"joints": numbers[:, :2]}, numbers[:, 2:],
            np.arange(STEPS) == STEPS - 1, {"task": "a/b", "seed": seed},
        )  # fmt: skip

    write = FORMATS[format_name].write
    if write is not None:
        write(place, FEATURES, [demonstration(0), demonstration(1)])
        return
    # ManiSkill's, which are only read.
    with h5py.File(place, "w") as file:
        file["traj_0/actions"] = np.zeros((STEPS, 2), np.float32)
        file["traj_0/obs/agent/qpos"] = np.zeros((STEPS + 1, 3), np.float32)
    place.with_suffix(".json").write_text(json.dumps({"episodes": [{"episode_id": 0, "episode_seed": 3}]}))


def _json(name: str, change: Callable[[Json], object]) -> Do:
    def do(place: Path) -> None:
        file = place / name if place.is_dir() else place.with_suffix(".json")
        first, *rest = file.read_text().splitlines() if name.endswith("jsonl") else [file.read_text()]
        value = json.loads(first)
        change(value)
        file.write_text("\n".join([json.dumps(value), *rest]))

    return do


def _info(**values: Any) -> Do:
    return _json(INFO, lambda info: info.update(values))


def _split(**values: Any) -> Do:
    return _json("dataset_info.json", lambda info: info["splits"][0].update(values))


def _file(name: str, content: bytes) -> Do:
    return lambda place: (place / name if place.is_dir() else place).write_bytes(content)


def _table(name: str, **columns: pl.Expr) -> Do:
    def do(place: Path) -> None:
        pl.read_parquet(place / name).with_columns(**columns).write_parquet(place / name)

    return do


def _linked(name: str) -> Do:
    """The same content, from outside of the folder."""

    def do(place: Path) -> None:
        outside = place.with_name(f"{place.name}-outside")
        (place / name).rename(outside)
        (place / name).symlink_to(outside)

    return do


def _sparse(name: str, size: int = 2**40) -> Do:
    return lambda place: os.truncate(place / name, size)


def _hdf5(change: Callable[[Any, Path], object]) -> Do:
    def do(place: Path) -> None:
        with h5py.File(place, "a") as file:
            change(file, place)

    return do


def _array(name: str, *, data: Any = None, **options: Any) -> Do:
    """In the place of an array that is there."""

    def change(file: Any, _: Path) -> None:
        del file[name]
        file.create_dataset(name, data=data, **options)

    return _hdf5(change)


def _described(**values: Any) -> Do:
    def change(file: Any, _: Path) -> None:
        file["data"].attrs["robodx"] = json.dumps(json.loads(file["data"].attrs["robodx"]) | values)

    return _hdf5(change)


def _external(file: Any, place: Path) -> None:
    """Numbers that are some bytes of another file."""
    other = place.with_name("other")
    other.write_bytes(bytes(48))
    del file["data/demo_0/actions"]
    file.create_dataset("data/demo_0/actions", (STEPS, 3), "f4", external=[(str(other), 0, 48)])


def _link(file: Any, place: Path) -> None:
    with h5py.File(place.with_name("other.h5"), "w") as other:
        other["x"] = np.zeros((STEPS, 3), np.float32)
    del file["data/demo_0/actions"]
    file["data/demo_0/actions"] = h5py.ExternalLink(str(place.with_name("other.h5")), "/x")


def _virtual(file: Any, place: Path) -> None:
    _link(file, place)
    del file["data/demo_0/actions"]
    layout = h5py.VirtualLayout((STEPS, 3), "f4")
    layout[:] = h5py.VirtualSource(str(place.with_name("other.h5")), "x", (STEPS, 3))
    file["data/demo_0"].create_virtual_dataset("actions", layout)


def zeros(mebibytes: int) -> bytes:
    """So many mebibytes of zeros as zlib deflates them: one block, again and again."""
    deflating = zlib.compressobj(9, wbits=-15)
    block = deflating.compress(bytes(2**20)) + deflating.flush(zlib.Z_FULL_FLUSH)
    checksum = mebibytes * 2**20 % 65521 << 16 | 1
    return b"\x78\xda" + block * mebibytes + b"\x03\x00" + struct.pack(">I", checksum)


def _inflating(file: Any, _: Path) -> None:
    del file["data/demo_0/actions"]
    array = file.create_dataset("data/demo_0/actions", (STEPS, 3), "f4", chunks=(STEPS, 3), compression="gzip")
    array.id.write_direct_chunk((0, 0), zeros(3 * 2**10))


def _inflating_twice(file: Any, _: Path) -> None:
    del file["data/demo_0/actions"]
    shape = (STEPS, 3)
    settings = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    settings.set_chunk(shape)
    settings.set_deflate(9)
    settings.set_deflate(9)
    array = h5py.h5d.create(
        file["data/demo_0"].id, b"actions", h5py.h5t.IEEE_F32LE, h5py.h5s.create_simple(shape), settings
    )
    array.write_direct_chunk((0, 0), zlib.compress(zeros(3 * 2**10)))


def _same_text(file: Any, _: Path) -> None:
    """A text of a megabyte at each of many steps, stored once: a step has 16 bytes that point to it."""
    group, count, kind = file["data/demo_0"], 100_000, h5py.string_dtype()
    group.create_dataset("one", data=["x" * 2**20], dtype=kind, chunks=(1,))
    _, pointer = group["one"].id.read_direct_chunk((0,))
    many = group.create_dataset("language_instructions", (count,), kind, chunks=(count,), compression="gzip")
    many.id.write_direct_chunk((0,), zlib.compress(pointer * count))


def _wide_rows(name: str) -> Do:
    """A table of some kilobytes, of which the actions alone are 160 MB."""

    def do(place: Path) -> None:
        table = pl.read_parquet(place / name)
        zero = pl.Series("action", np.zeros((len(table), 40_000_000 // len(table)), np.float32))
        table.with_columns(zero).write_parquet(place / name, compression="zstd")

    return do


def _same_episode(place: Path) -> None:
    """A table of some kilobytes, with 1.5 million times the same row."""
    row = pl.read_parquet(place / V3_EPISODES).head(1).select(pl.exclude("^stats/.*$"))
    row.sample(1_500_000, with_replacement=True).write_parquet(place / V3_EPISODES, compression="zstd")


def _same_task(place: Path) -> None:
    """A text of a megabyte that is stored once, and becomes 300 texts."""
    tasks = pl.DataFrame({"task_index": [0], "task": ["x" * 10**6]})
    tasks.sample(300, with_replacement=True).write_parquet(place / "meta/tasks.parquet", compression="zstd")


def _example(name: str, values: list[bytes]) -> Do:
    """In the place of what the first episode has by this name."""

    def do(place: Path) -> None:
        shard = place / SHARD
        records = [tfrecords.record(shard, one) for one in tfrecords.places(shard)]
        example = tf_examples.decode(records[0])
        example[name] = values
        with shard.open("wb") as file:
            for record in (tf_examples.encode(example), *records[1:]):
                tfrecords.append(file, record)

    return do


def png(height: int, width: int) -> bytes:
    """A black picture of whatever size."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    rows = zeros(min(height * (3 * width + 1) // 2**20 + 1, 1000))
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", rows) + chunk(b"IEND", b"")


def _compressed(place: Path) -> None:
    """Numbers of a step that inflate to more than they say."""
    _json("features.json", lambda one: _action(one).update(encoding="zlib"))(place)
    _example("steps/action", [zeros(1000)] * STEPS)(place)


def _action(features: Json) -> Json:
    steps = features["featuresDict"]["features"]["steps"]["sequence"]["feature"]
    found: Json = steps["featuresDict"]["features"]["action"]["tensor"]
    return found


def _deep(depth: int) -> Any:
    found: Any = 1
    for _ in range(depth):
        found = [found]
    return found


def _feature(key: str, **values: Any) -> Do:
    return _json(INFO, lambda info: info["features"][key].update(values))


def _box(name: bytes, fields: tuple[int, ...], offset: int = 8) -> Do:
    """Other numbers in a box of the video's description, some bytes behind its name; nothing is moved."""

    def do(place: Path) -> None:
        content = bytearray((place / V21_VIDEO).read_bytes())
        struct.pack_into(f">{len(fields)}I", content, content.index(name) + offset, *fields)
        (place / V21_VIDEO).write_bytes(content)

    return do


def samples(count: int, size: int = 1) -> Do:
    """A video that says that it has so many samples of this size, all in one chunk."""
    changes = (
        _box(b"stsz", (size, count)), _box(b"stsc", (1, 1, count, 1)), _box(b"stts", (1, count)),
    )  # fmt: skip
    return lambda place: [change(place) for change in changes]


def _hidden_samples(place: Path) -> None:
    """The same in a box of a 64-bit size, within a text about the file."""
    table = struct.pack(">I4sQ5I", 1, b"stsz", 36, 0, 1, 60_000_000, 0, 0)
    with (place / V21_VIDEO).open("ab") as file:
        file.write(struct.pack(">I4s", 8 + len(table), b"udta") + table)


def _fragment(place: Path) -> None:
    """Samples that no table has: a run of them in a fragment, all of the size that it says first."""
    extends = struct.pack(">I4s6I", 32, b"trex", 0, 1, 1, 1, 1, 0)
    run = struct.pack(">I4s2I", 16, b"trun", 0, 60_000_000)
    parts = struct.pack(">I4s2I", 16, b"tfhd", 0, 1) + run
    parts = struct.pack(">I4s", 8 + len(parts), b"traf") + parts
    with (place / V21_VIDEO).open("ab") as file:
        file.write(struct.pack(">I4s", 8 + len(extends), b"mvex") + extends)
        file.write(struct.pack(">I4s", 8 + len(parts), b"moof") + parts)


PICTURES = "observation.images.front"
NAN, INFINITY = float("nan"), float("inf")
LIST = b"ffconcat version 1.0\nfile episode_000001.mp4\n"


def _both(name: str, do: Do, says: str) -> Iterator[Attack]:
    """On both versions of LeRobot's."""
    for each in ("lerobot-v2.1", "lerobot"):
        yield Attack(name, each, do, says)


ATTACKS = (
    *_both("a template of a huge width", _info(data_path="data/{episode_index:9999999999}.parquet"), "info.json"),
    *_both("a video's template of a huge width", _info(video_path="{video_key:>9999999999}"), "formats video_key"),
    *_both("a template that looks into objects", _info(data_path="{episode_index.__class__}"), "valid are"),
    *_both("a template within a template", _info(video_path="{video_key:{video_key}}"), "formats video_key"),
    *_both("a template that is a number", _info(data_path=5), "no template"),
    *_both("a template that does not end", _info(data_path="data/{"), "cannot be read"),
    *_both("a path upwards", _info(data_path="../../../../etc/passwd"), "leads out"),
    *_both("a path from the root", _info(video_path="/etc/{video_key}"), "leads out"),
    *_both("a path with a null", _info(data_path="data/\0"), "cannot be read"),
    *_both("a path that is too long", _info(data_path="x" * 4000), "xxx"),
    *_both("a link to a description outside", _linked(INFO), "link out of"),
    *(Attack("a link to rows outside", each, _linked(name), "link out of")
      for each, name in (("lerobot", V3_ROWS), ("lerobot-v2.1", V21_ROWS))),
    *(_both("no rate", _info(fps=0), "fps")), *(_both("a rate that is none", _info(fps=NAN), "fps")),
    *_both("a rate below all", _info(fps=1e-320), "fps"), *_both("a rate without end", _info(fps=INFINITY), "fps"),
    *_both("an action of very many numbers", _feature("action", shape=[10**12], names=None), "width"),
    *_both("an action of a strange width", _feature("action", shape=[NAN]), "width"),
    *_both("many numbers in all", _json(INFO, lambda info: info["features"].update(
        {f"x.{n}": {"dtype": "float32", "shape": [60_000], "names": None} for n in range(5_000)})), "numbers"),
    *_both("huge pictures", _feature(PICTURES, shape=[100_000, 100_000, 3]), "pixels"),
    *_both("pictures of negative size", _feature(PICTURES, shape=[-5, 5, 3]), "a side"),
    *_both("facts that are a list", _info(robodx={"about": [1]}), "cannot be read"),
    *_both("facts that miss a number", _info(robodx={"about": {"missing": 5}}), "missing"),
    *_both("a description nested deep", _info(robodx=_deep(900)), "deep"),
    *_both("a description of a terabyte", _sparse(INFO), "GiB"),
    *_both("episodes that cannot be counted", _info(total_episodes=INFINITY), "total_episodes is inf"),
    *_both("episodes of 401 digits", _info(total_episodes=10**400), "an integer of 1,329 bits"),
    *(Attack("rows that are more than they seem", each, _wide_rows(name), "of memory")
      for each, name in (("lerobot", V3_ROWS), ("lerobot-v2.1", V21_ROWS))),
    *(Attack(f"a length of {str(length)[:9]}", "lerobot-v2.1",
             _json("meta/episodes.jsonl", partial(dict.update, length=length)), "length")
      for length in (-1, 0, NAN, INFINITY, 10**30, 10**400, "x", [1], None)),
    Attack("no files in a chunk", "lerobot-v2.1", _info(chunks_size=0), "chunks_size"),
    Attack("an index below 0", "lerobot-v2.1",
           _json("meta/episodes.jsonl", lambda row: row.update(episode_index=-1)), "episode_index"),
    Attack("episodes of a terabyte", "lerobot-v2.1", _sparse("meta/episodes.jsonl"), "line"),
    *(Attack(name, "lerobot-v2.1", do, says, is_filmed=True) for name, do, says in (
        ("a video of very many samples", samples(60_000_000), "60,000,000 samples"),
        ("a video of very many empty samples", samples(60_000_000, 0), "cut off"),
        ("a video of very many samples, said elsewhere", _hidden_samples, "samples"),
        ("a video that says the whole of it is each sample", _box(b"stsz", (4_000, 4)), "4 samples"),
        ("a video in fragments", _fragment, "fragments"),
    )),
    Attack("tasks that are numbers", "lerobot-v2.1", _file("meta/tasks.jsonl", b"5\n[]\n"), "JSON object"),
    Attack("tasks with lists", "lerobot-v2.1", _file("meta/tasks.jsonl", b'{"task_index": [], "task": {}}'), "list"),
    Attack("a video that is a list of others", "lerobot-v2.1", _file(V21_VIDEO, LIST), "mp4", is_filmed=True),
    Attack("a negative file", "lerobot", _table(V3_EPISODES, **{"data/file_index": pl.lit(-1)}), "file_index"),
    Attack("a video before time", "lerobot",
           _table(V3_EPISODES, **{f"videos/{PICTURES}/from_timestamp": pl.lit(INFINITY)}), "mp4", is_filmed=True),
    Attack("an episode of 10¹⁸ steps", "lerobot", _table(V3_EPISODES, length=pl.lit(10**18)), "length"),
    Attack("very many episodes", "lerobot", _same_episode, "of memory"),
    Attack("one long task many times", "lerobot", _same_task, "of memory"),
    Attack("rows of texts", "lerobot", _table(V3_ROWS, action=pl.lit("x" * 10**6)), "not numbers"),
    *(Attack(f"shards of {str(length)[:9]}", "rlds", _split(shardLengths=[length]), "length of a shard")
      for length in (INFINITY, NAN, -1, 10**30, "1e99", None)),
    Attack("a template of a huge width", "rlds", _split(filepathTemplate="{SHARD_INDEX:9999999999}"), "formats"),
    Attack("a template that looks into objects", "rlds", _split(filepathTemplate="{DATASET.__class__}"), "valid are"),
    Attack("a path upwards", "rlds", _json("dataset_info.json", lambda info: info.update(name="../x")), "leads out"),
    Attack("a link to records outside", "rlds", _linked(SHARD), "link out of"),
    Attack("a record of a terabyte", "rlds", lambda place: _long_record(place / SHARD), "a record of it has"),
    Attack("an action of very many numbers", "rlds",
           _json("features.json", lambda one: _action(one).update(shape={"dimensions": [10**12]})), "dimension"),
    Attack("numbers that inflate", "rlds", _compressed, "cannot be read"),
    Attack("facts that are a list", "rlds",
           _json("metadata.json", lambda one: one["robodx"].update(about=[1])), "about"),
    Attack("features nested deep", "rlds", _json("features.json", lambda one: one.update(x=_deep(900))), "deep"),
    *(Attack(f"a picture of {side}×{side}", "rlds", _example("steps/observation/front", [png(side, side)] * STEPS),
             "pixels", is_filmed=True) for side in (100_000, 10_000)),
    Attack("numbers of another file", "hdf5", _hdf5(_external), "other files"),
    Attack("a link to another file", "hdf5", _hdf5(_link), "another file"),
    Attack("a virtual array", "hdf5", _hdf5(_virtual), "other files"),
    Attack("a billion actions, not stored", "hdf5", _array("data/demo_0/actions", shape=(10**9, 3), chunks=(1000, 3),
           dtype="f4"), "steps"),
    Attack("very wide actions, not stored", "hdf5", _array("data/demo_0/actions", shape=(STEPS, 10**9),
           chunks=(1, 1000), dtype="f4"), "of memory"),
    Attack("a state of many numbers", "hdf5", _array("data/demo_0/obs/joints", shape=(0, 10**12), dtype="f4"), "width"),
    Attack("huge chunks", "hdf5", _array("data/demo_0/actions", shape=(STEPS, 3), maxshape=(None, 3),
           chunks=(10**8, 3), dtype="f4"), "of memory"),
    Attack("a chunk that inflates", "hdf5", _hdf5(_inflating), "inflates"),
    Attack("a chunk that inflates twice", "hdf5", _hdf5(_inflating_twice), "twice"),
    Attack("the same text many times", "hdf5", _hdf5(_same_text), "of memory"),
    Attack("facts that are a list", "hdf5", _described(about=[1]), "about"),
    Attack("facts that miss a number", "hdf5", _described(about={"missing": 5}), "missing"),
    Attack("names that are a text", "hdf5", _described(action="abc"), "list of names"),
    *(Attack(f"a rate of {hz}", "hdf5", _described(hz=hz), "steps a second") for hz in (0, -1, NAN, "x", 1e-320, True)),
    Attack("huge pictures", "hdf5", _described(cameras={"front": [100_000, 100_000]}), "pixels"),
    Attack("a description nested deep", "hdf5", _described(about={"x": _deep(900)}), "deep"),
    Attack("a billion actions, not stored", "maniskill", _array("traj_0/actions", shape=(10**9, 2), chunks=(1000, 2),
           dtype="f4"), "steps"),
    Attack("a list nested deep", "maniskill", _json("", lambda one: one.update(x=_deep(900))), "deep"),
    Attack("episodes that are numbers", "maniskill", _json("", lambda one: one.update(episodes=[5])), "cannot be read"),
    Attack("no rate", "maniskill", _json("", lambda one: one.update(env_info={"env_kwargs": {"control_freq": 0}})),
           "steps a second"),
)  # fmt: skip


def _long_record(shard: Path) -> None:
    """A header that is right, of a record that is a hole in the file."""
    _split(shardLengths=["1"])(shard.parent)
    length = struct.pack("<Q", 2**40)
    shard.write_bytes(length + struct.pack("<I", tfrecords.checksum(length)))
    os.truncate(shard, 2**40 + 16)


def damaged(format_name: str, folder: Path, rng: random.Random) -> Path:
    """A data set of which one value of a description, or some bytes of a file, are others."""
    place = folder / f"data{SUFFIXES[format_name]}"
    make(format_name, place)
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    file = rng.choice(files)
    if file.suffix in (".json", ".jsonl") and rng.random() < 0.8:
        lines = file.read_text().splitlines() if file.suffix == ".jsonl" else [file.read_text()]
        value = json.loads(lines[0])
        holder, key = rng.choice(list(_places(value)))
        holder[key] = rng.choice(VALUES)
        file.write_text("\n".join([json.dumps(value), *lines[1:]]))
        return place
    content = bytearray(file.read_bytes())
    if rng.random() < 0.2:
        del content[rng.randrange(len(content)) :]
    for _ in range(rng.choice((1, 3, 30)) if content else 0):
        content[rng.randrange(len(content))] = rng.choice((0, 1, 127, 128, 255, rng.randrange(256)))
    file.write_bytes(content)
    return place


VALUES: tuple[Any, ...] = (
    None, True, -1, 0, 3, 2**31, 2**63, 10**400, NAN, INFINITY, -INFINITY, 1e-320, "", "x", "../x", "/etc/passwd",
    "{0}", "{episode_index:99999999999}", "\x1b[31m\x9b2J", "y" * 5000, [], {}, [None], [[]], {"": {}}, [10**12],
    _deep(60),
)  # fmt: skip


def _places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Every value below one, as what holds it and its key there."""
    for key in range(len(value)) if isinstance(value, list) else list(value):
        yield value, key
        if isinstance(value[key], dict | list):
            yield from _places(value[key])


def attacked(attack: Attack, folder: Path) -> Path:
    """A new folder with a data set to which this was done."""
    folder.mkdir(parents=True)
    place = folder / f"data{SUFFIXES[attack.format]}"
    make(attack.format, place)
    attack.do(place)
    return place


def cases(places: Places, rng: random.Random) -> Iterator[Case]:
    folder = places.folder / "data_sets"
    for number, attack in enumerate(ATTACKS):
        film = ("-o", "film.mp4") if attack.is_filmed else ()
        place = attacked(attack, folder / str(number))
        yield _case(f"{attack.format}: {attack.name}", place, film, REFUSED, attack.says)
    for number in range(RANDOM):
        format_name = rng.choice(list(SUFFIXES))
        (folder / f"random-{number}").mkdir()
        place = damaged(format_name, folder / f"random-{number}", rng)
        film = rng.choice(((), ("-o", "film.mp4")))
        yield _case(f"{format_name}: damage {number}", place, film, ANY, "")


def _case(name: str, place: Path, film: tuple[str, ...], exits: frozenset[int], says: str) -> Case:
    return Case(
        PART, name, ("data", "show", place.name, *film), exits, says, cwd=place.parent, deadline_s=DEADLINE_S,
        most_bytes=MOST_BYTES, is_one_line=exits == REFUSED,
    )  # fmt: skip
