"""Runs learned policies through the capability suite and writes tables: families × tiers, every task, checkpoints.

    python scripts/learned_tables.py --docs
    python scripts/learned_tables.py weights/act/*.onnx --tasks easy --training-seeds 10 --out runs/learned

A policy is a name, or a file of examples/training/export.py; without any, those that ship. Run folders are kept by
policy and resumed. With --training-seeds each also runs on situations that it was trained on: fit against
generalisation, in a table and drawn in OUT/curve.svg. `make learned-tables` writes the tables of docs/learned.md.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import polars as pl
from pages import DOCS, of_this_source, rewrite
from tables import TIERS, UNSEEN, cell, episodes_of, markdown, named
from training_curve import Trained, training_curve

from robodx.analysis.summary import success_rate
from robodx.learned.networks import card_of
from robodx.running.request import Request
from robodx.streams import FIRST_TRAINING_SEED
from robodx.suites.capability import capability_tasks

SHIPPED = ["act", "act_no_language", "flow"]


def main() -> None:
    options = _options()
    names = [named(policy)[0] for policy in options.policies]
    if twice := {name for name in names if names.count(name) > 1}:
        raise SystemExit(f"several policies are called {', '.join(sorted(twice))}: rename the files")
    options.out = options.out or of_this_source(Path("runs") / "learned-tables")
    tables: dict[str, pl.DataFrame] = {}
    fits: dict[str, pl.DataFrame] = {}
    for policy in options.policies:
        name, asked = named(policy)
        tables[name] = _run(asked, options.tasks, options.out / f"{name}-test", options)
        if options.training_seeds:
            fits[name] = _run(asked, options.tasks, options.out / f"{name}-train", options, is_trained_on=True)
    parts = [by_tier(tables)]
    if any(policy.endswith(".onnx") for policy in options.policies):
        parts.append(by_checkpoint(options.policies, tables, fits))
    parts.append(by_task(tables))
    text = "\n\n".join(parts) + "\n"
    options.out.mkdir(parents=True, exist_ok=True)
    (options.out / "tables.md").write_text(text)
    if networks := [policy for policy in options.policies if _about(policy)]:
        (options.out / "curve.svg").write_text(curve(networks, tables, fits))
    if options.docs:
        rewrite(DOCS / "learned.md", "scores of learned policies", text)
    print(text)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("policies", nargs="*", default=SHIPPED, metavar="POLICY|FILE.onnx")
    parser.add_argument("--docs", action="store_true", help="write the tables into docs/learned.md too")
    parser.add_argument("--tasks", choices=("all", *TIERS), default="all", help="all of the suite, or one tier")
    parser.add_argument("--seeds", type=int, default=25)
    parser.add_argument("--first-seed", type=int, default=100, help="others than those by which settings were chosen")
    parser.add_argument("--training-seeds", type=int, default=0, help="situations of each task from the training data")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--out", type=Path, help="default: a folder in runs/learned-tables")
    return parser.parse_args()


def _run(
    policy: str, tasks: str, folder: Path, options: argparse.Namespace, *, is_trained_on: bool = False
) -> pl.DataFrame:
    chosen = [task.id for task in capability_tasks() if tasks == "all" or task.tier == tasks]
    seeds, first = options.seeds, options.first_seed
    if is_trained_on:
        chosen = [task for task in chosen if not task.startswith(UNSEEN)]
        seeds, first = options.training_seeds, FIRST_TRAINING_SEED
    return episodes_of(Request(tuple(chosen), policy, seeds, first_seed=first), folder, options.workers)


def by_tier(tables: dict[str, pl.DataFrame]) -> str:
    """Success of each family and tier, and of all training families together."""
    parts = []
    for name, table in tables.items():
        lines = []
        families = dict.fromkeys(task.family for task in capability_tasks())
        rows = {family: pl.col("family") == family for family in families}
        rows["**all but robustness**"] = pl.col("family") != UNSEEN
        tasks = table.filter(pl.col("family") != UNSEEN)["task"].n_unique()
        for family, which in rows.items():
            found = table.filter(which)
            cells = [cell(found.filter(pl.col("tier") == tier)) for tier in TIERS]
            counted = f", {tasks} tasks" if family.startswith("**") else ""
            lines.append([f"{family}{counted}", *cells, cell(found)])
        parts.append(f"`{name}`\n\n{markdown(['family', *TIERS, 'all'], lines)}")
    return "\n\n".join(parts)


def by_checkpoint(policies: list[str], tables: dict[str, pl.DataFrame], fits: dict[str, pl.DataFrame]) -> str:
    """What was trained how far, on how much: success on situations of the training data, and on others."""
    head = ["policy", "steps", "share of episodes", "frames", "on training situations", "on test situations"]
    lines = []
    for policy, (name, table) in zip(policies, tables.items(), strict=True):
        about = _about(policy)
        trained = about.get("trained", {})
        told = [str(about.get("steps", "")), str(trained.get("share", "")), str(trained.get("frames", ""))]
        lines.append([f"`{name}`", *told, cell(fits[name]) if name in fits else "", cell(_trained_on(table))])
    return markdown(head, lines)


def curve(policies: list[str], tables: dict[str, pl.DataFrame], fits: dict[str, pl.DataFrame]) -> str:
    """Of files: over the steps of a training, or, where all have the same number, over the frames."""
    abouts = [_about(policy) for policy in policies]
    is_of_data = len({about["steps"] for about in abouts}) == 1
    found = [
        Trained(
            float(about["trained"]["frames"] if is_of_data else about["steps"]),
            success_rate(fits[name]) if name in fits else None,
            success_rate(_trained_on(tables[name])),
        )
        for name, about in zip([named(policy)[0] for policy in policies], abouts, strict=True)
    ]
    return training_curve(found, "frames of demonstrations" if is_of_data else "steps of the training")


def _about(policy: str) -> dict[str, Any]:
    """What a file says of its training, if it does; of a policy by name, nothing."""
    about: dict[str, Any] = card_of(Path(policy)).get("about", {}) if policy.endswith(".onnx") else {}
    return about


def _trained_on(table: pl.DataFrame) -> pl.DataFrame:
    return table.filter(pl.col("family") != UNSEEN)


def by_task(tables: dict[str, pl.DataFrame]) -> str:
    lines = []
    for task in capability_tasks():
        cells = [cell(table.filter(pl.col("task") == task.id)) for table in tables.values()]
        if any(cells):
            lines.append([f"`{task.id}`", task.tier or "", f"{task.chance:.2f}", *cells])
    return markdown(["task", "tier", "chance", *tables], lines)


if __name__ == "__main__":
    main()
