"""Cameras' pictures in the forms that policy servers ask for, each there and back."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from robodx.wires.messages import numbers_of

Orientation = Literal["upright", "rotated_180", "flipped_vertical", "flipped_horizontal"]
Layout = Literal["HWC", "CHW"]
Channels = Literal["RGB", "BGR"]
FLIPS: dict[Orientation, tuple[slice, slice]] = {
    "upright": (slice(None), slice(None)),
    "rotated_180": (slice(None, None, -1), slice(None, None, -1)),
    "flipped_vertical": (slice(None, None, -1), slice(None)),
    "flipped_horizontal": (slice(None), slice(None, None, -1)),
}
# "Upside down" could be a rotation or a flip, so no label says it.
ORIENTATIONS: dict[Orientation, str] = {
    "upright": "upright",
    "rotated_180": "rotated by 180°",
    "flipped_vertical": "flipped top to bottom",
    "flipped_horizontal": "flipped left to right",
}


@dataclass(frozen=True)
class Picture:
    """A camera's picture as a server wants it."""

    camera: str
    height: int = 224
    width: int = 224
    # What is drawn of it, in the middle; the rest is black. 0: all of it. Real cameras are wide, their pictures padded.
    content_height: int = 0
    content_width: int = 0
    orientation: Orientation = "upright"
    layout: Layout = "HWC"
    channels: Channels = "RGB"
    # Metres along the viewing axis, float32 (H, W), and not colours.
    is_depth: bool = False

    @property
    def content(self) -> tuple[int, int]:
        return self.content_height or self.height, self.content_width or self.width

    def with_border(self, share: float) -> Picture:
        """With the camera's whole picture in the middle, on this share of the frame; 1 is as large as fits.

        A wide picture stays as wide as it is for its height.
        """
        height, width = self.content
        most = max(height / self.height, width / self.width)
        height, width = round(share * height / most), round(share * width / most)
        is_all = (height, width) == (self.height, self.width)
        return replace(self, content_height=0 if is_all else height, content_width=0 if is_all else width)

    def write(self, image: NDArray[Any]) -> NDArray[Any]:
        image = image[FLIPS[self.orientation]]
        height, width = self.content
        if (height, width) != (self.height, self.width):
            whole = np.zeros((self.height, self.width, *image.shape[2:]), image.dtype)
            whole[self._inside()] = image
            image = whole
        image = self._reordered(image)
        if self.layout == "CHW" and image.ndim == 3:
            image = image.transpose(2, 0, 1)
        return np.ascontiguousarray(image)

    @property
    def shape(self) -> tuple[int, ...]:
        """As a server is sent it."""
        size = (self.height, self.width)
        return size if self.is_depth else (*size, 3) if self.layout == "HWC" else (3, *size)

    def read(self, key: str, value: object) -> NDArray[Any]:
        """The reverse, of what came under the key."""
        try:
            image = numbers_of(value)
        except ValueError as error:
            raise ValueError(f"{key} must be a picture, but is {error}") from error
        kind = "float32" if self.is_depth else "uint8"
        if image.shape != self.shape or (image.dtype.kind != "f" if self.is_depth else image.dtype != np.uint8):
            came = f"{image.dtype} of shape {image.shape}" if image.dtype.kind in "biuf" else type(value).__name__
            raise ValueError(f"{key} must be a picture, {kind} of shape {self.shape}, but is {came}")
        if self.layout == "CHW" and image.ndim == 3:
            image = image.transpose(1, 2, 0)
        return np.ascontiguousarray(self._reordered(image)[self._inside()][FLIPS[self.orientation]])

    def _reordered(self, image: NDArray[Any]) -> NDArray[Any]:
        return image[..., ::-1] if self.channels == "BGR" and not self.is_depth else image

    def _inside(self) -> tuple[slice, slice]:
        height, width = self.content
        top, left = (self.height - height) // 2, (self.width - width) // 2
        return slice(top, top + height), slice(left, left + width)
