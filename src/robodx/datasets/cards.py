"""The card of a data set: what is in it, how it was made, and how to load it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from robodx.datasets.formats.base import FORMATS
from robodx.datasets.schema import Features


def card_path(data: Path) -> Path:
    """README.md in a folder; beside a file that is the whole data set."""
    return data / "README.md" if data.is_dir() else data.with_name(f"{data.name}.md")


EXPERT = "Demonstrations by RoboDx's expert, which sees the simulator's state"


@dataclass(frozen=True)
class Card:
    name: str
    features: Features
    # By task.
    episodes: Mapping[str, int]
    frames: Mapping[str, int]
    # What was not solved: these are left out.
    failed: Mapping[str, int]
    format_name: str
    licence: str
    # Who made it, as the card begins.
    by: str = EXPERT

    def text(self) -> str:
        """With the header that hubs of data sets read."""
        features = self.features
        total, frames, failed = (sum(part.values()) for part in (self.episodes, self.frames, self.failed))
        hours = frames / features.known_hz / 3600
        head = [
            "---", f"license: {self.licence}", "task_categories:", "- robotics", "tags:", "- robodx",
            *(["- LeRobot"] if self.format_name.startswith("lerobot") else []), "---",
        ]  # fmt: skip
        cameras = ", ".join(f"`{name}` {height}×{width}" for name, (height, width) in features.cameras.items())
        facts = [
            ("format", f"{self.format_name} ({FORMATS[self.format_name].summary})"),
            ("robot", features.robot),
            ("episodes", f"{total:,}; {failed:,} that were not solved are left out"),
            ("frames", f"{frames:,} at {features.hz:g} Hz, {hours:.1f} hours"),
            ("cameras", cameras or "none"),
            *((f"state `{name}`", ", ".join(names)) for name, names in features.state.items()),
            ("action", ", ".join(features.action)),
            *((name.replace("_", " "), str(value)) for name, value in features.about.items()),
            ("licence", self.licence),
        ]
        tasks = [
            f"| {task} | {self.episodes.get(task, 0)} | {self.frames.get(task, 0):,} | {self.failed.get(task, 0)} |"
            for task in sorted({*self.episodes, *self.failed})
        ]
        lines = [
            *head, "", f"# {self.name}", "",
            f"{self.by}; pictures and numbers are what a",
            "policy would be given. Only solved episodes are in it. Seeds are for training: RoboDx tests on others.",
            "", "| | |", "|---|---|", *(f"| {name} | {value} |" for name, value in facts),
            "", "## Load it", "", "```python", *FORMATS[self.format_name].loading.strip().splitlines(), "```",
            "", "`robodx data show PATH` tells what is in it.",
            "", "## Tasks", "", "| task | episodes | frames | left out |", "|---|---|---|---|", *tasks, "",
        ]  # fmt: skip
        return "\n".join(lines)
