"""What a run shows at a glance: success by task, family, tier and variant, how it fails and how it moves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any, Literal, NamedTuple

import numpy as np
import polars as pl

from robodx.analysis import variants as of_variants
from robodx.analysis.bias.tables import BiasTable, bias_table
from robodx.analysis.failure_summary import (
    Error,
    Failed,
    Failures,
    errors_of,
    failed_episodes,
    failures,
    failures_in_variants,
    shown_outcome,
    without_fixed_interval,
)
from robodx.analysis.graded import Graded, levels
from robodx.analysis.headline import Headline, headline_of
from robodx.analysis.isolation import Contrast, contrasts
from robodx.analysis.metamorphic.measuring import SUITE as METAMORPHIC
from robodx.analysis.metamorphic.rates import MetamorphicTable, metamorphic_table
from robodx.analysis.metrics import success as of_success
from robodx.analysis.metrics.base import METRICS, Metric, estimate
from robodx.analysis.metrics.observations import STRATUM, distinct_episodes
from robodx.analysis.null_inputs import InputUse, input_uses
from robodx.analysis.statistics.estimates import Estimate, above_chance
from robodx.analysis.statistics.medians import median
from robodx.analysis.statistics.sequential import Stopped, stopped_how
from robodx.analysis.stress import StressTable, stress_table
from robodx.analysis.variants import CLEAN, as_laid_out, with_cards, with_variants
from robodx.records.episode import WRONG_OBJECT
from robodx.registry import UnknownName, unknown

By = Literal["task", "family", "tier", "perturbation"]
BYS: tuple[By, ...] = ("task", "family", "tier", "perturbation")
TIERS = ("easy", "medium", "hard")
# How it moves and answers, in the table's own columns: their medians say what is usual, for a few may be far off.
MOTION = (
    "length_ratio", "sparc", "stability", "duration_s", "mean_squared_jerk",
    "calls_per_s", "actions_per_s", "inference_ms_p50", "inference_ms_p95",
)  # fmt: skip


@dataclass(frozen=True)
class Row:
    """One policy on one task. `success` counts episodes that are alike once, and has no value if too many erred."""

    policy: str
    task: str
    tier: str | None
    perturbations: str
    success: Estimate
    progress: float | None
    median_steps: float | None
    failures: int
    timeouts: int
    errors: int
    # Of the failures and timeouts, those that took the wrong object.
    wrong_objects: int = 0
    family: str | None = None
    # None where the task leaves no choice, or the record does not say.
    above_chance: Estimate | None = None


@dataclass(frozen=True)
class Subtotal:
    """One policy in one variant over the tasks of a group: means over tasks, each of which has the same say."""

    policy: str
    group: str
    perturbations: str
    tasks: int
    success: Estimate
    above_chance: Estimate | None
    # The tasks that it is the mean of: of the others there is nothing to choose.
    tasks_with_choice: int
    progress: Estimate
    errors: int


@dataclass(frozen=True)
class Measured:
    """Metrics or medians of one group, by name."""

    policy: str
    group: str
    perturbations: str
    values: dict[str, Estimate]


class _Group(NamedTuple):
    policy: str
    group: str
    variant: str
    episodes: pl.DataFrame


class Summary:
    """All that can be told of a table of episodes; `about` is the run's own description, where there is one.

    `pairs` are those of the suite `metamorphic`, measured from the trajectories in the run's folder and judged by this
    `distance`.
    """

    def __init__(
        self,
        episodes: pl.DataFrame,
        about: Mapping[str, Any] | None = None,
        pairs: pl.DataFrame | None = None,
        *,
        distance: str = "frechet",
    ) -> None:
        about = about or {}
        # Older runs do not say.
        request = about.get("request", {})
        named = with_variants(with_cards(episodes, about.get("tasks", {})), about)
        # What was run to decide on a cause is told of by the findings, and is no sample of its tasks. Nor are repeats
        # of sources that had succeeded.
        sampled = named.filter(as_laid_out() & ~of_variants.only_repeats_of(METAMORPHIC))
        self.episodes = of_variants.cells_together(named) if sampled.is_empty() else sampled
        self.every = named
        # Where outcomes decided how long the run went on, intervals of a fixed n would be wrong and are not shown.
        self.stopped = stopped_how(request)
        self.until_width: float | None = request.get("until_width")
        self.success = success_rate(self.episodes, self.stopped)
        self._about = about
        self._pairs, self._distance = pairs, distance

    @cached_property
    def stress(self) -> StressTable | None:
        """Of a run of the suite `stress`; its intervals are of a fixed n."""
        if self.stopped != "planned" or "request" not in self._about:
            return None
        table = stress_table(self.episodes, self._about, np.random.default_rng(0))
        return table if table.rows or table.not_testable else None

    @cached_property
    def null_inputs(self) -> tuple[InputUse, ...]:
        """Of a run of the suite `null_inputs`; its intervals are of a fixed n."""
        return input_uses(self.episodes, self._about) if self.stopped == "planned" else ()

    @cached_property
    def contrasts(self) -> list[Contrast]:
        """Of a run of the suite `isolation`."""
        return contrasts(self.episodes, self._about) if self.stopped == "planned" else []

    @cached_property
    def metamorphic(self) -> MetamorphicTable | None:
        """Of a run of the suite `metamorphic`; its intervals are of a fixed n."""
        if self._pairs is None or self.stopped != "planned":
            return None
        return metamorphic_table(self._pairs, self._distance)

    @cached_property
    def bias(self) -> BiasTable | None:
        """Of a run of the suite `bias`; its intervals are of a fixed n."""
        return bias_table(self.every) if self.stopped == "planned" else None

    @cached_property
    def levels(self) -> list[Graded]:
        """Of a run with stability, adaptability or inference frequency."""
        return levels(self.episodes, self._about) if self.stopped == "planned" else []

    @property
    def base_variants(self) -> list[str]:
        """Those without a suite's stressors; of one that perturbs everything, just that."""
        return self.episodes.filter("is_base").sort("variant_rank")["variant"].unique(maintain_order=True).to_list()

    def headlines(self) -> list[Headline]:
        """One for each policy; without a value if too many erred, or none went without stress."""
        return [headline_of(part, self.stopped) for _, part in self.episodes.group_by("policy", maintain_order=True)]

    def rows(self) -> list[Row]:
        return [_row(one, self.stopped) for one in _groups(self.episodes, "task")]

    def subtotals(self, by: By) -> list[Subtotal]:
        return [_subtotal(one, self.stopped) for one in _groups(self.episodes, by)]

    def metrics(self, names: Sequence[str], by: By) -> list[Measured]:
        """Registered metrics of each group."""
        chosen = [METRICS[name] for name in names]
        return [
            Measured(
                one.policy,
                one.group,
                one.variant,
                {metric.name: _estimate(metric, self._seen_by(metric, one), self.stopped) for metric in chosen},
            )
            for one in _groups(self.episodes, by)
        ]

    def _seen_by(self, metric: Metric, group: _Group) -> pl.DataFrame:
        """The group's episodes, with those of the primitives of its tasks for a metric that looks at them."""
        if not metric.uses_primitives:
            return group.episodes
        named = group.episodes["primitive"].unique().drop_nulls().implode()
        beside = self.episodes.filter(
            pl.col("task").is_in(named)
            & (pl.col("policy") == group.policy)
            & ~pl.col("trial_id").is_in(group.episodes["trial_id"].implode())
        )
        return pl.concat([group.episodes, beside], how="diagonal")

    def motion(self, by: By) -> list[Measured]:
        """Medians over the episodes of each group, those alike once; the path over the expert's of successes alone."""
        table = self.episodes.with_columns(pl.when("success").then("length_ratio").alias("length_ratio"))
        return [
            Measured(one.policy, one.group, one.variant, _medians(distinct_episodes(one.episodes), self.stopped))
            for one in _groups(table, by)
        ]

    def too_wide(self) -> list[Row]:
        """The rows whose intervals did not get as narrow as was asked for, because the seeds were used up."""
        return [row for row in self.rows() if self.until_width is not None and _width(row.success) > self.until_width]

    @property
    def has_one_variant(self) -> bool:
        """Whether a mean over everything means something."""
        return self.episodes.select("policy", "variant").n_unique() <= 1

    def has_several(self, by: By) -> bool:
        column = "variant" if by == "perturbation" else by
        return self.episodes[column].drop_nulls().n_unique() > 1

    def everything(self, by: By | None, metrics: Sequence[str] = ()) -> dict[str, Any]:
        """For a program; metrics and medians by task, unless it wants another grouping."""
        return {
            "all": asdict(self.success),
            "headlines": _plain(self.headlines()),
            "rows": _plain(self.rows()),
            **{f"by_{group}": _plain(self.subtotals(group)) for group in BYS if group != "task"},
            "stress": None if self.stress is None else asdict(self.stress),
            "null_inputs": _plain(self.null_inputs),
            "isolation": _plain(self.contrasts),
            "metamorphic": None if self.metamorphic is None else asdict(self.metamorphic),
            "bias": None if self.bias is None else asdict(self.bias),
            "levels": _plain(self.levels),
            "failures": _plain(self.failures()),
            "failures_by_variant": _plain(self.failures(by_variant=True)),
            "errors": _plain(self.errors()),
            "medians": _plain(self.motion(by or "task")),
            "metrics": _plain(self.metrics(metrics, by or "task")),
        }

    def failures(self, *, by_variant: bool = False) -> list[Failures]:
        """How each policy fails, by itself and then under stress, or in each variant."""
        return (
            failures_in_variants(self.episodes, self.stopped) if by_variant else failures(self.episodes, self.stopped)
        )

    def failed(self) -> list[Failed]:
        return failed_episodes(self.episodes)

    def errors(self) -> list[Error]:
        return errors_of(self.episodes)


