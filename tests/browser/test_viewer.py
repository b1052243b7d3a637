"""The viewer in a browser: filtering, playing, comparing, links, keys, following, and names that mean harm."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Callable, Generator, Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
from playwright.sync_api import Page, expect

from robodx.errors import UserError
from robodx.records.film_name import film_name
from robodx.report.viewer.drawing import Films
from robodx.video.mp4 import write_mp4
from robodx.video.on_demand import draw_film
from tests.filming import stored
from tests.viewing import HZ, LATENCY, episode, viewer, write_run, write_trajectory

# A film long enough not to end while a busy machine looks away.
STEPS = 200
END_S = STEPS / HZ
GOLDEN = Path(__file__).parent.parent / "golden"
expect.set_options(timeout=15_000)

SCRIPT = "<script>document.title = 'harmed'</script><img src=x onerror=\"document.title='harmed'\">\u202e" + "y" * 3000


class Viewed(NamedTuple):
    address: str
    root: Path


@pytest.fixture(scope="module")
def viewed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Viewed]:
    """Run `first` of guess, clean and stressed, with one film; `second` of another policy; one of hostile names."""
    root = tmp_path_factory.mktemp("runs")
    clean = [episode(number, success=number % 2 == 0, pair_id=f"pair{number}") for number in range(40)]
    stressed = [
        episode(100 + n, pair_id=f"pair{n}", seed=n, perturbations=[LATENCY], failure_kind="timeout", outcome="timeout")
        for n in range(40)
    ]
    first = write_run(root / "first", [*clean, *stressed])
    second = write_run(root / "second", [episode(200, pair_id="pair1", seed=1, policy="rival", success=True)])
    for run, row in ((first, clean[1]), (first, stressed[1]), (second, episode(200))):
        write_trajectory(run, row["trial_id"], STEPS)
    film = first / "videos" / f"control.stack_cube-seed1-failure-{clean[1]['trial_id'][:6]}.mp4"
    film.parent.mkdir()
    write_mp4(film, (np.full((32, 64, 3), step, dtype=np.uint8) for step in range(STEPS + 1)), HZ)
    hostile = episode(300, task=SCRIPT, policy=SCRIPT, failure_kind=SCRIPT, instructions=[{"step": 0, "text": SCRIPT}])
    hostile["events"][0]["object"] = SCRIPT
    hostile["failure_evidence"]["says"] = SCRIPT
    write_run(root / SCRIPT.replace("/", "|")[:200], [hostile])
    with viewer(root) as address:
        yield Viewed(address, root)


def open_run(page: Page, viewed: Viewed, name: str = "first") -> None:
    page.goto(viewed.address)
    page.locator("#runs .run", has_text=name).click()
    expect(page.locator("#count")).to_contain_text("80 episodes" if name == "first" else "1 episode")


def wait_until(page: Page, holds: Callable[[], bool]) -> None:
    """Playwright's own waiting evaluates text in the page, which the page forbids."""
    for _ in range(300):
        if holds():
            return
        page.wait_for_timeout(50)
    pytest.fail("it did not come to hold in 15 s")


def film_time(page: Page) -> float:
    return float(page.locator("video").evaluate("film => film.readyState >= 2 ? film.currentTime : -1"))


def seconds(page: Page) -> float:
    return float((page.locator("#time").text_content() or "").split()[0])


def test_filters_narrow_the_list_and_live_in_the_address(page: Page, viewed: Viewed) -> None:
    open_run(page, viewed)
    page.get_by_role("checkbox", name="timeout").first.check()
    expect(page.locator("#count")).to_contain_text("40 of 80")
    page.locator("#search").fill("seed3")
    expect(page.locator("#count")).to_contain_text("11 of 80")
    link = page.url
    page.go_back()
    expect(page.locator("#count")).to_contain_text("80 episodes")
    page.goto("about:blank")
    page.goto(link)
    expect(page.locator("#count")).to_contain_text("11 of 80")
    expect(page.get_by_role("checkbox", name="timeout").first).to_be_checked()
    expect(page.locator("#search")).to_have_value("seed3")


def test_the_run_that_shows_the_policy_by_itself_is_shown_first(page: Page, tmp_path: Path) -> None:
    older, own = (write_run(tmp_path / name, [episode(at)]) for at, name in enumerate(("older", "own"), start=1))
    why = write_run(own / "why", [episode(3, suite="why")])
    for age, run in enumerate((why, own, older)):
        for path in [run, *run.glob("episodes/*"), *run.glob("*.json")]:
            os.utime(path, (1e9 - age, 1e9 - age))
    with viewer(tmp_path) as address:
        page.goto(address)
        expect(page.locator("#runs .run[aria-pressed=true] .clip").first).to_have_text("own")
        expect(page.locator("#runs .run")).to_have_count(4)


