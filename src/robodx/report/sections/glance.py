"""The first screen: what it can do, when it breaks, why, and what to fix next."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass

from markupsafe import Markup

from robodx.report.material import Material
from robodx.report.sections.base import Content, section
from robodx.report.sections.comparison import sentence
from robodx.report.sentences import Answer, answers
from robodx.report.templating import fill
from robodx.report.words import code, escaped


@dataclass(frozen=True)
class Glance:
    """The four answers about one policy."""

    policy: str
    answers: Sequence[Answer]
    has_name: bool

    def html(self) -> Markup:
        return fill("glance.html", glance=self)

    def markdown(self) -> str:
        lines = [f"### {escaped(self.policy)}", ""] if self.has_name else []
        for answer in self.answers:
            wording = [
                f"{escaped(line.text)}{f' {code(line.command)}' if line.command else ''}" for line in answer.lines
            ]
            lines += [f"**{answer.question}** {' '.join(wording)}", ""]
        return "\n".join(lines).rstrip()


@dataclass(frozen=True)
class Verdicts:
    sentences: Sequence[str]

    def html(self) -> Markup:
        return fill("verdicts.html", sentences=self.sentences)

    def markdown(self) -> str:
        return "\n\n".join(f"**{escaped(text)}**" for text in self.sentences)


@section(order=0, title="At a glance")
def glance(material: Material) -> Content | None:
    each = [Glance(one.policy, list(answers(one)), material.is_comparison) for one in material.subjects]
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
    return Content([Verdicts(verdicts), *each], {"verdicts": verdicts, "policies": data})
