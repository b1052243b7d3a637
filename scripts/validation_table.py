"""Puts the diagnosis to the test with planted faults and writes what came of it into the docs.

`make validation-table` runs it. Episodes are kept in runs/validation, by the source that they were made with, so that
it goes on where it was cut off.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Sequence
from functools import cache
from itertools import permutations
from pathlib import Path
from typing import Any

import polars as pl
from pages import DOCS, of_this_source, rewrite
from units import keep, kept

from robodx.analysis.findings.validation import (
    GROUPS,
    WITHOUT_CAUSE,
    Group,
    Verdict,
    confusion,
    retest,
    scores,
)
from robodx.analysis.findings.validation import HELD_OUT as BY_OTHERS
from robodx.analysis.statistics.estimates import wilson
from robodx.faults.base import FAULTS
from robodx.running.validation import FIRST_SET, FLAKY, design, faults, plugin_of, read_held_out, validate
from robodx.running.validation import NULLS as KINDS
from robodx.terminal.validation import GOALS, SAYS, policies, validation_bar

ROOT = Path(__file__).parent.parent
# Not seen before the last change of the diagnosis, and seen.
HELD_OUT, *EARLIER = (ROOT / "scripts" / "held_out" / f"{name}.csv" for name in ("fourth", "third", "second", "first"))
# A line for each run of a policy without a cause, or one with the sums over the runs of a kind.
NULLS = DOCS / "results" / "nulls.jsonl"
COUNTS = ("runs", "false", "true", "pairs", "differ", "plain")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sets", type=int, default=5)
    parser.add_argument("--weak-sets", type=int, default=1)
    parser.add_argument("--healthy", type=int, default=60)
    parser.add_argument("--pairs", type=int, default=30)
    parser.add_argument("--nulls", type=int, default=20, help="policies of each kind that fail by luck alone")
    parser.add_argument("--held-out-sets", type=int, default=1)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--out", type=Path, help="instead of runs/validation")
    parser.add_argument("--there", action="store_true", help="judge what is there, and run nothing")
    parser.add_argument(
        "--only-nulls", action="store_true", help="only policies without a cause; the other tables stay as they are"
    )
    options = parser.parse_args()
    cases = design(
        sets=options.sets,
        weak_sets=options.weak_sets,
        healthy=options.healthy,
        pairs=options.pairs,
        nulls=options.nulls,
        held_out=read_held_out(HELD_OUT),
        earlier={name: factor for table in EARLIER for name, factor in read_held_out(table).items()},
        held_out_sets=options.held_out_sets,
    )
    if options.only_nulls:
        cases = [case for case in cases if case.group in WITHOUT_CAUSE]
    out = options.out or of_this_source(ROOT / "runs" / "validation")
    if options.there:
        cases = [case for case in cases if (out / f"{case.name}.parquet").exists()]
    verdicts = []
    with validation_bar(len(cases)) as tell:
        plugins = [plugin_of(table) for table in (HELD_OUT, *EARLIER)]
        for verdict in validate(cases, out, workers=options.workers, plugins=plugins):
            verdicts.append(verdict)
            tell(verdict)
    page = DOCS / "diagnosis.md"
    nulls = [one for one in verdicts if one.group in WITHOUT_CAUSE]
    if nulls:
        keep(NULLS, [[null_row(one) for one in nulls]])
    rows = latest(kept(NULLS))
    rewrite(page, "policies without a cause", null_table(rows))
    rewrite(ROOT / "README.md", "false causes", false_causes(rows))
    verdicts = [one for one in verdicts if one.group not in WITHOUT_CAUSE]
    if not verdicts:
        return
    rewrite(ROOT / "README.md", "trust", trust(verdicts))
    rewrite(page, "scores of the validation", f"{goals(verdicts)}\n{apart(verdicts, out, options.sets)}")
    rewrite(page, "table of faults", fault_table(verdicts))
    for group in BY_OTHERS:
        if any(one.group == group for one in verdicts):
            rewrite(page, f"{group}s", held_out_table(verdicts, group))
    shown = [matrix(verdicts, group) for group in GROUPS if group not in (*BY_OTHERS, *WITHOUT_CAUSE)]
    rewrite(page, "confusion matrix", "\n\n".join(filter(None, shown)))


def goals(verdicts: Sequence[Verdict]) -> str:
    lines = ["| planted | correct | runs | different policies | goal |", "|---|---|---|---|---|"]
    lines += [
        f"| {SAYS[score.group]} | {score.right} | {score.right.n} | {policies(verdicts, score.group)} | "
        f"{GOALS[score.group]:.0%} |"
        for score in scores(verdicts)
    ]
    most = max(one.episodes for one in verdicts)
    mean = sum(one.episodes for one in verdicts) / len(verdicts)
    lines += ["", f"A run took {mean:.0f} episodes on average and {most} at most.", by_fault(verdicts)]
    found = retest(verdicts, "one fault")
    if found.again.n:
        # Pairs of runs are not independent: no interval.
        kinds = (found.again, found.others, found.contradicted)
        again, others, contradicted = (f"{one.value or 0:.0%}" for one in kinds)
        lines.append(
            f"Of two runs of one planted fault on disjoint seeds, {again} agree in their top finding (the same factor\n"
            f"and level, or its parent; {found.again.n} pairs of runs); of two different faults {others}. What one\n"
            f"run had shown to be the cause the other had ruled out in {contradicted}."
        )
    return "\n".join(lines)


def trust(verdicts: Sequence[Verdict]) -> str:
    """For the README: the groups beside each other."""
    lines = ["| policies | right | runs | goal |", "|---|---|---|---|"]
    lines += [
        f"| {SAYS[score.group]} | {score.right} | {score.right.n} | {GOALS[score.group]:.0%} |"
        for score in scores(verdicts)
    ]
    return "\n".join(lines)


def null_row(verdict: Verdict) -> dict[str, Any]:
    chance = verdict.temptation
    return {
        "kind": verdict.planted if verdict.group == "no fault" else verdict.planted.partition("=")[0],
        "planted": verdict.planted, "seed_set": verdict.seed_set, "found": list(verdict.found),
        "runs": 1, "false": int(not verdict.is_right), "true": int(verdict.is_right and bool(verdict.found)),
        "pairs": chance.pairs, "differ": chance.differ, "plain": int(chance.claims > 0),
    }  # fmt: skip


def latest(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Each run once, the last time it was judged; sums of a kind only until as many of its runs are there."""
    runs = {(row["planted"], row["seed_set"]): row for row in rows if "planted" in row}
    count = Counter(row["kind"] for row in runs.values())
    sums = [row for row in rows if "planted" not in row and count[row["kind"]] < row["runs"]]
    summed = {row["kind"] for row in sums}
    return [*(row for row in runs.values() if row["kind"] not in summed), *sums]


