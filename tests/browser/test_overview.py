"""The viewer's overview in a browser, the report and downloads beside it, on a phone and on a desk, light and dark."""

from __future__ import annotations

import io
from collections.abc import Iterator
from pathlib import Path
from typing import Literal, NamedTuple

import numpy as np
import polars as pl
import pytest
from playwright.sync_api import Browser, Page, expect

from robodx.report.page import write_report
from robodx.report.viewer.finding import find_runs
from robodx.video.mp4 import write_mp4
from tests.browsing import SEEN_CONTRASTS, VIEWER_MARKS, Watch
from tests.viewing import HZ, LATENCY, episode, viewer, write_run, write_trajectory

expect.set_options(timeout=15_000)
STEPS = 60
SIZES = {390: 844, 768: 1024, 1280: 800}
TOUCHED = "button, select, summary, a[href], label:has(input), input[type=search], input[type=range], .row"
# What sticks out of the page, and what is too small for a thumb.
BEYOND = """(all, width) => all.filter((one) => !one.ownerSVGElement && one.checkVisibility())
  .filter((one) => one.getBoundingClientRect().right > width + 1).map((one) => `${one.tagName}.${one.className}`)"""
SMALL = """all => all.filter((one) => one.checkVisibility()).map((one) => [one, one.getBoundingClientRect()])
  .filter(([one, box]) => box.width && (box.height < 39.5 || box.width < 39.5))
  .map(([one, box]) => `${one.tagName}#${one.id}.${one.className} ${box.width.toFixed()}×${box.height.toFixed()}`)"""
HOSTILE = "<img src=x onerror=\"document.title='harmed'\">" + "y" * 300


class Viewed(NamedTuple):
    address: str
    root: Path
    # Id of the run `three`.
    run: str
    # Trial ids: one with a film and a stressed partner, and that partner.
    filmed: str
    partner: str


@pytest.fixture(scope="module")
def viewed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Viewed]:
    """Run `three`: three tasks of two families with 6 seeds each, one of them also stressed, a film and a report.
    Run `other`: another policy in one of them. A third run with names that mean harm."""
    root = tmp_path_factory.mktemp("runs")
    rows = []
    for at, (family, tier, solved) in enumerate(
        (("control", "easy", 6), ("control", "hard", 1), ("language", "hard", 3))
    ):
        for seed in range(6):
            said = {"family": family, "tier": tier, "seed": seed, "pair_id": f"{at}-{seed}", "success": seed < solved}
            kind = {} if seed < solved else {"failure_kind": ("motor", "reference", "timeout")[seed % 3]}
            rows.append(episode(100 * at + seed, task=f"{family}/task_{at}", duration_s=1.0 + at, **said, **kind))
    stressed = episode(
        305, task="control/task_1", family="control", tier="hard", seed=5, pair_id="1-5", perturbations=[LATENCY]
    )
    rows.append(
        episode(306, task="control/task_1", family="control", tier="hard", seed=9, outcome="error", error="Boom")
    )
    three = write_run(root / "three", [*rows, stressed])
    filmed = rows[11]
    for row in (filmed, stressed):
        write_trajectory(three, row["trial_id"], STEPS)
    film = three / "videos" / f"control.task_1-seed5-failure-{filmed['trial_id'][:6]}.mp4"
    film.parent.mkdir()
    write_mp4(film, (np.full((32, 64, 3), 2 * step, dtype=np.uint8) for step in range(STEPS + 1)), HZ)
    write_report([three], three / "report.html", videos="link")
    rival = episode(500, task="control/task_1", family="control", policy="rival", seed=1, tier=None)
    write_run(root / "other", [rival])
    harmful = episode(600, task=HOSTILE, policy=HOSTILE, family=HOSTILE, tier=HOSTILE, failure_kind=HOSTILE)
    write_run(root / HOSTILE.replace("/", "|")[:200], [harmful])
    run = next(one.id for one in find_runs(root.resolve()) if one.name == "three")
    with viewer(root) as address:
        yield Viewed(address, root, run, filmed["trial_id"], stressed["trial_id"])


def open_tasks(page: Page, viewed: Viewed, words: str = "run=three") -> None:
    page.goto(f"{viewed.address}/#{words}&view=tasks")
    expect(page.locator(".task-row").first).to_be_visible()


