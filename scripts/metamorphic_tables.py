"""Runs policies through the metamorphic suite and writes the tables of docs/suites/metamorphic.md.

    python scripts/metamorphic_tables.py --docs
    python scripts/metamorphic_tables.py planted --seeds 20

Parts: `policies` (those that ship, with all relations) and `planted` (policies whose consistency is known). Run folders
are kept and resumed.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

import polars as pl
from pages import DOCS, of_this_source, rewrite
from tables import episodes_of, markdown, named

from robodx.analysis.findings.inconsistencies import inconsistencies
from robodx.analysis.metamorphic.levels import LEVELS
from robodx.analysis.metamorphic.measuring import measured
from robodx.analysis.metamorphic.rates import MetamorphicTable, Violations, metamorphic_table
from robodx.registry import load_plugin
from robodx.running.environment import USUAL_SEED
from robodx.running.request import Request
from robodx.terminal.comparison import p_value, points

POLICIES = ["expert", "vision", "act", "flow"]
PLUGIN = Path(__file__).resolve().parent / "inconsistent_policies.py"
# Others than those by which settings of the learned policies were chosen.
FIRST_SEED = 100
# Of the paper's five relations, over five models: failures that only the oracle saw, only the relations, and both.
OF_THE_PAPER = {"strict": (640, 3527, 3655), "medium": (1776, 1991, 2519), "low": (2877, 882, 1418)}
RELATIONS_OF_THE_PAPER = tuple(f"MR{number}" for number in range(1, 6))


@dataclass(frozen=True)
class Case:
    """A policy whose consistency is known: which relation it violates, if any, and with which it does not."""

    policy: str
    violates: str | None
    keeps: tuple[str, ...]
    seeds: int | None = None
    first_seed: int = FIRST_SEED
    # Of the suite's; none: all of them.
    tasks: tuple[str, ...] = ()
    because: str = ""


# With a policy that takes seconds an episode, on these tasks.
FAST = ("pick_up", "put_on")
PLANTED = (
    Case("fault:healthy", None, ("MR1", "MR2", "MR4", "MR5", "MR6", "MR9"), because="the expert itself"),
    Case("jittery", None, ("MR1", "MR9"), tasks=FAST, because="`vision` that strays by about 4 cm: noisy, consistent"),
    # Few of its sources succeed: those with nothing else on the table.
    Case("fault:distractible", "MR2", ("MR1",), seeds=80, because="goes to a thing that nobody speaks of"),
    Case("dazzled", "MR3", (), tasks=FAST, because="`vision` that lifts its hand higher the brighter it is"),
    Case("fault:ignores_negation", "MR4", ("MR1",), because='does not hear "not"'),
    Case(
        "fault:memorised_layout", "MR5", ("MR1",), seeds=1, first_seed=USUAL_SEED,
        because="goes to where the target lay in the layout that it memorised, on that layout",
    ),
    Case("fault:hears_only_left", "MR6", ("MR1",), because="takes right for left"),
    Case("fault:mirrors_left_right", None, ("MR1", "MR6"), because="takes left for right and right for left"),
)  # fmt: skip


def main() -> None:
    options = _options()
    load_plugin(str(PLUGIN))
    for part in options.parts:
        text = PARTS[part](options)
        options.out.mkdir(parents=True, exist_ok=True)
        (options.out / f"{part}.md").write_text(f"{text}\n")
        if options.docs:
            rewrite(DOCS / "suites" / "metamorphic.md", f"metamorphic: {part}", text)
        print(f"{text}\n", flush=True)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"{', '.join(PARTS)}; default: all")
    parser.add_argument("--policies", nargs="+", default=POLICIES, metavar="POLICY")
    parser.add_argument("--seeds", type=int, default=25)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--out", type=Path, help="default: a folder in runs/metamorphic-tables")
    parser.add_argument("--docs", action="store_true", help="write the tables into docs/suites/metamorphic.md too")
    options = parser.parse_args()
    if wrong := [part for part in options.parts if part not in PARTS]:
        parser.error(f'no part "{wrong[0]}": there are {", ".join(PARTS)}')
    options.parts = options.parts or list(PARTS)
    options.out = options.out or of_this_source(Path("runs") / "metamorphic-tables")
    return options


def policies(options: argparse.Namespace) -> str:
    pairs = {
        name: _pairs(name, ("metamorphic",), options.seeds, FIRST_SEED, options.out / named(name)[0], options.workers)
        for name in options.policies
    }
    return of_policies(pairs)


def of_policies(pairs: dict[str, pl.DataFrame]) -> str:
    """The tables of several policies, by their pairs."""
    tables = {name: table for name, mine in pairs.items() if (table := metamorphic_table(mine)) is not None}
    parts = [by_relation(tables), by_task(tables), by_oracle(tables), by_distance(tables)]
    return "\n\n".join(parts)


def planted(options: argparse.Namespace) -> str:
    rows = []
    for case in PLANTED:
        relations = [*((case.violates,) if case.violates else ()), *case.keeps]
        folder = options.out / f"planted-{case.policy.replace(':', '.')}"
        asked = tuple("/".join(["metamorphic", name, *case.tasks]) for name in relations)
        found = _pairs(case.policy, asked, case.seeds or options.seeds, case.first_seed, folder, options.workers)
        rows += of_case(case, found)
    head = [
        "policy",
        "what is wrong with it",
        "relation",
        "must",
        "claimed",
        "pairs",
        "strict",
        "calibrated",
        "MR0",
        "p",
    ]
    return markdown(head, rows)


def of_case(case: Case, pairs: pl.DataFrame) -> list[list[str]]:
    """A row for each relation that was asked of it."""
    table = metamorphic_table(pairs)
    # As robodx findings would say it.
    claims = {word for symptom in inconsistencies(pairs) for word in symptom.name.split()}
    rows = []
    for name in (*((case.violates,) if case.violates else ()), *case.keeps):
        must = "be violated" if name == case.violates else "hold"
        shown = f"`{case.policy}`", case.because, name, must, "yes" if name in claims else "no"
        strict, calibrated = (_row(table, name, level) for level in ("strict", "calibrated"))
        if strict is None:
            rows.append([*shown, "0: no source succeeds", "", "", "", ""])
            continue
        own = calibrated if calibrated is not None and calibrated.pairs else None
        p = p_value((own or strict).p_holm) or ""
        repeated = str((own or strict).repeated) if (own or strict).pattern == "consistency" else ""
        rows.append([*shown, str(strict.pairs), str(strict.rate), str(own.rate) if own else "", repeated, p])
    return rows


def _row(table: MetamorphicTable | None, relation: str, level: str) -> Violations | None:
    found = () if table is None else table.violations
    return next((one for one in found if (one.relation, one.level, one.task) == (relation, level, None)), None)


def _pairs(
    policy: str, selectors: tuple[str, ...], seeds: int, first_seed: int, folder: Path, workers: int
) -> pl.DataFrame:
    plugins = (str(PLUGIN),) if policy in ("jittery", "dazzled", "fault:hears_only_left") else ()
    request = Request(selectors, named(policy)[1], seeds, first_seed=first_seed, plugins=plugins)
    return measured(folder, episodes_of(request, folder, workers))


def by_relation(tables: dict[str, MetamorphicTable]) -> str:
    """Violations of each relation at each level, over all tasks."""
    rows = []
    for name, table in tables.items():
        for relation in _relations(table):
            each = {level: _row(table, relation, level) for level in LEVELS}
            calibrated, strict = each["calibrated"], each["strict"]
            assert calibrated is not None and strict is not None
            beyond = points(calibrated.difference) if calibrated.difference.value is not None else ""
            rates = [str(one.rate) if one is not None else "" for one in each.values()]
            if calibrated.pairs < strict.pairs:
                # Some tasks have too few repeats.
                rates[-1] += f" ({calibrated.pairs} pairs)" if calibrated.pairs else ""
            p = p_value(calibrated.p_holm) or ""
            rows.append([f"`{name}`", relation, str(strict.pairs), *rates, beyond, p])
    return markdown(["policy", "relation", "pairs", *LEVELS, "beyond MR0", "p"], rows)


def by_task(tables: dict[str, MetamorphicTable]) -> str:
    """At the calibrated level, task by task."""
    tasks = sorted({str(one.task) for table in tables.values() for one in table.violations if one.task})
    rows = []
    for name, table in tables.items():
        for relation in _relations(table):
            found = {
                one.task: str(one.rate) if one.pairs else ""
                for one in table.violations
                if (one.relation, one.level) == (relation, "calibrated")
            }
            rows.append([f"`{name}`", relation, *(found.get(task, "") for task in tasks)])
    return "At the calibrated level, by task:\n\n" + markdown(["policy", "relation", *tasks], rows)


def by_oracle(tables: dict[str, MetamorphicTable]) -> str:
    """How many follow-ups the oracle, the relations or both found wrong, over the relations of the paper."""
    rows = []
    for level, (oracle, relation, both) in OF_THE_PAPER.items():
        rows.append(["paper, five models", level, *map(str, (oracle, relation, both))])
    for name, table in tables.items():
        for level in LEVELS:
            found = [
                one
                for one in table.overlaps
                if one.task is None and one.level == level and one.relation in RELATIONS_OF_THE_PAPER
            ]
            counts = (sum(getattr(one, part) for one in found) for part in ("oracle_only", "relation_only", "both"))
            rows.append([f"`{name}`", level, *map(str, counts)])
    head = ["policy", "level", "only the oracle", "only the relation", "both"]
    return "Follow-ups of MR1 to MR5 that were found wrong:\n\n" + markdown(head, rows)


def by_distance(tables: dict[str, MetamorphicTable]) -> str:
    """Percentiles of the Fréchet distance, in centimetres."""
    rows = [
        [f"`{name}`", one.relation, str(one.pairs), *(f"{100 * value:.1f}" for value in one.percentiles_m)]
        for name, table in tables.items()
        for one in table.spreads
    ]
    head = ["policy", "relation", "pairs", "10%", "25%", "50%", "75%", "90%"]
    return "Fréchet distance in centimetres, percentiles:\n\n" + markdown(head, rows)


def _relations(table: MetamorphicTable) -> Iterable[str]:
    return dict.fromkeys(one.relation for one in table.violations if one.task is None)


PARTS: dict[str, Callable[[argparse.Namespace], str]] = {"policies": policies, "planted": planted}

if __name__ == "__main__":
    main()
