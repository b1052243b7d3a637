"""One episode as a page shows it: what was asked, what happened, and a film where there is one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from robodx.analysis.variants import CLEAN
from robodx.report.material import Material
from robodx.report.plots.svg import tag
from robodx.report.videos import Film
from robodx.report.viewer_links import ADDRESS, episode_in_viewer, view_command
from robodx.report.words import counted, seconds

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
    # Where in it something went wrong, in seconds; None of what went well.
    failed_s: float | None
    # What the viewer's address says of it, and the command that makes the viewer answer there.
    in_viewer: str
    view: str
    # Whether it stands on the page already, and is linked to there.
    is_again: bool = False

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
            seconds(self.duration_s) if self.duration_s else "",
        ]
        return ", ".join(part for part in parts if part)

    @property
    def seen(self) -> str:
        return SEEN

    @property
    def address(self) -> str:
        """Of the viewer, where it is unless another has its port."""
        return f"{ADDRESS}{self.in_viewer}"


def shown(material: Material, trial: str) -> Shown | None:
    """The episode of this trial, if any policy has it."""
    row = next((row for subject in material.subjects if (row := subject.row(trial)) is not None), None)
    return None if row is None else _of(row, material)


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
        failed_s=_failed_s(row, evidence),
        in_viewer=episode_in_viewer(material.places[row["trial_id"]], row["trial_id"]),
        view=view_command(material.places[row["trial_id"]]),
    )


def _failed_s(row: dict[str, Any], evidence: dict[str, Any]) -> float | None:
    if row["success"] or not row["duration_s"]:
        return None
    step, steps = evidence.get("step"), row["steps"]
    share = min(1.0, step / steps) if step is not None and steps else 1.0
    return float(share * row["duration_s"])
