"""What is on the page, for a program: files of the runs that lie beside it, and the commands that write others."""

from __future__ import annotations

import os
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import quote

from markupsafe import Markup

from robodx.records.table import parts_of
from robodx.report.blocks import Block, Missing, Text
from robodx.report.material import Material
from robodx.report.sections.base import Content, section
from robodx.report.templating import fill
from robodx.report.words import code, escaped

# Of a run that is not put together yet there may be many.
MOST_FILES = 6


@dataclass(frozen=True)
class Files:
    """Links to files, as seen from the page: a name and the address of each."""

    says: str
    files: Sequence[tuple[str, str]]

    def html(self) -> Markup:
        return fill("files.html", block=self)

    def markdown(self) -> str:
        return f"{escaped(self.says)} {', '.join(code(name) for name, _ in self.files)}"


@section(order=115, title="Downloads", folded=True)
def downloads(material: Material) -> Content | None:
    runs = " ".join(shlex.quote(str(run.path)) for run in material.runs)
    first = shlex.quote(str(material.runs[0].path))
    blocks: list[Block] = [Text("“Save as CSV” beside a table saves it as it is shown, with the bare numbers.")]
    if files := _files(material):
        blocks.append(Files("The episodes as parquet, in the run folder:", files))
    blocks += [
        Missing("The episodes as a table:", f"robodx export {first} --to csv"),
        Missing("The tables of this page in LaTeX:", f"robodx report {runs} --latex"),
        Missing("Its numbers for a program:", f"robodx report {runs} --json"),
    ]
    return Content(blocks, [name for name, _ in files])


def _files(material: Material) -> list[tuple[str, str]]:
    if material.page is None:
        return []
    here = material.page.resolve().parent
    paths = [path for run in material.runs for path in parts_of(run.path)][:MOST_FILES]
    relative = [os.path.relpath(path.resolve(), here) for path in paths]
    return [(one.encode("utf-8", "backslashreplace").decode(), quote(os.fsencode(one))) for one in relative]
