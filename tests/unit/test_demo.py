"""The demo leaves alone what is not its own to delete."""

from __future__ import annotations

import subprocess
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_the_demo_keeps_a_run_that_it_cannot_go_on_with(tmp_path: Path) -> None:
    robodx = tmp_path / ".venv" / "bin" / "robodx"
    robodx.parent.mkdir(parents=True)
    # Refuses a run that is there, as one of an older source.
    robodx.write_text(
        '#!/bin/sh\n[ "$1" = run ] || exit 0\nwhile [ "$1" != --out ]; do shift; done\nmkdir "$2" || exit 2\n'
    )
    robodx.chmod(0o755)
    old = tmp_path / "runs" / "demo" / "vision"
    old.mkdir(parents=True)
    (old / "precious").touch()
    done = subprocess.run(
        ["sh", ROOT / "scripts" / "demo.sh"], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    (kept,) = old.parent.glob("vision.old-*")
    assert (kept / "precious").exists() and not (old / "precious").exists()
    assert f"the old run is now {kept.relative_to(tmp_path)}" in done.stdout
