"""The report in a browser: it opens from a file, asks for nothing, and can be sorted, filtered, played and printed."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import numpy as np
import polars as pl
import pytest
from playwright.sync_api import Browser, Page, ViewportSize, expect

from robodx.analysis.statistics.estimates import wilson
from robodx.report.page import write_report
from robodx.video.mp4 import write_mp4
from tests import viewing
from tests.browsing import Watch
from tests.contrasts import poorly_seen
from tests.reporting import ABOUT, capability, episode, run_folder, stressed

DESKTOP = ViewportSize(width=1280, height=800)
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
    page.goto(f"{report.as_uri()}#tasks")
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
    assert not page.locator("#tasks table").is_visible()
    page.emulate_media(media="print")
    assert page.locator("#tasks table").is_visible()
    context.close()


def top_of(page: Page, selector: str) -> float:
    return float(page.eval_on_selector(selector, "one => one.getBoundingClientRect().top"))


def here(page: Page) -> str:
    """The section that the contents mark."""
    page.wait_for_function("document.querySelector('nav a[aria-current]') !== null")
    page.evaluate("new Promise(requestAnimationFrame).then(() => new Promise(requestAnimationFrame))")
    return page.locator("nav a[aria-current]").inner_text()


@pytest.fixture
def steady(page: Page) -> Page:
    """Scrolls at once."""
    page.emulate_media(reduced_motion="reduce")
    return page


@pytest.mark.parametrize("size", [DESKTOP, pytest.param(PHONE, marks=pytest.mark.thorough)], ids=["desktop", "phone"])
def test_the_contents_stay_in_view_and_tell_where_one_is(steady: Page, report: Path, size: ViewportSize) -> None:
    steady.set_viewport_size(size)
    steady.goto(report.as_uri())
    assert here(steady) == "At a glance"
    steady.locator("nav a", has_text="When it breaks").click()
    assert here(steady) == "When it breaks"
    bar = steady.locator("nav").bounding_box()
    assert bar is not None and -1 <= bar["y"] < 40, "still in view"
    lands = top_of(steady, "#stress h2")
    assert (bar["y"] + bar["height"] if size == PHONE else 0) <= lands < 200, "below the bar, and at the top"
    link = steady.locator("nav a[aria-current]").bounding_box()
    assert link is not None and 0 <= link["x"] <= size["width"] - link["width"]
    steady.evaluate("scrollTo(0, document.documentElement.scrollHeight)")
    assert here(steady) == "Methods and versions"


def test_a_link_unfolds_what_it_leads_to(steady: Page, report: Path) -> None:
    steady.goto(f"{report.as_uri()}#tasks")
    assert steady.locator("#tasks table").is_visible() and top_of(steady, "#tasks") < 200, "when it is loaded"
    assert not steady.locator("#methods table").first.is_visible()
    steady.locator("nav a", has_text="Methods").click()
    expect(steady.locator("#methods table").first, "by a click").to_be_visible()
    steady.locator("#methods summary").first.click()
    steady.locator("nav a", has_text="Methods").click()
    expect(steady.locator("#methods table").first, "by the same click once more").to_be_visible()
    folded = steady.locator("#gallery .episode").nth(5)
    anchor = folded.get_attribute("id")
    assert not folded.is_visible()
    steady.evaluate("anchor => { location.hash = anchor; }", anchor)
    folded.wait_for(state="visible")
    assert -50 < top_of(steady, f"#{anchor}") < 400
    steady.get_by_role("link", name="See the finding.").first.click()
    number = steady.evaluate("location.hash")
    assert number.startswith("#finding-1-") and -50 < top_of(steady, number) < 300


def test_a_page_is_short_and_on_paper_whole(page: Page, report: Path) -> None:
    page.goto(report.as_uri())
    page.wait_for_load_state("load")
    assert page.evaluate("document.documentElement.scrollHeight") < 6000
    closed = page.locator("details:not([open])").count()
    assert closed > 5
    page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
    assert page.locator("details:not([open])").count() == 0
    page.evaluate("window.dispatchEvent(new Event('afterprint'))")
    assert page.locator("details:not([open])").count() == closed


def test_the_first_screen_shows_the_failure_and_plays_all_of_it(page: Page, browser: Browser, report: Path) -> None:
    page.goto(report.as_uri())
    film = page.locator(".picture video")
    film.wait_for()
    page.wait_for_function("document.querySelector('.picture video').readyState >= 1")
    # At step 20 of 30 of 1.5 s.
    assert film.evaluate("one => one.currentTime") == pytest.approx(1.0, abs=0.1)
    assert film.evaluate("one => one.play().then(() => one.currentTime)") < 0.5, "from its beginning"
    first = report.read_text().partition('id="glance"')[2].partition("</section>")[0]
    assert "<figure" in first and "data:video" not in first, "it is in the page once"
    context = browser.new_context(java_script_enabled=False, viewport=page.viewport_size)
    bare = context.new_page()
    bare.goto(report.as_uri())
    assert bare.locator(".picture").bounding_box() == page.locator(".picture").bounding_box(), "nothing jumps"
    bare.locator(".picture a", has_text="film of episode").click()
    assert "#episode-" in bare.url
    context.close()


def test_every_card_plays_or_leads_to_the_viewer(page: Page, report: Path) -> None:
    page.goto(report.as_uri())
    cards = page.locator("article.episode")
    assert cards.count() > 3
    for at in range(cards.count()):
        watch = cards.nth(at).locator("a.watch")
        address = watch.get_attribute("href") or ""
        assert address.startswith("http://127.0.0.1:7860/#run=") and "&trial=" in address
        assert f"robodx view {report.parent}" in (watch.get_attribute("title") or "")
        is_filmed = cards.nth(at).locator("video").count() == 1
        assert is_filmed != ("Play it in the viewer" in (watch.text_content() or ""))


def test_a_link_to_the_viewer_says_what_must_be_running_when_it_is_followed(page: Page, report: Path) -> None:
    page.goto(report.as_uri())
    link = page.locator("header a.watch").first
    # Nothing is asked for.
    link.evaluate("link => { link.addEventListener('click', (event) => event.preventDefault()); }")
    assert page.locator(".needs").count() == 0
    link.click()
    link.click()
    expect(page.locator("header .needs")).to_have_text(
        f"Needs robodx view {report.parent} to be running, at 127.0.0.1:7860."
    )


def test_served_by_the_viewer_a_card_opens_its_episode_there(page: Page, tmp_path: Path) -> None:
    run = viewing.write_run(tmp_path / "my run", [viewing.episode(number) for number in range(4)])
    write_report([run], run / "report.html")
    with viewing.viewer(tmp_path) as address:
        page.goto(address)
        id = page.locator("#runs .run").first.get_attribute("data-run")
        page.goto(f"{address}/report/{id}")
        assert "/report/" in page.url and page.title() == "guess · RoboDx"
        assert page.locator(".outside-viewer:visible").count() == 0 and page.locator(".needs").count() == 0
        page.locator("nav a", has_text="Episodes to look at").click()
        page.locator("#gallery a.watch", has_text="Play it in the viewer").first.click()
        page.wait_for_url(f"{address}/#run={id}&**")
        page.locator("#episodes", has_text="the robot dropped red cube").wait_for()


def test_a_table_is_saved_as_csv_with_its_numbers_and_no_formula(page: Page, report: Path, tmp_path: Path) -> None:
    page.goto(f"{report.as_uri()}#tasks")
    with page.expect_download() as download:
        page.locator("#tasks button.csv").click()
    download.value.save_as(tmp_path / "tasks.csv")
    assert download.value.suggested_filename.startswith("robodx-tasks-")
    table = pl.read_csv(tmp_path / "tasks.csv")
    assert table.height == page.locator("#tasks tbody tr").count()
    assert f"control/{SCRIPT}" in table["task"].to_list() and LONG in table["task"].to_list()
    row = table.row(by_predicate=pl.col("task") == "language/hard", named=True)
    ends = wilson(2, 4)
    assert (row["success"], row["success low"], row["success high"]) == (0.5, ends.low, ends.high)
    assert row["n"] == 4 and "plotted" not in table.columns and "success (number)" not in table.columns
    formulas = (
        "=1+1", "@x", "-cmd", "+1+HYPERLINK(1)", "-.5+A1", "-1+cmd|' /C calc'!A0", "-1 [2; 3]", "+1 [2+A1]", "-1 [A1]",
        "\t=1", "＝1", "＋1", "－1", "＠x",  # noqa: RUF001
    )  # fmt: skip
    written = {text: f"'{text.strip()}" for text in formulas}
    # Numbers stay numbers.
    written |= {text: text for text in ("-12", "+.5", "-1.2e-05", "-3%", "a", "−12")}
    written |= {"+12 [+3, +4]": '"+12 [+3, +4]"', "-1% [-2, 3]": '"-1% [-2, 3]"', "-1 [2, A1]": '"\'-1 [2, A1]"'}
    written |= {'a"b': '"a""b"', "-1,A1": '"\'-1,A1"'}
    assert {text: page.evaluate("text => field(text)", text) for text in written} == written


@pytest.mark.thorough
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_all_text_has_contrast(
    browser: Browser, report: Path, tmp_path: Path, scheme: Literal["light", "dark"]
) -> None:
    runs = [run_folder(tmp_path / name, stressed(name) + capability(name)) for name in ("vision", "other")]
    compared = write_report(runs, tmp_path / "report.html")
    context = browser.new_context(color_scheme=scheme, viewport={"width": 1280, "height": 900})
    page = context.new_page()
    for each in (report, compared):
        page.goto(each.as_uri())
        assert poorly_seen(page) == {}
    page.evaluate(
        "poor => { document.querySelector('h1').style.color = poor; }", {"light": "#999", "dark": "#555"}[scheme]
    )
    assert len(poorly_seen(page)) == 1, "what is poor is seen to be"
    context.close()


@pytest.mark.thorough
def test_pages_of_many_stressors_and_policies_are_short_too(page: Page, tmp_path: Path) -> None:
    names = [f"stressor_{at}" for at in range(21)]
    about = {**ABOUT, "perturbations": {name: ABOUT["perturbations"]["noise"] for name in names}}
    rows = [
        {
            **row,
            "perturbations": [{**one, "name": name} for one in row["perturbations"]],
            "trial_id": f"{row['trial_id']}-{name}",
        }
        for name in names
        for row in stressed()
    ]
    many = write_report([run_folder(tmp_path / "many", rows, about)], tmp_path / "many.html")
    five = [run_folder(tmp_path / name, stressed(name) + capability(name, seeds=10)) for name in "abcde"]
    for each in (many, write_report(five[:2], tmp_path / "two.html"), write_report(five, tmp_path / "five.html")):
        page.goto(each.as_uri())
        assert page.evaluate("document.documentElement.scrollHeight") < 6000, each.name
        assert page.evaluate("document.documentElement.scrollWidth") <= 1280
