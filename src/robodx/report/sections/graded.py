"""Stability, adaptability and inference frequency: tests of the suite `stress` whose levels are tasks of their own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict

from robodx.analysis.graded import Graded
from robodx.report.blocks import Block, Cell, Column, Table, Text
from robodx.report.forest import Row, forest
from robodx.report.material import Material
from robodx.report.sections.base import Content, section
from robodx.report.words import number

# Of each test: its caption, and what is shown beside success.
STABLE = Column("stability", "1 means standing still, at any control rate", is_number=True)
CALLS = Column("calls / s", "how often it can be asked in a second", is_number=True)
ACTIONS = Column("actions / s", "how many actions it gives in a second of its thinking", is_number=True)
LATE = Column("latency, ms", "95th percentile of an episode's answers", is_number=True)
TESTS = {
    "stability": "Stability: success and steadiness in ever finer stacking",
    "adaptability": "Adaptability: success when the task changes while it is under way",
    "inference_frequency": "Rate: success on a moving belt; with a clock in real time it does not wait for the policy",
}
LEGENDS = {
    "stability": "Stability is exp(−mean speed of the commanded joints, in radians per 1/20 s).",
    "inference_frequency": "Calls and actions per second and latency are medians over episodes, measured on the "
    "machine of the run.",
}


@section(order=34, title="Other tests in levels", folded=True)
def graded(material: Material) -> Content | None:
    found = [(place, one) for place, subject in enumerate(material.subjects) for one in subject.summary.levels]
    blocks: list[Block] = [
        _table(test, rows, has_policies=material.is_comparison)
        for test in TESTS
        if (rows := [pair for pair in found if pair[1].test == test])
    ]
    if not blocks:
        return None
    legend = " ".join(says for test, says in LEGENDS.items() if any(one.test == test for _, one in found))
    return Content([*blocks, *([Text(legend, "quiet")] if legend else [])], [asdict(one) for _, one in found])


def _table(test: str, found: Sequence[tuple[int, Graded]], *, has_policies: bool) -> Table:
    has_clocks = any(one.clock != "lockstep" for _, one in found)
    is_timed = test == "inference_frequency"
    rows = [
        Row(
            [
                f"{one.level} {one.task.partition('/')[2]}",
                *([one.clock] if has_clocks else []),
                *([one.policy] if has_policies else []),
            ],
            one.success,
            1 + place % 4,
            place % 4,
            _further(one, is_timed=is_timed),
        )
        for place, one in found
    ]
    of = ["level", *(["clock"] if has_clocks else []), *(["policy"] if has_policies else [])]
    further = [CALLS, ACTIONS, LATE] if is_timed else [STABLE]
    return forest(TESTS[test], of, rows, further=further, kind="many")


def _further(one: Graded, *, is_timed: bool) -> list[Cell]:
    shown = [one.calls_per_s, one.actions_per_s, one.latency_ms_p95] if is_timed else [one.stability]
    # The interval is in the tooltip: with three of them a row would not fit.
    return [Cell(number(found).partition(" [")[0], sort=found, title=number(found)) for found in shown]
