"""Sections of the page that are somebody's own: from a file or a package, at their place, under a name of their own."""

from __future__ import annotations

import re
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner

from robodx.cli.commands import app
from robodx.errors import UserError
from robodx.registry import discover, load_plugin
from robodx.report.page import FILE_NAME, report
from robodx.report.sections.base import SECTIONS
from robodx.report.sections.motion import motion
from robodx.running import run as of_run
from tests.reporting import capability, run_folder

EXAMPLE = Path(__file__).parents[2] / "examples" / "my_section.py"
WRITTEN = """
from robodx.report.blocks import Text
from robodx.report.sections.base import Content, section

@section(order={order}, title="{name}, mine")
def {name}(material):
    return {gives}
"""


@pytest.fixture
def run(tmp_path: Path) -> Path:
    return run_folder(tmp_path / "run", [{**row, "drops": row["seed"]} for row in capability()])


@pytest.fixture(autouse=True)
def only_here(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """What a test registers is forgotten after it."""
    modules = set(sys.modules)
    monkeypatch.setattr(SECTIONS, "_entries", {name: SECTIONS[name] for name in SECTIONS})
    yield
    for name in set(sys.modules) - modules:
        if not name.startswith("robodx."):
            del sys.modules[name]


def written(path: Path, name: str, *, order: int = 85, gives: str = 'Content([Text("Here.")])') -> Path:
    path.write_text(WRITTEN.format(name=name, order=order, gives=gives))
    return path


@pytest.mark.parametrize("words", [["report"], ["diagnose", "vision", "--films", "0", "--out"]])
def test_a_section_of_a_plugin_file_is_in_the_page_and_in_its_contents_at_its_place(
    words: list[str], run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(of_run, "run", lambda *_, **__: None)
    plugin = shutil.copy(EXAMPLE, tmp_path)
    result = CliRunner().invoke(app, [*words, str(run), "--plugin", str(plugin)], catch_exceptions=False)
    assert result.exit_code == 0
    page = (run / FILE_NAME).read_text()
    contents, body = page[: page.index("</nav>")], page[page.index("</nav>") :]
    for anchors in (re.findall(r'<li><a href="#(\w+)">', contents), re.findall(r'<section id="(\w+)"', body)):
        assert anchors[anchors.index("motion") :][:3] == ["motion", "grip", "latency"]
    assert '<li><a href="#grip">Grip</a></li>' in contents and '<h2 id="grip-title">Grip</h2>' in body
    assert "vision dropped something 36 times in 24 episodes." in body
    assert report([run]).as_dict()["sections"]["grip"] == {"vision": {"drops": 36, "episodes": 24}}
    assert "## Grip" in report([run]).markdown()


def test_a_section_may_come_with_a_package(run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    written(tmp_path / "elsewhere_sections.py", "packaged")
    info = tmp_path / "elsewhere-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: elsewhere\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[robodx]\nelsewhere = elsewhere_sections\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    discover("report.sections")
    assert '<section id="packaged"' in report([run]).html()


def test_a_name_that_is_taken_is_refused_with_both_places(tmp_path: Path) -> None:
    plugin = written(tmp_path / "mine.py", "motion")
    with pytest.raises(UserError) as reported:
        load_plugin(str(plugin))
    assert re.search(
        r'two sections are named "motion": .*sections/motion\.py:\d+ and .*mine\.py:5\.', str(reported.value)
    )
    assert SECTIONS["motion"].make is motion
    first, second = written(tmp_path / "first.py", "twice"), written(tmp_path / "second.py", "twice", order=86)
    load_plugin(str(first))
    with pytest.raises(UserError, match=rf'"twice": {first}:5 and {second}:5\.'):
        load_plugin(str(second))


def test_a_name_that_the_page_itself_links_to_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r'cannot be named "content"'):
        load_plugin(str(written(tmp_path / "mine.py", "content")))


def test_sections_of_the_same_order_go_by_name(run: Path, tmp_path: Path) -> None:
    for name in ("zebra", "antelope"):
        load_plugin(str(written(tmp_path / f"{name}.py", name, order=-1)))
    assert [section.name for section in report([run]).sections[:2]] == ["antelope", "zebra"]


def test_what_is_no_content_is_told_by_the_sections_name(run: Path, tmp_path: Path) -> None:
    load_plugin(str(written(tmp_path / "mine.py", "mine", gives='"words"')))
    with pytest.raises(UserError, match="the section mine gave 'words': it must be Content or None"):
        report([run])