def rows_of(page: Page) -> list[str]:
    return [
        (name or "").partition(":")[0]
        for name in page.locator(".task-name").evaluate_all("all => all.map((one) => one.title)")
    ]


def test_tasks_sort_group_filter_and_open_their_seeds(page: Page, viewed: Viewed) -> None:
    page.goto(f"{viewed.address}/#run=three")
    page.get_by_role("button", name="Tasks").click()
    expect(page.locator(".task-row")).to_have_count(4)
    assert rows_of(page) == ["control/task_0", "control/task_1", "control/task_1", "language/task_2"]
    third = page.locator(".task-row").nth(3)
    expect(third.locator(".rate")).to_have_text("50% [19, 81], n = 6")
    expect(third.locator(".task-time")).to_have_text("3.0 s")
    expect(third.locator(".task-failures")).to_contain_text("motor 1")
    expect(third.locator(".shares i")).to_have_count(4)
    expect(page.locator(".task-row").nth(1).locator(".rate")).to_have_text("too many errors, n = 6")
    page.get_by_role("columnheader").get_by_role("button", name="success").click()
    expect(page.locator(".task-row").first).to_contain_text("control/task_0")
    expect(page.get_by_role("columnheader").nth(1)).to_have_attribute("aria-sort", "descending")
    expect(page.get_by_role("columnheader").nth(1)).to_have_text("success ↓")
    expect(page.locator("#falls")).to_have_text("↓")
    expect(page.locator(".task-row").first.locator(".task-failures")).to_have_text("all solved")
    page.locator("#by").select_option("family")
    expect(page.locator(".task-row", has_text="2 tasks")).to_have_count(1)
    page.go_back()
    expect(page.locator(".task-row")).to_have_count(4)
    # A mark opens its episode beside the rows; the address has it all.
    page.get_by_role("button", name="seed 5, failure, timeout").first.click()
    expect(page.locator(".episode")).to_contain_text("seed 5")
    expect(page.locator(".seed-mark[aria-current]")).to_have_count(1)
    link = page.url
    page.keyboard.press("Escape")
    expect(page.locator("#stage")).to_be_hidden()
    page.goto("about:blank")
    page.goto(link)
    expect(page.locator(".episode")).to_have_count(1)
    expect(page.locator(".task-row")).to_have_count(4)
    page.keyboard.press("Escape")
    # A name lists its episodes.
    page.get_by_role("button", name="language/task_2").click()
    expect(page.locator("#count")).to_contain_text("6 of 20")
    expect(page.locator("#list")).to_be_visible()
    page.go_back()
    expect(page.locator("#overview")).to_be_visible()


def test_episodes_of_tasks_without_a_tier_are_counted(page: Page, viewed: Viewed) -> None:
    page.goto(f"{viewed.address}/#run=other&view=tasks&by=tier")
    expect(page.locator("#overview")).to_contain_text("1 episode is of a task without a tier.")
    expect(page.locator("#overview")).not_to_contain_text("Nothing matches.")


@pytest.mark.thorough
def test_tasks_are_reached_by_keys(page: Page, viewed: Viewed) -> None:
    page.goto(f"{viewed.address}/#run=three")
    expect(page.locator("#count")).to_contain_text("20 episodes")
    page.keyboard.press("t")
    expect(page.locator(".task-row")).to_have_count(4)
    for key in ("j", "ArrowDown", "j", "k"):
        page.keyboard.press(key)
    expect(page.locator(".task-name").nth(1)).to_be_focused()
    for key in ("ArrowRight", "ArrowRight"):
        page.keyboard.press(key)
    expect(page.locator(".task-row").nth(1).locator(".seed-mark").nth(1)).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator(".episode")).to_contain_text("seed 1")
    page.keyboard.press("Escape")
    expect(page.locator(".episode")).to_have_count(0)
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("k")
    expect(page.locator(".task-name").first).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator("#count")).to_contain_text("6 of 20")
    page.keyboard.press("t")
    expect(page.locator(".task-row")).to_have_count(1)


