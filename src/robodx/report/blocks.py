"""What sections are made of. A block knows how it looks on a page and in Markdown; one with a table also in LaTeX."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from markupsafe import Markup

from robodx import latex
from robodx.analysis.statistics.estimates import Estimate
from robodx.report.templating import fill
from robodx.report.words import code, escaped, plain


class Block(Protocol):
    def html(self) -> Markup: ...

    def markdown(self) -> str: ...


@runtime_checkable
class Tabled(Protocol):
    """A block that holds a table, or several."""

    def latex(self, label: str) -> str: ...


@dataclass(frozen=True)
class Text:
    """A paragraph; `tone` "quiet" is for what explains, "warning" for what must not be overlooked."""

    text: str
    tone: str = ""

    def html(self) -> Markup:
        return fill("text.html", block=self)

    def markdown(self) -> str:
        return f"**{escaped(self.text)}**" if self.tone == "warning" else escaped(self.text)


@dataclass(frozen=True)
class Heading:
    """Within a section."""

    text: str

    def html(self) -> Markup:
        return Markup("<h3>{}</h3>").format(self.text)

    def markdown(self) -> str:
        return f"### {escaped(self.text)}"


@dataclass(frozen=True)
class Missing:
    """What is not known here, and the command that would tell."""

    text: str
    command: str = ""

    def html(self) -> Markup:
        return fill("missing.html", block=self)

    def markdown(self) -> str:
        return f"{escaped(self.text)} {code(self.command) if self.command else ''}".strip()


@dataclass(frozen=True)
class Cell:
    """`sort` is what a column is sorted by, and is saved as numbers; `plot` is drawn before the text."""

    text: str
    sort: float | str | Estimate | None = None
    title: str = ""
    plot: Markup | None = None
    # A word of a few, that is coloured: an outcome, a verdict.
    chip: str = ""
    # From 0 to 1: how dark the cell is.
    shade: float | None = None
    # Of CSS: "strong", or "part" of the strong one above it.
    style: str = ""

    @property
    def numbers(self) -> dict[str, float | str]:
        """For the page's script: what it is sorted by, and the ends of its interval."""
        if not isinstance(self.sort, Estimate):
            return {} if self.sort is None else {"sort": self.sort}
        known = {"sort": self.sort.value, "low": self.sort.low, "high": self.sort.high}
        return {name: value for name, value in known.items() if value is not None}


@dataclass(frozen=True)
class Column:
    name: str
    title: str = ""
    is_number: bool = False
    # An axis for the plots in its cells.
    axis: Markup | None = None


@dataclass(frozen=True)
class Table:
    """With `is_long` it can be sorted, and filtered by words; with `is_folded` it is shown when asked for."""

    caption: str
    columns: Sequence[Column]
    rows: Sequence[Sequence[Cell]]
    is_long: bool = False
    is_folded: bool = False
    # Of CSS: "forest" has plots, "matrix" is shaded.
    kind: str = ""

    def html(self) -> Markup:
        return fill("table.html", table=self)

    @property
    def _written(self) -> list[int]:
        """The columns that have words: what is drawn is written beside it."""
        return [at for at, one in enumerate(self.columns) if one.axis is None or any(row[at].text for row in self.rows)]

    def latex(self, label: str) -> str:
        shown = self._written
        names = [plain(self.columns[at].name) for at in shown]
        rows = [[plain(row[at].text) for at in shown] for row in self.rows]
        # A float that is longer than a page loses its end.
        parts = [rows[at : at + LATEX_ROWS] for at in range(0, len(rows), LATEX_ROWS)] or [[]]
        if len(parts) == 1:
            return latex.table(names, rows, plain(self.caption), label)
        return "\n".join(
            latex.table(names, part, f"{plain(self.caption)} ({at} of {len(parts)})", f"{label}-{at}")
            for at, part in enumerate(parts, start=1)
        )

    def markdown(self) -> str:
        shown = self._written
        lines = [
            f"*{escaped(self.caption)}*",
            "",
            _line([escaped(self.columns[at].name) for at in shown]),
            _line(["---:" if self.columns[at].is_number else "---" for at in shown]),
            *(_line([_written(row[at]) for at in shown]) for row in self.rows[:MARKDOWN_ROWS]),
        ]
        if left := len(self.rows) - MARKDOWN_ROWS:
            lines += ["", f"{left} more rows are on the page and in the JSON."] if left > 0 else []
        return "\n".join(lines)


# Of a table in a comment to a pull request, and of one on a page of a paper.
MARKDOWN_ROWS, LATEX_ROWS = 80, 40


@dataclass(frozen=True)
class Figure:
    """Drawings side by side with what they show; the table has the numbers, below them or (`is_beside`) beside them."""

    drawings: Sequence[Markup]
    caption: str
    table: Table
    is_beside: bool = False

    def html(self) -> Markup:
        return fill("figure.html", figure=self)

    def markdown(self) -> str:
        return self.table.markdown()

    def latex(self, label: str) -> str:
        return self.table.latex(label)


@dataclass(frozen=True)
class Folded:
    """Blocks that are shown when they are asked for, and on paper; what they come to (`told`) is always shown."""

    summary: str
    blocks: Sequence[Block]
    told: str = ""

    def html(self) -> Markup:
        return fill("folded.html", folded=self)

    def markdown(self) -> str:
        return "\n\n".join(block.markdown() for block in self.blocks)

    def latex(self, label: str) -> str:
        tabled = [block for block in self.blocks if isinstance(block, Tabled)]
        return "\n".join(block.latex(f"{label}-{at}") for at, block in enumerate(tabled, start=1))


def _written(cell: Cell) -> str:
    text = escaped(cell.text)
    return f"**{text}**" if cell.style == "strong" else f"&nbsp;&nbsp;{text}" if cell.style == "part" else text


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"
