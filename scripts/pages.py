"""Parts of the docs that are written by scripts: each lies between two comments of a page."""

from __future__ import annotations

from pathlib import Path

DOCS = Path(__file__).parent.parent / "docs"


def rewrite(page: Path, part: str, text: str) -> None:
    """Replace what lies between `<!-- part -->` and `<!-- end of part -->`."""
    begin, end = f"<!-- {part} -->", f"<!-- end of {part} -->"
    before, found, rest = page.read_text().partition(begin)
    _, closed, after = rest.partition(end)
    if not (found and closed):
        raise ValueError(f"{page} has no part between {begin} and {end}")
    page.write_text(f"{before}{begin}\n{text.strip()}\n{end}{after}")
