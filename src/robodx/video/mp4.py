"""Films as files: H.264 that browsers play."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from pathlib import Path

import av
import numpy as np
from numpy.typing import NDArray

from robodx.records import files

# Noise cannot be compressed: beyond this it gets coarse. Films of other pictures stay far below.
MOST_KBIT_S = 500


def write_mp4(path: Path, frames: Iterable[NDArray[np.uint8]], hz: float, *, comment: str | None = None) -> None:
    """Pictures with even sides; whole or not at all. A comment is kept in the file, and not seen."""
    with (
        files.beside(path) as part,
        av.open(str(part), "w", format="mp4", options={"movflags": "faststart"}) as file,
    ):
        stream = None
        if comment is not None:
            file.metadata["comment"] = comment
        for frame in frames:
            if stream is None:
                stream = file.add_stream("libx264", rate=Fraction(hz).limit_denominator(1000))
                stream.height, stream.width, _ = frame.shape
                stream.pix_fmt = "yuv420p"
                stream.options = {
                    "crf": "23",
                    "preset": "veryfast",
                    "x264-params": f"vbv-maxrate={MOST_KBIT_S}:vbv-bufsize={2 * MOST_KBIT_S}",
                }
            file.mux(stream.encode(av.VideoFrame.from_ndarray(frame, format="rgb24")))
        if stream is None:
            raise ValueError("a video needs at least one frame")
        file.mux(stream.encode())
