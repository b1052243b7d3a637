"""Atomic skills and what is lost in putting them together: AS and CFS."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import fmean

import polars as pl

from robodx.analysis.metrics.observations import by_situation, observations
from robodx.analysis.metrics.partial import process_success_rate


def psr_by_task(episodes: pl.DataFrame) -> dict[str, float]:
    """The process success rate of each task that has episodes."""
    assert process_success_rate.each is not None
    seen = observations(episodes)
    return {
        str(task): mean
        for (task,), group in seen.group_by("task", maintain_order=True)
        if isinstance(mean := by_situation(group, process_success_rate.each(group))["value"].mean(), float)
    }


def atomic_score(atoms: Sequence[str], tasks_of: Mapping[str, Sequence[str]], psr: Mapping[str, float]) -> float | None:
    """AS of a composition: the mean over its atoms of the atom's PSR, which is the mean over the tasks that test it.

    None where a task of one of its atoms was not run: the mean over the others would be of another skill.
    """
    if not atoms or any(task not in psr for atom in atoms for task in tasks_of[atom]):
        return None
    return fmean(fmean(psr[task] for task in tasks_of[atom]) for atom in atoms)


def compositional_failure_share(atomic: float, psr: float) -> float | None:
    """CFS: the share of what fails that the atoms do not explain, max(0, AS − PSR) / (1 − PSR).

    None at PSR = 1, where nothing fails.
    """
    return max(0.0, atomic - psr) / (1 - psr) if psr < 1 else None


def macro_compositional_failure_share(
    episodes: pl.DataFrame, atoms_of: Mapping[str, Sequence[str]], tasks_of: Mapping[str, Sequence[str]]
) -> float | None:
    """CFS per composition (a key of `atoms_of`), then the mean over those that have one.

    `tasks_of` says which tasks test an atom. Atoms and compositions are in one table of one policy.
    """
    psr = psr_by_task(episodes)
    shares = [
        compositional_failure_share(atomic, psr[task])
        for task, atoms in atoms_of.items()
        if task in psr and (atomic := atomic_score(atoms, tasks_of, psr)) is not None
    ]
    defined = [share for share in shares if share is not None]
    return fmean(defined) if defined else None
