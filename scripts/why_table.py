"""Asks policies with planted faults why they fail, and writes what each substitution recovers into the docs.

`python scripts/why_table.py` runs it. Run folders are kept in runs/why-table, by the source that they were made with.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from pathlib import Path

from pages import DOCS, of_this_source, rewrite

from robodx.analysis.cause_sentences import adds
from robodx.analysis.causes import SUBSTITUTES, Cause, Causes
from robodx.analysis.summary import success_rate
from robodx.analysis.wording import listed
from robodx.perturbations.base import PERTURBATIONS
from robodx.records.table import load
from robodx.running.request import Request
from robodx.running.run import run
from robodx.running.why import why
from robodx.terminal.console import progress_bar

ROOT = Path(__file__).parent.parent
HEAD = (
    "Each cell has the share of the failed trials that the substitution alone recovers and, in brackets, how many it",
    "adds over all orders, at least and at most; the expected one is in bold. A dash means that the substitution",
    "applies to none of the failed trials. The last column has the substitutions that `robodx why` names.",
    "",
)


@dataclass(frozen=True)
class Case:
    """A policy whose weakness is known, where it shows, and what should cure it."""

    policy: str
    tasks: tuple[str, ...]
    cure: str
    stressor: str | None = None
    clock: str = "lockstep"
    # Who guesses is right now and then, and in some of the rest when tried again: that takes more.
    times: int = 1


CASES = (
    Case("fault:ignores_negation", ("language/negation", "language/exclusion"), "plain_words"),
    Case("fault:ignores_condition", ("language/conditional",), "plain_words", times=2),
    Case("fault:mirrors_left_right", ("language/ordinal", "spatial/pick_leftmost"), "plain_words"),
    Case("fault:colour_blind", ("perception/touch_red_sphere", "language/direct"), "lone_target", times=2),
    Case("fault:size_blind", ("perception/touch_bigger_sphere",), "lone_target", times=4),
    Case("fault:shape_blind", ("perception/touch_sphere",), "lone_target", times=3),
    Case("fault:distractible", ("robustness/easy",), "lone_target"),
    Case("fault:slow", ("pursuit",), "zero_latency", clock="realtime:measured"),
    Case("fault:undershoots", ("primitive/pick_cube", "spatial/pick_leftmost"), "expert_grasps"),
    Case("fault:releases_early", ("control/stack_cube", "control/place_sphere"), "expert_ends"),
    Case("vision", ("control/stack_cube",), "clean_sensors", stressor="calibration_offset"),
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=12)
    parser.add_argument("--episodes", type=int, default=24, help="failed trials that are run again, of each policy")
    parser.add_argument("--out", type=Path, default=ROOT / "runs" / "why-table")
    options = parser.parse_args()
    names = [one.name for one in SUBSTITUTES]
    lines = [
        *HEAD,
        f"| policy | tasks | success | failed | again | {' | '.join(f'`{name}`' for name in names)} | named |",
        "|---|---|---|---|---|---|" + "---|" * len(names),
    ]
    folder = of_this_source(options.out)
    for case in CASES:
        lines.append(_row(case, *_ask(case, folder / case.policy.replace(":", "."), options.seeds, options.episodes)))
        print(lines[-1], flush=True)
    rewrite(DOCS / "why.md", "table of causes", "\n".join(lines))


def _ask(case: Case, folder: Path, seeds: int, episodes: int) -> tuple[str, Causes]:
    stress = () if case.stressor is None else ((case.stressor, PERTURBATIONS[case.stressor].levels["v3"]),)
    with progress_bar() as progress:
        run(
            Request(case.tasks, case.policy, case.times * seeds, perturbations=stress, clock=case.clock),
            folder,
            observers=[progress],
        )
        return str(success_rate(load(folder))), why(folder, episodes=episodes, observers=[progress])


def _row(case: Case, success: str, found: Causes) -> str:
    cells = [_cell(cause, cause.substitution == case.cure) for cause in found.substitutions]
    policy = f"`{case.policy}`" + (f" under `{case.stressor}=v3`" if case.stressor else "")
    policy += "" if case.clock == "lockstep" else " in real time"
    tasks = ", ".join(f"`{task}`" for task in case.tasks)
    named = listed([f"`{one.substitution}`" for one in found.leading], "or") if found.is_shown else "—"
    again = _percent(found.again)
    return f"| {policy} | {tasks} | {success} | {found.again.n} | {again} | {' | '.join(cells)} | {named} |"


def _cell(cause: Cause, is_cure: bool) -> str:
    if not cause.n:
        return "—"
    text = f"{_percent(cause)} ({adds(cause)})"
    return f"**{text}**" if is_cure else text


def _percent(cause: Cause) -> str:
    return "—" if cause.recovered.value is None else f"{100 * cause.recovered.value:.0f}%"


if __name__ == "__main__":
    main()