def grouping(word: str | None) -> By | None:
    """The word as one of those that a summary can group by."""
    found = next((by for by in BYS if by == word), None)
    if word is not None and found is None:
        raise UnknownName(unknown("grouping", word, BYS))
    return found


def summarise(episodes: pl.DataFrame, about: Mapping[str, Any] | None = None) -> list[Row]:
    """A row for each policy, task and variant."""
    return Summary(episodes, about).rows()


def success_rate(episodes: pl.DataFrame, stopped: Stopped = "planned") -> Estimate:
    """Success / (success + failure + timeout), of several tasks their mean.

    Trials that were told the same and moved alike, bit for bit, are one observation.
    """
    return _estimate(of_success.success_rate, episodes, stopped)


def _estimate(metric: Metric, episodes: pl.DataFrame, stopped: Stopped) -> Estimate:
    # The same episodes must always give the same summary.
    return estimate(metric, episodes, np.random.default_rng(0), stopped=stopped)


def _groups(episodes: pl.DataFrame, by: By) -> list[_Group]:
    """Tasks and families in the order of the table, tiers from easy to hard, and in these the clean variant first."""
    if by == "tier":
        episodes = episodes.filter(pl.col("tier").is_not_null()).sort(
            pl.col("tier").replace_strict({tier: rank for rank, tier in enumerate(TIERS)}, default=len(TIERS)),
            maintain_order=True,
        )
    variant = pl.when(pl.col("variant") == "").then(pl.lit(CLEAN)).otherwise("variant")
    labelled = episodes.with_columns(group=variant if by == "perturbation" else pl.col(by))
    places = labelled.group_by("policy", "group", maintain_order=True).agg().with_row_index("place")
    ordered = labelled.join(places, on=["policy", "group"], maintain_order="left", nulls_equal=True)
    ordered = ordered.sort("variant_rank" if by == "perturbation" else "place", "variant_rank", maintain_order=True)
    return [
        _Group(str(policy), str(group), str(variant), part)
        for (policy, group, variant), part in ordered.group_by("policy", "group", "variant", maintain_order=True)
    ]


