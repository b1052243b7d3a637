"""What a data set from elsewhere may ask for: counts, sizes in memory, and paths within its own folder.

Every function raises ValueError with one line; whoever reads the file adds the file's name.
"""

from __future__ import annotations

import contextlib
import math
import re
from collections.abc import Mapping
from pathlib import Path
from string import Formatter

from robodx.output import shortened

# A reading may always take this much memory: an hour of 50 steps a second of 300 numbers has 216 MB.
FREE_BYTES = 256 * 2**20
# A larger one may be so many times as large as what is stored of it. Numbers of robots compress by less than 10.
EXPANSION = 32
# Pictures of flat colours compress by as much as deflate can.
DEFLATE_EXPANSION = 1032
# A longer file of JSON describes no data set; as Python objects it takes up to 25 times as much.
JSON_BYTES = 32 * 2**20
JSON_LINE_BYTES = 2**20
# Descriptions nest 5 deep or so. What is shown and copied later recurses, with less room than the parser had.
JSON_DEPTH = 50
# 2.8 hours at 1 kHz.
MOST_STEPS = 10_000_000
# The largest collections have 1 million episodes and 0.4 billion steps.
MOST_EPISODES = 2_000_000
MOST_FRAMES = 1_000_000_000
# Of a step, in all vectors together, each of which has a name.
MOST_NUMBERS = 65_536
MOST_CAMERAS = 256
# A picture of 4096×4096; decoded it has 50 MB.
MOST_PIXELS = 2**24
LEAST_HZ, MOST_HZ = 1e-3, 1e5
# Linux takes no longer path.
MOST_PATH = 4096
# What stands behind the colon of a field: a whole number of at most 99 digits.
SPECIFICATION = re.compile(r"0?[0-9]{0,2}d?")


def whole(value: object, what: str, *, least: int = 0, most: int) -> int:
    """A count or an index. TensorFlow's JSON has it as a text."""
    found = math.nan
    if isinstance(value, int | float) or (isinstance(value, str) and len(value) <= len(str(most)) + 1):
        with contextlib.suppress(ValueError, OverflowError):
            found = float(value)
    if isinstance(value, bool) or not (least <= found <= most and found == int(found)):
        raise ValueError(f"{what} is {quoted(value)}, not a whole number from {least} to {most:,}")
    return int(value) if isinstance(value, int) else int(found)


def fits(what: str, needed: int, stored: int, expansion: int = EXPANSION) -> None:
    """Refuses to read what takes far more memory than it takes room on disk."""
    most = max(FREE_BYTES, expansion * stored)
    if needed > most:
        raise ValueError(
            f"{what} would take {in_words(needed)} of memory, but {in_words(stored)} are stored; "
            f"the limit is {in_words(most)}"
        )


def numbers_fit(widths: Mapping[str, int]) -> None:
    """Before each number of a step gets its name."""
    for name, width in widths.items():
        whole(width, f"the width of {quoted(name)}", most=MOST_NUMBERS)
    whole(sum(widths.values()), "the count of numbers of a step", most=MOST_NUMBERS)


def stored_bytes(file: Path) -> int:
    """On disk; a file with holes says that it is larger."""
    found = file.stat()
    return min(found.st_size, found.st_blocks * 512) if found.st_blocks else found.st_size


def within(folder: Path, name: str) -> Path:
    """A file of a data set by its path from the data set's folder, which it must not leave, nor by a link.

    Hugging Face's cache keeps the contents of a data set in another folder, to which there are links.
    """
    if Path(name).is_absolute() or ".." in Path(name).parts:
        raise ValueError(f"{quoted(name)} leads out of the data set's folder")
    if not is_within(folder, folder / name):
        raise ValueError(f"{quoted(name)} is a link out of the data set's folder, to {(folder / name).resolve()}")
    return folder / name


def is_within(folder: Path, path: Path) -> bool:
    found = path.resolve()
    is_cached = found.parent.name == "blobs" and found.parent.parent.name.startswith("datasets--")
    return is_cached or found.is_relative_to(folder.resolve())


def expanded(template: object, fields: Mapping[str, int | str]) -> str:
    """A path from a template of the data set's own; only these fields, numbers with leading zeros."""
    if not isinstance(template, str) or len(template) > MOST_PATH:
        raise ValueError(f"{quoted(template)} is no template of a path")
    parts = []
    for literal, field, specification, conversion in Formatter().parse(template):
        parts.append(literal)
        if field is None:
            continue
        if field not in fields:
            raise ValueError(f"{quoted(template)} has a field {quoted(field)}; valid are: {', '.join(fields)}")
        value = fields[field]
        is_plain = not specification or (isinstance(value, int) and SPECIFICATION.fullmatch(specification))
        if conversion or not is_plain:
            raise ValueError(f"{quoted(template)} formats {field} as {quoted(specification)}, not as 06d or so")
        parts.append(format(value, specification or ""))
    return "".join(parts)


def quoted(value: object, most: int = 100) -> str:
    """As it is quoted in a message, in one line."""
    if isinstance(value, int) and not isinstance(value, bool) and value.bit_length() > 256:
        return f"an integer of {value.bit_length():,} bits"
    text = value if isinstance(value, str) else repr(value)
    return shortened(text, most).replace("\n", " ")


def in_words(size: int) -> str:
    for unit, name in ((2**30, "GiB"), (2**20, "MiB"), (2**10, "KiB")):
        if size >= unit:
            return f"{size / unit:,.1f} {name}"
    return f"{size} bytes"
