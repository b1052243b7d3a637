"""The process that draws one film, and tells on its standard output how far it is: `python -m robodx.video.drawing`."""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from pathlib import Path
from typing import Any

from robodx.errors import UserError
from robodx.users_code import interrupt

# Who waits looks at it no more often.
TOLD_EVERY_S = 0.2


def main() -> None:
    asked = json.loads(sys.argv[1])
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, interrupt)
    # What a plugin prints is not what is told.
    told = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    try:
        try:
            problem = _draw(Path(asked["run"]), asked["trial"], asked["plugins"], _Teller(told))
        except ImportError as error:
            problem = f"A film is drawn with {error.name or 'a package'}, which cannot be imported here: {error}."
        except Exception as error:  # a plugin's code raises what it likes
            problem = f"The film cannot be drawn: {type(error).__name__}: {error}"
        if problem:
            _tell(told, {"problem": problem})
        told.close()
    except (KeyboardInterrupt, BrokenPipeError):
        # Nobody waits for it any more.
        os._exit(130)


class _Teller:
    def __init__(self, told: Any) -> None:
        self._told, self._last_s, self._done = told, float("-inf"), -1

    def __call__(self, done: int, total: int) -> None:
        is_time = done == total or time.monotonic() - self._last_s >= TOLD_EVERY_S
        if is_time and done != self._done:
            self._last_s, self._done = time.monotonic(), done
            _tell(self._told, {"done": done, "total": total})


def _tell(told: Any, what: dict[str, Any]) -> None:
    told.write(json.dumps(what) + "\n")
    told.flush()


def _draw(run: Path, trial_id: str, plugins: list[str], advance: _Teller) -> str | None:
    """Why it cannot be drawn; None if it is."""
    from robodx.registry import UnknownName, load_plugin
    from robodx.sim import gl

    try:
        # Before MuJoCo is imported, which reads it then.
        gl.choose_backend()
        from robodx.video.filming import film_trial

        for plugin in plugins:
            load_plugin(plugin)
        if not gl.status().is_available:
            return f"OpenGL is missing here: {gl.status().advice.splitlines()[0]} See: robodx doctor."
        film_trial(run, trial_id, advance)
    except UnknownName as error:
        wanted = _plugins_wanted(run, plugins)
        # All the names that there are help nobody then.
        return f"{str(error).partition('. There are: ')[0]}. {wanted}" if wanted else str(error)
    except UserError as error:
        return str(error)
    return None


def _plugins_wanted(run: Path, loaded: list[str]) -> str:
    """Where a name that is not known here may come from. What a run names is not loaded unasked: it may be foreign."""
    from robodx.records.about import read_about

    said = read_about(run).get("request", {}).get("plugins", ())
    names = [str(one if isinstance(one, str) else one[0]) for one in said]
    missing = [name for name in names if Path(name).name not in {Path(one).name for one in loaded}]
    if not missing:
        return ""
    wanted = " ".join(f"--plugin {name}" for name in missing)
    return f"The run was made with a plugin: start the viewer again with robodx view {wanted}."


if __name__ == "__main__":
    main()
