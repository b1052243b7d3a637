"""How many replies are made up for a wire."""

from __future__ import annotations

import pytest


@pytest.fixture(scope="session")
def fuzz_count(is_thorough: bool) -> int:
    return 10_000 if is_thorough else 2_000
