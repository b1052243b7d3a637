"""Puts the diagnosis to the test with planted faults and writes what came of it into the docs.

`make validation-table` runs it. Episodes are kept in runs/validation, by the source that they were made with, so that
it goes on where it was cut off.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, replace
from functools import cache, partial
from itertools import permutations
from multiprocessing import get_context
from pathlib import Path

import numpy as np
import polars as pl
from pages import DOCS, of_this_source, rewrite
from robodx.analysis.findings.thresholds import THRESHOLDS, Thresholds

from robodx.analysis.findings.validation import GROUPS, Group, Verdict, confusion, scores
from robodx.analysis.statistics.estimates import wilson
from robodx.faults.base import FAULTS
from robodx.running.validation import FIRST_SET, Case, design, faults, judged, validate
from robodx.terminal.validation import GOALS, SAYS, policies, validation_bar

ROOT = Path(__file__).parent.parent
# Those in use, and each a step lower and higher.
STEPS = {"least_score": (2.0, 4.5), "nearly": (0.9, 1.0), "healthy": (0.02, 0.1), "mostly": (0.5, 0.75)}
SETTINGS = [THRESHOLDS, *(replace(THRESHOLDS, **{name: step}) for name, steps in STEPS.items() for step in steps)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sets", type=int, default=5)
    parser.add_argument("--weak-sets", type=int, default=1)
    parser.add_argument("--healthy", type=int, default=60)
    parser.add_argument("--pairs", type=int, default=30)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--out", type=Path, help="instead of runs/validation")
    parser.add_argument("--there", action="store_true", help="judge what is there, and run nothing")
    options = parser.parse_args()
    cases = design(sets=options.sets, weak_sets=options.weak_sets, healthy=options.healthy, pairs=options.pairs)
    out = options.out or of_this_source(ROOT / "runs" / "validation")
    if options.there:
        cases = [case for case in cases if (out / f"{case.name}.parquet").exists()]
    verdicts = []
    with validation_bar(len(cases)) as tell:
        for verdict in validate(cases, out, workers=options.workers):
            verdicts.append(verdict)
            tell(verdict)
    page = DOCS / "diagnosis.md"
    rewrite(page, "scores of the validation", f"{goals(verdicts)}\n{apart(verdicts, out, options.sets)}")
    rewrite(page, "thresholds", crossed(cases, out, options.workers))
    rewrite(page, "table of faults", fault_table(verdicts))
    rewrite(page, "confusion matrix", "\n\n".join(matrix(verdicts, group) for group in GROUPS))


def goals(verdicts: Sequence[Verdict]) -> str:
    lines = ["| planted | correct | runs | different policies | goal |", "|---|---|---|---|---|"]
    lines += [
        f"| {SAYS[score.group]} | {score.right} | {score.right.n} | {policies(verdicts, score.group)} | "
        f"{GOALS[score.group]:.0%} |"
        for score in scores(verdicts)
    ]
    most = max(one.episodes for one in verdicts)
    mean = sum(one.episodes for one in verdicts) / len(verdicts)
    lines += ["", f"A run took {mean:.0f} episodes on average and {most} at most."]
    return "\n".join(lines)


def apart(verdicts: Sequence[Verdict], out: Path, sets: int) -> str:
    """Of the pairs, those in which each fault could show: neither alone loses most of what the other alone loses."""
    pairs = [one for one in verdicts if one.group == "two faults"]
    shown = [one for one in pairs if not any(_hides(a, b, out, sets) for a, b in permutations(one.planted.split("+")))]
    right = wilson(sum(one.is_right for one in shown), len(shown))
    return (
        f"In {len(pairs) - len(shown)} of the {len(pairs)} pairs one fault alone fails most of the trials that the\n"
        f"other alone fails, so the other can hardly show; of all other pairs {right} are correct (n = {right.n})."
    )


def _hides(fault: str, other: str, out: Path, sets: int) -> bool:
    """Whether one loses more than half of the screening trials that the other loses."""
    alive, lost = [], 0
    for number in range(FIRST_SET, FIRST_SET + sets):
        mine, others = (_outcomes(out / f"{name}.{number}.parquet") for name in (fault, other))
        trials = [trial for trial, success in others.items() if not success and trial in mine]
        lost += len(trials)
        alive += [trial for trial in trials if mine[trial]]
    return len(alive) < lost / 2


@cache
def _outcomes(path: Path) -> dict[tuple[str, int, bool], bool]:
    table = pl.read_parquet(path).filter(pl.col("suite") == "diagnosis")
    rows = table.select("task", "seed", pl.col("clock") == "lockstep", "success").iter_rows()
    return {(task, seed, waits): success for task, seed, waits, success in rows}


def crossed(cases: Sequence[Case], out: Path, workers: int) -> str:
    """Thresholds that one half of the faults and of the healthy runs would choose, held against the other half."""
    halves = [[case for case in cases if _half(case) == part] for part in (0, 1)]
    lines = ["| thresholds chosen on | chosen | correct on the other half | no false alarm on the other half |"]
    lines += ["|---|---|---|---|"]
    judge = partial(_settings, out=out)
    # Not forked: polars has threads, which a fork would leave waiting for each other.
    with ProcessPoolExecutor(workers, get_context("spawn")) as pool:
        by_case = [list(pool.map(judge, half, chunksize=4)) for half in halves]
    for mine, others, name in ((0, 1, "first"), (1, 0, "second")):
        # The first of the best, which is what is in use if nothing beats it.
        best = int(np.argmax([sum(right) for right in zip(*by_case[mine], strict=True)]))
        counted = [
            [right[best] for case, right in zip(halves[others], by_case[others], strict=True) if case.group == group]
            for group in ("one fault", "no fault")
        ]
        rates = [wilson(sum(each), len(each)) for each in counted]
        shown = " | ".join(f"{rate} (n = {rate.n})" for rate in rates)
        lines.append(f"| the {name} half | {_said(SETTINGS[best])} | {shown} |")
    return "\n".join(lines)


def _half(case: Case) -> int | None:
    if case.group == "one fault":
        return faults().index(case.planted) % 2
    return case.seed_set % 2 if case.group == "no fault" else None


def _settings(case: Case, out: Path) -> list[bool]:
    return [judged(case, out, thresholds).is_right for thresholds in SETTINGS]


def _said(thresholds: Thresholds) -> str:
    changed = [f"{name} {value:g}" for name, value in asdict(thresholds).items() if value != asdict(THRESHOLDS)[name]]
    return ", ".join(changed) or "those in use"


def fault_table(verdicts: Sequence[Verdict]) -> str:
    """What each does, the finding that it must cause, how often it did, and what most often showed it."""
    lines = ["| fault | what it does | severity | expected finding | alone | with 40% random failures |"]
    lines += ["|---|---|---|---|---|---|"]
    for name in faults():
        entry = FAULTS[name]
        assert entry.expected is not None
        counted = [
            _counted([one for one in verdicts if one.group == group and _is_of(one, name)]) for group in GROUPS[:2]
        ]
        finding = ": ".join(filter(None, entry.expected))
        lines.append(
            f"| `{name}` | {entry.summary} | {entry.severity:g} {entry.unit} | {finding} | {' | '.join(counted)} |"
        )
    return "\n".join(lines)


def _is_of(verdict: Verdict, name: str) -> bool:
    return verdict.planted.split("+")[0] == name


def _counted(verdicts: Sequence[Verdict]) -> str:
    return f"{sum(one.is_right for one in verdicts)} of {len(verdicts)}"


def matrix(verdicts: Sequence[Verdict], group: Group) -> str:
    """Planted × top finding."""
    lines = [f"| {group} | top finding, and in how many runs |", "|---|---|"]
    for planted, found in sorted(confusion(verdicts, group).items()):
        counted = "; ".join(f"{name} {count}" for name, count in found.most_common())
        lines.append(f"| `{planted}` | {counted} |")
    return "\n".join(lines)


if __name__ == "__main__":
    main()
