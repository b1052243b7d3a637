"""The validation as text: the goals, and what was planted against what was found."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from robodx.analysis.findings.validation import GROUPS, NOTHING, WITHOUT_CAUSE, Group, Verdict, scores
from robodx.terminal.console import eta_bar, print_line, table_lines

if TYPE_CHECKING:
    from collections.abc import Callable

# What the diagnosis is held to: the share that must be correct.
GOALS: dict[Group, float] = {
    "one fault": 0.95, "held-out fault": 0.8, "earlier held-out fault": 0.8, "weaker base": 0.8,
    "two faults": 0.8, **{group: 0.95 for group in WITHOUT_CAUSE},
}  # fmt: skip
SAYS: dict[Group, str] = {
    "one fault": "one fault that the diagnosis was built with: the top finding names it",
    "held-out fault": "one fault by another author, not seen before: the top finding names its factor and level",
    "earlier held-out fault": "one fault by another author, seen before: the top finding names its factor and level",
    "weaker base": "one fault and 40% random failures: the top finding names the fault",
    "two faults": "two faults: the top three findings name both",
    "luck_by_task": "fails by luck, at a rate of its own in each task: no cause is claimed",
    "luck_by_sentence": "fails by luck, at a rate of its own for each instruction: no cause is claimed",
    "luck_by_family": "fails by luck, at a rate of its own in each family: no cause is claimed",
    "luck_by_picture": "fails by luck that anything moved or recoloured redraws: no cause is claimed",
    "stops_per_second": "stops by luck, as likely in any second: no cause is claimed but how long a task takes",
    "stops_per_grasp": "stops by luck, as likely in any grasp: no cause is claimed but how much there is to do",
    "no fault": "no fault: no cause is claimed",
}


def lines(verdicts: Sequence[Verdict]) -> Iterator[str]:
    yield from table_lines(
        [
            {
                "planted": SAYS[score.group],
                "correct": str(score.right),
                "runs": score.right.n,
                "policies": policies(verdicts, score.group),
                "goal": f"{GOALS[score.group]:.0%}",
                "reached": "yes" if (score.right.value or 0.0) >= GOALS[score.group] else "NO",
            }
            for score in scores(verdicts)
        ]
    )
    for group in GROUPS:
        rows = list(matrix_rows(verdicts, group))
        if rows:
            yield ""
            yield from table_lines(rows)


def policies(verdicts: Sequence[Verdict], group: Group) -> int:
    """How many were run, each on several sets of seeds: runs of one policy are no independent cases."""
    return len({one.planted for one in verdicts if one.group == group})


def matrix_rows(verdicts: Sequence[Verdict], group: Group) -> Iterator[dict[str, Any]]:
    """A row for each planted fault and top finding: in how many runs, and how many of these were correct."""
    by_finding: dict[tuple[str, str], list[bool]] = {}
    for one in verdicts:
        if one.group == group:
            by_finding.setdefault((one.planted, one.found[0] if one.found else NOTHING), []).append(one.is_right)
    for (planted, name), right in sorted(by_finding.items(), key=lambda item: (item[0][0], -len(item[1]))):
        mark = "" if all(right) else "wrong"
        yield {f"{group}": planted, "top finding": name, "runs": len(right), "correct": sum(right), "": mark}


def as_dict(verdicts: Sequence[Verdict]) -> dict[str, Any]:
    from dataclasses import asdict

    return {
        "scores": {score.group: {**asdict(score.right), "goal": GOALS[score.group]} for score in scores(verdicts)},
        "verdicts": [{**asdict(one), "expected": [str(each) for each in one.expected]} for one in verdicts],
    }


def is_reached(verdicts: Sequence[Verdict]) -> bool:
    """Of what was run; nothing reaches no goal."""
    return bool(verdicts) and all((score.right.value or 0.0) >= GOALS[score.group] for score in scores(verdicts))


@contextmanager
def validation_bar(total: int) -> Iterator[Callable[[Verdict], None]]:
    """A bar with an ETA on a terminal; a line for each run elsewhere."""
    from rich.console import Console

    console = Console(stderr=True)
    with eta_bar(console) as bar:
        job = bar.add_task("runs", total=total)
        wrong = 0

        def tell(verdict: Verdict) -> None:
            nonlocal wrong
            wrong += not verdict.is_right
            bar.update(job, advance=1, description=f"runs, {wrong} wrong")
            if not console.is_terminal:
                found = ", ".join(verdict.found) or "no weakness found"
                print_line(console, f"{verdict.planted}: {found}{'' if verdict.is_right else ' (wrong)'}")

        yield tell
