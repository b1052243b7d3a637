"""The report in a browser: it opens from a file, asks for nothing, and can be sorted, filtered, played and printed."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import Browser, Page, ViewportSize

from robodx.report.page import write_report
from robodx.video.mp4 import write_mp4
from tests.browsing import Watch
from tests.reporting import capability, episode, run_folder, stressed

PHONE = ViewportSize(width=390, height=844)
PAPER = ViewportSize(width=718, height=1000)
LONG = "control/" + "very_long_name" * 40
SCRIPT = "<script>window.broken = true</script>"


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    hostile = [episode(LONG, 0), episode(f"control/{SCRIPT}", 0, success=False), episode("control/שלום\u202e", 0)]
    run = run_folder(tmp_path_factory.mktemp("run"), capability() + stressed() + hostile)
    (run / "videos").mkdir()
    frames = (np.full((64, 128, 3), 8 * k, np.uint8) for k in range(20))
    write_mp4(run / "videos" / "language.easy-seed1-failure-vision.mp4", frames, 20)
    return write_report([run], run / "report.html")


def rows(page: Page) -> list[str]:
    shown: list[str] = page.eval_on_selector_all(
        "#tasks tbody tr:not([hidden]) th", "all => all.map(one => one.textContent)"
    )
    return shown


def test_it_opens_from_a_file_and_asks_for_nothing(page: Page, watch: Watch, report: Path) -> None:
    page.goto(report.as_uri())
    assert page.title() == "vision · RoboDx"
    assert page.evaluate("window.broken") is None
    assert {url for url in watch.requests if not url.startswith("data:")} == {report.as_uri()}


def test_the_table_of_tasks_is_filtered_and_sorted(page: Page, report: Path) -> None:
    page.goto(report.as_uri())
    everything = rows(page)
    page.get_by_label("Filter the rows by words").fill("language hard")
    assert rows(page) == ["language/hard"]
    page.get_by_label("Filter the rows by words").fill("")
    assert rows(page) == everything
    head = page.locator("#tasks th[scope=col]").filter(has_text="success")
    head.get_by_role("button").click()
    assert head.get_attribute("aria-sort") == "ascending"
    rates = page.eval_on_selector_all("#tasks tbody td[data-sort]", "all => all.length")
    assert rates and rows(page)[0] == f"control/{SCRIPT}", "the one that was never solved comes first"
    head.get_by_role("button").click()
    assert rows(page)[-1] == f"control/{SCRIPT}"


def test_a_phone_need_not_scroll_sideways(page: Page, report: Path) -> None:
    page.set_viewport_size(PHONE)
    page.goto(report.as_uri())
    assert page.evaluate("document.documentElement.scrollWidth") == PHONE["width"]
    page.locator("details.folded summary").first.click()
    assert page.evaluate("document.documentElement.scrollWidth") == PHONE["width"]


def test_a_film_within_the_page_plays(page: Page, report: Path) -> None:
    page.goto(report.as_uri())
    played_s = page.eval_on_selector(
        "video", "video => new Promise(tell => { video.onended = () => tell(video.currentTime); video.play(); })"
    )
    assert played_s == pytest.approx(1.0, abs=0.1)


def test_on_paper_everything_is_unfolded(page: Page, report: Path) -> None:
    page.goto(report.as_uri())
    table = page.locator("details.folded table").first
    assert not table.is_visible()
    page.emulate_media(media="print")
    page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
    assert table.is_visible() and not page.locator("nav").is_visible()


def test_on_paper_no_table_is_wider_than_the_page(page: Page, tmp_path: Path) -> None:
    who = "fault:releases_early_and_often"
    runs = [run_folder(tmp_path / name, stressed(name)) for name in ("vision", who)]
    page.set_viewport_size(PAPER)
    page.goto(write_report(runs, tmp_path / "report.html").as_uri())
    page.emulate_media(media="print")
    page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
    widths = page.eval_on_selector_all("table", "all => all.map(one => one.offsetWidth)")
    assert widths and max(widths) <= PAPER["width"]
    assert not page.locator(".axis .minor").first.is_visible(), "every other tick has to do"


def test_a_table_that_scrolls_is_shaded_at_its_edge(page: Page, report: Path) -> None:
    page.set_viewport_size(PHONE)
    page.goto(report.as_uri())
    how = page.eval_on_selector(".scroll", "one => getComputedStyle(one).backgroundAttachment")
    # Two that stay, and two that move along with the table and cover them at its ends.
    assert how == "local, local, scroll, scroll"


def test_without_scripts_everything_is_there(browser: Browser, report: Path) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(report.as_uri())
    assert page.locator("#tasks tbody tr").count() > 5 and page.locator("#findings").is_visible()
    context.close()
