"""Words in pictures, in dots: films need no font of the machine."""

from __future__ import annotations

import textwrap
import unicodedata

import numpy as np
from numpy.typing import NDArray

# The characters from the space to the tilde: five columns of nine dots each, three hexadecimal digits a column, whose
# lowest bit is the dot on top. The last two dots are below the line.
DOTS = """
    000000000000000 00000005F000000 000007000007000 01407F01407F014 02402A07F02A012 023013008064062 036049055022050
    000000007000000 00001C022041000 00004102201C000 01400803E008014 00800803E008008 000080060000000 008008008008008
    000060060000000 020010008004002 03E05104904503E 00004207F040000 042061051049046 02104104504B031 01801401207F010
    027045045045039 03C04A049049030 001071009005003 036049049049036 00604904902901E 000036036000000 000056036000000
    008014022041000 014014014014014 000041022014008 002001051009006 03204907904103E 07E01101101107E 07F049049049036
    03E041041041022 07F04104102201C 07F049049049041 07F009009009001 03E04104904907A 07F00800800807F 00004107F041000
    02004004103F001 07F008014022041 07F040040040040 07F00200C00207F 07F00400801007F 03E04104104103E 07F009009009006
    03E04105102105E 07F009019029046 046049049049031 00100107F001001 03F04004004003F 01F02004002001F 03F04003804003F
    063014008014063 007008070008007 061051049045043 00007F041041000 002004008010020 00004104107F000 004002001002004
    040040040040040 000001002004000 020054054054078 07F048044044038 038044044044020 03804404404807F 038054054054018
    00807E009001002 0381441441440FC 07F008004004078 00004407D040000 0000801040FD000 07F010028044000 00004107F040000
    07C004018004078 07C008004004078 038044044044038 1FC044044044038 0380440440441FC 07C008004004008 048054054054020
    00403F044040020 03C04004002007C 01C02004002001C 03C04003004003C 044028010028044 03C1401401400FC 04406405404C044
    000008036041000 00000007F000000 000041036008000 008004008010008
"""
# In place of what is no such character.
BOX = "07f04104104107f"
CROSS, TICK = "✗", "✓"
MARKS = {CROSS: "06307701C077063", TICK: "01803006003800E"}
# What stands in texts in place of a character that there is.
SPELLINGS = str.maketrans("\u2018\u2019\u201c\u201d\u2013\u2014\u2212\u00d7", "''\"\"---x")
WHITE, BLACK = (255, 255, 255), (0, 0, 0)
RGB = tuple[int, int, int]
COLUMNS, ROWS = 5, 9
# With the gap to the next character, and to the next line.
WIDTH, HEIGHT = COLUMNS + 1, ROWS + 3


def wrapped(text: str, width: int, scale: int, most: int | None = None) -> list[str]:
    """The lines that a text takes in so many pixels; of more than `most` lines the end is cut off."""
    letters = max((width // scale - 1) // WIDTH, 1)
    lines = textwrap.wrap(spelled(text), letters)
    if most is None or len(lines) <= most:
        return lines
    return [*lines[: most - 1], f"{lines[most - 1][: max(letters - 3, 0)]}..."]


def spelled(text: str) -> str:
    """With the characters that there are, as far as that goes: letters lose their accents."""
    apart = unicodedata.normalize("NFKD", text.translate(SPELLINGS))
    return "".join(letter for letter in apart if not unicodedata.combining(letter))


def written(
    lines: list[str],
    width: int,
    scale: int,
    rows: int | None = None,
    *,
    ink: RGB = WHITE,
    paper: RGB = BLACK,
) -> NDArray[np.uint8]:
    """(height, width, 3): as high as so many lines, or as these."""
    dots = np.zeros((HEIGHT * (len(lines) if rows is None else rows) + 2, width // scale), dtype=np.bool_)
    for row, line in enumerate(lines):
        for column, letter in enumerate(line):
            top, left = row * HEIGHT + 2, column * WIDTH + 1
            dots[top : top + ROWS, left : left + COLUMNS] = _drawn(letter)
    large = dots.repeat(scale, axis=0).repeat(scale, axis=1)
    is_ink = np.pad(large, ((0, 0), (0, width - large.shape[1])))
    return np.where(is_ink[..., None], np.array(ink, dtype=np.uint8), np.array(paper, dtype=np.uint8))


def _drawn(letter: str) -> NDArray[np.bool_]:
    glyphs = DOTS.split()
    at = ord(letter) - ord(" ")
    glyph = MARKS.get(letter) or (glyphs[at] if 0 <= at < len(glyphs) else BOX)
    columns = [int(glyph[start : start + 3], 16) for start in range(0, len(glyph), 3)]
    return np.array([[column >> row & 1 for column in columns] for row in range(ROWS)], dtype=np.bool_)
