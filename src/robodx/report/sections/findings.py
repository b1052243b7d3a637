"""The findings, most telling first: what is wrong, how surely, what shows it, and what to run next."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from markupsafe import Markup

from robodx.analysis.findings.base import CAUTION, HELD, Diagnosis, Finding
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
        one = self.finding
        rows = [Row([where(one)], one.inside, colour=2)]
        # What concerns everything has nowhere else to be compared with.
        if one.outside.n:
            rows.append(Row([one.compared_with], one.outside, colour=1, mark=1))
        return forest(f"How often {one.happens}", [""], rows, what="rate").html()

    @property
    def examples(self) -> list[tuple[str, str]]:
        """A name and where it leads."""
        shown = [trial for trial in self.finding.examples if trial in self.anchors]
        return [
            (f"episode {self.anchors[trial].rpartition('-')[2]}", self.anchors[trial]) for trial in shown[:EXAMPLES]
        ]

    @property
    def evidence(self) -> str:
        one = self.finding
        effect = f"Difference {points(one.effect, unit=True)}" if one.outside.n else f"Rate {rate(one.effect)}"
        return f"{effect}, {p_value(one.p)}"

    def html(self) -> Markup:
        return fill("finding.html", card=self, finding=self.finding, held=HELD)

    def markdown(self) -> str:
        one = self.finding
        rates = [f"{escaped(where(one))} {rate(one.inside)}, n = {one.inside.n}"]
        rates += [f"{one.compared_with} {rate(one.outside)}, n = {one.outside.n}"] if one.outside.n else []
        lines = [
            f"{self.number}. **{escaped(one.statement)}** ({one.certainty_says})",
            f"   {escaped(one.name)}: {'; '.join(rates)}. {escaped(self.evidence)}.",
        ]
        if one.because:
            lines.append(f"   Why: {escaped(one.because)}.")
        if one.next_test:
            lines.append(f"   Next: {code(one.next_test)}")
        return "\n".join(lines)


@section(order=10, title="Findings")
def findings(material: Material) -> Content | None:
    blocks: list[Block] = []
    for subject in material.subjects:
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
    held = [Text(CAUTION, "quiet")] if any(one.certainty == "confirmed" for one in diagnosis.findings) else []
    return [*held, *cards, Text(_resolution(diagnosis), "quiet")]


def _resolution(diagnosis: Diagnosis) -> str:
    tested = f"tested them on {counted(diagnosis.confirmed_on, 'other episode')}"
    wording = f"RoboDx searched {counted(diagnosis.screened, 'episode')} for weaknesses and {tested}."
    if diagnosis.resolution is None:
        return f"{wording} These are too few to say how small a weakness would have been detected."
    seen = f"A family that fails {100 * diagnosis.resolution:.0f} points more often than the rest"
    return f"{wording} {seen} would have been detected with 80% power."


def where(finding: Finding) -> str:
    """As "trials with a negation"; what shows everywhere, in "all trials"."""
    return f"all {finding.where}" if is_everywhere(finding) else finding.where


def is_everywhere(finding: Finding) -> bool:
    return finding.where == "trials"
