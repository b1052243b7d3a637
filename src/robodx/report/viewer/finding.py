"""Which runs lie in a folder and what changed in them, told by their files alone, and never outside of the folder."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from robodx.records.pairs import FILE as PAIRS
from robodx.records.review import FOLDER as REVIEWS
from robodx.records.review import PICTURES
from robodx.report.made import read_made

# A run may lie in runs/day/name and hold a run of its own, name/why.
DEEPEST = 4
# Someone may point the viewer at a whole disk.
MOST_FOLDERS = 5000
REPORT = "report.html"
OF_A_RUN = ("episodes", "trajectories", "videos", PICTURES)


@dataclass(frozen=True)
class Found:
    """A run folder as it lies there: its files by name, size and time."""

    path: Path
    # Where it lies in the viewed folder, for people.
    name: str
    parts: tuple[tuple[str, int, int], ...]
    videos: frozenset[str]
    # Files of reviews by people, as `parts`; and whether there are pairs that could be reviewed.
    reviews: tuple[tuple[str, int, int], ...]
    has_pairs: bool
    # Names of pictures that a review may show.
    pictures: frozenset[str]
    # The folder with a report of it, its own or the one above, and when that was written; None if there is none.
    report: Path | None
    report_s: float | None
    # When anything in it last changed.
    changed_s: float

    @property
    def id(self) -> str:
        """By where it lies on this machine: a link stays good when another folder above it is viewed."""
        return run_id(self.path)

    @property
    def contents(self) -> str:
        """Changes when the episodes, their description, the videos, the reviews or the report do."""
        shown = (sorted(self.videos), sorted(self.pictures))
        return _digest(repr((self.parts, *shown, self.reviews, self.has_pairs, self.report_s)).encode())

    @property
    def is_report_old(self) -> bool:
        """Whether episodes came after the report was written."""
        newest_ns = max((changed_ns for name, _, changed_ns in self.parts if name.endswith(".parquet")), default=0)
        return self.report_s is not None and newest_ns / 1e9 > self.report_s

    @property
    def is_review_alone(self) -> bool:
        """Whether nothing was run here: there are things to be judged, and no episodes."""
        return not self.parts and bool(self.reviews)

    @property
    def is_finished(self) -> bool:
        """Whether the run came to its end: its parts are then put together."""
        names = [name for name, _, _ in self.parts if name.endswith(".parquet")]
        return bool(names) and not any(name.startswith("part-") for name in names)

    def part_paths(self) -> list[Path]:
        return [self.path / "episodes" / name for name, _, _ in self.parts if name.endswith(".parquet")]


def run_id(path: Path) -> str:
    """Of a run folder, resolved: what a link to one of its episodes names it by."""
    return _digest(os.fsencode(path))


def find_runs(root: Path) -> list[Found]:
    """The run folders at and below the resolved `root`, by name. Linked folders are not entered."""
    found = [_look(path, root) for path in _folders(root) if _is_run(path)]
    return sorted(found, key=lambda run: run.name)


def is_inside(path: Path, root: Path) -> bool:
    """Whether the path, with all links followed, lies below the resolved root."""
    try:
        return path.resolve(strict=True).is_relative_to(root)
    except (OSError, RuntimeError):
        return False


def _folders(root: Path) -> Iterator[Path]:
    """Breadth first, so that a limit cuts off what lies deepest."""
    waiting, seen = [(root, 0)], 0
    while waiting and seen < MOST_FOLDERS:
        path, depth = waiting.pop(0)
        seen += 1
        yield path
        if depth < DEEPEST:
            skipped = (*OF_A_RUN, REVIEWS) if _is_run(path) else ()
            waiting += [(path / name, depth + 1) for name in _subfolders(path) if name not in skipped]


def _subfolders(path: Path) -> list[str]:
    try:
        with os.scandir(path) as entries:
            return sorted(
                entry.name
                for entry in entries
                if not entry.name.startswith(".") and entry.is_dir(follow_symlinks=False)
            )
    except OSError:
        return []


def _is_run(path: Path) -> bool:
    is_run = (path / "run.json").is_file() or bool(_files(path / "episodes", ".parquet"))
    return is_run or bool(_files(path / REVIEWS, ".json"))


def _reported(path: Path, root: Path) -> tuple[Path, float] | None:
    """With the run; or one folder up, in a page of several runs or of the run that it lies within."""
    if own := _files(path, REPORT, root).get(REPORT):
        return path, own.st_mtime
    above = path.parent
    if path == root or not (report := _files(above, REPORT, root).get(REPORT)):
        return None
    runs = _runs_in(above / REPORT, report.st_mtime_ns)
    is_of_it = path.name in runs or ("." in runs and path.name == "why")
    return (above, report.st_mtime) if is_of_it else None


@lru_cache(maxsize=MOST_FOLDERS)
def _runs_in(page: Path, written_ns: int) -> tuple[str, ...]:
    """As the page names them; read again when it was written again."""
    made = read_made(page)
    return () if made is None else made.runs


def _look(path: Path, root: Path) -> Found:
    inside = {name: path / name for name in OF_A_RUN if is_inside(path / name, root)}
    parts = _files(inside["episodes"], ".parquet", root) if "episodes" in inside else {}
    if is_inside(path / "run.json", root):
        parts |= _files(path, "run.json", root)
    videos = _files(inside["videos"], ".mp4", root) if "videos" in inside else {}
    pictures = _files(inside[PICTURES], ".png", root) if PICTURES in inside else {}
    folder = path / REVIEWS
    reviews = {**_files(folder, ".json", root), **_files(folder, ".jsonl", root)} if is_inside(folder, root) else {}
    reported = _reported(path, root)
    times = [stat.st_mtime for stat in parts.values()]
    times += [] if parts else [stat.st_mtime for stat in reviews.values()]
    for folder in inside.values():
        with suppress(OSError):
            times.append(folder.stat().st_mtime)
    return Found(
        path=path,
        name=_readable(path.name if path == root else path.relative_to(root).as_posix()),
        parts=_listed(parts),
        videos=frozenset(videos),
        reviews=_listed(reviews),
        has_pairs=is_inside(path / PAIRS, root),
        pictures=frozenset(pictures),
        report=None if reported is None else reported[0],
        report_s=None if reported is None else reported[1],
        changed_s=max(times, default=0.0),
    )


def _listed(found: dict[str, os.stat_result]) -> tuple[tuple[str, int, int], ...]:
    return tuple((name, stat.st_size, stat.st_mtime_ns) for name, stat in sorted(found.items()))


def _files(folder: Path, ending: str, root: Path | None = None) -> dict[str, os.stat_result]:
    """The files of a folder, by name; with a root without those that are links out of it."""
    found = {}
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                is_foreign = root is not None and entry.is_symlink() and not is_inside(Path(entry.path), root)
                # A run that ends puts its parts together, and they vanish while they are looked at.
                with suppress(OSError):
                    if entry.name.endswith(ending) and entry.is_file() and not is_foreign:
                        found[entry.name] = entry.stat()
    except OSError:
        return {}
    return found


def _readable(name: str) -> str:
    """Names of files need not be text."""
    return name.encode("utf-8", "backslashreplace").decode()


def _digest(content: bytes) -> str:
    return hashlib.blake2b(content, digest_size=6).hexdigest()
