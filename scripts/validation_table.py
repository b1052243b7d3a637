"""Puts the diagnosis to the test with planted faults and writes what came of it into the docs.

`make validation-table` runs it. Episodes are kept in runs/validation, by the source that they were made with, so that
it goes on where it was cut off.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from pages import DOCS, of_this_source, rewrite

from robodx.analysis.estimates import wilson
from robodx.analysis.findings.validation import GROUPS, Group, Verdict, confusion, scores
from robodx.faults.base import FAULTS
from robodx.running.validation import design, faults, validate
from robodx.terminal.validation import GOALS, SAYS, validation_bar

ROOT = Path(__file__).parent.parent


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sets", type=int, default=5)
    parser.add_argument("--weak-sets", type=int, default=1)
    parser.add_argument("--healthy", type=int, default=60)
    parser.add_argument("--pairs", type=int, default=15)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--out", type=Path, help="instead of runs/validation")
    options = parser.parse_args()
    cases = design(sets=options.sets, weak_sets=options.weak_sets, healthy=options.healthy, pairs=options.pairs)
    out = options.out or of_this_source(ROOT / "runs" / "validation")
    verdicts = []
    with validation_bar(len(cases)) as tell:
        for verdict in validate(cases, out, workers=options.workers):
            verdicts.append(verdict)
            tell(verdict)
    page = DOCS / "diagnosis.md"
    rewrite(page, "scores of the validation", goals(verdicts))
    rewrite(page, "table of faults", fault_table(verdicts))
    rewrite(page, "confusion matrix", "\n\n".join(matrix(verdicts, group) for group in GROUPS))


def goals(verdicts: Sequence[Verdict]) -> str:
    lines = ["| planted | told right | runs | goal |", "|---|---|---|---|"]
    lines += [
        f"| {SAYS[score.group]} | {score.right} | {score.right.n} | {GOALS[score.group]:.0%} |"
        for score in scores(verdicts)
    ]
    halves = [_half(verdicts, part) for part in (0, 1)]
    most = max(one.episodes for one in verdicts)
    mean = sum(one.episodes for one in verdicts) / len(verdicts)
    lines += ["", f"One fault, each half of the faults by itself: {halves[0]} and {halves[1]}."]
    lines += [f"A run took {mean:.0f} episodes on average and {most} at most."]
    return "\n".join(lines)


def _half(verdicts: Sequence[Verdict], part: int) -> str:
    names = faults()[part::2]
    mine = [one for one in verdicts if one.group == "one fault" and one.planted in names]
    return str(wilson(sum(one.is_right for one in mine), len(mine)))


def fault_table(verdicts: Sequence[Verdict]) -> str:
    """What each does, the finding that it must cause, how often it did, and what most often showed it."""
    lines = ["| fault | what it does | severity | finding | alone | on the weak base |", "|---|---|---|---|---|---|"]
    for name in faults():
        entry = FAULTS[name]
        assert entry.expected is not None
        told = [_told([one for one in verdicts if one.group == group and _is_of(one, name)]) for group in GROUPS[:2]]
        finding = ": ".join(filter(None, entry.expected))
        lines.append(
            f"| `{name}` | {entry.summary} | {entry.severity:g} {entry.unit} | {finding} | {' | '.join(told)} |"
        )
    return "\n".join(lines)


def _is_of(verdict: Verdict, name: str) -> bool:
    return verdict.planted.split("+")[0] == name


def _told(verdicts: Sequence[Verdict]) -> str:
    return f"{sum(one.is_right for one in verdicts)} of {len(verdicts)}"


def matrix(verdicts: Sequence[Verdict], group: Group) -> str:
    """Planted × top finding."""
    lines = [f"| {group} | top finding, and in how many runs |", "|---|---|"]
    for planted, found in sorted(confusion(verdicts, group).items()):
        told = "; ".join(f"{name} {count}" for name, count in found.most_common())
        lines.append(f"| `{planted}` | {told} |")
    return "\n".join(lines)


if __name__ == "__main__":
    main()
