"""The runs of a folder, read when they are first asked for and again when they change."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import polars as pl

from robodx.analysis.causes import FOLDER as WHY
from robodx.analysis.failure_summary import shown_outcome
from robodx.analysis.metrics.success import success_rate
from robodx.analysis.variants import CLEAN, SUBSTITUTED, with_names, with_variants
from robodx.errors import UserError
from robodx.records.about import read_about
from robodx.records.design import FILE as DESIGN
from robodx.records.design import SCHEMA as DESIGN_SCHEMA
from robodx.records.design import read_design
from robodx.records.film_name import film_name, plain_film
from robodx.records.folder import is_surely_stopped
from robodx.records.table import explained, load_readable, parts_of
from robodx.records.trial import Trial
from robodx.report.viewer.finding import Found, find_runs, is_inside

# Looking at the folder again within this time would find the same.
FRESH_S = 0.5
# How long a list of runs may read tables before it answers; the rest is read when it is next asked for.
READING_S = 1.0
# A run that is unfinished and has not changed for longer was stopped.
LIVE_S = 300.0
LONGEST_SAID = 400


@dataclass(frozen=True)
class Run:
    """A run as far as it can be read, and what of it cannot."""

    found: Found
    about: Mapping[str, Any]
    episodes: pl.DataFrame
    # One short row an episode, to be filtered, sorted and shown in a list.
    listing: pl.DataFrame
    problems: tuple[str, ...]
    # The mean over tasks that a report of it begins with; None where it cannot be told from what is here.
    success: float | None = None
    # What its trials are compared with; empty where the run has no design table that can be read.
    design: pl.DataFrame = field(default_factory=DESIGN_SCHEMA.to_frame)

    def row(self, trial_id: str) -> dict[str, Any] | None:
        rows = self.episodes.filter(pl.col("trial_id") == trial_id)
        return rows.row(0, named=True) if len(rows) else None

    def card(self, task: str) -> Mapping[str, Any]:
        """What run.json says of a task; nothing if it is damaged."""
        return _mapping(_mapping(self.about.get("tasks")).get(task))

    @property
    def policy_spec(self) -> Mapping[str, Any]:
        return _mapping(self.about.get("policy_spec"))

    def video(self, row: Mapping[str, Any]) -> Path | None:
        """The film of an episode, by the name that films are given."""
        name = film_name(row)
        return self.found.path / "videos" / name if name in self.found.videos else None

    def plain_video(self, row: Mapping[str, Any]) -> Path | None:
        """One that does not say how the episode ended."""
        folder, name = self.found.path / "videos", film_name(row)
        # Others, as links out of the folder, are not even opened.
        path = plain_film(folder, row) if name in self.found.videos else folder / name
        return path if path.name in self.found.videos else None


class Library:
    """Runs by id. Several requests may ask at once."""

    def __init__(self, root: Path) -> None:
        self.root = root.resolve()
        self._lock = threading.RLock()
        self._looked_s = float("-inf")
        self._found: dict[str, Found] = {}
        self._read: dict[str, Run] = {}

    def ids(self) -> list[str]:
        return list(self._look())

    def run(self, id: str) -> Run | None:
        """The run of this id as it is now, or None if the folder has none."""
        with self._lock:
            found = self._look().get(id)
            if found is None:
                return None
            read = self._read.get(id)
            if read is None or read.found != found:
                self._read[id] = read = _read(found, read, self.root)
            return read

    def found(self) -> list[Found]:
        """Where the runs are, in the order of their summaries."""
        return list(self._look().values())

    def with_trial(self, trial_id: str, named: str = "") -> Run | None:
        """The run that has this episode. One trial may have been run in several: the one of this id or name, or that
        changed last."""
        found = sorted(self.found(), key=lambda one: (_is_called(one, named), one.changed_s), reverse=True)
        runs = (self.run(one.id) for one in found)
        return next((run for run in runs if run is not None and trial_id in run.listing["trial_id"]), None)

    def read_runs(self) -> list[Run]:
        """Those that were read already."""
        with self._lock:
            return list(self._read.values())

    def summaries(self) -> list[dict[str, Any]]:
        """A line on each run; those that there was no time to read yet have no counts."""
        began_s = time.monotonic()
        lines = []
        for id, found in self._look().items():
            with self._lock:
                is_read = id in self._read and self._read[id].found.parts == found.parts
            run = self.run(id) if is_read or time.monotonic() - began_s < READING_S else None
            is_unfinished = not (found.is_finished or found.is_review_alone)
            lines.append(
                {
                    "id": id,
                    "name": found.name,
                    "contents": f"{found.contents}{'' if run is None else '+'}",
                    "is_live": is_unfinished
                    and time.time() - found.changed_s < LIVE_S
                    and not is_surely_stopped(found.path),
                    "is_unfinished": is_unfinished,
                    "changed_s": found.changed_s,
                    "videos": len(found.videos),
                    "has_pairs": found.has_pairs,
                    "is_review_alone": found.is_review_alone,
                    "has_report": found.report_s is not None,
                    "is_report_old": found.is_report_old,
                    # By its name until it is read.
                    "is_substituted": found.path.name == WHY,
                    **({} if run is None else _counts(run)),
                }
            )
        return lines

    def _look(self) -> dict[str, Found]:
        with self._lock:
            if time.monotonic() - self._looked_s >= FRESH_S:
                self._found = {found.id: found for found in find_runs(self.root)}
                self._read = {id: run for id, run in self._read.items() if id in self._found}
                self._looked_s = time.monotonic()
            return self._found


def _is_called(found: Found, named: str) -> bool:
    """By its id, its name here, or that of its folder alone, which is all that a report knows."""
    return named in (found.id, found.name, found.name.rpartition("/")[2])


def _counts(run: Run) -> dict[str, Any]:
    outcomes = dict(run.listing["outcome"].value_counts().iter_rows())
    return {
        "episodes": len(run.listing),
        "outcomes": outcomes,
        "success": run.success,
        # A success with a component made perfect is none of the policy's own.
        "is_substituted": bool(len(run.episodes)) and bool((run.episodes["suite"] == WHY).all()),
        "policies": run.listing["policy"].unique().sort().to_list()[:5],
        "problems": list(run.problems),
    }


def _read(found: Found, before: Run | None, root: Path) -> Run:
    if before is not None and before.found.parts == found.parts:
        # Only films came: the tables are as they were.
        return replace(before, found=found, listing=_with_films(before.listing, found))
    problems = []
    about: Mapping[str, Any] = {}
    if found.is_review_alone:
        episodes, _ = load_readable(())
        return Run(found, about, episodes, _listing(found, episodes, {}), ())
    try:
        # A run.json that is a link out of the folder is not among its files.
        if not any(name == "run.json" for name, _, _ in found.parts):
            raise UserError("it has no run.json: stages and levels have no names")
        about = _mapping(read_about(found.path))
    except (UserError, OSError, AttributeError, RecursionError) as error:
        problems.append(str(error))
    try:
        parts_of(found.path)
    except UserError as error:
        problems.append(str(error))
    episodes, unreadable = load_readable(path for path in found.part_paths() if path.exists())
    problems += unreadable
    if len(episodes) and not (found.path / "trajectories").is_dir():
        problems.append("it has no trajectories: nothing can be plotted or played")
    design = _design(found, root)
    helped = design.filter(pl.col("variant") == SUBSTITUTED)["trial_id"].to_list()
    try:
        listing = _listing(found, episodes, _levels(about), helped)
    except (TypeError, ValueError, pl.exceptions.PolarsError) as error:
        problems.append(f"its variants cannot be named: {error}")
        listing = _listing(found, episodes.with_columns(perturbations=pl.lit([], episodes.schema["perturbations"])), {})
    described = tuple(line.replace(f"{root}/", "").replace(str(root), root.name)[:500] for line in problems)
    return Run(found, about, episodes, listing, described, _success(found, episodes, about, root), design)


def _design(found: Found, root: Path) -> pl.DataFrame:
    with suppress(UserError, OSError):
        if is_inside(found.path / DESIGN, root) and (design := read_design(found.path)) is not None:
            return design
    return DESIGN_SCHEMA.to_frame()


def _success(found: Found, episodes: pl.DataFrame, about: Mapping[str, Any], root: Path) -> float | None:
    """Of one policy, without a suite's stressors: what it would be of several says nothing of any."""
    if episodes["policy"].n_unique() != 1 or not is_inside(found.path / DESIGN, root):
        return None
    try:
        base = with_variants(explained(episodes, found.path, about), about).filter("is_base")
    except (UserError, OSError, TypeError, ValueError, AttributeError, pl.exceptions.PolarsError):
        # The list of its problems says what of it cannot be read.
        return None
    return success_rate(base) if len(base) else None


