"""Tables in which every estimate is drawn with its interval, one row each."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from robodx.analysis.statistics.estimates import NOTHING, Estimate
from robodx.report.blocks import Cell, Column, Table
from robodx.report.plots.svg import Scale
from robodx.report.plots.whiskers import RATES, Drawn, axis, whiskers
from robodx.report.words import percent, rate

Wording = Callable[[Estimate], str]


@dataclass(frozen=True)
class Row:
    """`of` are the cells that say what the estimate is of, `further` those after it."""

    of: Sequence[str]
    found: Estimate
    colour: int = 1
    mark: int = 0
    further: Sequence[Cell] = ()
    style: str = ""


def forest(
    caption: str,
    of: Sequence[str],
    rows: Sequence[Row],
    *,
    what: str = "success",
    scale: Scale = RATES,
    tick: Callable[[float], str] = percent,
    wording: Wording = rate,
    line: float | None = None,
    further: Sequence[Column] = (),
    is_folded: bool = False,
    kind: str = "",
) -> Table:
    """One estimate a row."""
    columns = [
        *(Column(name) for name in of), Column("", axis=axis(scale, tick)),
        Column(what, f"{what}, with its 95% interval", is_number=True), N, *further,
    ]  # fmt: skip
    cells = []
    for row in rows:
        says = f"{' '.join(row.of)}: {wording(row.found)}, n = {row.found.n}"
        plot = whiskers([Drawn(row.found, row.colour, row.mark)], says, scale=scale, line=line)
        number = Cell(wording(row.found), sort=row.found, title=says)
        n = Cell(f"{row.found.n:,}", sort=row.found.n)
        cells.append([*(Cell(text, style=row.style) for text in row.of), Cell("", plot=plot), number, n, *row.further])
    return Table(caption, columns, cells, kind=f"forest {kind}".rstrip(), is_folded=is_folded)


@dataclass(frozen=True)
class Compared:
    """One row of several policies; who has no estimate there is not in `found`."""

    label: str
    found: dict[str, Estimate]
    further: Sequence[Cell] = ()
    style: str = ""


def compared(
    caption: str, of: str, policies: Sequence[str], rows: Sequence[Compared], further: Sequence[Column] = ()
) -> Table:
    """Rates of all policies in one row each, above one another, with their n in the tooltip."""
    columns = [
        Column(of), Column("", axis=axis()),
        *(Column(name, f"success of {name}, with its 95% interval", is_number=True) for name in policies), *further,
    ]  # fmt: skip
    cells = []
    for row in rows:
        each = [row.found.get(name, NOTHING) for name in policies]
        says = [f"{row.label}, {name}: {rate(one)}, n = {one.n}" for name, one in zip(policies, each, strict=True)]
        drawn = [Drawn(one, 1 + place % 4, place % 4) for place, one in enumerate(each)]
        numbers = [Cell(rate(one), sort=one, title=wording) for one, wording in zip(each, says, strict=True)]
        plot = Cell("", plot=whiskers(drawn, "; ".join(says)))
        cells.append([Cell(row.label, style=row.style), plot, *numbers, *row.further])
    return Table(caption, columns, cells, kind="forest")


N = Column("n", "number of observations (identical ones count once)", is_number=True)
