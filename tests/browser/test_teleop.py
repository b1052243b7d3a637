"""The operator's page: keys and gamepad drive the robot of a real `robodx teleop`, at a desk and on a phone."""

from __future__ import annotations

import re
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browsing import CONTRASTS, Watch
from tests.serving import ROBODX

expect.set_options(timeout=15_000)
# A gamepad whose sticks and buttons the test moves.
GAMEPAD = """
window.pad = { id: "test pad", axes: [0, 0, 0, 0], buttons: Array.from({ length: 16 }, () => ({ pressed: false })) };
navigator.getGamepads = () => [window.pad];
"""
OUTLINE = """() => [document.activeElement.id, getComputedStyle(document.activeElement).outlineStyle,
  getComputedStyle(document.activeElement).outlineWidth]"""


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder: Path = tmp_path_factory.mktemp("teleop")
    words = ("teleop", "primitive/pick_cube", "--out", folder / "t.lerobot", "--no-browser", "--port", "0")
    with subprocess.Popen([*ROBODX, *map(str, words)], stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        try:
            said = process.stderr.readline()
            found = re.search(r"http://127\.0\.0\.1:\d+/\?token=\S+", said)
            assert found is not None, said
            yield found[0]
            process.send_signal(signal.SIGINT)
            assert "the same command resumes there" in process.stderr.read()
            assert process.wait(10) == 130
        finally:
            process.kill()


def opened(page: Page, address: str) -> None:
    page.goto(address)
    expect(page.locator("#banner")).to_have_attribute("data-phase", re.compile("waiting|driving"))
    expect(page.locator("#skip")).to_be_enabled()


def anew(page: Page) -> None:
    """Another situation, in which nothing was moved yet."""
    before = page.locator("#place").inner_text()
    page.keyboard.press("n")
    expect(page.locator("#place")).not_to_have_text(before)
    expect(page.locator("#banner")).to_have_attribute("data-phase", "waiting")


def hand_cm(page: Page) -> tuple[float, float, float]:
    """How high, how far ahead of the robot, and how far to its left."""
    said = page.locator("#hand").inner_text()
    z, x, y = map(float, re.findall(r"\d+\.\d", said))
    return x, -y if "right" in said else y, z


def held(page: Page, key: str, ms: int = 600) -> tuple[float, float, float]:
    """How far the hand moves by it, in centimetres."""
    before = hand_cm(page)
    page.keyboard.down(key)
    page.wait_for_timeout(ms)
    page.keyboard.up(key)
    page.wait_for_timeout(500)
    after = hand_cm(page)
    return after[0] - before[0], after[1] - before[1], after[2] - before[2]


def test_keys_move_the_hand_and_space_closes_it(page: Page, address: str) -> None:
    opened(page, address)
    expect(page.locator("#left")).to_have_text("20.0 s left")
    expect(page.locator("#instruction")).to_contain_text(re.compile("red cube", re.I))
    dx, dy, dz = held(page, "f")
    assert dz < -3 and abs(dx) < 1 and abs(dy) < 1
    expect(page.locator("#banner")).to_have_attribute("data-phase", "driving")
    # In the front picture the robot faces the operator: towards the operator is away from the robot.
    assert held(page, "s")[0] > 3 and held(page, "d")[1] > 3
    page.locator("#frame").select_option("robot")
    assert held(page, "s")[0] < -3
    page.keyboard.press("Space")
    expect(page.locator("#grip")).to_have_text(re.compile("Open the hand"))
    still = hand_cm(page)
    page.wait_for_timeout(300)
    assert hand_cm(page) == still
    frame = page.locator("#picture-front").get_attribute("data-frame")
    page.wait_for_timeout(400)
    assert page.locator("#picture-front").get_attribute("data-frame") != frame
    assert page.evaluate("document.getElementById('picture-wrist').naturalWidth") == 400
    page.keyboard.press("Backspace")
    expect(page.locator("#counts")).to_contain_text("1 discarded")
    expect(page.locator("#grip")).to_have_text(re.compile("Close the hand"))
    expect(page.locator("#left")).to_have_text("20.0 s left")


@pytest.mark.thorough
def test_a_gamepad_drives_too(page: Page, address: str) -> None:
    page.add_init_script(GAMEPAD)
    opened(page, address)
    anew(page)
    expect(page.locator("#gamepad")).to_have_text("Gamepad: test pad")
    before = hand_cm(page)
    page.evaluate("pad.axes = [0.1, 1, 0, 1]")
    page.wait_for_timeout(600)
    page.evaluate("pad.axes = [0, 0, 0, 0]; pad.buttons[0].pressed = true")
    expect(page.locator("#grip")).to_have_text(re.compile("Open the hand"))
    # Held down it is pressed once.
    page.wait_for_timeout(500)
    expect(page.locator("#grip")).to_have_text(re.compile("Open the hand"))
    after = hand_cm(page)
    assert after[0] > before[0] + 3 and after[2] < before[2] - 3 and abs(after[1] - before[1]) < 1


@pytest.mark.thorough
def test_a_second_page_watches_and_has_the_seat_when_the_first_is_closed(
    page: Page, watch: Watch, browser: Browser, address: str
) -> None:
    opened(page, address)
    # A refusal is an answer, which the browser's console counts as an error.
    watch.may_err = True
    context = browser.new_context()
    second = context.new_page()
    second.goto(address)
    expect(second.locator("#banner")).to_contain_text("Somebody else is driving")
    expect(second.locator("#stop")).to_be_disabled()
    before = hand_cm(second)
    held(second, "r", 300)
    assert hand_cm(second) == before
    page.close()
    expect(second.locator("#stop")).to_be_enabled()
    context.close()


@pytest.mark.thorough
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_can_be_read_and_worked_on_a_phone_and_by_keyboard(browser: Browser, address: str, scheme: Any) -> None:
    context = browser.new_context(viewport={"width": 390, "height": 844}, color_scheme=scheme)
    page = context.new_page()
    opened(page, address)
    anew(page)
    for width in (390, 1280):
        page.set_viewport_size({"width": width, "height": 844})
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        texts = "header *, q, #banner, li, #left, #pad *, .hands button, .setting *, .hands p, #seen, figcaption"
        contrasts = page.locator(texts).evaluate_all(CONTRASTS)
        assert len(contrasts) > 30 and [one for one in contrasts if one[1] < 4.5] == []
    before = hand_cm(page)
    down = page.locator("#move-f")
    down.hover()
    page.mouse.down()
    page.wait_for_timeout(600)
    page.mouse.up()
    assert hand_cm(page)[2] < before[2] - 3
    page.locator("#main").focus()
    seen = set()
    for _ in range(13):
        page.keyboard.press("Tab")
        name, style, width_px = page.evaluate(OUTLINE)
        seen.add(name)
        assert (style, width_px) == ("solid", "2px"), name
    assert {"move-q", "move-f", "grip", "speed", "frame"} <= seen
    page.locator("#main").focus()
    page.keyboard.press("?")
    expect(page.locator("#help")).to_contain_text("Time stands still until you first move something")
    page.keyboard.press("Escape")
    # Esc asks first, and Esc again goes on.
    page.keyboard.press("Escape")
    expect(page.locator("#stopping")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.locator("#stopping")).to_be_hidden()
    expect(page.locator("#stop")).to_be_enabled()
    context.close()
