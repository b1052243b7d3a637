"""The report: gathered from run folders, and written as a page, as Markdown, as LaTeX or as JSON."""

from __future__ import annotations

import json
import math
import os
import shlex
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from markupsafe import Markup

from robodx import latex
from robodx.errors import UserError
from robodx.records import files
from robodx.records.contents import refuse_part_of_run
from robodx.report.blocks import Tabled
from robodx.report.made import Made, read_made, relative
from robodx.report.material import Material, gather
from robodx.report.sections.base import SECTIONS, Section, made
from robodx.report.templating import fill
from robodx.report.videos import Mode, films, mode
from robodx.report.viewer_links import ADDRESS, run_in_viewer, view_command
from robodx.report.words import counted, escaped, listed, plain

# Of the JSON: it changes when a program that reads it would have to.
SCHEMA_VERSION = 3
FILE_NAME = "report.html"
EMBED_MB = 20.0
# Of the runs, in the viewer.
MOST_LINKED = 3


@dataclass(frozen=True)
class Report:
    """Everything that is told, whatever the form."""

    title: str
    subtitle: str
    material: Material
    sections: tuple[Section, ...]
    # What a page says of how it was made.
    made: Made | None = None
    kind: str = "diagnosis"

    def html(self) -> str:
        return str(
            fill(
                "page.html",
                report=self,
                problems=self.material.problems,
                style=_asset("style.css"),
                script=_asset("script.js"),
                viewer=ADDRESS,
            )
        )

    @property
    def in_viewer(self) -> list[tuple[str, str, str]]:
        """Of a few runs: a name, the viewer's address of it, and the command that serves it; of many, of all."""
        runs = [run.path for run in self.material.runs]
        if len(runs) > MOST_LINKED:
            return [("all runs in the viewer", "", view_command(*runs))]
        says = (
            ["all episodes in the viewer"] if len(runs) == 1 else [f"{plain(one.name)} in the viewer" for one in runs]
        )
        return [(name, run_in_viewer(run), view_command(run)) for name, run in zip(says, runs, strict=True)]

    def markdown(self) -> str:
        lines = [f"# {escaped(self.title)}", "", escaped(self.subtitle), ""]
        for problem in self.material.problems:
            lines += [f"> {escaped(problem)}", ""]
        for section in self.sections:
            lines += [f"## {section.title}", ""]
            for block in section.content.blocks:
                lines += [block.markdown(), ""]
        return "\n".join(lines)

    def latex(self) -> str:
        """Every table, to be put into a paper by \\input; a comment says which section each is of."""
        lines = [f"% {plain(self.title)}: tables of RoboDx. {latex.NEEDS.removeprefix('% ')}", ""]
        for section in self.sections:
            tabled = [block for block in section.content.blocks if isinstance(block, Tabled)]
            each = [block.latex(f"tab:{section.name}-{at}") for at, block in enumerate(tabled, start=1)]
            lines += [f"% {plain(section.title)}", *filter(None, each)] if any(each) else []
        return "\n".join(line.replace(f"{latex.NEEDS}\n", "") for line in lines)

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
    material = replace(material, players=players, page=page)
    sections = tuple(made(material))
    options = None
    if page is not None:
        where = relative([run.path for run in material.runs], page)
        options = Made(where, title, videos, embed_mb, tuple(one.name for one in sections))
    return Report(title or _title(material), _subtitle(material), material, sections, options)


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


def remake(run: Path) -> str:
    """Make the page of a run again, if it has one; what came of that, in a sentence, or "" where there is none.

    A page that is not known to come out as it was is left alone, and the command that would make it is told.
    """
    page = run / FILE_NAME
    if not page.exists():
        return ""
    command = f"robodx report {shlex.quote(str(run))}"
    if page.is_symlink():
        return f"{page} is a link and is left as it is. To write the page with these causes: {command} -o FILE"
    known = read_made(page)
    if known is None:
        return f"{page} does not say how it was made, and is left as it is. To make it again: {command}"
    if unknown := [name for name in known.sections if name not in SECTIONS]:
        ours = f"{page} has the section {unknown[0]} of a plugin, and is left as it is"
        return f"{ours}. To make it again: {command} --plugin …"
    try:
        runs = [_as_given(page.resolve().parent / one, run) for one in known.runs]
    # Names that no file can have, and links in a circle.
    except (ValueError, OSError, RuntimeError):
        runs = []
    if run not in runs:
        return f"{page} does not say that it is of {run}, and is left as it is. To make it again: {command}"
    try:
        write_report(runs, page, title=known.title, videos=mode(known.videos), embed_mb=known.embed_mb)
    except (UserError, OSError) as error:
        return f"{page} is left as it is: {error}. To make it again: {command}"
    return f"{page} tells of it now."


def write(path: Path, text: str) -> int:
    """Whole or not at all; how many bytes it has."""
    refuse_part_of_run(path)
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


def _as_given(path: Path, run: Path) -> Path:
    """Commands on the page name runs as people do: this one as it was named, others as seen from here."""
    if path.resolve() == run.resolve():
        return run
    seen = Path(os.path.relpath(path.resolve()))
    return path.resolve() if ".." in seen.parts else seen


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
