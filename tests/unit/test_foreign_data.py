"""Data sets from elsewhere that ask for too much, or for files of others: refused in one line, in little memory."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hostile.data_sets import ATTACKS, MOST_BYTES, STEPS, SUFFIXES, attacked, make

from robodx.datasets import bounds
from robodx.datasets.bounds import expanded, fits, whole, within
from robodx.datasets.foreign_files import quiet
from robodx.datasets.formats.base import UnreadableData, open_data
from robodx.datasets.lerobot import parquet_sizes
from robodx.datasets.lerobot.files import read_table

TEMPLATES = (
    "{index:100d}", "{index:.3f}", "{index!r}", "{index.real}", "{key[0]}", "{key:>9}", "{other}", "{}",
    "{index:{key}}", "{0}", "{", "x" * 5000, None,
)  # fmt: skip
NO_COUNTS = (-1, 11, 5.5, float("nan"), float("inf"), 10**400, True, "", "x", None, [5], "9" * 99)
# Reads each data set that it is given, and writes what is said of it; a MemoryError is said otherwise.
READER = """
import json, resource, sys
from pathlib import Path
from robodx.datasets.formats.base import UnreadableData, locate
from robodx.datasets.survey import survey
from robodx.video.demonstrations import film_demonstration

most, *places = json.load(sys.stdin)
resource.setrlimit(resource.RLIMIT_DATA, (most, most))
for place, is_filmed in places:
    said = "read"
    try:
        found = locate(place)
        data = found.open()
        survey(found, data)
        if is_filmed:
            film_demonstration(Path(place).with_name("film.mp4"), data[0], 10)
    except UnreadableData as error:
        said = str(error)
    except Exception as error:
        said = f"{type(error).__name__}: {error}"
    print(json.dumps(said), flush=True)
