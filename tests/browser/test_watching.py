"""The fixture that the tests of pages stand on: a page that errs or phones home does not go unnoticed."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page

from tests.browsing import Watch, is_local


def test_errors_and_requests_of_a_page_are_seen(page: Page, watch: Watch) -> None:
    script = "console.error('bad'); console.warn('hm'); fetch('http://example.com/x').catch(() => nowhere())"
    page.goto(f"data:text/html,<script>{script}</script>")
    # How long it takes not to find a host is the resolver's affair.
    for _ in range(100):
        if any("nowhere" in error for error in watch.errors):
            break
        page.wait_for_timeout(100)
    assert watch.errors[0] == "bad" and any("nowhere" in error for error in watch.errors)
    assert watch.warnings == ["hm"]
    assert watch.foreign() == ["http://example.com/x"]
    assert len(watch.complaints()) == len(watch.errors) + 1
    watch.may_err = True
    assert watch.complaints() == ["a request to elsewhere: http://example.com/x"]
    watch.requests.clear()


@pytest.mark.parametrize(
    ("url", "local"),
    [
        ("file:///tmp/report.html", True),
        ("data:text/html,", True),
        ("blob:null/1", True),
        ("http://127.0.0.1:8000/a", True),
        ("http://localhost/", True),
        ("ws://[::1]:9/", True),
        ("https://example.com/", False),
        ("http://127.0.0.1.example.com/", False),
        ("ws://10.0.0.1/", False),
    ],
)
def test_only_this_machine_is_local(url: str, local: bool) -> None:
    assert is_local(url) is local
