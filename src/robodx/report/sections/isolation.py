"""What each added factor costs: easy perception tasks beside the same ones with one other factor added."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict

from robodx.analysis.isolation import Contrast
from robodx.analysis.wording import PER_ROW
from robodx.report.blocks import Block, Cell, Column, Text
from robodx.report.forest import Row, forest
from robodx.report.material import Material
from robodx.report.plots.whiskers import DIFFERENCES
from robodx.report.sections.base import Content, section
from robodx.report.words import counted, p_cell, percent, points, rate, signed

CAPTION = "Change in success when one factor is added to an easy perception task, in points, with 95% intervals"


@section(order=24, title="What each added factor costs")
def isolation(material: Material) -> Content | None:
    found = [(place, one) for place, subject in enumerate(material.subjects) for one in subject.summary.contrasts]
    shown = [(place, one) for place, one in found if one.is_testable]
    blocks: list[Block] = []
    if shown:
        has_policies = material.is_comparison
        blocks.append(
            forest(
                CAPTION,
                ["added", *(["policy"] if has_policies else [])],
                [_row(one, place, has_policies=has_policies) for place, one in shown],
                what="difference",
                scale=DIFFERENCES,
                tick=signed,
                wording=points,
                line=0.0,
                kind="many",
                further=[
                    Column("plain", "success in the plain task", is_number=True),
                    Column("with factor", is_number=True),
                    Column(
                        "p", "of the factor, over all its plain tasks, Holm-adjusted over the factors", is_number=True
                    ),
                ],
            )
        )
        blocks.append(
            Text(f"If perception alone were the bottleneck, an added factor would cost nothing. {PER_ROW}", "quiet")
        )
    blocks += [Text(text) for text in _untested([one for _, one in found])]
    return Content(blocks, [asdict(one) for _, one in found]) if blocks else None


def _row(one: Contrast, place: int, *, has_policies: bool) -> Row:
    name = (one.task or "").partition("/")[2]
    return Row(
        [f"+ {one.factor}{name and f': {name}'}", *([one.policy] if has_policies else [])],
        one.difference,
        1 + place % 4,
        place % 4,
        [
            *(Cell(percent(found.value), sort=found, title=rate(found)) for found in (one.plain, one.entangled)),
            Cell(p_cell(one.p_holm) if one.task is None else ""),
        ],
        style="part" if one.task else "strong",
    )


def _untested(found: list[Contrast]) -> Iterator[str]:
    """Each plain task that is too weak once, whatever was added to it."""
    weak = {(one.policy, one.task): one for one in found if one.task is not None and not one.is_testable}
    for (policy, task), one in weak.items():
        if one.plain.value is None:
            yield f"{task} is not testable: {counted(one.errors, 'episode')} of {policy} ended in errors."
        else:
            yield f"{task} is not testable: {policy} solves {rate(one.plain)} of it plain (n = {one.plain.n})."
