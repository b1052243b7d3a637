"""What is set before numpy is imported, so that sums have the same bits on all machines."""

from __future__ import annotations

from pathlib import Path

import pytest

from robodx.running import threads

KERNELS = "OPENBLAS_CORETYPE"


@pytest.mark.parametrize(("flags", "kernels"), [
    ("flags\t\t: fpu avx avx2 avx512f", "Haswell"), ("flags\t\t: fpu avx", None), ("Features\t: fp asimd", None),
])  # fmt: skip
def test_kernels_are_chosen_only_for_processors_that_have_them(
    flags: str, kernels: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cpus = tmp_path / "cpuinfo"
    cpus.write_text(f"processor\t: 0\n{flags}\nbugs\t: none\n")
    monkeypatch.setattr(threads, "CPUS", cpus)
    environment: dict[str, str] = {}
    monkeypatch.setattr("os.environ", environment)
    threads.pin()
    assert environment.get(KERNELS) == kernels and environment["OMP_NUM_THREADS"] == "1"
    cpus.unlink()
    environment.clear()
    threads.pin()
    assert KERNELS not in environment, "where it cannot be known nothing is chosen"


def test_what_a_user_has_set_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    environment = {KERNELS: "SkylakeX", "OMP_NUM_THREADS": "4"}
    monkeypatch.setattr("os.environ", environment)
    threads.pin()
    assert environment[KERNELS] == "SkylakeX" and environment["OMP_NUM_THREADS"] == "4"