def null_table(rows: Sequence[dict[str, Any]]) -> str:
    """By kind: how often a cause was claimed, and how many pairs could have misled."""
    columns = (
        "policies without a cause",
        "runs",
        "false claims",
        "true claims",
        "pairs",
        "of these differ",
        "plain test",
    )
    lines = [f"| {' | '.join(columns)} |", "|---" * len(columns) + "|"]
    kinds = sorted({row["kind"] for row in rows}, key=["healthy", *FLAKY, *KINDS].index)
    for name, group in (
        *((f"`{kind}`", [row for row in rows if row["kind"] == kind]) for kind in kinds),
        ("**all**", rows),
    ):
        runs, false, true, pairs, differ, plain = _sums(group)
        cells = (name, runs, f"{false}: {wilson(false, runs)}", true, f"{pairs:,}", f"{differ:,}", plain)
        lines.append(f"| {' | '.join(map(str, cells))} |")
    return "\n".join(lines)


def _sums(rows: Sequence[dict[str, Any]]) -> list[int]:
    return [sum(row[name] for row in rows) for name in COUNTS]


def false_causes(rows: Sequence[dict[str, Any]]) -> str:
    """For the README: all kinds together."""
    runs, false, _, pairs, differ, _ = _sums(rows)
    return (
        f"In {runs} runs of policies that fail by luck alone or not at all, it claimed {_causes(false)}\n"
        f"({wilson(false, runs)} of runs; goal at most 5%). These tests can fail: of {pairs:,} pairs,\n"
        f"{differ:,} had two different outcomes."
    )


