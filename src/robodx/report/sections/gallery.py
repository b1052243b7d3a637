"""Episodes to look at: what was asked, what happened, and a film where there is one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl
from markupsafe import Markup

from robodx.analysis.failure_summary import shown_outcome
from robodx.analysis.variants import CLEAN
from robodx.report.blocks import Block, Missing, Text
from robodx.report.material import Material
from robodx.report.plots.svg import tag
from robodx.report.sections.base import Content, section
from robodx.report.templating import fill
from robodx.report.videos import Film
from robodx.report.words import code, counted, escaped

# Under every film: all are of the front camera, with the wrist's beside it.
SEEN = "Seen from the front: the robot's left is on the right."


@dataclass(frozen=True)
class Shown:
    """One episode."""

    anchor: str
    trial: str
    policy: str
    task: str
    variant: str
    seed: int
    outcome: str
    # The outcome as a person is told it.
    went: str
    kind: str | None
    says: str | None
    instructions: tuple[str, ...]
    steps: int | None
    stages: int | None
    stage_steps: tuple[int, ...]
    duration_s: float | None
    film: Film | None

    @property
    def number(self) -> str:
        return self.anchor.rpartition("-")[2]

    @property
    def timeline(self) -> Markup | None:
        """When each stage was reached, along the episode."""
        if not self.steps or not self.stages:
            return None
        says = f"{len(self.stage_steps)} of {counted(self.stages, 'stage')} reached in {counted(self.steps, 'step')}"
        dots = [
            tag(
                "circle",
                tag("title", f"stage {at} at step {step}"),
                cx=f"{2 + 96 * min(1.0, step / self.steps):.1f}%",
                cy="50%",
                r=4,
                class_="dot c3",
            )
            for at, step in enumerate(self.stage_steps, start=1)
        ]
        line = tag("line", x1="2%", x2="98%", y1="50%", y2="50%", class_="base thick")
        return tag("svg", tag("title", says), line, *dots, class_="whiskers", height=14, role="img", aria_label=says)

    @property
    def wording(self) -> str:
        parts = [
            f"{len(self.stage_steps)} of {counted(self.stages, 'stage')}" if self.stages else "",
            f"{self.duration_s:.1f} s" if self.duration_s else "",
        ]
        return ", ".join(part for part in parts if part)


@dataclass(frozen=True)
class Gallery:
    episodes: Sequence[Shown]

    def html(self) -> Markup:
        return fill("gallery.html", episodes=self.episodes, seen=SEEN)

    def markdown(self) -> str:
        return "\n".join(
            f"- {one.number}: {code(one.task)}, {escaped(one.variant)}, seed {one.seed}: **{escaped(one.went)}**"
            + (f" ({escaped(one.kind)})" if one.kind else "") + (f": {escaped(one.says)}" if one.says else "")
            for one in self.episodes
        )  # fmt: skip


@section(order=100, title="Episodes to look at")
def gallery(material: Material) -> Content | None:
    episodes = [one for trial in material.shown for one in _shown(material, trial)]
    if not episodes:
        return Content([Missing("No episode failed and none was filmed. To film some:", "robodx run … --video 1")])
    total = sum(len(subject.episodes) for subject in material.subjects)
    films = sum(one.film is not None for one in episodes)
    order = "examples of findings first, then episodes with a video, then failures"
    wording = f"{len(episodes)} of {counted(total, 'episode')}: {order}."
    if films:
        wording += f" {films} can be played here."
    hidden = len(material.films) - films
    if hidden > 0 and material.players:
        wording += f" {counted(hidden, 'more video')} {'is' if hidden == 1 else 'are'} in the run folder."
    blocks: list[Block] = [Text(wording, "quiet"), Gallery(episodes)]
    if not material.films:
        blocks.insert(
            1,
            Missing(
                "No episode was filmed. The same command with --video films stored episodes:", "robodx run … --video 1"
            ),
        )
    return Content(blocks, [_plain(one) for one in episodes])


def _shown(material: Material, trial: str) -> list[Shown]:
    for subject in material.subjects:
        rows = subject.summary.episodes.filter(pl.col("trial_id") == trial).with_columns(went=shown_outcome())
        for row in rows.iter_rows(named=True):
            return [_of(row, material)]
    return []


def _of(row: dict[str, Any], material: Material) -> Shown:
    evidence = row["failure_evidence"] or {}
    error = ((row["error"] or "").strip().splitlines() or [None])[-1]
    texts = (one["text"] for one in row["instructions"] or ())
    return Shown(
        anchor=material.anchors[row["trial_id"]],
        trial=row["trial_id"],
        policy=row["policy"],
        task=row["task"],
        variant=row["variant"] or CLEAN,
        seed=row["seed"],
        outcome=row["outcome"],
        went=row["went"],
        kind=row["failure_kind"],
        says=evidence.get("says") or error,
        instructions=tuple(dict.fromkeys(texts)),
        steps=row["steps"],
        stages=row["stages"],
        stage_steps=tuple(row["stage_steps"] or ()),
        duration_s=row["duration_s"],
        film=material.players.get(row["trial_id"]),
    )


def _plain(one: Shown) -> dict[str, Any]:
    names = ("trial", "policy", "task", "variant", "seed", "outcome", "went", "kind", "says", "instructions")
    return {name: getattr(one, name) for name in names}
