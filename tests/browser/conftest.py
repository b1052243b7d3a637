"""A headless Chromium, and a page of it that must not err nor ask for anything beyond this machine."""

from __future__ import annotations

import shutil
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, sync_playwright

from tests.browsing import Watch

NAMES = ("chromium", "chromium-browser", "google-chrome")
ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE localhost, EXCLUDE 127.0.0.1, EXCLUDE ::1",
]


# Not for the whole session: while Playwright runs, no other test of this process could call asyncio.run.
@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    executable = next(filter(None, map(shutil.which, NAMES)), None)
    if executable is None:
        pytest.fail("no Chromium to test pages with. Debian: apt-get install chromium fonts-dejavu-core", pytrace=False)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=executable, args=ARGUMENTS)
        yield browser
        browser.close()


@pytest.fixture
def watch() -> Watch:
    """What `page` did so far."""
    return Watch()


@pytest.fixture
def page(browser: Browser, watch: Watch) -> Iterator[Page]:
    """A page of its own profile; the test fails if it erred (unless `watch.may_err`) or asked for things elsewhere."""
    context = browser.new_context(viewport={"width": 1280, "height": 800})
    page = context.new_page()
    watch.follow(page)
    yield page
    context.close()
    if complaints := watch.complaints():
        pytest.fail("\n".join(complaints), pytrace=False)
