"""Who may look: on this machine only pages of its own, from elsewhere only who has the token."""

from __future__ import annotations

import hashlib
import ipaddress
import secrets
from urllib.parse import parse_qsl, urlencode

from starlette.datastructures import MutableHeaders
from starlette.requests import Request
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

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


class Guard:
    """Refuses requests before they reach the application, and adds headers to all answers.

    Without a token the viewer listens on this machine only. A hostile web page could still have its own host name
    resolve to 127.0.0.1 and read what is served there, so that the host that a browser asked for must be ours.
    """

    def __init__(self, app: ASGIApp, token: str | None) -> None:
        self.app = app
        self.token = token
        # Viewers on other ports share a browser's cookies: each has a name of its own.
        self.cookie = f"robodx_{hashlib.blake2b((token or '').encode(), digest_size=4).hexdigest()}"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                headers.update(HEADERS)
                headers.setdefault("Cache-Control", "no-cache")
            await send(message)

        answer = self._refusal(Request(scope))
        await (answer or self.app)(scope, receive, send_with_headers)

    def _refusal(self, request: Request) -> Response | None:
        if request.method not in ("GET", "HEAD"):
            return PlainTextResponse("This viewer is only looked at.", 405)
        if self.token is None:
            is_ours = is_loopback(host_name(request.headers.get("host", "")))
            return None if is_ours else PlainTextResponse("This viewer is for this machine alone.", 403)
        if self._is_token(request.cookies.get(self.cookie)):
            return None
        if self._is_token(request.query_params.get("token")):
            # On without it in the address, where it would be copied along with a link.
            rest = urlencode([pair for pair in parse_qsl(request.url.query) if pair[0] != "token"])
            # One slash: //host would lead to another host.
            path = "/" + request.url.path.lstrip("/")
            answer = RedirectResponse(path + (f"?{rest}" if rest else ""), 303)
            answer.set_cookie(self.cookie, str(self.token), httponly=True, samesite="strict")
            return answer
        return PlainTextResponse("This viewer needs the token that robodx view printed: open that address.", 403)

    def _is_token(self, given: str | None) -> bool:
        return given is not None and secrets.compare_digest(given.encode(), str(self.token).encode())


def is_loopback(host: str) -> bool:
    """Whether a name or address is of this machine alone."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def host_name(host: str) -> str:
    """Of a Host header, without its port."""
    if host.startswith("["):
        return host[1:].partition("]")[0]
    return host.partition(":")[0].lower()
