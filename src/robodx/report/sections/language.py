"""What of language it understands: success where an instruction requires a sub-skill."""

from __future__ import annotations

from dataclasses import asdict, dataclass

import polars as pl

from robodx.analysis.statistics.estimates import Estimate
from robodx.analysis.summary import success_rate
from robodx.report.blocks import Cell, Column, Missing
from robodx.report.forest import Compared, Row, compared, forest
from robodx.report.material import Material, Subject
from robodx.report.sections.base import Content, section

PREFIX = "language/"
CAPTION = "Success on tasks whose instruction requires the sub-skill, weakest first, with 95% intervals"
COMMAND = "robodx run language {} --seeds 25"


@dataclass(frozen=True)
class Skill:
    policy: str
    requirement: str
    tasks: int
    success: Estimate


@section(order=60, title="Language sub-skills", folded=True)
def language(material: Material) -> Content | None:
    found = [skill for subject in material.subjects for skill in skills(subject)]
    if not found:
        if not any(subject.base["requirements"].is_not_null().any() for subject in material.subjects):
            return None
        return Content(
            [
                Missing(
                    "No instruction in these runs goes beyond plain names. To test its language:",
                    COMMAND.format(material.subjects[0].asked_by),
                )
            ]
        )
    weakest = sorted(found, key=lambda one: one.success.value or 0.0)
    requirements = list(dict.fromkeys(one.requirement for one in weakest))
    tasks = {one.requirement: Cell(str(one.tasks), sort=one.tasks) for one in found}
    names = {requirement: requirement.removeprefix(PREFIX).replace("_", " ") for requirement in requirements}
    further = [Column("tasks", is_number=True)]
    if material.is_comparison:
        by = {
            requirement: {one.policy: one.success for one in found if one.requirement == requirement}
            for requirement in requirements
        }
        rows = [Compared(names[requirement], by[requirement], [tasks[requirement]]) for requirement in requirements]
        table = compared(CAPTION, "sub-skill", [one.policy for one in material.subjects], rows, further)
    else:
        each = [Row([names[one.requirement]], one.success, further=[tasks[one.requirement]]) for one in weakest]
        table = forest(CAPTION, ["sub-skill"], each, further=further)
    return Content([table], [asdict(one) for one in found])


def skills(subject: Subject) -> list[Skill]:
    """One of every requirement of language; older runs do not say what a trial requires."""
    base = subject.base
    requirements = base["requirements"].explode().drop_nulls().unique().sort()
    found = []
    for requirement in requirements.filter(requirements.str.starts_with(PREFIX)):
        part = base.filter(pl.col("requirements").list.contains(requirement))
        found.append(
            Skill(subject.policy, requirement, part["task"].n_unique(), success_rate(part, subject.summary.stopped))
        )
    return found
