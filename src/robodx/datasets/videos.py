"""Pictures as H.264 videos: encoded so that single pictures are found fast, and read by step."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction
from pathlib import Path
from typing import cast

import av
import numpy as np
from av.container import InputContainer
from av.video.frame import VideoFrame
from av.video.stream import VideoStream
from numpy.typing import NDArray

from robodx.datasets import mp4_sizes
from robodx.datasets.bounds import MOST_PIXELS
from robodx.datasets.schema import Images, Pictures, Video

# Training reads pictures in random order: with a key frame every second picture, finding one decodes two at most.
KEY_EVERY = 2
# Visually lossless at these sizes; one thread, so that the same pictures give the same bytes.
OPTIONS: dict[str, object] = {"crf": "18", "preset": "veryfast", "g": str(KEY_EVERY), "bf": "0", "threads": "1"}
# Codec, pixels and options of videos, and of those that give back the very pictures, which few players play.
LOSSY = ("libx264", "yuv420p", OPTIONS)
LOSSLESS = ("libx264rgb", "rgb24", {**OPTIONS, "crf": "0", "preset": "ultrafast"})
# FFmpeg's name of its reader of MP4, the only container of LeRobot's videos. Others can name other files, and what they
# ask for is not checked. Titles of chapters may repeat a part of the file without end. Where edits leave out most of a
# file, seeking takes time that grows with its square; without them the first one still says when a video begins.
MP4_ONLY = {"format_whitelist": "mov,mp4,m4a,3gp,3g2,mj2", "ignore_chapters": "1", "advanced_editlist": "0"}
# Decoders hold back 16 pictures or so until they give the first.
MOST_EMPTY = 1000


def encode(path: Path, images: Iterable[NDArray[np.uint8]], hz: float, *, is_lossless: bool = False) -> None:
    """Pictures (height, width, 3) with even sides; timestamps are whole multiples of the period."""
    codec, pixels, options = LOSSLESS if is_lossless else LOSSY
    with av.open(str(path), "w", format="mp4") as file:
        rate = Fraction(hz).limit_denominator(1000)
        stream = None
        for image in images:
            if stream is None:
                stream = cast("VideoStream", file.add_stream(codec, rate=rate))
                stream.height, stream.width, _ = image.shape
                stream.pix_fmt = pixels
                stream.options = options
            file.mux(stream.encode(av.VideoFrame.from_ndarray(image, format="rgb24")))
        if stream is None:
            raise ValueError("a video needs at least one picture")
        file.mux(stream.encode())


def pictures(video: Video, count: int, hz: float, most_pixels: int = MOST_PIXELS) -> Pictures:
    """Those of an episode, which may begin somewhere in a longer video; none may be larger than that."""

    def read(steps: Sequence[int]) -> Images:
        return _read(video, steps, hz, most_pixels)

    return Pictures(count, read, video)


def opened(path: Path) -> InputContainer:
    mp4_sizes.check(path)
    return av.open(str(path), container_options=MP4_ONLY)


def _read(video: Video, steps: Sequence[int], hz: float, most_pixels: int) -> Images:
    wanted: dict[int, NDArray[np.uint8]] = dict.fromkeys(steps, np.empty(0, np.uint8))
    with opened(video.path) as file:
        stream = file.streams.video[0]
        stream.thread_count = 1
        stream.codec_context.options = {"max_pixels": str(MOST_PIXELS)}
        base = stream.time_base or Fraction(1, 1000)
        for run in _runs(sorted(wanted)):
            # To the key frame before: an index in the file, so that what lies before is not decoded.
            file.seek(max(int((video.first_s + run[0] / hz) / base), 0), stream=stream, backward=True)
            for frame in _decoded(file, stream):
                index = round((float((frame.pts or 0) * base) - video.first_s) * hz)
                if frame.width * frame.height > most_pixels:
                    raise ValueError(f"its pictures are {frame.height}×{frame.width}, larger than the data set says")
                if index in wanted:
                    wanted[index] = np.asarray(frame.to_ndarray(format="rgb24"), dtype=np.uint8)
                if index >= run[-1]:
                    break
    if missing := [step for step, image in wanted.items() if not image.size]:
        raise ValueError(f"{video.path} has no picture at {video.first_s + missing[0] / hz:.3f} s")
    return np.stack([wanted[step] for step in steps])


def _decoded(file: InputContainer, stream: VideoStream) -> Iterator[VideoFrame]:
    """As `file.decode`, which looks for the next picture without end and without heeding signals."""
    empty = 0
    for packet in file.demux(stream):
        found = packet.decode()
        yield from found
        empty = 0 if found else empty + 1
        if empty > MOST_EMPTY:
            raise ValueError(f"it has {empty:,} samples in a row without a picture")


def _runs(steps: Sequence[int]) -> list[list[int]]:
    """Steps that are near each other, so that decoding on is cheaper than seeking."""
    runs: list[list[int]] = []
    for step in steps:
        if runs and step - runs[-1][-1] <= 2 * KEY_EVERY:
            runs[-1].append(step)
        else:
            runs.append([step])
    return runs