def _levels(about: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    """The cards of perturbations that name levels."""
    cards = {name: _mapping(card) for name, card in _mapping(about.get("perturbations")).items()}
    return {name: card for name, card in cards.items() if isinstance(card.get("levels"), Mapping)}


def _listing(
    found: Found, episodes: pl.DataFrame, levels: Mapping[str, Mapping[str, Any]], helped: Sequence[str] = ()
) -> pl.DataFrame:
    """`helped` are trials with a component made perfect, which is no clean trial though nothing perturbs it."""
    said = pl.col("instructions").list.eval(pl.element().struct.field("text")).list.join(" → ", ignore_nulls=True)
    with_words = with_names(episodes, levels).with_columns(
        run=pl.lit(found.id),
        variant=pl.when(pl.col("variant") != "")
        .then("variant")
        .otherwise(pl.when(pl.col("trial_id").is_in(helped)).then(pl.lit(SUBSTITUTED)).otherwise(pl.lit(CLEAN))),
        said=said.fill_null("").str.slice(0, LONGEST_SAID),
        says=pl.col("failure_evidence").struct.field("says"),
        kind="failure_kind",
        outcome=shown_outcome(),
        situation=_situations(episodes),
    )
    names = ("task", "policy", "variant", "outcome", "trial_id")
    searched = (*names, "tier", "suite", "kind", "failure_type", "said", "says", "error")
    listing = with_words.select(
        "run", *(pl.col(name).fill_null("unknown") for name in names),
        "family", "tier", "pair_id", "situation", "variant_rank", "seed", "repeat", "kind", "failure_type", "progress",
        "steps", "duration_s", "path_length_m", "said",
        words=pl.concat_str(
            [pl.format("seed{}", pl.col("seed")), *searched, pl.col("quality_flags").list.join(" ", ignore_nulls=True)],
            separator="\n", ignore_nulls=True,
        ).str.to_lowercase(),
    )  # fmt: skip
    return _with_films(listing, found)


def _situations(episodes: pl.DataFrame) -> pl.Series:
    """What each began from, before anything of it was changed: its own pair_id, or that of what was changed."""
    found = episodes["pair_id"].to_list()
    for place in (episodes["interventions"].list.len().fill_null(0) > 0).arg_true():
        # A damaged table may say anything.
        with suppress(UserError, TypeError, ValueError):
            found[place] = Trial.of_row(episodes.row(place, named=True)).source.pair_id
    return pl.Series("situation", found, pl.String)


def _with_films(listing: pl.DataFrame, found: Found) -> pl.DataFrame:
    filmed = [name.removesuffix(".mp4").rpartition("-")[2] for name in found.videos]
    return listing.with_columns(
        film=pl.when(pl.col("trial_id").str.slice(0, 6).is_in(filmed)).then(pl.lit("filmed")).otherwise(pl.lit("drawn"))
    )


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}
