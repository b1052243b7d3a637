"""One policy's success as it is told first everywhere, and how many of its episodes were solved beside it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from robodx.analysis.metrics.base import estimate
from robodx.analysis.metrics.success import success_rate
from robodx.analysis.statistics.estimates import Estimate
from robodx.analysis.statistics.sequential import Stopped


@dataclass(frozen=True)
class Headline:
    """The mean over tasks, without a suite's stressors; beside it, counts of episodes, as a progress bar shows them.

    A count weighs a task by how often it was run. That of all episodes includes stress, repeats and real time.
    """

    policy: str
    success: Estimate
    tasks: int
    solved: int
    judged: int
    # Whether some of the episodes are not in the mean; and the counts of those that are.
    is_part: bool
    base_solved: int
    base_judged: int
    # Of these, those of the task with the most.
    largest_task: str | None
    largest: int

    @property
    def by_episode(self) -> str:
        """The count of the mean's own episodes, with the reason where it comes to another rate."""
        return f"By episode: {self.base_solved} of {self.base_judged} solved{self._reason}."

    @property
    def in_all(self) -> str:
        """And that of all, where these are more."""
        return f" With all other variants: {self.solved} of {self.judged}." if self.is_part else ""

    @property
    def _reason(self) -> str:
        share = self.base_solved / self.base_judged if self.base_judged else 0.0
        if self.success.value is None or round(100 * share) == round(100 * self.success.value):
            return ""
        if self.largest * self.tasks > self.base_judged:
            why = f"each task counts once in the mean, and {self.largest} of these episodes are of {self.largest_task}"
        else:
            why = "identical episodes count once in the mean"
        return f" ({share:.0%}): {why}"


def headline_of(episodes: pl.DataFrame, stopped: Stopped = "planned") -> Headline:
    """Of one policy's episodes that are a sample of their tasks, with `is_base`."""
    base = episodes.filter("is_base")
    valid, judged = (table.filter(pl.col("outcome") != "error") for table in (episodes, base))
    sizes = judged["task"].value_counts().sort("count", "task", descending=[True, False])
    return Headline(
        policy=str(episodes["policy"][0]) if len(episodes) else "",
        success=estimate(success_rate, base, np.random.default_rng(0), stopped=stopped),
        tasks=base["task"].n_unique(),
        solved=int(valid["success"].sum()),
        judged=len(valid),
        is_part=len(base) < len(episodes),
        base_solved=int(judged["success"].sum()),
        base_judged=len(judged),
        largest_task=sizes["task"][0] if len(sizes) else None,
        largest=int(sizes["count"][0]) if len(sizes) else 0,
    )
