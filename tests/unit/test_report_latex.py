"""A report's tables as LaTeX: all of them, with any names, as a paper takes them in."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest
from typer.testing import CliRunner

from robodx.cli.commands import app
from robodx.report.blocks import LATEX_ROWS, Cell, Column, Figure, Folded, Table, Text
from robodx.report.page import report
from tests.reporting import capability, episode, run_folder, stressed

HOSTILE = "language/\\input{x} & 100%_#$^~ “so” −3° ≥ π 中 \u202e\n[4pt]*"


def rows() -> list[dict[str, object]]:
    return [*capability(), *stressed(), episode(HOSTILE, 0, success=False)]


def test_every_table_of_the_page_is_there_once(tmp_path: Path) -> None:
    found = report([run_folder(tmp_path, rows())])
    text = found.latex()
    assert text.isascii() and text.count(r"\begin{table}") == text.count(r"\end{table}") > 5
    labels = re.findall(r"\\label\{(.*)\}", text)
    assert len(labels) == len(set(labels)) and "tab:tasks-1" in labels
    assert r"language/hard & hard & clean & 50\% {[}15, 85{]}" in text
    assert "textbackslash{}input" in text and r"\input" not in text.replace("textbackslash{}input", "")
    assert found.html().count("<table") == text.count(r"\begin{table}")


def test_what_is_folded_or_drawn_is_a_table_too_and_a_long_one_is_in_parts() -> None:
    columns = [Column("a"), Column("", axis=None)]
    table = Table("So many", columns, [[Cell(str(at)), Cell("x")] for at in range(LATEX_ROWS + 1)])
    for block in (table, Figure([], "", table), Folded("more", [Text("words"), table])):
        text = block.latex("tab:x")
        assert text.count(r"\begin{table}") == 2 and "So many (2 of 2)" in text
        assert text.count(r" & x \\") == LATEX_ROWS + 1


def test_it_is_printed_or_written_and_not_with_another_form(tmp_path: Path) -> None:
    run = run_folder(tmp_path / "run", [episode("control/easy", 0)])
    printed = CliRunner().invoke(app, ["report", str(run), "--latex"])
    assert printed.exit_code == 0 and r"\toprule" in printed.stdout and not (run / "report.html").exists()
    written = CliRunner().invoke(app, ["report", str(run), "--latex", "-o", str(tmp_path / "t.tex")])
    assert written.exit_code == 0 and (tmp_path / "t.tex").read_text() == printed.stdout
    both = CliRunner().invoke(app, ["report", str(run), "--latex", "--json"])
    assert both.exit_code != 0 and "--json and --latex exclude each other" in str(both.exception or both.output)


@pytest.mark.thorough
def test_pdflatex_compiles_a_report_of_any_names(tmp_path: Path) -> None:
    pdflatex = shutil.which("pdflatex")
    assert pdflatex, "install texlive-latex-base and texlive-latex-recommended for the thorough tests"
    (tmp_path / "tables.tex").write_text(report([run_folder(tmp_path / "run", rows())]).latex())
    paper = r"\documentclass{article}\usepackage{booktabs}\begin{document}\input{tables}\end{document}"
    (tmp_path / "paper.tex").write_text(paper)
    words = [pdflatex, "-halt-on-error", "-interaction=nonstopmode", "paper.tex"]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True)
    assert done.returncode == 0, done.stdout.decode(errors="replace")[-2000:]
    assert b"Float too large" not in done.stdout
