"""What it does without: success with one input taken away, beside the same situations tried again."""

from __future__ import annotations

from dataclasses import asdict

from robodx.analysis.null_inputs import MARGIN, InputUse
from robodx.analysis.wording import PER_ROW
from robodx.report.blocks import Block, Cell, Column, Text
from robodx.report.forest import Row, forest
from robodx.report.material import Material
from robodx.report.plots.whiskers import DIFFERENCES
from robodx.report.sections.base import Content, section
from robodx.report.words import listed, p_cell, percent, points, rate, signed


@section(order=28, title="What it does without")
def null_inputs(material: Material) -> Content | None:
    found = [(place, use) for place, subject in enumerate(material.subjects) for use in subject.summary.null_inputs]
    if not found:
        return None
    has_policies = material.is_comparison
    tested = [(place, use) for place, use in found if use.loss.tasks]
    blocks: list[Block] = []
    for subject in material.subjects:
        idle = [use.input for _, use in tested if use.policy == subject.policy and use.verdict == "not needed"]
        if idle:
            without = f"without its {listed(idle, most=9)}, each taken away alone"
            blocks.append(Text(f"{subject.policy} does as well {without}, in the tasks named below."))
    if tested:
        blocks.append(
            forest(
                "Change in success without the input on the same situations, in points, with 95% intervals",
                ["input", *(["policy"] if has_policies else [])],
                [_row(use, place, has_policies=has_policies) for place, use in tested],
                what="difference",
                scale=DIFFERENCES,
                tick=signed,
                wording=points,
                line=0.0,
                kind="many",
                further=[
                    Column("verdict"),
                    Column("with", "success with all inputs", is_number=True),
                    Column("without", is_number=True),
                    Column("p", "of no difference, Holm-adjusted over the inputs", is_number=True),
                ],
            )
        )
    tasks: dict[tuple[str, ...], list[str]] = {}
    for _, use in tested:
        if use.input not in tasks.setdefault(use.loss.tasks, []):
            tasks[use.loss.tasks].append(use.input)
    blocks += [
        Text(f"{listed(inputs, most=9)}: in {listed(list(names), most=99)}.", "quiet")
        for names, inputs in tasks.items()
    ]
    blocks += [Text(f"{use.policy}: {use.says}.", "quiet") for _, use in found if not use.loss.tasks]
    blocks.append(
        Text(
            f"{PER_ROW} Not needed: success changes by no more than {100 * MARGIN:.0f} points, by its whole interval. "
            "Used: it changes, with p < 0.05. An input is tested only where the policy has success to lose by it: "
            "words where they decide what to do.",
            "quiet",
        )
    )
    return Content(blocks, [asdict(use) for _, use in found])


def _row(use: InputUse, place: int, *, has_policies: bool) -> Row:
    loss = use.loss
    return Row(
        [use.input, *([use.policy] if has_policies else [])],
        loss.difference,
        1 + place % 4,
        place % 4,
        [
            Cell(use.verdict, style="strong" if use.verdict == "not needed" else ""),
            *(Cell(percent(found.value), sort=found, title=rate(found)) for found in (loss.usual, loss.without)),
            Cell(p_cell(use.p_holm)),
        ],
    )
