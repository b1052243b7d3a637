"""Runs all attacks, prints what came of them, and exits with status 1 if anything was not as expected."""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from pathlib import Path

from hostile import data_sets, invocations, kills, policies, servers, wires
from hostile.judging import ROOT, Case, Result
from hostile.places import Places, make_places
from hostile.processes import become_a_user, tried

Attempt = Callable[[], Result]
PARTS = ("invocations", "policies", "data sets", "kills", "servers", "wires")
CASES = {"invocations": invocations.cases, "policies": policies.cases, "data sets": data_sets.cases}
EVERY_S = 10.0


def main() -> int:
    parser = argparse.ArgumentParser(prog="make hostile", description=__doc__)
    parser.add_argument("--only", choices=PARTS, action="append", help="only this part; repeatable")
    parser.add_argument("--quick", action="store_true", help="a tenth of the cases, chosen by the seed")
    parser.add_argument("--seed", type=int, default=0, help="which values, moments and messages are drawn")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 2, help="how many cases run at a time")
    parser.add_argument("--match", default="", help="only cases with this in their name")
    parser.add_argument("--keep", action="store_true", help="keep the folder in which the cases ran")
    parser.add_argument("--out", type=Path, default=ROOT / ".cache" / "hostile.json", help="where the results go")
    options = parser.parse_args()
    begun = time.monotonic()
    folder = Path(tempfile.mkdtemp(prefix="hostile-"))
    results: list[Result] = []
    try:
        places = make_places(folder / "work", has_locked=become_a_user())
        for part in options.only or PARTS:
            chosen = attempts(part, places, random.Random(options.seed), is_quick=options.quick, match=options.match)
            results += followed(part, chosen, options.jobs)
    finally:
        if not options.keep:
            _remove(folder)
    options.out.parent.mkdir(parents=True, exist_ok=True)
    options.out.write_text(json.dumps([asdict(one) for one in results], indent=2))
    print(*table(results), sep="\n")
    print(f"{time.monotonic() - begun:.0f} s, seed {options.seed}. All results: {options.out}")
    return int(any(one.defects for one in results))


def attempts(part: str, places: Places, rng: random.Random, *, is_quick: bool, match: str) -> list[Attempt]:
    """What a part tries, each to be called once."""
    if part in ("kills", "servers"):
        many = (kills if part == "kills" else servers).attempts(places, rng)
        named = [(name, attempt) for name, attempt in many if match in name]
    elif part == "wires":
        named = [(name, attempt) for name, attempt in wires.attempts(rng, is_quick=is_quick) if match in name]
    else:
        cases = CASES[part](places, rng)
        named = [(one.name, _of(one)) for one in cases if match in one.name]
    # Each wire is attacked even then, with fewer messages.
    if is_quick and part != "wires":
        named = rng.sample(named, max(len(named) // 10, min(3, len(named))))
    return [attempt for _, attempt in named]


def _of(case: Case) -> Attempt:
    return lambda: tried(case)


def followed(part: str, chosen: Sequence[Attempt], jobs: int) -> Iterator[Result]:
    """Several at a time, in order, with a line now and then on how far it is."""
    told, defects = time.monotonic(), 0
    with ThreadPoolExecutor(jobs) as pool:
        for number, result in enumerate(pool.map(lambda attempt: attempt(), chosen), start=1):
            defects += bool(result.defects)
            for one in result.defects:
                print(f"{part}: {result.name}: {one.kind}: {one.detail}\n    {result.line}", file=sys.stderr)
            if time.monotonic() - told > EVERY_S or number == len(chosen):
                print(f"{part}: {number} of {len(chosen)} cases, {defects} with defects", file=sys.stderr, flush=True)
                told = time.monotonic()
            yield result


def table(results: Iterable[Result]) -> list[str]:
    """Counts by part, then each defect with the line that shows it."""
    rows = [f"{'part':12} {'cases':>7} {'messages':>9} {'as expected':>12} {'with defects':>13} {'seconds':>8}"]
    listed = list(results)
    for part in dict.fromkeys(one.part for one in listed):
        mine = [one for one in listed if one.part == part]
        messages = sum(one.count for one in mine) if part == "wires" else 0
        wrong = sum(bool(one.defects) for one in mine)
        seconds = sum(one.seconds for one in mine)
        rows.append(f"{part:12} {len(mine):7} {messages or '':>9} {len(mine) - wrong:12} {wrong:13} {seconds:8.0f}")
        if part == "kills":
            notes = Counter(one.note or "before its first output" for one in mine)
            rows += [f"    {count}: {note}" for note, count in notes.items()]
        else:
            rows += [f"    {one.name}: {one.note}" for one in mine if one.note]
    kinds = Counter(defect.kind for one in listed for defect in one.defects)
    rows.append("Defects: " + (", ".join(f"{count} × {kind}" for kind, count in kinds.most_common()) or "none") + ".")
    for one in listed:
        for defect in one.defects:
            rows.append(f"- {one.part}, {one.name}: {defect.kind}: {defect.detail}\n    {one.line}")
    return rows


def _remove(folder: Path) -> None:
    for path in sorted(folder.rglob("*")):
        if path.is_dir() and not path.is_symlink():
            path.chmod(0o700)
    shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())
