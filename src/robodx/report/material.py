"""What a report is made of: runs, read as far as they can be read, joined by policy and diagnosed."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import polars as pl

from robodx.analysis.compare import Comparison, Unlike, compare_tables
from robodx.analysis.failure_summary import shown_outcome
from robodx.analysis.findings.base import Diagnosis, Finding
from robodx.analysis.findings.diagnose import because_of, diagnose
from robodx.analysis.findings.subject import Because
from robodx.analysis.metamorphic.measuring import measured
from robodx.analysis.policy_label import options
from robodx.analysis.statistics.estimates import Estimate
from robodx.analysis.statistics.sequential import Stopped, stopped_how
from robodx.analysis.stress import StressTable
from robodx.analysis.summary import Summary, success_rate
from robodx.analysis.variants import is_under_stress, with_variants
from robodx.errors import UserError
from robodx.records.about import UnreadableRun, read_about
from robodx.records.derived_design import designed
from robodx.records.design import together
from robodx.records.pairs import ROW
from robodx.records.table import explained, is_finished, load_readable, parts_of
from robodx.report.gallery import chosen
from robodx.report.videos import Film
from robodx.report.viewer.finding import is_inside
from robodx.report.words import counted, plain

CLIFF = "cliff"
# What a film of an episode is called, from its seed on.
FILM = re.compile(r"-seed(\d+)-\w+-(\w{6})\.mp4$")
# The less a run's length was decided beforehand, the later.
HOW: tuple[Stopped, ...] = ("planned", "together", "apart")


@dataclass(frozen=True, eq=False)
class Run:
    """A run folder, as far as it could be read."""

    path: Path
    about: Mapping[str, Any]
    episodes: pl.DataFrame
    is_finished: bool

    @property
    def stopped(self) -> Stopped:
        return stopped_how(self.about.get("request", {}))


@dataclass(frozen=True, eq=False)
class Subject:
    """One policy with all its runs. Searches for cliffs are apart: they ask most where it fails."""

    policy: str
    runs: tuple[Run, ...]
    episodes: pl.DataFrame
    about: Mapping[str, Any]

    @cached_property
    def summary(self) -> Summary:
        return Summary(self.episodes, self.about, self.pairs)

    @cached_property
    def pairs(self) -> pl.DataFrame:
        """Of the suite `metamorphic`, each as its own run's trajectories have it; of one in several runs the last."""
        every = pl.concat([measured(run.path, run.episodes) for run in self.runs])
        return every.unique(ROW, keep="last", maintain_order=True)

    @cached_property
    def base(self) -> pl.DataFrame:
        """Without a suite's stressors and without the repeated variant."""
        return self.summary.episodes.filter("is_base")

    @cached_property
    def stressed(self) -> pl.DataFrame:
        """What a suite put under a stressor, or in a hurry."""
        return self.summary.episodes.filter(is_under_stress())

    def row(self, trial: str) -> dict[str, Any] | None:
        """Of any of its episodes, changed situations included, with its variant and how it `went`."""
        rows = self._named.filter(pl.col("trial_id") == trial)
        return rows.row(0, named=True) if len(rows) else None

    @cached_property
    def _named(self) -> pl.DataFrame:
        return with_variants(self.episodes, self.about).with_columns(went=shown_outcome())

    @property
    def asked_by(self) -> str:
        """The options of a command that is about this policy."""
        return options(self.policy, [run.about for run in self.runs])

    @cached_property
    def success(self) -> Estimate:
        return success_rate(self.base, self.summary.stopped)

    @cached_property
    def diagnosis(self) -> Diagnosis | None:
        is_whole = all(run.is_finished for run in self.runs)
        about = {**self.about, "runs": [run.about for run in self.runs]}
        found = diagnose(self.episodes, about, _because(self.runs), is_whole=is_whole, pairs=self.pairs)
        return next((one for one in found if one.policy == self.policy), None)

    @cached_property
    def stress(self) -> tuple[StressTable, ...]:
        """One of all runs that share what was asked of every variant: clean trials of one serve all of them."""
        alike: dict[str, list[Run]] = {}
        for run in self.runs:
            if run.stopped == "planned" and "request" in run.about:
                alike.setdefault(str(run.about["request"].get("perturbations")), []).append(run)
        found = (Summary(_together(runs), _joined([run.about for run in runs])).stress for runs in alike.values())
        return tuple(table for table in found if table is not None)

    @property
    def searches(self) -> list[Run]:
        return [run for run in self.runs if _is_search(run)]


