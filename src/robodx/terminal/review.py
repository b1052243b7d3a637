"""What came of a review as a person reads it: how far everybody is, what they chose, and how well they agree."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from robodx.analysis.reviews.outcome import Outcome, WithProgram
from robodx.analysis.statistics.agreement import kappa_text
from robodx.records.review import Review
from robodx.terminal.console import counted, table_lines, wrapped


def lines(review: Review, found: Outcome, *, missing: int, command: str) -> list[str]:
    """`missing` films are made by the command."""
    return [
        *wrapped(f"{review.title}: {_sample(review)}"),
        *(line for problem in found.problems for line in wrapped(f"Caution: {problem}")),
        *(wrapped(f"{counted(missing, 'film')} missing. Make them with: {command}") if missing else ()),
        *(_people(review, found) if found.progress else ["Nobody has labelled anything yet: robodx view shows it."]),
    ]


def as_dict(review: Review, found: Outcome, *, missing: int) -> dict[str, Any]:
    """For a program."""
    return {"review": review.name, "drawn": dict(review.drawn), "films_missing": missing, **asdict(found)}


def _sample(review: Review) -> str:
    parts = sorted({item.drawn_from for item in review.items} - {""})
    counts = [f"{sum(item.drawn_from == part for item in review.items)} from {part}s" for part in parts]
    known = [f"{name} {value}" for name, value in review.drawn.items()]
    said = "; ".join(", ".join(each) for each in (counts, known) if each)
    return f"{len(review.items)} items" + (f" ({said})" if said else "")


def _people(review: Review, found: Outcome) -> Iterator[str]:
    yield ""
    names = list(found.progress)
    table = [
        {"label": label.name, **{name: found.counts[name].get(label.name, 0) for name in names}}
        for label in review.labels
    ]
    total = {"label": f"labelled, of {found.items}", **found.progress}
    yield from table_lines([*table, total])
    if found.between:
        yield ""
        yield from table_lines(
            [
                {
                    "annotators": f"{one.first}, {one.second}",
                    "items": one.labels.share.n,
                    "same label": str(one.labels.share),
                    "kappa": kappa_text(one.labels.kappa),
                    "kappa of groups": kappa_text(one.groups.kappa),
                }
                for one in found.between
            ]
        )
    if any(item.automatic for item in review.items):
        yield ""
        yield from _program(found, has_groups=any(label.group for label in review.labels))


def _program(found: Outcome, *, has_groups: bool) -> Iterator[str]:
    told = [("all items", found.with_program)]
    # Without groups there is nothing to attribute a failure to.
    told += [("items in which the program found a failure", found.with_attribution)] if has_groups else []
    for what, one in told:
        yield from wrapped(f"Program and people, {what}: {_agreeing(one)}", "  ")
    if cells := [cell for cell in found.with_program.confusion if cell[0] != cell[1]]:
        yield "Where they differ:"
        rows = [{"program": a, "people": b, "items": count} for a, b, count in sorted(cells, key=lambda cell: -cell[2])]
        yield from table_lines(rows)


def _agreeing(one: WithProgram) -> str:
    left_out = f"; {one.undecided} left out, on which people did not decide" if one.undecided else ""
    if not one.labels.share.n:
        return f"none labelled{left_out}"
    return (
        f"the same label in {one.labels.share} of {one.labels.share.n}, kappa {kappa_text(one.labels.kappa)}, "
        f"of groups {kappa_text(one.groups.kappa)}{left_out}"
    )
