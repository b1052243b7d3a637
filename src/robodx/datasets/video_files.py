"""Videos of several episodes in one file: what is encoded already is copied, without encoding it again."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from fractions import Fraction
from pathlib import Path
from typing import NamedTuple

import av
import numpy as np
from av.container import InputContainer, OutputContainer
from av.packet import Packet
from av.video.stream import VideoStream
from numpy.typing import NDArray

from robodx.datasets import videos
from robodx.datasets.foreign_files import reading
from robodx.datasets.schema import Pictures, Video
from robodx.errors import UserError

AT_ONCE = 16


class Clip(NamedTuple):
    """The encoded pictures of one episode, of a file that is open."""

    stream: VideoStream
    packets: list[Packet[VideoStream]]

    @property
    def header(self) -> bytes:
        """What a player must know before the first picture: only what has the same can follow in a file."""
        return self.stream.codec_context.extradata or b""

    @property
    def size(self) -> int:
        return sum(packet.size for packet in self.packets)


@contextmanager
def clip(pictures: Pictures, hz: float, scratch: Path) -> Iterator[Clip]:
    """Of the video that there is if it can be copied, else of one that is encoded at `scratch` meanwhile."""
    if pictures.video is not None:
        with ExitStack() as files:
            with reading(pictures.video.path):
                file = files.enter_context(videos.opened(pictures.video.path))
                found = _clip(file, pictures.video, len(pictures), hz)
            if found:
                yield found
                return
    try:
        videos.encode(scratch, _each(pictures), hz)
        with av.open(str(scratch)) as file:
            encoded = _clip(file, Video(scratch), len(pictures), hz)
            assert encoded is not None, "what was just encoded can be copied"
            yield encoded
    finally:
        scratch.unlink(missing_ok=True)


class VideoFile:
    """A new file of clips, one after the other, with a picture of one size (height, width) every period."""

    def __init__(self, path: Path, hz: float, shape: tuple[int, int]) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self.size, self.count = 0, 0
        self._period, self._shape = 1 / Fraction(hz).limit_denominator(1000), shape
        self._path = path
        self._header: bytes | None = None
        self._file: OutputContainer | None = None
        self._stream: VideoStream | None = None

    @property
    def seconds(self) -> float:
        return float(self.count * self._period)

    def takes(self, clip: Clip) -> bool:
        return self._header is None or self._header == clip.header

    def add(self, clip: Clip) -> None:
        if (found := (clip.stream.height, clip.stream.width)) != self._shape:
            raise UserError(f"pictures for {self._path} are {found} pixels (height, width), not {self._shape}")
        if self._file is None or self._stream is None:
            self._file = av.open(str(self._path), "w", format="mp4")
            self._stream = self._file.add_stream_from_template(clip.stream)
            self._stream.time_base = self._period
            self._header = clip.header
        for packet in clip.packets:
            packet.stream = self._stream
            packet.time_base = self._period
            packet.pts = packet.dts = self.count
            packet.duration = 1
            self.size += packet.size
            self._file.mux(packet)
            self.count += 1

    def close(self) -> None:
        if self._file is not None:
            self._file.close()


def _each(pictures: Pictures) -> Iterator[NDArray[np.uint8]]:
    for first in range(0, len(pictures), AT_ONCE):
        yield from pictures.read(range(first, min(first + AT_ONCE, len(pictures))))


def _clip(file: InputContainer, video: Video, count: int, hz: float) -> Clip | None:
    """None where the pictures are no H.264 of their own: from a key frame on, in their order, one a step."""
    stream = file.streams.video[0]
    base = stream.time_base
    if stream.codec_context.name != "h264" or stream.pix_fmt != "yuv420p" or base is None:
        return None
    file.seek(max(int(video.first_s / base), 0), stream=stream, backward=True)
    packets: list[Packet[VideoStream]] = []
    for packet in file.demux(stream):
        if packet.pts is None:
            break
        index = round((float(packet.pts * base) - video.first_s) * hz)
        if index < 0 and not packets:
            continue
        if index == count and len(packets) == count:
            break
        if index != len(packets):
            return None
        packets.append(packet)
    return Clip(stream, packets) if len(packets) == count and packets[0].is_keyframe else None
