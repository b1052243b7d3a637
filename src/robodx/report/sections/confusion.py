"""What it takes for what: the thing asked for against the thing chosen, by the attribute in which they differ."""

from __future__ import annotations

import polars as pl

from robodx.report.blocks import Block, Cell, Column, Heading, Table, Text
from robodx.report.material import Material, Subject
from robodx.report.sections.base import Content, section
from robodx.report.words import counted, percent

# A larger matrix cannot be read.
MOST = 10
DARKEST = 0.75


@section(order=70, title="What it confuses", folded=True)
def confusion(material: Material) -> Content | None:
    """Left out where nothing was mistaken, or nobody recorded what was."""
    blocks: list[Block] = []
    data = []
    for subject in material.subjects:
        counts = mistakes(subject)
        if counts.is_empty():
            continue
        if material.is_comparison:
            blocks.append(Heading(subject.policy))
        for (attribute,), group in counts.group_by("attribute", maintain_order=True):
            blocks.append(_matrix(str(attribute), group))
        data += [{"policy": subject.policy, **row} for row in counts.iter_rows(named=True)]
    if not blocks:
        return None
    blocks.append(
        Text(
            "Only episodes with a wrong choice are counted; where several attributes differ, each one counts.",
            "quiet",
        )
    )
    return Content(blocks, data)


def mistakes(subject: Subject) -> pl.DataFrame:
    """How often one value of an attribute was taken for another, the most frequent attribute first."""
    pairs = subject.summary.episodes.select("mistaken").drop_nulls().explode("mistaken").drop_nulls().unnest("mistaken")
    return (
        pairs.with_columns(pl.col("asked", "chosen").cast(pl.String).fill_null("—"))
        .group_by("attribute", "asked", "chosen").agg(count=pl.len().cast(pl.Int64))
        .with_columns(total=pl.col("count").sum().over("attribute"))
        .sort("total", "attribute", "count", "asked", "chosen", descending=[True, False, True, False, False])
        .drop("total")
    )  # fmt: skip


def _matrix(attribute: str, counts: pl.DataFrame) -> Table:
    total = int(counts["count"].sum())
    asked = _largest(counts, "asked")
    chosen = _largest(counts, "chosen")
    by_pair = {(a, c): n for a, c, n in counts.select("asked", "chosen", "count").iter_rows()}
    of_asked = dict(counts.group_by("asked").agg(pl.col("count").sum()).iter_rows())
    rows = []
    for one in asked:
        cells = [Cell(one)]
        for other in chosen:
            count = by_pair.get((one, other), 0)
            share = count / of_asked[one]
            title = f"asked for {one}, chose {other}: {count} of {of_asked[one]}, {percent(share)}"
            cells.append(Cell(str(count) if count else "", title=title, shade=DARKEST * share))
        rows.append([*cells, Cell(str(of_asked[one]), sort=of_asked[one])])
    hidden = len(set(counts["asked"])) - len(asked) + len(set(counts["chosen"])) - len(chosen)
    more = f"; {hidden} rarer values are not shown" if hidden else ""
    columns = [
        Column("asked ↓ chosen →"),
        *(Column(name, is_number=True) for name in chosen),
        Column("all", is_number=True),
    ]
    return Table(f"{attribute}: {counted(total, 'mistake')}{more}", columns, rows, kind="matrix")


def _largest(counts: pl.DataFrame, column: str) -> list[str]:
    totals = counts.group_by(column).agg(pl.col("count").sum()).sort("count", column, descending=[True, False])
    return sorted(totals[column].head(MOST).to_list())
