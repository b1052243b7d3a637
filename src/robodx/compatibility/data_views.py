"""What a policy may want to be shown otherwise than a data set has it: pictures and state. One entry each."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache, partial
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from robodx.compatibility.data_frames import DataFrame, Image, State, widths_of
from robodx.wires.parts import PARTS
from robodx.wires.pictures import FLIPS, ORIENTATIONS
from robodx.wires.preset import Preset

Vector = NDArray[np.float32]
# The share of a picture's sides that is left of it, as OpenVLA and others are trained.
CROP = 0.9
# Two shapes of picture are the same up to this.
SAME_SHAPE = 0.02


@lru_cache(maxsize=64)
def _weights(size: int, wanted: int) -> NDArray[np.float32]:
    """(wanted, size): bilinear, over as many pixels as are merged."""
    step = size / wanted
    centres = (np.arange(wanted) + 0.5) * step - 0.5
    found = np.maximum(0.0, 1.0 - np.abs(np.arange(size) - centres[:, None]) / max(step, 1.0))
    return np.asarray(found / found.sum(axis=1, keepdims=True), dtype=np.float32)


def resized(image: Image, height: int, width: int) -> Image:
    if image.shape[:2] == (height, width):
        return image
    rows = _weights(image.shape[0], height) @ image.reshape(image.shape[0], -1).astype(np.float32)
    found = np.matmul(_weights(image.shape[1], width), rows.reshape(height, image.shape[1], -1))
    return np.asarray(np.clip(np.rint(found), 0, 255), dtype=np.uint8)


def cropped(image: Image, share: float) -> Image:
    height, width = image.shape[:2]
    high, wide = max(1, round(share * height)), max(1, round(share * width))
    top, left = (height - high) // 2, (width - wide) // 2
    return resized(image[top : top + high, left : left + wide], height, width)


def coarsened(image: Image, times: int) -> Image:
    height, width = image.shape[:2]
    return resized(resized(image, max(1, height // times), max(1, width // times)), height, width)


def padded(image: Image, height: int, width: int) -> Image:
    """As large as fits into so many pixels without another shape; the rest is black."""
    scale = min(height / image.shape[0], width / image.shape[1])
    high, wide = max(1, round(scale * image.shape[0])), max(1, round(scale * image.shape[1]))
    whole = np.zeros((height, width, 3), np.uint8)
    top, left = (height - high) // 2, (width - wide) // 2
    whole[top : top + high, left : left + wide] = resized(image, high, wide)
    return whole


@dataclass(frozen=True)
class PictureChange:
    """What is done to a picture of the data set, of which so many pixels are wanted, before the preset sends it."""

    aspect: str
    # After "it expects its pictures".
    words: str
    change: Callable[[Image, int, int], Image]
    # Whether one of several cameras may be so by itself.
    is_tried_alone: bool = False
    is_possible: Callable[[Image, int, int], bool] = lambda image, height, width: True


PICTURES: tuple[PictureChange, ...] = (
    PictureChange(
        "BGR pictures", "in the order blue, green, red", lambda image, *_: image[..., ::-1], is_tried_alone=True
    ),
    *(
        PictureChange("image orientation", words, lambda image, *_, turn=FLIPS[name]: image[turn], is_tried_alone=True)
        for name, words in ORIENTATIONS.items()
        if name != "upright"
    ),
    PictureChange("crop", f"cropped to the middle {CROP:.0%}", lambda image, *_: cropped(image, CROP)),
    *(
        PictureChange("picture size", f"{times}× coarser", lambda image, *_, times=times: coarsened(image, times))
        for times in (2, 4)
    ),
    PictureChange(
        "picture shape",
        "padded with black, not stretched",
        padded,
        is_possible=lambda image, height, width: abs(image.shape[0] * width / image.shape[1] / height - 1) > SAME_SHAPE,
    ),
)


@dataclass(frozen=True)
class StateChange:
    """What else may be meant by the vectors under some keys, joined; None where it cannot be."""

    aspect: str
    words: str
    change: Callable[[DataFrame, Vector, NDArray[np.bool_] | None], Vector | None]


def _in_unit(factor: float) -> Callable[[DataFrame, Vector, NDArray[np.bool_] | None], Vector | None]:
    def change(_: DataFrame, vector: Vector, are_angles: NDArray[np.bool_] | None) -> Vector | None:
        if are_angles is None or not are_angles.any():
            return None
        return np.where(are_angles, np.float32(factor) * vector, vector)

    return change


def _last_action(frame: DataFrame, vector: Vector, _: object) -> Vector | None:
    last = frame.actions[frame.step - 1]
    return last.astype(np.float32) if len(last) == len(vector) else None


def _named(name: str, frame: DataFrame, vector: Vector, _: object) -> Vector | None:
    other = frame.vectors[name]
    return other if len(other) == len(vector) and not np.array_equal(other, vector) else None


STATES: tuple[StateChange, ...] = (
    StateChange("state missing", "to be all zeros", lambda frame, vector, _: np.zeros_like(vector)),
    StateChange("state from another source", "to be the action of the step before", _last_action),
    StateChange("state in degrees", "in degrees, where it gets radians", _in_unit(180 / np.pi)),
    StateChange("state in degrees", "in radians, where it gets degrees", _in_unit(np.pi / 180)),
)


@dataclass(frozen=True)
class Showing:
    """How frames become requests: the preset, and changes of what it is given."""

    preset: Preset
    # By the preset's camera.
    pictures: Mapping[str, tuple[PictureChange, ...]] = field(default_factory=dict)
    # Whose picture a camera of the preset gets, where it is not its own.
    swapped: Mapping[str, str] = field(default_factory=dict)
    state: tuple[tuple[tuple[str, ...], StateChange], ...] = ()

    def images(self, frame: DataFrame) -> dict[str, Image]:
        """By camera, in the size that the preset asks for."""
        found = {}
        for picture in self.preset.images.values():
            camera, (height, width) = picture.camera, picture.content
            image = frame.pictures[self.swapped.get(camera, camera)]
            for one in self.pictures.get(camera, ()):
                image = one.change(image, height, width)
            found[camera] = resized(np.ascontiguousarray(image), height, width)
        return found

    def vectors(self, frame: DataFrame) -> State:
        state = dict(frame.state)
        for keys, one in self.state:
            changed = one.change(frame, np.concatenate([state[key] for key in keys]), self.angles(frame, keys))
            if changed is not None:
                ends = np.cumsum([len(state[key]) for key in keys])[:-1]
                state.update(zip(keys, np.split(changed.astype(np.float32), ends), strict=True))
        return state

    def angles(self, frame: DataFrame, keys: tuple[str, ...]) -> NDArray[np.bool_] | None:
        """Which numbers under the keys are angles; None where their widths do not tell."""
        masks = []
        for key in keys:
            parts = [PARTS[part] for _ in range(self.preset.arms) for part in self.preset.state[key]]
            flexible = sum(part.width is None for part in parts)
            rest = widths_of(frame, self.preset)[key] - sum(part.width or 0 for part in parts)
            if rest % flexible if flexible else rest:
                return None
            masks += [np.full(part.width or rest // max(flexible, 1), part.is_angles) for part in parts]
        return np.concatenate(masks)


@dataclass(frozen=True)
class View:
    """A hypothesis of what the policy wants to see: in a word, in a sentence, and how it is then shown."""

    aspect: str
    sentence: str
    showing: Showing


def views_of(showing: Showing, frame: DataFrame) -> Iterator[View]:
    """Every single change of what is shown, where one frame tells what is possible."""
    preset = showing.preset
    cameras = list(dict.fromkeys(picture.camera for picture in preset.images.values()))
    sizes = {picture.camera: picture.content for picture in preset.images.values()}
    for one in PICTURES:
        groups = [cameras, *([camera] for camera in cameras if len(cameras) > 1 and one.is_tried_alone)]
        for group in filter(None, groups):
            if any(one.is_possible(frame.pictures[camera], *sizes[camera]) for camera in group):
                changed = {camera: (*showing.pictures.get(camera, ()), one) for camera in group}
                which = "its pictures" if group == cameras else f"the pictures of {group[0]}"
                yield View(
                    one.aspect, f"it expects {which} {one.words}",
                    replace(showing, pictures={**showing.pictures, **changed}),
                )  # fmt: skip
    for first, second in combinations(cameras, 2):
        if not showing.swapped and not np.array_equal(frame.pictures[first], frame.pictures[second]):
            sentence = f"it expects {second} as {first} and {first} as {second}"
            yield View("cameras swapped", sentence, replace(showing, swapped={first: second, second: first}))
    keys = tuple(preset.state)
    others = [
        StateChange("state from another source", f"to be {name}", partial(_named, name)) for name in frame.vectors
    ]
    for state in (*STATES, *others):
        for names in filter(None, [keys, *((key,) for key in keys if len(keys) > 1)]):
            vector = np.concatenate([frame.state[key] for key in names])
            if state.change(frame, vector, showing.angles(frame, names)) is not None:
                which = "the state" if names == keys else names[0]
                yield View(
                    state.aspect, f"it expects {which} {state.words}",
                    replace(showing, state=(*showing.state, (names, state))),
                )  # fmt: skip
