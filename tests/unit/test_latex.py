"""Tables as LaTeX: what people write compiles, and cannot become a command."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from robodx.latex import ACCENTS, GREEK, LETTERS, MATHEMATICS, PUNCTUATION, escaped, table

HOSTILE = (
    r"\input{/etc/passwd}", r"\write18{touch x}", "}{\\end{table}", "50% & more_less #1 $x$ ^2 ~a {b}", "[4pt] *", "*",
    "]", "--seeds ---", "?` !` ,, << >> |", "\"it's\" `so`", "\x00\x07\x1b[31m", "two\nlines\r\n\n\tof it",
    "😀 中文 العربية",
    "e\u0301 ă ǆ ŉ ę þ", "\ud800",
)  # fmt: skip


def test_signs_of_the_report_become_their_commands() -> None:
    assert escaped("8× −3° ≥ 2π “so”") == (
        r"8$\times$ $-$3$^{\circ}$ $\geq$ 2$\pi$ \textquotedblleft{}so\textquotedblright{}"
    )
    assert escaped("Łódź é ñ") == r"\L{}\'{o}d\'{z} \'{e} \~{n}"
    assert escaped("e\u0301 n\u0303") == escaped("é ñ"), "however the accents are stored"
    assert escaped("a_b & 50% #1 --seeds") == r"a\_b \& 50\% \#1 -{}-seeds"


def test_what_the_fonts_lack_stands_as_its_code_point() -> None:
    assert escaped("中 😀") == "U+4E2D U+1F600"


@pytest.mark.parametrize("text", HOSTILE)
def test_no_text_becomes_a_command_of_its_own(text: str) -> None:
    printed = escaped(text)
    assert printed.isascii()
    assert "\n" not in printed
    assert not re.search(r"\\(input|write|end)", printed)
    assert not re.search(r"(?<!\\)[&#%_]", printed)
    assert not re.match(r"[\[*]", printed)  # an argument of the \\ before it


def test_table_has_headings_rows_caption_and_a_label_without_signs() -> None:
    lines = table(
        ["task", "success"], [["pick_cube", "50% [20, 80]"], ["a", "−"]], "By task & n", "tab:by task{1}"
    ).split("\n")
    assert r"\begin{tabular}{lr}" in lines
    assert r"task & success \\" in lines
    assert r"pick\_cube & 50\% {[}20, 80{]} \\" in lines
    assert r"\caption{By task \& n}" in lines
    assert r"\label{tab:by-task-1-}" in lines
    assert [line for line in lines if "rule" in line] == [r"\toprule", r"\midrule", r"\bottomrule"]


def test_long_texts_break_their_lines() -> None:
    assert r"{p{0.35\linewidth}}" in table(["claim"], [["It fails where the target is red. " * 3]], "", "tab:x")


def test_row_that_does_not_fit_its_headings_is_an_error() -> None:
    with pytest.raises(ValueError, match="A row with 1 cells under 2 headings"):
        table(["a", "b"], [["1"]], "", "x")


@pytest.mark.thorough
def test_pdflatex_compiles_every_sign_and_hostile_text(tmp_path: Path) -> None:
    pdflatex = shutil.which("pdflatex")
    assert pdflatex, "install texlive-latex-base and texlive-latex-recommended for the thorough tests"
    signs = [*LETTERS, *PUNCTUATION, *MATHEMATICS, *GREEK, *(f"e{mark}i{mark}" for mark in ACCENTS)]
    alphabet = [chr(code) for code in range(1, 0x250)]
    rows = [[text, escaped(text)[:40]] for text in (*HOSTILE, *signs, *alphabet)]
    tables = [
        table(["text", "n"], rows[at : at + 25], HOSTILE[at % len(HOSTILE)], f"tab:{at}")
        for at in range(0, len(rows), 25)
    ]
    body = "\n\\clearpage\n".join(tables)
    for classes in ("article", "[twocolumn]{article}"):
        head = rf"\documentclass{classes if classes[0] == '[' else '{' + classes + '}'}"
        (tmp_path / "paper.tex").write_text(
            f"{head}\n\\usepackage{{booktabs}}\n\\begin{{document}}\n{body}\n\\end{{document}}\n"
        )
        done = subprocess.run(
            [pdflatex, "-halt-on-error", "-interaction=nonstopmode", "paper.tex"], cwd=tmp_path, capture_output=True
        )
        assert done.returncode == 0, done.stdout.decode(errors="replace")[-2000:]
        assert b"Missing character" not in (tmp_path / "paper.log").read_bytes()