@dataclass(frozen=True)
class Material:
    subjects: tuple[Subject, ...]
    runs: tuple[Run, ...]
    # What could not be read or joined, for a reader to know before anything else.
    problems: tuple[str, ...]
    # Of episodes that were filmed, by trial id.
    films: Mapping[str, Path]
    # Where a player finds those of them that the page shows.
    players: Mapping[str, Film] = field(default_factory=dict)
    # Where the page will lie, for links to files.
    page: Path | None = None

    @property
    def diagnoses(self) -> list[Diagnosis]:
        """Of every policy that has one, in their order; worked out when first asked for, and once."""
        return [one.diagnosis for one in self.subjects if one.diagnosis is not None]

    @cached_property
    def paired(self) -> list[str]:
        """The episodes that stand side by side with a cause, by trial id."""
        there = {trial for one in self.subjects for trial in one.episodes["trial_id"]}
        pairs = (finding.pair for one in self.diagnoses for finding in one.decided if finding.pair is not None)
        return list(dict.fromkeys(trial for pair in pairs if there.issuperset(pair) for trial in pair))

    @cached_property
    def shown(self) -> list[str]:
        """The episodes that the page shows, by trial id: those of pairs, then those of the gallery."""
        examples = [() if one.diagnosis is None else one.diagnosis.examples for one in self.subjects]
        # Changed situations are shown in their pairs alone.
        as_laid_out = [one.summary.episodes for one in self.subjects]
        return list(dict.fromkeys([*self.paired, *chosen(as_laid_out, examples, self.films)]))

    @cached_property
    def places(self) -> dict[str, Path]:
        """The run folder of each episode, by trial id; of several the last, as everywhere."""
        return {trial: run.path for run in self.runs for trial in run.episodes["trial_id"]}

    @cached_property
    def anchors(self) -> dict[str, str]:
        """Where on the page an episode is shown, by trial id: sections link to it."""
        return {trial: f"episode-{place}" for place, trial in enumerate(self.shown, start=1)}

    def finding_anchor(self, finding: Finding) -> str:
        """Where on the page a finding of one of the policies is; "" of what is only suspected, which has no card."""
        for place, diagnosis in enumerate(self.diagnoses, start=1):
            for number, one in enumerate(diagnosis.findings, start=1):
                if one is finding and one.certainty != "suspected":
                    return f"finding-{place}-{number}"
        return ""

    @property
    def is_comparison(self) -> bool:
        return len(self.subjects) > 1

    @property
    def comparisons(self) -> list[Comparison]:
        """Every other policy against the first, without a suite's stressors unless both were run under them only."""
        return [found for found in self._found if isinstance(found, Comparison)]

    @cached_property
    def under_stress(self) -> dict[str, Comparison]:
        """The same of what both did under a suite's stressors, by the other policy."""
        found = {one.policy: self._compared(one, lambda subject: subject.stressed) for one in self.subjects[1:]}
        return {policy: one for policy, one in found.items() if isinstance(one, Comparison)}

    @property
    def not_compared(self) -> list[str]:
        """Why there is no comparison with some."""
        return [kept for kept in self._found if isinstance(kept, str)]

    @cached_property
    def _found(self) -> list[Comparison | str]:
        found = [self._compared(one, lambda subject: subject.base) for one in self.subjects[1:]]
        stressed = [self.under_stress.get(one.policy) for one in self.subjects[1:]]
        return [(other or one) if isinstance(one, str) else one for one, other in zip(found, stressed, strict=True)]

    def _compared(self, other: Subject, part: Callable[[Subject], pl.DataFrame]) -> Comparison | str:
        first = self.subjects[0]
        stopped = _stopped([*first.runs, *other.runs])
        cards = {**first.about.get("perturbations", {}), **other.about.get("perturbations", {})}
        tables = [
            one.episodes.join(part(one), on="trial_id", how="semi", maintain_order="left") for one in (first, other)
        ]
        if any(table.is_empty() for table in tables):
            return f"{first.policy} and {other.policy} cannot be compared: they were run under different stress."
        try:
            return compare_tables(*tables, stopped=stopped, cards=cards)
        except Unlike as error:
            return f"{first.policy} and {other.policy} cannot be compared: {error}."


