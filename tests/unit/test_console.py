"""What long work says where there is no terminal."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from robodx.terminal.console import SILENT_S, counting_bar, tracked


@pytest.fixture
def clock() -> Iterator[object]:
    """Each look at it is ten seconds later."""
    return iter(range(0, 10_000, 10))


def test_tracked_work_says_how_far_it_is(clock: Iterator[int], capsys: pytest.CaptureFixture[str]) -> None:
    assert list(tracked("abcdefg", 7, "pictures", clock=lambda: next(clock))) == list("abcdefg")
    said = capsys.readouterr().err.splitlines()
    assert said == ["2 of 7 pictures", "5 of 7 pictures"], f"every {SILENT_S:.0f} s"


def test_work_that_grows_says_how_far_it_is(clock: Iterator[int], capsys: pytest.CaptureFixture[str]) -> None:
    with counting_bar("films", clock=lambda: next(clock)) as advance:
        for done in range(1, 5):
            advance(done, 9)
    assert capsys.readouterr().err.splitlines() == ["3 of 9 films"]
