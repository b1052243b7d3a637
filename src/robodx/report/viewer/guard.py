"""Who may look, and who may write: on this machine only pages of its own, from elsewhere only who has the token."""

from __future__ import annotations

import hashlib
import re
import secrets
from urllib.parse import parse_qsl, urlencode

from starlette.datastructures import MutableHeaders
from starlette.requests import Request
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from robodx.hosts import host_name, is_loopback

HEADERS = {
    "Content-Security-Policy": (
        "default-src 'self'; img-src 'self' data:; media-src 'self'; object-src 'none'; base-uri 'none'; "
        "form-action 'none'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
}
# All of the viewer that can be written to, with POST.
WRITTEN = re.compile(r"/api/(review|film)/[^/]+/[^/]+")
WRITE_TOKEN = "x-robodx-write-token"
# An annotation with the longest text, all of it in escapes.
LONGEST_BODY = 32_768


class Guard:
    """Refuses requests before they reach the application, and adds headers to all answers.

    Without a token the viewer listens on this machine only. A hostile web page could still have its own host name
    resolve to 127.0.0.1 and read what is served there, so that the host that a browser asked for must be ours.

    Such a page could also send what it cannot read. Whoever writes must therefore come from a page of ours, as the
    browser says, and carry the write token, which only a page that can read what is served here knows.
    """

    def __init__(
        self,
        app: ASGIApp,
        token: str | None,
        write_token: str,
        *,
        written: re.Pattern[str] = WRITTEN,
        command: str = "robodx view",
    ) -> None:
        """`written` are the paths that take a POST; `command` is what printed the address, for those without it."""
        self.app = app
        self.written, self.command = written, command
        self.token = token
        self.write_token = write_token
        # Viewers on other ports share a browser's cookies: each has a name of its own.
        self.cookie = f"robodx_{hashlib.blake2b((token or '').encode(), digest_size=4).hexdigest()}"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                # An answer may have a stricter policy of its own, as a report has.
                for name, value in {**HEADERS, "Cache-Control": "no-cache"}.items():
                    headers.setdefault(name, value)
            await send(message)

        answer = self._refusal(Request(scope))
        await (answer or self.app)(scope, receive, send_with_headers)

    def _refusal(self, request: Request) -> Response | None:
        if request.method in ("GET", "HEAD"):
            return self._unseen(request)
        if request.method != "POST" or not self.written.fullmatch(request.url.path):
            return PlainTextResponse("This is only looked at.", 405)
        return self._unseen(request) or self._unwritten(request)

    def _unwritten(self, request: Request) -> Response | None:
        """Why nothing may be written by this request."""
        headers = request.headers
        host, origin = headers.get("host", "").lower(), headers.get("origin", "").lower()
        is_ours = origin in (f"http://{host}", f"https://{host}")
        if not is_ours or headers.get("sec-fetch-site", "same-origin") != "same-origin":
            return PlainTextResponse(f"Only a page of {self.command} may write.", 403)
        if not _is_same(headers.get(WRITE_TOKEN), self.write_token):
            return PlainTextResponse(
                f"This page is of another process, or {self.command} was started again: reload it.", 403
            )
        if headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
            return PlainTextResponse("What is written is sent as application/json.", 415)
        length = headers.get("content-length", "")
        if not (length.isascii() and length.isdecimal() and len(length) < 20):
            return PlainTextResponse("What is written says how long it is.", 411)
        if int(length) > LONGEST_BODY:
            return PlainTextResponse(f"What is written has at most {LONGEST_BODY} bytes.", 413)
        return None

    def _unseen(self, request: Request) -> Response | None:
        """Why this request may not even see anything."""
        if self.token is None:
            is_ours = is_loopback(host_name(request.headers.get("host", "")))
            return None if is_ours else PlainTextResponse(f"{self.command} is for this machine alone.", 403)
        if _is_same(request.cookies.get(self.cookie), self.token):
            return None
        if request.method != "POST" and _is_same(request.query_params.get("token"), self.token):
            # On without it in the address, where it would be copied along with a link.
            rest = urlencode([pair for pair in parse_qsl(request.url.query) if pair[0] != "token"])
            # One slash: //host would lead to another host.
            path = "/" + request.url.path.lstrip("/")
            answer = RedirectResponse(path + (f"?{rest}" if rest else ""), 303)
            answer.set_cookie(self.cookie, str(self.token), httponly=True, samesite="strict")
            return answer
        return PlainTextResponse(f"This needs the token that {self.command} printed: open that address.", 403)


def _is_same(given: str | None, token: str) -> bool:
    """In a time that does not tell how much of it was right."""
    return given is not None and secrets.compare_digest(given.encode(), token.encode())
