"""A review: what people are to label in a run, which labels there are, and where it is stored in the run folder."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from robodx.errors import UserError
from robodx.records import files
from robodx.records.about import refused

FOLDER = "reviews"
# Of the review that a run has if nothing else is said.
DEFAULT_NAME = "failures"
FORMAT = 1
NAME = re.compile(r"[a-z][a-z0-9_-]{0,39}")
# A run folder may be somebody else's: a file that is larger was not written here.
LARGEST_BYTES = 20_000_000
MOST_ITEMS = 20_000
MOST_LABELS = 40
MOST_PICTURES = 8
# Where the pictures of a run are, by name.
PICTURES = "pictures"
PICTURE = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,119}\.png")


class UnreadableReview(UserError):
    """No review, or one that this version cannot read; the message names the file."""


@dataclass(frozen=True)
class Label:
    """What may be said of an item. Labels without a group say that there is nothing to name."""

    name: str
    group: str = ""
    help: str = ""
    # Who chooses it does not answer the question.
    is_abstention: bool = False


@dataclass(frozen=True)
class Film:
    """One of the films that are looked at together, by the trial that it shows."""

    title: str
    trial_id: str
    # What is to be read beside it, as the instruction.
    says: str = ""


@dataclass(frozen=True)
class Picture:
    """One of the pictures that are looked at together, by its file in the run's folder of pictures."""

    title: str
    file: str
    # What is to be read beside it, as the instruction.
    says: str = ""

    def __post_init__(self) -> None:
        if not PICTURE.fullmatch(self.file):
            raise ValueError(f'"{self.file[:60]}" is no name of a picture: letters, digits, - . and _, and .png')


@dataclass(frozen=True)
class Item:
    """What is labelled at once. People see the films, the pictures and the facts, and not why it is here."""

    id: str
    films: tuple[Film, ...] = ()
    # (name, text) pairs. By the first of them a contact sheet can be narrowed down.
    facts: tuple[tuple[str, str], ...] = ()
    # Why it is in the sample.
    drawn_from: str = ""
    # What the program itself would label it; None where it has no such opinion.
    automatic: str | None = None
    pictures: tuple[Picture, ...] = ()


@dataclass(frozen=True)
class Review:
    name: str
    title: str
    question: str
    labels: tuple[Label, ...]
    items: tuple[Item, ...]
    # How the items were drawn, for whoever reads the results.
    drawn: Mapping[str, str | int | float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        check_name(self.name)
        for what, names in (("label", [one.name for one in self.labels]), ("item", [one.id for one in self.items])):
            if twice := {name for name in names if names.count(name) > 1} if len(set(names)) < len(names) else set():
                raise ValueError(f'the review has the {what} "{min(twice)}" twice')
        known = {label.name for label in self.labels}
        if odd := {item.automatic for item in self.items if item.automatic is not None} - known:
            raise ValueError(f'"{min(odd)}" is none of the labels: {", ".join(sorted(known))}')

    @cached_property
    def item_ids(self) -> frozenset[str]:
        return frozenset(item.id for item in self.items)

    @cached_property
    def groups(self) -> dict[str, str]:
        """Of each label; of one without, itself."""
        return {label.name: label.group or label.name for label in self.labels}

    @property
    def is_sheet(self) -> bool:
        """Whether all of it are pictures, which can be looked at many at a time."""
        return bool(self.items) and all(item.pictures and not item.films for item in self.items)

    def trial_ids(self) -> list[str]:
        """Of the films, each once, in the order in which they are looked at."""
        return list(dict.fromkeys(film.trial_id for item in self.items for film in item.films))


def check_name(name: str) -> str:
    """A name of a review becomes a name of a file."""
    if not NAME.fullmatch(name):
        raise UserError(f'"{name[:60]}" is no name of a review: lower-case letters, digits, - and _, 40 at most')
    return name


def prepare_command(run: Path | str, name: str = DEFAULT_NAME) -> str:
    """What draws and films it, as it is typed."""
    named = "" if name == DEFAULT_NAME else f" --name {check_name(name)}"
    return f"robodx review {shlex.quote(str(run))}{named} --prepare"


def review_path(run: Path, name: str) -> Path:
    return run / FOLDER / f"{check_name(name)}.json"


def reviews_of(run: Path) -> list[str]:
    """The names of the reviews that a run has."""
    found = (path.stem for path in (run / FOLDER).glob("*.json"))
    return sorted(name for name in found if NAME.fullmatch(name))


def write_review(run: Path, review: Review) -> Path:
    """Whole or not at all."""
    path = review_path(run, review.name)
    path.parent.mkdir(exist_ok=True)
    files.write(path, json.dumps({"format": FORMAT, **asdict(review)}, indent=1, ensure_ascii=False).encode())
    return path


def read_review(run: Path, name: str) -> Review:
    path = review_path(run, name)
    try:
        if path.stat().st_size > LARGEST_BYTES:
            raise UnreadableReview(f"{path} is too large to be a review")
        content = json.loads(path.read_bytes())
    except FileNotFoundError:
        there = ", ".join(reviews_of(run)) or "none yet"
        raise UnreadableReview(
            f'{run} has no review "{name}" (there: {there}). Draw one with: {prepare_command(run, name)}'
        ) from None
    except OSError as error:
        raise refused(path, error) from error
    except (ValueError, RecursionError) as error:
        raise UnreadableReview(f"{path} is damaged: {error}") from error
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        said = content.get("format") if isinstance(content, dict) else None
        raise UnreadableReview(f"{path} has format {said!r}; this robodx reads {FORMAT}")
    try:
        return _review(content, name)
    except (KeyError, TypeError, ValueError) as error:
        raise UnreadableReview(f"{path} is damaged: {error}") from error


def _review(content: Mapping[str, Any], name: str) -> Review:
    labels, items = _list(content["labels"], MOST_LABELS), _list(content["items"], MOST_ITEMS)
    drawn = {_text(key): value for key, value in content["drawn"].items() if isinstance(value, str | int | float)}
    return Review(
        name,
        _text(content["title"]),
        _text(content["question"]),
        tuple(_label(one) for one in labels),
        tuple(_item(one) for one in items),
        drawn,
    )


def _label(one: Mapping[str, Any]) -> Label:
    return Label(_text(one["name"]), _text(one["group"]), _text(one["help"]), one["is_abstention"] is True)


def _item(one: Mapping[str, Any]) -> Item:
    films = [
        Film(_text(film["title"]), _text(film["trial_id"]), _text(film["says"])) for film in _list(one["films"], 4)
    ]
    facts = [(_text(name), _text(says)) for name, says in _list(one["facts"], 40)]
    automatic = None if one["automatic"] is None else _text(one["automatic"])
    # Reviews of before there were any do not speak of them.
    pictures = tuple(
        Picture(_text(each["title"]), _text(each["file"]), _text(each["says"]))
        for each in _list(one.get("pictures", []), MOST_PICTURES)
    )
    return Item(_text(one["id"]), tuple(films), tuple(facts), _text(one["drawn_from"]), automatic, pictures)


def _list(value: object, most: int) -> Sequence[Any]:
    if not isinstance(value, list) or len(value) > most:
        raise ValueError(f"a list of at most {most} was expected")
    return value


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise ValueError(f"a text was expected, not {str(value)[:40]}")
    return value
