"""The first screen: what it can do, when it breaks, why, and what to fix next."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass

from markupsafe import Markup

from robodx.report.blocks import Folded
from robodx.report.material import Material, Subject
from robodx.report.sections.base import Content, section
from robodx.report.sections.comparison import sentence
from robodx.report.sentences import Answer, answers
from robodx.report.shown import Shown, shown
from robodx.report.templating import fill
from robodx.report.words import code, escaped

# Of a comparison, side by side.
MOST_PICTURES = 3


@dataclass(frozen=True)
class Picture:
    """An episode that shows the most important thing, and the finding that it is of."""

    episode: Shown
    says: str
    # Of the finding on the page; "" where it is of none.
    anchor: str

    @property
    def start_s(self) -> float:
        """What is seen before it is played: where it fails."""
        return max(0.001, self.episode.failed_s or 0.001)


@dataclass(frozen=True)
class Glance:
    """The four answers about one policy, and a picture beside them."""

    policy: str
    answers: Sequence[Answer]
    has_name: bool
    picture: Picture | None = None

    def html(self) -> Markup:
        return fill("glance.html", glance=self)

    def first(self, word: str) -> str:
        """The first sentence of the first answer to such a question."""
        return next(answer.lines[0].text for answer in self.answers if answer.question.startswith(word))

    def markdown(self) -> str:
        lines = [f"### {escaped(self.policy)}", ""] if self.has_name else []
        for answer in self.answers:
            wording = [
                f"{escaped(line.whole)}{f' {code(line.command)}' if line.command else ''}" for line in answer.lines
            ]
            lines += [f"**{answer.question}** {' '.join(wording)}", ""]
        return "\n".join(lines).rstrip()


@dataclass(frozen=True)
class Verdicts:
    """Who is better, and an episode of each policy that shows what it does wrong."""

    sentences: Sequence[str]
    pictures: Sequence[tuple[str, Picture]]

    def html(self) -> Markup:
        return fill("verdicts.html", verdicts=self)

    def markdown(self) -> str:
        return "\n\n".join(f"**{escaped(text)}**" for text in self.sentences)


@section(order=0, title="At a glance")
def glance(material: Material) -> Content | None:
    pictures = [_picture(material, one) for one in material.subjects]
    each = [
        Glance(
            one.policy,
            list(answers(one, material.finding_anchor)),
            material.is_comparison,
            None if material.is_comparison else picture,
        )
        for one, picture in zip(material.subjects, pictures, strict=True)
    ]
    data = [
        {
            "policy": subject.policy,
            "success": asdict(subject.success),
            "answers": {answer.question: [asdict(line) for line in answer.lines] for answer in one.answers},
        }
        for subject, one in zip(material.subjects, each, strict=True)
    ]
    if not material.is_comparison:
        return Content(each, data)
    verdicts = [sentence(found) for found in material.comparisons] + material.not_compared
    # Who is better comes first; of each policy what it can do and why it fails, and the rest when it is asked for.
    folded = [Folded(f"{one.policy}: {one.first('What')}", [one], f"Why? {one.first('Why')}") for one in each]
    seen = [(one.policy, picture) for one, picture in zip(each, pictures, strict=True) if picture is not None]
    return Content([Verdicts(verdicts, seen[:MOST_PICTURES]), *folded], {"verdicts": verdicts, "policies": data})


def _picture(material: Material, subject: Subject) -> Picture | None:
    """Of the first finding of which the page has a film, else of the first that it shows an episode of.

    Without a finding it is of any failure, with a film if there is one.
    """
    found = [] if subject.diagnosis is None else subject.diagnosis.findings
    pictures = [
        Picture(
            episode,
            f"Shows {'a' if place else 'the first'} finding: it fails when {one.when} ({one.certainty_says})",
            anchor,
        )
        for place, one in enumerate(found)
        if (anchor := material.finding_anchor(one))
        for trial in (*(one.pair or ())[:1], *one.examples)
        if trial in material.anchors and (episode := _failure(material, subject, trial)) is not None
    ]
    pictures = pictures or [
        Picture(episode, "A trial that failed", "")
        for trial in material.shown
        if (episode := _failure(material, subject, trial)) is not None
    ]
    return next((one for one in pictures if one.episode.film is not None), pictures[0] if pictures else None)


def _failure(material: Material, subject: Subject, trial: str) -> Shown | None:
    one = shown(material, trial) if subject.row(trial) is not None else None
    return one if one is not None and one.failed_s is not None else None