"""


def test_every_hostile_data_set_is_refused_in_one_line_and_little_memory(tmp_path: Path) -> None:
    """All by one process with little memory, for starting one takes longer than all of them."""
    places = [(str(attacked(one, tmp_path / str(number))), one.is_filmed) for number, one in enumerate(ATTACKS)]
    given = json.dumps([MOST_BYTES, *places])
    ran = subprocess.run([sys.executable, "-c", READER], input=given, capture_output=True, text=True, check=False)
    said = [json.loads(line) for line in ran.stdout.splitlines()]
    assert not ran.returncode, f"it died at {ATTACKS[len(said)]}: {ran.stderr[-2000:]}"
    for attack, text in zip(ATTACKS, said, strict=True):
        assert text.startswith(str(tmp_path)) and attack.says.lower() in text.lower(), f"{attack}: {text}"
        assert "\n" not in text and len(text) < 1300 and "not enough memory" not in text, f"{attack}: {text}"


@pytest.mark.parametrize("name", SUFFIXES)
def test_the_data_sets_that_are_attacked_are_sound(name: str, tmp_path: Path) -> None:
    place = tmp_path / f"data{SUFFIXES[name]}"
    make(name, place)
    data = open_data(str(place))
    assert len(data[len(data) - 1]) == STEPS


def test_templates_take_the_fields_of_their_format_and_leading_zeros_only() -> None:
    fields: dict[str, int | str] = {"index": 7, "key": "a.b"}
    assert expanded("x/{index:03d}/{key}/{index}-{index:5}{{}}.mp4", fields) == "x/007/a.b/7-    7{}.mp4"
    for template in TEMPLATES:
        with pytest.raises(ValueError):
            expanded(template, fields)


@pytest.mark.parametrize("value", [5, 5.0, "5", "10"])
def test_counts_are_whole_numbers_or_their_texts(value: object) -> None:
    assert whole(value, "it", most=10) == int(str(value).removesuffix(".0"))


@pytest.mark.parametrize("value", NO_COUNTS)
def test_what_is_no_count_is_refused_by_its_name(value: object) -> None:
    with pytest.raises(ValueError, match=r"^the length is .{0,110}, not a whole number from 0 to 10$"):
        whole(value, "the length", most=10)


def test_the_cache_of_hugging_face_is_part_of_a_data_set(tmp_path: Path) -> None:
    blobs, snapshot = tmp_path / "datasets--me--cubes/blobs", tmp_path / "datasets--me--cubes/snapshots/abc"
    snapshot.mkdir(parents=True)
    blobs.mkdir()
    (blobs / "0123").write_text("x")
    (snapshot / "a").symlink_to(blobs / "0123")
    (snapshot / "b").symlink_to(tmp_path / "other")
    # A data set may itself be reached by a link.
    (tmp_path / "mine").symlink_to(snapshot)
    assert within(tmp_path / "mine", "a") == tmp_path / "mine/a"
    with pytest.raises(ValueError, match=r"b is a link out of the data set's folder, to .*other"):
        within(tmp_path / "mine", "b")


def test_what_is_stored_may_be_read_however_much_it_is() -> None:
    fits("it", bounds.FREE_BYTES, 0)
    fits("it", bounds.EXPANSION * 2**40, 2**40)
    with pytest.raises(ValueError, match=r"it would take 256\.0 MiB of memory, but 1\.0 KiB are stored"):
        fits("it", bounds.FREE_BYTES + 1, 1024)


@pytest.mark.parametrize("compression", ["snappy", "zstd", "gzip", "uncompressed"])
def test_the_size_of_columns_is_known_before_they_are_read(compression: str, tmp_path: Path) -> None:
    rows = 3000
    table = pl.DataFrame({
        "number": pl.Series(np.arange(rows) % 7, dtype=pl.Int64),
        "missing": pl.Series([None] * rows, dtype=pl.Float64),
        "text": ["x" * 100] * rows,
        "list": pl.Series(np.zeros((rows, 5), np.float32)).cast(pl.List(pl.Float32)),
        "array": pl.Series(np.zeros((rows, 5), np.float32)),
        "struct": [{"bytes": bytes(10), "path": None}] * rows,
    })  # fmt: skip
    file = tmp_path / "a.parquet"
    table.write_parquet(file, compression=compression, row_group_size=1000)  # type: ignore[arg-type]
    assert parquet_sizes.row_count(file) == rows
    found = {name: parquet_sizes.size_of(file, {name}) for name in table.columns}
    for name in ("number", "missing", "list", "array"):
        assert table[name].estimated_size() <= 1.2 * found[name] and found[name] <= 4 * table[name].estimated_size()
    # Texts that are the same are one, in the file and in memory; each row points to it.
    assert 16 * rows <= found["text"] <= 20 * rows and found["struct"] >= 32 * rows


def test_a_missing_array_takes_the_room_of_one(tmp_path: Path) -> None:
    file = tmp_path / "a.parquet"
    kind = pl.Array(pl.Float32, 1000)
    pl.DataFrame({"x": pl.Series([None] * 50_000, dtype=kind)}).write_parquet(file)
    assert file.stat().st_size < 20_000
    with pytest.raises(UnreadableData, match=r"a\.parquet cannot be read: it would take .* of memory"):
        read_table(file, lambda name, kind: True)


def test_a_footer_of_noise_is_no_parquet(tmp_path: Path) -> None:
    file, rng = tmp_path / "a.parquet", np.random.default_rng(0)
    pl.DataFrame({"x": [1, 2, 3], "y": ["a", "b", "c"]}).write_parquet(file)
    good = file.read_bytes()
    for _ in range(200):
        content = bytearray(good)
        for place in rng.integers(4, len(good) - 8, 3):
            content[place] = rng.integers(256)
        file.write_bytes(content)
        with contextlib.suppress(OSError, ValueError, LookupError, TypeError):
            assert parquet_sizes.size_of(file, {"x", "y"}) >= 0


def test_a_panic_of_polars_is_raised_and_not_printed(capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(pl.exceptions.PanicException), quiet():
        os.write(2, b"thread panicked")
        raise pl.exceptions.PanicException("no")
    with quiet():
        os.write(2, b"a warning")
    assert capfd.readouterr().err == "a warning"
