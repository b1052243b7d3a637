"""How a film is put together: the overview, the policy's pictures beside it, and the captions above and below."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from robodx.policy_contract import CameraRequest
from robodx.video.captions import Caption, Captions, Mood
from robodx.video.lettering import HEIGHT, RGB, WHITE, WIDTH, wrapped, written

Image = NDArray[np.uint8]

OVERVIEW = 384
# How high a policy's picture is shown, alone and among several; and how much wider it may be than high.
ALONE, AMONG, WIDEST = 256, 192, 4 / 3
# How many of a policy's pictures stand above each other.
STACKED = 2
# Pixels between pictures, and around the overview, which wears the mark's colour.
LINE = 6
# Pixels of a dot of a letter, of labels and at least: so large that captions are read where three films stand side by
# side on a page, with as many letters across a wide film as across a narrow one.
SMALL, LARGE, LETTERS_ACROSS = 2, 3, 36
MOST_LINES = 6
# Of the time.
CLOCK_LETTERS = 8
PAPER, GREY, AMBER, RED, GREEN = (16, 18, 22), (176, 180, 186), (255, 200, 60), (190, 24, 36), (18, 112, 56)
MOODS: dict[Mood, RGB] = {"plain": PAPER, "failed": RED, "solved": GREEN}


def line_height(scale: int, lines: int = 1) -> int:
    return scale * (HEIGHT * lines + 2)


def smaller(scale: int) -> int:
    return max(SMALL, round(2 * scale / 3))


def paragraph(scale: int) -> int:
    """Of two lines, or of three smaller ones."""
    return max(line_height(scale, 2), line_height(smaller(scale), 3))


@dataclass(frozen=True)
class Box:
    """A place in a film, in pixels from its upper left corner."""

    top: int
    left: int
    height: int
    width: int

    def put(self, film: Image, image: Image) -> None:
        film[self.top : self.top + self.height, self.left : self.left + self.width] = image


@dataclass(frozen=True)
class Words:
    """How much room captions take, in pixels: fixed through a film, and the same in nearly all of one arrangement.

    So films are of one height side by side. What is too long for large letters has small ones.
    """

    large: int
    instruction: int
    footnote: str
    footnote_room: int

    @classmethod
    def of(cls, captions: Captions, width: int, footnote: str) -> Words:
        """A paragraph for instructions, as nearly all need; more for the longest."""
        large = max(LARGE, round(width / (LETTERS_ACROSS * WIDTH)))
        small = smaller(large)
        lines = max([len(wrapped(text, width, small, MOST_LINES)) for text in captions.instructions], default=0)
        above = max(paragraph(large), line_height(small, lines)) if lines else 0
        beneath = line_height(SMALL, len(wrapped(footnote, width, SMALL))) if footnote else 0
        return cls(large, above, footnote, beneath)

    @property
    def label(self) -> int:
        """Above the pictures, with the time."""
        return line_height(self.large)

    @property
    def stage(self) -> int:
        return line_height(smaller(self.large), 2)

    @property
    def mark(self) -> int:
        return line_height(self.large)

    @property
    def note(self) -> int:
        return paragraph(self.large)

    @property
    def below(self) -> int:
        return self.stage + self.mark + self.note + self.footnote_room

    def text(self, text: str, width: int, room: int, ink: RGB, paper: RGB) -> Image:
        return _text(text, width, room, self.large, ink, paper)


@dataclass(frozen=True)
class Layout:
    """Where everything is: fixed through a film. Without words only the pictures are there."""

    overview: Box
    # By camera.
    seen: dict[str, Box]
    height: int
    width: int
    words: Words | None = None

    @classmethod
    def of(cls, cameras: Sequence[CameraRequest], captions: Captions | None = None, footnote: str = "") -> Layout:
        bare = _arranged(cameras, 0, 0)
        if captions is None:
            return bare
        inner = bare.width - 2 * LINE
        words = Words.of(captions, inner, footnote)
        placed = _arranged(cameras, words.instruction + words.label, line_height(SMALL))
        return replace(placed, height=_even(placed.height + words.below), words=words)

    def canvas(self) -> Image:
        film = np.empty((self.height, self.width, 3), dtype=np.uint8)
        film[:] = PAPER
        return film

    def write(self, film: Image, caption: Caption) -> None:
        """Everything that is said, but for the labels of pictures."""
        words, inner = self.words, self.width - 2 * LINE
        if words is None:
            return
        if words.instruction:
            ink, paper = (PAPER, AMBER) if caption.is_new_instruction else (WHITE, PAPER)
            film[: words.instruction] = paper
            film[: words.instruction, LINE:-LINE] = words.text(
                caption.instruction, inner, words.instruction, ink, paper
            )
        # Above the overview, on the right.
        box, clock = self.overview, CLOCK_LETTERS * WIDTH * words.large
        top, right = box.top - LINE - words.label, box.left + box.width
        film[top : top + words.label, right - clock : right] = words.text(
            caption.time.rjust(CLOCK_LETTERS - 1), clock, words.label, WHITE, PAPER
        )
        at = self.height - words.below
        film[at : at + words.stage, LINE:-LINE] = words.text(caption.stage, inner, words.stage, WHITE, PAPER)
        at, colour = at + words.stage, MOODS[caption.mood]
        film[at : at + words.mark + words.note] = colour
        film[at : at + words.mark, LINE:-LINE] = words.text(caption.mark, inner, words.mark, WHITE, colour)
        at, ink = at + words.mark, WHITE if caption.mark else AMBER
        film[at : at + words.note, LINE:-LINE] = words.text(caption.note, inner, words.note, ink, colour)
        self._frame(film, colour)

    def label(self, film: Image, box: Box, text: str, *, is_above: bool = False) -> None:
        """Grey, just beneath a picture or above it."""
        if self.words is None:
            return
        room = self.words.label if is_above else line_height(SMALL)
        top = box.top - room - LINE if is_above else box.top + box.height
        film[top : top + room, box.left : box.left + box.width] = self.words.text(text, box.width, room, GREY, PAPER)

    def note(self, film: Image) -> None:
        """What is said beneath everything, from the first picture to the last."""
        if self.words is not None and self.words.footnote:
            inner, room = self.width - 2 * LINE, self.words.footnote_room
            film[-room:, LINE:-LINE] = _text(self.words.footnote, inner, room, SMALL, GREY, PAPER)

    def _frame(self, film: Image, colour: RGB) -> None:
        """Around the overview: a mark that is seen where no letter is read any more."""
        box = self.overview
        top, left, bottom, right = box.top, box.left, box.top + box.height, box.left + box.width
        film[top - LINE : top, left - LINE : right + LINE] = colour
        film[bottom : bottom + LINE, left - LINE : right + LINE] = colour
        film[top:bottom, left - LINE : left] = colour
        film[top:bottom, right : right + LINE] = colour


def _arranged(cameras: Sequence[CameraRequest], top: int, label: int) -> Layout:
    """The pictures alone: the policy's own in columns to the right of the overview, which is as high as they are."""
    high = ALONE if len(cameras) == 1 else AMONG
    sizes = {camera.name: _shown_size(camera, high) for camera in cameras}
    names = list(sizes)
    columns = [names[start : start + STACKED] for start in range(0, len(names), STACKED)]
    heights = [sum(sizes[name][0] + label for name in column) + LINE * (len(column) - 1) for column in columns]
    side = _even(max(OVERVIEW, *heights, 0))
    left = side + 3 * LINE
    seen: dict[str, Box] = {}
    for column in columns:
        at = top + LINE
        for name in column:
            height, width = sizes[name]
            seen[name] = Box(at, left, height, width)
            at += height + label + LINE
        left += max(sizes[name][1] for name in column) + LINE
    width = _even(left if columns else side + 2 * LINE)
    return Layout(Box(top + LINE, LINE, side, side), seen, _even(top + side + 2 * LINE), width)


