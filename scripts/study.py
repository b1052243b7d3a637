"""Takes several policies through capability, isolation, stress and the diagnosis, and writes the tables of the study.

    python scripts/study.py --docs
    python scripts/study.py capability why --policies act flow --seeds 10

Without parts, all of them; `mended` compares `act` with the weights that --mended gives, and is left out without any.
Run folders are kept and resumed: OUT/POLICY-capability and so on. `make study` writes the tables into docs/study.md.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl
from pages import DOCS, of_this_source, rewrite
from study_tables import before_and_after, by_added_factor, by_family, by_finding, by_substitution, control_normalised
from tables import UNSEEN, by_stressor, episodes_of, named

from robodx.analysis.findings.base import Diagnosis
from robodx.analysis.findings.diagnose import diagnose_runs
from robodx.analysis.stress import stress_table
from robodx.analysis.summary import Summary
from robodx.cli.films import film_examples
from robodx.interventions.base import PLACEBO
from robodx.records.about import read_about
from robodx.records.design import Planned
from robodx.records.trial import Trial
from robodx.report.material import gather
from robodx.report.page import FILE_NAME, write_report
from robodx.running.request import Request
from robodx.running.validation import SET
from robodx.running.why import why as ask_why
from robodx.suites.capability import capability_tasks
from robodx.tasks.base import Task
from robodx.terminal.console import progress_bar

POLICIES = ["act", "act_no_language", "flow", "vision", "open_loop"]
# Whose failures are asked about, and who is to be mended.
ASKED_WHY = ("act", "flow")
BEFORE = "act"
# Others than those by which settings were chosen; and others than those of all tables before.
FIRST_SEED, FIRST_HELD_OUT = 100, 200
# Episodes of each finding, as robodx diagnose films them.
FILMS = 2


def main() -> None:
    options = _options()
    options.out.mkdir(parents=True, exist_ok=True)
    for part in options.parts:
        text = PARTS[part](options)
        (options.out / f"{part}.md").write_text(f"{text}\n")
        if options.docs:
            rewrite(DOCS / "study.md", f"study: {part}", text)
        print(f"{text}\n", flush=True)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"{', '.join(PARTS)}; default: all that can run")
    parser.add_argument("--policies", nargs="+", default=POLICIES, metavar="POLICY")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--out", type=Path, help="default: a folder in runs/study")
    parser.add_argument("--docs", action="store_true", help="write the tables into docs/study.md too")
    parser.add_argument("--seeds", type=int, default=25, help="of each task, but for stress and diagnosis")
    parser.add_argument("--stress-seeds", type=int, default=10)
    parser.add_argument("--diagnoses", type=int, default=1, help="of each policy, on disjoint seeds")
    parser.add_argument("--mended", metavar="FILE.onnx", help=f"weights that are compared with {BEFORE}")
    parser.add_argument("--no-pages", action="store_true", help="write no report of each diagnosis")
    options = parser.parse_args()
    if wrong := [part for part in options.parts if part not in PARTS]:
        parser.error(f'no part "{wrong[0]}": there are {", ".join(PARTS)}')
    if "mended" in options.parts and options.mended is None:
        parser.error("the part mended needs --mended FILE.onnx")
    if options.mended is not None and named(options.mended)[0] == BEFORE:
        parser.error(f"{options.mended} is called like what it is compared with: rename it")
    can_run = {"why": set(ASKED_WHY) & set(options.policies), "mended": options.mended}
    options.parts = options.parts or [part for part in PARTS if can_run.get(part, True)]
    options.out = options.out or of_this_source(Path("runs") / "study")
    return options


def capability(options: argparse.Namespace) -> str:
    tables = {name: _run(name, "capability", options) for name in options.policies}
    given = "Given that it can move: success divided by that of the task's motor primitive."
    return f"{by_family(tables)}\n\n{given}\n\n{control_normalised(_summaries(tables, 'capability', options))}"


def isolation(options: argparse.Namespace) -> str:
    tables = {name: _run(name, "isolation", options) for name in options.policies}
    return by_added_factor(_summaries(tables, "isolation", options))


def stress(options: argparse.Namespace) -> str:
    parts = []
    for name in options.policies:
        episodes = _run(name, "stress", options, seeds=options.stress_seeds)
        table = stress_table(episodes, read_about(_folder(name, "stress", options)), np.random.default_rng(0))
        parts.append(f"`{name}`, {len(episodes)} episodes\n\n{by_stressor(table, name)}")
    return "\n\n".join(parts)


def diagnosis(options: argparse.Namespace) -> str:
    """Each takes one situation of all tasks, as `robodx diagnose` does by itself, and seeds of its own."""
    firsts = [SET * number for number in range(options.diagnoses)]
    return by_finding(
        {name: {first: _diagnosed(name, first, options) for first in firsts} for name in options.policies}
    )


def _diagnosed(name: str, first_seed: int, options: argparse.Namespace) -> Diagnosis:
    kind = f"diagnosis-{first_seed}"
    _run(name, kind, options, selectors=("diagnosis",), seeds=1, first_seed=first_seed)
    folder = _folder(name, kind, options)
    if options.no_pages:
        (found,) = diagnose_runs([folder])
        return found
    material = film_examples(gather([folder]), FILMS)
    write_report(material, folder / FILE_NAME)
    (found,) = material.diagnoses
    return found


def why(options: argparse.Namespace) -> str:
    """Of failures in easy tasks: each task has its turn, and few failures are left for one of many."""
    found = {}
    easy = tuple(task.id for task in _easy_tasks(with_unseen=True))
    for name in (one for one in options.policies if one in ASKED_WHY):
        _run(name, "easy", options, selectors=easy)
        with progress_bar() as progress:
            found[name] = ask_why(_folder(name, "easy", options), workers=options.workers, observers=[progress])
    return by_substitution(found)


def mended(options: argparse.Namespace) -> str:
    policies = (BEFORE, options.mended)
    tables = [
        _run(policy, "pairs", options, first_seed=FIRST_HELD_OUT, planned=rooms(named(policy)[1], options.seeds))
        for policy in policies
    ]
    return before_and_after(BEFORE, named(options.mended)[0], tables)


def rooms(policy: str, seeds: int, first_seed: int = FIRST_HELD_OUT) -> list[Planned]:
    """Easy tasks as they are, in another familiar room and in an unseen one; and the family that has unseen rooms."""
    ways = ((), (("room", PLACEBO),), (("room", "unseen"),))
    trials = [(task, way) for task in _easy_tasks() for way in ways]
    trials += [(task, ()) for task in capability_tasks() if task.family == UNSEEN]
    return [
        Planned(Trial(task.id, task.version, policy, seed, interventions=way))
        for task, way in trials
        for seed in range(first_seed, first_seed + seeds)
    ]


def _easy_tasks(*, with_unseen: bool = False) -> list[Task]:
    return [task for task in capability_tasks() if task.tier == "easy" and (with_unseen or task.family != UNSEEN)]


def _folder(policy: str, kind: str, options: argparse.Namespace) -> Path:
    out: Path = options.out
    return out / f"{named(policy)[0]}-{kind}"


def _run(
    policy: str,
    kind: str,
    options: argparse.Namespace,
    *,
    selectors: tuple[str, ...] | None = None,
    seeds: int | None = None,
    first_seed: int = FIRST_SEED,
    planned: list[Planned] | None = None,
) -> pl.DataFrame:
    """All that its folder holds when it is done: a suite of the name of the folder, unless something else is asked."""
    folder = _folder(policy, kind, options)
    print(folder, file=sys.stderr)
    asked = () if planned is not None else selectors or (kind,)
    request = Request(asked, named(policy)[1], seeds or options.seeds, first_seed=first_seed)
    return episodes_of(request, folder, options.workers, planned)


def _summaries(tables: dict[str, pl.DataFrame], kind: str, options: argparse.Namespace) -> dict[str, Summary]:
    return {name: Summary(table, read_about(_folder(name, kind, options))) for name, table in tables.items()}


PARTS: dict[str, Callable[[argparse.Namespace], str]] = {
    "capability": capability,
    "isolation": isolation,
    "stress": stress,
    "diagnosis": diagnosis,
    "why": why,
    "mended": mended,
}

if __name__ == "__main__":
    main()
