"""Runs policies through the suite `bias` and writes the tables of docs/suites/bias.md.

    python scripts/bias_tables.py --docs
    python scripts/bias_tables.py confirmed --read runs/from-another-machine

Parts: `policies` (how far success depends on each factor), `confirmed` (what the full grid of `act` found, on fresh
robot starts) and `layer` (with and without the semantic grounding layer). Run folders are kept and resumed.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import polars as pl
from pages import DOCS, of_this_source, rewrite
from tables import episodes_of, markdown, named

from robodx.analysis.bias.before_after import changes
from robodx.analysis.bias.effects import Effect
from robodx.analysis.bias.tables import BiasTable, bias_table
from robodx.analysis.bias.words import label
from robodx.analysis.findings.visual_biases import is_shown
from robodx.records.table import load
from robodx.running.request import Request
from robodx.terminal.comparison import p_value, points

SEEDS = 5
# Of robot starts that no grid has.
FRESH_SEED, FRESH_SEEDS = 1000, 10
LAYER = "sgl+vision:"
# The whole grid of the first; of the others, and of all with the layer, the balanced tenth.
FULL, QUICK = "act", ("vision", "flow")
# What its grid shows to differ from the baseline, some of each factor, and values with which it shows nothing.
FRESH = {
    "colour": ("moccasin", "lemonchiffon", "ivory", "darkgrey", "blue", "green"),
    "camera_pose": ("ring 1, 90°", "ring 3, 0°", "ring 2, 30°"),
    "camera_orientation": ("yaw 6, pitch -6", "yaw -6, pitch 6"),
}


@dataclass(frozen=True)
class Runs:
    """Where runs are, and who makes those that are missing."""

    folder: Path
    workers: int
    # Runs that were made elsewhere are read as they are.
    is_made: bool

    def grid(self, policy: str) -> pl.DataFrame:
        selector = "bias" if policy == FULL else "bias/quick"
        return self._episodes(named(policy)[0], Request((selector,), policy, SEEDS))

    def fresh(self, factor: str) -> pl.DataFrame:
        selector = "/".join(("bias", factor, *FRESH[factor]))
        request = Request((selector,), FULL, FRESH_SEEDS, first_seed=FRESH_SEED)
        return self._episodes(f"{FULL}-fresh-{factor}", request)

    def _episodes(self, name: str, request: Request) -> pl.DataFrame:
        return load(self.folder / name) if self.is_made else episodes_of(request, self.folder / name, self.workers)


def main() -> None:
    options = _options()
    runs = Runs(options.read or options.out, options.workers, is_made=options.read is not None)
    for part in options.parts or PARTS:
        text = PARTS[part](runs)
        if options.docs:
            rewrite(DOCS / "suites" / "bias.md", f"bias: {part}", text)
        print(f"{text}\n", flush=True)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"{', '.join(PARTS)}; default: all")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--out", type=Path, help="default: a folder in runs/bias-tables")
    parser.add_argument("--read", type=Path, metavar="DIR", help="run nothing, and read the runs in this folder")
    parser.add_argument("--docs", action="store_true", help="write the tables into docs/suites/bias.md too")
    options = parser.parse_args()
    if wrong := [part for part in options.parts if part not in PARTS]:
        parser.error(f'no part "{wrong[0]}": there are {", ".join(PARTS)}')
    options.out = options.out or of_this_source(Path("runs") / "bias-tables")
    return options


def policies(runs: Runs) -> str:
    rows = []
    for policy in (FULL, *QUICK, *(f"{LAYER}{name}" for name in (FULL, *QUICK))):
        for one in _table(runs.grid(policy)).factors:
            # Tried once in a context, values have the same CV however they are permuted.
            cv = [str(one.coefficient), str(one.floor), points_of(one.beyond)] if one.repeats > 1 else ["", "", ""]
            shown = sum(map(is_shown, one.effects))
            told = f"{shown} of {len(one.effects)}"
            rows.append(
                [f"`{policy}`", label(one.factor), str(one.values), f"{one.episodes:,}", str(one.success), *cv,
                 p_value(one.p_holm) or "", told]
            )  # fmt: skip
    head = ["policy", "factor", "values", "episodes", "success", "CV", "by chance", "beyond", "p", "values that differ"]
    return markdown(head, rows)


def points_of(beyond: float | None) -> str:
    return "" if beyond is None else f"{100 * beyond:+.0f}".replace("-", "−")


def confirmed(runs: Runs) -> str:
    """Each value as the grid found it, and on fresh robot starts; a finding twice is what is confirmed."""
    first = _effects(_table(runs.grid(FULL)))
    rows = []
    for factor, values in FRESH.items():
        fresh = _effects(_table(runs.fresh(factor)))
        for value in values:
            was, now = first[factor, value], fresh[factor, value]
            verdict = {
                (True, True): "confirmed",
                (True, False): "**not confirmed**",
                (False, False): "no difference shown",
            }
            told = verdict.get((is_shown(was), is_shown(now) and _is_alike(was, now)), "shown now only")
            rows.append([label(factor), value, *_told(was), *_told(now), told])
    head = ["factor", "value", "grid: solved", "in points", "p", "fresh: solved", "in points", "p", ""]
    return markdown(head, rows)


def _is_alike(one: Effect, other: Effect) -> bool:
    """Whether the two go the same way."""
    return ((one.difference.value or 0.0) > 0) == ((other.difference.value or 0.0) > 0)


def _told(one: Effect) -> list[str]:
    n = one.difference.n
    return [
        f"{one.solved:g} of {n}; baseline {one.solved_at_baseline:g}",
        points(one.difference),
        p_value(one.p_holm) or "",
    ]


def layer(runs: Runs) -> str:
    """Success without and with the layer, on the same trials."""
    rows = []
    for policy in (FULL, *QUICK):
        for one in changes(runs.grid(policy), runs.grid(f"{LAYER}{policy}")):
            before, after = (f"{100 * rate:.0f}%" for rate in one.success)
            difference = points(one.success_difference)
            rows.append(
                [f"`{policy}`", label(one.factor), str(one.episodes), before, after, difference,
                 p_value(one.success_p) or ""]
            )  # fmt: skip
    return markdown(["policy", "factor", "pairs", "without", "with the layer", "in points", "p"], rows)


def _table(episodes: pl.DataFrame) -> BiasTable:
    found = bias_table(episodes)
    assert found is not None, "a run of the suite bias has its trials"
    return found


def _effects(table: BiasTable) -> dict[tuple[str, str], Effect]:
    return {(one.factor, each.value): each for one in table.factors for each in one.effects}


PARTS: dict[str, Callable[[Runs], str]] = {"policies": policies, "confirmed": confirmed, "layer": layer}

if __name__ == "__main__":
    main()
