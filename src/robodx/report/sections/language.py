"""What of language it understands: success where an instruction demands a sub-skill."""

from __future__ import annotations

import shlex
from dataclasses import asdict, dataclass

import polars as pl

from robodx.analysis.estimates import Estimate
from robodx.analysis.summary import success_rate
from robodx.report.blocks import Cell, Column, Missing
from robodx.report.forest import Compared, Row, compared, forest
from robodx.report.material import Material, Subject
from robodx.report.sections.base import Content, section

PREFIX = "language/"
CAPTION = "Success on tasks whose instruction demands it, the weakest first, with 95% intervals"
COMMAND = "robodx run language --policy {} --seeds 25"


@dataclass(frozen=True)
class Skill:
    policy: str
    demand: str
    tasks: int
    success: Estimate


@section(order=60, title="Language sub-skills")
def language(material: Material) -> Content | None:
    found = [skill for subject in material.subjects for skill in skills(subject)]
    if not found:
        if not any(subject.base["demands"].is_not_null().any() for subject in material.subjects):
            return None
        return Content(
            [
                Missing(
                    "No instruction here demands more than a plain name. What of language it understands:",
                    COMMAND.format(shlex.quote(material.subjects[0].policy)),
                )
            ]
        )
    weakest = sorted(found, key=lambda one: one.success.value or 0.0)
    demands = list(dict.fromkeys(one.demand for one in weakest))
    tasks = {one.demand: Cell(str(one.tasks), sort=one.tasks) for one in found}
    names = {demand: demand.removeprefix(PREFIX).replace("_", " ") for demand in demands}
    further = [Column("tasks", is_number=True)]
    if material.is_comparison:
        by = {demand: {one.policy: one.success for one in found if one.demand == demand} for demand in demands}
        rows = [Compared(names[demand], by[demand], [tasks[demand]]) for demand in demands]
        table = compared(CAPTION, "sub-skill", [one.policy for one in material.subjects], rows, further)
    else:
        each = [Row([names[one.demand]], one.success, further=[tasks[one.demand]]) for one in weakest]
        table = forest(CAPTION, ["sub-skill"], each, further=further)
    return Content([table], [asdict(one) for one in found])


def skills(subject: Subject) -> list[Skill]:
    """One of every demand of language; older runs do not say what a trial demands."""
    base = subject.base
    demands = base["demands"].explode().drop_nulls().unique().sort()
    found = []
    for demand in demands.filter(demands.str.starts_with(PREFIX)):
        part = base.filter(pl.col("demands").list.contains(demand))
        found.append(
            Skill(subject.policy, demand, part["task"].n_unique(), success_rate(part, subject.summary.stopped))
        )
    return found
