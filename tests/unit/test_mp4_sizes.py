"""Videos whose description asks for more than the file holds: refused before FFmpeg follows it."""

from __future__ import annotations

import contextlib
import struct
from fractions import Fraction
from pathlib import Path

import av
import numpy as np
import pytest
from hostile.data_sets import V21_VIDEO, make, samples

from robodx.datasets import mp4_sizes, videos
from robodx.datasets.schema import Video


@pytest.fixture
def data(tmp_path: Path) -> Path:
    make("lerobot-v2.1", tmp_path / "data")
    return tmp_path / "data"


def box(name: bytes, content: bytes, *, is_large: bool = False) -> bytes:
    if is_large:
        return struct.pack(">I4sQ", 1, name, 16 + len(content)) + content
    return struct.pack(">I4s", 8 + len(content), name) + content


def sizes(size: int, count: int, *listed: int) -> bytes:
    return struct.pack(f">{3 + len(listed)}I", 0, size, count, *listed)


def refusal(path: Path, content: bytes) -> str:
    path.write_bytes(content)
    with pytest.raises(ValueError) as found:
        mp4_sizes.check(path)
    return str(found.value)


def is_sound(path: Path, content: bytes) -> bool:
    path.write_bytes(content)
    mp4_sizes.check(path)
    return True


def test_a_video_of_60_million_samples_is_refused_before_it_is_opened(
    data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    samples(60_000_000)(data)
    monkeypatch.setattr(av, "open", lambda *_, **__: pytest.fail("FFmpeg was asked"))
    with pytest.raises(ValueError, match=r"^its 60,000,000 samples would have 57\.2 MiB, but it has [0-9.]+ KiB$"):
        videos.pictures(Video(data / V21_VIDEO), 4, 10.0).all()


@pytest.mark.parametrize("is_large", [False, True])
@pytest.mark.parametrize("holders", [(), (b"udta",), (b"moov", b"trak", b"edts", b"dinf"), (b"what",)])
def test_tables_count_wherever_they_are(tmp_path: Path, holders: tuple[bytes, ...], is_large: bool) -> None:
    content = box(b"stsz", sizes(1, 10**6), is_large=is_large)
    for holder in holders:
        content = box(holder, content, is_large=is_large)
    assert refusal(tmp_path / "a.mp4", content).startswith("its 1,000,000 samples would have 976.6 KiB")


def test_what_is_in_the_media_data_is_no_table(tmp_path: Path) -> None:
    inner = box(b"stsz", sizes(1, 10**9))
    sound = box(b"moov", box(b"stsz", sizes(0, 1, 5)))
    for media in (box(b"mdat", inner), box(b"mdat", inner, is_large=True)):
        assert is_sound(tmp_path / "a.mp4", media + sound)
    # To the end of the file, or beyond it.
    for size in (0, 10**9):
        assert is_sound(tmp_path / "a.mp4", sound + struct.pack(">I4s", size, b"mdat") + inner)


def test_all_tables_of_a_file_share_its_room(tmp_path: Path) -> None:
    table = box(b"stsz", sizes(0, 2, 30, 30))
    assert is_sound(tmp_path / "a.mp4", table + box(b"mdat", bytes(60)))
    assert "its 6 samples would have 180 bytes" in refusal(tmp_path / "a.mp4", 3 * table + box(b"mdat", bytes(60)))


@pytest.mark.parametrize("size", [0, 1, 7, 9, 2**31, 2**32 - 1])
def test_a_box_of_any_size_hides_no_table(tmp_path: Path, size: int) -> None:
    hidden = struct.pack(">I4s", size, b"free") + box(b"stsz", sizes(1, 10**9))
    assert "its 1,000,000,000 samples" in refusal(tmp_path / "a.mp4", hidden)


@pytest.mark.parametrize("length", range(8, 20))
def test_a_table_that_is_cut_off_is_refused(tmp_path: Path, length: int) -> None:
    """FFmpeg would go on reading in what follows."""
    cut = box(b"stsz", sizes(1, 10**9))[:length]
    assert "cut off" in refusal(tmp_path / "a.mp4", box(b"moov", cut) + box(b"mdat", bytes(100)))
    assert "cut off" in refusal(tmp_path / "a.mp4", cut)


def test_an_index_of_many_samples_must_fit_what_is_stored(tmp_path: Path) -> None:
    path = tmp_path / "a.mp4"
    path.write_bytes(box(b"stsz", sizes(1, 10**8)) + struct.pack(">I4s", 0, b"mdat"))
    with path.open("r+b") as file:
        file.truncate(2**40)
    with pytest.raises(ValueError, match=r"an index of its 100,000,000 samples would take 6\.7 GiB of memory"):
        mp4_sizes.check(path)
    path.write_bytes(box(b"stsz", sizes(1, 10)))
    with path.open("r+b") as file:
        file.truncate(2**40)
    with pytest.raises(ValueError, match=r"it has more than 64\.0 MiB beside its media data"):
        mp4_sizes.check(path)


@pytest.mark.parametrize("part", [box(b"mdat", b""), box(b"free", b""), b"stsz" + bytes(12), b"elst", b"stsz"])
def test_very_many_parts_take_little_time(tmp_path: Path, part: bytes) -> None:
    content = part * (2**21 // len(part))
    assert refusal(tmp_path / "a.mp4", content if part[4:] in (b"mdat", b"free") else box(b"moov", content))


def test_tables_that_overlap_are_not_read_again_and_again(tmp_path: Path) -> None:
    headers = b"".join(b"stsz" + sizes(0, 2**20) for _ in range(1000))
    said = refusal(tmp_path / "a.mp4", box(b"moov", headers + bytes(2**22)))
    assert "an index of its" in said or "samples would have" in said


def test_words_of_a_text_are_no_boxes(tmp_path: Path) -> None:
    text = b"Nelstrom wrote of the absence of trunks and of the presence of elsters"
    assert is_sound(tmp_path / "a.mp4", box(b"stsz", sizes(1, 1)) + box(b"udta", text))


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (box(b"trex", bytes(24)), "fragments"),
        (box(b"cmov", box(b"dcom", b"zlib")), "compressed"),
        (box(b"iprp", box(b"ipco", b"")), "still pictures"),
        (box(b"tenc", b"") + box(b"senc", b""), "encrypted"),
        (box(b"elst", struct.pack(">2I", 0, 3) + bytes(36)), "3 edits, more than 2"),
        (b"not a video at all", "no MP4"),
        (b"", "no MP4"),
    ],
)
def test_what_no_video_of_a_data_set_has_is_refused(tmp_path: Path, content: bytes, says: str) -> None:
    assert says in refusal(tmp_path / "a.mp4", content)


