"""A run's report, served by the viewer: at which address, under which policy, and what would write one."""

from __future__ import annotations

import base64
import hashlib
import shlex
from pathlib import Path
from urllib.parse import quote

from robodx.report.viewer.finding import Found

TEMPLATES = Path(__file__).parent.parent / "templates"


def _policy() -> str:
    """What such a page may do: its own style, films of its run, and no script but that which RoboDx gives its pages.

    A run may be of somebody else. Any other script would be one of the viewer's own pages, and could read all runs
    and write. Without a script a page is complete; tables do not sort.
    """
    digests = (hashlib.sha256(path.read_bytes()).digest() for path in sorted(TEMPLATES.glob("*.js")))
    scripts = " ".join(f"'sha256-{base64.b64encode(digest).decode()}'" for digest in digests)
    return (
        f"default-src 'none'; style-src 'unsafe-inline'; script-src {scripts}; img-src data:; media-src 'self' data:; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    )


POLICY = _policy()
# Stands for the viewed folder in addresses of reports that lie there.
ROOT = "-"


def place(found: Found, root: Path) -> str:
    """Of the report in the viewed folder; the viewed folder itself has no name there that runs in it begin with."""
    if found.report is None or found.report == found.path:
        return found.name
    return ROOT if found.report == root else found.report.relative_to(root).as_posix()


def address(found: Found, root: Path) -> str:
    """With its place in the viewed folder: relative links, also to films of a run beside it, are then good as they are.

    Nothing is looked up by that path. It is compared with names in the table of runs.
    """
    return f"/report/{found.id}/{quote(place(found, root))}/"


def report_command(found: Found, root: Path) -> str:
    """What writes it, as it is typed beside the viewed folder."""
    return f"robodx report {shlex.quote(root.name if found.path == root else f'{root.name}/{found.name}')}"
