"""Linear algebra with the same bits everywhere: one thread per process, so that sums keep their order; one kernel."""

from __future__ import annotations

import os
from pathlib import Path

VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
CPUS = Path("/proc/cpuinfo")


def pin() -> None:
    """For this process if numpy is not imported yet, and for those it starts. A user's own setting is kept."""
    for name in VARIABLES:
        os.environ.setdefault(name, "1")
    # With AVX-512 OpenBLAS adds in another order: a run that several machines share would not have the same bits.
    if _has_avx2():
        os.environ.setdefault("OPENBLAS_CORETYPE", "Haswell")


def _has_avx2() -> bool:
    """False where it cannot be known."""
    try:
        with CPUS.open() as lines:
            return next((" avx2 " in f"{line.rstrip()} " for line in lines if line.startswith("flags")), False)
    except OSError:
        return False