def test_keys_move_open_play_compare_and_close(page: Page, viewed: Viewed) -> None:
    open_run(page, viewed)
    page.locator("#list").focus()
    for key in ("j", "j", "ArrowDown", "k", "j"):
        page.keyboard.press(key)
    expect(page.locator(".row.at .seed")).to_have_text("s1")
    expect(page.locator(".row.at")).to_contain_text("motor")
    page.keyboard.press("Enter")
    expect(page.locator(".episode")).to_have_count(1)
    expect(page.locator(".why")).to_contain_text("the robot dropped red cube")
    wait_until(page, lambda: film_time(page) >= 0)
    page.keyboard.press(" ")
    wait_until(page, lambda: seconds(page) > 0.3)
    page.keyboard.press(" ")
    played = seconds(page)
    # The film, the slider and the cursor are at the same time.
    wait_until(page, lambda: abs(film_time(page) - played) < 0.05)
    assert abs(int(page.locator("#slider").input_value()) - played / END_S * 1000) < 10
    assert (
        abs(float(page.locator(".cursor").evaluate("node => parseFloat(node.style.left)")) - 100 * played / END_S) < 1
    )
    page.keyboard.press("c")
    expect(page.locator(".episode")).to_have_count(2)
    expect(page.locator(".episode").nth(1)).to_contain_text("actuator_latency=v2")
    page.keyboard.press("c")
    expect(page.locator(".episode").nth(1)).to_contain_text("rival")
    page.keyboard.press("Escape")
    expect(page.locator(".episode")).to_have_count(1)
    page.keyboard.press("Escape")
    expect(page.locator(".episode")).to_have_count(0)
    page.keyboard.press("/")
    expect(page.locator("#search")).to_be_focused()
    page.keyboard.press("Escape")
    page.keyboard.press("?")
    expect(page.locator("#help")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.locator("#help")).to_be_hidden()


def test_a_space_that_is_typed_stays_until_the_next_word(page: Page, viewed: Viewed) -> None:
    open_run(page, viewed)
    page.keyboard.press("/")
    page.keyboard.type("cube ")
    wait_until(page, lambda: "text=cube" in page.url)
    page.keyboard.type("seed3")
    expect(page.locator("#search")).to_have_value("cube seed3")
    expect(page.locator("#count")).to_contain_text("22 of 80")


def test_after_a_filter_the_keys_go_on_in_the_list(page: Page, viewed: Viewed) -> None:
    open_run(page, viewed)
    page.get_by_role("checkbox", name="timeout").first.click()
    expect(page.locator("#count")).to_contain_text("40 of 80")
    page.keyboard.press("j")
    page.keyboard.press("Enter")
    expect(page.locator(".episode")).to_have_count(1)


def test_a_comparison_is_restored_from_its_address_and_shares_one_time(page: Page, viewed: Viewed) -> None:
    open_run(page, viewed)
    page.locator(".row", has_text="motor").filter(has=page.get_by_title("seed 1", exact=True)).click()
    page.locator("#partner").select_option(label="rival: success in second")
    expect(page.locator(".episode")).to_have_count(2)
    link = page.url
    page.go_back()
    expect(page.locator(".episode")).to_have_count(1)
    page.goto("about:blank")
    page.goto(link)
    expect(page.locator(".episode")).to_have_count(2)
    # The one without a film is drawn.
    expect(page.locator("video")).to_have_count(1)
    expect(page.locator(".drawing.large")).to_have_count(1)
    box = page.locator(".overlay").nth(1).bounding_box()
    assert box is not None
    page.mouse.click(box["x"] + box["width"] / 2, box["y"] + 30)
    assert abs(seconds(page) - END_S / 2) < 0.1
    lefts = page.locator(".cursor").evaluate_all("nodes => nodes.map((node) => parseFloat(node.style.left))")
    assert lefts == pytest.approx([50, 50], abs=2)
    wait_until(page, lambda: abs(film_time(page) - END_S / 2) < 0.1)
    page.locator(".stages").nth(1).get_by_role("button", name="0.50 s").click()
    assert seconds(page) == 0.5


def test_a_drawing_says_what_it_shows_and_numbers_of_what_frame_they_are(page: Page, tmp_path: Path) -> None:
    asked = {"name": "red cube", "kind": "cube", "colour": "red", "size_m": 0.04, "x_m": 0.1, "y_m": 0.0}
    row = episode(1, target=asked)
    run = write_run(tmp_path / "run", [row])
    write_trajectory(run, row["trial_id"], names=("red cube", "red sphere", "peg"))
    with viewer(tmp_path) as address:
        page.goto(f"{address}/#trial={row['trial_id']}")
        expect(page.locator(".signs")).to_be_visible()
        said = page.locator(".signs .key").all_text_contents()
        assert said == [
            "hand, wider when open", "red cube", "red sphere", "peg", "asked for: red cube", "grasped", "dropped"
        ]  # fmt: skip
        colour = "all => all.map((one) => getComputedStyle(one).backgroundColor)"
        legend = page.locator(".sign.thing").evaluate_all(colour)
        drawn = page.locator(".space").first.locator(".dot.thing")
        assert len(set(legend)) == 3 and legend == drawn.evaluate_all(colour.replace("backgroundColor", "fill"))
        titles = page.locator(".plot-title > .clip").all_text_contents()
        assert titles[0] == "end effector, m, in the world frame (from the table's centre)"
        assert titles[1] == "action: translation, m per step, along the axes of the robot's base"
        assert titles[3] == "action: gripper opening"


