"""How names and numbers are written in a report, whatever the form it takes."""

from __future__ import annotations

import re
import unicodedata

from robodx.analysis import wording
from robodx.analysis.statistics.estimates import Estimate
from robodx.analysis.wording import counted as counted
from robodx.records.logins import without_logins

# They turn the direction of what follows, and could make a name read as another.
_TURNING = re.compile("[\u202a-\u202e\u2066-\u2069\u200e\u200f]")
_SPACES = re.compile(r"\s+")
# What Markdown would take for markup: anywhere (but for the brackets of an interval), and where a line begins.
_MARKED = re.compile(r"[\\`*_|~$]|\[(?![−+\d.]+, [−+\d.]+\])")
_BEGINNING = re.compile(r"^(\d*)([-+#=.)])")
# People and issues are called by these.
_CALLING = re.compile(r"([@#])(?=\w)")


def plain(text: str) -> str:
    """On one line, without logins, and with characters that cannot be seen spelled out."""
    spelled = _TURNING.sub(lambda found: f"\\u{ord(found[0]):04x}", without_logins(_SPACES.sub(" ", text)))
    return "".join(f"\\u{ord(one):04x}" if unicodedata.category(one) in ("Cc", "Cs") else one for one in spelled)


def short(text: str, limit: int = 40) -> str:
    """Without its middle if it is long."""
    return wording.shortened(plain(text), limit)


def escaped(text: str) -> str:
    """As Markdown that shows just this text."""
    entities = plain(text).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    marked = _BEGINNING.sub(r"\1\\\2", _MARKED.sub(r"\\\g<0>", entities))
    return _CALLING.sub("\\1\u200b", marked)


def code(text: str) -> str:
    """As a code span of Markdown."""
    text = plain(text)
    fence = "`" * (1 + max((len(run) for run in re.findall("`+", text)), default=0))
    edge = " " if text.startswith("`") or text.endswith("`") else ""
    return f"{fence}{edge}{text}{edge}{fence}"


def listed(names: list[str], *, most: int = 4) -> str:
    """As "a, b and c", or "a, b, c and 5 more"."""
    return wording.listed(names, most=most)


def rate(found: Estimate) -> str:
    """As "83% [76, 88]"; nothing is a dash."""
    return _minus("—" if found.value is None else str(found))


def percent(value: float | None) -> str:
    return _minus("—" if value is None else f"{100 * value:.0f}%")


def points(found: Estimate, *, unit: bool = False) -> str:
    """A difference, as "−12 [−20, −4]", in points of success."""
    if found.value is None:
        return "—"
    word = " points" if unit else ""
    if found.low is None or found.high is None:
        return _minus(f"{_signed(found.value)}{word}")
    return _minus(f"{_signed(found.value)}{word} [{_signed(found.low)}, {_signed(found.high)}]")


def signed(share: float) -> str:
    """A tick of a scale of differences, in points."""
    return _minus(_signed(share))


def number(found: Estimate, unit: str = "") -> str:
    """As "1.12 [1.05, 1.3] s"."""
    if found.value is None:
        return "—"
    interval = "" if found.low is None or found.high is None else f" [{_digits(found.low)}, {_digits(found.high)}]"
    return _minus(f"{_digits(found.value)}{interval}{f' {unit}' if unit else ''}")


def seconds(value: float) -> str:
    """As "3.0 s". A sum of physics steps, such as 2.9499999, is first what it stands for: films count in steps."""
    return f"{round(value, 6):.1f} s"


def p_value(p: float | None) -> str:
    """In a sentence."""
    return "not tested" if p is None else "p < 0.001" if p < 0.001 else f"p = {p:.2g}"


def p_cell(p: float | None) -> str:
    """In a column of its own."""
    return "—" if p is None else "<0.001" if p < 0.001 else f"{p:.2g}"


def _digits(value: float) -> str:
    return f"{value:.3g}" if abs(value) < 1000 else f"{value:,.0f}"


def _signed(share: float) -> str:
    return f"{100 * share:+.0f}" if round(100 * share) else "0"


def _minus(text: str) -> str:
    return text.replace("-", "−")