def test_noise_in_a_description_ends_in_one_line_or_is_read(data: Path) -> None:
    rng, path = np.random.default_rng(0), data / V21_VIDEO
    good = path.read_bytes()
    for _ in range(60):
        content = bytearray(good)
        for place in rng.integers(0, len(good), 5):
            content[place] = rng.integers(256)
        path.write_bytes(content)
        with contextlib.suppress(ValueError):
            mp4_sizes.check(path)


def test_samples_without_pictures_end_a_reading(data: Path) -> None:
    """Each only says that a sequence ends."""
    samples(50_000, 5)(data)
    path = data / V21_VIDEO
    content = bytearray(path.read_bytes())
    struct.pack_into(">I", content, content.index(b"stco") + 12, len(content) + 8)
    path.write_bytes(content + box(b"mdat", 50_000 * b"\0\0\0\1\x0a"))
    with pytest.raises(ValueError, match=r"it has 1,001 samples in a row without a picture"):
        videos.pictures(Video(path), 4, 10.0).all()


@pytest.mark.parametrize(
    ("codec", "options"), [("libx264", {"bf": "3", "g": "12"}), ("libx264", {"bf": "0"}), ("mpeg4", {})]
)
def test_videos_of_others_are_read_by_time(tmp_path: Path, codec: str, options: dict[str, str]) -> None:
    """Such with pictures out of order begin with an edit that says so."""
    path, levels = tmp_path / "a.mp4", range(10, 250, 6)
    with av.open(str(path), "w", options={"movflags": "faststart"}) as file:
        stream = file.add_stream(codec, rate=Fraction(10))
        assert isinstance(stream, av.VideoStream)
        stream.height = stream.width = 32
        stream.pix_fmt, stream.options = "yuv420p", dict(options)
        for level in levels:
            file.mux(stream.encode(av.VideoFrame.from_ndarray(np.full((32, 32, 3), level, np.uint8), format="rgb24")))
        file.mux(stream.encode())
    found = videos.pictures(Video(path), len(levels), 10.0)
    for step in (0, 1, 17, 39):
        assert abs(float(found.read([step]).mean()) - levels[step]) < 3
    later = videos.pictures(Video(path, 2.0), 10, 10.0).all().mean(axis=(1, 2, 3))
    assert np.abs(later - np.array(levels[20:30])).max() < 3
