"""A leaderboard in a browser: it opens from a file, fits a phone, and can be read in both schemes."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, ViewportSize

from robodx.report.leaderboard import page as leaderboard_page
from robodx.report.leaderboard import ranked
from robodx.report.material import gather
from robodx.report.page import write
from tests.browsing import CONTRASTS, Watch
from tests.reporting import ABOUT, capability, run_folder

PHONE = ViewportSize(width=390, height=844)
POLICIES = ("vision", "<script>window.broken = true</script>", "a_policy_with_a_very_long_name" * 6)


@pytest.fixture(scope="module")
def board(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs")
    runs = [
        run_folder(folder / str(at), capability(policy, seeds=12), {**ABOUT, "request": {"policy": policy}})
        for at, policy in enumerate(POLICIES)
    ]
    material = gather(runs)
    write(folder / "board.html", leaderboard_page(material, ranked(material)).html())
    return folder / "board.html"


def test_it_opens_from_a_file_and_asks_for_nothing(page: Page, watch: Watch, board: Path) -> None:
    page.goto(board.as_uri())
    assert page.title() == "Leaderboard of 3 policies · RoboDx" and page.evaluate("window.broken") is None
    ranks = page.locator("#leaderboard tbody th").all_text_contents()
    assert ranks == ["1–3", "1–3", "1–3"] and page.locator("#pairs tbody tr").count() == 3
    assert {url for url in watch.requests if not url.startswith("data:")} == {board.as_uri()}


@pytest.mark.thorough
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_fits_a_phone_and_is_legible(browser: Browser, board: Path, scheme: str) -> None:
    context = browser.new_context(viewport=PHONE, color_scheme="dark" if scheme == "dark" else "light")
    page = context.new_page()
    page.goto(board.as_uri())
    assert page.evaluate("document.documentElement.scrollWidth") == PHONE["width"]
    faint = [one for one in page.eval_on_selector_all("main td, main th, main p, .chip", CONTRASTS) if one[1] < 4.5]
    assert faint == []
    context.close()
