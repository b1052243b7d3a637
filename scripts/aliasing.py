"""How far factors of the generated situations go together; `make aliasing` writes it into docs/suites/generated.md.

Situations are drawn and not run: how far each recorded attribute and requirement predicts each other, why draws were
rejected, and how frequent each level is, as it was drawn first and as it came to be.
"""

from __future__ import annotations

import argparse
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from multiprocessing import Pool
from typing import NamedTuple

from confounding import CAMERAS, ROOM, Pair, Row, pairs
from pages import DOCS, rewrite

from robodx.running.threads import pin
from robodx.situations.attributes import attributes
from robodx.situations.requirements import requirements
from robodx.tasks.base import TASKS
from robodx.tasks.generated import Factors, generate

TASK = "generated/factorial"
SITUATIONS = 10_000
# Pairs that are shown; those below are no more than this.
SHOWN = 0.1
CHUNK = 100
NEEDS = "needs "


class Looked(NamedTuple):
    """What the tables need of one situation."""

    row: Row
    factors: Factors
    first: Factors
    rejections: dict[str, int]


def look(seed: int) -> Looked:
    """Recorded attributes with what the room adds, and requirements as yes or no."""
    task = TASKS[TASK]
    situation, made = task.placed(seed), generate(task.streams(seed))
    paths = requirements([situation.instruction.meaning], situation.scene, situation.events, task.varies)
    row = attributes(situation.instruction, situation.scene, CAMERAS).values
    return Looked(
        {**row, **{f"{NEEDS}{path}": "yes" for path in paths}}, made.factors, made.first, dict(made.rejections)
    )


def with_needs(looked: Sequence[Looked]) -> list[Row]:
    """What is not needed is said too."""
    names = sorted({name for one in looked for name in one.row if needs(name)})
    return [{**dict.fromkeys(names, "no"), **one.row} for one in looked]


def is_of_room(name: str) -> bool:
    return any(name.startswith(pattern.rstrip("*")) for pattern in ROOM)


def tables(found: Sequence[Pair]) -> str:
    """Attributes by attributes and requirements by requirements; what is needed follows from the attributes."""
    both = [
        together([pair for pair in found if needs(pair.known) == needs(pair.predicted) == is_need])
        for is_need in (False, True)
    ]
    mixed = together([pair for pair in found if needs(pair.known) != needs(pair.predicted)])
    folded = f"<details><summary>An attribute and a requirement</summary>\n\n{mixed}\n\n</details>"
    return "\n\n".join((*both, folded))


def needs(name: str) -> bool:
    return name.startswith(NEEDS)


def together(found: Sequence[Pair]) -> str:
    """Both directions of each pair in a line, the strongest first; what is of one room comes together."""
    shares = {(pair.known, pair.predicted): pair.share for pair in found}
    rows = []
    for (one, other), share in shares.items():
        back = shares.get((other, one), 0.0)
        is_first = (share, other) > (back, one)
        if is_first and share > SHOWN and not (is_of_room(one) and is_of_room(other)):
            rows.append((share, back, one, other))
    lines = ["| one | other | one predicts other | other predicts one |", "|---|---|---|---|"]
    lines += [f"| {one} | {other} | {share:.2f} | {back:.2f} |" for share, back, one, other in sorted(rows)[::-1]]
    return "\n".join(lines)


def rejected(looked: Sequence[Looked]) -> str:
    counts: Counter[str] = Counter()
    for one in looked:
        counts.update(one.rejections)
    lines = ["| reason | draws rejected per 100 situations |", "|---|---|"]
    return "\n".join([*lines, *(f"| {why} | {100 * n / len(looked):.0f} |" for why, n in counts.most_common())])


def frequencies(looked: Sequence[Looked]) -> str:
    """Of each level its share in percent, and in brackets that of what was drawn first."""
    lines = ["| factor | levels: % of situations (% of first draws) |", "|---|---|"]
    for factor in asdict(looked[0].factors):
        final, first = (Counter(str(getattr(one, factor)) for one in side) for side in _sides(looked))
        shares = (
            f"{level} {100 * final[level] / len(looked):.0f} ({100 * first[level] / len(looked):.0f})"
            for level in sorted(first.keys() | final.keys(), key=lambda level: (-final[level], level))
        )
        lines.append(f"| {factor} | {', '.join(shares)} |")
    return "\n".join(lines)


def _sides(looked: Sequence[Looked]) -> Iterator[list[Factors]]:
    yield [one.factors for one in looked]
    yield [one.first for one in looked]


def main() -> None:
    pin()
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--situations", type=int, default=SITUATIONS)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--dry", action="store_true", help="print the tables and leave the docs as they are")
    options = parser.parse_args()
    started = time.monotonic()
    with Pool(options.workers) as pool:
        looked = pool.map(look, range(options.situations), chunksize=CHUNK)
    found = list(pairs(TASK, with_needs(looked)))
    text = "\n\n".join((tables(found), frequencies(looked), rejected(looked)))
    said = f"{len(found)} pairs of {options.situations:,} situations; those not listed are at most {SHOWN:g}."
    if not options.dry:
        rewrite(DOCS / "suites" / "generated.md", "aliasing", f"{said}\n\n{text}")
    print(f"{text}\n\n{said} {time.monotonic() - started:.0f} s with {options.workers} workers.")


if __name__ == "__main__":
    main()
