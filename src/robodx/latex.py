"""Tables as LaTeX (booktabs) for a paper: any text compiles with pdflatex, whoever wrote it."""

# ruff: noqa: RUF001 (its tables are about signs that look alike)

import re
import unicodedata
from collections.abc import Sequence

NEEDS = r"% needs \usepackage{booktabs}"

# [, ] and * would be read as an argument of the \\ before them.
ASCII = {
    "\\": r"\textbackslash{}", "{": r"\{", "}": r"\}", "$": r"\$", "&": r"\&", "#": r"\#", "%": r"\%", "_": r"\_",
    "^": r"\textasciicircum{}", "~": r"\textasciitilde{}", "<": r"\textless{}", ">": r"\textgreater{}",
    "|": r"\textbar{}", '"': r"\textquotedblright{}", "'": r"\textquoteright{}", "`": r"\textquoteleft{}",
    "[": "{[}", "]": "{]}", "*": "{*}",
}  # fmt: skip
LETTERS = {
    "ß": r"\ss{}", "æ": r"\ae{}", "Æ": r"\AE{}", "œ": r"\oe{}", "Œ": r"\OE{}", "ø": r"\o{}", "Ø": r"\O{}", "ł": r"\l{}",
    "Ł": r"\L{}", "ı": r"\i{}", "¿": "?`", "¡": "!`", "§": r"\S{}", "¶": r"\P{}", "©": r"\copyright{}",
    "£": r"\pounds{}",
}  # fmt: skip
PUNCTUATION = {
    "“": r"\textquotedblleft{}", "”": r"\textquotedblright{}", "‘": r"\textquoteleft{}", "’": r"\textquoteright{}",
    "„": ",{},", "–": "--", "—": "---", "‐": "-", "‑": "-", "…": r"\ldots{}", "•": r"\textbullet{}",
    "\u200c": "{}", "\u00a0": "~", "\u202f": r"\,", "\u2009": r"\,", "\u00ad": r"\-",
}  # fmt: skip
MATHEMATICS = {
    "×": r"\times", "−": "-", "±": r"\pm", "÷": r"\div", "·": r"\cdot", "°": r"^{\circ}", "²": "^{2}", "³": "^{3}",
    "¹": "^{1}", "≤": r"\leq", "≥": r"\geq", "≠": r"\neq", "≈": r"\approx", "∞": r"\infty", "√": r"\surd", "→": r"\to",
    "←": r"\leftarrow", "↑": r"\uparrow", "↓": r"\downarrow", "↔": r"\leftrightarrow", "∈": r"\in", "∩": r"\cap",
    "∪": r"\cup", "∧": r"\wedge", "∨": r"\vee", "¬": r"\neg", "∆": r"\Delta", "µ": r"\mu", "«": r"\ll", "»": r"\gg",
    "▲": r"\triangle", "●": r"\bullet", "○": r"\circ",
}  # fmt: skip
GREEK = {
    "α": "alpha", "β": "beta", "γ": "gamma", "δ": "delta", "ε": "varepsilon", "ζ": "zeta", "η": "eta", "θ": "theta",
    "ι": "iota", "κ": "kappa", "λ": "lambda", "μ": "mu", "ν": "nu", "ξ": "xi", "π": "pi", "ρ": "rho", "σ": "sigma",
    "τ": "tau", "υ": "upsilon", "φ": "varphi", "χ": "chi", "ψ": "psi", "ω": "omega", "Γ": "Gamma", "Δ": "Delta",
    "Θ": "Theta", "Λ": "Lambda", "Ξ": "Xi", "Π": "Pi", "Σ": "Sigma", "Φ": "Phi", "Ψ": "Psi", "Ω": "Omega",
}  # fmt: skip
ACCENTS = {
    "\u0300": r"\`", "\u0301": r"\'", "\u0302": r"\^", "\u0303": r"\~", "\u0304": r"\=", "\u0306": r"\u",
    "\u0307": r"\.", "\u0308": r"\"", "\u030a": r"\r", "\u030b": r"\H", "\u030c": r"\v", "\u0323": r"\d",
    "\u0327": r"\c", "\u0331": r"\b",
}  # fmt: skip
WIDE = 44  # characters: a column with longer texts breaks its lines


def escaped(text: str) -> str:
    """Any text as LaTeX that prints it: names are data. What pdflatex's fonts lack stands as its code point."""
    text = unicodedata.normalize("NFC", text)
    # --seeds is two hyphens, not a dash.
    return "".join(_character(character) for character in re.sub("-(?=-)", "-\N{ZERO WIDTH NON-JOINER}", text))


def table(headings: Sequence[str], rows: Sequence[Sequence[str]], caption: str, label: str) -> str:
    """A floating table: texts to the left, numbers to the right, long texts with line breaks."""
    lines = [[escaped(cell) for cell in row] for row in rows]
    for row in lines:
        if len(row) != len(headings):
            raise ValueError(f"A row with {len(row)} cells under {len(headings)} headings: {row}")
    columns = [[row[column] for row in rows] for column in range(len(headings))]
    return "\n".join(
        [
            NEEDS,
            r"\begin{table}",
            r"\centering\small",
            rf"\caption{{{escaped(caption)}}}",
            rf"\label{{{re.sub(r'[^A-Za-z0-9:.-]+', '-', label)}}}",
            rf"\begin{{tabular}}{{{''.join(_alignment(cells) for cells in columns)}}}",
            r"\toprule",
            " & ".join(escaped(heading) for heading in headings) + r" \\",
            r"\midrule",
            *(" & ".join(row) + r" \\" for row in lines),
            r"\bottomrule",
            r"\end{tabular}",
            r"\end{table}",
            "",
        ]
    )


def _character(character: str) -> str:
    for known in (ASCII, LETTERS, PUNCTUATION):
        if character in known:
            return known[character]
    if character in MATHEMATICS:
        return f"${MATHEMATICS[character]}$"
    if character in GREEK:
        return rf"$\{GREEK[character]}$"
    if character.isspace():
        return " "
    if " " <= character <= "~":
        return character
    base, *marks = list(unicodedata.normalize("NFD", character))
    if base.isascii() and base.isalpha() and marks and all(mark in ACCENTS for mark in marks):
        letter = rf"\{base}" if base in "ij" and marks[-1] not in "\u0323\u0327\u0331" else base
        for mark in marks:
            letter = f"{ACCENTS[mark]}{{{letter}}}"
        return letter
    return f"U+{ord(character):04X}"


def _alignment(cells: Sequence[str]) -> str:
    filled = [cell for cell in cells if cell.strip("–—−- ")]
    if filled and all(re.match(r"[<>≤≥~+−-]?\s?[\d.]*\d", cell) for cell in filled):
        return "r"
    return r"p{0.35\linewidth}" if max(map(len, cells), default=0) > WIDE else "l"