def gather(paths: Sequence[Path]) -> Material:
    """Everything readable in the run folders; none of it at all is the user's mistake."""
    runs, problems = [], []
    for path in dict.fromkeys(paths):
        run, kept = _read(path)
        runs.append(run)
        problems += kept
    read = [run for run in runs if len(run.episodes)]
    if not read:
        where = ", ".join(str(run.path) for run in runs)
        reasons = f" ({'; '.join(problems)})" if problems else ""
        raise UserError(f"no episodes to report on in {where}{reasons}: robodx run makes some")
    problems += [f"{run.path} has no episodes yet." for run in runs if run not in read]
    names = list(dict.fromkeys(name for run in read for name in run.episodes["policy"].unique(maintain_order=True)))
    subjects = tuple(_subject(name, read, problems) for name in names)
    return Material(subjects, tuple(read), tuple(map(plain, problems)), films_of(read))


def films_of(runs: Sequence[Run]) -> dict[str, Path]:
    """The film of each episode that has one, by trial id. A link out of the run folder is none."""
    films: dict[str, Path] = {}
    for run in runs:
        root = run.path.resolve()
        there: dict[tuple[str, str], Path] = {}
        for path in sorted((run.path / "videos").glob("*.mp4")):
            if (named := FILM.search(path.name)) and path.is_file() and is_inside(path, root):
                there[named[1], named[2]] = path
        for trial, seed in run.episodes.select("trial_id", "seed").iter_rows():
            if film := there.get((str(seed), trial[:6])):
                films[trial] = film
    return films


def _read(path: Path) -> tuple[Run, list[str]]:
    problems = []
    try:
        about = read_about(path)
    except UnreadableRun as error:
        if not any((path / "episodes").glob("*.parquet")):
            raise
        about = {}
        problems.append(f"{error}. Without it, levels have no names and versions are unknown.")
    episodes, damaged = load_readable(parts_of(path))
    problems += damaged
    try:
        episodes = explained(episodes, path, about)
    except UnreadableRun as error:
        problems.append(f"{error}. The purpose of each trial is derived by the rules of older versions.")
        episodes = designed(episodes, about)
    if not is_finished(path):
        problems.append(f"{path} is not finished: these are its episodes so far.")
    return Run(path, about, episodes, is_finished(path)), problems


def _subject(policy: str, runs: Sequence[Run], problems: list[str]) -> Subject:
    own = []
    for run in runs:
        mine = run.episodes.filter(pl.col("policy") == policy)
        if len(mine):
            own.append(Run(run.path, run.about, mine, run.is_finished))
    kept = [run for run in own if not _is_search(run)] or own
    differing = pl.concat([run.episodes for run in kept]).group_by("trial_id").agg(pl.col("trajectory_hash").n_unique())
    if clashes := int((differing["trajectory_hash"] > 1).sum()):
        word = counted(clashes, "trial")
        problems.append(f"{word} of {plain(policy)} ended differently in two of the runs: the run given last counts.")
    return Subject(policy, tuple(own), _together(kept), _joined([run.about for run in kept]))


def _together(runs: Sequence[Run]) -> pl.DataFrame:
    return together([run.episodes for run in runs])


def _joined(abouts: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """One description of several runs."""
    about = dict(abouts[0])
    for key in ("tasks", "perturbations"):
        about[key] = {name: card for one in abouts for name, card in one.get(key, {}).items()}
    about["not_applicable"] = sorted({task for one in abouts for task in one.get("not_applicable", [])})
    requests = [one["request"] for one in abouts if "request" in one]
    if requests:
        # One that its outcomes ended makes all of it so; what only some were asked to perturb is a variant.
        strictest = max(requests, key=lambda request: HOW.index(stopped_how(request)))
        least = min((request.get("perturbations", []) for request in requests), key=len)
        about["request"] = {**strictest, "perturbations": least}
    return about


def _because(runs: Sequence[Run]) -> Because:
    """What `robodx why` says of failures, by those of the runs that can be read whole."""
    asked = []
    for run in runs:
        with suppress(UnreadableRun):
            asked.append(because_of([run.path]))
    return lambda trial_ids: next((said for one in asked if (said := one(trial_ids))), None)


def _stopped(runs: Sequence[Run]) -> Stopped:
    kept = [run for run in runs if not _is_search(run)] or runs
    return max((run.stopped for run in kept), key=HOW.index)


def _is_search(run: Run) -> bool:
    return bool((run.episodes["suite"] == CLIFF).all())