def _shown_size(camera: CameraRequest, high: int) -> tuple[int, int]:
    scale = min(high / camera.height, WIDEST * high / camera.width)
    return max(round(scale * camera.height), 1), max(round(scale * camera.width), 1)


def _even(size: int) -> int:
    """As videos need it."""
    return size + size % 2


def fitted(image: Image, height: int, width: int) -> Image:
    """In another size, each pixel the mean of what it covers: by whole numbers it is enlarged into squares."""
    if image.shape[:2] == (height, width):
        return image
    rows = _cover(image.shape[0], height) @ image.reshape(image.shape[0], -1).astype(np.float32)
    across = rows.reshape(height, image.shape[1], 3).swapaxes(0, 1).reshape(image.shape[1], -1)
    whole = (_cover(image.shape[1], width) @ across).reshape(width, height, 3).swapaxes(0, 1)
    return np.asarray(np.rint(whole).astype(np.uint8))


@lru_cache(maxsize=32)
def _cover(size: int, wanted: int) -> NDArray[np.float32]:
    """(wanted, size): the share that each old pixel has of each new one."""
    edges = np.arange(wanted + 1) * (size / wanted)
    pixels = np.arange(size)
    overlap = np.minimum(edges[1:, None], pixels + 1) - np.maximum(edges[:-1, None], pixels)
    return np.asarray((np.maximum(overlap, 0.0) * (wanted / size)).astype(np.float32))


@lru_cache(maxsize=64)
def _text(text: str, width: int, room: int, largest: int, ink: RGB, paper: RGB) -> Image:
    """(room, width, 3): in the largest letters that fit; of the smallest, the end may be cut off."""
    scales = [scale for scale in range(largest, SMALL, -1) if len(wrapped(text, width, scale)) <= _lines(room, scale)]
    scale = scales[0] if scales else SMALL
    most = _lines(room, scale)
    strip = written(wrapped(text, width, scale, most), width, scale, most, ink=ink, paper=paper)
    film = np.empty((room, width, 3), dtype=np.uint8)
    film[:] = paper
    film[: len(strip)] = strip
    return film


def _lines(room: int, scale: int) -> int:
    """How many there is room for."""
    return (room // scale - 2) // HEIGHT
