"""The findings, most telling first: what is wrong, how surely, what shows it, and what to run next."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from markupsafe import Markup

from robodx.analysis.estimates import Estimate
from robodx.analysis.findings.base import Diagnosis, Finding
from robodx.report.blocks import Block, Heading, Missing, Text
from robodx.report.forest import Row, forest
from robodx.report.gallery import EXAMPLES
from robodx.report.material import Material
from robodx.report.sections.base import Content, section
from robodx.report.templating import fill
from robodx.report.words import code, counted, escaped, p_value, points, rate


@dataclass(frozen=True)
class Card:
    """One finding; `anchors` lead to those of its examples that the page shows."""

    number: int
    finding: Finding
    anchors: Mapping[str, str] = field(default_factory=dict)

    @property
    def plot(self) -> Markup:
        rows = [
            Row(["here"], self.finding.inside, colour=2),
            Row(["elsewhere"], self.finding.outside, colour=1, mark=1),
        ]
        return forest(f"How often: {self.finding.manner or self.finding.name}", [""], rows, what="rate").html()

    @property
    def examples(self) -> list[tuple[str, str]]:
        """A name and where it leads."""
        shown = [trial for trial in self.finding.examples if trial in self.anchors]
        return [
            (f"episode {self.anchors[trial].rpartition('-')[2]}", self.anchors[trial]) for trial in shown[:EXAMPLES]
        ]

    @property
    def evidence(self) -> str:
        return f"Effect {points(self.finding.effect, unit=True)}, {p_value(self.finding.p)}"

    def html(self) -> Markup:
        return fill("finding.html", card=self, finding=self.finding)

    def markdown(self) -> str:
        one = self.finding
        lines = [
            f"{self.number}. **{escaped(one.statement)}** ({one.certainty})",
            f"   {escaped(one.name)}: {_told('here', one.inside)}; {_told('elsewhere', one.outside)}. "
            f"{escaped(self.evidence)}.",
        ]
        if one.because:
            lines.append(f"   Why: {escaped(one.because)}.")
        if one.next_test:
            lines.append(f"   Next: {code(one.next_test)}")
        return "\n".join(lines)


@section(order=10, title="Findings")
def findings(material: Material) -> Content | None:
    blocks: list[Block] = []
    for subject in material.judged:
        if subject.diagnosis is None:
            continue
        if material.is_comparison:
            blocks.append(Heading(subject.policy))
        blocks += _of(subject.diagnosis, material.anchors)
    data = [one.diagnosis.as_dict() for one in material.subjects if one.diagnosis is not None]
    if not data:
        return Content([Missing("These episodes cannot be diagnosed.")])
    return Content(blocks, data)


def _of(diagnosis: Diagnosis, anchors: Mapping[str, str]) -> list[Block]:
    if not diagnosis.findings:
        return [Text(diagnosis.headline), Text(_resolution(diagnosis), "quiet")]
    cards: list[Block] = [Card(number, one, anchors) for number, one in enumerate(diagnosis.findings, start=1)]
    return [*cards, Text(_resolution(diagnosis), "quiet")]


def _resolution(diagnosis: Diagnosis) -> str:
    told = (
        f"Looked for in {counted(diagnosis.screened, 'episode')}, put to the test on {diagnosis.confirmed_on:,} others."
    )
    if diagnosis.resolution is None:
        return f"{told} They are too few to tell how small a weakness would have been seen."
    seen = f"A family that fails {diagnosis.resolution:.0%} more often than the others"
    return f"{told} {seen} would have been seen four times in five."


def _told(where: str, found: Estimate) -> str:
    return f"{where} {rate(found)}, n = {found.n}"
