"""A review in a browser: two people who label by keyboard, films that play in step, and nothing typed that is lost."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from playwright.sync_api import Browser, Page, Route, expect

from robodx.analysis.reviews.failures import failure_review
from robodx.analysis.reviews.outcome import outcome
from robodx.analysis.reviews.pairs import judged_pairs
from robodx.records.annotations import Unannotated, annotations_path, read_annotations
from robodx.records.review import Film, Item, Review, read_review, write_review
from robodx.records.table import load
from robodx.report.viewer import reviewing
from robodx.streams import Streams
from tests.browsing import CONTRASTS, Watch
from tests.reviewing import pair, paired_run, write_film
from tests.viewing import viewer

expect.set_options(timeout=15_000)
SCRIPT = "<img src=x onerror=\"document.title='harmed'\">\u202e" + "y" * 600
# Of a label its frame is marked.
OUTLINE = """() => {
  const node = document.activeElement.closest(".label") || document.activeElement;
  return [node.id || node.className, getComputedStyle(node).outlineStyle, getComputedStyle(node).outlineWidth];
}"""


class Reviewed(NamedTuple):
    address: str
    root: Path

    def link(self, page: Page, run: str) -> str:
        (line,) = (one for one in page.request.get(f"{self.address}/api/runs").json()["runs"] if one["name"] == run)
        return f"{self.address}/review#run={line['id']}&review=failures"


@pytest.fixture(scope="module")
def reviewed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Reviewed]:
    """`first`, `second` and `bare` have a review, the last without films, `hostile` one of odd names."""
    root = tmp_path_factory.mktemp("runs")
    for name, films in (("first", 4), ("second", 4), ("bare", 0)):
        run = paired_run(root / name, [pair(n) for n in range(4)], films=films)
        rng = Streams(0).rng("test")
        write_review(run, failure_review(judged_pairs(run, "medium"), load(run), rng, level="medium"))
    paired_run(root / "not prepared", [pair(1)])
    run = paired_run(root / "hostile", [pair(1)])
    labels = read_review(root / "first", "failures").labels
    item = Item(SCRIPT, (Film(SCRIPT, "gone", SCRIPT),), ((SCRIPT, SCRIPT),))
    write_review(run, Review("failures", SCRIPT, SCRIPT, labels, (item,)))
    with viewer(root) as address:
        yield Reviewed(address, root)


def begin(page: Page, reviewed: Reviewed, run: str, annotator: str) -> None:
    page.goto(reviewed.link(page, run))
    page.locator("#who-name").fill(annotator)
    page.keyboard.press("Enter")
    expect(page.locator("#count")).to_contain_text("of")
    expect(page.locator("#form")).to_be_visible()


def wait_until(page: Page, holds: Callable[[], bool]) -> None:
    for _ in range(300):
        if holds():
            return
        page.wait_for_timeout(50)
    pytest.fail("it did not come to hold in 15 s")


def stored(reviewed: Reviewed, run: str) -> list[Any]:
    path = annotations_path(reviewed.root / run, "failures")
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def test_two_people_label_by_keyboard_and_their_kappa_comes_out(
    page: Page, browser: Browser, watch: Watch, reviewed: Reviewed
) -> None:
    page.goto(reviewed.address)
    page.locator("#runs .run", has_text="first").click()
    page.get_by_role("link", name="Review failures (0 of 4 done)").click()
    page.locator("#who-name").fill("ann")
    page.keyboard.press("Enter")
    expect(page.locator("#count")).to_have_text("0 of 4 done · item 1")
    page.keyboard.press("Enter")
    expect(page.locator("#saved")).to_contain_text("Choose a label first")
    for number, key in enumerate("4449", start=1):
        expect(page.locator("#count")).to_contain_text(f"item {number}")
        page.keyboard.press(key)
        if number == 1:
            page.keyboard.press("Shift+Digit2")
            page.keyboard.press("t")
            page.keyboard.type("s and 1 are letters here")
            page.keyboard.press("Escape")
        page.keyboard.press("Enter" if number % 2 else "s")
    expect(page.locator("#saved")).to_have_text("Saved. All 4 are labelled: thank you.")
    expect(page.locator("#count")).to_contain_text("4 of 4 done")
    other = browser.new_context().new_page()
    watch.follow(other)
    begin(other, reviewed, "first", "bob")
    # Of the first annotator nothing is seen.
    expect(other.locator("#count")).to_have_text("0 of 4 done · item 1")
    assert other.locator("#labels input:checked").count() == 0 and "letters here" not in other.content()
    for number, key in enumerate("4499", start=1):
        expect(other.locator("#count")).to_contain_text(f"item {number}")
        other.keyboard.press(key)
        other.keyboard.press("Enter")
    expect(other.locator("#count")).to_contain_text("4 of 4 done")
    other.context.close()
    run = reviewed.root / "first"
    review = read_review(run, "failures")
    (two,) = outcome(review, read_annotations(run, review)).between
    # By hand: 3 of 4 alike; ann has 3 and bob 2 collisions, so that chance is (3 · 2 + 1 · 2) / 16.
    assert two.labels.kappa.value == pytest.approx((3 / 4 - 1 / 2) / (1 - 1 / 2))
    first = stored(reviewed, "first")[0]
    assert (first["label"], first["further"], first["text"]) == (
        "collision", ["grasp stability"], "s and 1 are letters here",
    )  # fmt: skip
    page.locator("#back").click()
    expect(page.get_by_role("link", name="Review failures (4 of 4 done)")).to_be_visible()


def test_both_films_play_in_step(page: Page, reviewed: Reviewed) -> None:
    begin(page, reviewed, "second", "cat")
    expect(page.locator("#films video")).to_have_count(2)
    ready = "films => films.every((film) => film.readyState >= 2)"
    wait_until(page, lambda: bool(page.locator("#films video").evaluate_all(ready)))
    page.locator("#speed").select_option("0.25")
    page.keyboard.press(" ")
    times = "films => films.map((film) => film.currentTime)"
    wait_until(page, lambda: min(page.locator("#films video").evaluate_all(times)) > 0.2)
    first, second = page.locator("#films video").evaluate_all(times)
    assert abs(first - second) < 0.2
    page.keyboard.press(" ")
    page.keyboard.press(".")
    wait_until(page, lambda: len({round(t, 2) for t in page.locator("#films video").evaluate_all(times)}) == 1)
    page.keyboard.press("n")
    expect(page.locator("#count")).to_contain_text("item 2")
    expect(page.locator("#time")).to_contain_text("0.00 /")
    page.keyboard.press("p")
    expect(page.locator("#count")).to_contain_text("item 1")
    page.get_by_role("button", name="Skip").click()
    expect(page.locator("#count")).to_contain_text("item 2")


def test_what_could_not_be_saved_is_kept(
    page: Page, watch: Watch, reviewed: Reviewed, monkeypatch: pytest.MonkeyPatch
) -> None:
    watch.may_err = True

    def full(*_: object) -> None:
        raise Unannotated("It could not be saved in reviews/failures.jsonl: No space left on device")

    begin(page, reviewed, "second", "dan")
    page.keyboard.press("2")
    page.locator("#text").fill("it slipped")
    with monkeypatch.context() as patched:
        patched.setattr(reviewing, "append_annotation", full)
        page.keyboard.press("Control+Enter")
        expect(page.locator("#saved")).to_contain_text("Not saved: It could not be saved")
        expect(page.locator("#saved")).to_contain_text("No space left on device")
    expect(page.locator("#text")).to_have_value("it slipped")
    expect(page.locator("#count")).to_have_text("0 of 4 done · item 1")
    # It also waits for who goes elsewhere or comes back another day.
    page.locator("#next").click()
    expect(page.locator("#text")).to_have_value("")
    page.reload()
    page.locator("#previous").click()
    expect(page.locator("#text")).to_have_value("it slipped")
    expect(page.get_by_role("radio", name="grasp stability")).to_be_checked()
    page.keyboard.press("s")
    expect(page.locator("#saved")).to_have_text("Saved.")
    assert [line["text"] for line in stored(reviewed, "second") if line["annotator"] == "dan"] == ["it slipped"]


@pytest.mark.thorough
def test_while_it_is_saved_nothing_is_typed_and_an_answer_is_of_who_asked(page: Page, reviewed: Reviewed) -> None:
    begin(page, reviewed, "second", "jon")
    held: list[Route] = []
    page.route(
        "**/api/review/**", lambda route: held.append(route) if route.request.method == "POST" else route.continue_()
    )
    page.keyboard.press("1")
    page.keyboard.press("Enter")
    wait_until(page, lambda: len(held) == 1)
    # What would be typed now belongs neither to what is being saved nor to the next.
    for key in ("5", "t", "x", "n", "Enter"):
        page.keyboard.press(key)
    expect(page.get_by_role("radio", name="grasp synthesis", include_hidden=True)).to_be_checked()
    expect(page.locator("#text")).to_have_value("")
    expect(page.locator("#count")).to_have_text("0 of 4 done · item 1")
    held.pop().continue_()
    expect(page.locator("#count")).to_have_text("1 of 4 done · item 2")
    assert page.locator("#labels input:checked").count() == 0 and page.locator("#form[inert]").count() == 0
    page.keyboard.press("2")
    page.keyboard.press("Enter")
    wait_until(page, lambda: len(held) == 1)
    page.locator("#annotator").click()
    page.locator("#who-name").fill("kim")
    page.keyboard.press("Enter")
    expect(page.locator("#annotator")).to_have_text("kim")
    held.pop().continue_()
    expect(page.locator("#form[inert]")).to_have_count(0)
    expect(page.locator("#count")).to_have_text("0 of 4 done · item 2")
    assert page.locator("#labels input:checked").count() == 0
    page.unroute("**/api/review/**")
    page.keyboard.press("3")
    page.keyboard.press("Enter")
    expect(page.locator("#count")).to_contain_text("1 of 4 done")
    page.locator("#annotator").click()
    page.locator("#who-name").fill("jon")
    page.keyboard.press("Enter")
    expect(page.locator("#count")).to_contain_text("2 of 4 done")
    said = [
        (one["annotator"], one["label"]) for one in stored(reviewed, "second") if one["annotator"] in ("jon", "kim")
    ]
    assert said == [("jon", "grasp synthesis"), ("jon", "grasp stability"), ("kim", "placement and release")]


@pytest.mark.thorough
def test_a_viewer_that_was_started_again_is_written_to_all_the_same(
    page: Page, watch: Watch, reviewed: Reviewed
) -> None:
    watch.may_err = True
    begin(page, reviewed, "second", "eve")
    wrong = [2]

    def resend(route: Route) -> None:
        """The first few times with the token of another viewer."""
        headers = dict(route.request.headers)
        if route.request.method == "POST" and wrong[0] > 0:
            wrong[0] -= 1
            headers["x-robodx-write-token"] = "of another"
        route.continue_(headers=headers)

    page.route("**/api/review/**", resend)
    page.keyboard.press("1")
    page.keyboard.press("Enter")
    expect(page.locator("#saved")).to_contain_text("robodx view was started again: reload it.")
    wrong[0] = 1
    page.keyboard.press("Enter")
    expect(page.locator("#saved")).to_have_text("Saved.")
    page.unroute("**/api/review/**")


@pytest.mark.thorough
def test_where_there_is_no_film_it_says_how_to_make_it_and_then_shows_it(page: Page, reviewed: Reviewed) -> None:
    begin(page, reviewed, "bare", "fay")
    name = reviewed.root.name
    expect(page.locator(".absent code").first).to_have_text(f"robodx review {name}/bare --prepare")
    expect(page.locator(".absent")).to_have_count(2)
    shown = {film.trial_id for film in read_review(reviewed.root / "bare", "failures").items[0].films}
    for row in load(reviewed.root / "bare").iter_rows(named=True):
        if row["trial_id"] in shown:
            write_film(reviewed.root / "bare", row, steps=3)
    expect(page.locator("#films video")).to_have_count(2)
    page.goto(reviewed.address)
    page.locator("#runs .run", has_text="not prepared").click()
    expect(page.locator("#reviews code").first).to_have_text(f"robodx review '{name}/not prepared' --prepare")


@pytest.mark.thorough
def test_names_that_mean_harm_are_shown_as_text_at_every_width(page: Page, watch: Watch, reviewed: Reviewed) -> None:
    begin(page, reviewed, "hostile", "gil")
    expect(page.locator("#question")).to_contain_text("<img src=x")
    expect(page.locator(".film")).to_contain_text("The run has no such episode.")
    for width in (1280, 390):
        page.set_viewport_size({"width": width, "height": 844})
        assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert "harmed" not in page.title()[:6] and page.locator("img").count() == 0
    page.keyboard.press("1")
    page.keyboard.press("Enter")
    expect(page.locator("#saved")).to_contain_text("Saved. All 1 are labelled")


@pytest.mark.thorough
def test_a_name_that_is_none_is_refused_where_it_is_typed(page: Page, watch: Watch, reviewed: Reviewed) -> None:
    watch.may_err = True
    page.goto(reviewed.link(page, "second"))
    page.keyboard.press("Escape")
    expect(page.locator("#who")).to_be_visible()
    page.locator("#who-name").fill("<b>")
    page.keyboard.press("Enter")
    expect(page.locator("#who-problem")).to_contain_text("is no name of an annotator")
    page.locator("#who-name").fill("hal")
    page.keyboard.press("Enter")
    expect(page.locator("#annotator")).to_have_text("hal")


@pytest.mark.thorough
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_can_be_read_and_worked_on_a_phone_and_by_keyboard(
    browser: Browser, reviewed: Reviewed, scheme: Any
) -> None:
    context = browser.new_context(viewport={"width": 390, "height": 844}, color_scheme=scheme)
    page = context.new_page()
    begin(page, reviewed, "second", "ida")
    page.keyboard.press("2")
    page.get_by_role("button", name="Next").click()
    for width in (390, 1280):
        page.set_viewport_size({"width": width, "height": 844})
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        save = page.get_by_role("button", name="Save and go on").bounding_box()
        assert save is not None and 0 <= save["y"] <= 844 - save["height"]
        texts = "header *, dt, dd, b, q, legend, .label span, .label kbd, h2, .text span, .actions button, #time"
        contrasts = page.locator(texts).evaluate_all(CONTRASTS)
        assert len(contrasts) > 30 and [one for one in contrasts if one[1] < 4.5] == []
    first, second = (page.locator(".film").nth(n).bounding_box() for n in (0, 1))
    assert first is not None and second is not None and first["y"] == second["y"]
    seen = set()
    for _ in range(14):
        page.keyboard.press("Tab")
        name, style, width = page.evaluate(OUTLINE)
        seen.add(name)
        assert (style, width) == ("solid", "2px"), name
    assert {"play", "slider", "speed", "label", "text"} <= seen
    page.locator("#main").focus()
    page.keyboard.press("?")
    expect(page.locator("#help")).to_contain_text("It has hold of the thing, which then slips or falls.")
    page.keyboard.press("Escape")
    context.close()
