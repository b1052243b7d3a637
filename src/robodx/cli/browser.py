"""Opening an address in the user's browser, where there is a screen."""

from __future__ import annotations

import os
import sys
import webbrowser


def open_browser(address: str) -> None:
    if sys.platform in ("darwin", "win32") or not os.environ.keys().isdisjoint({"DISPLAY", "WAYLAND_DISPLAY"}):
        webbrowser.open(address)
