"""One thread per process for linear algebra: workers share the cores, and sums keep their order."""

from __future__ import annotations

import os

VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


def pin() -> None:
    """For this process if numpy is not imported yet, and for those it starts. A user's own setting is kept."""
    for name in VARIABLES:
        os.environ.setdefault(name, "1")
