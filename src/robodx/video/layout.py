"""How a film is put together: the overview, the policy's pictures beside it, and the captions above and below."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
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
# Pixels of a dot of a letter: the small ones are still read where a film of this width is shown on a phone.
SMALL, LARGE = 2, 3
MOST_LINES = 6
# Of the time, with a gap before it.
CLOCK_LETTERS = 9
PAPER, GREY, AMBER, RED, GREEN = (16, 18, 22), (176, 180, 186), (255, 200, 60), (190, 24, 36), (18, 112, 56)
MOODS: dict[Mood, RGB] = {"plain": PAPER, "failed": RED, "solved": GREEN}


def line_height(scale: int, lines: int = 1) -> int:
    return scale * (HEIGHT * lines + 2)


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
    """How much room each caption takes, fixed through a film: in lines, of letters of this scale."""

    instruction: int
    instruction_scale: int
    stage: int
    note: int
    footnote: str

    @classmethod
    def of(cls, captions: Captions, width: int, footnote: str) -> Words:
        """Enough for the longest."""

        def lines(texts: Iterable[str], scale: int, most: int) -> int:
            return max([len(wrapped(text, width, scale, most)) for text in texts], default=0)

        scale = LARGE if lines(captions.instructions, LARGE, MOST_LINES) <= 2 else SMALL
        beside_clock = width - CLOCK_LETTERS * WIDTH * SMALL
        stages = [len(wrapped(text, beside_clock, SMALL, 2)) for text in captions.all_stages]
        return cls(
            lines(captions.instructions, scale, MOST_LINES),
            scale,
            max(stages, default=1),
            max(lines([captions.says], SMALL, 3), 1),
            footnote,
        )

    @property
    def above(self) -> int:
        """In pixels."""
        return line_height(self.instruction_scale, self.instruction) if self.instruction else 0

    def below(self, width: int) -> int:
        footnote = line_height(SMALL, len(wrapped(self.footnote, width, SMALL))) if self.footnote else 0
        return line_height(SMALL, self.stage) + line_height(LARGE) + line_height(SMALL, self.note) + footnote


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
        words, label = Words.of(captions, inner, footnote), line_height(SMALL)
        placed = _arranged(cameras, words.above + label, label)
        return replace(placed, height=_even(placed.height + words.below(inner)), words=words)

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
            film[: words.above] = paper
            film[: words.above, LINE:-LINE] = _text(
                caption.instruction, inner, words.instruction_scale, words.instruction, ink, paper
            )
        at = self.height - words.below(inner)
        clock = CLOCK_LETTERS * WIDTH * SMALL
        film[at : at + line_height(SMALL, words.stage), LINE : LINE + inner - clock] = _text(
            caption.stage, inner - clock, SMALL, words.stage, WHITE, PAPER
        )
        film[at : at + line_height(SMALL), -LINE - clock : -LINE] = _text(
            caption.time.rjust(CLOCK_LETTERS - 1), clock, SMALL, 1, WHITE, PAPER
        )
        at += line_height(SMALL, words.stage)
        colour = MOODS[caption.mood]
        film[at : at + line_height(LARGE) + line_height(SMALL, words.note)] = colour
        film[at : at + line_height(LARGE), LINE:-LINE] = _mark(caption.mark, inner, colour)
        at += line_height(LARGE)
        ink = WHITE if caption.mark else AMBER
        film[at : at + line_height(SMALL, words.note), LINE:-LINE] = _text(
            caption.note, inner, SMALL, words.note, ink, colour
        )
        self._frame(film, colour)

    def label(self, film: Image, box: Box, text: str, *, is_above: bool = False) -> None:
        """Grey, just beneath a picture or above it."""
        top = box.top - line_height(SMALL) - LINE if is_above else box.top + box.height
        film[top : top + line_height(SMALL), box.left : box.left + box.width] = _text(
            text, box.width, SMALL, 1, GREY, PAPER
        )

    def note(self, film: Image) -> None:
        """What is said beneath everything, from the first picture to the last."""
        if self.words is not None and self.words.footnote:
            inner = self.width - 2 * LINE
            lines = len(wrapped(self.words.footnote, inner, SMALL))
            film[-line_height(SMALL, lines) :, LINE:-LINE] = _text(
                self.words.footnote, inner, SMALL, lines, GREY, PAPER
            )

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
def _text(text: str, width: int, scale: int, lines: int, ink: RGB, paper: RGB) -> Image:
    return written(wrapped(text, width, scale, lines), width, scale, lines, ink=ink, paper=paper)


@lru_cache(maxsize=16)
def _mark(text: str, width: int, colour: RGB) -> Image:
    """Large if it fits into a line."""
    is_large = len(wrapped(text, width, LARGE)) <= 1
    bar = np.empty((line_height(LARGE), width, 3), dtype=np.uint8)
    bar[:] = colour
    strip = _text(text, width, LARGE if is_large else SMALL, 1, WHITE, colour)
    top = (len(bar) - len(strip)) // 2
    bar[top : top + len(strip)] = strip
    return bar
