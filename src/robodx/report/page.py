"""The report: gathered from run folders, and written as a page, as Markdown or as JSON."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from markupsafe import Markup

from robodx.errors import UserError
from robodx.records import files
from robodx.report.material import Material, gather
from robodx.report.sections.base import Section, made
from robodx.report.templating import fill
from robodx.report.videos import Mode, films
from robodx.report.words import counted, escaped, listed

# Of the JSON: it changes when a program that reads it would have to.
SCHEMA_VERSION = 2
FILE_NAME = "report.html"
EMBED_MB = 20.0


@dataclass(frozen=True)
class Report:
    """Everything that is told, whatever the form."""

    title: str
    subtitle: str
    material: Material
    sections: tuple[Section, ...]

    def html(self) -> str:
        return str(
            fill(
                "page.html",
                report=self,
                problems=self.material.problems,
                style=_asset("style.css"),
                script=_asset("script.js"),
            )
        )

    def markdown(self) -> str:
        lines = [f"# {escaped(self.title)}", "", escaped(self.subtitle), ""]
        for problem in self.material.problems:
            lines += [f"> {escaped(problem)}", ""]
        for section in self.sections:
            lines += [f"## {section.title}", ""]
            for block in section.content.blocks:
                lines += [block.markdown(), ""]
        return "\n".join(lines)

    def as_dict(self) -> dict[str, Any]:
        content = {
            "schema_version": SCHEMA_VERSION,
            "title": self.title,
            "policies": [one.policy for one in self.material.subjects],
            "runs": [str(run.path) for run in self.material.runs],
            "problems": list(self.material.problems),
            "sections": {section.name: section.content.data for section in self.sections},
        }
        return _finite(content)  # type: ignore[no-any-return]

    def json(self) -> str:
        return json.dumps(self.as_dict(), indent=2, ensure_ascii=False)


def report(
    runs: Sequence[Path] | Material,
    *,
    title: str | None = None,
    videos: Mode = "embed",
    embed_mb: float = EMBED_MB,
    page: Path | None = None,
) -> Report:
    """Of one or several run folders, or of what was gathered from them.

    Those of one policy are one diagnosis, several policies are compared.
    `page` is where it will lie: films that are not within it are linked relative to there.
    """
    material = runs if isinstance(runs, Material) else gather(runs)
    wanted = [(trial, material.films[trial]) for trial in material.shown if trial in material.films]
    players = films(wanted, videos, page=page, most_bytes=1e6 * embed_mb)
    material = replace(material, players=players)
    return Report(title or _title(material), _subtitle(material), material, tuple(made(material)))


def write_report(
    runs: Sequence[Path] | Material,
    out: Path,
    *,
    title: str | None = None,
    videos: Mode = "embed",
    embed_mb: float = EMBED_MB,
) -> Path:
    """The page of these runs, in a file of its own."""
    write(out, report(runs, title=title, videos=videos, embed_mb=embed_mb, page=out).html())
    return out


def write(path: Path, text: str) -> int:
    """Whole or not at all; how many bytes it has."""
    if path.is_dir():
        raise UserError(f"{path} is a folder: name the file in it, as {path / FILE_NAME}")
    content = text.encode("utf-8", "backslashreplace")
    # A link stays a link.
    path = path.resolve()
    if path.exists() and not path.is_file():
        # A pipe or a device is written to, never replaced.
        path.write_bytes(content)
        return len(content)
    path.parent.mkdir(parents=True, exist_ok=True)
    files.write(path, content)
    return len(content)


def _title(material: Material) -> str:
    names = [one.policy for one in material.subjects]
    return names[0] if len(names) == 1 else f"{listed(names[1:])} against {names[0]}"


def _subtitle(material: Material) -> str:
    episodes = sum(len(one.episodes) for one in material.subjects)
    tasks = len({task for one in material.subjects for task in one.episodes["task"].unique()})
    robots = sorted({robot for one in material.subjects for robot in one.episodes["robot"].unique()})
    parts = [
        counted(episodes, "episode"),
        counted(tasks, "task"),
        f"robot {listed(robots)}",
        counted(len(material.runs), "run"),
    ]
    return " · ".join(parts)


def _asset(name: str) -> Markup:
    return Markup((Path(__file__).parent / "templates" / name).read_text())


def _finite(value: Any) -> Any:
    """As JSON can have it: numbers that are none become null."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {str(key): _finite(one) for key, one in value.items()}
    return [_finite(one) for one in value] if isinstance(value, list | tuple) else value
