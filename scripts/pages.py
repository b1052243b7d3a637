"""What the scripts share: parts of the docs that they write, and run folders that outlive an edit of the source."""

from __future__ import annotations

from pathlib import Path

from robodx.records.versions import versions

DOCS = Path(__file__).parent.parent / "docs"


def rewrite(page: Path, part: str, text: str) -> None:
    """Replace what lies between `<!-- part -->` and `<!-- end of part -->`."""
    begin, end = f"<!-- {part} -->", f"<!-- end of {part} -->"
    before, found, rest = page.read_text().partition(begin)
    _, closed, after = rest.partition(end)
    if not (found and closed):
        raise ValueError(f"{page} has no part between {begin} and {end}")
    page.write_text(f"{before}{begin}\n{text.strip()}\n{end}{after}")


def of_this_source(folder: Path) -> Path:
    """A run of another source cannot be resumed: each has a folder of its own."""
    return folder / str(versions(gl_renderer=None)["source"])
