"""Episodes to look at: what was asked, what happened, and a film where there is one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from robodx.report.blocks import Block, Missing, Text
from robodx.report.material import Material
from robodx.report.sections.base import Content, section
from robodx.report.shown import Shown, shown
from robodx.report.templating import fill
from robodx.report.viewer_links import view_command
from robodx.report.words import code, counted, escaped


@dataclass(frozen=True)
class Gallery:
    episodes: Sequence[Shown]

    def html(self) -> Markup:
        return fill("gallery.html", episodes=self.episodes)

    def markdown(self) -> str:
        return "\n".join(
            f"- {one.number}: {code(one.task)}, {escaped(one.variant)}, seed {one.seed}: **{escaped(one.went)}**"
            + (f" ({escaped(one.kind)})" if one.kind else "") + (f": {escaped(one.says)}" if one.says else "")
            for one in self.episodes
        )  # fmt: skip


@section(order=100, title="Episodes to look at", folded=True)
def gallery(material: Material) -> Content | None:
    # Those of pairs stand with their findings.
    trials = [trial for trial in material.shown if trial not in material.paired]
    episodes = [one for trial in trials if (one := shown(material, trial)) is not None]
    if not episodes:
        return Content([Missing("There is no failure or film to show here. To film some:", "robodx run … --video 1")])
    total = sum(len(subject.episodes) for subject in material.subjects)
    films = sum(one.film is not None for one in episodes)
    order = "examples of findings first, then episodes with a video, then failures"
    wording = f"{len(episodes)} of {counted(total, 'episode')}: {order}."
    if films:
        wording += f" {films} can be played here."
    if films < len(episodes):
        wording += " The others open in the viewer, which can draw their films."
    hidden = len(material.films) - len(material.players)
    if hidden > 0 and material.players:
        wording += f" {counted(hidden, 'more video')} {'is' if hidden == 1 else 'are'} in the run folder."
    blocks: list[Block] = [Text(wording, "quiet"), Gallery(episodes)]
    if films < len(episodes):
        blocks.insert(
            1, Missing("The viewer must be running for that:", view_command(*(run.path for run in material.runs)))
        )
    return Content(blocks, [_plain(one) for one in episodes])


def _plain(one: Shown) -> dict[str, Any]:
    names = ("trial", "policy", "task", "variant", "seed", "outcome", "went", "kind", "says", "instructions")
    return {name: getattr(one, name) for name in names}
