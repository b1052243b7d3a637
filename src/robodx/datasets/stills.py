"""Single pictures as PNG or JPEG, and read from either."""

from __future__ import annotations

from fractions import Fraction

import av
import numpy as np
from numpy.typing import NDArray

from robodx.datasets.bounds import MOST_PIXELS

# Codecs by what their files begin with.
# How coarse a JPEG is, from 2 on: at 3 nothing of it is seen.
JPEG_SCALE = "3"
CODECS = {b"\x89PNG": "png", b"\xff\xd8\xff": "mjpeg"}


def to_png(image: NDArray[np.uint8]) -> bytes:
    """A picture (height, width, 3)."""
    codec = av.CodecContext.create("png", "w")
    codec.height, codec.width, _ = image.shape
    codec.pix_fmt = "rgb24"
    codec.time_base = Fraction(1, 1)
    frame = av.VideoFrame.from_ndarray(np.ascontiguousarray(image), format="rgb24")
    return b"".join(bytes(packet) for packet in [*codec.encode(frame), *codec.encode(None)])


def to_jpeg(image: NDArray[np.uint8]) -> bytes:
    """A picture (height, width, 3) with even sides; a tenth of a PNG's bytes and time, for what is looked at once."""
    codec = av.CodecContext.create("mjpeg", "w")
    codec.height, codec.width, _ = image.shape
    codec.pix_fmt = "yuvj420p"
    codec.time_base = Fraction(1, 1)
    codec.options = {"qmin": JPEG_SCALE, "qmax": JPEG_SCALE}
    frame = av.VideoFrame.from_ndarray(np.ascontiguousarray(image), format="rgb24")
    return b"".join(bytes(packet) for packet in [*codec.encode(frame), *codec.encode(None)])


def from_bytes(data: bytes) -> NDArray[np.uint8]:
    """Raises ValueError if the bytes are no such picture."""
    for beginning, name in CODECS.items():
        if data.startswith(beginning):
            codec = av.CodecContext.create(name, "r")
            assert isinstance(codec, av.VideoCodecContext)
            codec.thread_count = 1
            codec.options = {"max_pixels": str(MOST_PIXELS)}
            try:
                frames = [*codec.decode(av.Packet(data)), *codec.decode(None)]
            except av.FFmpegError as error:
                raise ValueError(
                    f"a picture in {name} is damaged, or has more than {MOST_PIXELS:,} pixels: {error}"
                ) from error
            if frames:
                return np.asarray(frames[0].to_ndarray(format="rgb24"), dtype=np.uint8)
    raise ValueError(f"a picture is neither PNG nor JPEG: it begins with {data[:4]!r}")
