"""How well text can be read: the contrast of all that is seen on a page, as WCAG defines it, by the browser."""

from __future__ import annotations

from playwright.sync_api import Page

LEAST = 4.5
# At the middle of every text, through what is transparent, also in drawings; a canvas tells what a colour is.
MEASURED = """least => {
  const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const rgba = (colour) => {
    canvas.clearRect(0, 0, 1, 1);
    canvas.fillStyle = colour;
    canvas.fillRect(0, 0, 1, 1);
    const [r, g, b, a] = canvas.getImageData(0, 0, 1, 1).data;
    return [[r, g, b], a / 255];
  };
  const over = (top, alpha, under) => under.map((one, at) => alpha * top[at] + (1 - alpha) * one);
  const linear = (one) => (one <= 0.04045 ? one / 12.92 : ((one + 0.055) / 1.055) ** 2.4);
  const light = (rgb) => rgb.reduce((sum, one, at) => sum + linear(one / 255) * [0.2126, 0.7152, 0.0722][at], 0);
  const SHAPES = ["circle", "rect", "polygon", "path", "ellipse"];
  const layer = (node) => {
    const style = getComputedStyle(node);
    if (!(node instanceof SVGElement)) return rgba(style.backgroundColor);
    if (!SHAPES.includes(node.tagName) || style.fill === "none") return [[0, 0, 0], 0];
    const [colour, alpha] = rgba(style.fill);
    return [colour, alpha * Number(style.fillOpacity) * Number(style.opacity)];
  };
  const poor = {};
  let looked = 0;
  for (const node of document.querySelectorAll("body *")) {
    const hasText = Array.from(node.childNodes).some((one) => one.nodeType === 3 && one.textContent.trim());
    if (!hasText || node.closest("title, style, script, .unseen, .skip") || !node.checkVisibility()) continue;
    node.scrollIntoView({ block: "center", inline: "nearest", behavior: "instant" });
    const range = document.createRange();
    range.selectNodeContents(node);
    const box = range.getClientRects()[0] ?? node.getBoundingClientRect();
    const [x, y] = [box.left + box.width / 2, box.top + box.height / 2];
    if (!box.width || x < 0 || x >= innerWidth) continue;
    const found = document.elementsFromPoint(x, y);
    const under = found.slice(found.indexOf(node) + 1);
    if (!(node instanceof SVGElement)) under.unshift(node);
    let [behind] = rgba(getComputedStyle(document.body).backgroundColor);
    for (const one of under.reverse()) behind = over(...layer(one), behind);
    const style = getComputedStyle(node);
    const ink = over(...rgba(node instanceof SVGElement ? style.fill : style.color), behind);
    const [dark, bright] = [light(ink), light(behind)].sort((a, b) => a - b);
    const ratio = (bright + 0.05) / (dark + 0.05);
    looked += 1;
    if (ratio < least) poor[`${node.tagName} ${node.textContent.trim().slice(0, 60)}`] = ratio;
  }
  return [looked, poor];
}"""


def poorly_seen(page: Page) -> dict[str, float]:
    """Texts with too little contrast, the whole page unfolded."""
    page.evaluate("for (const one of document.querySelectorAll('details')) one.open = true")
    looked, poor = page.evaluate(MEASURED, LEAST)
    assert looked > 50, "hardly any text was looked at"
    return dict(poor)
