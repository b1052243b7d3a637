"""What people said in a review: one line of JSON each, only ever appended to reviews/NAME.jsonl of the run folder."""

from __future__ import annotations

import fcntl
import io
import json
import os
import re
import stat
import time
import unicodedata
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

from robodx.errors import UserError
from robodx.records import files
from robodx.records.about import refused
from robodx.records.review import FOLDER, Review, check_name

LONGEST_TEXT = 2000
# A letter or digit of any script first, so that a name reads as one.
ANNOTATOR = re.compile(r"\w[\w .'-]{0,39}")
# How long to wait for another writer, who needs a few milliseconds.
PATIENCE_S = 3.0
LARGEST_BYTES = 100_000_000
# Of lines that cannot be read, these many are told one by one.
TOLD = 5


class Unannotated(UserError):
    """The annotation could not be stored; the file is as it was."""


@dataclass(frozen=True)
class Annotation:
    item: str
    annotator: str
    # The main one.
    label: str
    further: tuple[str, ...]
    text: str
    # When, in UTC.
    time: str
    version: str


class Annotations(NamedTuple):
    """What counts: of each annotator and item the last line, in the order of the items; and what cannot be read."""

    kept: list[Annotation]
    problems: list[str]

    def of(self, annotator: str) -> dict[str, Annotation]:
        """By item."""
        return {one.item: one for one in self.kept if one.annotator == annotator}

    def annotators(self) -> list[str]:
        return sorted({one.annotator for one in self.kept})


def annotations_path(run: Path, name: str) -> Path:
    return run / FOLDER / f"{check_name(name)}.jsonl"


def annotation_of(review: Review, said: object) -> Annotation:
    """Of what somebody sent, checked against the review; the time and the version are ours."""
    if not isinstance(said, Mapping):
        raise UserError("an annotation is a table of keys and values")
    if odd := sorted(map(str, set(said) - {"item", "annotator", "label", "further", "text"})):
        raise UserError(f'an annotation has no "{odd[0][:40]}"')
    now = datetime.now(UTC).isoformat(timespec="seconds")
    return _checked(review, {"further": [], "text": "", **said, "time": now, "version": version("robodx")})


def read_annotations(run: Path, review: Review) -> Annotations:
    """A line that was cut off when its writer was killed is told of, and the others count."""
    path = annotations_path(run, review.name)
    try:
        if path.stat().st_size > LARGEST_BYTES:
            raise UserError(f"{path} is larger than {LARGEST_BYTES / 1e6:.0f} MB: no review has so many annotations")
        content = path.read_bytes()
    except FileNotFoundError:
        return Annotations([], [])
    except OSError as error:
        raise refused(path, error) from error
    last: dict[tuple[str, str], Annotation] = {}
    problems: list[str] = []
    untold = 0
    # One after the other, for there may be very many; and not by splitlines: text may hold other ends of lines.
    for number, line in enumerate(io.BytesIO(content), start=1):
        if not line.strip():
            continue
        try:
            one = _checked(review, json.loads(line))
            last[one.item, one.annotator] = one
        except (UserError, ValueError, TypeError, RecursionError) as error:
            if len(problems) == TOLD:
                untold += 1
                continue
            is_cut = not line.endswith(b"\n")
            why = "it was cut off, and what it said is lost" if is_cut else str(error)[:200]
            problems.append(f"line {number} of {path.name} does not count: {why}")
    places = {item.id: place for place, item in enumerate(review.items)}
    kept = sorted(last.values(), key=lambda one: (places[one.item], one.annotator))
    return Annotations(kept, [*problems, *([f"and {untold} more lines"] if untold else [])])


def append_annotation(run: Path, name: str, annotation: Annotation) -> None:
    """One whole line, on the disk when this returns. Files that lead elsewhere are not written to."""
    path = annotations_path(run, name)
    try:
        with _opened(path) as file:
            size = os.fstat(file).st_size
            if size > LARGEST_BYTES:
                raise Unannotated(f"{path.name} is full: it has {size / 1e6:.0f} MB")
            files.add_line(file, json.dumps(asdict(annotation), ensure_ascii=False).encode())
    except OSError as error:
        raise Unannotated(f"It could not be saved in {FOLDER}/{path.name}: {error.strerror or error}") from error


@contextmanager
def _opened(path: Path) -> Iterator[int]:
    """The file alone, for appending, made if it is not there. Neither it nor its folder may be a link."""
    folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        # Without waiting: a pipe of this name would wait for a reader.
        how = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        file = os.open(path.name, how, 0o644, dir_fd=folder)
        try:
            found = os.fstat(file)
            if not stat.S_ISREG(found.st_mode):
                raise Unannotated(f"{path.name} is no plain file, and nothing is written to it")
            if found.st_nlink > 1:
                raise Unannotated(f"{path.name} is the same file as another one: put a copy in its place")
            _lock(file, path)
            if found.st_size == 0:
                os.fsync(folder)
            yield file
        finally:
            os.close(file)
    finally:
        os.close(folder)


def _lock(file: int, path: Path) -> None:
    until_s = time.monotonic() + PATIENCE_S
    while True:
        try:
            return fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > until_s:
                raise Unannotated(f"{path.name} is being written by another process: try again") from None
            time.sleep(0.01)


def _checked(review: Review, said: Mapping[str, Any]) -> Annotation:
    if not isinstance(said, Mapping):
        raise UserError("it is no table of keys and values")
    item, annotator, label, text, when, tool = (
        _text(said, name) for name in ("item", "annotator", "label", "text", "time", "version")
    )
    further = said.get("further")
    if item not in review.item_ids:
        raise UserError(f'the review has no item "{item[:60]}"')
    known = [one.name for one in review.labels]
    if not isinstance(further, list) or not all(isinstance(one, str) for one in further):
        raise UserError("further labels are a list of labels")
    for one in (label, *further):
        if one not in known:
            raise UserError(f'No label "{one[:60]}"; there are {", ".join(known)}')
    if len({label, *further}) <= len(further):
        raise UserError("a label is given once")
    if len(text) > LONGEST_TEXT:
        raise UserError(f"a text has at most {LONGEST_TEXT} characters, not {len(text)}")
    return Annotation(item, check_annotator(annotator), label, tuple(further), text, when, tool)


def check_annotator(name: str) -> str:
    name = unicodedata.normalize("NFC", name.strip())
    if not ANNOTATOR.fullmatch(name):
        raise UserError(
            f'"{name[:60]}" is no name of an annotator: letters, digits, spaces and . - _ \', 40 at most, '
            "beginning with a letter or digit"
        )
    return name


def _text(said: Mapping[str, Any], name: str) -> str:
    value = said.get(name)
    if not isinstance(value, str):
        raise UserError(f'"{name}" is a text that an annotation needs')
    # Halves of characters can be read from JSON, and cannot be written into a table.
    return value.encode("utf-8", "backslashreplace").decode()
