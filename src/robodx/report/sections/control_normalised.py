"""How well it does given what it can move: success over that of the task's motor primitive, by family."""

from __future__ import annotations

from dataclasses import asdict

from markupsafe import Markup

from robodx.analysis.summary import Measured
from robodx.report.blocks import Block, Figure, Text
from robodx.report.forest import Row, forest
from robodx.report.material import Material
from robodx.report.plots.radar import Series, radar
from robodx.report.plots.svg import MARKS, around
from robodx.report.sections.base import Content, section
from robodx.report.sections.capability import FEWEST_AXES, NO_AXES
from robodx.report.words import number

METRIC = "control_normalised_success"


@section(order=22, title="Given that it can move", folded=True)
def control_normalised(material: Material) -> Content | None:
    found = [
        (place, one)
        for place, subject in enumerate(material.subjects)
        for one in subject.summary.metrics([METRIC], "family")
        if one.perturbations in subject.summary.base_variants and one.values[METRIC].value is not None
        and one.group not in NO_AXES
    ]  # fmt: skip
    if not found:
        return None
    ends = [end for _, one in found for end in _ends(one)]
    table = forest(
        "Success divided by that of the task's motor primitive, with 95% intervals (every task counts equally)",
        ["family", *(["policy"] if material.is_comparison else [])],
        [
            Row(
                [one.group, *([one.policy] if material.is_comparison else [])],
                one.values[METRIC],
                1 + place % 4,
                place % 4,
            )
            for place, one in found
        ],
        what="ratio",
        scale=around([*ends, 1.0], with_zero=True),
        tick=lambda value: f"{value:g}",
        wording=number,
        line=1.0,
    )
    drawing = _radar(material, found)
    caption = "The rim is 1: as good as the primitive alone. What is above is drawn on the rim."
    blocks: list[Block] = [table] if drawing is None else [Figure([drawing], caption, table, is_beside=True)]
    blocks.append(
        Text(
            "A task's primitive asks for the same motion without its difficulty: 1 means that nothing but the motion "
            "limits it. Perception tasks have no primitive.",
            "quiet",
        )
    )
    return Content(blocks, [asdict(one) for _, one in found])


def _radar(material: Material, found: list[tuple[int, Measured]]) -> Markup | None:
    axes = list(dict.fromkeys(one.group for _, one in found))
    if len(axes) < FEWEST_AXES:
        return None
    ratios = {(one.policy, one.group): min(1.0, one.values[METRIC].value or 0.0) for _, one in found}
    series = [
        Series(subject.policy, [ratios.get((subject.policy, axis)) for axis in axes])
        for subject in material.subjects[: len(MARKS)]
    ]
    return radar("success / primitive", axes, series)


def _ends(one: Measured) -> list[float]:
    value = one.values[METRIC]
    return [end for end in (value.value, value.low, value.high) if end is not None]