def _row(one: _Group, stopped: Stopped) -> Row:
    outcomes, success = one.episodes["outcome"], success_rate(one.episodes, stopped)
    shown = one.episodes.select(shown_outcome()).to_series()
    chance = one.episodes["chance"][0]
    valid = one.episodes.filter(pl.col("outcome") != "error")
    return Row(
        policy=one.policy,
        task=one.group,
        tier=one.episodes["tier"][0],
        perturbations=one.variant,
        success=success,
        progress=_number(valid["progress"].mean()),
        median_steps=_number(valid["steps"].median()),
        failures=int((outcomes == "failure").sum()),
        timeouts=int((outcomes == "timeout").sum()),
        errors=int((outcomes == "error").sum()),
        wrong_objects=int((shown == WRONG_OBJECT).sum()),
        family=one.episodes["family"][0],
        above_chance=_known(above_chance(success, chance)) if chance is not None else None,
    )


def _subtotal(one: _Group, stopped: Stopped) -> Subtotal:
    return Subtotal(
        policy=one.policy,
        group=one.group,
        perturbations=one.variant,
        tasks=one.episodes["task"].n_unique(),
        success=success_rate(one.episodes, stopped),
        above_chance=_known(_estimate(of_success.chance_corrected_success, one.episodes, stopped)),
        tasks_with_choice=one.episodes.filter(pl.col("chance") < 1)["task"].n_unique(),
        progress=_estimate(METRICS["progress"], one.episodes, stopped),
        errors=int((one.episodes["outcome"] == "error").sum()),
    )


def _medians(episodes: pl.DataFrame, stopped: Stopped) -> dict[str, Estimate]:
    # Repeats of a situation are not independent: their median is one value.
    situation = pl.struct(*STRATUM, "seed").hash().alias("situation")
    values = episodes.group_by(situation, maintain_order=True).agg(pl.col(MOTION).median())
    return {name: without_fixed_interval(median(values[name]), stopped) for name in MOTION}


def _plain(
    found: Sequence[Headline | Row | Subtotal | Measured | Failures | Error | Contrast | Graded | InputUse],
) -> list[dict[str, Any]]:
    return [asdict(one) for one in found]


def _width(found: Estimate) -> float:
    return 1.0 if found.low is None or found.high is None else found.high - found.low


def _known(found: Estimate) -> Estimate | None:
    return found if found.value is not None else None


def _number(value: object) -> float | None:
    return float(value) if isinstance(value, int | float) else None
