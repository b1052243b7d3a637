"""The findings: causes with their pairs, what only goes with failures and its rivals, and symptoms apart from both."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from markupsafe import Markup

from robodx.analysis.findings.base import CAUTION, Diagnosis, Finding, PairEvidence, Symptom
from robodx.analysis.findings.naming import FAILS
from robodx.analysis.findings.panel import harder
from robodx.report.blocks import Block, Cell, Column, Folded, Heading, Missing, Table, Text
from robodx.report.forest import Row, forest
from robodx.report.gallery import EXAMPLES
from robodx.report.material import Material
from robodx.report.pair import SideBySide, side_by_side
from robodx.report.plots.whiskers import DIFFERENCES
from robodx.report.sections.base import Content, section
from robodx.report.templating import fill
from robodx.report.words import code, counted, escaped, listed, p_cell, p_value, percent, points, rate, signed

UNRECORDED = "something about these trials that is not recorded"
SYMPTOMS = "Symptoms: what can be seen, and not why"
# Causes whose films and plots are seen at once, and cards of what is not decided; the rest is folded.
OPEN = 1
OPEN_CARDS = 3
# Policies of whom all that was found is seen at once.
MOST_OPEN = 2
CAPTION = (
    "Pairs in which it changes whether {}: success with the change less success with a placebo, in points. Intervals "
    "hold whenever one stops, and are not corrected for the number of tests"
)


@dataclass(frozen=True)
class Card:
    """One finding; `anchors` lead to those of its examples that the page shows. What is decided has a number."""

    finding: Finding
    number: int | None = None
    anchors: Mapping[str, str] | None = None
    pair: SideBySide | None = None
    # Its own, on the page.
    anchor: str = ""
    is_open: bool = True

    @property
    def claim(self) -> str:
        """The first sentence of its statement."""
        first, stop, _ = self.finding.statement.partition(". ")
        return f"{first}{stop.rstrip()}"

    @property
    def numbers(self) -> str:
        """The rest of it."""
        return self.finding.statement.partition(". ")[2]

    @property
    def plots(self) -> list[Table]:
        """Of its pairs; without any that decided, of the screening as well."""
        return [
            *([] if self.finding.is_decided else [self._screening]),
            *([_of_pairs(self.finding)] if self.finding.undo or self.finding.put_in else []),
        ]

    @property
    def _screening(self) -> Table:
        one = self.finding
        rows = [Row([f"when {one.when}"], one.inside, colour=2)]
        # What concerns everything has nowhere else to be compared with.
        rows += [Row(["otherwise"], one.outside, colour=1, mark=1)] if one.outside.n else []
        return forest(f"How often {one.counted}, in the screening", [""], rows, what="rate")

    @property
    def examples(self) -> list[tuple[str, str]]:
        return links(self.finding.examples, self.anchors or {})

    @property
    def evidence(self) -> list[str]:
        """Sentences on how far it goes."""
        return list(_of_cause(self.finding) if self.finding.is_decided else _of_association(self.finding))

    @property
    def rivals(self) -> str:
        """What else it may be; that which nobody recorded always."""
        if self.finding.is_decided:
            return ""
        those = [f"that {one}" for one in self.finding.rivals]
        return f"It may as well be {', or '.join([*those, UNRECORDED])}."

    @property
    def folded_says(self) -> str:
        return "Its pair, plot and evidence" if self.pair else "Its plot and evidence"

    @property
    def next_label(self) -> str:
        return "To decide it" if self.finding.certainty in ("associated", "undecided") else "Next test"

    def html(self) -> Markup:
        return fill("finding.html", card=self, finding=self.finding)

    def latex(self, label: str) -> str:
        """Its plots are tables; its words are for the page."""
        return "\n".join(plot.latex(f"{label}-{at}") for at, plot in enumerate(self.plots, start=1))

    def markdown(self) -> str:
        one = self.finding
        rank = "-" if self.number is None else f"{self.number}."
        lines = [f"{rank} **{escaped(one.statement)}** ({one.certainty_says})"]
        lines.append(f"   {escaped(one.name)}. {escaped(' '.join(self.evidence))}".rstrip())
        for says, evidence in (("Undo", one.undo), ("Put in", one.put_in)):
            if evidence is not None:
                gain = f"success {points(evidence.gain, unit=True)} beyond the placebo"
                is_open = f" (not conclusive: {evidence.why_open})" if evidence.why_open else ""
                lines.append(f"   {says}: {counted(evidence.pairs, 'pair')}, {gain}{is_open}.")
        lines += [f"   {escaped(self.pair.differs)}"] if self.pair else []
        lines += [f"   {escaped(self.rivals)}"] if self.rivals else []
        lines += [f"   Why: {escaped(one.because)}."] if one.because else []
        lines += [f"   Advice, untested: {escaped(one.advice)}"] if one.advice else []
        lines += [f"   {self.next_label}: {code(one.next_test)}"] if one.next_test else []
        return "\n".join(lines)


@dataclass(frozen=True)
class Symptoms:
    """How it is done or fails, wherever."""

    found: Sequence[Symptom]
    anchors: Mapping[str, str]

    @property
    def rows(self) -> list[tuple[Symptom, list[tuple[str, str]]]]:
        return [(one, links(one.examples, self.anchors)) for one in self.found]

    def html(self) -> Markup:
        return fill("symptoms.html", rows=self.rows)

    def markdown(self) -> str:
        lines = []
        for one in self.found:
            lines.append(f"- {escaped(one.name)}: {escaped(one.statement)} ({rate(one.rate)})")
            lines += [f"  Advice, untested: {escaped(one.advice)}"] if one.advice else []
        return "\n".join(lines)


def links(trials: Sequence[str], anchors: Mapping[str, str]) -> list[tuple[str, str]]:
    """A name and where it leads, of those that the page shows."""
    shown = [anchors[trial] for trial in trials if trial in anchors][:EXAMPLES]
    return [(f"episode {anchor.rpartition('-')[2]}", anchor) for anchor in shown]


@section(order=10, title="Findings")
def findings(material: Material) -> Content | None:
    blocks: list[Block] = []
    for subject in material.subjects:
        if subject.diagnosis is None:
            continue
        if material.is_comparison:
            blocks.append(Heading(subject.policy))
        found = _of(subject.diagnosis, material, subject.asked_by)
        # Those of many policies, one below the other, would be a page of their own.
        is_folded = len(material.subjects) > MOST_OPEN
        blocks += [Folded(_counts(subject.diagnosis), found)] if is_folded else found
    data = [one.as_dict() for one in material.diagnoses]
    if not data:
        return Content([Missing("These episodes cannot be diagnosed.")])
    return Content(blocks, data)


def _counts(diagnosis: Diagnosis) -> str:
    causes, symptoms = len(diagnosis.decided), len(diagnosis.symptoms)
    undecided = len(diagnosis.findings) - causes
    return f"{counted(causes, 'cause')}, {undecided} not decided, {counted(symptoms, 'symptom')}"


def _of(diagnosis: Diagnosis, material: Material, asked_by: str) -> list[Block]:
    """Causes, what is not decided, symptoms, and what is excluded, in this order."""
    anchors = material.anchors
    suspected = [one for one in diagnosis.findings if one.certainty == "suspected"]
    open_ = [one for one in diagnosis.findings if not one.is_decided and one.certainty != "suspected"]
    blocks: list[Block] = []
    if diagnosis.decided:
        blocks += [Heading("Causes"), Text(CAUTION, "quiet")]
        before: set[str] = set()
        for number, one in enumerate(diagnosis.decided, start=1):
            pair, anchor = side_by_side(material, one, before), material.finding_anchor(one)
            blocks.append(
                Card(one, number, anchors, pair, anchor, is_open=number <= OPEN and not material.is_comparison)
            )
            before.update(one.pair or ())
    elif not open_ and not suspected:
        blocks.append(Text(diagnosis.headline))
    elif diagnosis.paired:
        blocks.append(Text(diagnosis.no_cause_says))
    else:
        none = f"{diagnosis.no_cause_says} To run such pairs:"
        blocks.append(Missing(none, f"robodx diagnose {asked_by.removeprefix('--policy ')}"))
    further: list[Block] = []
    if open_ or suspected:
        cards = [Card(one, anchors=anchors, anchor=material.finding_anchor(one), is_open=False) for one in open_]
        further += [Heading("Not decided"), *cards[:OPEN_CARDS]]
        further += [Folded(f"{len(cards) - OPEN_CARDS} more", cards[OPEN_CARDS:])] if len(cards) > OPEN_CARDS else []
    if suspected:
        either = f"Each may as well be chance, or {UNRECORDED}. To test them on fresh situations:"
        table = replace(_suspected(suspected), is_folded=bool(diagnosis.decided or open_))
        further += [table, Missing(either, suspected[0].next_test)]
    if diagnosis.symptoms:
        further += [Heading(SYMPTOMS), Symptoms(diagnosis.symptoms, anchors)]
    others = [*([diagnosis.inputs_say] if diagnosis.inputs else []), *diagnosis.ruled_out]
    further += [Text(sentence, "quiet") for sentence in (*others, _resolution(diagnosis))]
    # Beside what is decided, and of several policies, there is no room for the rest.
    has_no_room = material.is_comparison or diagnosis.decided
    is_folded = has_no_room and (open_ or suspected or diagnosis.symptoms)
    return [*blocks, Folded("What is not decided, and symptoms", further)] if is_folded else [*blocks, *further]


def _suspected(found: Sequence[Finding]) -> Table:
    """What may be chance, in a line each."""
    rows = [
        Row(
            [one.when if one.counted == FAILS.says else f"{one.when} ({one.counted})"], one.inside, colour=4,
            further=[
                Cell(percent(one.outside.value), sort=one.outside, title=rate(one.outside)), Cell(p_cell(one.p)),
                Cell(", or ".join(one.rivals)),
            ],
        )
        for one in found
    ]  # fmt: skip
    further = [
        Column("otherwise", "how often it fails in the other trials", is_number=True),
        Column("p", "with tasks as units: trials of a task fail alike; adjusted for all conditions", is_number=True),
        Column("or it may be that"),
    ]  # fmt: skip
    return forest(
        "Suspected: how often it fails in the screening; p is with tasks as units, adjusted for all conditions",
        ["when"], rows, what="rate",
        further=further, kind="worded",
    )  # fmt: skip


def _resolution(diagnosis: Diagnosis) -> str:
    wording = diagnosis.searched_says
    if diagnosis.resolution is None:
        return f"{wording} These are too few to say how small a weakness would have been detected."
    seen = f"A family that fails {100 * diagnosis.resolution:.0f} points more often than the rest"
    return f"{wording} {seen} would have been detected with 80% power."


def _of_pairs(finding: Finding) -> Table:
    every = (("taken away", finding.undo), ("brought about", finding.put_in))
    rows = [
        Row([says], one.gain, colour=3 if (one.gain.value or 0.0) > 0 else 2, further=_further(one))
        for says, one in every
        if one is not None
    ]
    further = [
        Column("solved so", "successes with the factor changed", is_number=True),
        Column("placebo", "successes with as much changed and the factor kept", is_number=True),
    ]
    return forest(
        CAPTION.format(finding.when), ["it is"], rows,
        what="difference", scale=DIFFERENCES, tick=signed, wording=points, line=0.0, further=further,
    )  # fmt: skip


def _further(one: PairEvidence) -> list[Cell]:
    by = f"by {', '.join(one.interventions)}"
    return [Cell(f"{count} of {one.pairs}", sort=count, title=by) for count in (one.changed, one.placebo)]


def _of_cause(one: Finding) -> list[str]:
    by = sorted({name for each in (one.undo, one.put_in) if each is not None for name in each.interventions})
    said = [f"Changed by {listed(by)}."] if by else []
    if one.contexts:
        contexts = f"{counted(one.contexts, 'context')} (combinations of task, act and kind of object)"
        reach = (
            f"It goes the same way in at least three quarters of {contexts}"
            if one.is_general
            else f"It was tested in {contexts}, and may not hold in others"
        )
        said.append(f"{reach}; {one.new_contexts} of them did not occur in the screening.")
    if one.undo is not None and one.share > 0:
        said.append(f"Taking it away recovers about {percent(one.share)} of the failures seen, beyond the placebo.")
    said += [harder(one.panel)] if harder(one.panel) else []
    return [*said, *_below_chance(one)]


def _of_association(one: Finding) -> list[str]:
    effect = f"Difference {points(one.effect, unit=True)}" if one.outside.n else f"Rate {rate(one.effect)}"
    chance = (
        ""
        if one.p is None
        else f", with episodes as units and not adjusted; {p_value(one.p)} with tasks as units, adjusted for all "
        "conditions looked at"
    )
    return [f"{effect}{chance}.", *_to_go(one), *_below_chance(one)]


def _to_go(one: Finding) -> list[str]:
    """How many more pairs would decide it, and for or against it."""
    for pairs, sign in ((one.undo, 1), (one.put_in, -1)):
        if pairs is not None and pairs.pairs_more:
            is_for = sign * (pairs.gain.value or 0.0) > 0
            would = "decide it" if is_for else "rule it out"
            return [f"About {counted(pairs.pairs_more, 'more pair')} like these would {would}."]
    return []


def _below_chance(one: Finding) -> list[str]:
    return (
        ["It succeeds less often there than guessing would: a systematic wrong choice."] if one.is_below_chance else []
    )
