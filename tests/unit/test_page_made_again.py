"""A page that is made again after `robodx why`: as it was made, or not at all and the command is told."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from robodx.errors import UserError
from robodx.report import page as of_page
from robodx.report.made import Made, read_made
from robodx.report.page import remake, write_report
from tests.reporting import episode, run_folder


def few(policy: str = "vision") -> list[dict[str, Any]]:
    return [episode("control/easy", seed, success=seed > 0, policy=policy) for seed in range(2)]


@pytest.fixture
def run(tmp_path: Path) -> Path:
    return run_folder(tmp_path / "my run", few())


def test_it_keeps_its_runs_and_options(run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    other = run_folder(tmp_path / "other", few("other"))
    page = write_report(
        [Path("my run"), other], run / "report.html", title='A "title" <b>', videos="link", embed_mb=3.5
    )
    made = read_made(page)
    assert made is not None
    assert made == Made((".", "../other"), 'A "title" <b>', "link", 3.5, made.sections)
    before = page.read_text()
    run_folder(run, [*few(), episode("control/new", 0)])
    assert remake(Path("my run")) == "my run/report.html tells of it now."
    after = page.read_text()
    assert read_made(page) == made
    assert "control/<wbr>new" in after and "control/<wbr>new" not in before
    assert "<td><bdi>my run" in after or ">my run<" in after, "runs are named as before"
    assert str(tmp_path) not in after


def test_where_there_is_no_page_nothing_is_written(run: Path) -> None:
    assert remake(run) == "" and not (run / "report.html").exists()


def test_a_page_elsewhere_is_left_alone(run: Path, tmp_path: Path) -> None:
    elsewhere = write_report([run], tmp_path / "mine.html")
    before = elsewhere.read_bytes()
    (run / "report.html").symlink_to(elsewhere)
    assert "is a link and is left as it is" in remake(run)
    assert elsewhere.read_bytes() == before


def said(**options: object) -> str:
    usual = {"runs": ["."], "title": None, "sections": [], "videos": "embed", "embed_mb": 20}
    return f"<meta name='robodx-made' content='{json.dumps(usual | options)}'>"


@pytest.mark.parametrize(
    "text",
    ["<html>mine</html>", "<meta name='robodx-made' content='{}'>", "<meta name='robodx-made' content='[1]'>", "\udcff",
     said(runs=[]), said(runs=[3]), said(title=1), said(embed_mb="much"), said(sections=3), said(videos="film"),
     said(embed_mb=10**400), f"<meta name='robodx-made' content='{'[' * 20_000}'>", f"<![what[{said()}",
     said(runs=[".", "a\0b"]), said(runs=[".", "\ud800"])],
)  # fmt: skip
def test_a_page_that_does_not_say_how_it_was_made_is_left_alone(run: Path, text: str) -> None:
    page = run / "report.html"
    page.write_bytes(text.encode("utf-8", "surrogateescape"))
    told = remake(run)
    assert f"robodx report '{run}'" in told and "is left as it is" in told
    assert page.read_bytes() == text.encode("utf-8", "surrogateescape")


def test_a_page_with_a_plugins_section_is_not_made_without_it(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = write_report([run], run / "report.html")
    page.write_text(page.read_text().replace("&#34;glance&#34;", "&#34;grip&#34;"))
    before = page.read_text()
    assert "has the section grip of a plugin" in remake(run)
    assert page.read_text() == before


def test_a_page_that_is_of_another_run_is_not_made_of_that(run: Path, tmp_path: Path) -> None:
    other = run_folder(tmp_path / "other", few("other"))
    for text in (said(runs=["../other"]), write_report([other], run / "report.html").read_text()):
        (run / "report.html").write_text(text)
        assert f"does not say that it is of {run}, and is left as it is" in remake(run)
        assert (run / "report.html").read_text() == text


def test_a_page_whose_other_run_is_gone_is_left_alone(run: Path, tmp_path: Path) -> None:
    other = run_folder(tmp_path / "other", few("other"))
    page = write_report([run, other], run / "report.html")
    before = page.read_text()
    os.rename(other, tmp_path / "moved")
    assert "is left as it is" in remake(run)
    assert page.read_text() == before


@pytest.mark.parametrize("error", [KeyboardInterrupt, UserError])
def test_cut_off_the_page_is_as_it_was(run: Path, monkeypatch: pytest.MonkeyPatch, error: type[BaseException]) -> None:
    page = write_report([run], run / "report.html")
    before = page.read_bytes()

    def stop(*_: object, **__: object) -> None:
        raise error("stopped")

    monkeypatch.setattr(of_page, "gather", stop)
    if error is KeyboardInterrupt:
        with pytest.raises(KeyboardInterrupt):
            remake(run)
    else:
        assert "stopped" in remake(run)
    assert page.read_bytes() == before
    assert sorted(one.name for one in run.iterdir()) == ["episodes", "report.html", "run.json"]