def test_a_run_tells_one_rate_and_no_division(page: Page, tmp_path: Path) -> None:
    """Of one with stress and repeats, where the share of solved episodes is another."""
    shutil.copytree(GOLDEN / "run-v4", tmp_path / "run")
    with viewer(tmp_path) as address:
        page.goto(address)
        rate = page.locator("#runs .run-second .nowrap")
        expect(rate).to_have_text("33% over tasks")
        expect(rate).to_have_attribute("title", re.compile(r"^33% success: mean over tasks.*Of all, 5 of 10 episodes"))


def test_new_episodes_of_a_run_appear_where_one_looks(page: Page, viewed: Viewed) -> None:
    run = write_run(viewed.root / "going", [episode(n) for n in range(400, 460)], part="part-00001")
    page.goto(viewed.address)
    page.locator("#runs .run", has_text="going").click()
    expect(page.locator("#runs .run", has_text="going")).to_contain_text("live")
    page.locator("#list").evaluate("node => { node.scrollTop = 50 * 30 }")
    row = page.locator(".row", has_text="s432")
    row.click()
    before = row.bounding_box()
    # They come before the others, and more than a page of them.
    write_run(run, [episode(n) for n in range(5, 205)], part="part-00002")
    expect(page.locator("#count")).to_contain_text("260 episodes", timeout=20_000)
    expect(page.locator(".row.open")).to_contain_text("s432")
    assert row.bounding_box() == before


def test_hostile_names_are_shown_as_text(page: Page, viewed: Viewed) -> None:
    page.goto(f"{viewed.address}/#run=&text=onerror")
    page.locator(".row").first.click()
    expect(page.locator(".episode")).to_have_count(1)
    expect(page.locator(".instructions q")).to_contain_text("<script>document.title")
    expect(page.locator(".row .task").first).to_contain_text("<script>")
    # However long, it is cut in its middle.
    name, ending = page.locator(".row .task").first.bounding_box(), page.locator(".row .ending").first.bounding_box()
    assert name is not None and ending is not None and ending["x"] + ending["width"] <= name["x"] + name["width"] + 1
    assert ending["width"] > 50 and page.locator(".row .task").first.get_attribute("title") == SCRIPT
    assert page.title() == "RoboDx viewer"
    assert page.locator("img").count() == 0
    for width in (1280, 390):
        page.set_viewport_size({"width": width, "height": 800})
        assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_a_film_that_is_asked_for_is_drawn_and_plays(page: Page, tmp_path: Path) -> None:
    row = stored(tmp_path / "run", steps=9)
    with viewer(tmp_path, films=Films(draw_film)) as address:
        page.goto(address)
        page.locator("#list .row").first.click()
        expect(page.locator("video")).to_have_count(0)
        page.get_by_role("button", name="Draw the film").click()
        expect(page.get_by_role("button", name="Draw the film")).to_be_hidden()
        expect(page.locator(".film-asker progress")).to_be_visible()
        expect(page.locator("video")).to_have_count(1)
        wait_until(page, lambda: film_time(page) > 0.2)
        assert page.locator("video").evaluate("film => [film.videoWidth > 500, film.error]") == [True, None]
        # It asks for news, and there is soon nobody to answer.
        page.goto("about:blank")
    assert (tmp_path / "run" / "videos" / film_name(row)).is_file()


@pytest.mark.thorough
def test_a_film_that_cannot_be_drawn_says_why_and_can_be_asked_for_again(page: Page, tmp_path: Path) -> None:
    told = ["OpenGL is missing here: <b>install it</b>", "the disk is full"]

    def fails(run: Path, trial_id: str) -> Generator[tuple[int, int]]:
        yield 1, 2
        raise UserError(told.pop(0))

    write_trajectory(write_run(tmp_path / "run", [episode(1)]), f"{1:016x}")
    with viewer(tmp_path, films=Films(fails)) as address:
        page.goto(address)
        page.locator("#list .row").first.click()
        page.get_by_role("button", name="Draw the film").click()
        expect(page.locator(".film-asker .problem")).to_have_text("OpenGL is missing here: <b>install it</b>")
        page.get_by_role("button", name="Try again").click()
        expect(page.locator(".film-asker .problem")).to_have_text("the disk is full")
