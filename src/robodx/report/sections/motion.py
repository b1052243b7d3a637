"""How well it moves: medians by family, with the expert's path as the measure of length."""

from __future__ import annotations

from dataclasses import asdict

from robodx.analysis.statistics.estimates import Estimate
from robodx.analysis.summary import Measured
from robodx.report.blocks import Cell, Column, Table, Text
from robodx.report.material import Material
from robodx.report.plots.svg import Scale, around
from robodx.report.plots.whiskers import Drawn, axis, whiskers
from robodx.report.sections.base import Content, section
from robodx.report.words import number

# What is measured, what it is called, and what a reader needs to know of it.
MEASURES = {
    "length_ratio": ("path / expert", "path length divided by the expert's on the same trial, for successes"),
    "sparc": (
        "smoothness",
        "spectral arc length of the hand's speed: 0 is perfectly smooth, more negative is less smooth",
    ),
    "stability": ("stability", "exp(−mean speed of the commanded joints, in radians per 1/20 s): 1 means at rest"),
    "duration_s": ("duration, s", "of an episode"),
}


@section(order=80, title="Motion quality", folded=True)
def motion(material: Material) -> Content | None:
    found = [(place, one) for place, subject in enumerate(material.subjects) for one in subject.summary.motion("family")
             if one.perturbations in subject.summary.base_variants]  # fmt: skip
    names = [name for name in MEASURES if any(one.values[name].value is not None for _, one in found)]
    if not names:
        return None
    scales = {name: _scale([one.values[name] for _, one in found], name) for name in names}
    columns = [Column("family"), *([Column("policy")] if material.is_comparison else [])]
    for name in names:
        columns.append(
            Column(
                MEASURES[name][0],
                MEASURES[name][1],
                axis=axis(scales[name], lambda value: f"{value:g}".replace("-", "−"), about=2),
            )
        )
    columns.append(Column("n", is_number=True))
    rows = [
        _row(one, place, names, scales, has_policies=material.is_comparison)
        for place, one in sorted(found, key=lambda pair: pair[1].group)
    ]
    explained = " ".join(
        f"{MEASURES[name][0].capitalize()}: {MEASURES[name][1]}." for name in names if name != "duration_s"
    )
    table = Table(
        "Medians by family without stress, with 95% intervals (for six episodes or more)",
        columns,
        rows,
        kind="forest many",
    )
    return Content([table, Text(explained, "quiet")], [asdict(one) for _, one in found])


def _row(one: Measured, place: int, names: list[str], scales: dict[str, Scale], *, has_policies: bool) -> list[Cell]:
    label = one.group if not one.perturbations else f"{one.group}, {one.perturbations}"
    cells = [Cell(label), *([Cell(one.policy)] if has_policies else [])]
    for name in names:
        value = one.values[name]
        says = f"{label}, {MEASURES[name][0]}: {number(value)}, n = {value.n}"
        line = 1.0 if name == "length_ratio" else None
        plot = whiskers([Drawn(value, 1 + place % 4, place % 4)], says, scale=scales[name], line=line)
        cells.append(Cell(number(value), sort=value, title=says, plot=plot))
    most = max(one.values[name].n for name in names)
    return [*cells, Cell(f"{most:,}", sort=most)]


def _scale(values: list[Estimate], name: str) -> Scale:
    known = [end for one in values for end in (one.value, one.low, one.high) if end is not None]
    return around([*known, *([1.0] if name == "length_ratio" else [])], with_zero=name == "duration_s")
