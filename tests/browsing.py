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