def _causes(number: int) -> str:
    return f"{number or 'no'} false cause{'s' * (number != 1)}"


def by_fault(verdicts: Sequence[Verdict]) -> str:
    """Runs of one fault are no independent cases: so many faults were named in most of their runs."""
    told = []
    for group, says in zip(("one fault", *BY_OTHERS), ("repository", "held-out", "earlier held-out"), strict=True):
        runs: dict[str, list[bool]] = {}
        for one in verdicts:
            if one.group == group:
                runs.setdefault(one.planted, []).append(one.is_right)
        if runs:
            share = wilson(sum(2 * sum(right) > len(right) for right in runs.values()), len(runs))
            told.append(f"{share} of the {len(runs)} {says} faults")
    return f"Named in most of their runs were {' and '.join(told)}."


def held_out_table(verdicts: Sequence[Verdict], group: Group) -> str:
    """Each with the factor and level that its author noted, and what was found."""
    lines = ["| held-out fault | factor and level | correct | found, and in how many runs |", "|---|---|---|---|"]
    found = confusion(verdicts, group)
    for name in sorted(found):
        mine = [one for one in verdicts if one.group == group and one.planted == name]
        counted = "; ".join(f"{says} {count}" for says, count in found[name].most_common())
        small = ", costs < 10 points" if any(one.is_small for one in mine) else ""
        cells = (f"`{name}`", str(mine[0].expected[0]), f"{_counted(mine)}{small}", counted)
        lines.append(f"| {' | '.join(cell.replace('|', '/') for cell in cells)} |")
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
        if not all((out / f"{name}.{number}.parquet").exists() for name in (fault, other)):
            continue
        mine, others = (_outcomes(out / f"{name}.{number}.parquet") for name in (fault, other))
        trials = [trial for trial, success in others.items() if not success and trial in mine]
        lost += len(trials)
        alive += [trial for trial in trials if mine[trial]]
    return len(alive) < lost / 2


@cache
def _outcomes(path: Path) -> dict[tuple[str, int, bool], bool]:
    untouched = (pl.col("interventions").list.len() == 0) & (pl.col("perturbations").list.len() == 0)
    table = pl.read_parquet(path).filter(untouched)
    rows = table.select("task", "seed", pl.col("clock") == "lockstep", "success").iter_rows()
    return {(task, seed, waits): success for task, seed, waits, success in rows}


def fault_table(verdicts: Sequence[Verdict]) -> str:
    """What each does, the finding that it must cause, how often it did, and what most often showed it."""
    lines = ["| fault | what it does | severity | expected finding | alone | with 40% random failures |"]
    lines += ["|---|---|---|---|---|---|"]
    for name in faults():
        entry = FAULTS[name]
        assert entry.expected is not None
        counted = [
            _counted([one for one in verdicts if one.group == group and _is_of(one, name)])
            for group in ("one fault", "weaker base")
        ]
        finding = ": ".join(filter(None, entry.expected))
        lines.append(
            f"| `{name}` | {entry.summary} | {entry.severity:g} {entry.unit} | {finding} | {' | '.join(counted)} |"
        )
    return "\n".join(lines)


def _is_of(verdict: Verdict, name: str) -> bool:
    return verdict.planted.split("+")[0] == name


def _counted(verdicts: Sequence[Verdict]) -> str:
    return f"{sum(one.is_right for one in verdicts)} of {len(verdicts)}" if verdicts else "not run"


def matrix(verdicts: Sequence[Verdict], group: Group) -> str:
    """Planted × top finding."""
    lines = [f"| {group} | top finding, and in how many runs |", "|---|---|"]
    for planted, found in sorted(confusion(verdicts, group).items()):
        counted = "; ".join(f"{name} {count}" for name, count in found.most_common()).replace("|", "/")
        lines.append(f"| `{planted}` | {counted} |")
    return "\n".join(lines) if len(lines) > 2 else ""


if __name__ == "__main__":
    main()
