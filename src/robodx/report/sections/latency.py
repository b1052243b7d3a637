"""How fast it answers, beside the time that a control step leaves it."""

from __future__ import annotations

from dataclasses import asdict

from robodx.analysis.statistics.estimates import Estimate
from robodx.analysis.statistics.medians import median
from robodx.report.blocks import Block, Text
from robodx.report.forest import Row, forest
from robodx.report.material import Material, Subject
from robodx.report.plots.svg import around
from robodx.report.sections.base import Content, section
from robodx.report.words import number

COLUMNS = {
    "inference_ms_p50": "median",
    "inference_ms_p95": "95th percentile",
    "inference_ms_p99": "99th percentile",
}
# Where the slowest takes this much longer than the fastest, even steps would hide the fast ones.
WIDE = 30
LOGARITHMIC = ", on a logarithmic scale"


@section(order=90, title="Latency", folded=True)
def latency(material: Material) -> Content | None:
    found = [
        (place, subject, name, value)
        for place, subject in enumerate(material.subjects)
        for name, value in times(subject).items()
    ]
    known = [end for *_, one in found for end in (one.value, one.low, one.high) if end]
    if not known:
        return None
    steps = {subject.policy: step for subject in material.subjects if (step := _step_ms(subject)) is not None}
    values = [*known, *steps.values()]
    scale = around(values, is_logarithmic=True) if max(values) > WIDE * min(values) else around(values, with_zero=True)
    line = next(iter(steps.values())) if len(set(steps.values())) == 1 else None
    has_policies = material.is_comparison
    rows = [
        Row([COLUMNS[name], *([subject.policy] if has_policies else [])], value, 1 + place % 4, place % 4)
        for place, subject, name, value in found
    ]
    table = forest(
        f"Time per answer, ms: medians over episodes with 95% intervals{LOGARITHMIC if scale.is_logarithmic else ''}",
        ["answers of an episode", *(["policy"] if has_policies else [])],
        rows,
        what="ms",
        scale=scale,
        tick=lambda value: f"{value:g}",
        wording=number,
        line=line,
    )
    blocks: list[Block] = [table]
    if steps:
        each = "; ".join(f"{step:g} ms ({policy})" for policy, step in steps.items())
        lasts = f"One control step lasts {each}." if line is None else f"The line marks one control step, {line:g} ms."
        blocks.append(Text(f"{lasts} Latency was measured on the machine of the run.", "quiet"))
    data = [{"policy": one.policy, "measure": name, "ms": asdict(value)} for _, one, name, value in found]
    return Content(blocks, data)


def times(subject: Subject) -> dict[str, Estimate]:
    """Medians over episodes without errors."""
    valid = subject.base.filter(subject.base["outcome"] != "error")
    found = {name: median(valid[name]) for name in COLUMNS}
    return {name: one for name, one in found.items() if one.value is not None}


def _step_ms(subject: Subject) -> float | None:
    hz = subject.about.get("policy_spec", {}).get("hz")
    return 1000 / float(hz) if hz else None
