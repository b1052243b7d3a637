"""Reviews by people in the viewer: what of one is shown, to whom, and how an annotation gets into its file."""

from __future__ import annotations

import json
import os
import threading
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote

from robodx.errors import UserError
from robodx.records.annotations import (
    LONGEST_TEXT,
    Annotation,
    Annotations,
    Unannotated,
    annotation_of,
    annotations_path,
    append_annotation,
    check_annotator,
    read_annotations,
)
from robodx.records.review import DEFAULT_NAME, FOLDER, Review, prepare_command, read_review, review_path
from robodx.report.viewer.episode import rate
from robodx.report.viewer.finding import Found, is_inside
from robodx.report.viewer.library import Run


class Read(NamedTuple):
    """A review and what was said in it, as of files of these sizes and times."""

    stamp: tuple[object, ...]
    review: Review
    said: Annotations


class Reviews:
    """The reviews of the runs below the resolved root. Several requests may ask at once."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._lock = threading.Lock()
        self._read: dict[Path, Read] = {}

    def lines(self, found: Found) -> list[dict[str, Any]]:
        """For the list of runs: how far each review of a run is."""
        return [self._line(found, name.removesuffix(".json")) for name, _, _ in found.reviews if name.endswith(".json")]

    def command(self, found: Found, name: str = DEFAULT_NAME) -> str:
        """What draws and films a review, as it is typed beside the viewed folder."""
        where = self._root.name if found.path == self._root else f"{self._root.name}/{found.name}"
        return prepare_command(where, name)

    def shown(self, run: Run, name: str, annotator: str | None) -> dict[str, Any] | None:
        """All that a page shows to an annotator; None if there is no such review.

        Nothing of what the program says of an item, nor why it was drawn, nor what others said of it.
        """
        read = self._get(run.found, name)
        if read is None:
            return None
        review, said = read.review, read.said
        mine = {} if annotator is None else said.of(check_annotator(annotator))
        films = _films(run, set(review.trial_ids()))
        return {
            "name": review.name,
            "title": review.title,
            "page": _page(review),
            "question": review.question,
            "run_name": run.found.name,
            "command": self.command(run.found, review.name),
            "labels": [
                {"name": one.name, "group": one.group, "help": one.help, "is_abstention": one.is_abstention}
                for one in review.labels
            ],
            "longest_text": LONGEST_TEXT,
            "items": [
                {
                    "id": item.id,
                    "facts": item.facts,
                    "films": [
                        {"title": film.title, "says": film.says, **films.get(film.trial_id, MISSING)}
                        for film in item.films
                    ],
                    "pictures": [
                        {"title": one.title, "says": one.says, "src": _picture(run, one.file)} for one in item.pictures
                    ],
                }
                for item in review.items
            ],
            "mine": {item: _told(one) for item, one in mine.items()},
            "progress": progress(said),
            "problems": said.problems,
        }

    def annotate(self, run: Run, name: str, body: bytes) -> dict[str, Any] | None:
        """Check what somebody sent and append it; None if there is no such review."""
        read = self._get(run.found, name)
        if read is None:
            return None
        try:
            sent = json.loads(body)
        except (ValueError, RecursionError) as error:
            raise UserError(f"this is no JSON: {error}") from error
        annotation = annotation_of(read.review, sent)
        folder = annotations_path(run.found.path, name).parent
        if folder.is_symlink() or not is_inside(folder, self._root):
            raise Unannotated(f"It could not be saved: {FOLDER} of this run leads out of the folder")
        append_annotation(run.found.path, name, annotation)
        after = self._get(run.found, name) or read
        return {"saved": _told(annotation), "item": annotation.item, "progress": progress(after.said)}

    def _line(self, found: Found, name: str) -> dict[str, Any]:
        try:
            read = self._get(found, name)
        except UserError as error:
            return {"name": name, "problem": str(error)}
        if read is None:
            return {"name": name, "problem": "it is gone"}
        return {
            "name": name,
            "title": read.review.title,
            "page": _page(read.review),
            "items": len(read.review.items),
            "labelled": len({one.item for one in read.said.kept}),
            "progress": progress(read.said),
        }

    def _get(self, found: Found, name: str) -> Read | None:
        """Read again when a file of it has changed. Files that are links out of the root are not read."""
        try:
            path, said_at = review_path(found.path, name), annotations_path(found.path, name)
        except UserError:
            return None
        if not is_inside(path, self._root):
            return None
        if os.path.lexists(said_at) and not is_inside(said_at, self._root):
            raise UserError(f"{said_at.name} of this run leads out of the folder, and is not read")
        stamp = (_stamp(path), _stamp(said_at))
        with self._lock:
            read = self._read.get(path)
            if read is None or read.stamp != stamp:
                try:
                    review = read_review(found.path, name)
                    self._read[path] = read = Read(stamp, review, read_annotations(found.path, review))
                except UserError as error:
                    # Who looks need not know where on this machine the runs lie.
                    raise UserError(str(error).replace(f"{self._root}/", "")[:500]) from error
            return read


MISSING: dict[str, Any] = {"src": None, "seconds": 0.0, "why": "The run has no such episode."}


def progress(said: Annotations) -> dict[str, int]:
    """How many items each annotator labelled."""
    return {name: len(said.of(name)) for name in said.annotators()}


def _films(run: Run, trial_ids: set[str]) -> dict[str, dict[str, Any]]:
    """Where the film of each trial is, and how long it is; or why there is none. Outcomes are not told."""
    table = run.episodes.select("trial_id", "task", "seed", "outcome", "steps")
    hz = rate(run.policy_spec.get("hz"))
    found = {}
    for row in table.iter_rows(named=True):
        if row["trial_id"] in trial_ids:
            has_film = run.plain_video(row) is not None
            why = "It ended in an error, and there is nothing to film." if row["outcome"] == "error" else None
            found[row["trial_id"]] = {
                "src": f"/video/{run.found.id}/{quote(row['trial_id'], safe='')}?plain=1" if has_film else None,
                "seconds": (row["steps"] or 0) / hz,
                "why": None if has_film else why,
            }
    return found


def _page(review: Review) -> str:
    """On which page it is looked at: all at once, or one after the other."""
    return "sheet" if review.is_sheet else "review"


def _picture(run: Run, name: str) -> str | None:
    return f"/picture/{run.found.id}/{quote(name, safe='')}" if name in run.found.pictures else None


def _told(one: Annotation) -> dict[str, Any]:
    return {"label": one.label, "further": list(one.further), "text": one.text}


def _stamp(path: Path) -> tuple[int, int, int] | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_size, found.st_mtime_ns, found.st_ino