@pytest.mark.thorough
def test_tasks_of_all_runs_of_hostile_names_and_of_a_run_that_goes_on(page: Page, viewed: Viewed) -> None:
    open_tasks(page, viewed, "run=")
    expect(page.locator(".task-row")).to_have_count(6)
    expect(page.locator(".task-row", has_text="rival")).to_contain_text("in other")
    page.locator("#by").select_option("tier")
    expect(page.locator(".task-row", has_text="onerror").first).to_be_visible()
    assert page.title() == "RoboDx viewer" and page.locator("img").count() == 0
    page.goto("about:blank")
    page.goto(f"{viewed.address}/#run=going&view=tasks")
    expect(page.locator(".task-row")).to_have_count(1)
    going = write_run(viewed.root / "going", [episode(700, task="a/b")], part="part-00001")
    # The address may be asked for before the run is found.
    expect(page.locator(".task-name")).to_have_text("a/b")
    page.locator(".task-name").focus()
    write_run(going, [episode(701, task="a/b", success=True)], part="part-00002")
    expect(page.locator(".rate")).to_contain_text("n = 2", timeout=20_000)
    expect(page.locator(".task-name")).to_be_focused()


def test_a_trial_alone_finds_its_episode_and_the_report_leads_there_and_back(page: Page, viewed: Viewed) -> None:
    page.goto(f"{viewed.address}/#trial={viewed.filmed}")
    expect(page.locator(".episode")).to_contain_text("control/task_1")
    assert "trial=" not in page.url and f".{viewed.filmed}" in page.url
    page.get_by_role("link", name="Report").click()
    expect(page.locator("h1")).to_have_text("guess")
    assert "/report/" in page.url
    # Its script runs (it sorts), and its film plays though it is linked.
    expect(page.locator("p.filter").first).to_be_attached()
    film = page.locator("video").first
    film.evaluate("film => { film.preload = 'auto'; film.load(); }")
    for _ in range(100):
        if film.evaluate("film => film.readyState >= 1 && film.duration > 1"):
            break
        page.wait_for_timeout(50)
    else:
        pytest.fail("the film of the report does not play")
    page.goto(f"{viewed.address}/#run=other&trial=nosuch")
    expect(page.locator(".problem")).to_have_text("No run here has the episode nosuch.")
    expect(page.locator("#reviews")).to_contain_text("robodx report")


@pytest.mark.thorough
def test_a_report_of_somebody_else_runs_no_script_of_theirs(page: Page, viewed: Viewed, watch: Watch) -> None:
    watch.may_err = True
    run = write_run(viewed.root / "foreign", [episode(800)])
    script = "document.title = 'harmed'"
    (run / "report.html").write_text(
        f'<!doctype html><h1>Hello</h1><script>{script}</script><img src=x onerror="{script}">'
    )
    page.goto(f"{viewed.address}/#run=foreign")
    page.get_by_role("link", name="Report").click()
    expect(page.locator("h1")).to_have_text("Hello")
    assert page.title() != "harmed" and any("Content Security Policy" in text for text in watch.errors)


@pytest.mark.thorough
def test_the_filtered_list_is_downloaded(page: Page, viewed: Viewed) -> None:
    page.goto(f"{viewed.address}/#run=three&task=language/task_2&outcome=failure&outcome=timeout")
    expect(page.locator("#count")).to_contain_text("of 20")
    for kind in ("CSV", "Parquet"):
        with page.expect_download() as begun:
            page.get_by_role("link", name=kind, exact=True).click()
        assert begun.value.suggested_filename == f"episodes.{kind.lower()}"
        content = io.BytesIO(begun.value.path().read_bytes())
        table = pl.read_csv(content) if kind == "CSV" else pl.read_parquet(content)
        assert table["task"].unique().to_list() == ["language/task_2"] and table["seed"].to_list() == [3, 5]


# Widths and colours

Scheme = Literal["light", "dark"]
PAGES = {
    "list": "run=three", "overview": "run=three&view=tasks", "families": "run=&view=tasks&by=family",
    "episode": "trial={filmed}", "comparison": "run=three&open={run}.{filmed}&with={run}.{partner}",
    "stressed": "trial={partner}", "nothing": "run=three&text=nosuch",
}  # fmt: skip


def go(page: Page, viewed: Viewed, name: str) -> None:
    words = PAGES[name].format(run=viewed.run, filmed=viewed.filmed, partner=viewed.partner)
    page.goto("about:blank")
    page.goto(f"{viewed.address}/#{words}")
    shown = {"list": ".row", "overview": ".task-row", "families": ".task-row", "nothing": "#count"}.get(name, ".tracks")
    expect(page.locator(shown).first).to_be_visible()
    if name == "comparison":
        expect(page.locator(".episode-head")).to_have_count(2)


