"""What the bits of a run depend on beside the request: versions of source, libraries and renderer."""

from __future__ import annotations

import hashlib
import os
import platform
from importlib.metadata import version
from pathlib import Path
from typing import Any


def versions(*, gl_renderer: str | None, rendering: str | None = None) -> dict[str, str | None]:
    """What bits depend on. Of the renderer and how we use it only where the policy saw pictures."""
    return {
        "robodx": version("robodx"),
        "source": _source_digest(),
        "python": platform.python_version(),
        "mujoco": version("mujoco"),
        "numpy": version("numpy"),
        "gl_renderer": gl_renderer,
        "rendering": rendering,
    }


def _source_digest() -> str:
    """Changes with any line of RoboDx: between releases the version number does not tell."""
    digest = hashlib.blake2b(digest_size=8)
    package = Path(__file__).parent.parent
    for path in sorted(package.rglob("*.py")):
        digest.update(str(path.relative_to(package)).encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()


def machine() -> dict[str, Any]:
    return {"platform": platform.platform(), "cores": os.cpu_count()}
