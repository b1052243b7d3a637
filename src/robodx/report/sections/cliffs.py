"""At which severity success is halved: searches for failure cliffs."""

from __future__ import annotations

from robodx.report.blocks import Cell, Column, Figure, Table
from robodx.report.cliffs import searches
from robodx.report.material import Material
from robodx.report.plots.cliffs import cliff_curve
from robodx.report.sections.base import Content, section
from robodx.report.words import rate

CAPTION = (
    "Each dot is one severity; larger dots mean more trials. The line is the fitted curve. The shaded band is the 95% "
    "interval of the severity that halves the success without stress."
)


@section(order=35, title="Failure cliffs")
def cliffs(material: Material) -> Content | None:
    """Left out where none was searched for: the stress curves show where to look."""
    found = [search for subject in material.subjects for search in searches(subject)]
    if not found:
        return None
    columns = [
        Column("task"), Column("policy"), Column("stressor"), Column("verdict"), Column("cliff", is_number=True),
        Column("clean", "success without stress", is_number=True), Column("n", is_number=True),
    ]  # fmt: skip
    rows = [
        [
            Cell(one.task), Cell(one.policy), Cell(one.stressor), Cell(one.found.verdict), Cell(one.wording()),
            Cell(rate(one.found.clean), sort=one.found.clean), Cell(str(one.found.n), sort=one.found.n),
        ]
        for one in found
    ]  # fmt: skip
    table = Table("The severity that halves success, with 95% credible intervals", columns, rows)
    titles = [f"{one.stressor}, {one.policy}" if material.is_comparison else one.stressor for one in found]
    drawings = [
        cliff_curve(title, one.task, one.asked, one.found, one.unit) for title, one in zip(titles, found, strict=True)
    ]
    return Content([Figure(drawings, CAPTION, table)], [one.as_dict() for one in found])