@pytest.mark.thorough
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_all_that_is_seen_has_enough_contrast(browser: Browser, viewed: Viewed, scheme: Scheme) -> None:
    seen = set[str]()
    for width, height in SIZES.items():
        context = browser.new_context(viewport={"width": width, "height": height}, color_scheme=scheme)
        page = context.new_page()
        for name in PAGES:
            go(page, viewed, name)
            for fold in page.locator("details:not([open]) > summary").all():
                if fold.is_visible():
                    fold.click()
            found = page.evaluate(SEEN_CONTRASTS, VIEWER_MARKS)
            assert len(found) > 20, f"{name} at {width} px shows nothing"
            seen |= {what.split(":")[0] for what, _, _ in found}
            faint = sorted({f"{what}: {ratio:.2f}" for what, ratio, needed in found if ratio < needed})
            assert not faint, f"{name} at {width} px, {scheme}: " + "\n".join(faint)
        context.close()
    for what in (
        ".mark borderTopColor",
        ".shares i backgroundColor",
        ".curve stroke",
        ".whisker-point backgroundColor",
        "placeholder",
    ):
        assert what in seen, f"nothing of {what} was looked at"


@pytest.mark.thorough
@pytest.mark.parametrize("width", [390, 768])
def test_pages_fit_and_can_be_touched(browser: Browser, viewed: Viewed, width: int) -> None:
    context = browser.new_context(viewport={"width": width, "height": SIZES[width]}, has_touch=True)
    page = context.new_page()
    for name in PAGES:
        go(page, viewed, name)
        for fold in page.locator("details:not([open]) > summary").all():
            if fold.is_visible():
                fold.click()
        assert page.evaluate("document.documentElement.scrollWidth") <= width, name
        assert page.locator("main *").evaluate_all(BEYOND, width) == [], f"{name}: off the page"
        assert page.locator(f"main :is({TOUCHED}), .top :is({TOUCHED})").evaluate_all(SMALL) == [], name
    context.close()


@pytest.mark.thorough
def test_on_a_phone_an_episode_opens_over_the_list(browser: Browser, viewed: Viewed) -> None:
    context = browser.new_context(viewport={"width": 390, "height": 844}, has_touch=True)
    page = context.new_page()
    page.goto(f"{viewed.address}/#run=three")
    # Filters are folded, and fold again.
    expect(page.get_by_role("checkbox").first).to_be_hidden()
    page.locator("#side-box > summary").tap()
    page.locator("label", has_text="control/task_1").tap()
    page.locator("#side-box > summary").tap()
    expect(page.locator("#count")).to_contain_text("8 of 20")
    page.locator(".row", has_text="s5").first.tap()
    expect(page.locator(".tracks")).to_be_visible()
    expect(page.locator("#list-box")).to_be_hidden()
    # The controls are at hand wherever one is.
    for top in (0, 10_000):
        page.locator("#stage").evaluate("(node, top) => { node.scrollTop = top; }", top)
        for name in ("#back", "#play", "#slider", "#speed", "#partner"):
            box = page.locator(name).bounding_box()
            assert box is not None and box["y"] >= 0 and box["y"] + box["height"] <= 844, (name, top)
    page.locator("#play").tap()
    expect(page.locator("#play")).to_have_attribute("aria-label", "Pause")
    page.locator("#partner").select_option(index=1)
    expect(page.locator(".episode")).to_have_count(2)
    # Both are seen at once: part by part below each other.
    screens = [box for one in page.locator(".screen").all() if (box := one.bounding_box()) is not None]
    assert screens[1]["y"] - screens[0]["y"] - screens[0]["height"] < 40
    page.get_by_role("button", name="One episode").tap()
    expect(page.locator(".episode")).to_have_count(1)
    page.get_by_role("button", name="Episodes").tap()
    expect(page.locator("#list-box")).to_be_visible()
    expect(page.locator("#stage")).to_be_hidden()
    page.get_by_role("button", name="Tasks").tap()
    page.locator(".seed-mark").nth(1).tap()
    expect(page.locator(".episode")).to_have_count(1)
    page.go_back()
    expect(page.locator(".task-row").first).to_be_visible()
    context.close()
