"""A contact sheet in a browser: pictures judged by keyboard and by hand, and no label that is lost."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from playwright.sync_api import Browser, Page, expect

from robodx.records.annotations import Unannotated, annotations_path
from robodx.report.viewer import reviewing
from tests.browser.test_review import SCRIPT
from tests.browsing import CONTRASTS, Watch
from tests.sheets import sheet_folder
from tests.viewing import viewer

expect.set_options(timeout=15_000)


class Sheets(NamedTuple):
    address: str
    root: Path

    def stored(self, folder: str) -> list[tuple[str, str, str]]:
        path = annotations_path(self.root / folder, "fairness")
        lines: list[Any] = [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
        return [(line["annotator"], line["item"], line["label"]) for line in lines]


@pytest.fixture(scope="module")
def sheets(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sheets]:
    root = tmp_path_factory.mktemp("sets")
    for name in ("first", "second", "third"):
        sheet_folder(root / name)
    sheet_folder(root / "hostile", 2, says=SCRIPT)
    with viewer(root) as address:
        yield Sheets(address, root)


def begin(page: Page, sheets: Sheets, folder: str, annotator: str) -> None:
    runs = page.request.get(f"{sheets.address}/api/runs").json()["runs"]
    (line,) = (one for one in runs if one["name"] == folder)
    page.goto(f"{sheets.address}/sheet#run={line['id']}&review=fairness")
    page.locator("#who-name").fill(annotator)
    page.keyboard.press("Enter")
    expect(page.locator(".card").first).to_be_visible()


def test_pictures_are_judged_by_keyboard(page: Page, sheets: Sheets) -> None:
    page.goto(sheets.address)
    page.locator("#runs .run", has_text="first").click()
    expect(page.locator("#problems")).to_be_hidden()
    page.get_by_role("link", name="Judge pictures (0 of 8 done)").click()
    page.locator("#who-name").fill("ann")
    page.keyboard.press("Enter")
    expect(page.locator("#count")).to_have_text("0 of 8 done")
    loaded = "images => images.length === 7 && images.every((one) => one.complete && one.naturalWidth === 32)"
    page.wait_for_function(f"() => ({loaded})([...document.querySelectorAll('.card img')])")
    expect(page.locator(".card").nth(7)).to_contain_text("The picture is not there.")
    for key in ("1", "2", "ArrowRight", "3"):
        page.keyboard.press(key)
    expect(page.locator("#count")).to_have_text("3 of 8 done")
    expect(page.locator(".card.at")).to_contain_text("5 · colour")
    for _ in range(4):
        page.keyboard.press("1")
    # After the last comes the one that was left out.
    page.keyboard.press("n")
    expect(page.locator(".card.at")).to_contain_text("3 · colour")
    page.keyboard.press("2")
    expect(page.locator("#saved")).to_have_text("Saved. All 8 are labelled: thank you.")
    said = ["accept", "reject", "cannot tell", "accept", "accept", "accept", "accept", "reject"]
    assert [label for _, _, label in sheets.stored("first")] == said
    # Another word on the same picture, in the row above.
    page.locator(".card").nth(6).click()
    page.keyboard.press("ArrowUp")
    expect(page.locator(".card.at")).to_contain_text("2 · camera")
    page.keyboard.press("3")
    second = page.locator(".card").nth(1)
    expect(second.get_by_role("button", name="cannot tell")).to_have_attribute("aria-pressed", "true")
    expect(page.locator(".card.unsaved")).to_have_count(0)
    page.reload()
    expect(page.locator("#count")).to_have_text("8 of 8 done")
    page.locator("#which").select_option("reject")
    expect(page.locator("#shown")).to_have_text("1 of 8")
    page.locator("#fact").select_option("camera")
    expect(page.locator("#none")).to_be_visible()
    page.locator("#which").select_option("accept")
    expect(page.locator(".card")).to_have_count(2)


@pytest.mark.thorough
def test_one_can_be_looked_at_by_itself_and_given_a_text(page: Page, sheets: Sheets) -> None:
    begin(page, sheets, "second", "bob")
    page.locator(".card").nth(1).get_by_role("button", name="reject").click()
    expect(page.locator("#count")).to_have_text("1 of 8 done")
    page.keyboard.press("Enter")
    expect(page.locator("#count")).to_have_text("1 of 8 done · item 2")
    expect(page.locator(".film img")).to_be_visible()
    expect(page.locator("#transport")).to_be_hidden()
    expect(page.get_by_role("radio", name="reject")).to_be_checked()
    page.locator("#text").fill("it is dark")
    page.keyboard.press("Control+Enter")
    expect(page.locator("#saved")).to_have_text("Saved.")
    page.get_by_role("link", name="All at once").click()
    page.locator(".card").nth(1).get_by_role("button", name="accept").click()
    expect(page.locator(".card.unsaved")).to_have_count(0)
    # The text stays with it.
    last = annotations_path(sheets.root / "second", "fairness").read_text().splitlines()[-1]
    assert (json.loads(last)["label"], json.loads(last)["text"]) == ("accept", "it is dark")


@pytest.mark.thorough
def test_labels_that_could_not_be_saved_are_kept_and_saved_later(
    page: Page, watch: Watch, sheets: Sheets, monkeypatch: pytest.MonkeyPatch
) -> None:
    watch.may_err = True

    def full(*_: object) -> None:
        raise Unannotated("No space left on device")

    begin(page, sheets, "third", "cat")
    with monkeypatch.context() as patched:
        patched.setattr(reviewing, "append_annotation", full)
        page.keyboard.press("1")
        page.keyboard.press("2")
        expect(page.locator("#saved")).to_have_text("Not saved: No space left on device 2 labels are kept here.")
        expect(page.locator(".card.unsaved")).to_have_count(2)
        expect(page.locator("#count")).to_have_text("0 of 8 done")
        page.reload()
        expect(page.locator("#saved")).to_contain_text("Not saved")
    page.get_by_role("button", name="Save again").click()
    expect(page.locator("#count")).to_have_text("2 of 8 done")
    expect(page.locator("#again")).to_be_hidden()
    assert sheets.stored("third") == [("cat", "i0", "accept"), ("cat", "i1", "reject")]


@pytest.mark.thorough
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_can_be_read_and_worked_on_a_phone_whatever_is_written(
    browser: Browser, sheets: Sheets, scheme: Any
) -> None:
    context = browser.new_context(viewport={"width": 390, "height": 844}, color_scheme=scheme)
    page = context.new_page()
    begin(page, sheets, "hostile", "dan")
    page.locator(".card").first.get_by_role("button", name="cannot tell").click()
    expect(page.locator("#count")).to_have_text("1 of 2 done")
    for width in (390, 1280):
        page.set_viewport_size({"width": width, "height": 844})
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        contrasts = page.locator("header *, #asking *, .card .words *, .choices button").evaluate_all(CONTRASTS)
        assert len(contrasts) > 12 and [one for one in contrasts if one[1] < 4.5] == []
    assert "harmed" not in page.title()
    page.keyboard.press("?")
    expect(page.locator("#help")).to_contain_text("cannot be told from what is around it")
    context.close()
