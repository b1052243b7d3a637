"""What a page did while a test looked at it: what it said on the console, and what it asked for."""

from __future__ import annotations

from dataclasses import dataclass, field
from urllib.parse import urlsplit

from playwright.sync_api import ConsoleMessage, Error, Page

LOCAL_SCHEMES = {"file", "data", "blob", "about"}
LOOPBACK = {"localhost", "127.0.0.1", "::1"}
# The contrast of what stands on what, as WCAG defines it; transparent backgrounds are looked through.
CONTRASTS = """nodes => {
  const channels = (text) => text.match(/[\\d.]+/g).map(Number);
  const light = (text) => channels(text).slice(0, 3).map((one) => one / 255)
    .map((one) => (one <= 0.04045 ? one / 12.92 : ((one + 0.055) / 1.055) ** 2.4))
    .reduce((sum, one, index) => sum + one * [0.2126, 0.7152, 0.0722][index], 0);
  const behind = (node) => {
    for (let one = node; one; one = one.parentElement) {
      const colour = getComputedStyle(one).backgroundColor;
      if (channels(colour)[3] !== 0) return colour;
    }
    return "rgb(255, 255, 255)";
  };
  return nodes.filter((node) => node.textContent.trim() && node.getClientRects().length).map((node) => {
    const [a, b] = [light(getComputedStyle(node).color), light(behind(node))];
    return [node.textContent.trim().slice(0, 40), (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05)];
  });
}"""


# Of all text that is seen: [text, contrast, what it must have]. Opacity counts, translucent backgrounds are laid
# over each other, and of stripes those count in which the text is hardest to read. Then the same of marks that tell
# something without text, whose contrast must be 3.
SEEN_CONTRASTS = """marks => {
  const colour = (text) => { const [r, g, b, a = 1] = text.match(/[\\d.]+/g).map(Number); return [r, g, b, a]; };
  const over = (top, under) => [0, 1, 2].map((at) => top[at] * top[3] + under[at] * (1 - top[3])).concat(1);
  const light = (rgb) => rgb.slice(0, 3).map((one) => one / 255)
    .map((one) => (one <= 0.04045 ? one / 12.92 : ((one + 0.055) / 1.055) ** 2.4))
    .reduce((sum, one, index) => sum + one * [0.2126, 0.7152, 0.0722][index], 0);
  const ratio = (a, b) => {
    const [x, y] = [light(a), light(b)];
    return (Math.max(x, y) + 0.05) / (Math.min(x, y) + 0.05);
  };
  const chain = (node) => (node ? [...chain(node.parentElement), node] : []);
  const known = new Map([[null, [[255, 255, 255, 1]]]]);
  const grounds = (node) => {
    if (!known.has(node)) {
      const style = getComputedStyle(node);
      const found = grounds(node.parentElement).map((under) => over(colour(style.backgroundColor), under));
      const stripes = (style.backgroundImage.match(/rgba?\\([^)]*\\)/g) || []).map(colour).filter((one) => one[3]);
      known.set(node, [...found, ...stripes.map((stripe) => over(stripe, found[0]))]);
    }
    return known.get(node);
  };
  const opacity = (node) => chain(node).reduce((product, one) => product * Number(getComputedStyle(one).opacity), 1);
  const worst = (node, text) => {
    const top = colour(text);
    top[3] *= opacity(node);
    return Math.min(...grounds(node).map((under) => ratio(over(top, under), under)));
  };
  const isSeen = (node) => node.checkVisibility({ checkVisibilityCSS: true, contentVisibilityAuto: true })
    && !node.closest(".visually-hidden");
  const needed = (style) => {
    const size = parseFloat(style.fontSize);
    return size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 700) ? 3 : 4.5;
  };
  const found = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const node = walker.currentNode.parentElement;
    const text = walker.currentNode.textContent.trim();
    if (!text || ["TITLE", "title", "OPTION", "SCRIPT", "STYLE"].includes(node.tagName) || !isSeen(node)) continue;
    const style = getComputedStyle(node);
    const own = node.ownerSVGElement ? style.fill : style.color;
    const what = `${node.tagName}.${node.getAttribute("class") || ""}: ${text.slice(0, 40)}`;
    found.push([what, worst(node, own), needed(style)]);
  }
  for (const node of document.querySelectorAll("input, select, button")) {
    if (!isSeen(node)) continue;
    const hint = getComputedStyle(node, "::placeholder").color;
    if (node.placeholder) found.push([`placeholder: ${node.placeholder}`, worst(node, hint), 4.5]);
    found.push([`${node.tagName}#${node.id}`, worst(node, getComputedStyle(node).color), 4.5]);
  }
  for (const [selector, property, pseudo] of marks) {
    for (const node of document.querySelectorAll(selector)) {
      const behind = property === "backgroundColor" && !pseudo ? node.parentElement : node;
      const own = getComputedStyle(node, pseudo)[property];
      if (isSeen(node)) found.push([`${selector} ${property}`, worst(behind, own), 3]);
    }
  }
  return found;
}"""
# What tells something without text, and in which property its colour is.
VIEWER_MARKS = [
    [".mark", "borderTopColor"], [".shares i", "backgroundColor"], [".task-legend i", "backgroundColor"],
    [".whisker-line", "backgroundColor"], [".whisker-point", "backgroundColor"], [".swatch", "backgroundColor"],
    [".curve", "stroke"], [".trail", "stroke"], [".way", "stroke"], [".dot.tool", "stroke"], [".dot.thing", "fill"],
    [".target", "stroke"], [".sign.thing", "backgroundColor"], [".sign.hand", "borderTopColor"],
    [".space .event:not(.release)", "fill"], [".event.release", "stroke"],
    [".cursor", "backgroundColor"], [".evidence", "borderLeftColor"], [".bar.stressed", "backgroundColor"],
    [".bar.reached", "borderRightColor"], [".live", "backgroundColor", "::before"],
    [".evidence", "color", "::before"],
]  # fmt: skip


@dataclass
class Watch:
    """Errors (of the console and uncaught), warnings and requested addresses, each in order."""

    errors: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)
    may_err: bool = False
    """A test that provokes errors sets this, and looks at `errors` itself."""

    def follow(self, page: Page) -> None:
        page.on("console", self._hear)
        page.on("pageerror", self._uncaught)
        page.on("request", lambda request: self.requests.append(request.url))
        page.on("websocket", lambda socket: self.requests.append(socket.url))

    def foreign(self) -> list[str]:
        """What was asked of anything but this machine."""
        return [url for url in self.requests if not is_local(url)]

    def complaints(self) -> list[str]:
        """Why the test that watched must fail, if it must."""
        errors = [] if self.may_err else [f"error: {text}" for text in self.errors]
        return errors + [f"a request to elsewhere: {url}" for url in self.foreign()]

    def _hear(self, message: ConsoleMessage) -> None:
        if message.type == "error":
            self.errors.append(message.text)
        elif message.type == "warning":
            self.warnings.append(message.text)

    def _uncaught(self, error: Error) -> None:
        self.errors.append(f"uncaught: {error}")


def is_local(url: str) -> bool:
    parts = urlsplit(url)
    return parts.scheme in LOCAL_SCHEMES or parts.hostname in LOOPBACK
