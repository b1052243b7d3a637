"""A folder of pictures that people are to judge, written by hand."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from robodx.fairness.reviewing import LABELS, NAME, QUESTION, TITLE
from robodx.records.review import PICTURES, Item, Picture, Review, write_review
from robodx.video.show import write_png

FACTORS = ("colour", "camera")


def sheet_folder(folder: Path, count: int = 8, *, says: str = "Put the small object in the box.") -> Path:
    """So many pictures, of two factors in turn; the last is not there."""
    (folder / PICTURES).mkdir(parents=True)
    items = []
    for number in range(count):
        name = f"p{number}.png"
        items.append(
            Item(f"i{number}", facts=(("factor", FACTORS[number % 2]),), pictures=(Picture("front", name, says),))
        )
        if number < count - 1:
            write_png(folder / PICTURES / name, np.full((32, 32, 3), 25 * number, dtype=np.uint8))
    write_review(folder, Review(NAME, TITLE, QUESTION, LABELS, tuple(items)))
    return folder
