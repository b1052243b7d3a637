"""All commands, in the order in which --help lists them."""

from __future__ import annotations

from robodx.cli.app import app

# isort: off
from robodx.cli import diagnosing  # noqa: F401
from robodx.cli import running  # noqa: F401
from robodx.cli import cliff  # noqa: F401
from robodx.cli import fairness  # noqa: F401
from robodx.cli import reading  # noqa: F401
from robodx.cli import ranking  # noqa: F401
from robodx.cli import exporting  # noqa: F401
from robodx.cli import reviewing  # noqa: F401
from robodx.cli import generating  # noqa: F401
from robodx.cli import teleoperating  # noqa: F401
from robodx.cli import data  # noqa: F401
from robodx.cli import serving  # noqa: F401
from robodx.cli import browsing  # noqa: F401
# isort: on

__all__ = ["app"]
