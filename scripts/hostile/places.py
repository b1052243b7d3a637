"""Where the cases run: a folder with a good run, and with files and folders that are in the way."""

from __future__ import annotations

import itertools
import shutil
from dataclasses import dataclass, field
from pathlib import Path

from hostile.judging import Case
from hostile.processes import call

TASK = "primitive/press_switch"
ESCAPES = "\x1b[31mred\x1b]0;title\x07\x9b2J"
HUGE = "99999999999999999999"
STOPPING = '''
"""A policy that ends any run at its first action."""
from robodx import policy
from robodx.errors import Stop
from robodx.policy_contract import make_policy

@policy("stopping")
class Stopping:
    """Ends the run."""
    def __init__(self):
        still = make_policy("still")
        self.spec, self.reset, self.finish = still.spec, still.reset, still.finish
    def act(self, observations):
        raise Stop("the policy has had enough")
'''


@dataclass
class Places:
    """A working folder: `run` is a run of two episodes, `a_file` a file, and `locked` a folder without rights."""

    folder: Path
    has_locked: bool
    _numbers: itertools.count[int] = field(default_factory=itertools.count)

    def fresh(self) -> str:
        """The name of a folder that is not there yet."""
        return f"new/{next(self._numbers)}"

    def copy_of_run(self, name: str) -> Path:
        """A run of its own, to be damaged."""
        copy = self.folder / "damaged" / name
        shutil.copytree(self.folder / "run", copy)
        return copy


def make_places(folder: Path, *, has_locked: bool) -> Places:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "a_file").write_text("not a run\n")
    (folder / "stopping.py").write_text(STOPPING)
    (folder / "locked").mkdir(mode=0o000)
    run = Case("places", "run", ("run", TASK, "--policy", "still", "--seeds", "2", "--out", "run"), cwd=folder)
    ending = call(run)
    if ending.code != 0:
        raise SystemExit(f"a plain run fails, so that nothing else can be tried:\n{ending.said}")
    return Places(folder, has_locked)
