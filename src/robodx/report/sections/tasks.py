"""Every task in every variant, for who looks for a particular one."""

from __future__ import annotations

from dataclasses import asdict

from robodx.analysis.summary import Row
from robodx.analysis.variants import CLEAN
from robodx.analysis.wording import above_chance
from robodx.report.blocks import Cell, Column, Table, Text
from robodx.report.forest import N
from robodx.report.material import Material
from robodx.report.plots.whiskers import Drawn, axis, whiskers
from robodx.report.sections.base import Content, section
from robodx.report.words import percent, rate

# A page must stay readable; the JSON has them all.
MOST = 1500
CHANCE = "success rescaled so that skill with random choices is 0% and certain success 100%"


@section(order=110, title="All tasks", folded=True)
def tasks(material: Material) -> Content | None:
    rows = [(place, row) for place, subject in enumerate(material.subjects) for row in subject.summary.rows()]
    columns = [
        Column("task"), *([Column("policy")] if material.is_comparison else []), Column("tier"),
        Column("variant", "what was perturbed"), Column("", axis=axis(about=2)),
        Column("success", "with its 95% interval", is_number=True), N, Column("above chance", CHANCE, is_number=True),
        Column("progress", "mean share of stages reached", is_number=True), Column("steps", "median", is_number=True),
        Column("wrong object", "failed because it took or touched the wrong object", is_number=True),
        Column("errors", is_number=True),
    ]  # fmt: skip
    cells = [_cells(row, place, has_policies=material.is_comparison) for place, row in rows[:MOST]]
    # A column that says nothing of anyone would only take the others' room.
    shown_at = [at for at in range(len(columns)) if any(row[at].text or row[at].plot for row in cells)]
    table = Table(
        "Success by task and variant, with 95% intervals",
        [columns[at] for at in shown_at],
        [[row[at] for at in shown_at] for row in cells],
        is_long=True,
        kind="forest",
    )
    wording = (
        "Errors are not counted in any rate. If more than 5% of the episodes end in errors, a dash replaces the rate."
    )
    if len(rows) > MOST:
        wording += f" {len(rows) - MOST:,} more rows are in the JSON."
    adaptive = [one.summary for one in material.subjects if one.summary.until_width is not None]
    wide = [f"{row.task} {row.perturbations}".strip() for one in adaptive for row in one.too_wide()]
    if wide:
        wording += f" The requested interval width is not reached yet for: {', '.join(wide)}."
    return Content([table, Text(wording, "quiet")], [asdict(row) for _, row in rows])


def _cells(row: Row, place: int, *, has_policies: bool) -> list[Cell]:
    says = f"{row.task}, {row.perturbations or CLEAN}: {rate(row.success)}, n = {row.success.n}"
    steps, above = row.median_steps, row.above_chance
    return [
        Cell(row.task, title=row.task),
        *([Cell(row.policy)] if has_policies else []),
        Cell(row.tier or ""),
        Cell(row.perturbations or CLEAN),
        Cell("", plot=whiskers([Drawn(row.success, 1 + place % 4, place % 4)], says)),
        Cell(rate(row.success), sort=row.success),
        Cell(str(row.success.n), sort=row.success.n),
        Cell("") if above is None else Cell(above_chance(above), sort=above, title=f"n = {above.n}"),
        Cell(percent(row.progress), sort=row.progress),
        Cell("—" if steps is None else f"{steps:.0f}", sort=steps),
        Cell(str(row.wrong_objects or ""), sort=row.wrong_objects),
        Cell(str(row.errors or ""), sort=row.errors),
    ]
